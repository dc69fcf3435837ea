package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
)

// random makes catalogs and namespaces by chance. The same seed makes the same case.
type random struct {
	*rand.Rand
	names []string // of the packages
	needs float64  // how likely a bundle requires something
}

// randomPuzzle returns the case of a seed.
func randomPuzzle(seed uint64) *puzzle {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 0))}
	r.names = []string{"a", "b", "c", "d", "e"}[:2+r.weighted(2, 5, 4, 1)]
	r.needs = pick(r, 0.05, 0.1, 0.2, 0.3, 0.6)
	p := &puzzle{catalogs: map[string]*fbc{"cat": r.catalog(1)}}
	p.question = r.question(seed, p.catalogs)
	return p
}

// is returns true with some probability.
func (r *random) is(probability float64) bool { return r.Float64() < probability }

// weighted returns the index of one of some weights.
func (r *random) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

func pick[T any](r *random, list ...T) T { return list[r.IntN(len(list))] }

// catalog returns a catalog that has each package with some probability.
func (r *random) catalog(has float64) *fbc {
	c := &fbc{}
	for _, name := range r.names {
		if r.is(has) {
			c.Packages = append(c.Packages, r.pkg(name))
		}
	}
	if len(c.Packages) == 0 {
		c.Packages = append(c.Packages, r.pkg(r.names[0]))
	}
	return c
}

func (r *random) pkg(name string) *pkg {
	p := &pkg{Name: name}
	for _, v := range r.versions() {
		p.Bundles = append(p.Bundles, r.bundle(name, v))
	}
	sets := [][]string{{"stable"}, {"stable", "beta"}, {"alpha", "stable"}, {"stable", "beta", "alpha"}}
	channels := sets[r.weighted(6, 3, 1, 1)]
	used := map[string]bool{}
	for i, ch := range channels {
		members := p.Bundles
		if i > 0 {
			members = r.some(p.Bundles)
		} else if len(channels) > 1 && len(members) > 1 && r.is(0.5) {
			members = members[:len(members)-1-r.IntN(len(members)-1)]
		}
		for _, b := range members {
			used[b.Name] = true
		}
		p.Channels = append(p.Channels, &channel{Name: ch, Entries: r.entries(members)})
	}
	// opm refuses bundles in no channel.
	p.Bundles = slices.DeleteFunc(p.Bundles, func(b *bundle) bool { return !used[b.Name] })
	p.DefaultChannel = pick(r, channels...)
	p.Deprecations = r.deprecations(p)
	return p
}

// versions returns versions, the oldest first.
func (r *random) versions() []string {
	list, major, minor := []string{}, 1, 0
	for range 1 + r.weighted(2, 3, 4, 3, 2, 1) {
		patch := 0
		if r.is(0.1) {
			patch = 1 + r.IntN(3)
		}
		v := fmt.Sprintf("%d.%d.%d", major, minor, patch)
		switch r.weighted(20, 1, 1) {
		case 1:
			v += "-rc.1"
		case 2:
			v += "+build.1"
		}
		list = append(list, v)
		if minor++; r.is(0.3) {
			major, minor = major+1, 0
		}
	}
	return list
}

func (r *random) some(list []*bundle) []*bundle {
	out := []*bundle{pick(r, list...)}
	for _, b := range list {
		if b != out[0] && r.is(0.6) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *bundle) int { return slices.Index(list, a) - slices.Index(list, b) })
	return out
}

// entries returns the graph of a channel, the head first. The bundles come from the oldest to the newest.
func (r *random) entries(bundles []*bundle) []catalog.Entry {
	bundles = slices.Clone(bundles)
	if r.is(0.05) { // versions play no part in the order
		r.Shuffle(len(bundles), func(i, j int) { bundles[i], bundles[j] = bundles[j], bundles[i] })
	}
	var list []catalog.Entry
	for _, bundle := range slices.Backward(bundles) {
		list = append(list, catalog.Entry{Name: bundle.Name})
	}
	// Each entry is replaced or skipped by a newer one, as opm demands.
	skipped := map[int]bool{}
	for i := 0; i+1 < len(list); i++ {
		if skipped[i] {
			if r.is(0.7) {
				list[i].Replaces = list[i+1].Name
			}
			continue
		}
		next := i + 1
		for next < len(list) && r.is(0.2) {
			list[i].Skips = append(list[i].Skips, list[next].Name)
			skipped[next] = true
			next++
		}
		if next < len(list) {
			list[i].Replaces = list[next].Name
		}
	}
	if last := len(list) - 1; r.is(0.1) && list[last].Replaces == "" {
		list[last].Replaces = pick(r, "gone.v0.9.0", "a.v0.9.0")
	}
	for i := range list {
		if r.is(0.05) && list[i].Replaces != "" && !slices.Contains(list[i].Skips, list[i].Replaces) {
			list[i].Skips = append(list[i].Skips, "gone.v0.1.0")
		}
		if r.is(0.2) {
			list[i].SkipRange = r.skipRange(versionOf(list[i].Name))
		}
	}
	return list
}

func versionOf(csv string) string {
	_, v, _ := strings.Cut(csv, ".v")
	return v
}

func (r *random) skipRange(v string) string {
	switch r.weighted(6, 3, 2, 1, 1) {
	case 0:
		return "<" + v
	case 1:
		return ">=1.0.0 <" + v
	case 2:
		return ">=1.0.0 <=" + v
	case 3:
		return ">=" + v + " <9.0.0" // downwards
	}
	return pick(r, ">=1.0.0 <1.1.0 || >=2.0.0", ">1.0.0 !1.2.0", "1.x")
}

func (r *random) deprecations(p *pkg) []deprecation {
	var list []deprecation
	if r.is(0.85) {
		return nil
	}
	if r.is(0.5) {
		list = append(list, deprecation{reference{"olm.package", ""}, "package " + p.Name + " is deprecated"})
	}
	for _, c := range p.Channels {
		if r.is(0.4) {
			list = append(list, deprecation{reference{"olm.channel", c.Name}, "channel " + c.Name + " is deprecated"})
		}
	}
	for _, b := range p.Bundles {
		if r.is(0.4) {
			list = append(list, deprecation{reference{"olm.bundle", b.Name}, b.Name + " is deprecated"})
		}
	}
	return list
}
