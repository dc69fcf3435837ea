package helm

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// installSite is where an operator goes: its namespace and the namespaces that it watches, sorted.
type installSite struct {
	namespace string
	targets   []string
}

// without returns the targets other than the operator's own namespace: those that get objects of their own.
func (p installSite) without() []string {
	return slices.DeleteFunc(slices.Clone(p.targets), func(t string) bool { return t == p.namespace })
}

// What stands in a decoded object in the place of a value that depends on the chart's values.
type (
	// text is a string with a variable in it.
	textParts []part
	// targetItems are list items, one for each target namespace.
	targetItems struct{}
	// setting is a field that is one of the chart's values.
	setting struct {
		path   []string
		always bool // printed even if it is empty
	}
)

type part struct {
	kind    variable
	literal string
}

type variable int

const (
	literal variable = iota
	namespaceVar
	targetVar  // the target namespace; the one of the object, where there is one for each
	targetsVar // all, sorted, joined with commas
)

// sentinels are invented namespaces. An object that has one depends on where the operator is installed.
type sentinels struct {
	installSite
	list []sentinel
}

type sentinel struct {
	name string
	kind variable
}

// newSentinels returns the sentinels of a place. A namespace or targets that are not to be values are not looked for.
func newSentinels(p installSite, namespace, targets bool) sentinels {
	s := sentinels{installSite: p}
	if targets && len(p.targets) > 1 {
		s.list = append(s.list, sentinel{strings.Join(p.targets, ","), targetsVar})
	}
	if targets {
		s.list = append(s.list, sentinel{p.targets[0], targetVar})
	}
	if namespace {
		s.list = append(s.list, sentinel{p.namespace, namespaceVar})
	}
	return s
}

var errNotAValue = errors.New("no value of a chart can express this")

// abstract replaces the sentinels in a decoded object; changed is false for a value that has none.
func (s sentinels) abstract(v any) (out any, changed bool, err error) {
	switch v := v.(type) {
	case string:
		return s.split(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			if _, found, err := s.split(k); found || err != nil {
				return nil, false, errNotAValue
			}
			y, c, err := s.abstract(x)
			if err != nil {
				return nil, false, err
			}
			m[k], changed = y, changed || c
		}
		return m, changed, nil
	case []any:
		return s.items(v)
	}
	return v, false, nil
}

func (s sentinels) items(v []any) (out []any, changed bool, err error) {
	for i := 0; i < len(v); i++ {
		if s.areTargets(v[i:]) {
			out, changed = append(out, targetItems{}), true
			i += len(s.targets) - 1
			continue
		}
		y, c, err := s.abstract(v[i])
		if err != nil {
			return nil, false, err
		}
		out, changed = append(out, y), changed || c
	}
	if out == nil {
		out = []any{}
	}
	return out, changed, nil
}

// areTargets reports whether a list begins with all target namespaces, of which there are at least two.
func (s sentinels) areTargets(list []any) bool {
	if len(s.list) == 0 || s.list[0].kind != targetsVar || len(list) < len(s.targets) {
		return false
	}
	for i, t := range s.targets {
		if list[i] != t {
			return false
		}
	}
	return true
}

func (s sentinels) split(v string) (out any, changed bool, err error) {
	parts := textParts{{literal, v}}
	for _, sentinel := range s.list {
		var next textParts
		for _, p := range parts {
			if p.kind != literal {
				next = append(next, p)
				continue
			}
			for i, piece := range strings.Split(p.literal, sentinel.name) {
				if i > 0 {
					next = append(next, part{kind: sentinel.kind})
				}
				if piece != "" {
					next = append(next, part{literal, piece})
				}
			}
		}
		parts = next
	}
	if len(parts) < 2 && (len(parts) == 0 || parts[0].kind == literal) {
		return v, false, nil
	}
	return parts, true, nil
}

// at returns the object as it is in a place. target is the target namespace of an object that exists once for each.
func at(v any, p installSite, target string) any {
	switch v := v.(type) {
	case textParts:
		var b strings.Builder
		for _, x := range v {
			b.WriteString(x.at(p, target))
		}
		return b.String()
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = at(x, p, target)
		}
		return m
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			if _, ok := x.(targetItems); ok {
				for _, t := range p.targets {
					out = append(out, t)
				}
				continue
			}
			out = append(out, at(x, p, target))
		}
		return out
	}
	return v
}

func (x part) at(p installSite, target string) string {
	switch x.kind {
	case namespaceVar:
		return p.namespace
	case targetVar:
		return target
	case targetsVar:
		return strings.Join(p.targets, ",")
	}
	return x.literal
}

// objects returns the objects of an entry with variables for the namespaces of p.
func (e *entry) objects(p installSite) []map[string]any {
	if !e.each {
		var target string
		if len(p.targets) == 1 {
			target = p.targets[0]
		}
		return []map[string]any{at(e.value, p, target).(map[string]any)}
	}
	return lists.Map(p.without(), func(t string) map[string]any { return at(e.value, p, t).(map[string]any) })
}

// checkRendering returns errNotAValue unless the operator renders, and to what the model describes.
func (m *model) checkRendering(c *Chart, p installSite) error {
	objects, err := c.RenderIn(p.namespace, p.targets)
	if err != nil {
		return errNotAValue // the model is for namespaces that OLM supports
	}
	return m.check(p, objects)
}

func (m *model) check(p installSite, objects []generate.Object) error {
	wrong, further, err := m.compare(p, objects)
	if err == nil && len(wrong)+len(further) > 0 {
		return errNotAValue
	}
	return err
}

// compare returns the entries that differ from the objects of p, and the objects that no entry describes.
func (m *model) compare(p installSite, objects []generate.Object) (wrong []*entry, further []generate.Object,
	err error) {
	want := lists.By(objects, identity)
	explained := map[string]bool{}
	for i := range m.entries {
		e := &m.entries[i]
		if !e.in(p.namespace) {
			continue
		}
		ids, same, err := e.matches(p, want)
		if err != nil {
			return nil, nil, err
		}
		if !same {
			wrong = append(wrong, e)
			continue
		}
		for _, id := range ids {
			explained[id] = true
		}
	}
	further = lists.Filter(objects, func(o generate.Object) bool { return !explained[identity(o)] })
	return wrong, further, nil
}

// matches reports whether the objects of an entry are in want, and returns their identities.
func (e *entry) matches(p installSite, want map[string]generate.Object) (ids []string, same bool, err error) {
	if e.value == nil {
		id := identity(e.object)
		o, ok := want[id]
		return []string{id}, ok && bytes.Equal(o.Data, e.object.Data), nil
	}
	for _, v := range e.objects(p) {
		var of generate.Object
		of.APIVersion, of.Kind, of.Namespace, of.Name = identify(v)
		id := identity(of)
		o, ok := want[id]
		if !ok {
			return nil, false, nil
		}
		w, err := o.Value()
		if err != nil {
			return nil, false, err
		}
		if !reflect.DeepEqual(v, w) {
			return nil, false, nil
		}
		ids = append(ids, id)
	}
	return ids, true, nil
}

func identity(o generate.Object) string {
	return o.Kind + " " + o.Group() + " " + o.Namespace + "/" + o.Name
}

func identify(v map[string]any) (apiVersion, kind, namespace, name string) {
	meta := dig(v, "metadata")
	return olm.Text(v["apiVersion"]), olm.Text(v["kind"]), olm.Text(meta["namespace"]), olm.Text(meta["name"])
}
