package catalog

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/olm"
)

// NoReleaseError is about a text that is neither a version nor the name of a release of a package.
type NoReleaseError struct{ Text string }

func (e *NoReleaseError) Error() string {
	return e.Text + " is neither a version nor the name of a bundle in the catalog"
}

// ChooseInstalled is Choose for a release that is installed. If the catalog, or the channel, no longer has it,
// withdrawn is true, and the Bundle has nothing but its name and its version, if that is known. The error is that of
// Choose, or a *NoReleaseError.
func (c *Catalog) ChooseInstalled(pkg, channel, version string) (choice Choice, withdrawn bool, err error) {
	choice, err = c.Choose(pkg, channel, version)
	if err == nil || version == "" {
		return choice, false, err
	}
	p, noPackage := c.onlyPackage(pkg)
	if noPackage != nil || len(p.faults) > 0 {
		return choice, false, err
	}
	ch, noChannel := p.ChannelOrDefault(channel)
	if noChannel != nil {
		return choice, false, err
	}
	name, v, noRelease := p.Installed(version)
	switch {
	case noRelease != nil:
		return choice, false, noRelease
	case ch.Entry(name) != nil: // several bundles have this version
		return choice, false, err
	}
	b := &Bundle{Name: name}
	if v != nil {
		b.Properties = []Property{PropertyOf(PackageProperty{PackageName: p.Name, Version: v.String()})}
	}
	return Choice{p, ch, b}, true, nil
}

// Installed returns the name and the version of a release that is installed: which is its version, or the name of its
// ClusterServiceVersion. A catalog may have withdrawn it: then an entry still replaces or skips its name, or has its
// version in skipRange. The version of a name that is no bundle of the catalog is the one in the name; nil if it has
// none. The error is a *NoReleaseError.
func (p *Package) Installed(which string) (name string, version *semver.Version, err error) {
	given, parseErr := semver.ParseTolerant(which)
	is := func(name string, v *semver.Version) bool {
		return name == which || v != nil && parseErr == nil && v.String() == strings.TrimPrefix(which, "v")
	}
	bundles := p.Bundles
	if b := p.Bundle(which); b != nil && parseErr != nil { // no other has this name
		bundles = []*Bundle{b}
	}
	for _, b := range bundles {
		if v, ok := b.Version(); ok && is(b.Name, &v) {
			return b.Name, &v, nil
		}
	}
	for _, c := range p.Channels {
		for _, e := range c.Entries {
			for _, older := range append([]string{e.Replaces}, e.Skips...) {
				if v := olm.NameVersion(older); older != "" && p.Bundle(older) == nil && is(older, v) {
					return older, v, nil
				}
			}
		}
	}
	if parseErr != nil {
		if v := olm.NameVersion(which); v != nil && p.names(olm.BaseName(which, "")) {
			return which, v, nil
		}
		return "", nil, &NoReleaseError{which}
	}
	return p.Name + ".v" + given.String(), &given, nil
}

// names reports whether the name of a bundle of the package, or of one that entries name, is a base and a version.
func (p *Package) names(base string) bool {
	is := func(name string) bool { return olm.BaseName(name, "") == base }
	return slices.ContainsFunc(p.Bundles, func(b *Bundle) bool { return is(b.Name) }) ||
		slices.ContainsFunc(p.Channels, func(c *Channel) bool {
			return slices.ContainsFunc(c.Entries, func(e Entry) bool { return is(e.Name) || is(e.Replaces) })
		})
}
