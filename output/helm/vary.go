package helm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
)

// model is how the objects depend on the namespaces of the operator. Rendering the operator with sentinels for
// namespaces finds it, and rendering it for other namespaces verifies it. Neither knows what the objects mean.
type model struct {
	namespace bool     // the operator's namespace is a value
	targets   bool     // the target namespaces are a value
	refused   []string // namespaces that the operator cannot be rendered for
	own       bool     // the operator's namespace may be one of several targets
	entries   []entry
	files     map[string]bool // names in use

	deployments map[string]bool // those of the CSV; values change them as spec.config of a Subscription does
	apiServices map[string]bool // those of the CSV; they have the same annotations
}

// vary returns the model with the most values that verification accepts.
func (c *Chart) vary() (*model, error) {
	multiple := len(c.Targets) > 0
	for _, values := range [][2]bool{{true, multiple}, {true, false}, {false, multiple}} {
		if c.RenderIn == nil || !values[0] && !values[1] || values[0] && c.manyNamespaces() {
			continue
		}
		m, err := c.parameterize(values[0], values[1])
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

// mostNamespaces is how many namespaces that the bundle and its options mention a chart is rendered in, to compare its
// objects there. A bundle of the corpus mentions 28 at most.
const mostNamespaces = 200

func (c *Chart) manyNamespaces() bool { return len(c.FixedNamespaces) > mostNamespaces }

func (c *Chart) parameterize(namespace, targets bool) (*model, error) {
	m := &model{namespace: namespace, targets: targets, files: map[string]bool{}}
	names := c.unused()
	p := c.place(m, names[0], c.targetsFrom(names[1:]))
	objects, err := c.RenderIn(p.namespace, p.targets)
	if err != nil {
		return nil, errNotAValue // OLM does not support it there
	}
	usual := c.place(m, c.Namespace, c.Targets)
	if err := m.read(c, objects, newSentinels(p, namespace, targets), "", usual); err != nil {
		return nil, err
	}
	if err := m.verify(c, names); err != nil {
		return nil, err
	}
	if namespace {
		if err := m.fixNamespaces(c, names); err != nil {
			return nil, err
		}
	}
	if err := m.check(usual, c.Objects); err != nil {
		return nil, err
	}
	varies := func(e entry) bool { return e.value != nil || e.only != "" || len(e.except) > 0 }
	if c.CRDs == CRDsDirectory &&
		slices.ContainsFunc(m.entries, func(e entry) bool { return isCRD(e.object) && varies(e) }) {
		return nil, errNotAValue
	}
	return m, nil
}

// place returns the given namespaces. The default replaces what is not a value of the model.
func (c *Chart) place(m *model, namespace string, targets []string) installSite {
	p := installSite{c.Namespace, slices.Clone(c.Targets)}
	if m.namespace {
		p.namespace = namespace
	}
	if m.targets {
		p.targets = slices.Clone(targets)
	}
	slices.Sort(p.targets)
	return p
}

// targetsFrom returns as many names as targets, at most two: enough to show which objects exist for each.
func (c *Chart) targetsFrom(names []string) []string { return names[:min(2, len(c.Targets))] }

// unused returns names of namespaces that no object mentions: three short ones and four of the greatest length.
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

// verify renders the operator with names of the greatest length, with another number of targets and with its own
// namespace as a target, and compares the result with the model.
func (m *model) verify(c *Chart, names []string) error {
	long := names[3:]
	p := c.place(m, long[0], c.targetsFrom(long[1:]))
	if m.targets && len(p.targets) > 1 {
		p.targets = append(p.targets, long[3])
	}
	if err := m.checkRendering(c, p); err != nil {
		return err
	}
	if !m.targets || len(p.targets) < 2 {
		return nil
	}
	p = c.place(m, names[0], c.targetsFrom(names[1:]))
	p.targets = append(p.targets, p.namespace)
	slices.Sort(p.targets)
	err := m.checkRendering(c, p)
	if m.own = err == nil; errors.Is(err, errNotAValue) {
		return nil
	}
	return err
}

// fixNamespaces renders the operator in its own namespace and in those that the bundle or the options mention. Objects
// that differ there become entries for that namespace only.
func (m *model) fixNamespaces(c *Chart, names []string) error {
	fixed := append(slices.Clone(c.FixedNamespaces), c.Namespace)
	slices.Sort(fixed)
	for _, ns := range slices.Compact(fixed) {
		p := c.place(m, ns, c.targetsFrom(names[1:]))
		objects, err := c.RenderIn(p.namespace, p.targets)
		if err != nil {
			m.refused = append(m.refused, ns)
			continue
		}
		wrong, further, err := m.compare(p, objects)
		if err != nil {
			return err
		}
		for _, e := range wrong {
			e.except = append(e.except, ns)
		}
		if err := m.read(c, further, newSentinels(p, false, m.targets), ns, c.place(m, ns, c.Targets)); err != nil {
			return err
		}
		if err := m.check(p, objects); err != nil {
			return err
		}
	}
	return nil
}

// entry is an object, or one for each target namespace.
type entry struct {
	file   string
	object generate.Object // as it is by default; if it isn't there by default, in some place
	value  map[string]any  // with what varies in it; nil if nothing does
	each   bool            // one for each target namespace but the operator's own
	only   string          // if not empty: it is there in this namespace of the operator only
	except []string        // it is not there in these
}

func (e *entry) in(namespace string) bool {
	return (e.only == "" || e.only == namespace) && !slices.Contains(e.except, namespace)
}

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
		target := cmp.Or(e.object.Namespace, e.object.Name)
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
