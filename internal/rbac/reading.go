package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/olm"
)

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

const userPrefix = "system:serviceaccount:"

// String returns "namespace/name".
func (a Account) String() string { return a.Namespace + "/" + a.Name }

// User returns the user name of an account.
func (a Account) User() string { return userPrefix + a.Namespace + ":" + a.Name }

// Groups returns the groups that an account is in (Kubernetes: apiserver/pkg/authentication/serviceaccount,
// MakeGroupNames; every account is authenticated).
func (a Account) Groups() []string {
	return []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + a.Namespace}
}

// AccountOf returns the account that a subject of a Binding is, by its kind or by its user name.
func AccountOf(s rbacv1.Subject) (Account, bool) {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return Account{s.Namespace, s.Name}, true
	case rbacv1.UserKind:
		if rest, ok := strings.CutPrefix(s.Name, userPrefix); ok {
			namespace, name, ok := strings.Cut(rest, ":")
			return Account{namespace, name}, ok
		}
	}
	return Account{}, false
}

// Binds reports whether a binding names an account itself, apart from its groups.
func (b *Binding) Binds(a Account) bool {
	return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
		bound, ok := AccountOf(s)
		return ok && bound == a
	})
}

// BindsName reports whether a binding names an account of that name, or a group that every account is in.
func (b *Binding) BindsName(name string) bool {
	return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
		bound, _ := AccountOf(s) // what is no account has no name
		return bound.Name == name
	}) || b.bindsGroup(Account{Name: name})
}

// bindsGroup reports whether a binding names a group that an account is in.
func (b *Binding) bindsGroup(a Account) bool {
	return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.GroupKind && slices.Contains(a.Groups(), s.Name)
	})
}

// Exists reports whether the objects have a ServiceAccount. Kubernetes creates the one named default.
func (x *Objects) Exists(a Account) bool { return a.Name == "default" || x.Accounts[a] }

// OLMAllows reports whether OLM finds that an account has what a rule says in a namespace, or in the whole cluster if
// the namespace is empty. OLM leaves out the groups of the account (OLM: pkg/controller/install/attributes_util.go,
// toDefaultInfo). A role that is not among the objects, or that aggregates others, may allow anything.
func (x *Objects) OLMAllows(a Account, namespace string, rule rbacv1.PolicyRule) bool {
	rules, complete := x.OLMRules(a, namespace)
	return !complete || OLMCovers(rules, rule)
}

// Allows reports whether the API server allows an account what a rule says in a namespace, or in the whole cluster if
// the namespace is empty. A role that is not among the objects, or that aggregates others, may allow anything.
func (x *Objects) Allows(a Account, namespace string, rule rbacv1.PolicyRule) bool {
	rules, complete := x.rulesOf(a, namespace, true)
	return !complete || Covers(rules, rule)
}

// OLMRules returns the rules that OLM finds for an account in a namespace, or in the whole cluster if the namespace is
// empty. They are not complete if a role is not among the objects or aggregates others (OLM:
// pkg/lib/kubernetes/pkg/registry/rbac/validation/rule.go, VisitRulesFor).
func (x *Objects) OLMRules(a Account, namespace string) (rules []rbacv1.PolicyRule, complete bool) {
	return x.rulesOf(a, namespace, false)
}

func (x *Objects) rulesOf(a Account, namespace string, groups bool) (rules []rbacv1.PolicyRule, complete bool) {
	complete = true
	for _, b := range x.Bindings {
		if b.Namespace != "" && b.Namespace != namespace || !b.Binds(a) && (!groups || !b.bindsGroup(a)) {
			continue
		}
		r := x.Bound(b)
		if r == nil {
			complete = false
			continue
		}
		complete = complete && len(r.Selectors) == 0 && !r.AtLeast
		rules = append(rules, r.PolicyRules()...)
	}
	return rules, complete
}

// OLMCovers reports whether a set of rules covers another rule, as OLM checks it: every combination in that rule, where
// a missing list counts as one empty string, and a subresource is part of the resource's name, so that "*/status" does
// not cover "pods/status" (OLM: pkg/controller/install/attributes_util.go).
func OLMCovers(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool { return covers(held, rule, Has) }

// Covers reports whether a set of rules covers another rule, as the API server checks it: as OLM does, and "*/status"
// covers "pods/status" (Kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go, ResourceMatches).
func Covers(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	return covers(held, rule, HasResource)
}

// covers reports whether each request that a rule allows is one that some of the held rules allow.
func covers(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule, hasResource func([]string, string) bool) bool {
	for _, verb := range rule.Verbs {
		if len(rule.NonResourceURLs) > 0 {
			for _, url := range rule.NonResourceURLs {
				if !slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool {
					return Has(h.Verbs, verb) && slices.ContainsFunc(h.NonResourceURLs, func(u string) bool {
						prefix := strings.TrimRight(u, All)
						return u == url || prefix != u && strings.HasPrefix(url, prefix)
					})
				}) {
					return false
				}
			}
			continue
		}
		for _, group := range orEmpty(rule.APIGroups) {
			for _, resource := range orEmpty(rule.Resources) {
				for _, name := range orEmpty(rule.ResourceNames) {
					if !slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool {
						return Has(h.Verbs, verb) && Has(h.APIGroups, group) && hasResource(h.Resources, resource) &&
							(len(h.ResourceNames) == 0 || slices.Contains(h.ResourceNames, name))
					}) {
						return false
					}
				}
			}
		}
	}
	return true
}

func orEmpty(s []string) []string {
	if len(s) == 0 {
		return []string{""}
	}
	return s
}

// Has reports whether a list of a rule has a word or the wildcard.
func Has(held []string, want string) bool {
	return slices.Contains(held, All) || slices.Contains(held, want)
}

// HasResource reports whether the resources of a rule have one among them, for the API server.
func HasResource(held []string, want string) bool {
	return slices.ContainsFunc(held, func(r string) bool { return ResourceMatches(r, want) })
}

// ResourceMatches is Kubernetes' ResourceMatches (pkg/apis/rbac/v1/evaluation_helpers.go).
func ResourceMatches(given, asked string) bool {
	sub, ok := strings.CutPrefix(given, "*/")
	return given == All || given == asked || ok && strings.HasSuffix(asked, "/"+sub)
}

// deploying are the resources, of OLM v0 and v1, whose making deploys an operator, as a group or a catalog does not.
var deploying = []struct{ group, resource string }{
	{olm.Group, "subscriptions"},
	{olm.Group, "clusterserviceversions"},
	{olm.Group, "installplans"},
	{olm.GroupV1, "clusterextensions"},
}

// direct are the resources that deploy an operator without OLM: it takes all of them.
var direct = []struct{ group, resource string }{
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{rbacv1.GroupName, "clusterroles"},
	{rbacv1.GroupName, "clusterrolebindings"},
	{"apps", "deployments"},
}

// DeploysOperators returns what lets somebody who has rules in the whole cluster deploy operators there, such as
// "create subscriptions of operators.coreos.com", or "". The decision record "Managing Operators" of Operate First (ADR
// 0011) calls such an operator a meta-operator. A rule with resourceNames lets nobody create an object, and is the
// limit that the record asks for.
func DeploysOperators(rules []rbacv1.PolicyRule) string {
	creates := func(group, resource string) bool {
		return Covers(rules, rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{group},
			Resources: []string{resource}})
	}
	for _, d := range deploying {
		if creates(d.group, d.resource) {
			return "create " + d.resource + " of " + d.group
		}
	}
	for _, d := range direct {
		if !creates(d.group, d.resource) {
			return ""
		}
	}
	return "create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"
}
