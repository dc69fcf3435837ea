package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// TreeOptions say how a tree is reviewed.
type TreeOptions struct {
	Name      string           // of the tree, for a person
	Namespace string           // of objects that name none
	Catalogs  predict.Catalogs // what Subscriptions install from
	Source    source.Options   // how bundles are fetched that a catalog only names

	Checker crs.Checker        // for the custom resources of the cluster; may be nil
	API     writes.Checker     // what the API server says to objects; nil if nobody asks
	Cluster []*manifest.Object // what is in the cluster beside the tree
	Target  fit.Cluster        // the releases in it
	Over    *Subject           // the older state, whose outcome this one is played on; nil for an empty cluster
	Next    []*manifest.Object // the newer state, if this one is the older

	whole bool // the objects are rendered: none has but a part of what it is in the cluster
}

// FromTree returns the objects of a tree as a Subject, with what OLM makes of the operators that it installs for the
// Subscriptions, in any of its clusters. Errors are about objects that cannot be read, and those of ctx.
func FromTree(ctx context.Context, t *tree.Tree, o TreeOptions) (*Subject, error) {
	t, note := inNamespace(t, o.Namespace)
	var list []*Subject
	for _, part := range ClustersOf(t) {
		s, err := o.play(ctx, part)
		if err != nil {
			return nil, err
		}
		list = append(list, s.assembled(nil))
	}
	s := list[0]
	if len(list) > 1 {
		var err error
		if s, err = anyOf(list); err != nil {
			return nil, err
		}
	}
	s.Unbuilt = lists.Map(t.Unknown(), (*manifest.Error).Error)
	if note != "" {
		s.remark(note, "%s", note)
	}
	return s, nil
}

// inNamespace returns a tree whose objects are all in a namespace, and a note on those that name none. Without a
// namespace, the tree stays.
func inNamespace(t *tree.Tree, namespace string) (*tree.Tree, string) {
	if namespace == "" {
		return t, ""
	}
	var homeless []string
	in := map[*manifest.Object]*manifest.Object{}
	move := func(o *manifest.Object) *manifest.Object {
		if !Homeless(o) {
			return o
		}
		if in[o] == nil {
			homeless, in[o] = append(homeless, o.Identity()), world.InNamespace(o, namespace)
		}
		return in[o]
	}
	out := *t
	out.Objects, out.Roots = lists.Map(t.Objects, move), slices.Clone(t.Roots)
	for i, r := range t.Roots {
		out.Roots[i].Objects = lists.Map(r.Objects, move)
	}
	if len(homeless) == 0 {
		return t, ""
	}
	return &out, fmt.Sprintf("without a namespace, and so in %s: %s", namespace, text.FirstOf(3, homeless))
}

// Homeless reports whether an object must have a namespace, and names none.
func Homeless(o *manifest.Object) bool {
	kind, known := olm.KindOf(o.Group(), o.Kind)
	return o.Namespace == "" && known && kind.Namespaced
}

// ClustersOf returns a tree as its clusters see it; the tree itself if it has one.
func ClustersOf(t *tree.Tree) []*tree.Tree {
	var parts []*tree.Tree
	for i, c := range t.Clusters(nil) {
		parts = append(parts, t.Of(c, i == 0))
	}
	if len(parts) > 1 {
		return parts
	}
	return []*tree.Tree{t}
}

// once returns a function that reports whether it has not been asked about a text before.
func once() func(text string) bool {
	seen := map[string]bool{}
	return func(text string) bool {
		known := seen[text]
		seen[text] = true
		return !known
	}
}

// anyOf returns what is in any of several clusters: each object once, and several of one name where they differ.
func anyOf(list []*Subject) (*Subject, error) {
	out := &Subject{Input: permissions.Input{Operator: list[0].Operator, Namespace: list[0].Namespace}}
	first := once()
	for _, s := range list {
		for _, part := range []struct {
			from []*manifest.Object
			to   *[]*manifest.Object
			what string
		}{{s.Objects, &out.Objects, "object"}, {s.All, &out.All, "any"}} {
			for _, o := range part.from {
				v, err := o.Value()
				if err != nil {
					return nil, err
				}
				if first(part.what + string(manifest.Encode(v))) {
					*part.to = append(*part.to, o)
				}
			}
		}
		out.CSVs = append(out.CSVs, lists.Filter(s.CSVs, func(c permissions.CSV) bool {
			return first("csv " + c.Namespace + "/" + c.Name)
		})...)
		out.Unknown = append(out.Unknown, lists.Filter(s.Unknown, func(u Unknown) bool {
			return first("unknown " + u.key())
		})...)
		out.Shipped, out.remarks = append(out.Shipped, s.Shipped...), append(out.remarks, s.remarks...)
		for _, texts := range []struct {
			from []string
			to   *[]string
		}{{s.Notes, &out.Notes}, {s.Unread, &out.Unread}, {s.Unresolved, &out.Unresolved}} {
			for _, text := range texts.from {
				*texts.to = lists.Add(*texts.to, text)
			}
		}
	}
	return out, nil
}

// Installed is an operator that OLM installs for a Subscription or ClusterExtension of a tree.
type Installed struct {
	Object   *manifest.Object // that asks for it
	Name     string           // of the bundle
	Opened   *config.Opened
	Operator output.Operator // what OLM makes of it
	Subject  *Subject

	plan Planned
}

// remark returns what the object stands for.
func (i Installed) remark() remark {
	return remark{fmt.Sprint(i.Object.Identity(), i.Name, i.plan.Catalog, i.plan.Choice.Channel), i.plan.String()}
}

// Installs returns what OLM installs for the objects of a tree, and the objects whose operator is unknown: no catalog
// says what it is, OLM installs none, or its bundle cannot be rendered. Errors are about objects, and those of ctx.
func Installs(ctx context.Context, t *tree.Tree, o TreeOptions) (list []Installed, unknown []Unknown, err error) {
	plan, unknown, err := Plan(ctx, t, o)
	if err != nil {
		return nil, nil, err
	}
	list, more, err := renderAll(ctx, plan, o)
	return list, append(unknown, more...), err
}

// renderAll renders what OLM installs. The error is that of ctx.
func renderAll(ctx context.Context, plan []Planned, o TreeOptions) (list []Installed, unknown []Unknown, err error) {
	for _, p := range plan {
		installed, err := p.Render(ctx, o.Source)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			unknown = append(unknown, Unknown{Object: p.Object, Name: p.Name, Why: err.Error()})
			continue
		}
		list = append(list, *installed)
	}
	return list, unknown, nil
}

// Plan returns which operators OLM installs for the objects of a tree, in any of its clusters, and the objects whose
// operator is unknown. It reads no bundle. Errors are about objects that cannot be read, and those of ctx.
func Plan(ctx context.Context, t *tree.Tree, o TreeOptions) (list []Planned, unknown []Unknown, err error) {
	parts := ClustersOf(t)
	if len(parts) == 1 {
		return planIn(ctx, t, o)
	}
	first := once()
	for _, part := range parts {
		some, nobody, err := planIn(ctx, part, o)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, lists.Filter(some, func(p Planned) bool {
			return first(p.Object.Identity() + "\x00" + p.Namespace + "/" + p.Name + " " + p.Catalog)
		})...)
		unknown = append(unknown, lists.Filter(nobody, func(u Unknown) bool {
			return first(u.Object.Identity() + "\x00" + u.Why)
		})...)
	}
	return list, unknown, nil
}

func planIn(ctx context.Context, t *tree.Tree, o TreeOptions) (list []Planned, unknown []Unknown, err error) {
	if !slices.ContainsFunc(t.Objects, handsOver) {
		return nil, nil, nil
	}
	predicted, err := predict.Check(ctx, t, predict.Options{Namespace: o.Namespace, Catalogs: o.Catalogs})
	if err != nil {
		return nil, nil, err
	}
	list, unknown = PlanOf(predicted, o.Target)
	return list, unknown, nil
}

// PlanOf returns which operators OLM installs in a cluster by what is predicted of a tree.
func PlanOf(predicted *predict.Report, in fit.Cluster) (list []Planned, unknown []Unknown) {
	extensions, nobody := predicted.Installed()
	list = slices.Concat(lists.Map(predicted.Installs, ofSubscription),
		lists.Map(extensions, func(e predict.Extension) Planned { return ofExtension(e, in) }))
	return list, lists.Map(slices.Concat(predicted.Unknown, nobody), unknownOf)
}

func unknownOf(u predict.Unknown) Unknown {
	return Unknown{Object: u.Object, Why: u.Why, Disputed: u.Disputed, Nothing: u.Nothing}
}

// assembled returns the subject with its parts, but for those of some objects.
func (s *Subject) assembled(without []Unknown) *Subject {
	if len(s.parts) == 0 || s.tree != nil && len(without) == 0 {
		return s
	}
	tree := s
	if s.tree != nil {
		tree = s.tree
	}
	whole := *tree
	whole.tree, whole.Note = tree, s.Note
	whole.All, whole.Objects = slices.Clone(whole.All), slices.Clone(whole.Objects)
	whole.Operators, whole.CSVs = slices.Clone(whole.Operators), slices.Clone(whole.CSVs)
	for _, p := range whole.parts {
		if !slices.ContainsFunc(without, func(u Unknown) bool { return u.Object.Identity() == p.Object.Identity() }) {
			whole.add(p.Subject)
			whole.Notes = append(slices.Clip(whole.Notes), p.remark().text)
		}
	}
	return &whole
}

// Planned is an operator that OLM installs for a Subscription or ClusterExtension of a tree.
type Planned struct {
	Object  *manifest.Object // that asks for it
	Name    string           // of the bundle
	Catalog string           // NAMESPACE/NAME of a CatalogSource, or NAME of a ClusterCatalog
	Choice  catalog.Choice

	Namespace string // where it is installed
	Account   string // that OLM v1 installs it with, up to version 1.10; may be empty

	dependency bool
	v1         bool
	live       string // the release that is in the cluster already; empty for a new operator
	options    generate.Options
	err        error // why it cannot be rendered
}

// at returns the namespace and the name of the ClusterServiceVersion.
func (h Planned) at() string { return h.Namespace + "/" + h.Name }

// String returns a sentence: what the object stands for.
func (h Planned) String() string {
	out := fmt.Sprintf("%s (%s:%d): %s from catalog %s", h.Object.Identity(), h.Object.File, h.Object.Line, h.Name,
		h.Catalog)
	if h.Choice.Channel != nil {
		out += ", channel " + h.Choice.Channel.Name
	}
	if h.dependency {
		out += ", as a dependency"
	}
	return out
}

// ofSubscription returns what OLM v0 installs.
func ofSubscription(i predict.Install) Planned {
	h := Planned{Object: i.Subscription, Name: i.Name, Catalog: i.Catalog, Choice: i.Choice, dependency: i.Dependency,
		Namespace: i.Namespace, options: generate.Options{Profile: generate.ProfileOLM, Namespace: i.Namespace,
			Certs: generate.CertsOLM, OperatorGroup: cmp.Or(i.Group.Name, i.Namespace)}}
	if i.Group.Unknown != "" {
		h.err = fmt.Errorf("the target namespaces of OperatorGroup %s/%s are not known: %s", i.Group.Namespace,
			i.Group.Name, i.Group.Unknown)
	}
	if i.Subscription.Has("spec", "config") && !i.Dependency {
		h.options.Config = &v1alpha1.SubscriptionConfig{}
		if err := i.Subscription.Field(h.options.Config, "spec", "config"); err != nil {
			h.err = err
		}
	}
	if targets := i.Group.Status.Namespaces; slices.Equal(targets, []string{""}) {
		h.options.InstallMode = v1alpha1.InstallModeTypeAllNamespaces
	} else {
		h.options.TargetNamespaces = targets
	}
	if account := i.Group.Status.Account; account != nil {
		h.options.ServiceAccount = account.Name
	}
	return h
}

func ofExtension(e predict.Extension, in fit.Cluster) Planned {
	h := Planned{Object: e.Object, Name: e.Name, Catalog: e.Catalog, Choice: e.Choice,
		Namespace: e.Namespace, Account: e.Account, v1: true,
		options: generate.Options{Profile: generate.ProfileOLMv1, Namespace: e.Namespace, Certs: generate.CertsManager,
			OperatorGroup: e.Namespace}}
	if in.Controller != nil {
		h.options.OLMVersion = in.Controller.Number()
	}
	if in.OpenShift != nil {
		h.options.OpenShiftVersion = in.OpenShift.Number()
	}
	if e.WatchNamespace != "" {
		h.options.TargetNamespaces = []string{e.WatchNamespace}
	}
	if at := []string{"spec", "config", "inline", "deploymentConfig"}; e.Object.Has(at...) {
		h.options.Config = &v1alpha1.SubscriptionConfig{}
		if err := e.Object.Field(h.options.Config, at...); err != nil {
			h.err = err
		}
	}
	return h
}

// handsOver reports whether an object has OLM choose what it installs.
func handsOver(o *manifest.Object) bool {
	return o.Kind == v1alpha1.SubscriptionKind && o.Group() == olm.Group || isPolicy(o) ||
		o.Kind == olm.KindClusterExtension && o.Group() == olm.GroupV1
}

// isPolicy reports whether an object may be or have an OperatorPolicy.
func isPolicy(o *manifest.Object) bool {
	return o.Group() == olm.GroupPolicy && (o.Kind == olm.KindOperatorPolicy || o.Kind == olm.KindPolicy)
}

// Render renders what OLM makes of the operator.
func (h Planned) Render(ctx context.Context, so source.Options) (*Installed, error) {
	if h.err != nil {
		return nil, h.err
	}
	if so.Warn == nil {
		so.Warn = func(string, ...any) {}
	}
	opened, err := config.OpenChosen(ctx, h.Choice, so, bundle.ReadOptions{AllowUnsupported: h.v1, Hidden: h.v1})
	if err != nil {
		return nil, err
	}
	options := h.options
	options.Properties, options.Shown = opened.Properties, true
	if opened.Entry != nil {
		options.Replaces = &opened.Entry.Replaces
	}
	set, err := generate.RenderAll([]generate.Operator{{Name: opened.Package, Bundle: opened.Bundle, Options: options}})
	if err != nil {
		if one, ok := errors.AsType[*generate.OperatorError](err); ok {
			err = one.Err
		}
		return nil, err
	}
	operator := output.Operator{Name: opened.Package, Channel: opened.Channel(""), Result: set.Results[0]}
	s, err := assemble(ctx, set.Objects, []*config.Opened{opened}, []output.Operator{operator}, options.Profile)
	if err != nil {
		return nil, err
	}
	s.Operators[0].CRDSafety = h.v1 && upgrade.AsksCRDSafety(h.Object)
	ref := cmp.Or(opened.Ref, h.Name)
	s.MovePaths(func(_ int, file string) string { return PathIn(ref, file) })
	return &Installed{Object: h.Object, Name: h.Name, Opened: opened, Operator: operator, Subject: s, plan: h}, nil
}

// add adds the objects and operators of another subject. Of two objects of one name, that of s stays.
func (s *Subject) add(other *Subject) {
	have := lists.Set(s.All, func(o *manifest.Object) string { return o.Group() + " " + o.Identity() })
	added := map[*manifest.Object]bool{}
	for _, o := range other.All {
		brought := o.Group() == olm.Group && o.Kind == operatorsv1.OperatorGroupKind &&
			(other.byOLM || o.Name == olm.GlobalGroup && olm.HasGlobalGroup(o.Namespace)) // by Git or the distribution
		if !have[o.Group()+" "+o.Identity()] && !brought {
			s.All = append(s.All, o)
			added[o] = true
		}
	}
	s.Objects = append(s.Objects, lists.Filter(other.Objects, func(o *manifest.Object) bool { return added[o] })...)
	s.CSVs = append(s.CSVs, other.CSVs...)
	s.Shipped = append(s.Shipped, other.Shipped...)
	s.Operators = append(s.Operators, other.Operators...)
	s.left, s.byOLM = append(s.left, other.left...), s.byOLM || other.byOLM
	s.opened = append(s.opened, other.opened...)
	s.locate = func(o *manifest.Object, field string) (string, int) { return permissions.Place(s.CSVs, o, field) }
}

// FromShown returns what a RenderConfig renders to as a Subject. shown is the same with the operators that it hands
// over to OLM as OLM installs them, unless why says why they cannot be shown: they are unknown then.
func FromShown(ctx context.Context, rendered, shown *config.Rendered, why error) (*Subject, error) {
	if why != nil {
		shown = rendered
	}
	s, err := FromRendered(ctx, shown)
	if err != nil {
		return nil, err
	}
	if shown != rendered {
		asked, err := FromRendered(ctx, rendered)
		if err != nil {
			return nil, err
		}
		asked.CSVs, asked.Operators, asked.Shipped, asked.opened = nil, nil, nil, nil
		asked.byOLM = false
		s.add(asked)
		s.applied = asked.All
		return s, nil
	}
	s.byOLM, s.applied = false, s.All // an engine applies it, and prunes what is gone
	for _, o := range s.All {
		if handsOver(o) && why != nil {
			s.unknown(Unknown{Object: o, Why: why.Error()})
		}
	}
	return s, nil
}

// Unknown is an object that hands an operator over to OLM, and why its operator is not in the review.
type Unknown struct {
	Object *manifest.Object
	Name   string // of the ClusterServiceVersion, as far as it is known
	Why    string

	Disputed bool // two roots of the cluster differ: no catalog makes it known
	Nothing  bool // OLM installs nothing: that is known
}

// String returns a sentence.
func (u Unknown) String() string {
	name := u.Object.Identity()
	if u.Name != "" {
		name += " (" + u.Name + ")"
	}
	return fmt.Sprintf("%s: %s", name, strings.TrimSuffix(u.Why, "."))
}

func (s *Subject) unknown(u Unknown) {
	s.Unknown = append(s.Unknown, u)
	s.Unresolved = append(s.Unresolved, u.String())
}

// key is what two unknowns of one object and operator have in common.
func (u Unknown) key() string { return fmt.Sprintf("%s %q %t", u.Object.Identity(), u.Name, u.Nothing) }

// unresolved returns what is unknown of a subject that is compared with an older one, or of the older one.
func (s *Subject) unresolved(old *Subject) (out []compare.Unresolved) {
	add := func(u Unknown, changed bool, where string) {
		message := where + u.Why
		if u.Name != "" {
			message = where + u.Name + ": " + u.Why
		}
		out = append(out, compare.Unresolved{Object: u.Object.Identity(), Message: message, Changed: changed,
			File: u.Object.File, Line: u.Object.Line})
	}
	unknown := lists.Set(old.Unknown, Unknown.key)
	before, after := old.deciders(), s.deciders()
	around := map[string]bool{} // whether it is the same, by namespace
	refused := lists.Set(lists.Filter(s.said, func(f findings.Finding) bool { return f.Level == findings.Error }),
		func(f findings.Finding) string { return f.Object })
	for _, u := range s.Unknown {
		ns := u.Object.Namespace
		if u.Nothing && (refused[u.Object.Identity()] || refused["Namespace "+ns]) {
			continue // which OLM says
		}
		if _, ok := around[ns]; !ok {
			around[ns] = slices.EqualFunc(before.in[ns], after.in[ns], world.Same)
		}
		same := slices.EqualFunc(before.of(u), after.of(u), world.Same)
		add(u, !same || !around[ns] || !unknown[u.key()] ||
			!slices.EqualFunc(before.own(u), after.own(u), world.Same), "")
	}
	unforeseen := lists.By(old.unforeseen, Unknown.key)
	here, there := s.statuses(), old.statuses()
	for _, u := range s.unforeseen {
		was, is := unforeseen[u.key()]
		if says := here[u.key()]; says["installedCSV"] != nil && !reflect.DeepEqual(says, there[u.key()]) {
			continue // a later dump says itself what OLM has installed
		}
		if !is || moves(was.Object, u.Object) || !slices.EqualFunc(before.of(u), after.of(u), sameSpec) {
			add(u, true, "")
		}
	}
	asks := lists.Set(s.Unknown, func(u Unknown) string { return u.Object.Identity() })
	stays := lists.Set(lists.Filter(s.said, predict.Stays), func(f findings.Finding) string { return f.Object })
	for _, u := range old.Unknown {
		switch id := u.Object.Identity(); {
		case u.Nothing || asks[id]:
		case len(after.own(u)) > 0:
			add(u, true, "not known in OLD: ")
		case len(before.own(u)) > 0 && !stays[id]:
			add(u, true, "it is deleted with all that OLM made of it: ")
		}
	}
	return out
}

// statuses returns what the Subscriptions of a tree say of themselves, by the key of an Unknown.
func (s *Subject) statuses() map[string]map[string]any {
	out := map[string]map[string]any{}
	if s.outcome != nil {
		for _, x := range s.outcome.git {
			if handsOver(x) {
				out[Unknown{Object: x}.key()] = olm.Mapping(olm.Get(x, "status"))
			}
		}
	}
	return out
}

// moves reports whether a Subscription asks OLM for other updates than before.
func moves(old, now *manifest.Object) bool {
	for _, field := range []string{"name", "channel", "source", "sourceNamespace"} {
		if !reflect.DeepEqual(olm.Get(old, "spec", field), olm.Get(now, "spec", field)) {
			return true
		}
	}
	return predict.Manual(old) && !predict.Manual(now)
}

func sameSpec(a, b *manifest.Object) bool {
	return reflect.DeepEqual(olm.Get(a, "spec"), olm.Get(b, "spec"))
}

// deciders are the objects that decide which operators are installed, each list sorted.
type deciders struct {
	catalogs []*manifest.Object
	policies map[string][]*manifest.Object // OperatorPolicies, by identity and by the Subscription that they manage
	in       map[string][]*manifest.Object // OperatorGroups, by namespace
	called   map[string][]*manifest.Object // others of OLM, by identity
}

func (s *Subject) deciders() *deciders {
	d := &deciders{policies: map[string][]*manifest.Object{}, in: map[string][]*manifest.Object{},
		called: map[string][]*manifest.Object{}}
	all := slices.SortedStableFunc(slices.Values(s.All),
		func(a, b *manifest.Object) int { return cmp.Compare(a.Identity(), b.Identity()) })
	for _, o := range all {
		switch {
		case isPolicy(o):
			for _, p := range olm.OperatorPolicies([]*manifest.Object{o}) {
				for _, key := range []string{p.Object.Identity(), managed(p.Namespace, p.Package)} {
					d.policies[key] = append(d.policies[key], p.Object)
				}
			}
		case o.Group() != olm.Group && o.Group() != olm.GroupV1:
		case o.Kind == v1alpha1.CatalogSourceKind, o.Kind == olm.KindClusterCatalog:
			d.catalogs = append(d.catalogs, o)
		case o.Kind == operatorsv1.OperatorGroupKind:
			d.in[o.Namespace] = append(d.in[o.Namespace], o)
		default:
			d.called[o.Identity()] = append(d.called[o.Identity()], o)
		}
	}
	return d
}

// of returns the catalogs that what is unknown may be from: a Subscription names one.
func (d *deciders) of(u Unknown) []*manifest.Object {
	if u.Object.Kind != v1alpha1.SubscriptionKind {
		return d.catalogs
	}
	name, _ := u.Object.Get("spec", "source")
	namespace, _ := u.Object.Get("spec", "sourceNamespace")
	return lists.Filter(d.catalogs, func(o *manifest.Object) bool { return o.Name == name && o.Namespace == namespace })
}

// managed is the key of a Subscription that an OperatorPolicy manages. One without a namespace may mean any.
func managed(namespace, pkg string) string { return "managed " + namespace + "/" + pkg }

// own returns the object that is unknown, unless it is among the others, and its OperatorPolicies.
func (d *deciders) own(u Unknown) []*manifest.Object {
	o := u.Object
	out := slices.Concat(d.called[o.Identity()], d.policies[o.Identity()])
	if o.Kind == v1alpha1.SubscriptionKind {
		out = append(out, d.policies[managed("", o.Name)]...)
		if o.Namespace != "" {
			out = append(out, d.policies[managed(o.Namespace, o.Name)]...)
		}
	}
	return out
}
