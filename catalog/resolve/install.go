package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// Install adds a Subscription, as a person would create it: PACKAGE[@RANGE][:CHANNEL]. Its catalog is the first that
// has the package, in OLM's order of preference. A range chooses startingCSV: the entry nearest the head whose
// version is in the range.
func (s *State) Install(what string) error {
	pkg, channel, _ := strings.Cut(what, ":")
	pkg, versions, ranged := strings.Cut(pkg, "@")
	if pkg == "" {
		return fmt.Errorf("%q names no package", what)
	}
	if slices.ContainsFunc(s.Subscriptions, func(o Subscription) bool { return o.Name == pkg || o.Package == pkg }) {
		return fmt.Errorf("namespace %s has a Subscription for package %s already", s.Namespace, pkg)
	}
	served := s.clone() // a catalog that opm refuses still says what its packages are
	served.Catalogs = slices.Clone(s.Catalogs)
	for i := range served.Catalogs {
		served.Catalogs[i].Unavailable = served.Catalogs[i].Catalog == nil
	}
	w := newNamespaceCatalogs(served)
	entries, err := w.find(pkg, channel)
	if err != nil {
		return err
	}
	sub := Subscription{Name: pkg, Package: pkg, Channel: channel, Source: entries[0].source.name,
		SourceNamespace: entries[0].source.namespace}
	if channel == "" {
		for _, e := range entries {
			if e.defaultChannel {
				sub.Channel = e.channel // as the consoles of clusters write it
			}
		}
	}
	if ranged {
		if sub.StartingCSV, err = startingCSV(entries, sub.Channel, versions); err != nil {
			return fmt.Errorf("package %s: %w", pkg, err)
		}
	}
	s.Subscriptions = append(s.Subscriptions, sub)
	return nil
}

// find returns the entries of a package in the preferred catalog that has it.
func (w *namespaceCatalogs) find(pkg, channel string) ([]*entry, error) {
	var all, known []string
	for _, c := range w.sorted(&snapshot{}, sourceKey{}) {
		entries := lists.Filter(c.entries, func(e *entry) bool { return e.pkg == pkg })
		for _, e := range c.entries {
			all = lists.Add(all, e.pkg)
		}
		if len(entries) == 0 {
			continue
		}
		if channel != "" && !slices.ContainsFunc(entries, func(e *entry) bool { return e.channel == channel }) {
			for _, e := range entries {
				known = lists.Add(known, e.channel)
			}
			continue
		}
		return entries, nil
	}
	if len(known) > 0 {
		return nil, fmt.Errorf("package %s has no channel %s; there are %s", pkg, channel, text.FirstOf(10, known))
	}
	err := fmt.Errorf("no catalog that namespace %s sees has package %s", w.namespace, pkg)
	if hint := text.DidYouMean(pkg, all); hint != "" {
		return nil, manifest.WithHint(err, hint)
	}
	return nil, err
}

func startingCSV(entries []*entry, channel, versions string) (string, error) {
	r, err := semver.ParseRange(versions)
	if err != nil {
		return "", err
	}
	sorted, err := sortSubscribed(lists.Filter(entries, func(e *entry) bool {
		return channel == "" || e.channel == channel
	}))
	if err != nil {
		return "", err
	}
	var known []string
	for _, e := range sorted {
		if e.version == nil {
			continue
		}
		if r(*e.version) {
			return e.name, nil
		}
		known = append(known, e.version.String())
	}
	if len(known) == 0 {
		return "", errors.New("no entry has a version")
	}
	return "", fmt.Errorf("no version of channel %s is in the range %s; there are %s", channel, versions,
		text.FirstOf(10, known))
}
