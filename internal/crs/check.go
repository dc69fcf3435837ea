package crs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
func Check(
	ctx context.Context, checker Checker, kinds map[schema.GroupKind]*CRD, objects []*manifest.Object,
) ([]Result, error) {
	s := sorter{kinds: kinds, batches: map[schema.GroupVersionKind]*batch{}, results: make([]Result, len(objects))}
	for i, o := range objects {
		if err := s.add(i, o); err != nil {
			return nil, err
		}
	}
	return s.results, s.ask(ctx, checker)
}

// BatchOf returns a version of a CRD, without objects. It returns false if the CRD does not serve the version.
func BatchOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (Batch, bool) {
	i := indexOf(crd, version)
	if i < 0 || !crd.Spec.Versions[i].Served {
		return Batch{}, false
	}
	return Batch{Version: crd.Spec.Versions[i], PreserveUnknownFields: crd.Spec.PreserveUnknownFields,
		ClusterScoped: crd.Spec.Scope == apiextensionsv1.ClusterScoped}, true
}

func indexOf(crd *apiextensionsv1.CustomResourceDefinition, version string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
}

// Add adds an object.
func (b *Batch) Add(o *manifest.Object) error {
	value, err := o.Value()
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return o.Errorf("", "%v", err)
	}
	b.Objects = append(b.Objects, data)
	return nil
}

// sorter sorts objects into batches.
type sorter struct {
	kinds   map[schema.GroupKind]*CRD
	batches map[schema.GroupVersionKind]*batch // of the served versions; nil for one that is not served
	order   []*batch
	results []Result // of each object
}

// batch is a Batch with what it is made of.
type batch struct {
	Batch
	crd     *CRD
	index   int   // of the version in the CRD
	objects []int // their results
}

// add puts an object into the batch of its version.
func (s *sorter) add(i int, o *manifest.Object) error {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return o.Errorf("apiVersion", "%v", err)
	}
	gvk := gv.WithKind(o.Kind)
	r := &s.results[i]
	*r = Result{Object: o, Version: gv.Version, CRD: s.kinds[gvk.GroupKind()]}
	if r.CRD == nil {
		return nil
	}
	b, err := s.batch(gvk, r.CRD)
	if err != nil || b == nil {
		return err
	}
	r.Served, b.objects = true, append(b.objects, i)
	return b.Add(o)
}

// batch returns the batch of a served version, or nil for one that is not served.
func (s *sorter) batch(gvk schema.GroupVersionKind, crd *CRD) (*batch, error) {
	if b, ok := s.batches[gvk]; ok {
		return b, nil
	}
	v1, err := crd.Decode()
	if err != nil {
		return nil, err
	}
	var b *batch
	if of, served := BatchOf(v1, gvk.Version); served {
		b = &batch{Batch: of, crd: crd, index: indexOf(v1, gvk.Version)}
		s.order = append(s.order, b)
	}
	s.batches[gvk] = b
	return b, nil
}

// ask asks the Checker about all batches.
func (s *sorter) ask(ctx context.Context, checker Checker) error {
	if len(s.order) == 0 {
		return nil
	}
	if checker == nil {
		return errors.New("custom resources need a Checker")
	}
	batches := make([]Batch, len(s.order))
	for i, b := range s.order {
		batches[i] = b.Batch
	}
	answers, err := checker.Check(ctx, batches)
	if err != nil {
		return err
	}
	if len(answers) != len(batches) {
		return fmt.Errorf("the Checker has %d answers to %d batches", len(answers), len(batches))
	}
	for i, b := range s.order {
		if err := s.read(b, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// read keeps the answer to a batch.
func (s *sorter) read(b *batch, a Answer) error {
	if a.Error != "" {
		return b.crd.Errorf(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", b.index),
			"the API server cannot use this schema: %s", a.Error)
	}
	if len(a.Verdicts) != len(b.objects) {
		return fmt.Errorf("the Checker has %d verdicts on %d objects", len(a.Verdicts), len(b.objects))
	}
	for i, v := range a.Verdicts {
		r := &s.results[b.objects[i]]
		if v.Error != "" {
			return r.Object.Errorf("metadata", "%s", v.Error)
		}
		r.Verdict = v
	}
	return nil
}
