package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// namespaceCatalogs holds the catalogs that the namespace sees, ready to search.
type namespaceCatalogs struct {
	namespace string
	state     *State
	catalogs  []*snapshot
	hidden    []*snapshot // of other namespaces: not for the resolver
	converter *converter
}

// snapshot is one catalog, or what is installed (OLM: cache.Snapshot).
type snapshot struct {
	key      sourceKey
	priority int
	entries  []*entry
	unread   bool // it has packages besides, which no Subscription asks for
	byName   map[string][]*entry
	err      error
	fault    string // of its CatalogSource
}

func newNamespaceCatalogs(s *State) *namespaceCatalogs {
	w := &namespaceCatalogs{namespace: s.Namespace, state: s, converter: newConverter()}
	for _, c := range s.Catalogs {
		snap := &snapshot{key: sourceKey{c.Name, c.Namespace}, priority: c.Priority}
		if c.Unavailable {
			snap.err = fmt.Errorf("no registry client established for catalogsource %s/%s", c.Namespace, c.Name)
			snap.fault = c.Fault
			if c.Connection != "" { // OLM: pkg/controller/registry/resolver/source_registry.go, Snapshot
				snap.err = errors.New("failed to list bundles: rpc error: code = Unavailable")
				snap.fault = "the last state of its connection is " + c.Connection
			}
		} else {
			snap.addCatalog(c)
		}
		if s.sees(c) {
			w.catalogs = append(w.catalogs, snap)
		} else {
			w.hidden = append(w.hidden, snap)
		}
	}
	return w
}

// Prepared is what the resolver reads of a catalog. Several calls of [Run] may share it, also at the same time.
type Prepared struct {
	catalog *catalog.Catalog
	entries func() []*entry
}

// Prepare has a catalog, which must not change from then on, read once: by the first [Run] that needs it.
func Prepare(c *catalog.Catalog) *Prepared {
	return &Prepared{c, sync.OnceValue(func() []*entry { return entriesOf(c) })}
}

// entriesOf returns the entries in the order in which opm serves them: by channel, package and name (operator-registry:
// pkg/cache/bundle_key.go).
func entriesOf(c *catalog.Catalog) (list []*entry) {
	for _, name := range c.Names() {
		p := c.Packages[name]
		bundles, known := map[string]*catalog.Bundle{}, map[string]*facts{}
		for _, b := range p.Bundles {
			bundles[b.Name], known[b.Name] = b, readFacts(propertiesOf(b, p.Name))
		}
		for _, ch := range p.Channels {
			for _, e := range ch.Entries {
				if b := bundles[e.Name]; b != nil {
					list = append(list, newEntry(p, ch, e, b, known[e.Name]))
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	return list
}

// addCatalog adds the entries of a catalog. What the resolver works out about them is not shared.
func (s *snapshot) addCatalog(c Source) {
	s.unread = len(c.Catalog.AllNames()) > len(c.Catalog.Packages)
	prepared := c.Prepared
	if prepared == nil || prepared.catalog != c.Catalog {
		prepared = Prepare(c.Catalog)
	}
	own := map[*facts]*facts{}
	for _, shared := range prepared.entries() {
		e := *shared
		if own[e.facts] == nil {
			f := *e.facts
			own[e.facts] = &f
		}
		e.source, e.facts = s.key, own[e.facts]
		s.entries = append(s.entries, &e)
	}
	s.index()
}

func (s *snapshot) index() {
	s.byName = lists.Group(s.entries, func(e *entry) string { return e.name })
}

func newEntry(p *catalog.Package, ch *catalog.Channel, e catalog.Entry, b *catalog.Bundle, f *facts) *entry {
	out := &entry{name: e.Name, updates: olm.NewEdges(e.Replaces, e.Skips, e.SkipRange), pkg: p.Name,
		channel: ch.Name, defaultChannel: ch.Name == p.DefaultChannel, facts: f, bundle: b,
		deprecations: Deprecation{Package: p.Deprecated(olm.PropertyPackage, ""),
			Channel: p.Deprecated(olm.SchemaChannel, ch.Name), Bundle: p.Deprecated(olm.SchemaBundle, e.Name)}}
	if len(f.packages) > 0 {
		out.version = f.packages[0].version
	}
	return out
}

// sorted returns the catalogs and what is installed as OLM prefers them (OLM: cache/cache.go, sortableSnapshots.Less).
func (w *namespaceCatalogs) sorted(installed *snapshot, preferred sourceKey) []*snapshot {
	list := append([]*snapshot{installed}, w.catalogs...)
	slices.SortStableFunc(list, func(a, b *snapshot) int {
		return cmp.Or(lists.TrueFirst(a == installed, b == installed),
			lists.TrueFirst(a.key == preferred, b.key == preferred), cmp.Compare(b.priority, a.priority),
			lists.TrueFirst(a.key.namespace == w.namespace, b.key.namespace == w.namespace),
			cmp.Compare(a.key.name, b.key.name))
	})
	return list
}

// of returns the entries of a catalog. The empty key means all catalogs.
func (w *namespaceCatalogs) of(installed *snapshot, key sourceKey) []*entry {
	if key == (sourceKey{}) {
		return slices.Concat(lists.Map(w.sorted(installed, key), func(s *snapshot) []*entry { return s.entries })...)
	}
	if s := lists.Find(w.catalogs, func(s *snapshot) bool { return s.key == key }); s != nil {
		return s.entries
	}
	return nil
}

// only returns the one entry with a name and channel, or nil and how many there are.
func (w *namespaceCatalogs) only(installed *snapshot, e *entry) (*entry, int) {
	var found []*entry
	for _, s := range append([]*snapshot{installed}, w.catalogs...) {
		if s.key == e.source {
			same := func(other *entry) bool { return other.channel == e.channel }
			found = append(found, lists.Filter(s.byName[e.name], same)...)
		}
	}
	if len(found) != 1 {
		return nil, len(found)
	}
	return found[0], 1
}
