package bundle

import (
	"fmt"
	"strconv"

	"github.com/olmgen/olmgen/manifest"
)

// readCRD takes what other objects depend on; schemas are not decoded.
func readCRD(o *manifest.Object) (*CRD, error) {
	c := &CRD{Object: o, V1Beta: o.APIVersion == "apiextensions.k8s.io/v1beta1"}
	if o.APIVersion != "apiextensions.k8s.io/v1" && !c.V1Beta {
		return nil,
			o.Errorf("apiVersion", "%q is not a version of CustomResourceDefinition, want apiextensions.k8s.io/v1",
				o.APIVersion)
	}
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&c.Group, []string{"spec", "group"}},
		{&c.Plural, []string{"spec", "names", "plural"}},
		{&c.ResourceKind, []string{"spec", "names", "kind"}},
		{&c.Scope, []string{"spec", "scope"}},
	} {
		s, err := field[string](o, f.path...)
		if err != nil {
			return nil, err
		}
		*f.to = s
	}
	preserve, err := field[bool](o, "spec", "preserveUnknownFields")
	if err != nil {
		return nil, err
	}
	c.PreserveUnknownFields = preserve
	return c, c.readVersions()
}

// field decodes one field; a missing one is the zero value.
func field[T any](o *manifest.Object, path ...string) (T, error) {
	var zero T
	v, err := o.Get(path...)
	if err != nil || v == nil {
		return zero, err
	}
	t, ok := v.(T)
	if !ok {
		name := path[0]
		for _, p := range path[1:] {
			if _, err := strconv.Atoi(p); err == nil {
				p = "[" + p + "]"
			} else {
				p = "." + p
			}
			name += p
		}
		return zero,
			o.Errorf(name, "has the wrong type: want %s",
				map[string]string{"string": "text", "bool": "true or false"}[fmt.Sprintf("%T", zero)])
	}
	return t, nil
}

// readVersions takes name, served and storage of each version; v1beta1's spec.version stands for a list of one.
func (c *CRD) readVersions() error {
	n := c.Len("spec", "versions")
	for i := range n {
		index := strconv.Itoa(i)
		var v CRDVersion
		var err error
		if v.Name, err = field[string](c.Object, "spec", "versions", index, "name"); err != nil {
			return err
		}
		if v.Served, err = field[bool](c.Object, "spec", "versions", index, "served"); err != nil {
			return err
		}
		if v.Storage, err = field[bool](c.Object, "spec", "versions", index, "storage"); err != nil {
			return err
		}
		c.Versions = append(c.Versions, v)
	}
	if n == 0 && c.V1Beta {
		name, err := field[string](c.Object, "spec", "version")
		if err != nil {
			return err
		}
		if name != "" {
			c.Versions = []CRDVersion{{name, true, true}}
		}
	}
	return nil
}
