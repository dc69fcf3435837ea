package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// builder makes the variables of one resolution (OLM: resolver.go, Resolve).
type builder struct {
	*namespaceCatalogs
	installed *snapshot
	variables map[string]*variable
	visited   map[*entry]*variable
	ids       []string // of the variables, in the order in which they were added
	mapOrder  *rand.Rand
	provided  map[providedKey][]*entry
}

// providedKey is a requirement of a bundle in a catalog. Most versions of an operator have the same one.
type providedKey struct {
	source   sourceKey
	property string
}

func (w *namespaceCatalogs) builder(installed *snapshot, c *rand.Rand) *builder {
	return &builder{namespaceCatalogs: w, installed: installed, mapOrder: c, variables: map[string]*variable{},
		visited: map[*entry]*variable{}, provided: map[providedKey][]*entry{}}
}

// build returns the variables for the Subscriptions and installed CSVs of the namespace.
func (b *builder) build(subscriptions []Subscription) ([]*variable, error) {
	if err := b.bundles(b.installed.entries); err != nil {
		return nil, err
	}
	var errs []error
	for i := range subscriptions {
		if err := b.subscribe(&subscriptions[i]); err != nil {
			errs = append(errs, err)
		}
	}
	b.exclude()
	var unavailable []error // one of them stops the whole namespace
	for _, s := range append(slices.Clone(b.catalogs), b.installed) {
		if s.err != nil {
			unavailable = append(unavailable,
				fmt.Errorf("error using catalogsource %s/%s: %w", s.key.namespace, s.key.name, s.err))
		}
	}
	if unavailable != nil {
		errs = unavailable
	}
	list := lists.Map(b.ids, func(id string) *variable { return b.variables[id] })
	return list, utilerrors.NewAggregate(errs)
}

func (b *builder) put(v *variable) {
	if b.variables[v.id] == nil {
		b.ids = append(b.ids, v.id)
	}
	b.variables[v.id] = v
}

// bundles adds variables for bundles and for everything that they may depend on (OLM: getBundleVariables).
func (b *builder) bundles(stack []*entry) error {
	stack = slices.Clone(stack)
	var errs []error
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if v := b.visited[e]; v != nil {
			b.put(v)
			continue
		}
		v := newBundle(e)
		b.visited[e] = v
		needs, err := b.converter.requirements(e.facts)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for i := range needs {
			providers, err := b.providers(e, &needs[i])
			if err != nil {
				errs = append(errs, err)
				continue
			}
			ids := lists.Map(providers, func(p *entry) string { return p.id() })
			stack = append(stack, providers...)
			v.add(constraint{kind: dependency, ids: ids, need: &needs[i],
				text: fmt.Sprintf("bundle %s requires an operator %s", e.name, needs[i].text)})
		}
		b.put(v)
	}
	return utilerrors.NewAggregate(errs)
}

func newBundle(e *entry) *variable {
	v := &variable{id: e.id(), entry: e}
	if e.source.virtual() && e.subscription == "" {
		v.add(constraint{kind: mandatory,
			text: fmt.Sprintf("clusterserviceversion %s exists and is not referenced by a subscription", e.name)})
	}
	if e.deprecated {
		v.add(constraint{kind: prohibited, text: fmt.Sprintf("bundle %s is deprecated", v.id)})
	}
	return v
}

// providers returns the bundles that meet a requirement, the preferred one first. Their channels must be sortable.
func (b *builder) providers(e *entry, need *requirement) ([]*entry, error) {
	key := providedKey{e.source, need.property}
	if known, ok := b.provided[key]; ok {
		return known, nil
	}
	type group struct {
		source                     sourceKey
		pkg, channel, subscription string
	}
	groups, names := map[group]bool{}, map[string]bool{}
	sorted := b.sorted(b.installed, e.source)
	for _, s := range sorted {
		for _, other := range s.entries {
			g := group{other.source, other.pkg, other.channel, other.subscription}
			if !groups[g] && need.test(other) {
				groups[g] = true
				if other.source.virtual() {
					names[other.name] = true
				}
			}
		}
	}
	var all []*entry
	for _, s := range sorted {
		for _, other := range s.entries {
			if other.source.virtual() && names[other.name] || !other.source.virtual() && b.covered(other,
				func(pkg string) bool {
					return groups[group{other.source, pkg, other.channel, ""}]
				}) {
				all = append(all, other)
			}
		}
	}
	all, err := sortProviders(all)
	if err != nil {
		return nil, err
	}
	b.provided[key] = slices.DeleteFunc(all, func(other *entry) bool { return !need.test(other) })
	return b.provided[key], nil
}

// covered reports whether the entry is of a package, by the catalog or by its properties, that has a provider.
func (b *builder) covered(e *entry, has func(pkg string) bool) bool {
	return has(e.pkg) || slices.ContainsFunc(e.packages, func(p packageFact) bool { return has(p.name) })
}

func (b *builder) current(s *Subscription) *entry {
	for _, e := range b.installed.byName[s.InstalledCSV] {
		return e
	}
	return nil
}

// subscribe adds a Subscription and its candidates (OLM: getSubscriptionVariables).
func (b *builder) subscribe(s *Subscription) error {
	current := b.current(s)
	if b.state != nil && b.state.unknown(s) != "" {
		if current != nil {
			b.put(newSubscription(s, []string{current.id()}))
		}
		return nil
	}
	entries, fault := b.subscribed(s, current)
	if fault != "" {
		v := required(s)
		v.add(constraint{kind: prohibited, text: fault})
		b.put(v)
		return nil
	}
	order, err := sortSubscribed(entries)
	if err != nil {
		return err
	}
	byName := lists.Group(entries, func(e *entry) string { return e.name })
	var ids []string
	for _, o := range order {
		if current != nil && !o.isUpdate(current) || s.planned != "" && s.planned != o.name {
			continue
		}
		same := byName[o.name]
		if err := b.bundles(same); err != nil {
			return err
		}
		for _, e := range shuffled(b.mapOrder, same) {
			v := b.visited[e]
			if current != nil {
				v.replaces = current.name
				v.add(constraint{kind: conflict, ids: []string{current.id()},
					text: fmt.Sprintf("%s conflicts with %s", v.id, current.id())})
			}
			ids = append(ids, v.id)
		}
	}
	if current != nil {
		ids = append(ids, current.id())
	}
	b.put(newSubscription(s, ids))
	return nil
}

// subscribed returns the entries that a Subscription can choose from, or OLM's words for why there are none.
func (b *builder) subscribed(s *Subscription, current *entry) ([]*entry, string) {
	key := sourceKey{s.Source, s.SourceNamespace}
	all := b.of(b.installed, key)
	unread := slices.ContainsFunc(b.catalogs, func(c *snapshot) bool { return c.key == key && c.unread })
	if len(all) == 0 && !unread {
		return nil, fmt.Sprintf("no operators found from catalog %s in namespace %s referenced by subscription %s",
			s.Source, s.SourceNamespace, s.Name)
	}
	all = lists.Filter(all, func(e *entry) bool { return e.ofPackage(s.Package) })
	if len(all) == 0 {
		return nil, fmt.Sprintf("no operators found in package %s in the catalog referenced by subscription %s",
			s.Package, s.Name)
	}
	all = lists.Filter(all, func(e *entry) bool { return s.Channel == "" || e.channel == s.Channel })
	if len(all) == 0 {
		return nil,
			fmt.Sprintf("no operators found in channel %s of package %s in the catalog referenced by subscription %s",
				s.Channel, s.Package, s.Name)
	}
	if current == nil && s.StartingCSV != "" {
		all = lists.Filter(all, func(e *entry) bool { return e.name == s.StartingCSV })
	}
	if len(all) == 0 {
		return nil,
			fmt.Sprintf("no operators found with name %s in channel %s of package %s in the catalog referenced by "+
				"subscription %s", s.StartingCSV, s.Channel, s.Package, s.Name)
	}
	return all, ""
}

func (e *entry) isUpdate(installed *entry) bool {
	return e.updates.Field(installed.name, installed.version) != ""
}

// sortSubscribed returns the entries by channel, the default one first, and from the head of each channel down.
func sortSubscribed(entries []*entry) ([]*entry, error) {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(lists.TrueFirst(a.defaultChannel, b.defaultChannel), cmp.Compare(a.channel, b.channel))
	})
	return sortChannels(lists.Groups(entries, func(e *entry) string { return e.channel }))
}

// required returns the variable of a Subscription, which is in every solution.
func required(s *Subscription) *variable {
	return &variable{id: subscriptionID(s.Name), subscription: true,
		constraints: []constraint{{kind: mandatory, text: fmt.Sprintf("subscription %s exists", s.Name)}}}
}

func newSubscription(s *Subscription, ids []string) *variable {
	var text string
	switch last := len(ids) - 1; last {
	case -1:
		text = "no operators found matching the criteria of subscription " + s.Name
	case 0:
		text = fmt.Sprintf("subscription %s requires %s", s.Name, ids[0])
	default:
		text = fmt.Sprintf("subscription %s requires at least one of %s or %s", s.Name,
			strings.Join(ids[:last], ", "), ids[last])
	}
	v := required(s)
	v.add(constraint{kind: dependency, ids: ids, text: text})
	return v
}

// exclude adds the rules that a namespace has one CSV of a package and one provider of an API (OLM: addInvariants).
func (b *builder) exclude() {
	packages, apis := map[string][]string{}, map[catalog.GVK][]string{}
	for _, id := range b.ids {
		v := b.variables[id]
		if v.entry == nil {
			continue
		}
		e, n := b.only(b.installed, v.entry)
		if n != 1 {
			continue
		}
		for _, g := range e.gvks {
			apis[g] = append(apis[g], v.id)
		}
		for _, p := range e.packages {
			packages[p.name] = append(packages[p.name], v.id)
		}
	}
	byText := func(x, y catalog.GVK) int { return strings.Compare(gvkText(x), gvkText(y)) }
	for _, g := range slices.SortedFunc(maps.Keys(apis), byText) {
		b.onlyOne(gvkText(g), "there can be only one provider of "+gvkText(g), "provide "+gvkText(g), apis[g])
	}
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		b.onlyOne(p, "there can be only one operator from package "+p, "originate from package "+p, packages[p])
	}
}

func gvkText(g catalog.GVK) string { return fmt.Sprintf("%s (%s/%s)", g.Kind, g.Group, g.Version) }

func (b *builder) onlyOne(id, rule, verb string, ids []string) {
	v := &variable{id: id}
	if len(ids) > 1 {
		slices.Sort(ids)
		last := len(ids) - 1
		v.constraints = []constraint{{kind: mandatory, text: rule}, {kind: atMostOne, ids: ids,
			text: fmt.Sprintf("%s and %s %s", strings.Join(ids[:last], ", "), ids[last], verb)}}
	}
	b.put(v)
}
