package catalog

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
)

// Installed returns the name and the version of a release that is installed: which is its version, or the name of its
// ClusterServiceVersion. A catalog may have withdrawn it: then an entry still replaces or skips its name, or has its
// version in skipRange. The version of a name that only entries name is the one in the name; nil if it has none.
func (p *Package) Installed(which string) (name string, version *semver.Version, err error) {
	given, parseErr := semver.ParseTolerant(which)
	is := func(name string, v *semver.Version) bool {
		return name == which || v != nil && parseErr == nil && v.String() == strings.TrimPrefix(which, "v")
	}
	for _, b := range p.Bundles {
		if v, ok := b.Version(); ok && is(b.Name, &v) {
			return b.Name, &v, nil
		}
	}
	for _, c := range p.Channels {
		for _, e := range c.Entries {
			for _, older := range append([]string{e.Replaces}, e.Skips...) {
				if v := versionIn(older); older != "" && p.Bundle(older) == nil && is(older, v) {
					return older, v, nil
				}
			}
		}
	}
	if parseErr != nil {
		return "", nil, fmt.Errorf("%s is neither a version nor the name of a bundle in the catalog", which)
	}
	return p.Name + ".v" + given.String(), &given, nil
}

// versionIn returns the version in the name of a ClusterServiceVersion, or nil.
func versionIn(name string) *semver.Version {
	text := strings.TrimPrefix(strings.TrimPrefix(name, bundle.BaseName(name, "")), ".")
	v, err := semver.ParseTolerant(strings.TrimLeft(text, "-v"))
	if err != nil {
		return nil
	}
	return &v
}
