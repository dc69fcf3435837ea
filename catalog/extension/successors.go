package extension

import (
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
)

// successors finds the bundles that may follow what is installed (spec v1-resolver 2; operator-controller:
// internal/operator-controller/catalogmetadata/filter/successors.go).
type successors struct {
	installed Installed
	plain     semver.Version // of the installed bundle, with its build metadata
	exact     Version
	entries   map[string][]channelEntry
}

type channelEntry struct {
	channel string
	*catalog.Entry
}

func newSuccessors(installed Installed, channels []*catalog.Channel) (*successors, error) {
	exact, err := parseVersion(installed.Version)
	if err != nil {
		return nil, fmt.Errorf("failed to get version and release of installed bundle: %w", err)
	}
	plain, err := semver.Parse(installed.Version)
	if err != nil {
		return nil, err
	}
	s := &successors{installed, plain, exact, map[string][]channelEntry{}}
	for _, c := range channels {
		for i := range c.Entries {
			e := &c.Entries[i]
			s.entries[e.Name] = append(s.entries[e.Name], channelEntry{c.Name, e})
		}
	}
	return s, nil
}

// edge returns why a bundle may follow what is installed: an entry of any channel that counts replaces it, skips it
// or has its version in skipRange, or the bundle has the same version and release.
func (s *successors) edge(c *candidate) (Edge, bool) {
	for _, e := range s.entries[c.Name] {
		switch kind := e.Updates(s.installed.Name, &s.plain); kind {
		case catalog.Replaces, catalog.Skips:
			return Edge{e.channel, kind, string(kind) + " " + s.installed.Name}, true
		case catalog.SkipRange:
			return Edge{e.channel, kind,
				fmt.Sprintf("skipRange contains %s, the version of %s", s.installed.Version,
					s.installed.Name)}, true
		}
	}
	if c.broken == nil && c.version.Compare(s.exact) == 0 {
		return Edge{Kind: Same, Text: "it has the version and release of " + s.installed.Name}, true
	}
	return Edge{}, false
}
