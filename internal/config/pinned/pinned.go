// Package pinned makes the directory of olmgen catalog pin: pinned catalogs, the lock that says what is approved, and
// what a cluster needs to use them.
//
// [FromTree] and [FromConfig] read what one cluster asks for. [Make] finds what is approved, has package pin make the
// catalogs, and returns the files.
package pinned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/catalog/pin"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// Input is what one cluster asks for.
type Input struct {
	Namespaces []Namespace
	Extensions []Extension
}

// Namespace is a namespace with Subscriptions.
type Namespace struct {
	State     *resolve.State // with what is known to be installed
	Operators []Operator     // in the order of State.Subscriptions
}

// Extension is a ClusterExtension.
type Extension struct {
	Operator
	Request   extension.Request
	Sources   []extension.Source
	Selector  *metav1.LabelSelector // of catalogs; nil if it names none
	Installed *extension.Installed  // nil if nothing is known
}

// Operator is who asks for an operator.
type Operator struct {
	Name     string // of the Subscription or ClusterExtension
	File     string
	Line     int
	Object   string // in words
	Approved string // the release that Git approves; empty if it says none
	By       string // the field of the object that says so

	InGit  bool                // the Subscription or ClusterExtension is there, under this name
	Policy *olm.OperatorPolicy // that makes the Subscription; nil if there is none
}

// Options say what changes from one pin to the next.
type Options struct {
	Lock      *Lock             // of the directory; nil if there is none
	Upgrade   map[string]string // a version, or "" for what resolves now, by package
	Forget    []string          // versions or names that no cluster has any more, [PACKAGE@]VERSION
	KeepNames *bool             // the pinned catalogs have the names of their sources; nil: as the lock has it
	Images    map[string]string // of the pinned catalogs, by digest; the key "" is the only one
	Admission AdmissionOptions
	Cluster   output.Files // what the directory has for the cluster
}

// Result is a pin and its files.
type Result struct {
	*pin.Pin
	Lock  *Lock
	Notes []string
	Files output.Files
}

// Make makes a pin. The error is a *manifest.Error with the place of what is wrong in Git, a *pin.Refusal, or about the
// options.
func Make(ctx context.Context, in *Input, o Options) (*Result, error) {
	if err := o.checkAdmission(); err != nil {
		return nil, err
	}
	o.Lock = o.Lock.follow(in.Namespaces)
	m := &maker{input: in, options: o, forget: map[string]bool{}}
	if err := m.chooseNames(); err != nil {
		return nil, err
	}
	if err := m.checkUpgrades(); err != nil {
		return nil, err
	}
	if err := m.checkForget(); err != nil {
		return nil, err
	}
	q := pin.Request{Rename: m.rename}
	for i := range in.Namespaces {
		n, err := m.namespace(&in.Namespaces[i])
		if err != nil {
			return nil, err
		}
		q.Namespaces = append(q.Namespaces, *n)
	}
	for i := range in.Extensions {
		x, err := m.extension(&in.Extensions[i])
		if err != nil {
			return nil, err
		}
		q.Extensions = append(q.Extensions, *x)
	}
	made, err := pin.Make(ctx, q)
	if err != nil {
		return nil, m.placed(err)
	}
	r := &Result{Pin: made, Lock: m.lock(made)}
	if err := r.checkSelectors(in, o); err != nil {
		return nil, err
	}
	if err := m.checkForgotten(r.Lock); err != nil {
		return nil, err
	}
	r.Notes = slices.Concat(m.notes(r.Lock), m.sayDependencies(made), m.sayPolicies(r), m.sayManual())
	return r, r.makeFiles(in, o)
}

type maker struct {
	input   *Input
	options Options
	forget  map[string]bool // names of releases

	keepNames bool
}

// chooseNames finds how the pinned catalogs are named: as in the lock. Clusters use these names.
func (m *maker) chooseNames() error {
	keeps, ok := m.options.Lock.keepsNames()
	given := m.options.KeepNames
	if m.keepNames = keeps; !ok {
		m.keepNames = given != nil && *given
	}
	if given == nil || *given == m.keepNames {
		return nil
	}
	are, name := "names of their own", m.options.Lock.Catalogs[0].Name
	if keeps {
		are = "the names of their sources"
	}
	return manifest.WithHint(fmt.Errorf("the catalogs of this pin have %s, such as %s, and clusters use them", are,
		name), "leave the names as they are, or pin into another directory")
}

// rename returns the name of the pinned catalog of a catalog.
func (m *maker) rename(s pin.Source) pin.Source {
	if !m.keepNames {
		s.Name += "-pinned"
	}
	return s
}

// sourceOf reads NAMESPACE/NAME, or NAME.
func sourceOf(text string) pin.Source {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return pin.Source{Name: text}
	}
	return pin.Source{Namespace: namespace, Name: name}
}

// content returns a package of the catalogs of a namespace, or nil.
func content(state *resolve.State, p pin.Package) *catalog.Package {
	return state.Package(p.Source.Name, p.Source.Namespace, p.Name)
}

// namespace finds what is approved in a namespace, and what may be installed.
func (m *maker) namespace(n *Namespace) (*pin.Namespace, error) {
	state := n.State
	out := &pin.Namespace{State: state, Approved: map[pin.Package]pin.Release{}, Left: map[pin.Package]pin.Release{},
		Installed: map[pin.Package][]string{}}
	for i := range state.Subscriptions {
		s := &state.Subscriptions[i]
		p := pin.PackageOf(s)
		source := content(state, p)
		switch {
		case source == nil && !slices.ContainsFunc(state.Catalogs, resolve.Source{Namespace: p.Source.Namespace,
			Name: p.Source.Name}.Same):
			return nil, n.Operators[i].refuse(fmt.Sprintf("nobody says what catalog %s serves", p.Source),
				"give its content", "")
		case source == nil:
			return nil, n.Operators[i].refuse(fmt.Sprintf("catalog %s has no package %s", p.Source, p.Name), "", "")
		}
		approved, err := m.approved(&n.Operators[i], m.options.Lock.find(state.Namespace, p), source)
		if err != nil {
			return nil, err
		}
		if approved != "" {
			out.Approved[p] = pin.Release{Channel: s.Channel, Bundle: approved}
		}
		if s.InstalledCSV != "" {
			out.Installed[p] = append(out.Installed[p], s.InstalledCSV)
		}
	}
	if len(state.CSVs) > 0 {
		out.Starts = append(out.Starts, state)
	}
	if m.options.Lock == nil {
		return out, nil
	}
	for _, o := range m.options.Lock.Operators {
		if o.Namespace != state.Namespace {
			continue
		}
		p := o.pkg()
		if o.Subscription == "" && !m.forget[o.Package+"@"+o.Approved] {
			out.Left[p] = pin.Release{Channel: o.Channel, Bundle: o.Approved}
		}
		if o.Left {
			continue
		}
		out.Installed[p] = append(out.Installed[p], m.installed(&o)...)
		if source := content(state, p); o.RequiredBy != "" && source != nil {
			release, err := m.upgraded(&o, source)
			if err != nil {
				return nil, err
			}
			if release != "" {
				out.Approved[p] = pin.Release{Channel: o.Channel, Bundle: release}
			}
		}
	}
	return out, nil
}

// approved returns the release that is approved for an operator: what Git says, then the lock; empty if neither does.
func (m *maker) approved(o *Operator, locked *Locked, p *catalog.Package) (string, error) {
	if o.Approved != "" {
		return o.Approved, nil
	}
	if locked == nil {
		return m.wanted(p)
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

// installed returns the releases that clusters may have by a lock. What it approves is one: it may not be approved any
// more.
func (m *maker) installed(o *Locked) (list []string) {
	for _, name := range append(slices.Clone(o.Installed), o.Approved) {
		if !m.forget[o.Package+"@"+name] && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// extension finds what is approved for a ClusterExtension, and what may be installed.
func (m *maker) extension(x *Extension) (*pin.Extension, error) {
	out := &pin.Extension{Name: x.Name, Request: x.Request, Sources: x.Sources, Approved: x.Approved}
	if x.Installed != nil {
		out.Installed = append(out.Installed, x.Installed.Name)
	}
	locked := m.options.Lock.of(&Locked{ClusterExtension: x.Name, Package: x.Request.Package})
	for _, o := range locked {
		out.Installed = append(out.Installed, m.installed(o)...)
	}
	if out.Approved != "" {
		return out, nil
	}
	_, upgrade := m.options.Upgrade[x.Request.Package]
	if len(locked) > 0 && !upgrade {
		out.Approved = locked[0].Approved
		return out, nil
	}
	var err error
	for _, s := range x.Sources {
		p := s.Catalog.Packages[x.Request.Package]
		if p == nil {
			continue
		}
		release, failed := m.wanted(p)
		if failed == nil {
			out.Approved, err = release, nil
			break
		}
		err = cmp.Or(err, failed)
	}
	return out, err
}

// operators returns all operators with their packages.
func (in *Input) operators() iter.Seq2[*Operator, string] {
	return func(yield func(o *Operator, pkg string) bool) {
		for i := range in.Namespaces {
			n := &in.Namespaces[i]
			for j := range n.Operators {
				if !yield(&n.Operators[j], n.State.Subscriptions[j].Package) {
					return
				}
			}
		}
		for i := range in.Extensions {
			if x := &in.Extensions[i]; !yield(&x.Operator, x.Request.Package) {
				return
			}
		}
	}
}

// checkUpgrades refuses an upgrade of a package that Git gives a version, or that nothing asks for.
func (m *maker) checkUpgrades() error {
	for _, pkg := range slices.Sorted(maps.Keys(m.options.Upgrade)) {
		found := false
		if m.options.Lock != nil {
			found = slices.ContainsFunc(m.options.Lock.Operators, func(o Locked) bool { return o.Package == pkg })
		}
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
			return fmt.Errorf("an upgrade of package %s is asked for, and nothing asks for the package", pkg)
		}
	}
	return nil
}

// checkForget finds the releases to forget in the lock.
func (m *maker) checkForget() error {
	for _, what := range m.options.Forget {
		pkg, version, named := strings.Cut(what, "@")
		if !named {
			pkg, version = "", what
		}
		var found []string
		if m.options.Lock != nil {
			for _, o := range m.options.Lock.Operators {
				for _, name := range append(slices.Clone(o.Installed), o.Approved) {
					if (pkg == "" || pkg == o.Package) && isRelease(name, version) {
						found = append(found, o.Package+"@"+name)
					}
				}
			}
		}
		slices.Sort(found)
		found = slices.Compact(found)
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

// checkForgotten refuses to forget what is approved.
func (m *maker) checkForgotten(l *Lock) error {
	for _, o := range l.Operators {
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
	if name == written {
		return true
	}
	for i, c := range name {
		if rest := strings.TrimPrefix(name[i+1:], "v"); c == '.' && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return rest == strings.TrimPrefix(written, "v")
		}
	}
	return false
}

// refuse returns an error about an operator, at its place in Git.
func (o *Operator) refuse(text, tip, field string) error {
	return &manifest.Error{File: o.File, Line: o.Line, Field: field, Msg: o.Object + ": " + text, Tip: tip}
}

// placed returns a refusal with its place in Git.
func (m *maker) placed(err error) error {
	refusal, ok := errors.AsType[*pin.Refusal](err)
	if !ok {
		return err
	}
	out := *refusal
	if out.Other != nil {
		if other := m.asker(*out.Other); other != nil {
			out.Text, out.Other = fmt.Sprintf("%s %s (%s:%d)", out.Text, out.Other, other.File, other.Line), nil
		}
	}
	o := m.asker(pin.Asker{Namespace: out.Namespace, Name: out.Name})
	if o == nil {
		return &out
	}
	return o.refuse(out.Said(), out.Tip, out.Field)
}

// asker returns who asks for an operator, or nil.
func (m *maker) asker(a pin.Asker) *Operator {
	if a.Name == "" {
		return nil
	}
	for i := range m.input.Namespaces {
		n := &m.input.Namespaces[i]
		for j := range n.Operators {
			if n.State.Namespace == a.Namespace && n.State.Subscriptions[j].Name == a.Name {
				return &n.Operators[j]
			}
		}
	}
	for i := range m.input.Extensions {
		if x := &m.input.Extensions[i]; a.Namespace == "" && x.Name == a.Name {
			return &x.Operator
		}
	}
	return nil
}

// lock returns what is kept for the next run.
func (m *maker) lock(made *pin.Pin) *Lock {
	l := &Lock{}
	for _, c := range made.Catalogs {
		l.Catalogs = append(l.Catalogs, LockedCatalog{Source: c.Source.String(), Name: c.To.String()})
	}
	for i, list := range made.Namespaces {
		n := &m.input.Namespaces[i]
		for _, a := range list {
			o := Locked{Namespace: n.State.Namespace, Catalog: a.Source.String(), Package: a.Name, Channel: a.Channel,
				Approved: a.Bundle, RequiredBy: a.RequiredBy, Left: a.Left}
			for j := range n.State.Subscriptions {
				if s := &n.State.Subscriptions[j]; pin.PackageOf(s) == a.Package {
					o.Subscription, o.ApprovedBy = s.Name, n.Operators[j].By
					o.Installed = append(o.Installed, s.InstalledCSV)
				}
			}
			l.Operators = append(l.Operators, o)
		}
	}
	for i, a := range made.Extensions {
		x := &m.input.Extensions[i]
		o := Locked{ClusterExtension: x.Name, Catalog: a.Source.String(), Package: a.Name, Channel: a.Channel,
			Approved: a.Bundle, ApprovedBy: x.By}
		if x.Installed != nil {
			o.Installed = append(o.Installed, x.Installed.Name)
		}
		l.Operators = append(l.Operators, o)
	}
	for i := range l.Operators {
		m.keepInstalled(&l.Operators[i])
	}
	return l
}

// keepInstalled adds the releases of the old lock to those that clusters may have.
func (m *maker) keepInstalled(o *Locked) {
	for _, old := range m.options.Lock.of(o) {
		o.Installed = append(o.Installed, m.installed(old)...)
	}
	o.Installed = slices.DeleteFunc(o.Installed, func(name string) bool { return name == "" || name == o.Approved })
	slices.Sort(o.Installed)
	o.Installed = slices.Compact(o.Installed)
}

// sayDependencies names the Subscriptions that OLM has made for dependencies in clusters that used the source: no patch
// of Git reaches them, and OLM resolves nothing in a namespace where one names a catalog that is gone (spec
// v0-resolver 7).
func (m *maker) sayDependencies(made *pin.Pin) (notes []string) {
	if m.options.Lock != nil || m.keepNames {
		return nil
	}
	for i, list := range made.Namespaces {
		for _, a := range list {
			if a.RequiredBy == "" {
				continue
			}
			generated := resolve.GeneratedName(a.Name, a.Channel, a.Source.Name, a.Source.Namespace)
			notes = append(notes, fmt.Sprintf("namespace %s: %s is a dependency. In a cluster that has it from %s, "+
				"its Subscription %s names that catalog: add a Subscription of package %s to Git, or set its "+
				"spec.source to %s, before you delete the catalog", m.input.Namespaces[i].State.Namespace, a.Bundle,
				a.Source, generated, a.Name, m.rename(a.Source).Name))
		}
	}
	return notes
}

// sayPolicies names what OperatorPolicies approve that no catalog has, and those that take their operators from
// elsewhere: the component has no patch for them.
func (m *maker) sayPolicies(r *Result) (notes []string) {
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			o, from := &n.Operators[i], pin.PackageOf(&n.State.Subscriptions[i]).Source
			if o.Policy == nil {
				continue
			}
			of := o.Policy.Object
			where := fmt.Sprintf("%s:%d: %s", of.File, of.Line, of.Identity())
			unknown := slices.DeleteFunc(slices.Clone(o.Policy.Versions),
				func(name string) bool { return has(n.State, name) })
			if len(unknown) > 0 {
				notes = append(notes, fmt.Sprintf("%s: %s: no catalog has %s", where, fieldVersions, text.And(unknown)))
			}
			if to := r.to(from); o.Policy.Source != to.Name && to != from {
				notes = append(notes, fmt.Sprintf("%s: no patch changes it: set spec.subscription.source to %s", where,
					to.Name))
			}
		}
	}
	return notes
}

// sayManual names the Subscriptions whose InstallPlans somebody still approves in the cluster.
func (m *maker) sayManual() []string {
	var manual []string
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			by := n.Operators[i].Policy
			if s := &n.State.Subscriptions[i]; s.Manual && !s.Automatic() && (by == nil || !by.Automatic) {
				manual = append(manual, n.State.Namespace+"/"+s.Name)
			}
		}
	}
	if len(manual) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("somebody approves the InstallPlans of %s in the cluster, because installPlanApproval "+
		"is Manual. Once they take their operators from the pinned catalogs, Automatic installs what is pinned "+
		"without a person", text.And(manual))}
}

// notes returns what moved, and what is not pinned any more.
func (m *maker) notes(now *Lock) (notes []string) {
	old := m.options.Lock
	if old == nil {
		return nil
	}
	for _, o := range old.Operators {
		var next *Locked
		if list := now.of(&o); len(list) > 0 {
			next = list[0]
		}
		where := cmp.Or(o.Namespace, "ClusterExtension "+o.ClusterExtension)
		switch {
		case next == nil:
			notes = append(notes, fmt.Sprintf("%s: package %s is not pinned any more: nothing asks for it. %s stays "+
				"installed until somebody removes it", where, o.Package, o.Approved))
		case next.Left && !o.Left:
			notes = append(notes, fmt.Sprintf("%s: nothing requires package %s any more. %s stays pinned, because OLM "+
				"does not remove it. Once no cluster has it, forget %[2]s@%[3]s", where, o.Package, o.Approved))
		case next.Approved != o.Approved:
			notes = append(notes, fmt.Sprintf("%s: package %s moves from %s to %s", where, o.Package, o.Approved,
				next.Approved))
		}
	}
	return notes
}
