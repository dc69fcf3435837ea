package crds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/manifest"
)

// checkObjects checks existing objects against the new CRDs. Objects of other groups are passed over.
func checkObjects(ctx context.Context, o Options, before, after map[string]*crd) ([]found, error) {
	c := checker{kinds: map[schema.GroupKind]*crd{}, gone: map[schema.GroupKind]*crd{}, groups: map[string]bool{},
		batches: map[schema.GroupVersionKind]*batch{}}
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
	for _, object := range o.Objects {
		if err := c.add(object); err != nil {
			return nil, err
		}
	}
	if err := c.ask(ctx, o.Checker); err != nil {
		return nil, err
	}
	return c.found, nil
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

// checker sorts objects into batches, and keeps what it finds.
type checker struct {
	kinds, gone map[schema.GroupKind]*crd // by what they define: the new CRDs, and the old ones
	groups      map[string]bool
	batches     map[schema.GroupVersionKind]*batch // of the served versions; nil for one that is not served
	order       []*batch
	found       []found
}

// batch is a Batch with what it is made of.
type batch struct {
	Batch
	crd     *crd
	index   int // of the version in the CRD
	objects []*manifest.Object
}

func (c *checker) report(o *manifest.Object, crd *crd, version, rule, path, message string) {
	f := Finding{Version: version, Rule: rule, Path: path, Message: place(o, path) + ": " + message}
	if crd != nil {
		f.CRD = crd.Name
	}
	c.found = append(c.found, found{Finding: f})
}

// add puts an object into the batch of its version. An object without such a batch is a finding.
func (c *checker) add(o *manifest.Object) error {
	if !c.groups[o.Group()] {
		return nil
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return o.Errorf("apiVersion", "%v", err)
	}
	gvk := gv.WithKind(o.Kind)
	crd, old := c.kinds[gvk.GroupKind()], c.gone[gvk.GroupKind()]
	switch {
	case crd == nil && old != nil:
		c.report(o, old, gv.Version, ruleObjectOrphaned, "",
			"its CRD is gone: where that is pruned, the object is deleted")
		return nil
	case crd == nil:
		c.report(o, nil, gv.Version, ruleObjectUnknown, "kind", "no CRD of the group "+gv.Group+" defines this kind")
		return nil
	}
	b, err := c.batch(gvk, crd)
	switch {
	case err != nil:
		return err
	case b == nil:
		c.report(o, crd, gv.Version, ruleObjectVersion, "apiVersion", gv.Version+" is not served: requests for it fail")
		return nil
	}
	value, err := o.Value()
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return o.Errorf("", "%v", err)
	}
	b.objects, b.Objects = append(b.objects, o), append(b.Objects, data)
	return nil
}

// batch returns the batch of a served version, or nil for one that is not served.
func (c *checker) batch(gvk schema.GroupVersionKind, crd *crd) (*batch, error) {
	if b, ok := c.batches[gvk]; ok {
		return b, nil
	}
	v1, err := crd.decode()
	if err != nil {
		return nil, err
	}
	var b *batch
	i := slices.IndexFunc(v1.Spec.Versions, func(v versionOf) bool { return v.Name == gvk.Version })
	if i >= 0 && v1.Spec.Versions[i].Served {
		b = &batch{crd: crd, index: i, Batch: Batch{Version: v1.Spec.Versions[i],
			PreserveUnknownFields: v1.Spec.PreserveUnknownFields,
			ClusterScoped:         v1.Spec.Scope == apiextensionsv1.ClusterScoped}}
		c.order = append(c.order, b)
	}
	c.batches[gvk] = b
	return b, nil
}

// ask asks the Checker about all batches.
func (c *checker) ask(ctx context.Context, checker Checker) error {
	if len(c.order) == 0 {
		return nil
	}
	if checker == nil {
		return errors.New("Options.Objects need Options.Checker")
	}
	batches := make([]Batch, len(c.order))
	for i, b := range c.order {
		batches[i] = b.Batch
	}
	answers, err := checker.Check(ctx, batches)
	if err != nil {
		return err
	}
	if len(answers) != len(batches) {
		return fmt.Errorf("the Checker has %d answers to %d batches", len(answers), len(batches))
	}
	for i, b := range c.order {
		if err := c.read(b, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// read makes findings of the answer to a batch.
func (c *checker) read(b *batch, a Answer) error {
	if a.Error != "" {
		return b.crd.Errorf(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", b.index),
			"the API server cannot use this schema: %s", a.Error)
	}
	if len(a.Verdicts) != len(b.objects) {
		return fmt.Errorf("the Checker has %d verdicts on %d objects", len(a.Verdicts), len(b.objects))
	}
	for i, v := range a.Verdicts {
		if v.Error != "" {
			return b.objects[i].Errorf("metadata", "%s", v.Error)
		}
		c.verdict(b, b.objects[i], v)
	}
	return nil
}

// verdict lists what is wrong with an object, each field once.
func (c *checker) verdict(b *batch, o *manifest.Object, v Verdict) {
	for _, f := range v.Update {
		c.report(o, b.crd, b.Version.Name, ruleObjectInvalid, f.Path, f.Message)
	}
	for _, f := range v.Create {
		if !slices.ContainsFunc(v.Update, func(u Fault) bool { return u.Path == f.Path }) {
			c.report(o, b.crd, b.Version.Name, ruleObjectRatcheted, f.Path, f.Message)
		}
	}
	for _, path := range v.Unknown {
		c.report(o, b.crd, b.Version.Name, ruleObjectPruned, path, "not in the schema: the API server drops it")
	}
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
