package transform

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Patch is a change to objects, in the form of an entry of a kustomization's patches. It must fit the type
// of an object of Kubernetes or OLM, and knows no directive but $patch.
type Patch struct {
	// A file with the patch: a strategic merge patch or a list of JSON patch operations (RFC 6902).
	Path string `json:"path,omitempty"`
	// The patch itself.
	Patch string `json:"patch,omitempty"`
	// Which objects are patched. A strategic merge patch without target names its object itself.
	Target *Target `json:"target,omitempty"`
}

// Target selects objects. All that is given must match; group, version, kind, name and namespace are regular
// expressions for the whole.
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

// change is one document of a patch, and which objects it is for.
type change struct {
	matches func(generate.Object) (bool, error)
	// returns the object in olmgen's form, or nil if it is deleted
	apply func(generate.Object) (*manifest.Object, error)
}

// changes reads a patch whose text is given.
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
	if err := d.Twice(); err != nil {
		return change{}, err
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
	patch := v.(map[string]any) // checkMerge has seen that it is a mapping
	merge := func(x generate.Object) (*manifest.Object, error) {
		fields, err := fits(d, patch, x)
		if err != nil {
			return nil, err
		}
		m, err := mergePatch(patch, x)
		var unknown *unknownField
		if errors.As(err, &unknown) && len(fields) > 0 {
			e := noSuchField(typeOf(x), fields[0])
			e.File, e.Line = d.File, d.Errorf(e.Field, "").Line
			return nil, e
		}
		return m, err
	}
	if matches == nil {
		o, err := d.Object()
		if err != nil {
			return change{}, err
		}
		if o.Kind == "" || o.Name == "" {
			return change{},
				d.Errorf("", "a patch without target needs apiVersion, kind and metadata.name of its object")
		}
		matches = func(x generate.Object) (bool, error) {
			return x.APIVersion == o.APIVersion && x.Kind == o.Kind && x.Name == o.Name &&
				(o.Namespace == "" || o.Namespace == x.Namespace), nil
		}
	}
	return change{matches, merge}, nil
}

// Apply applies a patch to the objects that it selects. With own, it selects only among the objects for which own
// returns true. name stands for the patch in errors. It is an error if the patch selects nothing, or changes the
// identity of an object. An object that a patch deletes ($patch: delete) is not in the result.
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
			patched, err := c.apply(o.Object)
			if err != nil {
				return nil, ofObject(name, o.Object, err)
			}
			if patched != nil {
				o.Object = o.Replace(patched)
				kept = append(kept, o)
			}
		}
		if !found {
			which := "the patch"
			if len(changes) > 1 {
				which = fmt.Sprintf("document %d of the patch", i+1)
			}
			return nil, fmt.Errorf("%s: %s selects no object", name, which)
		}
		objects = kept
	}
	return slices.Clip(objects), nil
}

// ofObject returns an error with the patch and the object that it is about.
func ofObject(name string, o generate.Object, err error) error {
	var e *manifest.Error
	if errors.As(err, &e) && e.File == name { // it is at a place in the patch
		at := *e
		at.Msg = fmt.Sprintf("%s %s: %s", o.Kind, o.Name, e.Msg)
		return &at
	}
	return fmt.Errorf("%s: %s %s: %w", name, o.Kind, o.Name, err)
}

// maxPattern is the largest pattern of a target. Compiled, one takes a thousand times its size.
const maxPattern = 4096

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
		if len(p.pattern) > maxPattern {
			return nil, fmt.Errorf("target.%s: %d characters, and at most %d can be given", p.field, len(p.pattern),
				maxPattern)
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
	found, err := o.Get("metadata", "labels")
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
