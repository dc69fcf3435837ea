package adopt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Backup is what the dump has of the operators, hand edits included, so that it can be applied again.
type Backup struct {
	Objects       []byte
	OLM           []byte // ClusterServiceVersions, OperatorGroups and OperatorConditions
	Subscriptions []byte // which are apart, because OLM acts as soon as it sees one
	// Owned are the objects that belong to one of OLM, with nothing but their ownerReferences, and Owners are those
	// owners: a row for each with its UID, its resource, its name and its namespace. After the way back their UIDs are
	// others.
	Owned, Owners []byte
}

// owning are the kinds of OLM that own what stays.
var owning = []string{v1alpha1.ClusterServiceVersionKind, "OperatorCondition", operatorsv1.OperatorGroupKind}

// Backup returns the backup. asOLM is what profile olm renders: it finds the objects that a bundle ships and that
// nothing in the cluster marks.
func (s *State) Backup(asOLM []map[string]any) *Backup {
	shipped := lists.Set(asOLM, func(o map[string]any) string { return normalize.Object(o).Key() })
	t := newTies(s, s.All())
	kept := &verifier{State: s, kept: newTies(s, s.notAdopted())}
	var all, ofOLM, subs, owned bytes.Buffer
	var owners []string
	for _, o := range s.Dump.Objects {
		about := func(op *Operator) bool { return op.marks(o) || o == op.Group.Object }
		switch {
		case kept.leftOut(o) || o.Kind == "Namespace" || o.Kind == v1alpha1.InstallPlanKind:
			continue
		case !shipped[o.Key()] && !t.tied(o) && !slices.ContainsFunc(t.operators, about):
			continue
		case o.Kind == v1alpha1.SubscriptionKind:
			write(&subs, o)
		case slices.Contains(owning, o.Kind):
			write(&ofOLM, o)
		default:
			write(&all, o)
			if rows := s.ownersOf(o); t.tied(o) && len(rows) > 0 {
				owners = append(owners, rows...)
				owned.WriteString("---\n")
				owned.Write(manifest.Encode(map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind,
					"metadata": map[string]any{"name": o.Name, "namespace": o.Namespace, // which is that of its owners
						"ownerReferences": normalize.At(o.Value(), "metadata")["ownerReferences"]}}))
			}
		}
	}
	slices.Sort(owners)
	return &Backup{Objects: all.Bytes(), OLM: ofOLM.Bytes(), Subscriptions: subs.Bytes(), Owned: owned.Bytes(),
		Owners: []byte(strings.Join(slices.Compact(owners), ""))}
}

// ownersOf returns the rows of the owners of an object that are OLM's; none if one of them is not there again when the
// backup has been applied. Kubernetes deletes an object that refers to an owner by the UID of another one.
func (s *State) ownersOf(o *dump.Object) (rows []string) {
	for _, r := range o.Owners {
		if !r.ByOLM() {
			continue
		}
		owner := s.Dump.Get(r.Kind, o.Namespace, r.Name)
		if owner == nil || !slices.Contains(owning, r.Kind) || r.UID == "" {
			return nil
		}
		rows = append(rows, fmt.Sprintf("%s %s\n", r.UID, row(owner)))
	}
	return rows
}

// write writes an object without what the API server, controllers and kubectl give it for their own use.
func write(b *bytes.Buffer, o *dump.Object) {
	value := withoutStatus(o.Value())
	annotations := normalize.At(value, "metadata", "annotations")
	delete(annotations, "deployment.kubernetes.io/revision")
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if value["aggregationRule"] != nil {
		delete(value, "rules")
	}
	b.WriteString("---\n")
	b.Write(manifest.Encode(value))
}
