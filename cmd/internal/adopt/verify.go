package adopt

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/permissions"
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

	key    string
	object *dump.Object // nil if it is only rendered
	kind   string
	live   bool // only in the cluster: OLM or the operator still needs it
	harm   bool // only rendered: it would start pods

	unknown bool   // the dump lacks the kind
	name    string // only rendered: its row in a list of a plan
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
	for _, key := range slices.Sorted(maps.Keys(v.rendered)) {
		r := v.rendered[key]
		object := s.Dump.Get(r.Kind(), field(r, "namespace"), field(r, "name"))
		switch {
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
					key: o.Key(), object: o, kind: o.Kind, live: live})
			}
		}
	}
	slices.SortStableFunc(out.Objects, func(a, b Compared) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// notRendered returns the operators of which nothing is rendered: no Deployment, and nothing that hands them to OLM.
func (s *State) notRendered(rendered map[string]normalize.Object) (missing []*Operator) {
	packages := handedOver(rendered)
	for _, op := range s.All() {
		deployments := op.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
		there := func(d v1alpha1.StrategyDeploymentSpec) bool {
			o := dump.Object{Kind: "Deployment", Namespace: op.Group.Namespace, Name: d.Name}
			return rendered[o.Key()] != nil
		}
		if len(deployments) > 0 && !packages[op.Package] && !slices.ContainsFunc(deployments, there) {
			missing = append(missing, op)
		}
	}
	return missing
}

// handedOver returns the packages that rendered objects hand to OLM, of v0 or of v1.
func handedOver(rendered map[string]normalize.Object) map[string]bool {
	packages := map[string]bool{}
	for _, o := range rendered {
		switch o.Kind() {
		case v1alpha1.SubscriptionKind:
			name, _ := normalize.At(o, "spec")["name"].(string)
			packages[name] = true
		case olm.KindClusterExtension:
			name, _ := normalize.At(o, "spec", "source", "catalog")["packageName"].(string)
			packages[name] = true
		}
	}
	return packages
}

func field(o map[string]any, name string) string {
	meta, _ := o["metadata"].(map[string]any)
	s, _ := meta[name].(string)
	return s
}

func identity(o normalize.Object) string {
	return (&dump.Object{Kind: o.Kind(), Namespace: field(o, "namespace"), Name: field(o, "name")}).Identity()
}

// pair compares an object that is on both sides.
func (v *verifier) pair(object *dump.Object, rendered normalize.Object) Compared {
	c := Compared{Object: object.Identity(), Verdict: Filled, key: object.Key(), object: object, kind: object.Kind}
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
	equalRules := sync.OnceValue(func() bool { // all changes of rules ask for it
		return live["aggregationRule"] == nil && len(lostRules(live, rendered))+len(lostRules(rendered, live)) == 0
	})
	c.Changes = slices.DeleteFunc(c.Changes, func(x Change) bool {
		return sameMeaning(object.Kind, x, live, equalRules)
	})
	if len(c.Changes) == 0 {
		c.Reason = v.certificate(object, live)
		return c
	}
	c.Verdict = Differs
	written(c.Changes, rendered)
	managed := object.ManagedFields()
	for i := range c.Changes {
		x := &c.Changes[i]
		x.Cluster, x.Rendered = around(x.Cluster, x.Rendered)
		x.By = writer(managed, x.Field)
	}
	v.effects(&c, object, a, b)
	c.Reason = v.reason(&c, object, a, b)
	return c
}

// sameMeaning reports whether Kubernetes and OLM see no change: rules of equal rights in another order, and the
// selector of an OperatorGroup that names its targets (OLM: operatorgroup.go, updateNamespaceList).
func sameMeaning(kind string, x Change, live map[string]any, equalRules func() bool) bool {
	switch kind {
	case "Role", "ClusterRole":
		return strings.HasPrefix(x.Field, "rules") && equalRules()
	case "OperatorGroup":
		targets, _ := normalize.At(live, "spec")["targetNamespaces"].([]any)
		return strings.HasPrefix(x.Field, "spec.selector") && len(targets) > 0
	}
	return false
}

// withoutStatus returns an object without its status and without what only the API server writes into metadata.
func withoutStatus(o map[string]any) map[string]any {
	out := maps.Clone(o)
	delete(out, "status")
	meta, _ := o["metadata"].(map[string]any)
	m := map[string]any{}
	for _, k := range []string{"name", "namespace", "labels", "annotations"} {
		if meta[k] != nil {
			m[k] = meta[k]
		}
	}
	out["metadata"] = m
	return out
}

// maskedChanges compares what the comparison with recordings leaves out: there it is random, large or the catalog's.
func (v *verifier) maskedChanges(object *dump.Object, live, rendered map[string]any) (changes []Change) {
	switch object.Kind {
	case "ClusterServiceVersion":
		d := &differ{}
		a, b := normalize.At(live, "spec"), normalize.At(rendered, "spec")
		x, inA := a["replaces"]
		y, inB := b["replaces"]
		d.value("spec.replaces", x, y, inA, inB, false)
		return d.changes
	case "CustomResourceDefinition":
		return crdVersions(live, rendered)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		d := &differ{keyed: true}
		d.value("webhooks", groupSelectors(live), groupSelectors(rendered), true, true, false)
		return d.changes
	}
	return nil
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

// crdVersions compares the schemas and the other parts of the versions of a CRD.
func crdVersions(live, rendered map[string]any) []Change {
	d := &differ{}
	a, _ := normalize.At(live, "spec")["versions"].([]any)
	b, _ := normalize.At(rendered, "spec")["versions"].([]any)
	x, y := byKey(a, "name"), byKey(b, "name")
	for _, name := range slices.Sorted(maps.Keys(y)) {
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
	return d.changes
}

// onlyRendered judges an object that the cluster does not have.
func (v *verifier) onlyRendered(o normalize.Object) Compared {
	apiVersion, _ := o["apiVersion"].(string)
	c := Compared{Object: identity(o), Verdict: RenderedOnly, Reason: "applying creates it", key: o.Key(),
		kind: o.Kind(), name: row(&dump.Object{APIVersion: apiVersion, Kind: o.Kind(),
			Namespace: field(o, "namespace"), Name: field(o, "name")})}
	labels := normalize.At(o, "metadata", "labels")
	name := field(o, "name")
	role := strings.TrimPrefix(o.Kind(), "Cluster")
	switch {
	case o.Kind() == "Secret":
		c.Reason, c.unknown = "Secrets are not read, so it is not known", true
		return c
	case !slices.ContainsFunc(dump.Kinds, func(k dump.Kind) bool { return k.Kind == o.Kind() }) &&
		!v.Dump.Has(o.Kind()):
		c.Reason, c.unknown = "a dump has no "+o.Kind()+": applying creates it, or changes the one that is there", true
		return c
	case !v.Dump.Has(o.Kind()):
		c.Reason, c.unknown = "the dump has no "+o.Kind()+", so it is not known", true
		return c
	case (o.Kind() == "Role" || o.Kind() == "RoleBinding") && labels[olm.LabelCopiedFrom] != nil,
		strings.HasPrefix(o.Kind(), "Cluster") && labels[olm.LabelOwnerKind] == "ClusterServiceVersion" &&
			v.hasSource(role, labels, name):
		if back := v.gained[field(o, "namespace")]; len(back) > 0 {
			c.Reason = "applying creates it, and gives back: " + strings.Join(lines("gains", back), "; ")
			return c
		}
		c.Reason = byChance
		return c
	}
	if c.harm = o.Kind() == "Deployment"; c.harm {
		c.Restarts = []string{"spec"}
	}
	return c
}

// hasSource reports whether the Role that a ClusterRole was promoted from is there.
func (v *verifier) hasSource(kind string, labels map[string]any, name string) bool {
	ns, _ := labels[olm.LabelOwnerNamespace].(string)
	return v.Dump.Get(kind, ns, name) != nil
}
