package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/manifest"
)

const (
	ruleInVain      = "cluster-scoped-permissions"
	ruleRoleMissing = "role-missing"
)

// somewhere stands for the namespace of an installation, which may be any.
const somewhere = "operators"

// inVain reports permissions of the ClusterServiceVersion that no Role grants: those on cluster-scoped resources. Only
// in the mode AllNamespaces OLM makes ClusterRoles of permissions (OLM: pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC).
func inVain(b *bundle.Bundle) (list []Finding, err error) {
	level := findings.Warning
	if olm.Supports(b.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeAllNamespaces) {
		level = findings.Note
	}
	if !slices.ContainsFunc(b.CSV.Spec.InstallModes, func(m v1alpha1.InstallMode) bool {
		return m.Supported && m.Type != v1alpha1.InstallModeTypeAllNamespaces
	}) {
		return nil, nil
	}
	scopes := danger.NewScopes()
	for _, c := range b.CRDs {
		if err := scopes.AddCRD(c.Object); err != nil {
			return nil, err
		}
	}
	spec, held := b.CSV.Spec.InstallStrategy.StrategySpec, map[string][]rbacv1.PolicyRule{}
	for _, p := range spec.ClusterPermissions {
		held[p.ServiceAccountName] = append(held[p.ServiceAccountName], p.Rules...)
	}
	var atoms rbac.Counter
	for i, p := range spec.Permissions {
		field, names := "", []string{}
		for k, r := range p.Rules {
			at := fmt.Sprintf("spec.install.spec.permissions[%d].rules[%d]", i, k)
			if err := atoms.Add(r); err != nil {
				return nil, b.CSVObject.Errorf(at, "%v", err)
			}
			for _, a := range rbac.Atoms(r) {
				name := olm.Kind{Group: a.Group, Plural: a.Resource}.Resource()
				if a.IsURL || scopes.RiskOf(a, somewhere) != danger.NoEffect || slices.Contains(names, name) ||
					rbac.Covers(held[p.ServiceAccountName], rbac.Rules([]rbac.Atom{a})[0]) {
					continue
				}
				if names = append(names, name); field == "" {
					field = at
				}
			}
		}
		if len(names) > 0 {
			e := b.CSVObject.Errorf(field, "account %s asks for cluster-scoped resources, which its Roles in the "+
				"target namespaces do not grant: %s", p.ServiceAccountName, text.FirstOf(10, names))
			e.Tip = "move them to clusterPermissions"
			list = append(list, finding(ruleInVain, level, e))
		}
	}
	return list, nil
}

// bindings reports bindings of the bundle that give its accounts nothing. OLM puts RoleBindings into the namespace of
// the installation, and changes neither the subjects nor the role (OLM: pkg/controller/operators/catalog/operator.go,
// ExecutePlan). It names the Roles of permissions by a hash (OLM: pkg/controller/registry/resolver/rbac.go).
func bindings(b *bundle.Bundle) (list []Finding, err error) {
	var shipped rbac.Objects
	for _, o := range b.Others {
		if rbac.Relevant(bundle.GroupOf(o), o.Kind) {
			if err := shipped.Add(o, somewhere); err != nil {
				return nil, err
			}
		}
	}
	accounts, suggested := running(b), b.CSV.Annotations[olm.AnnotationSuggestedNamespace]
	for _, x := range shipped.Bindings {
		if x.Role.Kind == rbac.KindRole && !slices.ContainsFunc(b.Others, func(o *manifest.Object) bool {
			return o.Kind == rbac.KindRole && o.Name == x.Role.Name
		}) {
			list = append(list, finding(ruleRoleMissing, findings.Warning, x.Object.Errorf("roleRef.name", "the "+
				"bundle has no Role %s: OLM puts the binding into the namespace of the installation, and names the "+
				"Roles of permissions by a hash", x.Role.Name)))
		}
		for i := range x.Object.Len("subjects") {
			at := func(name string) string {
				v, _ := x.Object.Get("subjects", fmt.Sprint(i), name)
				s, _ := v.(string)
				return s
			}
			account, namespace := at("name"), at("namespace")
			if at("kind") != rbacv1.ServiceAccountKind || !slices.Contains(accounts, account) || namespace == "" ||
				namespace == suggested {
				continue
			}
			e := x.Object.Errorf(fmt.Sprintf("subjects[%d].namespace", i), "OLM leaves the namespace %q as it is: "+
				"account %s of the operator gets nothing by the binding, unless the operator is installed in that "+
				"namespace", namespace, account)
			e.Tip = "move the rules to permissions or clusterPermissions of the ClusterServiceVersion"
			list = append(list, finding(bundle.WarnForeignSubject, findings.Warning, e))
		}
	}
	return list, nil
}

// running returns the names of the accounts that pods of the operator run with, as far as the bundle shows them: those
// of its Deployments, and those that it ships. One that only has permissions may stand for that of another operator.
func running(b *bundle.Bundle) []string {
	names := lists.Map(b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) string {
			return cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
		})
	for _, o := range b.Others {
		if o.Kind == rbacv1.ServiceAccountKind && bundle.GroupOf(o) == "" {
			names = append(names, o.Name)
		}
	}
	return names
}
