package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// semverTemplate is the content of an olm.semver (operator-registry: alpha/template/semver/semver.go).
type semverTemplate struct {
	Schema                       string
	GenerateMajorChannels        bool
	GenerateMinorChannels        bool
	DefaultChannelTypePreference string
	Candidate, Fast, Stable      struct{ Bundles []struct{ Image string } }
}

// The kinds of the channels of a semverTemplate.
const (
	kindMajor = "major"
	kindMinor = "minor"
)

// semverChannel is a channel of a semverTemplate, with what its rank as the default channel follows from.
type semverChannel struct {
	name   string
	stage  int
	lowest semver.Version
	kind   string
}

// semver makes the channels of the images of an olm.semver.
func (t *template) semver(s *semverTemplate) (*Package, error) {
	s.GenerateMinorChannels = s.GenerateMinorChannels || !s.GenerateMajorChannels
	kinds := []string{kindMajor, kindMinor}
	switch {
	case !s.GenerateMinorChannels:
		kinds = kinds[:1]
	case !s.GenerateMajorChannels:
		kinds = kinds[1:]
	}
	prefer := cmp.Or(s.DefaultChannelTypePreference, kinds[len(kinds)-1])
	if !slices.Contains(kinds, prefer) {
		return nil, fmt.Errorf("defaultChannelTypePreference is %q, and the template makes %s channels: opm refuses it",
			prefer, strings.Join(kinds, " and "))
	}
	p := &Package{Place: t.place(), Declared: true}
	if len(t.known) > 0 {
		p.Name = t.known[0].Name
	}
	var channels []semverChannel
	for stage, of := range []struct{ Bundles []struct{ Image string } }{s.Candidate, s.Fast, s.Stable} {
		bundles := map[string]*Bundle{}
		var versions []semver.Version
		for _, image := range of.Bundles {
			b := t.imaged(image.Image)
			if b == nil {
				return nil, p.unknown(image.Image)
			}
			v, ok := b.Version()
			if !ok || bundles[keyOf(v)] != nil {
				return nil, fmt.Errorf("the version of %s cannot be ordered among the others", b.Name)
			}
			bundles[keyOf(v)], versions = b, append(versions, v)
			if p.Bundle(b.Name) == nil {
				p.add(b)
			}
		}
		slices.SortFunc(versions, func(a, b semver.Version) int { return a.Compare(b) })
		prefix := []string{"candidate", "fast", "stable"}[stage]
		for _, kind := range kinds {
			for name, lowest := range p.link(t.place(), prefix, kind, versions, bundles) {
				channels = append(channels, semverChannel{name, stage, lowest, kind})
			}
		}
	}
	if len(channels) == 0 {
		return nil, errors.New("it names no bundle")
	}
	p.DefaultChannel = slices.MaxFunc(channels, func(a, b semverChannel) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), a.lowest.Compare(b.lowest),
			lists.TrueFirst(b.kind == prefer, a.kind == prefer))
	}).name
	slices.SortFunc(p.Channels, func(a, b *Channel) int { return cmp.Compare(a.Name, b.Name) })
	return p, nil
}

// keyOf returns a version without its build metadata, which cannot be ordered.
func keyOf(v semver.Version) string {
	v.Build = nil
	return v.String()
}

// link adds the channels of a kind, and returns the lowest version of each. The highest release of each minor version
// replaces that of the minor version before it, and skips all others below it in its major version.
func (p *Package) link(at Place, prefix, kind string, versions []semver.Version,
	bundles map[string]*Bundle) map[string]semver.Version {
	channels, lowest := map[string]*Channel{}, map[string]semver.Version{}
	var below []string
	replaces := ""
	for i, v := range versions {
		if i > 0 && v.Major != versions[i-1].Major {
			below, replaces = nil, ""
		} else if i > 0 && v.Minor != versions[i-1].Minor {
			replaces = bundles[keyOf(versions[i-1])].Name
		}
		name := fmt.Sprintf("%s-v%d", prefix, v.Major)
		if kind == kindMinor {
			name += fmt.Sprintf(".%d", v.Minor)
		}
		ch := channels[name]
		if ch == nil {
			ch = &Channel{Place: at, Name: name}
			channels[name], lowest[name] = ch, v
		}
		e := Entry{Place: at, Name: bundles[keyOf(v)].Name}
		if i+1 == len(versions) || minor(versions[i+1]) != minor(v) {
			e.Replaces = replaces
			e.Skips = lists.Filter(below, func(name string) bool { return name != replaces })
			slices.Sort(e.Skips)
		}
		ch.add(e)
		below = append(below, e.Name)
	}
	p.Channels = slices.AppendSeq(p.Channels, maps.Values(channels))
	return lowest
}
