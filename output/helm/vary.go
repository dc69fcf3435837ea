package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// model is how the objects depend on the namespaces of the operator. It is found by rendering the operator with
// sentinels for namespaces, without knowledge of what the objects mean, and proved by rendering it for others.
type model struct {
	namespace bool     // is a value
	targets   bool     // are a value
	refused   []string // namespaces that the value may not be: the operator can't be there
	own       bool     // the operator's namespace may be one of several targets
	entries   []entry
	files     map[string]bool // names that are taken

	deployments map[string]bool // the CSV's, which values change as spec.config of a Subscription does
	apiServices map[string]bool // the CSV's, which have the same annotations
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
	m := &model{namespace: namespace, targets: targets, files: map[string]bool{}}
	names := c.unused()
	p := c.place(m, names[0], c.some(names[1:]))
	objects, err := c.Elsewhere(p.namespace, p.targets)
	if err != nil {
		return nil, errNotAValue // OLM has no such place for it
	}
	if err := m.read(c, objects, newSentinels(p, namespace, targets)); err != nil {
		return nil, err
	}
	if err := m.prove(c, names); err != nil {
		return nil, err
	}
	if namespace {
		if err := m.special(c, names); err != nil {
			return nil, err
		}
	}
	switch same, err := m.gives(c.place(m, c.Namespace, c.Targets), c.Objects); {
	case err != nil:
		return nil, err
	case !same:
		return nil, errNotAValue
	}
	if c.CRDs == CRDsDirectory &&
		slices.ContainsFunc(m.entries, func(e entry) bool { return isCRD(e.object) && e.varies() }) {
		return nil, errNotAValue
	}
	return m, nil
}

// place returns a place in which what is no value is as it is by default.
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

// some returns as many of the names as there are targets, but two at most: with two it shows what there is for each.
func (c *Chart) some(names []string) []string { return names[:min(2, len(c.Targets))] }

// unused returns names for namespaces that no object has in it, three and four more that are as long as may be.
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

// prove renders the operator in places that test the model: with names of the greatest length and another number of
// targets, and with its own namespace as a target.
func (m *model) prove(c *Chart, names []string) error {
	long := names[3:]
	p := c.place(m, long[0], c.some(long[1:]))
	if m.targets && len(p.targets) > 1 {
		p.targets = append(p.targets, long[3])
	}
	if same, err := m.holds(c, p); err != nil {
		return err
	} else if !same {
		return errNotAValue
	}
	if !m.targets || len(p.targets) < 2 {
		return nil
	}
	p = c.place(m, names[0], c.some(names[1:]))
	p.targets = append(p.targets, p.namespace)
	slices.Sort(p.targets)
	var err error
	m.own, err = m.holds(c, p)
	return err
}

// special looks at the namespaces that the operator or its options speak of, and at its own. Objects that are others
// there than anywhere else become entries for that namespace only.
func (m *model) special(c *Chart, names []string) error {
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(c.Special), c.Namespace)))) {
		p := c.place(m, ns, c.some(names[1:]))
		objects, err := c.Elsewhere(p.namespace, p.targets)
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
		s := newSentinels(p, false, m.targets)
		for _, o := range further {
			e, err := s.entry(o)
			if err != nil {
				return err
			}
			if e == nil {
				continue
			}
			e.only = ns
			m.name(c, e, c.place(m, ns, c.Targets))
			m.entries = append(m.entries, *e)
		}
		if same, err := m.gives(p, objects); err != nil {
			return err
		} else if !same {
			return errNotAValue
		}
	}
	return nil
}
