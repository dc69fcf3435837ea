package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/permissions"
)

// Verdict is how an object of the cluster and a rendered one compare.
type Verdict string

// The verdicts.
const (
	Equal        Verdict = "equal"
	Filled       Verdict = "filled" // equal but for what the API server and OLM fill in
	Differs      Verdict = "differs"
	ClusterOnly  Verdict = "cluster only"
	RenderedOnly Verdict = "rendered only"
)

// Verdicts lists them.
var Verdicts = []Verdict{Equal, Filled, Differs, ClusterOnly, RenderedOnly}

// Compared is one object.
type Compared struct {
	Object  string   `json:"object"`
	Verdict Verdict  `json:"verdict"`
	Reason  string   `json:"reason,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// What applying the rendered object would do.
	Restarts  []string `json:"restarts,omitempty"`  // fields that make new pods
	Loses     []string `json:"loses,omitempty"`     // rights that somebody has in the cluster
	Immutable []string `json:"immutable,omitempty"` // fields that the API server does not let change

	object  *dump.Object // only its names if it is only rendered
	live    bool         // only in the cluster: OLM or the operator still needs it
	harm    bool         // only rendered: it would start pods
	refused bool         // only rendered: its namespace is not there
	unknown bool         // the dump lacks the kind

	// of a CRD whose spec differs
	rendered       map[string]any
	misfits        []findings.Finding // about its custom resources
	lookedAt, look string             // how many of them the dump has, and how to have them looked at
}

// Verification compares a cluster with what is rendered.
type Verification struct {
	Objects []Compared `json:"objects"` // sorted by kind, namespace and name

	// Lost are the rights that somebody loses if the rendered objects are applied and OLM's own go, a line for each
	// subject and place. Rights on OLM's bookkeeping, which means nothing without OLM, are not among them.
	Lost []string `json:"-"`

	state     *State
	missing   []*Operator // that are in the cluster and not rendered
	departure *departure  // of the operators that leave OLM
}

type verifier struct {
	*State
	rendered   map[string]normalize.Object   // by key
	kept       ties                          // operators that are not adopted, whose objects are not compared
	gained     map[string][]permissions.Item // by applying roles and bindings that the cluster lacks, by namespace
	withoutCSV bool                          // what is rendered is of another form than OLM's: there is no CSV
}

// asJSON copies a value as JSON has it, as those of a dump are.
func asJSON(o map[string]any) (out map[string]any) {
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return o
	}
	return out
}

// Verify compares the objects of a cluster with rendered ones.
func (s *State) Verify(rendered []map[string]any) *Verification {
	v := &verifier{State: s, rendered: map[string]normalize.Object{}, withoutCSV: true,
		kept: newTies(s, s.notAdopted())}
	for _, o := range rendered {
		o = asJSON(o)
		v.withoutCSV = v.withoutCSV && o["kind"] != "ClusterServiceVersion"
		v.rendered[normalize.Object(o).Key()] = o
	}
	v.gained = v.givenBack()
	out := &Verification{state: s, missing: s.notRendered(v.rendered)}
	for _, key := range lists.Keys(v.rendered) {
		r := v.rendered[key]
		switch object := s.twin(r); {
		case object == nil:
			out.Objects = append(out.Objects, v.onlyRendered(r))
		case !v.leftOut(object):
			out.Objects = append(out.Objects, v.pair(object, r))
		}
	}
	for _, o := range s.Dump.Objects {
		if v.rendered[o.Key()] == nil && !v.leftOut(o) {
			if reason, live := v.belongs(o); reason != "" {
				out.Objects = append(out.Objects, Compared{Object: o.Identity(), Verdict: ClusterOnly, Reason: reason,
					object: o, live: live})
			}
		}
	}
	slices.SortStableFunc(out.Objects, func(a, b Compared) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// notRendered returns the operators of which nothing is rendered: no Deployment, and nothing that hands them to OLM.
func (s *State) notRendered(rendered map[string]normalize.Object) []*Operator {
	packages := handedOver(rendered)
	return lists.Filter(s.All(), func(op *Operator) bool {
		deployments := op.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
		there := func(d v1alpha1.StrategyDeploymentSpec) bool {
			o := dump.Object{Kind: "Deployment", Namespace: op.Group.Namespace, Name: d.Name}
			return rendered[o.Key()] != nil
		}
		return len(deployments) > 0 && !packages[op.Package] && !slices.ContainsFunc(deployments, there)
	})
}

// handedOver returns the packages that rendered objects hand to OLM, of v0 or of v1.
func handedOver(rendered map[string]normalize.Object) map[string]bool {
	packages := map[string]bool{}
	for _, o := range rendered {
		var name any
		switch o.Kind() {
		case v1alpha1.SubscriptionKind:
			name = normalize.At(o, "spec")["name"]
		case olm.KindClusterExtension:
			name = normalize.At(o, "spec", "source", "catalog")["packageName"]
		}
		packages[fmt.Sprint(name)] = true
	}
	return packages
}

func field(o map[string]any, name string) string {
	s, _ := normalize.At(o, "metadata")[name].(string)
	return s
}

// twin returns the object of the cluster that has the name of a rendered one; nil if there is none.
func (s *State) twin(o normalize.Object) *dump.Object {
	return s.Dump.Get(o.Kind(), field(o, "namespace"), field(o, "name"))
}

func (v *verifier) pair(object *dump.Object, rendered normalize.Object) Compared {
	c := Compared{Object: object.Identity(), Verdict: Filled, object: object}
	live := normalize.Object(object.Value())
	if reflect.DeepEqual(withoutStatus(live), withoutStatus(rendered)) {
		c.Verdict = Equal
		return c
	}
	a, b, compared := normalize.Pair(live, rendered)
	if !compared {
		a, b = withoutStatus(live), withoutStatus(rendered)
	}
	c.Changes = slices.DeleteFunc(diff(object.Kind, a, b), func(x Change) bool {
		// maskedChanges has it unmasked
		return strings.Contains(x.Field+x.Cluster+x.Rendered, olm.LabelGroupUID+normalize.Masked)
	})
	c.Changes = append(c.Changes, v.maskedChanges(object, live, rendered)...)
	same := sync.OnceValue(func() string { return sameMeaning(object.Kind, live, rendered) })
	c.Changes = slices.DeleteFunc(c.Changes, func(x Change) bool {
		return same() != "" && strings.HasPrefix(x.Field, same())
	})
	if len(c.Changes) == 0 {
		c.Reason = v.certificate(object, live)
		return c
	}
	c.Verdict, c.rendered = Differs, rendered
	written(c.Changes, rendered)
	managed := object.ManagedFields()
	for i := range c.Changes {
		x := &c.Changes[i]
		x.Cluster, x.Rendered = around(x.Cluster, x.Rendered)
		x.By, x.scaled = writer(managed, x.Field)
	}
	v.effects(&c, a, b)
	c.because(v.reason(&c, a, b), len(managed) > 0)
	return c
}

// because gives each change its reason: who wrote it, or one for the object.
func (c *Compared) because(reason string, managed bool) {
	if reason == byHand && !managed {
		reason += ": a dump with --show-managed-fields names who"
	}
	for i := range c.Changes {
		x := &c.Changes[i]
		if x.Reason = reason; x.scaled {
			x.Reason = "scaled by " + x.By
		} else if x.By != "" {
			x.Reason = "edited by " + x.By
		} else if reason == newForm && x.Field == hashLabel {
			x.Reason = "it is a hash of the spec in that form"
		}
	}
	c.Reason = c.Changes[max(0, slices.IndexFunc(c.Changes, func(x Change) bool { return x.By != "" }))].Reason
}

// byForm gives a change the reason by which the cluster differs from what OLM would make, if it does: the new form is
// the reason of the others.
func (c *Compared) byForm(asOLM *Compared) {
	edited := 0
	for i := range c.Changes {
		for _, y := range asOLM.Changes {
			if x := &c.Changes[i]; x.Reason == newForm && strings.HasPrefix(x.Field, y.Field) {
				x.Reason, edited = y.Reason, i
			}
		}
	}
	if len(c.Changes) > 0 && c.Reason == newForm {
		c.Reason = c.Changes[edited].Reason
	}
}

// sameMeaning returns the field in which Kubernetes and OLM see no change, or "": rules of equal rights in another
// order, and the selector of an OperatorGroup that names its targets (OLM: operatorgroup.go, updateNamespaceList).
func sameMeaning(kind string, live, rendered map[string]any) string {
	targets, _ := normalize.At(live, "spec")["targetNamespaces"].([]any)
	switch {
	case (kind == "Role" || kind == "ClusterRole") && live["aggregationRule"] == nil &&
		len(lostRules(live, rendered))+len(lostRules(rendered, live)) == 0:
		return "rules"
	case kind == "OperatorGroup" && len(targets) > 0:
		return "spec.selector"
	}
	return ""
}

// withoutStatus returns an object without its status and without what only the API server writes into metadata.
func withoutStatus(o map[string]any) map[string]any {
	out, meta := maps.Clone(o), maps.Clone(normalize.At(o, "metadata"))
	delete(out, "status")
	maps.DeleteFunc(meta, func(k string, v any) bool {
		return v == nil || !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, k)
	})
	out["metadata"] = meta
	return out
}

// maskedChanges compares what the comparison with recordings leaves out: there it is random, large or the catalog's.
func (v *verifier) maskedChanges(object *dump.Object, live, rendered map[string]any) (changes []Change) {
	d := &differ{keyed: strings.HasSuffix(object.Kind, "WebhookConfiguration")}
	switch object.Kind {
	case "ClusterServiceVersion":
		x, inA := normalize.At(live, "spec")["replaces"]
		y, inB := normalize.At(rendered, "spec")["replaces"]
		d.value("spec.replaces", x, y, inA, inB, false)
	case "CustomResourceDefinition": // the schemas and the other parts of its versions
		a, _ := normalize.At(live, "spec")["versions"].([]any)
		b, _ := normalize.At(rendered, "spec")["versions"].([]any)
		x, y := byKey(a, "name"), byKey(b, "name")
		for _, name := range lists.Keys(y) {
			m, ok := x[name].(map[string]any)
			n, _ := y[name].(map[string]any)
			if !ok {
				continue // that it is missing has been seen
			}
			for _, f := range []string{"schema", "additionalPrinterColumns", "subresources", "deprecated",
				"deprecationWarning", "selectableFields"} {
				p, inA := m[f]
				q, inB := n[f]
				d.value("spec.versions["+name+"]."+f, normalize.Plain(p), normalize.Plain(q), inA, inB, true)
			}
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		d.value("webhooks", groupSelectors(live), groupSelectors(rendered), true, true, false)
	}
	return d.changes
}

// groupSelectors keeps the namespace selectors of webhooks: their label has the UID of a group in the cluster.
func groupSelectors(configuration map[string]any) any {
	out := []any{}
	for _, m := range normalize.List(configuration, "webhooks") {
		keep := maps.Clone(normalize.At(m, "namespaceSelector", "matchLabels"))
		maps.DeleteFunc(keep, func(k string, _ any) bool { return !strings.HasPrefix(k, olm.LabelGroupUID) })
		out = append(out, map[string]any{"name": m["name"], "namespaceSelector": map[string]any{"matchLabels": keep}})
	}
	return out
}

const bare = "the cluster has one on which OLM has left no mark, and it is not compared: applying changes it"

func (v *verifier) onlyRendered(o normalize.Object) Compared {
	apiVersion, _ := o["apiVersion"].(string)
	kind, labels := o.Kind(), normalize.At(o, "metadata", "labels")
	object := &dump.Object{APIVersion: apiVersion, Kind: kind, Namespace: field(o, "namespace"), Name: field(o, "name")}
	c := Compared{Object: object.Identity(), Verdict: RenderedOnly, Reason: "applying creates it", object: object}
	// the Role that a ClusterRole was promoted from is there
	ns, _ := labels[olm.LabelOwnerNamespace].(string)
	promoted := strings.HasPrefix(kind, "Cluster") && labels[olm.LabelOwnerKind] == "ClusterServiceVersion" &&
		v.Dump.Get(strings.TrimPrefix(kind, "Cluster"), ns, object.Name) != nil
	namespace := (&dump.Object{Kind: "Namespace", Name: object.Namespace}).Key()
	switch {
	case v.lacks(object.Namespace) && v.rendered[namespace] == nil:
		c.Reason, c.refused = "the cluster has no namespace "+object.Namespace+": the API server refuses it", true
	case v.Dump.HasBare(object):
		c.Reason = bare
	case kind == "Secret":
		c.Reason, c.unknown = "Secrets are not read, so it is not known", true
	case !slices.ContainsFunc(dump.Kinds, func(k dump.Kind) bool { return k.Kind == kind }) && !v.Dump.Has(kind):
		c.Reason, c.unknown = "a dump has no "+kind+": applying creates it, or changes the one that is there", true
	case !v.Dump.Has(kind):
		c.Reason, c.unknown = "the dump has no "+kind+", so it is not known", true
	case promoted || (kind == "Role" || kind == "RoleBinding") && labels[olm.LabelCopiedFrom] != nil:
		c.Reason = byChance
		if back := v.gained[object.Namespace]; len(back) > 0 {
			c.Reason = "applying creates it, and gives back: " + strings.Join(lines("gains", back), "; ")
		}
	case kind == "Deployment":
		c.harm, c.Restarts = true, []string{"spec"}
	}
	return c
}
