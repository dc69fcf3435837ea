package olm

import (
	"slices"

	"github.com/blang/semver/v4"
)

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
// docs/spec/olm-v0-installs.md, section 11).
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
