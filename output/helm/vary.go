package helm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
)

// model says how the objects depend on where the operator goes. It is found by rendering the operator with sentinels for namespaces,
// without a notion of what the objects mean, and it is proved by rendering it in other places.
type model struct {
	namespace bool     // is a value
	targets   bool     // are a value
	reserved  []string // namespaces that the value may not be: the operator is another there
	own       bool     // the operator's namespace may be one of several targets
	entries   []entry
}

// entry is an object, or one for each target namespace.
type entry struct {
	file   string
	object generate.Object // as it is by default
	value  map[string]any  // with what varies in it; nil if nothing does
	each   bool            // one for each target namespace but the operator's own
}

// vary finds the model with the most values that proves to be true.
func (c *Chart) vary() (*model, error) {
	multiple := len(c.Targets) > 0
	for _, try := range [][2]bool{{true, multiple}, {true, false}, {false, multiple}} {
		if c.Elsewhere == nil || !try[0] && !try[1] {
			continue
		}
		m, err := c.try(try[0], try[1])
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, errNotAValue) {
			return nil, err
		}
	}
	m := &model{}
	for i, o := range c.Objects {
		m.entries = append(m.entries, entry{file: c.Names[i], object: o})
	}
	return m, nil
}

// try makes the model for some values and proves it.
func (c *Chart) try(namespace, targets bool) (*model, error) {
	m := &model{namespace: namespace, targets: targets}
	names := c.unused()
	p := c.place(m, names[0], names[1:1+min(2, len(c.Targets))])
	objects, err := c.Elsewhere(p.namespace, p.targets)
	if err != nil {
		return nil, errNotAValue // OLM has no such place for it
	}
	if err := m.read(c, objects, newSentinels(p, namespace, targets)); err != nil {
		return nil, err
	}
	return m, m.prove(c, names)
}

// place gives a place in which what is no value is as it is by default.
func (c *Chart) place(m *model, namespace string, targets []string) place {
	p := place{c.Namespace, slices.Clone(c.Targets)}
	if m.namespace {
		p.namespace = namespace
	}
	if m.targets {
		p.targets = slices.Clone(targets)
	}
	slices.Sort(p.targets)
	return p
}

// unused gives names for namespaces that no object has in it, of different lengths, up to the longest.
func (c *Chart) unused() []string {
	sum := sha256.New()
	for _, o := range c.Objects {
		sum.Write(o.Data)
	}
	base := "n" + hex.EncodeToString(sum.Sum(nil))[:24]
	names := []string{base + "-own", base + "-t1", base + "-t2"}
	for _, n := range []string{"own", "t1", "t2", "t3"} {
		names = append(names, base+strings.Repeat("x", 63-len(base)-len(n))+n)
	}
	return names
}

// read makes entries of the objects that the operator has in the place of the sentinels.
func (m *model) read(c *Chart, objects []generate.Object, s sentinels) error {
	at, used := map[string]int{}, map[string]bool{}
	for i, o := range c.Objects {
		at[identity(o)] = i
	}
	for _, o := range objects {
		if i, ok := at[identity(o)]; ok && bytes.Equal(o.Data, c.Objects[i].Data) {
			m.entries = append(m.entries, entry{file: c.Names[i], object: c.Objects[i]})
			continue
		}
		e, err := s.entry(o)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := m.name(c, e, at, used); err != nil {
			return err
		}
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
	v, err := decode(o)
	if err != nil {
		return nil, err
	}
	out, changed, err := s.abstract(v)
	if err != nil || !changed {
		return nil, errNotAValue
	}
	e.value = out.(map[string]any)
	return e, nil
}

// name finds the object that an entry is by default, which gives the name of the file.
func (m *model) name(c *Chart, e *entry, at map[string]int, used map[string]bool) error {
	p := c.place(m, c.Namespace, c.Targets)
	for _, v := range e.objects(p) {
		i, ok := at[identityOf(v)]
		if !ok {
			return errNotAValue
		}
		e.object, e.file = c.Objects[i], c.Names[i]
		break
	}
	if e.file == "" { // no target but the operator's own namespace
		return errNotAValue
	}
	if e.each {
		e.file = strings.Replace(e.file, "_"+e.target(), "_targets", 1)
	}
	if used[e.file] {
		return fmt.Errorf("two templates would be called %s", e.file)
	}
	used[e.file] = true
	return nil
}

// target is the namespace that the default object of an entry for each is for.
func (e *entry) target() string {
	if e.object.Namespace != "" {
		return e.object.Namespace
	}
	return e.object.Name
}

// objects gives what an entry is in a place.
func (e *entry) objects(p place) []map[string]any {
	if !e.each {
		var target string
		if len(p.targets) == 1 {
			target = p.targets[0]
		}
		return []map[string]any{at(e.value, p, target).(map[string]any)}
	}
	var out []map[string]any
	for _, t := range p.without() {
		out = append(out, at(e.value, p, t).(map[string]any))
	}
	return out
}

// prove renders the operator in places that test the model: as it is by default, with names of the greatest length and another number of
// targets, with its own namespace as a target, and in the namespaces that it speaks of.
func (m *model) prove(c *Chart, names []string) error {
	if same, err := m.gives(c.place(m, c.Namespace, c.Targets), c.Objects); err != nil || !same {
		return orNotAValue(err)
	}
	if c.CRDs == CRDsDirectory && slices.ContainsFunc(m.entries, func(e entry) bool { return e.value != nil && isCRD(e.object) }) {
		return errNotAValue
	}
	long := names[3:]
	if len(c.Targets) > 1 {
		if same, err := m.holds(c, c.place(m, long[0], []string{long[3], long[1], long[2]})); err != nil || !same {
			return orNotAValue(err)
		}
		if m.targets {
			p := c.place(m, names[0], nil)
			p.targets = []string{p.namespace, names[1], names[2]}
			slices.Sort(p.targets)
			var err error
			if m.own, err = m.holds(c, p); err != nil {
				return err
			}
		}
	} else if same, err := m.holds(c, c.place(m, long[0], long[1:1+len(c.Targets)])); err != nil || !same {
		return orNotAValue(err)
	}
	if !m.namespace {
		return nil
	}
	for _, special := range c.Special {
		if special == c.Namespace {
			continue
		}
		same, err := m.holds(c, c.place(m, special, names[1:1+min(2, len(c.Targets))]))
		if err != nil {
			return err
		}
		if !same {
			m.reserved = append(m.reserved, special)
		}
	}
	return nil
}

func orNotAValue(err error) error {
	if err != nil {
		return err
	}
	return errNotAValue
}

// holds reports whether the operator is in a place what the model says. Where it cannot be rendered it is not.
func (m *model) holds(c *Chart, p place) (bool, error) {
	objects, err := c.Elsewhere(p.namespace, p.targets)
	if err != nil {
		return false, nil //nolint:nilerr // the model is for places that OLM has
	}
	return m.gives(p, objects)
}

// gives compares what the model says of a place with the objects there.
func (m *model) gives(p place, objects []generate.Object) (bool, error) {
	want := make(map[string]generate.Object, len(objects))
	for _, o := range objects {
		want[identity(o)] = o
	}
	n := 0
	for i := range m.entries {
		e := &m.entries[i]
		if e.value == nil {
			n++
			if o, ok := want[identity(e.object)]; !ok || !bytes.Equal(o.Data, e.object.Data) {
				return false, nil
			}
			continue
		}
		for _, v := range e.objects(p) {
			n++
			o, ok := want[identityOf(v)]
			if !ok {
				return false, nil
			}
			w, err := decode(o)
			if err != nil {
				return false, err
			}
			if !reflect.DeepEqual(v, w) {
				return false, nil
			}
		}
	}
	return n == len(objects), nil
}

func identity(o generate.Object) string {
	return o.Kind + " " + o.Group() + " " + o.Namespace + "/" + o.Name
}

// identityOf is the identity of a decoded object.
func identityOf(v map[string]any) string {
	meta, _ := v["metadata"].(map[string]any)
	text := func(x any) string { s, _ := x.(string); return s }
	return identity(generate.Object{APIVersion: text(v["apiVersion"]), Kind: text(v["kind"]), Namespace: text(meta["namespace"]), Name: text(meta["name"])})
}
