package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// descopedWarnings warns of what an administrator must know before binding the operator.
func descopedWarnings(r *rendering) {
	if scope, reason := bundle.ScopeOf(r.bundle.CSV); scope == bundle.Scoped {
		r.warn(bundle.WarnScope,
			r.bundle.CSVObject.Errorf("spec.installModes", "the operator is not descoped: %s", reason))
	}
	for _, a := range r.accounts() {
		r.warnClusterRules(a)
		r.warnOwnNamespace(a)
	}
	if o := r.options; o.OperatorGroup != "" && len(o.TargetNamespaces) == 0 {
		r.notes = append(r.notes, manifest.Message{Options: []manifest.Option{option.OperatorGroup},
			Msg: fmt.Sprintf("the operator is bound in all namespaces, because OperatorGroup %q is named and has no "+
				"target namespaces", o.OperatorGroup)})
	}
	r.warnStatus()
	r.noteStatus()
	r.noteAggregation()
	r.noteInternal()
}

// boundedRules refuses rules with more combinations than can be looked at.
func boundedRules(r *rendering) {
	for _, a := range r.accounts() {
		n := 0
		for _, rule := range a.requested {
			if n += len(rule.APIGroups) * len(rule.Resources); n > rbac.MaxAtoms {
				r.fail(r.bundle.CSVObject.Errorf(rule.field, "the rules of account %s have more than %d combinations "+
					"of API group and resource", a.name, rbac.MaxAtoms))
			}
		}
	}
}

// warnClusterRules warns of what no RoleBinding grants to an account and the options do not bind, and of resources that
// may be such: of wildcards, of which a RoleBinding grants a part, and of APIs that olmgen does not know. Each warning
// is at the first such rule.
func (r *rendering) warnClusterRules(a *account) {
	if r.boundEverywhere() {
		return
	}
	var cluster, wildcards, unknown clusterOnly
	for _, rule := range a.requested {
		for _, url := range rule.NonResourceURLs {
			cluster.add(rule.field, "the URL "+url, rule.Verbs)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := resource
				if group != "" {
					name += "." + group
				}
				scope := r.bundle.ResourceScope(group, resource)
				switch _, beyond := r.bindable(group, resource, rule.Verbs, a.rules); {
				case len(beyond) > 0 && scope == bundle.ClusterScoped:
					cluster.add(rule.field, name, beyond)
				case len(beyond) > 0:
					wildcards.add(rule.field, name, beyond)
				case scope == bundle.ScopeUnknown:
					unknown.add(rule.field, name, rule.Verbs)
				}
			}
		}
	}
	if !r.options.Descoped.BindCluster {
		r.warnClusterRule(a, cluster, "is", "", option.BindCluster)
		r.warnClusterRule(a, wildcards, "may be", "if so, ", option.BindCluster)
	}
	r.warnClusterRule(a, unknown, "may be", "if so, ", option.BindAll)
}

func (r *rendering) warnClusterRule(a *account, c clusterOnly, is, so string, option manifest.Option) {
	if len(c.names) == 0 {
		return
	}
	names := lists.Map(c.names,
		func(name string) string { return fmt.Sprintf("%s (%s)", name, strings.Join(c.verbs[name], ", ")) })
	r.warn(bundle.WarnClusterRules, about(r.bundle.CSVObject.Errorf(c.field,
		"account %s asks for what %s cluster-scoped, %s: %sonly a ClusterRoleBinding grants that, no RoleBinding, and "+
			"without one the operator may do none of it", a.name, is, text.FirstOf(maxNames, names), so), option))
}

// maxNames is how many names a warning lists. olmgen permissions shows all.
const maxNames = 10

// clusterOnly holds what rules ask for and only a ClusterRoleBinding grants.
type clusterOnly struct {
	field string // of the first rule
	names []string
	verbs map[string][]string // by name
}

func (c *clusterOnly) add(field, name string, verbs []string) {
	if c.verbs == nil {
		c.field, c.verbs = field, map[string][]string{}
	}
	if _, known := c.verbs[name]; !known {
		c.names = append(c.names, name)
	}
	for _, v := range verbs {
		c.verbs[name] = lists.Add(c.verbs[name], v)
	}
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
				"bind it in %s too", a.name, r.options.Namespace), option.BindNamespaces))
	}
}

// updates reports whether a rule lets its subject update a resource.
func updates(rules []rbacv1.PolicyRule, group, resource string) bool {
	return slices.ContainsFunc(rules, func(p rbacv1.PolicyRule) bool {
		return rbac.Has(p.APIGroups, group) && rbac.HasResource(p.Resources, resource) &&
			(rbac.Has(p.Verbs, "update") || rbac.Has(p.Verbs, "patch"))
	})
}

// updatesStatus returns the owned APIs whose status an account may update in all namespaces.
func (r *rendering) updatesStatus() (names []string) {
	for _, api := range r.apis {
		for _, a := range r.accounts() {
			if !r.withoutStatus(api) && updates(r.statusOf(a), api.Group, api.Plural+"/status") {
				names = lists.Add(names, api.Plural+"."+api.Group)
			}
		}
	}
	return names
}

// warnStatus warns of owned APIs whose status the operator may not update. It cannot tell users there that it may not
// work in their namespace.
func (r *rendering) warnStatus() {
	var status, work []rbacv1.PolicyRule
	for _, a := range r.accounts() {
		status, work = append(status, r.statusOf(a)...), append(work, a.rules...)
	}
	owned := r.csv.Spec.CustomResourceDefinitions.Owned
	for i, a := range r.apis {
		inCRD := r.withoutStatus(a)
		if !inCRD && updates(status, a.Group, a.Plural+"/status") ||
			inCRD && r.boundEverywhere() && updates(work, a.Group, a.Plural) ||
			slices.ContainsFunc(r.apis[:i],
				func(b olm.API) bool { return a.Group == b.Group && a.Plural == b.Plural }) {
			continue
		}
		field := "spec.apiservicedefinitions"
		if n := slices.IndexFunc(owned, func(d v1alpha1.CRDDescription) bool { return d.Name == a.CRD }); a.CRD != "" &&
			n >= 0 {
			field = fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", n)
		}
		why := "the CSV asks for no update of it"
		if inCRD {
			why = "its CRD has no status subresource, so a rule on it grants nothing, and "
			if updates(work, a.Group, a.Plural) {
				why += "the right to update the API itself is for bound namespaces"
			} else {
				why += "the CSV asks for no update of the API itself"
			}
		}
		r.warn(bundle.WarnStatus, r.bundle.CSVObject.Errorf(field,
			"no rule that is bound in all namespaces lets the operator update the status of %s.%s: %s", a.Plural,
			a.Group, why))
	}
}

// noteStatus names the APIs whose status the plan opens to an account and the CSV does not ask for.
func (r *rendering) noteStatus() {
	for _, account := range r.accounts() {
		var names []string
		asked, granted := r.statusRules(account.rules), r.statusOf(account)
		for _, a := range r.apis {
			inCSV, _ := validation.Covers(asked, withStatus(nil, a))
			inPlan, _ := validation.Covers(granted, withStatus(nil, a))
			if inPlan && !inCSV {
				names = lists.Add(names, a.Plural+"."+a.Group)
			}
		}
		if len(names) > 0 {
			r.notes = append(r.notes, manifest.Message{Options: []manifest.Option{option.Status},
				Msg: fmt.Sprintf("account %s may get and update the status of %s in all namespaces, as the descoping "+
					"plan expects: its CSV asks for less", account.name, strings.Join(names, ", "))})
		}
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

const (
	envWatch      = "WATCH_NAMESPACE" // operator-sdk's convention; empty means all namespaces
	pathTargets   = "metadata.annotations['" + olm.AnnotationTargets + "']"
	pathNamespace = "metadata.namespace"
)

// watchAllNamespaces makes a descoped operator watch all namespaces where it is told by WATCH_NAMESPACE or by OLM's
// annotation, which is empty here, and says so.
func watchAllNamespaces(r *rendering) {
	deployments := r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		at := fmt.Sprintf("spec.install.spec.deployments[%d].spec.template.spec.", i)
		for _, list := range []struct {
			name       string
			containers []corev1.Container
		}{{"initContainers", pod.InitContainers}, {"containers", pod.Containers}} {
			for j := range list.containers {
				r.watchAll(&list.containers[j], fmt.Sprintf("%s%s[%d].env", at, list.name, j),
					list.name == "containers")
			}
		}
		for j, v := range pod.Volumes {
			if slices.ContainsFunc(olm.DownwardFiles(v.VolumeSource),
				func(f corev1.DownwardAPIVolumeFile) bool { return readsTargets(f.FieldRef) }) {
				r.warnWatch(fmt.Sprintf("%svolumes[%d]", at, j),
					"volume %s holds the annotation %s, which is empty, for all namespaces", v.Name,
					olm.AnnotationTargets)
			}
		}
	}
}

// watchAll sets WATCH_NAMESPACE of one container. The configuration of a Subscription, which goes to containers only,
// comes later and wins.
func (r *rendering) watchAll(c *corev1.Container, field string, configured bool) {
	var config corev1.EnvVar
	if configured = configured && r.options.Config != nil; configured {
		config = lists.Find(r.options.Config.Env, func(e corev1.EnvVar) bool { return e.Name == envWatch })
		configured = config.Name != ""
	}
	for i := range c.Env {
		e := &c.Env[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		targets := e.ValueFrom != nil && readsTargets(e.ValueFrom.FieldRef)
		switch {
		case e.Name == envWatch && configured && r.watchesOthers(config):
			r.warnWatch(at, "container %s reads %s: the Subscription's config says %s, and the operator is bound in %s",
				c.Name, e.Name, config.Value, strings.Join(r.bound(), ","))
		case e.Name == envWatch && configured:
			r.warnWatch(at, "container %s reads %s: it is set as the Subscription's config says, not to all namespaces",
				c.Name, e.Name)
		case e.Name == envWatch && e.ValueFrom == nil && e.Value == "":
		case e.Name == envWatch && !targets:
			r.warnWatch(at, "container %s reads %s: it is set to all namespaces (empty) and was %s", c.Name, e.Name,
				envText(e))
			*e = corev1.EnvVar{Name: e.Name}
		case targets:
			r.warnWatch(at, "container %s reads %s in %s: it is empty, for all namespaces", c.Name,
				olm.AnnotationTargets, e.Name)
		}
	}
}

// watchesOthers reports whether a configured variable names other namespaces than those where the operator is bound.
func (r *rendering) watchesOthers(v corev1.EnvVar) bool {
	bound := r.bound()
	return len(bound) > 0 && !slices.Contains(bound, allNamespaces) && v.Value != "" &&
		!slices.Equal(lists.SortedUnique(bound), lists.SortedUnique(strings.Split(v.Value, ",")))
}

func readsTargets(f *corev1.ObjectFieldSelector) bool { return f != nil && f.FieldPath == pathTargets }

func envText(e *corev1.EnvVar) string {
	switch f := e.ValueFrom; {
	case f == nil:
		return fmt.Sprintf("%q", e.Value)
	case f.FieldRef != nil && f.FieldRef.FieldPath == pathNamespace:
		return "the operator's own namespace"
	case f.FieldRef != nil:
		return f.FieldRef.FieldPath
	}
	return "taken from elsewhere"
}

func (r *rendering) warnWatch(field, format string, args ...any) {
	r.warn(bundle.WarnWatchNamespace, r.bundle.CSVObject.Errorf(field, format, args...))
}
