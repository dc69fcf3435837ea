// Package access asks an API server who may do what, to compare a cluster where OLM installed a bundle with one where
// olmgen's tree was applied.
package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
)

// Question is one that a SubjectAccessReview asks: about a resource in a namespace (or all), or about a path.
type Question struct {
	Namespace, Group, Resource, Subresource, Name, Verb string
	Path                                                string
}

func (q Question) String() string {
	if q.Path != "" {
		return q.Verb + " " + q.Path
	}
	resource, where := q.Resource, "in all namespaces"
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	if q.Group != "" {
		resource += "." + q.Group
	}
	if q.Namespace != "" {
		where = "in " + q.Namespace
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", q.Verb, resource, q.Name, where)), " ")
}

func (q Question) review() authorizationv1.SubjectAccessReviewSpec {
	if q.Path != "" {
		path := &authorizationv1.NonResourceAttributes{Path: q.Path, Verb: q.Verb}
		return authorizationv1.SubjectAccessReviewSpec{NonResourceAttributes: path}
	}
	return authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: q.Namespace, Group: q.Group, Resource: q.Resource, Subresource: q.Subresource, Name: q.Name,
		Verb: q.Verb}}
}

// Rule returns the right that the question is about.
func (q Question) Rule() rbacv1.PolicyRule {
	if q.Path != "" {
		return rbacv1.PolicyRule{NonResourceURLs: []string{q.Path}, Verbs: []string{q.Verb}}
	}
	return rbacv1.PolicyRule{APIGroups: []string{q.Group}, Verbs: []string{q.Verb},
		Resources:     []string{strings.TrimSuffix(q.Resource+"/"+q.Subresource, "/")},
		ResourceNames: strings.Fields(q.Name)}
}

var (
	// of provided APIs
	verbs = []string{"*", "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	// and those of the rule, of everything else
	some = []string{"*", "create", "delete", "get"}
	// of an object that no rule names
	single = []string{"get", "update", "delete"}
)

// always are asked of every bundle: what OLM grants by itself, and what no operator should have got by accident.
var always = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "pods", "pods/exec", "*"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
	{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles", "roles"},
		Verbs: []string{"bind", "escalate"}},
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{"extension-apiserver-authentication"}},
	{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"clusterserviceversions", "operatorgroups"}},
	{APIGroups: []string{"other.example.com"}, Resources: []string{"others"}},
	{APIGroups: []string{"*"}, Resources: []string{"*"}},
	{NonResourceURLs: []string{"/metrics", "/other", "/version", "*"}},
}

// Rules are all that a bundle grants or that OLM grants because of it.
func Rules(b *bundle.Bundle) (rules []rbacv1.PolicyRule, err error) {
	rules = slices.Clone(always)
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		rules = append(rules, p.Rules...)
	}
	provides := func(group, plural string) {
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural, plural + "/status"},
				Verbs: verbs})
	}
	for _, crd := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		plural, group, _ := strings.Cut(crd.Name, ".")
		provides(group, plural)
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"},
				Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{crd.Name}})
	}
	for _, api := range b.CSV.Spec.APIServiceDefinitions.Owned {
		provides(api.Group, api.Name)
	}
	for _, d := range spec.DeploymentSpecs {
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"},
				ResourceNames: []string{d.Name + "-service-cert"}})
	}
	rules = append(rules,
		rbacv1.PolicyRule{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"operatorconditions"},
			ResourceNames: []string{b.CSV.Name}})
	for _, o := range b.Others {
		if o.Kind == "Role" || o.Kind == "ClusterRole" {
			var role rbacv1.ClusterRole
			if _, err := o.Into(&role); err != nil {
				return nil, err
			}
			rules = append(rules, role.Rules...)
		}
	}
	return rules, nil
}

// Questions are derived from rules: every resource, name and path in them with their verbs and some more, in every
// namespace and across all of them.
func Questions(rules []rbacv1.PolicyRule, namespaces []string) []Question {
	set := map[Question]bool{}
	for _, r := range rules {
		for _, path := range r.NonResourceURLs {
			for _, p := range []string{path, strings.ReplaceAll(path, "*", "x"),
				strings.TrimSuffix(path, "/*") + "/x/y"} {
				for _, verb := range append([]string{"get", "post"}, r.Verbs...) {
					if strings.HasPrefix(p, "/") {
						set[Question{Path: p, Verb: verb}] = true
					}
				}
			}
		}
		for _, q := range resources(r) {
			for _, verb := range append(slices.Clone(some), r.Verbs...) {
				q.Verb = verb
				for _, name := range append([]string{"", "other"}, r.ResourceNames...) {
					if name == "other" && !slices.Contains(single, verb) {
						continue
					}
					q.Name = name
					for _, q.Namespace = range append([]string{""}, namespaces...) {
						set[q] = true
					}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(set),
		func(a, b Question) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// resources are those that a rule mentions; a wildcard stands for itself, something that exists and something that does
// not.
func resources(r rbacv1.PolicyRule) (out []Question) {
	groups, names := slices.Clone(r.APIGroups), slices.Clone(r.Resources)
	if slices.Contains(groups, "*") {
		groups = append(groups, "", "unknown.example.com")
	}
	if slices.Contains(names, "*") {
		names = append(names, "secrets", "unknowns", "unknowns/status")
	}
	for _, group := range groups {
		for _, name := range names {
			resource, sub, _ := strings.Cut(name, "/")
			out = append(out, Question{Group: group, Resource: resource, Subresource: sub})
			if resource == "*" && sub != "" {
				out = append(out, Question{Group: group, Resource: "unknowns", Subresource: sub})
			}
		}
	}
	return out
}

// accounts are all ServiceAccounts of a bundle and "default".
func accounts(b *bundle.Bundle) []string {
	names := []string{"default"}
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		names = append(names, p.ServiceAccountName)
	}
	for _, d := range spec.DeploymentSpecs {
		names = append(names, d.Spec.Template.Spec.ServiceAccountName)
	}
	for _, o := range b.Others {
		if o.Kind == "ServiceAccount" {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(s string) bool { return s == "" })
}
