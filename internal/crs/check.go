package crs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Result is what is known about one object.
type Result struct {
	Object  *manifest.Object
	Version string  // of its apiVersion
	CRD     *CRD    // nil if none defines the kind
	Served  bool    // whether the CRD serves the version. Only then there is a Verdict
	Verdict Verdict // its Error is empty
}

// Check judges each object by the CRD of its kind. An object or a CRD that cannot be read is an error with its place.
func Check(ctx context.Context, checker Checker, kinds map[schema.GroupKind]*CRD, objects []*manifest.Object) (
	[]Result, error) {
	results := make([]Result, len(objects))
	judges := map[schema.GroupVersionKind]Judge{} // nil for a version that is not served
	for i, o := range objects {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		if err != nil {
			return nil, o.Errorf("apiVersion", "%v", err)
		}
		gvk, r := gv.WithKind(o.Kind), &results[i]
		*r = Result{Object: o, Version: gv.Version, CRD: kinds[gvk.GroupKind()]}
		if r.CRD == nil {
			continue
		}
		judge, known := judges[gvk]
		if !known {
			if judge, err = judgeOf(checker, r.CRD, gv.Version); err != nil {
				return nil, err
			}
			judges[gvk] = judge
		}
		if r.Served = judge != nil; r.Served {
			if r.Verdict, err = judge.Of(o, gv.Version); err != nil {
				return nil, err
			}
			if r.Verdict.Error != "" {
				return nil, o.Errorf("metadata", "%s", r.Verdict.Error)
			}
		}
	}
	return results, nil
}

// InNewVersions returns objects as the versions that only the new CRDs have serve them without a conversion webhook.
func InNewVersions(objects []*manifest.Object, gone, kinds map[schema.GroupKind]*CRD) (out []*manifest.Object,
	err error) {
	for _, o := range objects {
		gk := schema.GroupKind{Group: o.Group(), Kind: o.Kind}
		old, now := gone[gk], kinds[gk]
		if old == nil || now == nil || olm.ConvertsByWebhook(now.Object) {
			continue
		}
		before := append(olm.ServedVersions(old.Object), strings.TrimPrefix(o.APIVersion, gk.Group+"/"))
		for _, version := range olm.ServedVersions(now.Object) {
			if slices.Contains(before, version) {
				continue
			}
			served, err := inVersion(o, version)
			if err != nil {
				return nil, err
			}
			out = append(out, served)
		}
	}
	return out, nil
}

// InStorage returns objects of other versions as the storage version has them without a conversion webhook.
func InStorage(objects []*manifest.Object, kinds map[schema.GroupKind]*CRD) (out []*manifest.Object, err error) {
	for _, o := range objects {
		crd := kinds[schema.GroupKind{Group: o.Group(), Kind: o.Kind}]
		if crd == nil || olm.ConvertsByWebhook(crd.Object) {
			continue
		}
		for _, v := range olm.CRDVersions(crd.Object) {
			if !v.Storage || o.APIVersion == o.Group()+"/"+v.Name {
				continue
			}
			stored, err := inVersion(o, v.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, stored)
		}
	}
	return out, nil
}

// inVersion returns an object as another version has it if only apiVersion differs.
func inVersion(o *manifest.Object, version string) (*manifest.Object, error) {
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	value = maps.Clone(value)
	value["apiVersion"] = o.Group() + "/" + version
	out := o.Derive(value, func(field string) string { return field })
	out.Namespace = o.Namespace
	return out, nil
}

// judgeOf returns what judges the objects of a version, or nil if the CRD does not serve it.
func judgeOf(checker Checker, crd *CRD, version string) (Judge, error) {
	v1, err := crd.Decode()
	if err != nil {
		return nil, err
	}
	v, served := VersionOf(v1, version)
	if !served {
		return nil, nil //nolint:nilnil // nothing is asked about it
	}
	if checker == nil {
		return nil, ErrNoChecker
	}
	judge, err := checker.Judge(v)
	if err != nil {
		err = crd.Errorf(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", IndexOf(v1, version)),
			"the API server cannot use this schema: %v", err)
	}
	return judge, err
}

// ErrNoChecker says that nobody judges custom resources.
var ErrNoChecker = errors.New("custom resources need a Checker")

// VersionOf returns a version of a CRD. It returns false if the CRD does not serve the version.
func VersionOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (Version, bool) {
	i := IndexOf(crd, version)
	if i < 0 || !crd.Spec.Versions[i].Served {
		return Version{}, false
	}
	return Version{CustomResourceDefinitionVersion: crd.Spec.Versions[i],
		PreserveUnknownFields: crd.Spec.PreserveUnknownFields,
		ClusterScoped:         crd.Spec.Scope == apiextensionsv1.ClusterScoped}, true
}

// IndexOf returns the index of a version of a CRD, or -1.
func IndexOf(crd *apiextensionsv1.CustomResourceDefinition, version string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
}

// Of judges an object, as it is in a version.
func (j Judge) Of(o *manifest.Object, version string) (Verdict, error) {
	value, err := o.Value()
	if err != nil {
		return Verdict{}, err
	}
	value = maps.Clone(value)
	value["apiVersion"] = o.Group() + "/" + version
	data, err := json.Marshal(value)
	if err != nil {
		return Verdict{}, o.Errorf("", "%v", err)
	}
	return j(data)
}
