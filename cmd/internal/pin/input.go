package pin

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
)

// Input is what one cluster asks for.
type Input struct {
	Namespaces []*Namespace
	Extensions []*Extension
}

func (in *Input) empty() bool { return len(in.Namespaces)+len(in.Extensions) == 0 }

func (in *Input) operators() iter.Seq2[*Operator, string] {
	return func(yield func(o *Operator, pkg string) bool) {
		for _, n := range in.Namespaces {
			for j := range n.Operators {
				if !yield(&n.Operators[j], n.State.Subscriptions[j].Package) {
					return
				}
			}
		}
		for _, x := range in.Extensions {
			if !yield(&x.Operator, x.Request.Package) {
				return
			}
		}
	}
}

// checkNames refuses a catalog whose name no object can have.
func (in *Input) checkNames() error {
	for _, n := range in.Namespaces {
		for j := range n.Operators {
			p := PackageOf(&n.State.Subscriptions[j])
			if err := n.Operators[j].checkName(p.Source); err != nil {
				return err
			}
		}
	}
	for _, x := range in.Extensions {
		for _, s := range x.Sources {
			if err := x.checkName(Source{Name: s.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Operator) checkName(s Source) error {
	if err := s.check(); err != nil {
		return o.refuse(err.Error(), "name a catalog of the cluster", "")
	}
	return nil
}

// Operator is who asks for an operator.
type Operator struct {
	Name     string // of the Subscription or ClusterExtension
	File     string
	Line     int
	Object   string // in words
	Approved string // the approved release; empty if nothing says it yet
	By       string // the field of the object that says so; empty if Git says nothing

	InGit  bool                // the Subscription or ClusterExtension is there, under this name
	Policy *olm.OperatorPolicy // that makes the Subscription; nil if there is none
	Own    string              // the namespace that its own file names: a patch for it finds it by this one

	installed string // newer than startingCSV, which OLM reads no more: approved, unless an upgrade is asked for
}

const pinsOthers = "--package pins others alone"

func (o *Operator) refuse(text, tip, field string) error {
	return &manifest.Error{File: o.File, Line: o.Line, Field: field, Msg: o.Object + ": " + text,
		Tip: cmp.Or(tip, pinsOthers)}
}

// asker is what asks for a package: an operator, or a namespace with a dependency.
type asker struct {
	object    string // in words
	*Operator        // in no file for a namespace
}

func (a asker) String() string {
	if a.File == "" {
		return a.object
	}
	return fmt.Sprintf("%s (%s:%d)", a.object, a.File, a.Line)
}

// fromTree reads what the Subscriptions, OperatorPolicies and ClusterExtensions of a tree ask for. A Subscription of a
// pinned catalog asks for its source. unknown are those of which nobody can say what they ask for.
func (m *maker) fromTree(ctx context.Context) (in *Input, unknown []predict.Unknown, err error) {
	in = &Input{}
	t, catalogs := m.options.Tree, m.restored(m.options.Catalogs)
	list, unknown := predict.SubscribedNamespaces(ctx, t, m.options.Namespace, catalogs)
	for _, one := range list {
		n, err := m.ofNamespace(one)
		if err != nil {
			return nil, nil, err
		}
		if len(n.Operators) > 0 {
			in.Namespaces = append(in.Namespaces, n)
		}
	}
	asked, more := predict.AskedExtensions(t.Objects, catalogs)
	for _, a := range asked {
		x := &Extension{Operator: operatorOf(a.Object), Request: a.Request,
			Sources: originals(a.Sources, m.old), Selector: a.Selector}
		if a.Installed != nil {
			x.Installed = []string{a.Installed.Name}
		}
		if _, exact := extension.ExactVersion(a.Versions); exact {
			r, err := extension.Resolve(x.Sources, a.Request, nil)
			if err != nil {
				return nil, nil, x.refuse(err.Error(), "", FieldVersion)
			}
			x.Approved, x.By = r.Bundle.Name, FieldVersion
		}
		leave, err := m.leave(&x.Operator, Locked{ClusterExtension: x.Name, Package: x.Request.Package}, "")
		if err != nil {
			return nil, nil, err
		}
		if !leave {
			in.Extensions = append(in.Extensions, x)
		}
	}
	return in, m.leaveUnknown(append(unknown, more...), in), nil
}

// leaveUnknown leaves objects as they are that nobody pinned, if something else is pinned: those of whose catalogs
// nothing is known, and those of packages that are not asked for. It returns the others.
func (m *maker) leaveUnknown(unknown []predict.Unknown, in *Input) []predict.Unknown {
	if in.empty() {
		return unknown
	}
	return slices.DeleteFunc(unknown, func(u predict.Unknown) bool {
		o := operatorOf(u.Object)
		at := Locked{Namespace: cmp.Or(u.Object.Namespace, m.options.Namespace), Subscription: o.Name}
		path := []string{"spec", "name"}
		if u.Object.Kind == olm.KindClusterExtension {
			at = Locked{ClusterExtension: u.Object.Name}
			path = []string{"spec", "source", "catalog", "packageName"}
		}
		name, _ := u.Object.Get(path...) // of what has another form it is not known
		at.Package, _ = name.(string)
		for was := range m.old.operators() {
			if was.Namespace == at.Namespace && was.ClusterExtension == at.ClusterExtension &&
				(at.Namespace == "" || was.Subscription == o.Name) {
				return false
			}
		}
		leave := u.OfCatalog || at.Package != "" && !m.named(at.Package)
		if leave {
			m.left = append(m.left, left{at, asker{o.Object, &o}.String(), u.Why})
		}
		return leave
	})
}

// ofNamespace returns a namespace with the Subscriptions that are to be pinned.
func (m *maker) ofNamespace(one predict.Subscribed) (*Namespace, error) {
	n := &Namespace{State: one.State}
	original(n.State, m.old)
	all := n.State.Subscriptions
	n.State.Subscriptions = nil
	for i := range all {
		s := &all[i]
		o, err := ofSubscription(s, one.Subscriptions[i], n.State)
		if err != nil {
			return nil, err
		}
		from, why := PackageOf(s), ""
		if !slices.ContainsFunc(n.State.Catalogs, resolve.Source{Namespace: s.SourceNamespace, Name: s.Source}.Same) {
			why = fmt.Sprintf("nobody says what catalog %s serves", from.Source)
		}
		leave, err := m.leave(o, Locked{Namespace: n.State.Namespace, Catalog: from.Source.String(),
			Package: from.Name, Subscription: s.Name}, why)
		if err != nil {
			return nil, err
		}
		if !leave {
			n.State.Subscriptions, n.Operators = append(n.State.Subscriptions, *s), append(n.Operators, *o)
		}
	}
	return n, nil
}

// The fields that approve a release.
const (
	fieldVersions    = "spec.versions"
	fieldStartingCSV = "spec.startingCSV"
	fieldSource      = "source" // of a RenderConfig
	fieldNamespace   = "subscription.catalogSource.namespace"
)

func operatorOf(o *manifest.Object) Operator {
	out := Operator{Name: o.Name, File: o.File, Line: o.Line, Object: o.Identity(), InGit: true}
	if at := o.SetBy("metadata.namespace"); at.Patch == nil && at.File == o.File {
		v, _ := o.Get("metadata", "namespace")
		out.Own, _ = v.(string)
	}
	return out
}

// original makes the Subscriptions of pinned catalogs ask for their sources, and leaves the pinned catalogs out. One
// whose source is not there stands for it.
func original(state *resolve.State, lock *Lock) {
	var catalogs, pinned []resolve.Source
	for _, c := range state.Catalogs {
		s := Source{Namespace: c.Namespace, Name: c.Name}
		from := lock.Original(s)
		if from == s {
			catalogs = append(catalogs, c)
			continue
		}
		c.Namespace, c.Name = from.Namespace, from.Name
		pinned = append(pinned, c)
	}
	for _, c := range pinned {
		if !slices.ContainsFunc(catalogs, c.Same) {
			catalogs = append(catalogs, c)
		}
	}
	state.Catalogs = catalogs
	for i := range state.Subscriptions {
		s := &state.Subscriptions[i]
		from := lock.Original(Source{Namespace: s.SourceNamespace, Name: s.Source})
		s.SourceNamespace, s.Source = from.Namespace, from.Name
	}
}

// originals returns the sources of ClusterCatalogs, each once.
func originals(sources []extension.Source, lock *Lock) (out []extension.Source) {
	for _, s := range sources {
		s.Name = lock.Original(Source{Name: s.Name}).Name
		if !slices.ContainsFunc(out, func(o extension.Source) bool { return o.Name == s.Name }) {
			out = append(out, s)
		}
	}
	return out
}

// ofSubscription returns who asks, and what Git approves: the versions of an OperatorPolicy, else startingCSV.
func ofSubscription(s *resolve.Subscription, by predict.Subscriber, state *resolve.State) (*Operator, error) {
	o := operatorOf(by.Object)
	o.Name = s.Name
	o.InGit, o.Policy = by.Policy == nil, by.Policy
	if p := content(state, PackageOf(s)); p != nil {
		release, why := by.Approved(p, cmp.Or(s.Channel, p.DefaultChannel))
		switch {
		case why != "":
			return nil, o.refuse(why, "name in spec.versions the releases that are approved", fieldVersions)
		case release != nil:
			o.Approved, o.By = release.Name, fieldVersions
			return &o, nil
		}
	}
	switch p := content(state, PackageOf(s)); {
	case p != nil && p.Bundle(s.StartingCSV) != nil && p.Bundle(s.InstalledCSV) != nil &&
		compareVersions(p, s.InstalledCSV, s.StartingCSV) > 0:
		o.installed = s.InstalledCSV
	case s.StartingCSV != "":
		o.Approved, o.By = s.StartingCSV, fieldStartingCSV
	}
	return &o, nil
}

// has reports whether a catalog of a namespace has a bundle, of any package: policies approve dependencies, too.
func has(state *resolve.State, bundle string) bool {
	of := func(p *catalog.Package) bool { return p.Bundle(bundle) != nil }
	return slices.ContainsFunc(state.Catalogs, func(s resolve.Source) bool {
		return lists.Any(maps.Values(s.Catalog.Packages), of)
	})
}

// fromConfig reads what the operators of a RenderConfig ask for: a Subscription for each, or a ClusterExtension where
// OLM v1 installs it. A release that only the pin still has is taken from there. An operator that is in no catalog is
// refused.
func (m *maker) fromConfig(ctx context.Context) (*Input, error) {
	c := m.options.Config
	places, err := c.InCatalogs(ctx, m.options.Render)
	if err != nil {
		return nil, err
	}
	in, read := &Input{}, map[Source]*contents{}
	all := places.All()
	for group := range c.Groups {
		n := &Namespace{State: &resolve.State{Namespace: cmp.Or(c.Groups[group].Namespace, "default"),
			OperatorGroups: 1}}
		for i := range all {
			p := &all[i]
			if p.Group != group {
				continue
			}
			b := c.Groups[group].Bundles[p.Index]
			from := m.old.Original(sourceAt(b, places.OfOLMv1(p)))
			same := m.restore(p, b, from, read)
			op, err := ofPlace(p, b, c.ProfileOf(b))
			op.Own = c.Groups[group].Namespace
			at := Locked{Namespace: n.State.Namespace, Catalog: from.String(), Package: b.Package}
			if p.Package != nil {
				at.Package = p.Package.Name
			}
			if places.OfOLMv1(p) {
				at.Namespace, at.ClusterExtension = "", op.Name
			}
			leave, refused := m.leave(op, at, "")
			switch err = cmp.Or(refused, err); {
			case leave:
				continue
			case err != nil:
				return nil, err
			case !same:
				return nil, op.refuse(fmt.Sprintf("its catalog is called %s, and so is another one", from),
					"give each catalog a name of its own", fieldSource)
			case places.OfOLMv1(p):
				x := &Extension{Operator: *op, Request: places.Request(p),
					Sources: []extension.Source{{Name: from.Name, Catalog: p.Catalog}}}
				if v, ok := p.Bundle.Version(); ok && b.Version != "" && x.Request.Versions == "" {
					x.Request.Versions = v.String()
				}
				in.Extensions = append(in.Extensions, x)
				continue
			}
			if err := n.add(p, b, *op, from); err != nil {
				return nil, err
			}
		}
		n.State.GlobalNamespace = cmp.Or(n.State.GlobalNamespace, olm.NamespaceUpstream)
		if len(n.Operators) > 0 {
			in.Namespaces = append(in.Namespaces, n)
		}
	}
	return in, nil
}

type contents struct {
	source, merged *catalog.Catalog // as it is, and with the releases that only the pin has
}

// restore has an operator choose from its catalog and the releases that only the pin has. It reports false if another
// catalog has the name of its catalog.
func (m *maker) restore(p *config.CatalogPlace, b config.Bundle, from Source, read map[Source]*contents) bool {
	if p.Catalog == nil {
		return true
	}
	if read[from] == nil {
		read[from] = &contents{p.Catalog, m.withKept(from, p.Catalog)}
	}
	if read[from].source != p.Catalog {
		return false
	}
	p.Catalog = read[from].merged
	if choice, err := p.Catalog.Choose(b.Package, b.Channel, b.Version); err == nil {
		p.Choice, p.Why, p.Fault, p.Withdrawn = choice, nil, nil, false
	}
	return true
}

// sourceAt returns the catalog that an operator of a RenderConfig names.
func sourceAt(b config.Bundle, v1 bool) Source {
	s := Source{Name: review.CatalogName(b.Source)}
	if v1 {
		return s
	}
	s.Namespace = olm.NamespaceUpstream
	if b.Subscription != nil && b.Subscription.CatalogSource != nil {
		from := b.Subscription.CatalogSource
		s.Name, s.Namespace = cmp.Or(from.Name, s.Name), cmp.Or(from.Namespace, olm.NamespaceMarketplace)
	}
	return s
}

// ofPlace returns who asks for an operator of a RenderConfig. The error says why it cannot be pinned.
func ofPlace(p *config.CatalogPlace, b config.Bundle, profile generate.Profile) (*Operator, error) {
	o := &Operator{Name: p.Name, File: p.File, Line: p.Line, Object: "operator " + p.Name}
	switch {
	case p.Fault != nil:
		return o, p.Fault
	case p.Why != nil && p.Catalog != nil:
		return o, o.refuse(p.Why.Error(), "", "")
	case p.Why != nil:
		return o, o.refuse(p.Why.Error(), "name a catalog, as \"olmgen init catalog:DIR\" does", fieldSource)
	}
	if b.Version != "" {
		o.Approved, o.By = p.Bundle.Name, "version"
	}
	switch profile {
	case generate.ProfileSubscription:
		o.Name, o.InGit = p.Package.Name, true
		if b.Subscription == nil || b.Subscription.CatalogSource == nil || b.Subscription.CatalogSource.Name == "" {
			return o, o.refuse("it names no CatalogSource", "name the one that Git has today",
				"subscription.catalogSource.name")
		}
		o.Name = cmp.Or(b.Subscription.Name, o.Name)
	case generate.ProfileClusterExtension:
		o.Name, o.InGit = p.Package.Name, true
		if b.ClusterExtension != nil {
			o.Name = cmp.Or(b.ClusterExtension.Name, o.Name)
		}
	}
	return o, nil
}

// add adds an operator. Its catalog is in the namespace or in the one whose catalogs serve all namespaces.
func (n *Namespace) add(p *config.CatalogPlace, b config.Bundle, o Operator, from Source) error {
	s := resolve.Subscription{Name: p.Name, Package: p.Package.Name, Channel: b.Channel,
		Source: from.Name, SourceNamespace: from.Namespace}
	if p.Channel != nil {
		s.Channel = p.Channel.Name
	}
	source := resolve.Source{Name: s.Source, Namespace: s.SourceNamespace, Catalog: p.Catalog}
	if !slices.ContainsFunc(n.State.Catalogs, source.Same) {
		n.State.Catalogs = append(n.State.Catalogs, source)
	}
	if s.SourceNamespace != n.State.Namespace {
		if global := n.State.GlobalNamespace; global != "" && global != s.SourceNamespace {
			return o.refuse(fmt.Sprintf("its catalog is in namespace %s, and that of another operator of namespace %s "+
				"in %s: OLM has one global namespace", s.SourceNamespace, n.State.Namespace, global),
				"name catalogs of one namespace", fieldNamespace)
		}
		n.State.GlobalNamespace = s.SourceNamespace
	}
	n.State.Subscriptions, n.Operators = append(n.State.Subscriptions, s), append(n.Operators, o)
	return nil
}
