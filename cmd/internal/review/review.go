// Package review assembles what a report is about: the operators of rendered bundles, RenderConfigs or trees.
package review

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// Subject is what a report is about: the objects of a source, a tree or a RenderConfig, and the operators in it.
type Subject struct {
	permissions.Input
	All       []*manifest.Object // the objects of Input and those without a part in permissions
	Operators []compare.Operator
	Note      string // says how the subject differs from what was asked for; usually empty

	Unknown    []Unknown // what hands over operators that are not in the subject
	unforeseen []Unknown // Subscriptions whose operator is in the subject, and may be updated to any other

	left    []*manifest.Object // what OLM leaves in the cluster when the next release does not have it
	stay    []*manifest.Object // what OLM leaves of the older one
	byOLM   bool               // OLM v0 installs it
	applied []*manifest.Object // what an engine or a person applies of what is rendered, and no OLM makes
	waits   bool               // somebody approves what OLM installs
	outcome *outcome           // of a tree
	said    []findings.Finding // what the resolver says of it and not of the older one

	standing []findings.Finding // what OLM says of both
	deleted  []string           // the names of CRDs that go with what owns them, and that it may have again
	parts    []Installed        // what the objects of a tree stand for
	tree     *Subject           // the same without them
	remarks  []remark           // notes
	about    []string           // the keys of those that are said in a comparison
	opened   []*config.Opened
	locate   func(o *manifest.Object, field string) (file string, line int)
}

// remark is a note. Those about the same have the same key, wherever they stand.
type remark struct{ key, text string }

func (s *Subject) remark(key, format string, args ...any) {
	s.remarks = append(s.remarks, remark{key, fmt.Sprintf(format, args...)})
	s.Notes = append(s.Notes, s.remarks[len(s.remarks)-1].text)
}

// FromRendered returns what a RenderConfig renders to as a Subject.
func FromRendered(ctx context.Context, rendered *config.Rendered) (*Subject, error) {
	profiles := lists.Map(rendered.Sources,
		func(s output.Source) generate.Profile { return generate.Profile(s.Profile) })
	s, err := assemble(ctx, rendered.Objects, rendered.Opened, rendered.Operators, profiles...)
	byOLM := func(p generate.Profile) bool { return p.Installer() != generate.ProfilePlain.Installer() }
	if err == nil && !slices.ContainsFunc(profiles, byOLM) {
		s.applied = s.All
	}
	return s, err
}

// assemble returns rendered operators as a Subject, each with its profile.
func assemble(ctx context.Context, objects []generate.Shared, bundles []*config.Opened, operators []output.Operator,
	profiles ...generate.Profile) (*Subject, error) {
	s := &Subject{opened: bundles}
	for _, o := range objects {
		read, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		s.All = append(s.All, s.AddRendered(read, o.Namespace))
	}
	for i, opened := range bundles {
		result, v1 := operators[i].Result, profiles[i].Installer() == generate.ProfileOLMv1.Installer()
		csv := permissions.CSV{ClusterServiceVersion: opened.CSV, Object: opened.CSVObject, Namespace: result.Namespace}
		s.CSVs = append(s.CSVs, csv)
		s.Shipped = append(s.Shipped, opened.Others...)
		properties := opened.DeclaredProperties() // what the bundle and its catalog declare, each once
		for _, p := range opened.Properties {
			if !slices.ContainsFunc(properties, p.Equal) {
				properties = append(properties, p)
			}
		}
		s.Operators = append(s.Operators, compare.Operator{CSV: csv, Package: opened.Package, Shipped: opened.Shipped(),
			Dependencies: opened.Dependencies, Metadata: opened.Annotations, MetadataFile: "metadata/annotations.yaml",
			Unannotated: opened.Unannotated(), Properties: properties, Entry: opened.Entry, Channels: opened.Channels,
			InstallMode: result.InstallMode,
			WithoutOLM:  profiles[i].Installer() == generate.ProfilePlain.Installer(), ByOLMv1: v1, CRDSafety: v1})
		if err := said(ctx, &s.Operators[i], opened.Choice); err != nil {
			return nil, err
		}
	}
	if len(operators) == 1 {
		s.Namespace = operators[0].Namespace
	}
	s.leaves(profiles)
	s.locate = func(o *manifest.Object, field string) (string, int) { return permissions.Place(s.CSVs, o, field) }
	return s, nil
}

// FromObjects returns the objects of a tree as a Subject.
func FromObjects(objects []*manifest.Object, operator permissions.Operator, namespace string) (*Subject, error) {
	objects, found := world.Counted(objects, namespace)
	s := &Subject{All: objects}
	s.Operator, s.Namespace, s.Objects = operator, namespace, objects
	for _, d := range found {
		s.duplicate(d)
	}
	var err error
	if s.CSVs, err = permissions.InstalledCSVs(objects); err != nil {
		return nil, err
	}
	s.Operators, err = compare.TreeOperators(objects, s.CSVs)
	return s, err
}

func (s *Subject) duplicate(d world.Duplicate) { s.remark("differs "+d.Object.Identity(), "%s", d) }

// Merge puts subjects that are in one cluster into one.
func Merge(list []*Subject, names []string) *Subject {
	if len(list) == 1 {
		return list[0]
	}
	merged := &Subject{}
	merged.Rendered = true
	merged.Operator = permissions.Operator{Name: strings.Join(names, ", ")}
	for _, s := range list {
		merged.Objects, merged.CSVs = append(merged.Objects, s.Objects...), append(merged.CSVs, s.CSVs...)
		merged.Shipped = append(merged.Shipped, s.Shipped...)
	}
	return merged
}

// State evaluates the subject for a comparison.
func (s *Subject) State(name string) (compare.State, error) {
	report, roles, err := permissions.EvaluateWithRoles(s.Input)
	if err != nil {
		return compare.State{}, err
	}
	return compare.State{Name: name, Roles: roles, Objects: s.All, Operators: s.Operators, Permissions: report,
		Left: s.stay, Locate: s.locate}, nil
}

// Refused returns what the API server refuses of what an engine or a person applies.
func (s *Subject) Refused(ctx context.Context, api writes.Checker) ([]findings.Finding, error) {
	return TreeOptions{API: api, whole: true}.refused(ctx, s.applied, nil, s.locate)
}

// Compare compares two subjects. Their names are those of the report. What is unknown of them is added to o.Unresolved.
func Compare(ctx context.Context, old, new *Subject, names [2]string, o compare.Options) (*compare.Report, error) {
	o.Unresolved = append(slices.Clip(o.Unresolved), new.unresolved(old)...)
	rendered := TreeOptions{API: o.API, whole: true}
	refused, err := rendered.refused(ctx, new.applied, lists.By(old.All, rendered.key), new.locate)
	if err != nil {
		return nil, err
	}
	o.Standing = new.standing
	if o.Said = slices.Concat(o.Said, new.said, refused); len(new.applied) > 0 && len(new.applied) == len(new.All) {
		o.API = nil // it has been asked about all that OLM would make
	}
	o.CRDs.Deleted = new.deleted
	o.Phases = new.outcome != nil && new.outcome.options.Over != nil
	over := old.played() && new.played() && o.Phases
	if over { // what both trees have is in the cluster
		now := lists.By(new.outcome.git, rendered.key)
		o.Cluster = append(slices.Clip(o.Cluster), lists.Filter(old.outcome.git, func(x *manifest.Object) bool {
			return !readByOLM(x) && rendered.has(now, x)
		})...)
	}
	o.PathKnown, o.Approval = o.PathKnown || over, new.waits
	old, new = old.without(new, false), new.without(old, true)
	new = new.over(old)
	var states [2]compare.State
	for i, s := range []*Subject{old, new} {
		var err error
		if states[i], err = s.State(names[i]); err != nil {
			return nil, err
		}
	}
	report, err := compare.Compare(ctx, states[0], states[1], o)
	if err != nil {
		return nil, err
	}
	if new.Note != "" {
		report.Notes = append(report.Notes, new.Note)
	}
	report.About = slices.Concat(old.about, new.about)
	return report, nil
}

// without returns a subject that is compared with another one: without the operators that are unknown there, and with
// its notes. One that the other side has too is said of the newer side, and not at all if it is what an object stands
// for.
func (s *Subject) without(other *Subject, newer bool) *Subject {
	out := *s.assembled(lists.Filter(other.Unknown, func(u Unknown) bool { return !u.Nothing }))
	key := func(r remark) string { return r.key }
	said, stands := lists.Set(other.remarks, key), lists.Set(lists.Map(other.parts, Installed.remark), key)
	if newer {
		said = nil
	}
	keep := func(list []remark, known map[string]bool) {
		for _, r := range list {
			if !known[r.key] {
				out.Notes, out.about = append(out.Notes, r.text), append(out.about, r.key)
			}
		}
	}
	out.Notes = nil
	keep(s.remarks, said)
	keep(lists.Map(s.parts, Installed.remark), stands)
	return &out
}

// leaves notes what OLM leaves in the cluster of what the bundles ship. Others look at CustomResourceDefinitions.
func (s *Subject) leaves(profiles []generate.Profile) {
	shipped := map[[3]string]bool{}
	for i, opened := range s.opened {
		if profiles[i] != generate.ProfileOLM {
			continue
		}
		s.byOLM = true
		for _, o := range opened.Others {
			shipped[[3]string{o.Group(), o.Kind, o.Name}] = olm.Leaves(o) && o.Kind != "CustomResourceDefinition"
		}
	}
	s.left = lists.Filter(s.All, func(o *manifest.Object) bool { return shipped[[3]string{o.Group(), o.Kind, o.Name}] })
}

// over returns the subject with what OLM leaves of the older one.
func (s *Subject) over(old *Subject) *Subject {
	if !s.byOLM || len(old.left) == 0 {
		return s
	}
	own := lists.Set(s.All, func(o *manifest.Object) string { return world.Key(o, "") })
	out := *s
	out.stay = lists.Filter(old.left, func(o *manifest.Object) bool { return !own[world.Key(o, "")] })
	out.All = slices.Concat(s.All, out.stay)
	out.Objects = slices.Concat(s.Objects, lists.Filter(out.stay, func(o *manifest.Object) bool {
		return permissions.Relevant(o.Group(), o.Kind)
	}))
	return &out
}

// Upgrade renders the new version of an operator as OLM would upgrade the old one: in its namespace and its install
// mode. keepMode says that the user chose the install mode or the target namespaces. If the new version does not
// support the mode of the old one, it is rendered in a mode that it supports, and the Note says so.
func Upgrade(old *Subject, keepMode bool, render func(change func(*config.Group)) (*Subject, error)) (*Subject, error) {
	var mode v1alpha1.InstallModeType // that the only operator was rendered in
	if len(old.Operators) == 1 {
		mode = old.Operators[0].InstallMode
	}
	intoNamespace := func(g *config.Group) {
		if g.Namespace == "" {
			g.Namespace = old.Operators[0].Namespace
		}
	}
	s, err := render(func(g *config.Group) {
		intoNamespace(g)
		withoutTargets := mode == v1alpha1.InstallModeTypeAllNamespaces || mode == v1alpha1.InstallModeTypeOwnNamespace
		if !keepMode && withoutTargets {
			g.InstallMode = mode
		}
	})
	var refused *generate.Error
	if !errors.As(err, &refused) || !slices.Contains(refused.About(), option.InstallMode) || mode == "" {
		return s, err
	}
	s, err = render(func(g *config.Group) {
		intoNamespace(g)
		g.InstallMode, g.TargetNamespaces = "", nil
	})
	if err != nil {
		return nil, err
	}
	s.Note = fmt.Sprintf("NEW does not support %s: it is compared as it is in %s", mode, s.Operators[0].InstallMode)
	s.Operators[0].InstallMode, s.Operators[0].Unsupported = mode, true
	return s, nil
}

// ClusterPair is a cluster of OLD and that of NEW; nil where one side has none.
type ClusterPair struct {
	Rel   string
	Sides [2]*tree.Cluster
}

// ClusterPairs pairs the clusters of two trees, those of NEW first. A side without a tree has no cluster. What one side
// says to be one cluster is one on the other side, whose name may not say it.
func ClusterPairs(trees [2]*tree.Tree) (list []ClusterPair) {
	at := map[string]int{}
	for _, i := range []int{1, 0} {
		if trees[i] == nil {
			continue
		}
		for _, c := range trees[i].Clusters(trees[1-i]) {
			j, ok := at[c.Rel]
			if !ok {
				j = len(list)
				at[c.Rel], list = j, append(list, ClusterPair{Rel: c.Rel})
			}
			list[j].Sides[i] = &c
		}
	}
	if trees[0] == nil || trees[1] == nil {
		return list
	}
	if len(list) == 2 && list[0].Sides[0] == nil && list[1].Sides[1] == nil {
		if now, old := list[0], list[1]; now.Rel == "." || old.Rel == "." { // one does not say which cluster it is
			return []ClusterPair{{Rel: now.Rel, Sides: [2]*tree.Cluster{old.Sides[0], now.Sides[1]}}}
		}
	}
	return moved(list, trees)
}

// moved pairs what only NEW has with what only OLD has, where an object of one file is in both: the cluster has another
// name, because a kustomization or an object of an engine says more of it.
func moved(list []ClusterPair, trees [2]*tree.Tree) []ClusterPair {
	key := func(side int, o *manifest.Object) string {
		return relative(trees[side], o.File) + " " + world.Key(o, "")
	}
	gone := map[string]int{} // the pair of what only OLD has, by its objects
	for j, p := range slices.Backward(list) {
		if p.Sides[1] == nil {
			for _, o := range p.Sides[0].Objects {
				gone[key(0, o)] = j
			}
		}
	}
	for i, p := range list {
		if p.Sides[0] != nil || p.Sides[1] == nil {
			continue
		}
		best := len(list)
		for _, o := range p.Sides[1].Objects {
			if j, ok := gone[key(1, o)]; ok && list[j].Sides[0] != nil {
				best = min(best, j)
			}
		}
		if best < len(list) {
			list[i].Sides[0], list[best].Sides[0] = list[best].Sides[0], nil
		}
	}
	return slices.DeleteFunc(list, func(p ClusterPair) bool {
		if i := slices.Index(p.Sides[:], nil); i >= 0 {
			c := p.Sides[1-i]
			return c == nil || trees[1-i].Dropped(*c, trees[i])
		}
		return false
	})
}

// Key is what clusters have in common in which the same objects are on each side.
func (p ClusterPair) Key() (key [2][sha256.Size]byte) {
	for i, c := range p.Sides {
		if c != nil {
			key[i] = c.Key()
		}
	}
	return key
}

// Equal reports whether a cluster has the same objects on both sides.
func (p ClusterPair) Equal() bool {
	if p.Sides[0] == nil || p.Sides[1] == nil || len(p.Sides[0].Objects) != len(p.Sides[1].Objects) {
		return false
	}
	for i, old := range p.Sides[0].Objects {
		if !world.Same(old, p.Sides[1].Objects[i]) {
			return false
		}
	}
	return true
}
