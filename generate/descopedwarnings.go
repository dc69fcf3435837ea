package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// descopedWarnings warns of what an administrator must know before binding the operator.
func descopedWarnings(r *rendering) error {
	if scope, reason := bundle.ScopeOf(r.bundle.CSV); scope == bundle.Scoped {
		r.warn(bundle.WarnScope,
			r.bundle.CSVObject.Errorf("spec.installModes", "the operator is not descoped: %s", reason))
	}
	for _, a := range r.accounts() {
		if err := r.warnClusterRules(a); err != nil {
			return err
		}
		r.warnOwnNamespace(a)
	}
	r.warnStatus()
	r.noteStatus()
	r.noteAggregation()
	r.noteInternal()
	return nil
}

// warnClusterRules warns of the rules of an account that only a ClusterRoleBinding grants: once of cluster-scoped
// resources and URLs, and once of resources that may be cluster-scoped. Each warning is at the first such rule.
func (r *rendering) warnClusterRules(a *account) error {
	if r.boundEverywhere() {
		return nil
	}
	var cluster, unknown clusterOnly
	seen := map[string]bool{}
	n := 0
	for _, rule := range a.requested {
		if n += len(rule.APIGroups) * len(rule.Resources); n > rbac.MaxAtoms {
			return r.bundle.CSVObject.Errorf(rule.field, "the rules of account %s have more than %d combinations of "+
				"API group and resource", a.name, rbac.MaxAtoms)
		}
		for _, url := range rule.NonResourceURLs {
			cluster.add(rule, "the URL "+url, seen)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := resource
				if group != "" {
					name += "." + group
				}
				switch r.bundle.ResourceScope(group, resource) {
				case bundle.ClusterScoped:
					if group != "" || resource != "namespaces" || beyondOneNamespace(rule.Verbs) {
						cluster.add(rule, name, seen)
					}
				case bundle.ScopeUnknown:
					unknown.add(rule, name, seen)
				}
			}
		}
	}
	say := func(x clusterOnly, is, so string) {
		if len(x.names) > 0 {
			r.warn(bundle.WarnClusterRules, about(r.bundle.CSVObject.Errorf(
				x.field,
				"account %s asks for what %s cluster-scoped, %s: "+
					"%sonly a ClusterRoleBinding grants that, no RoleBinding",
				a.name,
				is,
				text.FirstOf(maxNames, x.names),
				so,
			), OptionBindAll))
		}
	}
	say(cluster, "is", "")
	say(unknown, "may be", "if so, ")
	return nil
}

// maxNames is how many names a warning lists. olmgen permissions shows all.
const maxNames = 10

// clusterOnly holds what rules ask for and only a ClusterRoleBinding grants.
type clusterOnly struct {
	field string // of the first rule
	names []string
}

func (b *clusterOnly) add(rule requestedRule, name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	if b.names == nil {
		b.field = rule.field
	}
	b.names = append(b.names, name)
}

// beyondOneNamespace reports whether verbs on Namespaces need more than a RoleBinding in a namespace. The API server
// takes a request for one Namespace as a request in that namespace (Kubernetes:
// staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go).
func beyondOneNamespace(verbs []string) bool {
	return slices.ContainsFunc(verbs,
		func(v string) bool { return !slices.Contains([]string{"get", "update", "patch", "delete"}, v) })
}

// warnOwnNamespace warns of an account that elects a leader, most likely in the operator's own namespace, and has no
// permissions there.
func (r *rendering) warnOwnNamespace(a *account) {
	if r.boundEverywhere() || slices.Contains(r.bound(), r.options.Namespace) {
		return
	}
	own := slices.ContainsFunc(r.grants,
		func(g grant) bool { return g.ServiceAccountName == a.name && len(g.Rules) > 0 })
	i := slices.IndexFunc(a.requested, func(k requestedRule) bool {
		return rbac.Has(k.APIGroups, "coordination.k8s.io") && rbac.HasResource(k.Resources, "leases") &&
			(rbac.Has(k.Verbs, "create") || rbac.Has(k.Verbs, "update"))
	})
	if !own && i >= 0 {
		r.warn(bundle.WarnOwnNamespace, about(r.bundle.CSVObject.Errorf(a.requested[i].field,
			"account %s has no permissions in the operator's own namespace, where it most likely elects a leader: "+
				"bind it in %s too",
			a.name, r.options.Namespace), OptionBindNamespaces))
	}
}

// warnStatus warns of owned APIs whose status the operator may not update. It cannot tell users there that it may not
// work in their namespace.
func (r *rendering) warnStatus() {
	var status []rbacv1.PolicyRule
	for _, a := range r.accounts() {
		status = append(status, r.statusOf(a)...)
	}
	owned := r.csv.Spec.CustomResourceDefinitions.Owned
	for i, a := range r.apis {
		if slices.ContainsFunc(status, func(p rbacv1.PolicyRule) bool {
			return slices.Contains(p.APIGroups, a.Group) && slices.Contains(p.Resources, a.Plural+"/status") &&
				(rbac.Has(p.Verbs, "update") || rbac.Has(p.Verbs, "patch"))
		}) || slices.ContainsFunc(r.apis[:i], func(b olm.API) bool {
			return a.Group == b.Group && a.Plural == b.Plural
		}) {
			continue
		}
		field := "spec.apiservicedefinitions"
		if n := slices.IndexFunc(owned, func(d v1alpha1.CRDDescription) bool { return d.Name == a.CRD }); a.CRD != "" &&
			n >= 0 {
			field = fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", n)
		}
		why := "the CSV asks for no update of it"
		if r.withoutStatus(a) {
			why = "its CRD has no status subresource, and an update of the API itself is for bound namespaces"
		}
		r.warn(bundle.WarnStatus, r.bundle.CSVObject.Errorf(field,
			"no rule that is bound in all namespaces lets the operator update the status of %s.%s: %s", a.Plural,
			a.Group, why))
	}
}

// noteStatus names the APIs whose status the plan opens and the CSV does not ask for.
func (r *rendering) noteStatus() {
	var names []string
	for _, a := range r.apis {
		for _, account := range r.accounts() {
			asked, _ := validation.Covers(r.statusRules(account.rules), withStatus(nil, a))
			granted, _ := validation.Covers(r.statusOf(account), withStatus(nil, a))
			if name := a.Plural + "." + a.Group; granted && !asked && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) > 0 {
		r.notes = append(r.notes,
			manifest.Message{Options: []Option{OptionStatus}, Msg: "the operator may get and update the status of " +
				strings.Join(names, ", ") + " in all namespaces, as the descoping plan expects: its CSV asks for less"})
	}
}

// withoutStatus reports whether the bundle has the CRD of an API and the CRD has no status subresource.
func (r *rendering) withoutStatus(a olm.API) bool {
	c := r.bundle.CRD(a.CRD)
	if c == nil {
		return false
	}
	status := func(path ...string) bool {
		v, err := c.Get(append(path, "subresources", "status")...)
		return err != nil || v != nil
	}
	if status("spec") {
		return false
	}
	for i, v := range c.Versions {
		if v.Name == a.Version {
			return !status("spec", "versions", fmt.Sprint(i))
		}
	}
	return true
}
