package crs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// CRD is a CustomResourceDefinition as it was read.
type CRD struct{ *manifest.Object }

// ByName returns the CRDs among objects by their names. Of two with one name the first one counts.
func ByName(objects []*manifest.Object) (map[string]*CRD, error) {
	out := map[string]*CRD{}
	for _, o := range objects {
		if !olm.IsCRD(o.Group(), o.Kind) {
			continue
		}
		if o.Name == "" {
			return nil, o.Errorf("metadata.name", "missing")
		}
		out[o.Name] = cmp.Or(out[o.Name], &CRD{Object: o})
	}
	return out, nil
}

// ByKind returns CRDs by what they define. The error is about the first one, by name, that does not say it.
func ByKind(crds map[string]*CRD) (map[schema.GroupKind]*CRD, error) {
	out := make(map[schema.GroupKind]*CRD, len(crds))
	for _, name := range slices.Sorted(maps.Keys(crds)) {
		gk, err := crds[name].groupKind()
		if err != nil {
			return nil, err
		}
		out[gk] = crds[name]
	}
	return out, nil
}

func (c *CRD) groupKind() (schema.GroupKind, error) {
	k, _ := olm.DefinedKind(c.Object)
	gk := schema.GroupKind{Group: k.Group, Kind: k.Name}
	switch "" {
	case gk.Group:
		return gk, c.Errorf("spec.group", "missing, or not a text")
	case gk.Kind:
		return gk, c.Errorf("spec.names.kind", "missing, or not a text")
	}
	return gk, nil
}

// DefinedKind returns the kind of the objects that the CRD defines, for a sentence.
func (c *CRD) DefinedKind() string {
	k, _ := olm.DefinedKind(c.Object)
	return cmp.Or(k.Name, "object")
}

// Same reports whether two CRDs are the same text.
func (c *CRD) Same(d *CRD) bool {
	raw := c.Raw()
	return c.APIVersion == d.APIVersion && raw != nil && bytes.Equal(raw, d.Raw())
}

// maxVersions is how many versions a CRD may have: each two served ones are compared. Public bundles have six at most.
const maxVersions = 50

// Decode returns a CRD as an object of apiextensions.k8s.io/v1. It refuses CRDs about which nothing can be said.
func (c *CRD) Decode() (*apiextensionsv1.CustomResourceDefinition, error) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	switch c.APIVersion {
	case apiextensionsv1.SchemeGroupVersion.String():
		if err := decode(c.Object, v1); err != nil {
			return nil, err
		}
	case apiextensionsv1beta1.SchemeGroupVersion.String():
		old := &apiextensionsv1beta1.CustomResourceDefinition{}
		err := decode(c.Object, old)
		if err != nil {
			return nil, err
		}
		if len(old.Spec.Versions) > maxVersions {
			return nil, c.Errorf("spec.versions", "more than %d versions", maxVersions)
		}
		if v1, err = fromV1Beta1(old); err != nil {
			return nil, c.Errorf("spec", "%v", err)
		}
	default:
		return nil, c.Errorf("apiVersion", "%q is not a version of CustomResourceDefinition, want %s", c.APIVersion,
			apiextensionsv1.SchemeGroupVersion)
	}
	if len(v1.Spec.Versions) > maxVersions {
		return nil, c.Errorf("spec.versions", "more than %d versions", maxVersions)
	}
	if len(v1.Spec.Versions) == 0 {
		return nil, c.Errorf("spec.versions", "the CRD has no versions")
	}
	if v1.Spec.Names.Kind == "" {
		return nil, c.Errorf("spec.names.kind", "missing")
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	v1.APIVersion, v1.Kind = c.APIVersion, c.Kind
	return v1, nil
}

// decode is manifest.Object.Into without the slow search for unknown fields. The object does not keep its parsed text.
func decode(o *manifest.Object, typed any) error {
	if data, err := valueOf(o); err == nil && json.Unmarshal(data, typed) == nil {
		return nil
	}
	value, err := o.Value()
	if err != nil {
		return err
	}
	_, err = o.Decode(value, typed) // names the field
	return err
}

func valueOf(o *manifest.Object) ([]byte, error) {
	if raw := o.Raw(); raw != nil && !o.Parsed() {
		if again, err := manifest.ReadOne(o.File, raw); err == nil {
			o = again
		}
	}
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
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
