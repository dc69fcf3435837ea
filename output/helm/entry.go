package helm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
)

// entry is an object, or one for each target namespace.
type entry struct {
	file   string
	object generate.Object // as it is by default; if it isn't there by default, in some place
	value  map[string]any  // with what varies in it; nil if nothing does
	each   bool            // one for each target namespace but the operator's own
	only   string          // if not empty: it is there in this namespace of the operator only
	except []string        // it is not there in these
}

// in reports whether the entry is there in a namespace of the operator.
func (e *entry) in(namespace string) bool {
	return (e.only == "" || e.only == namespace) && !slices.Contains(e.except, namespace)
}

func (e *entry) varies() bool { return e.value != nil || e.only != "" || len(e.except) > 0 }

// read makes entries of the objects that the operator has in the place of the sentinels, or that it has in one
// namespace only. Their files are named after the objects in p.
func (m *model) read(c *Chart, objects []generate.Object, s sentinels, only string, p installSite) error {
	for _, o := range objects {
		e, err := s.entry(o)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		e.only = only
		m.setFile(c, e, p)
		m.entries = append(m.entries, *e)
	}
	return nil
}

// entry makes the entry of an object, nil for one of a further target namespace.
func (s sentinels) entry(o generate.Object) (*entry, error) {
	e := &entry{object: o}
	if len(s.list) > 0 && s.list[0].kind == targetsVar { // several targets, which are values
		has := func(i int) bool { return bytes.Contains(o.Data, []byte(s.targets[i])) }
		if has(1) && !has(0) {
			return nil, nil
		}
		e.each = has(0) && !has(1)
	}
	if !slices.ContainsFunc(s.list, func(x sentinel) bool { return bytes.Contains(o.Data, []byte(x.name)) }) {
		return e, nil
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	out, changed, err := s.abstract(v)
	if err != nil {
		return nil, err
	}
	if changed { // else it is in a comment
		e.value = out.(map[string]any)
	}
	return e, nil
}

// setFile names the file of an entry after the object that the default values render.
func (m *model) setFile(c *Chart, e *entry, p installSite) {
	if e.value != nil {
		if list := e.objects(p); len(list) > 0 {
			e.object.APIVersion, e.object.Kind, e.object.Namespace, e.object.Name = identify(list[0])
		}
	}
	i := slices.IndexFunc(c.Objects, func(o generate.Object) bool { return identity(o) == identity(e.object) })
	if i >= 0 {
		e.file = c.Names[i]
		if e.value != nil || bytes.Equal(e.object.Data, c.Objects[i].Data) {
			e.object = c.Objects[i]
		}
	} else {
		e.file = c.FileName(e.object)
	}
	if e.each {
		target := e.object.Namespace
		target = cmp.Or(target, e.object.Name)
		e.file = strings.Replace(e.file, "_"+target, "_targets", 1)
	}
	base := strings.TrimSuffix(e.file, ".yaml")
	if e.only != "" {
		base = base[:min(len(base), 180)] + "_in-" + e.only // a file name has 255 bytes
		e.file = base + ".yaml"
	}
	for n := 2; m.files[strings.ToLower(e.file)]; n++ {
		e.file = fmt.Sprintf("%s_%d.yaml", base, n)
	}
	m.files[strings.ToLower(e.file)] = true
}
