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
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// ties finds the objects that refer to some operators.
type ties struct {
	state     *State
	operators []*Operator
	owners    map[string]bool // UIDs of OLM's own objects about the operators
}

func newTies(s *State, operators []*Operator) ties {
	t := ties{state: s, operators: operators, owners: map[string]bool{}}
	for _, kind := range ofOLM {
		for _, o := range s.Dump.OfKind(kind) {
			if t.about(o) {
				t.owners[o.UID] = true
			}
		}
	}
	for _, op := range operators {
		t.owners[op.Group.Object.UID] = t.takesWhole(op.Group)
	}
	delete(t.owners, "") // no cluster has made it
	return t
}

// departure says what becomes of the objects of operators that leave OLM.
type departure struct {
	ties
	rendered map[string]bool // keys of the new form
	made     map[string]bool // keys of what OLM makes by its own rules, as the bundles explain it
}

// newDeparture takes what the new form has, and what OLM makes of the operators.
func newDeparture(s *State, operators []*Operator, rendered, asOLM *Verification) *departure {
	d := &departure{ties: newTies(s, operators), rendered: map[string]bool{}, made: map[string]bool{}}
	for _, c := range rendered.Objects {
		if c.Verdict != ClusterOnly {
			d.rendered[c.object.Key()] = true
		}
	}
	for _, c := range asOLM.Objects {
		explained := c.Verdict == Equal || c.Verdict == Filled ||
			c.Verdict == ClusterOnly && d.copiedRole(c.object, asOLM)
		if explained && slices.Contains(madeByOLM, c.object.Kind) {
			d.made[c.object.Key()] = true
		}
	}
	return d
}

// madeByOLM are the kinds that OLM makes for an operator by rules of its own. What a bundle ships is not among them.
var madeByOLM = []string{"APIService", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration",
	"OperatorCondition", "Role", "RoleBinding", "Service", "ValidatingWebhookConfiguration"}

// isAbout reports whether an object of OLM's own kinds is the operator's.
func (o *Operator) isAbout(object *dump.Object) bool {
	ns := o.Group.Namespace
	switch object.Kind {
	case v1alpha1.ClusterServiceVersionKind:
		original, _ := object.Copied()
		return object.Name == o.CSV.Name && (object.Namespace == ns || original == ns)
	case "OperatorCondition":
		return object.Namespace == ns && object.Name == o.CSV.Name
	case v1alpha1.SubscriptionKind:
		return o.Subscription != nil && object.Namespace == ns && object.Name == o.Subscription.Name
	}
	return false
}

// marks reports whether an object is of OLM's own kinds and the operator's, or a component of its Operator.
func (o *Operator) marks(object *dump.Object) bool {
	_, component := object.Labels[olm.ComponentLabel(o.component())]
	return component || o.isAbout(object)
}

// serves reports whether an object is owned by a CRD or an APIService of the operator.
func (o *Operator) serves(object *dump.Object) bool {
	return slices.ContainsFunc(object.Owners, func(r dump.Owner) bool { return o.owns(r.Name) })
}

// about reports whether an object of OLM's own kinds is of one of the operators.
func (d ties) about(o *dump.Object) bool {
	return slices.ContainsFunc(d.operators, func(op *Operator) bool { return op.isAbout(o) })
}

// takesWhole reports whether all that OLM runs in the namespace of a group leaves.
func (d ties) takesWhole(g *Group) bool {
	return len(g.Others) == 0 && len(g.Waiting) == 0 &&
		!slices.ContainsFunc(g.Operators, func(o *Operator) bool { return !slices.Contains(d.operators, o) })
}

// takesNamespace reports whether operators leave a namespace, and all that OLM runs there.
func (d ties) takesNamespace(namespace string) bool {
	return slices.ContainsFunc(d.operators, func(o *Operator) bool {
		return o.Group.Namespace == namespace && d.takesWhole(o.Group)
	})
}

// tied reports whether an object refers to one of the operators, by a label or by an ownerReference in any namespace.
func (d ties) tied(o *dump.Object) bool {
	return slices.ContainsFunc(o.Owners, func(r dump.Owner) bool { return d.owns(o, r) }) ||
		slices.ContainsFunc(d.operators, func(op *Operator) bool { return d.labelled(o, op) })
}

// owns reports whether an ownerReference is to an object of OLM about one of the operators.
func (d ties) owns(o *dump.Object, r dump.Owner) bool {
	return r.ByOLM() && (d.owners[r.UID] || slices.ContainsFunc(d.operators, func(op *Operator) bool {
		kinds := []string{v1alpha1.ClusterServiceVersionKind, "OperatorCondition"}
		return o.Namespace == op.Group.Namespace && r.Name == op.CSV.Name && slices.Contains(kinds, r.Kind)
	}))
}

func (d ties) labelled(o *dump.Object, op *Operator) bool {
	ns := op.Group.Namespace
	switch o.Labels[olm.LabelOwner] {
	case op.CSV.Name:
		return o.Labels[olm.LabelOwnerNamespace] == ns || o.Labels[olm.LabelCopiedFrom] == ns || o.Namespace == ns
	case op.Group.Name:
		return op.Group.made(o) && d.takesWhole(op.Group)
	}
	return false
}

// deletes reports whether the plan deletes an object: one of OLM's own rules that no operator which stays needs.
func (d *departure) deletes(o *dump.Object) bool {
	if d.rendered[o.Key()] {
		return false
	}
	if o.Kind == "OperatorCondition" {
		return d.about(o)
	}
	return d.made[o.Key()] && !d.needed(o)
}

// needed reports whether an object is of an API that an operator owns which stays with OLM, or of its group.
func (d *departure) needed(o *dump.Object) bool {
	return slices.ContainsFunc(d.state.Groups, func(g *Group) bool { return g.made(o) && !d.takesWhole(g) }) ||
		slices.ContainsFunc(d.state.every(), func(op *Operator) bool {
			return !slices.Contains(d.operators, op) && op.serves(o)
		})
}

// copiedRole reports whether a role or a binding is the copy that OLM makes of one in the operator's namespace, in a
// target namespace or for the whole cluster (OLM: pkg/controller/operators/olm/operatorgroup.go, ensureTenantRBAC and
// ensureSingletonRBAC).
func (d ties) copiedRole(o *dump.Object, asOLM *Verification) bool {
	kind := strings.TrimPrefix(o.Kind, "Cluster")
	ns := o.Labels[olm.LabelCopiedFrom]
	if kind != o.Kind {
		ns = o.Labels[olm.LabelOwnerNamespace]
	}
	twin := d.state.Dump.Get(kind, ns, o.Name)
	if !slices.ContainsFunc(asOLM.Objects, func(c Compared) bool {
		return c.object == twin && (c.Verdict == Equal || c.Verdict == Filled)
	}) {
		return false
	}
	copied, original := o.Value(), twin.Value()
	if kind == "Role" {
		if kind != o.Kind { // OLM adds the right to see namespaces
			list, _ := original["rules"].([]any)
			original["rules"] = append(list, map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces"},
				"verbs": []any{"get", "list", "watch"}})
		}
		return copied["aggregationRule"] == nil && len(lostRules(copied, original)) == 0
	}
	role := normalize.At(copied, "roleRef")
	return role["name"] == normalize.At(original, "roleRef")["name"] &&
		role["kind"] == strings.TrimSuffix(o.Kind, "Binding") && len(lostSubjects(copied, original)) == 0
}

// Backup is what the dump has of the operators, hand edits included, so that it can be applied again.
type Backup struct {
	Objects       []byte
	OLM           []byte // ClusterServiceVersions, OperatorGroups and OperatorConditions
	Subscriptions []byte // which are apart, because OLM acts as soon as it sees one
	// Owned are the objects that belong to one of OLM, with nothing but their ownerReferences, and Owners are those
	// owners, whose UIDs are others after the way back: a row for each with UID, resource, name and namespace.
	Owned, Owners []byte
}

// owning are the kinds of OLM that own what stays.
var owning = []string{v1alpha1.ClusterServiceVersionKind, "OperatorCondition", operatorsv1.OperatorGroupKind}

// Backup returns the backup. asOLM is what profile olm renders: it finds what a bundle ships without any mark of OLM.
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
	if scaled(o) {
		delete(normalize.At(value, "spec"), "replicas")
	}
	b.WriteString("---\n")
	b.Write(manifest.Encode(value))
}
