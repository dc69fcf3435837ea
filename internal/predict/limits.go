package predict

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// What Succeeded may depend on, and Check does not look at: docs/check.md, Limits.
const (
	limitPods    = "pods"
	limitSchemas = "schemas of new CRDs"
	limitKube    = "minKubeVersion"
	limitNative  = "native APIs"
	limitRoles   = "roles that are not in the tree"
	limitHooks   = "admission webhooks"
	limitAPI     = "what the API server refuses"
)

var limits = []string{limitPods, limitSchemas, limitKube, limitNative, limitRoles, limitHooks, limitAPI}

// limits returns what nobody looked at to say that a CSV succeeds. A cluster has looked at all.
func (sim *simulation) limits(v *csv) []string {
	if v.phase != v1alpha1.CSVPhaseSucceeded || v.observed && !v.moved {
		return nil
	}
	unknownCRD := func(d v1alpha1.CRDDescription) bool { return sim.CRDs[d.Name] == nil }
	least, _ := v.Get("spec", "minKubeVersion")
	target := sim.options.Target
	met := map[string]bool{
		limitPods:    len(v.deployments()) > 0,
		limitSchemas: v.sub != nil && slices.ContainsFunc(v.CRDs.Owned, unknownCRD),
		limitKube:    least != nil && least != "" && target.Kube == nil && target.OpenShift == nil,
		limitNative:  v.Len("spec", "nativeAPIs") > 0 && !sim.Whole,
		limitRoles:   v.sub == nil && sim.requirements(v).judged && !sim.rolesKnown(v),
		limitHooks:   sim.hooks,
		limitAPI:     v.unasked,
	}
	return lists.Filter(limits, func(limit string) bool { return met[limit] })
}

// rolesKnown reports whether the tree has all roles that the bindings of the accounts of a CSV name.
func (sim *simulation) rolesKnown(v *csv) bool {
	var all []v1alpha1.StrategyDeploymentPermissions
	for _, field := range []string{"permissions", "clusterPermissions"} {
		var list []v1alpha1.StrategyDeploymentPermissions
		if v.Field(&list, "spec", "install", "spec", field) == nil {
			all = append(all, list...)
		}
	}
	return !slices.ContainsFunc(all, func(p v1alpha1.StrategyDeploymentPermissions) bool {
		_, complete := sim.RBAC.OLMRules(rbac.Account{Namespace: v.Namespace, Name: p.ServiceAccountName}, v.Namespace)
		return !complete
	})
}

// admits reports whether an object has admission webhooks.
func admits(o *manifest.Object) bool { return o.Group() == "admissionregistration.k8s.io" }

// notLookedAt returns what Succeeded may depend on, and which operators it is about; "" if there is nothing.
func (r *Report) notLookedAt() string {
	of := map[string][]string{}
	for _, v := range r.CSVs {
		for _, limit := range v.NotLookedAt {
			of[limit] = append(of[limit], v.Name)
		}
	}
	about := func(limit string) string {
		if names := of[limit]; len(names) != 1 {
			return text.Count(len(names), "operator")
		}
		return of[limit][0]
	}
	met := lists.Filter(limits, func(limit string) bool { return len(of[limit]) > 0 })
	return strings.Join(lists.Map(lists.Groups(met, about), func(same []string) string {
		return strings.Join(same, ", ") + " of " + about(same[0])
	}), "; ")
}
