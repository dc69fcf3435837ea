package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
)

// EdgeKind is the field of an entry that makes it an update of another.
type EdgeKind string

// The kinds of edges. NoEdge is none.
const (
	NoEdge    EdgeKind = ""
	Replaces  EdgeKind = olm.FieldReplaces
	Skips     EdgeKind = olm.FieldSkips
	SkipRange EdgeKind = olm.FieldSkipRange
)

// EntryOf returns what a bundle itself says that it updates. A catalog may say something else.
func EntryOf(csv *v1alpha1.ClusterServiceVersion) Entry {
	return Entry{Name: csv.Name, Replaces: csv.Spec.Replaces, Skips: slices.Clone(csv.Spec.Skips),
		SkipRange: csv.Annotations[olm.AnnotationSkipRange]}
}

// Fields returns what an entry says in each field that it has, with the skips in order.
func (e *Entry) Fields() map[EdgeKind]string {
	out := map[EdgeKind]string{Replaces: e.Replaces, SkipRange: e.SkipRange,
		Skips: strings.Join(slices.Sorted(slices.Values(e.Skips)), ", ")}
	maps.DeleteFunc(out, func(_ EdgeKind, text string) bool { return text == "" })
	return out
}

// Updates returns the field by which an entry updates a ClusterServiceVersion, from its name and its version, which may
// be nil.
func (e *Entry) Updates(name string, version *semver.Version) EdgeKind {
	return EdgeKind(olm.NewEdges(e.Replaces, e.Skips, e.SkipRange).Field(name, version))
}
