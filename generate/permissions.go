package generate

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

func (r *rendering) subject(account string) []views.Subject {
	return []views.Subject{{Name: account, Namespace: r.options.Namespace}}
}

// serviceAccounts makes the accounts that the CSV's permissions name, except default, which is always there (spec 4.1).
func serviceAccounts(r *rendering) {
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		if p.ServiceAccountName != "default" {
			r.serviceAccount(p.ServiceAccountName)
		}
	}
}

// serviceAccount makes one account. Where the bundle ships it, stable names keep the shipped one; OLM's own account
// replaces it and takes over its annotations and secrets (OLM: pkg/controller/operators/catalog/step_ensurer.go).
func (r *rendering) serviceAccount(name string) {
	id := Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: r.options.Namespace, Name: name}
	view := views.ServiceAccount{Ownership: views.Ownership{Managed: r.names.olm()}, Name: id.Name,
		Namespace: id.Namespace}
	if o := r.shipped("", "ServiceAccount", id.Name); o != nil {
		if !r.names.olm() {
			return
		}
		v, err := o.Value()
		r.fail(err)
		view.Secrets, _ = v["secrets"].([]any)
		meta, _ := v["metadata"].(map[string]any)
		view.Annotations = olm.Texts(meta["annotations"])
	}
	r.author("serviceaccount.yaml", id, view)
}

// permissions makes the Roles, ClusterRoles and bindings that an InstallPlan creates (spec 4.1). A descoped operator
// has the Roles that grant something, "to run within [its] installation namespace at installtime" (plan), alone.
func permissions(r *rendering) {
	descoped := r.options.Profile == ProfileDescoped
	for _, g := range r.grants {
		if !descoped || len(g.Rules) > 0 {
			r.role(g, r.options.Namespace, r.names.roleLabels(g), r.names.bindingLabels(g, "Role"))
		}
	}
	if descoped {
		return
	}
	for _, g := range r.cluster {
		r.role(g, "", r.names.roleLabels(g), r.names.bindingLabels(g, "ClusterRole"))
	}
}

// Access returns what an InstallPlan makes of the permissions of a ClusterServiceVersion in a namespace: accounts, then
// roles and bindings, with OLM's names (spec 4.1).
func Access(csv *v1alpha1.ClusterServiceVersion, namespace string) ([]*manifest.Object, error) {
	r := asOLM(csv, Options{Namespace: namespace})
	spec := csv.Spec.InstallStrategy.StrategySpec
	r.grants, r.cluster = r.names.grants(spec.Permissions, false), r.names.grants(spec.ClusterPermissions, true)
	return r.only(serviceAccounts, permissions)
}

// Strategy returns what OLM makes when it installs a ClusterServiceVersion in a namespace: Services and rights for what
// serves, Deployments with the configuration of a Subscription, which may be nil, APIServices, and configurations of
// webhooks (spec 6 and 7).
func Strategy(csv *v1alpha1.ClusterServiceVersion, namespace string, config *v1alpha1.SubscriptionConfig) (
	[]*manifest.Object, error) {
	r := asOLM(csv, Options{Namespace: namespace, Config: config})
	r.serving = servings(r.csv, NamesOLM)
	return r.only(servingObjects, deployments, apiServices, webhooks)
}

// asOLM is a rendering of what OLM makes of a ClusterServiceVersion in a global group.
func asOLM(csv *v1alpha1.ClusterServiceVersion, o Options) *rendering {
	csv = csv.DeepCopy()
	applyDefaults(csv)
	b := &bundle.Bundle{CSV: csv, CSVObject: manifest.New(map[string]any{})} // errors name it
	o.Names, o.Profile = NamesOLM, ProfileOLM
	return &rendering{bundle: b, csv: csv, options: o, targets: []string{allNamespaces}, keys: map[string]int{},
		merged: map[*manifest.Object]bool{}, names: newNames(b, csv, o, nil),
		certs: certificates{provider: CertsOLM, namespace: o.Namespace}}
}

// only returns the objects of some generators, in their order.
func (r *rendering) only(generators ...func(*rendering)) ([]*manifest.Object, error) {
	for _, g := range generators {
		if g(r); r.err != nil {
			return nil, r.err
		}
	}
	return (&Result{Objects: r.objects}).Manifests()
}

// role makes the role of a grant and its binding, in a namespace or, without one, in the cluster.
func (r *rendering) role(g grant, namespace string, labels, bindingLabels views.Ownership) {
	r.roleAndBinding(namespace, g.name, rbac.Values(g.Rules), labels, bindingLabels, r.subject(g.ServiceAccountName))
}

// roleAndBinding makes a Role and its RoleBinding or, without a namespace, a ClusterRole and its ClusterRoleBinding.
func (r *rendering) roleAndBinding(namespace, name string, rules []any, labels, bindingLabels views.Ownership,
	subjects []views.Subject) {
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role", Namespace: namespace, Name: name}
	if namespace == "" {
		id.Kind = "ClusterRole"
	}
	r.author(strings.ToLower(id.Kind)+".yaml", id,
		views.Role{Ownership: labels, Name: name, Namespace: namespace, Rules: rules})
	id.Kind += "Binding"
	r.author(strings.ToLower(id.Kind)+".yaml", id, views.Binding{Ownership: bindingLabels, Name: name,
		Namespace: namespace, Role: name, Subjects: subjects})
}

// promotedPermissions lifts the namespaced permissions to the cluster in a global group, unless the operator holds them
// there already. One unmet rule promotes every entry; each gets the right to see namespaces (spec 4.3).
func promotedPermissions(r *rendering) {
	if !r.global() || r.satisfied() {
		return
	}
	for _, g := range r.grants {
		lifted := append(rbac.Values(g.Rules),
			map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces"},
				"verbs": text.Values(verbs["view"])})
		// OLM keeps the labels of the Role, so the hashes stay those of the Role and of its binding
		r.roleAndBinding("", r.names.promoted(g), lifted, r.names.roleLabels(g), r.names.bindingLabels(g, "Role"),
			r.subject(g.ServiceAccountName))
	}
}

// tenantPermissions copies the Roles and bindings into every other target namespace, unless the operator holds the
// rights there already (spec 4.4). The bindings still name the account in the operator's namespace.
func tenantPermissions(r *rendering) {
	if r.global() || r.satisfied() {
		return
	}
	for _, ns := range r.watched() {
		for _, g := range r.grants {
			labels, bindingLabels := r.names.roleLabels(g), r.names.bindingLabels(g, "Role")
			for _, l := range []*views.Ownership{&labels, &bindingLabels} {
				if !r.names.ownerless() {
					l.CopiedFrom = r.options.Namespace
				}
				if l.Owner != nil {
					l.Owner.Namespace = ns
				}
			}
			r.role(g, ns, labels, bindingLabels)
		}
	}
}

// satisfied reports whether the operator's accounts hold all their permissions everywhere in the cluster, by the
// ClusterRoles and ClusterRoleBindings of the CSV and of the bundle. A live OLM asks at some moment of the
// installation; here all RBAC counts as being there first (spec 4.2; docs/conformance.md).
func (r *rendering) satisfied() bool {
	shipped := shippedRBAC(r.bundle.Others, r.options.Namespace)
	held := map[string][]rbacv1.PolicyRule{}
	for _, g := range r.cluster {
		held[g.ServiceAccountName] = append(held[g.ServiceAccountName], g.Rules...)
	}
	for _, g := range slices.Concat(r.grants, r.cluster) {
		rules, _ := shipped.OLMRules(rbac.Account{Namespace: r.options.Namespace, Name: g.ServiceAccountName}, "")
		rules = append(rules, held[g.ServiceAccountName]...)
		for _, rule := range g.Rules {
			if !rbac.OLMCovers(rules, rule) {
				return false
			}
		}
	}
	return true
}

// metaOperator returns the permission with which an operator can deploy other operators in the whole cluster, or "". It
// looks at what the CSV grants in the cluster, which in a global OperatorGroup includes its namespaced permissions, and
// at what the bundle's own ClusterRoleBindings grant.
func metaOperator(b *bundle.Bundle, mode v1alpha1.InstallModeType, namespace string) string {
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	permissions := spec.ClusterPermissions
	if mode == v1alpha1.InstallModeTypeAllNamespaces {
		permissions = slices.Concat(permissions, spec.Permissions)
	}
	shipped := shippedRBAC(b.Others, namespace)
	for _, p := range permissions {
		rules, _ := shipped.OLMRules(rbac.Account{Namespace: namespace, Name: p.ServiceAccountName}, "")
		var asked []rbacv1.PolicyRule
		for _, o := range permissions {
			if o.ServiceAccountName == p.ServiceAccountName {
				asked = append(asked, o.Rules...)
			}
		}
		if what := rbac.DeploysOperators(append(asked, rules...)); what != "" {
			return "ServiceAccount " + p.ServiceAccountName + " may " + what
		}
	}
	for _, binding := range shipped.Bindings {
		if role := shipped.Bound(binding); role != nil && binding.Clusterwide() {
			if what := rbac.DeploysOperators(role.PolicyRules()); what != "" {
				return "ClusterRoleBinding " + binding.Object.Name + " lets " + what
			}
		}
	}
	return ""
}

// shippedRBAC reads the RBAC objects that a bundle ships, as the cluster would have them. What the API server refuses
// grants nothing.
func shippedRBAC(shipped []*manifest.Object, namespace string) *rbac.Objects {
	x := &rbac.Objects{}
	for _, o := range shipped {
		if rbac.Relevant(install.GroupOf(o), o.Kind) {
			_ = x.Add(o, namespace) // the error is a warning of the bundle's
		}
	}
	x.Aggregate()
	return x
}
