package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/resource_customizations"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// scripts are Argo CD's own health checks in Lua, and before them those of its setting
// resource.customizations.health.GROUP_KIND, by GROUP_KIND. They run as in Argo CD (argo-cd: util/lua/lua.go): within a
// second, and those of the setting without Lua's libraries.
type scripts map[string]string

// GetResourceHealth returns what the script for an object says; nil if there is none.
func (s scripts) GetResourceHealth(o *unstructured.Unstructured) (*health.HealthStatus, error) {
	gvk := o.GroupVersionKind()
	script, own := s[gvk.Group+"_"+gvk.Kind]
	if !own {
		data, err := resource_customizations.Embedded.ReadFile(path.Join(gvk.Group, gvk.Kind, "health.lua"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		script = string(data)
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: own})
	defer l.Close()
	if own {
		// In this order: the base library needs the one that loads.
		for _, library := range []lua.LGFunction{lua.OpenPackage, lua.OpenBase, lua.OpenTable} {
			if err := l.CallByParam(lua.P{Fn: l.NewFunction(library), Protect: true}); err != nil {
				return nil, err
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	value, err := luajson.Decode(l, data)
	if err != nil {
		return nil, err
	}
	l.SetGlobal("obj", value)
	if err := l.DoString(script); err != nil {
		return nil, fmt.Errorf("the health check of %s: %w", gvk.Kind, err)
	}
	if data, err = luajson.Encode(l.Get(-1)); err != nil {
		return nil, err
	}
	var status health.HealthStatus
	if err := json.Unmarshal(data, &status); err != nil {
		return nil, fmt.Errorf("the health check of %s answers %s: %w", gvk.Kind, data, err)
	}
	return &status, nil
}
