package crs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
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

// Check judges each object by the CRD of its kind. checker is not asked if no CRD serves any of them. An object or a
// CRD that cannot be read is an error that names its place.
func Check(ctx context.Context, checker Checker, kinds map[schema.GroupKind]*CRD, objects []*manifest.Object) (
	[]Result, error) {
	results := make([]Result, len(objects))
	batches := map[schema.GroupVersionKind]*batch{} // nil for a version that is not served
	var order []*batch
	for i, o := range objects {
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		if err != nil {
			return nil, o.Errorf("apiVersion", "%v", err)
		}
		gvk, r := gv.WithKind(o.Kind), &results[i]
		*r = Result{Object: o, Version: gv.Version, CRD: kinds[gvk.GroupKind()]}
		if r.CRD == nil {
			continue
		}
		b, known := batches[gvk]
		if !known {
			if b, err = newBatch(r.CRD, gv.Version); err != nil {
				return nil, err
			}
			batches[gvk], order = b, append(order, b)
		}
		if b == nil {
			continue
		}
		r.Served, b.results = true, append(b.results, r)
		if err := b.Add(o); err != nil {
			return nil, err
		}
	}
	order = slices.DeleteFunc(order, func(b *batch) bool { return b == nil })
	answers, err := Ask(ctx, checker, lists.Map(order, func(b *batch) Batch { return b.Batch }))
	if err != nil {
		return nil, err
	}
	for i, b := range order {
		if err := b.read(answers[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Ask returns the answers of a Checker, which is not asked about nothing.
func Ask(ctx context.Context, checker Checker, batches []Batch) ([]Answer, error) {
	if len(batches) == 0 {
		return nil, nil
	}
	if checker == nil {
		return nil, errors.New("custom resources need a Checker")
	}
	answers, err := checker.Check(ctx, batches)
	if err == nil && len(answers) != len(batches) {
		err = fmt.Errorf("the Checker has %d answers to %d batches", len(answers), len(batches))
	}
	return answers, err
}

// BatchOf returns a version of a CRD, without objects. It returns false if the CRD does not serve the version.
func BatchOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (Batch, bool) {
	i := IndexOf(crd, version)
	if i < 0 || !crd.Spec.Versions[i].Served {
		return Batch{}, false
	}
	return Batch{Version: crd.Spec.Versions[i], PreserveUnknownFields: crd.Spec.PreserveUnknownFields,
		ClusterScoped: crd.Spec.Scope == apiextensionsv1.ClusterScoped}, true
}

// IndexOf returns the index of a version of a CRD, or -1.
func IndexOf(crd *apiextensionsv1.CustomResourceDefinition, version string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
}

// Add adds an object, as it is in the version of the batch.
func (b *Batch) Add(o *manifest.Object) error {
	value, err := o.Value()
	if err != nil {
		return err
	}
	value = maps.Clone(value)
	value["apiVersion"] = o.Group() + "/" + b.Version.Name
	data, err := json.Marshal(value)
	if err != nil {
		return o.Errorf("", "%v", err)
	}
	b.Objects = append(b.Objects, data)
	return nil
}

// batch is a Batch with what it is made of.
type batch struct {
	Batch
	crd     *CRD
	index   int // of the version in the CRD
	results []*Result
}

// newBatch returns the batch of a version, or nil for one that is not served.
func newBatch(crd *CRD, version string) (*batch, error) {
	v1, err := crd.Decode()
	if err != nil {
		return nil, err
	}
	of, served := BatchOf(v1, version)
	if !served {
		return nil, nil //nolint:nilnil // nothing is asked about it
	}
	return &batch{Batch: of, crd: crd, index: IndexOf(v1, version)}, nil
}

// read keeps the answer to a batch.
func (b *batch) read(a Answer) error {
	if a.Error != "" {
		return b.crd.Errorf(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", b.index),
			"the API server cannot use this schema: %s", a.Error)
	}
	if len(a.Verdicts) != len(b.results) {
		return fmt.Errorf("the Checker has %d verdicts on %d objects", len(a.Verdicts), len(b.results))
	}
	for i, r := range b.results {
		if r.Verdict = a.Verdicts[i]; r.Verdict.Error != "" {
			return r.Object.Errorf("metadata", "%s", r.Verdict.Error)
		}
	}
	return nil
}
