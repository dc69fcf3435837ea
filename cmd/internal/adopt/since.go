package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// SinceRules explain the findings of Since.
var SinceRules = []findings.Rule{{ID: "moved", Text: "OLM or a person has changed an operator since the dump"}}

// Since returns what has changed of the adopted operators since an earlier dump: ClusterServiceVersions, Subscriptions,
// InstallPlans and OperatorGroups that are new, gone, made anew or written, what is being deleted, and what somebody
// has written into objects that are rendered, which applying would write over. A plan is of the moment of its dump. As
// long as OLM is down, a ClusterServiceVersion that is gone, or that leaves what it owns, is the plan's own work.
func (s *State) Since(earlier *State, rendered []map[string]any) (list []findings.Finding) {
	now, was := s.steered(earlier), earlier.steered(earlier)
	move := func(o *dump.Object, what string, leaves bool) {
		f := movedSince(o, "", what)
		if leaves && o.Kind == v1alpha1.ClusterServiceVersionKind && s.olmIsDown() {
			f.Level, f.Hint = findings.Note, ""
			f.Message += ", and OLM is down: the plan goes on with the other operators"
		}
		list = append(list, f)
	}
	for _, o := range earlier.Dump.Objects {
		if was[o.Key()] != nil {
			n := now[o.Key()]
			if what := movedTo(o, n); what != "" {
				move(cmp.Or(n, o), what, n == nil)
			}
		}
	}
	for _, o := range s.Dump.Objects {
		if now[o.Key()] != nil && was[o.Key()] == nil {
			move(o, "is new since the dump", false)
		}
	}
	for _, o := range s.going(earlier.All()) {
		move(o, "is being deleted", s.leaves(o))
	}
	list = append(list, s.edits(earlier, rendered)...)
	findings.Sort(list)
	return list
}

// movedTo returns what has become of an object of OLM; "" if it is as it was, or is being deleted.
func movedTo(o, n *dump.Object) string {
	switch {
	case n == nil:
		return "is gone since the dump"
	case n.UID != o.UID:
		return "was made anew since the dump"
	case n.ResourceVersion == o.ResourceVersion, n.DeletionTimestamp != "":
		return ""
	case phase(o) != phase(n):
		return "was " + phase(o) + " and is " + phase(n) + " since the dump"
	}
	changed := lists.Map(diff(o.Kind, decisive(n), decisive(o)), func(x Change) string { return x.Field })
	if len(changed) == 0 {
		return ""
	}
	return "was changed since the dump: " + text.FirstOf(mostNamed, changed)
}

// decisive returns what OLM and a plan go by. OLM writes the rest of a status again and again, such as the health of
// catalogs (OLM: pkg/controller/operators/catalog/subscription/reconciler.go), and a plan takes finalizers away.
func decisive(o *dump.Object) map[string]any {
	v := o.Value()
	meta, status := normalize.At(v, "metadata"), normalize.At(v, "status")
	return map[string]any{"spec": v["spec"],
		"metadata": map[string]any{"labels": meta["labels"], "annotations": meta["annotations"]},
		"status": map[string]any{"currentCSV": status["currentCSV"], "installedCSV": status["installedCSV"],
			"installPlanRef": status["installPlanRef"], "namespaces": status["namespaces"]}}
}

// edits returns what has been written since an earlier dump into objects that are rendered, and that is not what is
// rendered. What an autoscaler writes stays, because no plan applies it.
func (s *State) edits(earlier *State, rendered []map[string]any) (list []findings.Finding) {
	v := &verifier{State: s, kept: newTies(s, s.notAdopted())}
	for _, r := range rendered {
		r := normalize.Object(asJSON(r))
		was, n := earlier.twin(r), s.twin(r)
		switch {
		case was == nil || n == nil && !s.Dump.Has(was.Kind) || v.leftOut(was):
		case n == nil || n.UID != was.UID:
			list = append(list, movedSince(cmp.Or(n, was), "", movedTo(was, n)))
		default:
			written, left := v.pair(n, was.Value()).Changes, []Change(nil)
			if len(written) > 0 {
				left = v.pair(n, r).Changes
			}
			for _, x := range written {
				applied := !slices.ContainsFunc(left, func(y Change) bool {
					return strings.HasPrefix(x.Field, y.Field) || strings.HasPrefix(y.Field, x.Field)
				})
				if !applied && (!x.scaled || normalize.At(r, "spec")["replicas"] != nil) {
					list = append(list, movedSince(n, x.Field, "was "+cmp.Or(x.Rendered, "not there")+" and is "+
						cmp.Or(x.Cluster, "not there")+strings.TrimSuffix(" by "+x.By, " by ")+" since the dump"))
				}
			}
		}
	}
	return list
}

func movedSince(o *dump.Object, field, what string) findings.Finding {
	return findings.Finding{Rule: "moved", Level: findings.Error, File: o.File, Line: o.Line, Object: o.Identity(),
		Field: field, Message: what, Hint: "make a new plan of a new dump"}
}

// going returns what is being deleted of operators: their namespaces, their CRDs, what OLM has about them, and what is
// tied to that.
func (s *State) going(operators []*Operator) []*dump.Object {
	t := newTies(s, operators)
	return lists.Filter(s.Dump.Objects, func(o *dump.Object) bool {
		if _, copied := o.Copied(); o.DeletionTimestamp == "" || copied {
			return false
		}
		return t.tied(o) || slices.ContainsFunc(operators, func(op *Operator) bool {
			return op.marks(o) || o.Key() == op.Group.Object.Key() || o.Kind == crdKind && op.owns(o.Name) ||
				o.Kind == "Namespace" && o.Name == op.Group.Namespace
		})
	})
}

// leaves reports whether an object is deleted with --cascade=orphan, and not by OLM's finalizer: what it owns stays.
// The garbage collector has taken that finalizer away when nothing refers to the object any more; others may be left.
func (s *State) leaves(o *dump.Object) bool {
	owned := func(x *dump.Object) bool {
		return slices.ContainsFunc(x.Owners, func(r dump.Owner) bool { return r.UID == o.UID })
	}
	return !slices.Contains(o.Finalizers, olm.Finalizer) &&
		(slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents) ||
			!slices.ContainsFunc(s.Dump.Objects, owned))
}

// olmIsDown reports whether no Deployment of OLM asks for a pod that installs operators.
func (s *State) olmIsDown() bool {
	return !slices.ContainsFunc(s.Dump.OfKind("Deployment"), func(d *dump.Object) bool {
		return slices.Contains(olmDeployments, d.Name) && normalize.At(d.Value(), "spec")["replicas"] != float64(0)
	})
}

// phase returns what the status of an object of OLM says first.
func phase(o *dump.Object) string {
	status := normalize.At(o.Value(), "status")
	phase, _ := status["phase"].(string)
	state, _ := status["state"].(string)
	return cmp.Or(phase, state, "without a phase")
}

// steered returns what OLM installs by in the namespaces of the operators that another state adopts, by key. Copied
// ClusterServiceVersions follow their original.
func (s *State) steered(of *State) map[string]*dump.Object {
	found := map[string]*dump.Object{}
	namespaces := lists.Set(of.All(), func(o *Operator) string { return o.Group.Namespace })
	for _, kind := range ofOLM {
		for _, o := range s.Dump.OfKind(kind) {
			if _, copied := o.Copied(); namespaces[o.Namespace] && kind != "OperatorCondition" && !copied {
				found[o.Key()] = o
			}
		}
	}
	return found
}

// newest returns the newest time that the status or the metadata of an object of OLM says; "" if there is none.
func (s *State) newest() (at string) {
	look := func(v any) any {
		text, _ := v.(string)
		if _, err := time.Parse(timeFormat, text); err == nil {
			at = max(at, text) // in UTC: the order of the text is that of time
		}
		return v
	}
	for _, kind := range ofOLM {
		for _, o := range s.Dump.OfKind(kind) {
			value := o.Value()
			decoded.Copy(value["status"], look)
			look(normalize.At(value, "metadata")["creationTimestamp"])
		}
	}
	return at
}

// noSubscription is the path whose answer says that a cluster has no Subscription: that of kubectl get names no kind.
const noSubscription = "/apis/" + v1alpha1.SubscriptionCRDAPIVersion + "/subscriptions"

// checkComplete returns an error if the dump lacks a kind without which the way to a form cannot be planned: an answer
// of kubectl without rights looks like a cluster without objects.
func (s *State) checkComplete(to generate.Profile) error {
	needed := []string{v1alpha1.ClusterServiceVersionKind, operatorsv1.OperatorGroupKind, v1alpha1.SubscriptionKind}
	leaving := s.Leaving(to)
	for _, o := range leaving { // what OLM has made for it
		strategy := o.CSV.Spec.InstallStrategy.StrategySpec
		needed = append(needed, "ClusterRole")
		if len(strategy.DeploymentSpecs) > 0 {
			needed = append(needed, "Deployment")
		}
		if len(strategy.Permissions) > 0 {
			needed = append(needed, "ServiceAccount", "Role", "RoleBinding")
		}
		if len(strategy.ClusterPermissions) > 0 {
			needed = append(needed, "ServiceAccount", "ClusterRoleBinding")
		}
		if len(o.CSV.Spec.CustomResourceDefinitions.Owned) > 0 {
			needed = append(needed, crdKind)
		}
	}
	kinds := lists.Filter(dump.Kinds, func(k dump.Kind) bool {
		return slices.Contains(needed, k.Kind) && !s.Dump.Has(k.Kind)
	})
	if s.olmNamespace() == openShift && len(leaving) > 0 && !s.Dump.Has(dump.ClusterVersion.Kind) {
		kinds = append(kinds, dump.ClusterVersion)
	}
	if len(kinds) == 0 {
		return nil
	}
	names := lists.Map(kinds, func(k dump.Kind) string { return k.Kind })
	hint := "add the output of: " + dump.Command(kinds...)
	if slices.Contains(names, v1alpha1.SubscriptionKind) {
		hint += "; if there is no Subscription, of: kubectl get --raw " + noSubscription
	}
	return manifest.WithHint(fmt.Errorf("the dump has no %s, which the plan is about", text.Or(names)), hint)
}

// bringers names what applies objects of operators again and again, what of them, what to do, and what happens if one
// does not.
func (s *State) bringers(operators []*Operator) []string {
	t, argo := newTies(s, operators), s.argoCD()
	found := map[applier][]string{}
	for _, o := range s.Dump.Objects {
		asks := slices.ContainsFunc(operators, func(op *Operator) bool {
			return op.isAbout(o) && o.Kind == v1alpha1.SubscriptionKind || o == op.Group.Object
		})
		if _, copied := o.Copied(); copied || !asks && !t.about(o) && !t.tied(o) {
			continue
		}
		for _, by := range argo.bringers(o, asks) {
			found[by] = append(found[by], o.Identity())
		}
	}
	policies := lists.Map(s.Dump.OfKind(olm.KindOperatorPolicy), func(o *dump.Object) *manifest.Object {
		return manifest.New(o.Value())
	})
	for _, p := range olm.OperatorPolicies(policies) {
		for _, op := range operators {
			if p.Enforced && p.Package == op.Package && (p.Namespace == "" || p.Namespace == op.Group.Namespace) {
				by := applier{policy, p.Object.Namespace + "/" + p.Object.Name}
				found[by] = append(found[by], "package "+op.Package)
			}
		}
	}
	var list []string
	for by, objects := range found {
		what := text.FirstOf(mostNamed, lists.Unique(objects))
		list = append(list, oneLine(by.name+" "+by.of+" ("+what+"): "+by.then))
	}
	slices.Sort(list)
	return list
}

// engine is what applies objects again, and the advice about it.
type engine struct{ name, then string }

// applier is an engine, and what of it applies objects: its name.
type applier struct {
	engine
	of string
}

var (
	argoCD = engine{"Argo CD's Application", "remove spec.syncPolicy.automated, or the next sync applies them again, " +
		"and OLM installs the operator a second time"}
	flux = engine{"Flux's Kustomization", "flux suspend kustomization, or the next reconciliation, a few minutes " +
		"later, applies them again, and OLM installs the operator a second time"}
	fluxHelm = engine{"Flux's HelmRelease", "flux suspend helmrelease, or its next upgrade applies them again"}
	chart    = engine{"the Helm release", "take them out of the chart, or the next helm upgrade applies them again"}
	policy   = engine{"the OperatorPolicy", "set spec.remediationAction to inform, or ACM makes the Subscription " +
		"again at once, and OLM installs the operator a second time"}
)

// marks are the labels and annotations of what applies objects from Git again and again (Argo CD: common/common.go;
// Flux: kustomize-controller and helm-controller, internal/controller; Helm: pkg/action/validate.go;
// config-policy-controller: controllers).
var marks = []struct {
	key string
	by  engine
}{
	{"argocd.argoproj.io/tracking-id", argoCD},
	{"argocd.argoproj.io/instance", argoCD},
	{"kustomize.toolkit.fluxcd.io/name", flux},
	{"helm.toolkit.fluxcd.io/name", fluxHelm},
	{"meta.helm.sh/release-name", chart},
	{"operatorpolicy.policy.open-cluster-management.io/managed", policy},
}

// writers are the field managers of the same.
var writers = map[string]engine{"argocd-controller": argoCD, "kustomize-controller": flux, "helm-controller": fluxHelm}

// bringers returns what applies an object from Git; nothing if nothing is known to. asks is true for what only a person
// or an engine makes.
func (t *tracking) bringers(o *dump.Object, asks bool) (list []applier) {
	for _, m := range marks {
		value := cmp.Or(o.Annotations[m.key], o.Labels[m.key])
		if value == "" || m.by == chart && o.Labels["helm.toolkit.fluxcd.io/name"] != "" {
			continue
		}
		if prefix, ok := strings.CutSuffix(m.key, "name"); ok {
			if ns := cmp.Or(o.Annotations[prefix+"namespace"], o.Labels[prefix+"namespace"]); ns != "" {
				value = ns + "/" + value
			}
		}
		value, _, _ = strings.Cut(value, ":") // a tracking ID goes on with the object
		list = append(list, applier{m.by, value})
	}
	if app := o.Labels[t.label]; app != "" && len(list) == 0 {
		switch known := t.byLabel || t.applications[app]; {
		case known:
			list = append(list, applier{argoCD, app})
		case asks:
			list = append(list, applier{argoCD, app + ", if there is one: its label is on them"})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, m := range o.ManagedFields() {
		if by, ok := writers[m.Manager]; ok {
			return []applier{{by, "of field manager " + m.Manager}}
		}
	}
	return nil
}

// tracking is how Argo CD finds what it applies, as far as the dump has its settings and its Applications.
type tracking struct {
	label        string // by which Argo CD 2 tracks by default; charts and kustomizations give it too
	byLabel      bool   // the settings say so
	applications map[string]bool
}

func (s *State) argoCD() *tracking {
	t := &tracking{label: "app.kubernetes.io/instance"}
	t.applications = lists.Set(s.Dump.OfKind("Application"), func(o *dump.Object) string { return o.Name })
	for _, o := range s.Dump.OfKind("ConfigMap") {
		if o.Name == "argocd-cm" {
			settings := normalize.At(o.Value(), "data")
			t.label = cmp.Or(olm.Text(settings["application.instanceLabelKey"]), t.label)
			t.byLabel = strings.Contains(olm.Text(settings["application.resourceTrackingMethod"]), "label")
			break
		}
	}
	return t
}
