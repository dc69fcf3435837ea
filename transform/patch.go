package transform

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Patch is a change to objects, in the form of an entry of a kustomization's patches.
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
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
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
	filter  func(generate.Object) (kio.Filter, error)
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
	v, err := d.Value()
	if err != nil {
		return change{}, err
	}
	node, err := kyaml.FromMap(map[string]any{"patch": v})
	if err != nil {
		return change{}, d.Errorf("", "%v", err)
	}
	node = node.Field("patch").Value
	if _, list := v.([]any); list {
		if matches == nil {
			return change{}, d.Errorf("", "a JSON patch needs a target")
		}
		text, err := node.String()
		if err != nil {
			return change{}, d.Errorf("", "%v", err)
		}
		return change{matches, func(generate.Object) (kio.Filter, error) { return patchjson6902.Filter{Patch: text}, nil }}, nil
	}
	merge := func(x generate.Object) (kio.Filter, error) { return strategicMerge(node.Copy(), x) }
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
				return nil, fmt.Errorf("%s: %s %s: %w", name, o.Kind, o.Name, err)
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

func ordinal(i, n int) string {
	if n == 1 {
		return "the patch"
	}
	return fmt.Sprintf("document %d of the patch", i+1)
}

// apply gives the changed object in olmgen's form, or nil if it is deleted.
func (c change) apply(o generate.Object) ([]byte, error) {
	node, err := kyaml.Parse(string(o.Data))
	if err != nil {
		return nil, err
	}
	filter, err := c.filter(o)
	if err != nil {
		return nil, err
	}
	nodes, err := filter.Filter([]*kyaml.RNode{node})
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	text, err := nodes[0].String()
	if err != nil {
		return nil, err
	}
	x, err := parse(generate.Object{Kind: o.Kind, Name: o.Name, Data: []byte(text)})
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
	return manifest.Encode(v), nil
}
