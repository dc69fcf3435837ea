package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// sortChannel returns the entries of one channel from the head along replaces, without those that are skipped (OLM:
// resolver.go, sortChannel). Versions play no part.
func sortChannel(entries []*entry) ([]*entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	where := fmt.Sprintf("channel %q of package %q", entries[0].channel, entries[0].pkg)
	list, err := chains(entries, where)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("no channel heads (entries not replaced by another entry) found in %s", where)
	case len(list) == 1:
		return list[0], nil
	}
	texts := make([]string, len(list))
	for i, c := range list {
		switch len(c) {
		case 0:
			texts[i] = "[]"
		case 1:
			texts[i] = c[0].name
		default:
			texts[i] = c[0].name + "..." + c[len(c)-1].name
		}
	}
	return nil, fmt.Errorf("a unique replacement chain within a channel is required to determine the relative order "+
		"between channel entries, but %d replacement chains were found in %s: %s", len(list), where,
		strings.Join(texts, ", "))
}

// chains returns the entries from each head along replaces, without those that are skipped.
func chains(entries []*entry, where string) ([][]*entry, error) {
	byName := lists.By(entries, func(e *entry) string { return e.name })
	updated, next, skipped := map[*entry]bool{}, map[*entry]*entry{}, map[string]bool{}
	for _, e := range entries {
		if e.updates.Replaces != "" {
			old := byName[e.updates.Replaces]
			updated[old], next[e] = true, old
		}
		for _, s := range e.updates.Skips {
			if old := byName[s]; old != nil {
				updated[old] = true
				skipped[s] = true
			}
		}
	}
	var out [][]*entry
	for _, head := range entries {
		if updated[head] {
			continue
		}
		var chain []*entry
		seen := map[*entry]bool{}
		for at := head; at != nil; at = next[at] {
			if seen[at] {
				return nil, fmt.Errorf("a cycle exists in the chain of replacement beginning with %q in %s",
					head.name, where)
			}
			seen[at] = true
			if !skipped[at.name] {
				chain = append(chain, at)
			}
		}
		out = append(out, chain)
	}
	return out, nil
}

// sortProviders returns entries of several catalogs in the order in which OLM prefers them as dependencies: by catalog,
// default channels of all packages first, then by package, channel and from the head down (OLM: resolver.go,
// sortBundles). The entries come sorted by catalog.
func sortProviders(entries []*entry) ([]*entry, error) {
	type group struct {
		source       sourceKey
		pkg, channel string
		isDefault    bool
	}
	catalogs := map[sourceKey]int{}
	for _, e := range entries {
		if _, ok := catalogs[e.source]; !ok {
			catalogs[e.source] = len(catalogs)
		}
	}
	groups := lists.Groups(entries, func(e *entry) group {
		return group{e.source, e.pkg, e.channel, e.defaultChannel}
	})
	slices.SortStableFunc(groups, func(x, y []*entry) int {
		a, b := x[0], y[0]
		return cmp.Or(cmp.Compare(catalogs[a.source], catalogs[b.source]),
			lists.TrueFirst(a.defaultChannel, b.defaultChannel), cmp.Compare(a.pkg, b.pkg),
			cmp.Compare(a.channel, b.channel))
	})
	return sortChannels(groups)
}

// sortChannels is sortChannel of one channel after the other.
func sortChannels(channels [][]*entry) (all []*entry, err error) {
	for _, ch := range channels {
		sorted, err := sortChannel(ch)
		if err != nil {
			return nil, err
		}
		all = append(all, sorted...)
	}
	return all, nil
}
