package olm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lazy"
)

// versionSuffixes end the name of a ClusterServiceVersion. The first one that matches is the version.
var versionSuffixes = []func() *regexp.Regexp{
	lazy.Regexp(`\.v[0-9]+(\.[0-9]+)+([.+-].*)?$`),
	lazy.Regexp(`[.-]v?[0-9]+(\.[0-9]+)+([.+-].*)?$`),
}

// numberSuffix ends names such as boat.v9. Names of rendered objects, whose version is known, keep it.
var numberSuffix = lazy.Regexp(`\.v[0-9]+$`)

// BaseName returns the name of a ClusterServiceVersion without its version: memcached-operator.v0.0.1 is
// memcached-operator. It does not change from one release of an operator to the next. version is the one that the
// ClusterServiceVersion says; it may be empty.
func BaseName(csv, version string) string {
	for _, sep := range []string{".v", "-v", ".", "-"} {
		if base, ok := strings.CutSuffix(csv, sep+version); ok && version != "" && base != "" {
			return base
		}
	}
	suffixes := versionSuffixes
	if version == "" {
		suffixes = append(slices.Clip(suffixes), numberSuffix)
	}
	for _, suffix := range suffixes {
		if i := suffix().FindStringIndex(csv); i != nil && i[0] > 0 {
			return csv[:i[0]]
		}
	}
	return csv
}

// NameVersion returns the version in the name of a ClusterServiceVersion, or nil.
func NameVersion(csv string) *semver.Version {
	v, err := semver.ParseTolerant(strings.TrimLeft(strings.TrimPrefix(csv, BaseName(csv, "")), ".-v"))
	if err != nil {
		return nil
	}
	return &v
}

// Edges are what an entry of a channel updates.
type Edges struct {
	Replaces string
	Skips    []string
	Range    semver.Range // of skipRange; nil if there is none
}

// The fields of an entry that make it an update of another.
const (
	FieldReplaces  = "replaces"
	FieldSkips     = "skips"
	FieldSkipRange = "skipRange"
)

// NewEdges returns the edges of the three fields. A skipRange that cannot be read covers nothing (OLM:
// pkg/controller/registry/resolver/source_registry.go, newOperatorFromBundle).
func NewEdges(replaces string, skips []string, skipRange string) Edges {
	e := Edges{Replaces: replaces, Skips: skips}
	if covers, err := semver.ParseRange(skipRange); err == nil {
		e.Range = covers
	}
	return e
}

// Field returns the field by which an entry updates a ClusterServiceVersion, from its name and its version, which may
// be nil; empty if the entry is no update of it. Precedence is that of semantic versioning, without build metadata
// (OLM: pkg/controller/registry/resolver/cache/predicates.go, SkipRangeIncludesPredicate;
// docs/reference/spec/olm-v0-installs.md, section 11).
func (e Edges) Field(name string, version *semver.Version) string {
	switch {
	case name != "" && e.Replaces == name:
		return FieldReplaces
	case slices.Contains(e.Skips, name):
		return FieldSkips
	case e.Range != nil && version != nil && e.Range(*version):
		return FieldSkipRange
	}
	return ""
}
