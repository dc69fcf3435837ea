package adopt

import (
	"bytes"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Backup returns the objects of the operators as the dump has them, hand edits included, so that they can be applied
// again; Subscriptions are apart, because OLM acts as soon as it sees one. asOLM is what profile olm renders: it finds
// the objects that a bundle ships and that nothing in the cluster marks.
func (s *State) Backup(asOLM []map[string]any) (objects, subscriptions []byte) {
	shipped := map[string]bool{}
	for _, o := range asOLM {
		shipped[normalize.Object(o).Key()] = true
	}
	t := newTies(s, s.All())
	kept := &verifier{State: s, kept: newTies(s, s.notAdopted())}
	var all, subs bytes.Buffer
	for _, o := range s.Dump.Objects {
		about := func(op *Operator) bool {
			_, component := o.Labels[componentLabel(op.component())]
			return component || op.isAbout(o) || o == op.Group.Object
		}
		switch {
		case kept.leftOut(o) || o.Kind == "Namespace" || o.Kind == v1alpha1.InstallPlanKind:
		case !shipped[o.Key()] && !t.tied(o) && !slices.ContainsFunc(t.operators, about):
		case o.Kind == v1alpha1.SubscriptionKind:
			write(&subs, o)
		default:
			write(&all, o)
		}
	}
	return all.Bytes(), subs.Bytes()
}

// serverAnnotations are written by controllers and by kubectl, for their own use.
var serverAnnotations = []string{"deployment.kubernetes.io/revision",
	"kubectl.kubernetes.io/last-applied-configuration"}

// write writes an object without what the API server and controllers give it.
func write(b *bytes.Buffer, o *dump.Object) {
	value := withoutStatus(o.Value())
	annotations := normalize.At(value, "metadata", "annotations")
	for _, a := range serverAnnotations {
		delete(annotations, a)
	}
	if value["aggregationRule"] != nil {
		delete(value, "rules")
	}
	b.WriteString("---\n")
	b.Write(manifest.Encode(value))
}
