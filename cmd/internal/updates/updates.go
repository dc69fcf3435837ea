// Package updates draws the update graph of a package: its channels, and which release updates which.
package updates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Graph is the update graph of a package.
type Graph struct {
	Package    string
	Deprecated string // why the package is deprecated
	Lanes      []Lane // its channels: the default channel first, then by name, the highest number first
}

// Lane is a channel.
type Lane struct {
	Name       string
	Default    bool
	Deprecated string // why the channel is deprecated
	Nodes      []Node // the newest first
	Edges      []Edge
	Hidden     int // entries whose edges of skipRange are left out, because there are too many

	pkg   *catalog.Package
	index map[string]int // of the nodes, by name
}

// Node is an entry of a channel.
type Node struct {
	Name       string // of the ClusterServiceVersion
	Label      string // its version, or the name
	Head       bool
	Deprecated string // why the release is deprecated
	Outside    bool   // not in the channel: what an entry replaces, or what is installed
	Missing    bool   // in the channel, and the catalog has no such bundle
	SkipRange  string
	OnPath     bool

	version *semver.Version
}

// Path is the kind of an edge that is a step of OLM. The others are those of a catalog.
const Path catalog.EdgeKind = "path"

// Edge leads from an older entry to the one that updates it: indices of nodes. Label is the field that makes a step.
type Edge struct {
	From, To int
	Kind     catalog.EdgeKind
	Label    string
}

// Options say what is drawn.
type Options struct {
	Channel string // only this one
	From    string // a version or name: the path that OLM takes from it
}

// maxRanges is the number of entries with edges of skipRange in one channel. Of more entries, only the edges of heads
// are drawn, and of no more than maxRanges heads.
const maxRanges = 3

// NewGraph returns the update graph of a package.
func NewGraph(p *catalog.Package, o Options) (*Graph, error) {
	g := &Graph{Package: p.Name, Deprecated: deprecation(p, olm.PropertyPackage, "")}
	names := lists.Map(p.Channels, func(ch *catalog.Channel) string { return ch.Name })
	channels := lists.Filter(p.Channels,
		func(ch *catalog.Channel) bool { return o.Channel == "" || ch.Name == o.Channel })
	if len(names) == 0 {
		return nil, fmt.Errorf("package %s has no channels", p.Name)
	}
	if len(channels) == 0 {
		err := fmt.Errorf("package %s has no channel %s; there are %s", p.Name, o.Channel, text.FirstOf(20, names))
		if hint := text.DidYouMean(o.Channel, names); hint != "" {
			return nil, manifest.WithHint(err, hint)
		}
		return nil, err
	}
	slices.SortStableFunc(channels, func(a, b *catalog.Channel) int {
		return cmp.Or(lists.TrueFirst(a.Name == p.DefaultChannel, b.Name == p.DefaultChannel),
			compareNatural(b.Name, a.Name))
	})
	found := o.From == ""
	for _, ch := range channels {
		l := laneOf(p, ch)
		if o.From != "" {
			ok, err := l.walk(o.From)
			if err != nil {
				return nil, err
			}
			found = found || ok
		}
		l.edges()
		g.Lanes = append(g.Lanes, l)
	}
	if !found {
		return nil, fmt.Errorf("package %s: no channel that is drawn has %s, or an update of it", p.Name, o.From)
	}
	return g, nil
}

func deprecation(p *catalog.Package, schema, name string) string {
	return text.OneLine(p.Deprecated(schema, name))
}

// compareNatural compares names with numbers in them by the numbers: stable-3.9 is before stable-3.10.
func compareNatural(a, b string) int {
	const digits = "0123456789"
	for a != "" && b != "" {
		c := cmp.Compare(a[0], b[0])
		restA, restB := strings.TrimLeft(a, digits), strings.TrimLeft(b, digits)
		if len(restA) < len(a) && len(restB) < len(b) {
			x, y := strings.TrimLeft(a[:len(a)-len(restA)], "0"), strings.TrimLeft(b[:len(b)-len(restB)], "0")
			c = cmp.Or(len(x)-len(y), strings.Compare(x, y))
		} else {
			restA, restB = a[1:], b[1:]
		}
		if c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

// laneOf puts the entries of a channel in order: each before those that it replaces or skips, else the highest first.
func laneOf(p *catalog.Package, ch *catalog.Channel) Lane {
	l := Lane{pkg: p, index: map[string]int{}, Name: ch.Name, Default: ch.Name == p.DefaultChannel,
		Deprecated: deprecation(p, olm.SchemaChannel, ch.Name)}
	heads := lists.Set(ch.Heads(), func(h *catalog.Entry) string { return h.Name })
	entries := map[string]*catalog.Entry{}
	var nodes []Node
	for i := range ch.Entries {
		e := &ch.Entries[i]
		if entries[e.Name] != nil {
			continue
		}
		entries[e.Name] = e
		n := nodeOf(p, e.Name)
		n.SkipRange, n.Head = text.OneLine(e.SkipRange), heads[e.Name]
		nodes = append(nodes, n)
	}
	slices.SortStableFunc(nodes, Node.compare)
	place := map[string]int{}
	for i, n := range nodes {
		place[n.Name] = i
	}
	order, _ := lists.Order(len(nodes), func(i int) (older []int) {
		e := entries[nodes[i].Name]
		for _, name := range append([]string{e.Replaces}, e.Skips...) {
			if j, ok := place[name]; ok && name != "" {
				older = append(older, j)
			}
		}
		return older
	})
	for _, i := range order {
		l.index[nodes[i].Name] = len(l.Nodes)
		l.Nodes = append(l.Nodes, nodes[i])
	}
	for _, n := range l.Nodes { // a name that the channel does not have is drawn if it is replaced
		e, to, from := entries[n.Name], l.at(n.Name), -1
		if e.Replaces != "" && e.Replaces != e.Name {
			from = l.at(e.Replaces)
			l.Edges = append(l.Edges, Edge{From: from, To: to, Kind: catalog.Replaces})
		}
		var skipped []int
		for _, name := range e.Skips {
			if i, ok := l.index[name]; ok && i != from && i != to && !l.Nodes[i].Outside {
				skipped = append(skipped, i)
			}
		}
		l.Edges = append(l.Edges, lists.Map(lists.SortedUnique(skipped), func(i int) Edge {
			return Edge{From: i, To: to, Kind: catalog.Skips}
		})...)
	}
	return l
}

func nodeOf(p *catalog.Package, name string) Node {
	n := Node{Name: name, Label: name, Deprecated: deprecation(p, olm.SchemaBundle, name)}
	if v := olm.NameVersion(name); v != nil {
		n.Label = v.String()
	}
	b := p.Bundle(name)
	if b == nil {
		n.Missing = true
		return n
	}
	if v, ok := b.Version(); ok {
		n.version, n.Label = &v, v.String()
	}
	if b.Deprecated() && n.Deprecated == "" {
		n.Deprecated = "has the property olm.deprecated: OLM does not install it"
	}
	return n
}

// compare puts the nodes with the highest version first, and those without a version last.
func (n Node) compare(other Node) int {
	if n.version != nil && other.version != nil {
		return cmp.Or(other.version.Compare(*n.version), cmp.Compare(other.Name, n.Name))
	}
	return cmp.Or(lists.TrueFirst(n.version != nil, other.version != nil), compareNatural(other.Name, n.Name))
}

// at returns the index of a node. One that the channel does not have becomes a node outside of it.
func (l *Lane) at(name string) int {
	if i, ok := l.index[name]; ok {
		return i
	}
	n := nodeOf(l.pkg, name)
	n.Outside, n.Missing = true, false
	l.index[name] = len(l.Nodes)
	l.Nodes = append(l.Nodes, n)
	return len(l.Nodes) - 1
}

// walk adds the path that OLM takes from a version. It is not ok if the channel neither has the version nor updates it.
func (l *Lane) walk(from string) (ok bool, err error) {
	alone := &catalog.Catalog{Packages: map[string]*catalog.Package{l.pkg.Name: l.pkg}}
	path, err := resolve.PathOf(alone, l.pkg.Name, l.Name, from, "")
	if err != nil {
		return false, err
	}
	in := slices.ContainsFunc(l.Nodes, func(n Node) bool { return n.Name == path.From && !n.Outside })
	if !in && len(path.Steps) == 0 {
		return false, nil
	}
	start := l.at(path.From)
	l.Nodes[start].OnPath = true
	for _, s := range path.Steps {
		a, b := l.at(s.From), l.at(s.To)
		l.Nodes[b].OnPath = true
		l.Edges = slices.DeleteFunc(l.Edges, func(e Edge) bool { return e.From == a && e.To == b })
		l.Edges = append(l.Edges, Edge{From: a, To: b, Kind: Path, Label: s.Edge})
	}
	return true, nil
}

// edges adds the edges of skipRange: to entries that nothing else of the entry updates.
func (l *Lane) edges() {
	known := lists.Set(l.Edges, func(e Edge) [2]int { return [2]int{e.From, e.To} })
	var ranged, heads []int
	for i, n := range l.Nodes {
		if n.SkipRange == "" || n.Outside || olm.NewEdges("", nil, n.SkipRange).Range == nil {
			continue
		}
		ranged = append(ranged, i)
		if n.Head && len(heads) < maxRanges {
			heads = append(heads, i)
		}
	}
	if len(ranged) > maxRanges {
		l.Hidden, ranged = len(ranged)-len(heads), heads
	}
	for _, i := range ranged {
		byRange := olm.NewEdges("", nil, l.Nodes[i].SkipRange)
		for j, old := range l.Nodes {
			if j != i && !known[[2]int{j, i}] && byRange.Field("", old.version) != "" {
				l.Edges = append(l.Edges, Edge{From: j, To: i, Kind: catalog.SkipRange})
			}
		}
	}
}

func (n Node) tooltip() string {
	lines := []string{n.Name}
	switch {
	case n.Outside:
		lines = append(lines, "not in this channel")
	case n.Missing:
		lines = append(lines, "the catalog has no such bundle")
	}
	if n.Head {
		lines = append(lines, "head of the channel")
	}
	if n.SkipRange != "" {
		lines = append(lines, "skipRange "+n.SkipRange)
	}
	if n.Deprecated != "" {
		lines = append(lines, "deprecated: "+n.Deprecated)
	}
	return strings.Join(lines, "\n")
}

func (l Lane) title() string {
	switch {
	case l.Default && l.Deprecated != "":
		return l.Name + " (default, deprecated)"
	case l.Default:
		return l.Name + " (default)"
	case l.Deprecated != "":
		return l.Name + " (deprecated)"
	}
	return l.Name
}
