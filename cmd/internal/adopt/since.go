package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// SinceRules explain the findings of Since.
var SinceRules = []findings.Rule{{ID: "moved", Text: "OLM or a person has changed an operator since the dump"}}

// Since returns what has changed of the adopted operators since an earlier dump: ClusterServiceVersions, Subscriptions,
// InstallPlans and OperatorGroups that are new, gone, made anew or written. A plan is of the moment of its dump.
func (s *State) Since(earlier *State) (list []findings.Finding) {
	now, was := s.steered(earlier), earlier.steered(earlier)
	for _, o := range earlier.Dump.Objects {
		if was[o.Key()] == nil {
			continue
		}
		n := now[o.Key()]
		var what string
		switch {
		case n == nil:
			what = "is gone"
		case n.UID != o.UID:
			what = "was made anew"
		case n.ResourceVersion != o.ResourceVersion:
			what = "was changed: " + o.ResourceVersion + " is now " + n.ResourceVersion
			if a, b := phase(o), phase(n); a != b {
				what = "was " + a + " and is " + b
			}
		default:
			continue
		}
		list = append(list, movedSince(cmp.Or(n, o), what))
	}
	for _, o := range s.Dump.Objects {
		if now[o.Key()] != nil && was[o.Key()] == nil {
			list = append(list, movedSince(o, "is new"))
		}
	}
	findings.Sort(list)
	return list
}

func movedSince(o *dump.Object, what string) findings.Finding {
	return findings.Finding{Rule: "moved", Level: findings.Error, File: o.File, Line: o.Line, Object: o.Identity(),
		Message: what + " since the dump", Hint: "make a new plan of a new dump"}
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
			manifest.CopyValue(value["status"], look)
			look(normalize.At(value, "metadata")["creationTimestamp"])
		}
	}
	return at
}

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
	return manifest.WithHint(fmt.Errorf("the dump has no %s, which the plan is about", text.Or(names)),
		"add the output of: "+dump.Command(kinds...))
}

// bringers names what would bring the Subscriptions and OperatorGroups of operators back, and what it would bring.
func (s *State) bringers(operators []*Operator) (list []string) {
	for _, op := range operators {
		objects := []*dump.Object{op.Group.Object}
		if op.Subscription != nil {
			objects = append(objects, s.Dump.Get(v1alpha1.SubscriptionKind, op.Group.Namespace, op.Subscription.Name))
		}
		for _, o := range objects {
			if by := bringer(o); by != "" {
				list = lists.Add(list, by+" of "+o.Identity())
			}
		}
	}
	return list
}

// marks are the labels and annotations of what applies objects from Git again and again (Argo CD: common/common.go;
// Flux: kustomize-controller and helm-controller, internal/controller; config-policy-controller: controllers).
var marks = []struct{ key, by string }{
	{"argocd.argoproj.io/tracking-id", "Argo CD's Application "},
	{"argocd.argoproj.io/instance", "Argo CD's Application "},
	{"kustomize.toolkit.fluxcd.io/name", "Flux's Kustomization "},
	{"helm.toolkit.fluxcd.io/name", "Flux's HelmRelease "},
	{"operatorpolicy.policy.open-cluster-management.io/managed", "the OperatorPolicy "},
}

// writers are the field managers of the same.
var writers = map[string]string{"argocd-controller": "Argo CD", "kustomize-controller": "Flux",
	"helm-controller": "Flux"}

// bringer returns what applies an object from Git; "" if nothing is known to.
func bringer(o *dump.Object) string {
	for _, m := range marks {
		value := cmp.Or(o.Annotations[m.key], o.Labels[m.key])
		if value == "" {
			continue
		}
		if prefix, ok := strings.CutSuffix(m.key, "/name"); ok {
			value = cmp.Or(o.Annotations[prefix+"/namespace"], o.Labels[prefix+"/namespace"]) + "/" + value
		}
		value, _, _ = strings.Cut(value, ":") // a tracking ID goes on with the object
		return m.by + oneLine(value)
	}
	for _, m := range o.ManagedFields() {
		if by := writers[m.Manager]; by != "" {
			return by
		}
	}
	return ""
}
