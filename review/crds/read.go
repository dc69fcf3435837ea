package crds

import (
	"bytes"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/olmgen/olmgen/manifest"
)

// crd is a CRD as it was read, and as an object of apiextensions.k8s.io/v1 once it is decoded.
type crd struct {
	*manifest.Object
	v1 *apiextensionsv1.CustomResourceDefinition
}

// kind returns the kind of the objects that the CRD defines.
func (c *crd) kind() string {
	if c.v1 != nil {
		return c.v1.Spec.Names.Kind
	}
	kind, err := c.Get("spec", "names", "kind")
	if s, ok := kind.(string); err == nil && ok {
		return s
	}
	return "object"
}

// same reports whether two CRDs are the same text.
func (c *crd) same(d *crd) bool {
	raw := c.Raw()
	return c.APIVersion == d.APIVersion && raw != nil && bytes.Equal(raw, d.Raw())
}

// pair returns the CRDs of both sides by name. Those that are on both sides and differ are decoded. Of two CRDs of one
// name on one side the first one counts.
func pair(old, now []*manifest.Object) (before, after map[string]*crd, err error) {
	if before, err = byName(old); err != nil {
		return nil, nil, err
	}
	if after, err = byName(now); err != nil {
		return nil, nil, err
	}
	var todo []*crd
	for _, name := range namesOf(before) {
		if b := after[name]; b != nil && !before[name].same(b) {
			todo = append(todo, before[name], b)
		}
	}
	return before, after, decodeAll(todo)
}

func byName(objects []*manifest.Object) (map[string]*crd, error) {
	out := map[string]*crd{}
	for _, o := range objects {
		if o.Kind != "CustomResourceDefinition" || o.Group() != apiextensions.GroupName {
			continue
		}
		if o.Name == "" {
			return nil, o.Errorf("metadata.name", "missing")
		}
		if out[o.Name] == nil {
			out[o.Name] = &crd{Object: o}
		}
	}
	return out, nil
}

// decodeAll decodes CRDs. The error is that of the first one that cannot be decoded.
func decodeAll(crds []*crd) error {
	errs := make([]error, len(crds))
	each(len(crds), func(i int) { errs[i] = crds[i].decode() })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *crd) decode() error {
	if c.v1 != nil {
		return nil
	}
	switch c.APIVersion {
	case apiextensionsv1.SchemeGroupVersion.String():
		typed := &apiextensionsv1.CustomResourceDefinition{}
		if err := decode(c.Object, typed); err != nil {
			return err
		}
		c.v1 = typed
	case apiextensionsv1beta1.SchemeGroupVersion.String():
		typed := &apiextensionsv1beta1.CustomResourceDefinition{}
		if err := decode(c.Object, typed); err != nil {
			return err
		}
		converted, err := fromV1Beta1(typed)
		if err != nil {
			return c.Errorf("spec", "%v", err)
		}
		c.v1 = converted
	default:
		return c.Errorf("apiVersion", "%q is no version of CustomResourceDefinition, want %s", c.APIVersion,
			apiextensionsv1.SchemeGroupVersion)
	}
	return c.check()
}

// check refuses what nothing can be said about.
func (c *crd) check() error {
	if len(c.v1.Spec.Versions) == 0 {
		return c.Errorf("spec.versions", "the CRD has no versions")
	}
	if c.v1.Spec.Names.Kind == "" {
		return c.Errorf("spec.names.kind", "missing")
	}
	return nil
}

// decode is manifest.Object.Into without the search for unknown fields, which takes as long as the rest.
func decode(o *manifest.Object, typed any) error {
	value, err := o.Value()
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return o.Errorf("", "%v", err)
	}
	if json.Unmarshal(data, typed) == nil {
		return nil
	}
	_, err = o.Decode(value, typed) // names the field
	return err
}

// fromV1Beta1 converts a CRD as the API server does: defaults, then by way of the internal type.
func fromV1Beta1(
	old *apiextensionsv1beta1.CustomResourceDefinition,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinitionSpec(&old.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old,
		internal, nil)
	if err != nil {
		return nil, err
	}
	now := &apiextensionsv1.CustomResourceDefinition{}
	return now, apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(
		internal, now, nil)
}
