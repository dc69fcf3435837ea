package catalog

import (
	"slices"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
)

// EdgeKind is the field of an entry that makes it an update of another.
type EdgeKind string

// The kinds of edges. NoEdge is none.
const (
	NoEdge    EdgeKind = ""
	Replaces  EdgeKind = "replaces"
	Skips     EdgeKind = "skips"
	SkipRange EdgeKind = "skipRange"
)

// EntryOf returns what a bundle itself says that it updates. A catalog may say something else.
func EntryOf(csv *v1alpha1.ClusterServiceVersion) Entry {
	return Entry{Name: csv.Name, Replaces: csv.Spec.Replaces, Skips: slices.Clone(csv.Spec.Skips),
		SkipRange: csv.Annotations[olm.AnnotationSkipRange]}
}

// Updates returns the field by which an entry updates a ClusterServiceVersion, from its name and its version, which may
// be nil. A skipRange that cannot be read covers nothing. Precedence is that of semantic versioning, without build
// metadata, as in OLM (docs/spec/olm-v0.md, section 11).
func (e *Entry) Updates(name string, version *semver.Version) EdgeKind {
	switch {
	case name != "" && e.Replaces == name:
		return Replaces
	case slices.Contains(e.Skips, name):
		return Skips
	case e.SkipRange == "" || version == nil:
		return NoEdge
	}
	if covers, err := semver.ParseRange(e.SkipRange); err == nil && covers(*version) {
		return SkipRange
	}
	return NoEdge
}
