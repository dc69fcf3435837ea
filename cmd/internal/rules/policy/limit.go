package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

type limit struct {
	Name    string            `json:"name"`
	Level   findings.Severity `json:"level"`
	Message string            `json:"message"`
	Forbid  *forbid           `json:"forbid"`
	Images  *images           `json:"imageRegistries"`
}

// forbid selects the rules of roles that are forbidden: those that grant some of everything that it lists.
type forbid struct {
	Verbs           []string `json:"verbs"`
	APIGroups       []string `json:"apiGroups"`
	Resources       []string `json:"resources"`
	ResourceNames   []string `json:"resourceNames"`
	NonResourceURLs []string `json:"nonResourceURLs"`
	Wildcards       []string `json:"wildcards"`  // fields of a rule that may not have a *
	AllowNamed      bool     `json:"allowNamed"` // allow rules with resourceNames
	Scope           string   `json:"scope"`
}

// The scopes of a forbid.
const (
	scopeAny        = "any"
	scopeCluster    = "cluster"
	scopeNamespaced = "namespaced"
)

func (l limit) check(v *view) {
	if l.Images != nil {
		l.Images.check(v, l.Message)
		return
	}
	for _, g := range v.permissions().grants {
		if l.Forbid.Scope == scopeCluster && !g.cluster || l.Forbid.Scope == scopeNamespaced && g.cluster {
			continue
		}
		if field, what := l.Forbid.find(g.rule); what != "" {
			if g.bound {
				field = ""
				if len(v.hits) > 0 && v.hits[len(v.hits)-1].Object == g.Object {
					continue // one finding for all rules of cluster-admin
				}
			}
			v.hit(g.Object, g.field+field, g.describe(what), l.Message)
		}
	}
}

func (g grant) describe(what string) string {
	s := "grants " + what
	if g.account != "" {
		s = "grants " + g.account + " " + what
	}
	if g.cluster {
		s += " in all namespaces"
	}
	if g.how != "" {
		s += ", " + g.how
	}
	return s
}

// find returns what a rule grants that is forbidden, and the field of the rule (".verbs") that grants it; "" if none.
func (f *forbid) find(r rbacv1.PolicyRule) (field, what string) {
	verbs := f.verbs(r)
	if len(verbs) == 0 {
		return "", ""
	}
	var on []string
	switch {
	case len(f.NonResourceURLs) > 0:
		field = ".nonResourceURLs"
		on = overlap(r.NonResourceURLs, f.NonResourceURLs, urlsOverlap)
	case len(r.Resources) > 0 && f.names(r):
		field = ".resources"
		groups := overlap(r.APIGroups, f.APIGroups, func(a, b string) bool { return a == "*" || a == b })
		for _, r := range overlap(r.Resources, f.Resources, resourcesOverlap) {
			for _, g := range groups {
				on = append(on, olm.Kind{Group: g, Plural: r}.Resource())
			}
		}
	case len(r.Resources) == 0 && len(f.APIGroups)+len(f.Resources)+len(f.ResourceNames) == 0:
		on = r.NonResourceURLs
	}
	if len(on) == 0 {
		return "", ""
	}
	if len(f.Verbs) > 0 {
		field = ".verbs"
	}
	if len(f.Wildcards) > 0 {
		w := wildcard(r, f.Wildcards)
		if w == "" {
			return "", ""
		}
		field = "." + w
	}
	return field, strings.Join(verbs, ", ") + " on " + text.FirstOf(5, on)
}

// verbs returns the forbidden verbs of a rule. The API server does not know the name of the object when it authorizes
// create and deletecollection, so a rule with resourceNames does not grant them
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).
func (f *forbid) verbs(r rbacv1.PolicyRule) []string {
	grants := func(verb string) bool {
		return len(r.ResourceNames) == 0 || verb != "create" && verb != "deletecollection"
	}
	if len(f.Verbs) == 0 {
		return slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return !grants(v) })
	}
	return overlap(r.Verbs, f.Verbs, func(allowed, forbidden string) bool {
		return grants(forbidden) && (allowed == forbidden || allowed == "*" && actsOn(forbidden, r))
	})
}

// actsOn reports whether a verb has a meaning for the resources of a rule: * on pods lets nobody escalate, bind or
// impersonate
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
// and https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/).
func actsOn(verb string, r rbacv1.PolicyRule) bool {
	covers := func(group string, resources ...string) bool {
		return (slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, "*")) &&
			len(overlap(r.Resources, resources, resourcesOverlap)) > 0
	}
	switch verb {
	case "escalate", "bind":
		return covers(rbacGroup, "roles", "clusterroles")
	case "impersonate":
		return covers("", "users", "groups", "serviceaccounts") ||
			covers("authentication.k8s.io", "uids", "userextras", "userextras/*")
	}
	return true
}

func (f *forbid) names(r rbacv1.PolicyRule) bool {
	switch {
	case len(r.ResourceNames) == 0:
		return true
	case f.AllowNamed:
		return false
	}
	return len(overlap(r.ResourceNames, f.ResourceNames, func(a, b string) bool { return a == b })) > 0
}

// overlap returns the allowed items that match a forbidden one. An empty list of forbidden items forbids everything.
func overlap(allowed, forbidden []string, match func(allowed, forbidden string) bool) []string {
	if len(forbidden) == 0 {
		return allowed
	}
	return lists.Filter(allowed, func(a string) bool {
		return slices.ContainsFunc(forbidden, func(b string) bool { return match(a, b) })
	})
}

// resourcesOverlap compares resources like the API server: * means all resources and subresources, */scale that of all
// (k8s.io/component-helpers, auth/rbac/validation). A forbidden resource may also be pods/*: all subresources of pods.
func resourcesOverlap(allowed, forbidden string) bool {
	if allowed == "*" || allowed == forbidden {
		return true
	}
	resource, sub, ok := strings.Cut(allowed, "/")
	forbiddenResource, forbiddenSub, ok2 := strings.Cut(forbidden, "/")
	return ok && ok2 && (resource == "*" || forbiddenResource == "*" || resource == forbiddenResource) &&
		(forbiddenSub == "*" || sub == forbiddenSub)
}

// urlsOverlap compares paths. Both may end in *.
func urlsOverlap(a, b string) bool {
	x, all := strings.CutSuffix(a, "*")
	y, all2 := strings.CutSuffix(b, "*")
	return a == b || all && strings.HasPrefix(y, x) || all2 && strings.HasPrefix(x, y)
}

func wildcard(r rbacv1.PolicyRule, fields []string) string {
	for _, f := range fields {
		values := map[string][]string{
			"verbs": r.Verbs, "apiGroups": r.APIGroups, "resources": r.Resources, "nonResourceURLs": r.NonResourceURLs,
		}[f]
		if slices.ContainsFunc(values, func(s string) bool { return strings.Contains(s, "*") }) {
			return f
		}
	}
	return ""
}

func (p *parser) limits(f *file, policy *Policy) error {
	for i, l := range f.Limits {
		field := fmt.Sprintf("limits[%d]", i)
		if err := p.head(field, l.Name, &l.Level, &l.Message); err != nil {
			return err
		}
		var err error
		switch {
		case (l.Forbid == nil) == (l.Images == nil):
			err = p.fail(field, "", "needs either forbid or imageRegistries")
		case l.Forbid != nil:
			err = p.forbid(field+".forbid", l.Forbid)
		default:
			err = p.images(field+".imageRegistries", l.Images)
		}
		if err != nil {
			return err
		}
		policy.rules = append(policy.rules, Rule{ID: l.Name, Level: l.Level,
			Text: cmp.Or(l.Message, "a limit of the policy"), check: l.check})
	}
	return nil
}

type namedList struct {
	field string
	items []string
}

func (p *parser) forbid(field string, f *forbid) error {
	lists := []namedList{
		{"verbs", f.Verbs},
		{"apiGroups", f.APIGroups},
		{"resources", f.Resources},
		{"resourceNames", f.ResourceNames},
		{"nonResourceURLs", f.NonResourceURLs},
		{"wildcards", f.Wildcards},
	}
	given := 0
	for _, l := range lists {
		given += len(l.items)
		for i, item := range l.items {
			at := fmt.Sprintf("%s.%s[%d]", field, l.field, i)
			switch {
			case item == "" && l.field != "apiGroups":
				return p.fail(at, "", "must not be empty")
			case item == "*":
				return p.fail(at, "wildcards: ["+l.field+"] forbids a *; leave "+l.field+" out to mean any",
					"* is ambiguous here")
			}
		}
	}
	f.Scope = cmp.Or(f.Scope, scopeAny)
	others := len(f.APIGroups) + len(f.Resources) + len(f.ResourceNames)
	scopes := []string{scopeAny, scopeCluster, scopeNamespaced}
	wildcards := []string{"verbs", "apiGroups", "resources", "nonResourceURLs"}
	bad := slices.IndexFunc(f.Wildcards, func(w string) bool { return !slices.Contains(wildcards, w) })
	switch {
	case given == 0:
		return p.fail(field,
			"set what is forbidden: verbs, apiGroups, resources, resourceNames, nonResourceURLs or wildcards",
			"is empty and would forbid every rule")
	case bad >= 0:
		return p.unknown(fmt.Sprintf("%s.wildcards[%d]", field, bad), f.Wildcards[bad], wildcards)
	case !slices.Contains(scopes, f.Scope):
		return p.unknown(field+".scope", f.Scope, scopes)
	case len(f.NonResourceURLs) > 0 && others > 0:
		return p.fail(field+".nonResourceURLs", "write one limit for each",
			"a rule of a role has either resources or nonResourceURLs")
	case f.AllowNamed && len(f.ResourceNames) > 0:
		return p.fail(field+".allowNamed", "", "contradicts resourceNames")
	}
	return nil
}

func (p *parser) images(field string, i *images) error {
	if len(i.Allow)+len(i.Deny) == 0 {
		return p.fail(field, "", "needs allow or deny")
	}
	for _, l := range []namedList{{"allow", i.Allow}, {"deny", i.Deny}} {
		for j, entry := range l.items {
			host, _, _ := strings.Cut(entry, "/")
			if !isHost(host) || strings.Contains(strings.TrimPrefix(entry, "*."), "*") ||
				strings.Contains(entry, "://") {
				return p.fail(fmt.Sprintf("%s.%s[%d]", field, l.field, j),
					"write it as quay.io, quay.io/organization, docker.io/library or *.example.com",
					"%q is not a registry", entry)
			}
		}
	}
	return nil
}
