package transform

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Patch is a change to objects, in the form of an entry of a kustomization's patches. It must fit the type of an object of Kubernetes or OLM, and
// knows no directive but $patch.
type Patch struct {
	// A file with the patch: a strategic merge patch or a list of JSON patch operations (RFC 6902).
	Path string `json:"path,omitempty"`
	// The patch itself.
	Patch string `json:"patch,omitempty"`
	// Which objects are patched. A strategic merge patch without target names its object itself.
	Target *Target `json:"target,omitempty"`
}

// Target selects objects. All that is given must match; group, version, kind, name and namespace are regular expressions for the whole.
type Target struct {
	// The API group.
	Group string `json:"group,omitempty"`
	// The version of the API.
	Version string `json:"version,omitempty"`
	// The kind.
	Kind string `json:"kind,omitempty"`
	// The name.
	Name string `json:"name,omitempty"`
	// The namespace.
	Namespace string `json:"namespace,omitempty"`
	// A selector such as app=a,tier in (b).
	LabelSelector string `json:"labelSelector,omitempty"`
}

// Check finds what is wrong with a patch without its file.
func (p Patch) Check() error {
	switch {
	case p.Path == "" && strings.TrimSpace(p.Patch) == "":
		return errors.New("has neither path nor patch")
	case p.Path != "" && p.Patch != "":
		return errors.New("has both path and patch: keep one")
	case p.Target == nil:
		return nil
	case *p.Target == Target{}:
		return errors.New("target selects nothing: name a kind, or leave it out")
	}
	_, err := p.Target.compile()
	return err
}

type matcher struct {
	patterns [5]*regexp.Regexp
	labels   labels.Selector
}

func (t Target) compile() (*matcher, error) {
	m := &matcher{}
	for i, p := range []struct{ field, pattern string }{
		{"group", t.Group}, {"version", t.Version}, {"kind", t.Kind}, {"name", t.Name}, {"namespace", t.Namespace},
	} {
		if p.pattern == "" {
			continue
		}
		var err error
		if m.patterns[i], err = regexp.Compile("^(?:" + p.pattern + ")$"); err != nil {
			return nil, fmt.Errorf("target.%s: %w", p.field, err)
		}
	}
	var err error
	if m.labels, err = labels.Parse(t.LabelSelector); err != nil {
		return nil, fmt.Errorf("target.labelSelector: %w", err)
	}
	return m, nil
}

func (m *matcher) matches(o generate.Object) (bool, error) {
	version := o.APIVersion[strings.LastIndexByte(o.APIVersion, '/')+1:]
	for i, s := range []string{o.Group(), version, o.Kind, o.Name, o.Namespace} {
		if m.patterns[i] != nil && !m.patterns[i].MatchString(s) {
			return false, nil
		}
	}
	if m.labels.Empty() {
		return true, nil
	}
	x, err := parse(o)
	if err != nil {
		return false, err
	}
	found, err := x.Get("metadata", "labels")
	if err != nil {
		return false, err
	}
	set := labels.Set{}
	if have, ok := found.(map[string]any); ok {
		for k, v := range have {
			set[k], _ = v.(string)
		}
	}
	return m.labels.Matches(set), nil
}

// change is one document of a patch, and which objects it is for.
type change struct {
	matches func(generate.Object) (bool, error)
	apply   func(generate.Object) ([]byte, error) // gives the object in olmgen's form, or nil if it is deleted
}

// changes reads a patch whose text is known.
func (p Patch) changes(name string) ([]change, error) {
	docs, err := manifest.ReadFile(name, []byte(p.Patch), manifest.Limits{})
	if err != nil {
		return nil, err
	}
	var matches func(generate.Object) (bool, error)
	if p.Target != nil {
		m, err := p.Target.compile()
		if err != nil {
			return nil, err
		}
		matches = m.matches
	}
	var out []change
	for _, d := range docs {
		if d.Root == nil {
			continue
		}
		c, err := newChange(d, matches)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, &manifest.Error{File: name, Msg: "is an empty patch"}
	}
	return out, nil
}

func newChange(d *manifest.Document, matches func(generate.Object) (bool, error)) (change, error) {
	for _, dup := range d.Duplicates {
		return change{}, &manifest.Error{File: d.File, Line: dup.Line, Field: dup.Key, Msg: "is given twice", Tip: "keep one of them"}
	}
	v, err := d.Value()
	if err != nil {
		return change{}, err
	}
	if _, list := v.([]any); list {
		return newJSONPatch(d, v, matches)
	}
	if err := checkMerge(d, v); err != nil {
		return change{}, err
	}
	if err := checkDirectives(d, v); err != nil {
		return change{}, err
	}
	node, err := kyaml.FromMap(map[string]any{"patch": v})
	if err != nil {
		return change{}, d.Errorf("", "%v", err)
	}
	node = node.Field("patch").Value
	merge := func(x generate.Object) ([]byte, error) {
		fields, err := fits(d, v.(map[string]any), x) // checkMerge has seen that it is a mapping
		if err != nil {
			return nil, err
		}
		data, err := mergePatch(node.Copy(), x)
		var unknown *unknownField
		if errors.As(err, &unknown) && len(fields) > 0 {
			e := noSuchField(typeOf(x), fields[0])
			e.File, e.Line = d.File, d.Errorf(e.Field, "").Line
			return nil, e
		}
		return data, err
	}
	if matches == nil {
		o, err := d.Object()
		if err != nil {
			return change{}, err
		}
		if o.Kind == "" || o.Name == "" {
			return change{}, d.Errorf("", "a patch without target needs apiVersion, kind and metadata.name of its object")
		}
		matches = func(x generate.Object) (bool, error) {
			return x.APIVersion == o.APIVersion && x.Kind == o.Kind && x.Name == o.Name && (o.Namespace == "" || o.Namespace == x.Namespace), nil
		}
	}
	return change{matches, merge}, nil
}

// checkMerge refuses what the library that merges cannot take.
func checkMerge(d *manifest.Document, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return d.Errorf("", "a patch is a mapping, or a list of JSON patch operations")
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if _, text := m[field].(string); m[field] != nil && !text {
			return d.Errorf(field, "must be text")
		}
	}
	meta, ok := m["metadata"].(map[string]any)
	if m["metadata"] != nil && !ok {
		return d.Errorf("metadata", "must be a mapping")
	}
	for _, field := range []string{"name", "namespace"} {
		if _, text := meta[field].(string); meta[field] != nil && !text {
			return d.Errorf("metadata."+field, "must be text")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		values, ok := meta[field].(map[string]any)
		if meta[field] != nil && !ok {
			return d.Errorf("metadata."+field, "must be a mapping")
		}
		for key, x := range values {
			if _, text := x.(string); x != nil && !text {
				return d.Errorf("metadata."+field, "%s must be text: quote it", key)
			}
		}
	}
	return nil
}

// newJSONPatch takes a list of operations. They are applied to JSON, which keeps every number as it is.
func newJSONPatch(d *manifest.Document, v any, matches func(generate.Object) (bool, error)) (change, error) {
	if matches == nil {
		return change{}, d.Errorf("", "a JSON patch needs a target")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return change{}, d.Errorf("", "%v", err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return change{}, d.Errorf("", "is no JSON patch: %v", err)
	}
	return change{matches, func(o generate.Object) ([]byte, error) {
		x, err := parse(o)
		if err != nil {
			return nil, err
		}
		v, err := x.Value()
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, err
		}
		return printed(o, after)
	}}, nil
}

// strategicMerge is a patch as it is for one object: what it says of kind and name is not a change, as in kustomize.
func strategicMerge(patch *kyaml.RNode, o generate.Object) (kio.Filter, error) {
	if patch.Field("kind") != nil {
		patch.SetKind(o.Kind)
	}
	if patch.Field("apiVersion") != nil {
		patch.SetApiVersion(o.APIVersion)
	}
	if patch.GetName() != "" {
		if err := patch.SetName(o.Name); err != nil {
			return nil, err
		}
	}
	if patch.GetNamespace() != "" {
		if err := patch.SetNamespace(o.Namespace); err != nil {
			return nil, err
		}
	}
	return patchstrategicmerge.Filter{Patch: patch}, nil
}

// Apply applies a patch to those of the objects that it selects and that own says it is about; nil is about all. name stands for the
// patch in errors. A patch that selects nothing is an error, and so is one that gives an object another identity. An object that a
// patch deletes ($patch: delete) is left out of the result.
func Apply(objects []generate.Shared, name string, p Patch, own func(generate.Shared) bool) ([]generate.Shared, error) {
	changes, err := p.changes(name)
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		found := false
		var kept []generate.Shared
		for _, o := range objects {
			ok := own == nil || own(o)
			if ok {
				if ok, err = c.matches(o.Object); err != nil {
					return nil, err
				}
			}
			if !ok {
				kept = append(kept, o)
				continue
			}
			found = true
			if o.Data, err = c.apply(o.Object); err != nil {
				return nil, ofObject(name, o.Object, err)
			}
			if o.Data != nil {
				kept = append(kept, o)
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: %s selects no object", name, ordinal(i, len(changes)))
		}
		objects = kept
	}
	return slices.Clip(objects), nil
}

// ofObject says which patch and which object an error is about.
func ofObject(name string, o generate.Object, err error) error {
	var e *manifest.Error
	if errors.As(err, &e) && e.File == name { // it is at a place in the patch
		at := *e
		at.Msg = fmt.Sprintf("%s %s: %s", o.Kind, o.Name, e.Msg)
		return &at
	}
	return fmt.Errorf("%s: %s %s: %w", name, o.Kind, o.Name, err)
}

func ordinal(i, n int) string {
	if n == 1 {
		return "the patch"
	}
	return fmt.Sprintf("document %d of the patch", i+1)
}

// mergePatch applies a strategic merge patch.
func mergePatch(patch *kyaml.RNode, o generate.Object) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // the library trusts its input
			err = fmt.Errorf("the patch does not fit the object: %v", r)
		}
	}()
	node, err := kyaml.Parse(string(o.Data))
	if err != nil {
		return nil, err
	}
	filter, err := strategicMerge(patch, o)
	if err != nil {
		return nil, err
	}
	nodes, err := filter.Filter([]*kyaml.RNode{node})
	if err != nil {
		msg, _, _ := strings.Cut(err.Error(), ": node contents:")
		return nil, errors.New(msg)
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	quoteText(nodes[0].YNode())
	text, err := nodes[0].String()
	if err != nil {
		return nil, err
	}
	return printed(o, []byte(text))
}

// quoteText keeps text what it is: the library prints y and n as they are, and these are read as true and false.
func quoteText(n *kyaml.Node) {
	if n.Kind == kyaml.ScalarNode && n.Tag == kyaml.NodeTagString {
		n.Style = kyaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quoteText(c)
	}
}

// printed gives a changed object in olmgen's form. It must still be the same object, and of its type as far as it was before.
func printed(o generate.Object, text []byte) ([]byte, error) {
	x, err := parse(generate.Object{Kind: o.Kind, Name: o.Name, Data: text})
	if err != nil {
		return nil, err
	}
	if x.APIVersion != o.APIVersion || x.Kind != o.Kind || x.Name != o.Name || x.Namespace != o.Namespace {
		return nil, fmt.Errorf("a patch cannot give it another identity (%s)", x.Identity())
	}
	v, err := x.Value()
	if err != nil {
		return nil, err
	}
	if err := verify(o, x, v); err != nil {
		return nil, err
	}
	return manifest.Encode(v), nil
}
