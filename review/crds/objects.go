package crds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/manifest"
)

// checkObjects checks existing objects against the new CRDs. Objects of other groups are passed over.
func checkObjects(objects []*manifest.Object, before, after map[string]*crd) ([]found, error) {
	c := checker{kinds: map[schema.GroupKind]*crd{}, gone: map[schema.GroupKind]*crd{}, groups: map[string]bool{},
		servers: map[schema.GroupVersionKind]*server{}}
	for _, side := range []struct {
		crds map[string]*crd
		to   map[schema.GroupKind]*crd
	}{{before, c.gone}, {after, c.kinds}} {
		for _, name := range namesOf(side.crds) {
			gk, err := side.crds[name].groupKind()
			if err != nil {
				return nil, err
			}
			side.to[gk], c.groups[gk.Group] = side.crds[name], true
		}
	}
	var all []found
	for _, o := range objects {
		faults, err := c.check(o)
		if err != nil {
			return nil, err
		}
		all = append(all, faults...)
	}
	return all, nil
}

func (c *crd) groupKind() (schema.GroupKind, error) {
	var gk schema.GroupKind
	for path, to := range map[string]*string{"spec.group": &gk.Group, "spec.names.kind": &gk.Kind} {
		v, err := c.Get(strings.Split(path, ".")...)
		if err != nil {
			return gk, err
		}
		s, ok := v.(string)
		if !ok || s == "" {
			return gk, c.Errorf(path, "missing, or not a text")
		}
		*to = s
	}
	return gk, nil
}

// checker checks objects, and keeps what is made of each version of a CRD.
type checker struct {
	kinds, gone map[schema.GroupKind]*crd // by what they define: the new CRDs, and the old ones
	groups      map[string]bool
	servers     map[schema.GroupVersionKind]*server
}

func (c *checker) check(o *manifest.Object) ([]found, error) {
	if !c.groups[o.Group()] {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, o.Errorf("apiVersion", "%v", err)
	}
	gvk := gv.WithKind(o.Kind)
	finding := func(crd *crd, rule, path, message string) []found {
		f := Finding{Version: gv.Version, Rule: rule, Path: path, Message: place(o, path) + ": " + message}
		if crd != nil {
			f.CRD = crd.Name
		}
		return []found{{Finding: f}}
	}
	crd, old := c.kinds[gvk.GroupKind()], c.gone[gvk.GroupKind()]
	switch {
	case crd == nil && old != nil:
		return finding(old, ruleObjectOrphaned, "", "its CRD is gone: where that is pruned, the object is deleted"), nil
	case crd == nil:
		return finding(nil, ruleObjectUnknown, "kind", "no CRD of the group "+gv.Group+" defines this kind"), nil
	}
	s, err := c.server(gvk, crd)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return finding(crd, ruleObjectVersion, "apiVersion", gv.Version+" is not served: requests for it fail"), nil
	}
	v, err := s.judge(o)
	if err != nil {
		return nil, err
	}
	return v.findings(finding, crd), nil
}

// server returns the checks of a served version, or nil for one that is not served.
func (c *checker) server(gvk schema.GroupVersionKind, crd *crd) (*server, error) {
	if s, ok := c.servers[gvk]; ok {
		return s, nil
	}
	v1, err := crd.decode()
	if err != nil {
		return nil, err
	}
	var s *server
	if v := version(v1, gvk.Version); v != nil && v.Served {
		if s, err = newServer(v1, v); err != nil {
			i := slices.IndexFunc(v1.Spec.Versions, func(w versionOf) bool { return w.Name == gvk.Version })
			return nil, crd.Errorf(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i),
				"the API server cannot use this schema: %v", err)
		}
	}
	c.servers[gvk] = s
	return s, nil
}

// findings lists what is wrong, each field once.
func (v *verdict) findings(finding func(crd *crd, rule, path, message string) []found, crd *crd) []found {
	var all []found
	for _, e := range v.update {
		all = append(all, finding(crd, ruleObjectInvalid, e.path, e.message)...)
	}
	for _, e := range v.create {
		if !slices.ContainsFunc(v.update, func(u fault) bool { return u.path == e.path }) {
			all = append(all, finding(crd, ruleObjectRatcheted, e.path, e.message)...)
		}
	}
	for _, path := range v.unknown {
		all = append(all, finding(crd, ruleObjectPruned, path, "not in the schema: the API server drops it")...)
	}
	return all
}

// place names an object and, if it is from a file, the line of a field in it.
func place(o *manifest.Object, path string) string {
	name := o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	if o.File == "" {
		return name
	}
	if line := o.LineOf(path); line > 0 {
		return o.File + ":" + strconv.Itoa(line) + ": " + name
	}
	return o.File + ": " + name
}
