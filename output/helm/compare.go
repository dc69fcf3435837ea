package helm

import (
	"bytes"
	"reflect"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
)

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

// describesRendering reports whether the operator renders to what the model describes. It does not where the operator
// cannot be rendered.
func (m *model) describesRendering(c *Chart, p installSite) (bool, error) {
	objects, err := c.RenderIn(p.namespace, p.targets)
	if err != nil {
		return false, nil //nolint:nilerr // the model is for namespaces that OLM supports
	}
	return m.describes(p, objects)
}

func (m *model) describes(p installSite, objects []generate.Object) (bool, error) {
	wrong, further, err := m.compare(p, objects)
	return len(wrong)+len(further) == 0, err
}

// compare returns the entries that differ from the objects of p, and the objects that no entry describes.
func (m *model) compare(p installSite, objects []generate.Object) (wrong []*entry, further []generate.Object,
	err error) {
	want := make(map[string]generate.Object, len(objects))
	for _, o := range objects {
		want[identity(o)] = o
	}
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
	for _, o := range objects {
		if !explained[identity(o)] {
			further = append(further, o)
		}
	}
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
		id := identityOf(v)
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

// identify returns what identifies a decoded object.
func identify(v map[string]any) (apiVersion, kind, namespace, name string) {
	stringAt := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	meta, _ := v["metadata"].(map[string]any)
	return stringAt(v, "apiVersion"), stringAt(v, "kind"), stringAt(meta, "namespace"), stringAt(meta, "name")
}

func identityOf(v map[string]any) string {
	var o generate.Object
	o.APIVersion, o.Kind, o.Namespace, o.Name = identify(v)
	return identity(o)
}
