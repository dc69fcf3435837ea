package pin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// content returns a package of the catalogs of a namespace, or nil.
func content(state *resolve.State, p Package) *catalog.Package {
	return state.Package(p.Source.Name, p.Source.Namespace, p.Name)
}

func (m *maker) approve() {
	for _, n := range m.input.Namespaces {
		n.refused = m.approveNamespace(n)
	}
	for _, x := range m.input.Extensions {
		x.refused = m.approveExtension(x)
	}
}

func (m *maker) approveNamespace(n *Namespace) error {
	state := n.State
	n.Approved, n.wasLeft, n.installed = map[Package]Release{}, map[Package]Release{}, map[Package][]string{}
	for i := range state.Subscriptions {
		s := &state.Subscriptions[i]
		p := PackageOf(s)
		source := content(state, p)
		switch {
		case source == nil && !slices.ContainsFunc(state.Catalogs, resolve.Source{Namespace: p.Source.Namespace,
			Name: p.Source.Name}.Same):
			return n.Operators[i].refuse(fmt.Sprintf("nobody says what catalog %s serves", p.Source),
				"give its content", "")
		case source == nil:
			return n.Operators[i].refuse(fmt.Sprintf("catalog %s has no package %s", p.Source, p.Name), "", "")
		}
		approved, err := m.approved(&n.Operators[i], m.old.find(state.Namespace, p), source)
		if err != nil {
			return err
		}
		if approved != "" {
			n.Approved[p] = Release{s.Channel, approved}
		}
		if s.InstalledCSV != "" {
			n.installed[p] = append(n.installed[p], s.InstalledCSV)
		}
	}
	for o := range m.old.operators() {
		if o.Namespace != state.Namespace {
			continue
		}
		p := o.pkg()
		if o.Subscription == "" && !m.forget[o.Package+"@"+o.Approved] {
			n.wasLeft[p] = Release{o.Channel, o.Approved}
		}
		if o.Left {
			continue
		}
		n.installed[p] = append(n.installed[p], m.installed(o)...)
		if source := content(state, p); o.RequiredBy != "" && source != nil {
			release, err := m.upgraded(o, source)
			if err != nil {
				return err
			}
			if release != "" {
				n.Approved[p] = Release{o.Channel, release}
			}
		}
	}
	return nil
}

// approved returns the release that is approved for an operator: what Git says, then the lock; empty if neither does.
func (m *maker) approved(o *Operator, locked *Locked, p *catalog.Package) (string, error) {
	switch {
	case o.Approved != "":
		return o.Approved, nil
	case locked == nil:
		release, err := m.wanted(p)
		return cmp.Or(release, o.installed), err
	}
	return m.upgraded(locked, p)
}

// upgraded returns what a lock approves, unless an upgrade of its package is asked for.
func (m *maker) upgraded(o *Locked, p *catalog.Package) (string, error) {
	if _, ok := m.options.Upgrade[o.Package]; ok {
		return m.wanted(p)
	}
	return o.Approved, nil
}

// wanted returns the release that an upgrade names; empty for what resolves.
func (m *maker) wanted(p *catalog.Package) (string, error) {
	version := m.options.Upgrade[p.Name]
	if version == "" {
		return "", nil
	}
	content := &catalog.Catalog{Packages: map[string]*catalog.Package{p.Name: p}}
	choice, err := content.Choose(p.Name, "", version)
	if err != nil {
		return "", err
	}
	return choice.Bundle.Name, nil
}

// installed returns the releases that clusters may have by a lock: what it approves is one.
func (m *maker) installed(o *Locked) []string {
	return lists.Filter(lists.Unique(append(slices.Clone(o.Installed), o.Approved)),
		func(name string) bool { return !m.forget[o.Package+"@"+name] })
}

func (m *maker) approveExtension(x *Extension) (err error) {
	locked := m.old.of(&Locked{ClusterExtension: x.Name, Package: x.Request.Package})
	for _, o := range locked {
		x.Installed = append(x.Installed, m.installed(o)...)
	}
	if x.Approved != "" {
		return nil
	}
	if _, upgrade := m.options.Upgrade[x.Request.Package]; len(locked) > 0 && !upgrade {
		x.Approved = locked[0].Approved
		return nil
	}
	for _, s := range x.Sources {
		p := s.Catalog.Packages[x.Request.Package]
		if p == nil {
			continue
		}
		release, failed := m.wanted(p)
		if failed == nil {
			x.Approved = release
			return nil
		}
		err = cmp.Or(err, failed)
	}
	return err
}

// checkUpgrades refuses an upgrade of a package that Git gives a version, or that nothing asks for.
func (m *maker) checkUpgrades() error {
	for _, pkg := range lists.Keys(m.options.Upgrade) {
		found := lists.Any(m.old.operators(), func(o *Locked) bool { return o.Package == pkg })
		for o, p := range m.input.operators() {
			if p != pkg {
				continue
			}
			found = true
			if o.Approved != "" {
				return o.refuse(fmt.Sprintf("an upgrade of package %s is asked for, and %s says %s", pkg, o.By,
					o.Approved), "change it there", o.By)
			}
		}
		if !found {
			return m.notAsked(pkg,
				fmt.Sprintf("an upgrade of package %s is asked for, and nothing asks for the package", pkg))
		}
	}
	return nil
}

func (m *maker) checkForget() error {
	for _, what := range m.options.Forget {
		pkg, version, named := strings.Cut(what, "@")
		if !named {
			pkg, version = "", what
		}
		var found []string
		for o := range m.old.operators() {
			for _, name := range append(slices.Clone(o.Installed), o.Approved) {
				if (pkg == "" || pkg == o.Package) && isRelease(name, version) {
					found = append(found, o.Package+"@"+name)
				}
			}
		}
		found = lists.SortedUnique(found)
		switch {
		case len(found) == 0:
			return fmt.Errorf("%s names no release %q that clusters may have", LockName, what)
		case len(found) > 1:
			return manifest.WithHint(fmt.Errorf("%s is a release of several packages: %s", what, text.And(found)),
				"name one of them")
		}
		m.forget[found[0]] = true
	}
	return nil
}

func (m *maker) checkForgotten() error {
	for o := range m.Lock.operators() {
		if m.forget[o.Package+"@"+o.Approved] {
			tip := "approve another release first"
			if o.Left {
				tip = "a release in installed requires it: forget that one too"
			}
			return manifest.WithHint(fmt.Errorf("%s is approved, and cannot be forgotten", o.Approved), tip)
		}
	}
	return nil
}

// isRelease reports whether a name of a ClusterServiceVersion is a name or a version that a person wrote.
func isRelease(name, written string) bool {
	version := strings.TrimLeft(strings.TrimPrefix(name, olm.BaseName(name, "")), ".-v")
	return name == written || version != "" && version == strings.TrimPrefix(written, "v")
}

// keepInstalled adds the releases of the old lock to those that clusters may have.
func (m *maker) keepInstalled(o *Locked) {
	for _, old := range m.old.of(o) {
		o.Installed = append(o.Installed, m.installed(old)...)
	}
	o.Installed = slices.DeleteFunc(o.Installed, func(name string) bool { return name == "" || name == o.Approved })
	o.Installed = lists.SortedUnique(o.Installed)
}
