package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// tenantList is a file of the namespaces that a descoped operator is bound in.
type tenantList struct {
	Tenants []tenant `json:"tenants"`
	Cluster bool     `json:"cluster,omitempty"` // the operator is bound to what is cluster-scoped, too
}

// tenant is a namespace with its bindings. Optional are the optional ClusterRoles that it gets, by API group or
// resource; nil stands for all.
type tenant struct {
	Namespace string    `json:"namespace"`
	Optional  *[]string `json:"optional,omitempty"`
}

// tenants fills in what the file says that the operator's tenants are in. Such a file is all that decides about them.
func (b Bundle) tenants(dir string, o *generate.Options) error {
	d := b.Descoped
	if d == nil || d.Tenants == "" {
		return nil
	}
	if d.BindAll || d.BindNone || d.BindCluster || len(d.BindNamespaces) > 0 {
		return &fieldError{"descoped.tenants", manifest.WithHint(
			errors.New("the file says where the operator is bound, and so does another option"), "keep one of them")}
	}
	data, err := readFile(dir, d.Tenants)
	if err != nil {
		return &fieldError{"descoped.tenants", err}
	}
	list, err := readTenants(filepath.ToSlash(d.Tenants), data)
	if err != nil {
		return &fieldError{"descoped.tenants", err}
	}
	o.Descoped.BindCluster = list.Cluster
	o.Descoped.BindNone = !list.Cluster && len(list.Tenants) == 0
	o.Descoped.Tenants = map[string][]string{}
	for _, t := range list.Tenants {
		o.Descoped.BindNamespaces = append(o.Descoped.BindNamespaces, t.Namespace)
		if t.Optional != nil {
			o.Descoped.Tenants[t.Namespace] = *t.Optional
		}
	}
	return nil
}

// readTenants reads a list of tenants, strictly. Errors are *manifest.Error.
func readTenants(name string, data []byte) (list tenantList, err error) {
	form := manifest.Form{What: "a list of tenants", Start: "write tenants: [{namespace: team-a}]"}
	object, err := form.Read(name, data, manifest.Limits{}, &list)
	if err != nil {
		return list, err
	}
	if !object.Has("tenants") {
		return list, object.Errorf("tenants", "is missing").With(form.Start)
	}
	seen := map[string]bool{}
	for i, t := range list.Tenants {
		field := fmt.Sprintf("tenants[%d].namespace", i)
		if problems := validation.IsDNS1123Label(t.Namespace); len(problems) > 0 {
			return list, object.Errorf(field, "%q is not a valid namespace name: %s", t.Namespace, problems[0])
		}
		if seen[t.Namespace] {
			return list, object.Errorf(field, "%s is a tenant twice", t.Namespace)
		}
		seen[t.Namespace] = true
	}
	return list, nil
}
