package installer

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// atom is the smallest part of a rule: one verb on one resource, all its objects or one of a name; or one verb on one
// URL.
type atom struct {
	group, resource, verb string
	named                 bool
	name                  string
	isURL                 bool
	url                   string
}

type atoms map[atom]bool

func (s atoms) add(a atom) { s[a] = true }

// addRule takes a rule apart as the API server does (Kubernetes: component-helpers/auth/rbac/validation,
// BreakdownRule).
func (s atoms) addRule(r rbacv1.PolicyRule) {
	for _, verb := range r.Verbs {
		for _, url := range r.NonResourceURLs {
			if strings.HasSuffix(url, "*") {
				url = strings.TrimRight(url, "*") + "*" // they mean the same
			}
			s.add(atom{verb: verb, isURL: true, url: url})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if len(r.ResourceNames) == 0 {
					s.add(atom{group: group, resource: resource, verb: verb})
				}
				for _, name := range r.ResourceNames {
					s.add(atom{group: group, resource: resource, verb: verb, named: true, name: name})
				}
			}
		}
	}
}

// wider returns every atom that grants a too, a among them; not for URLs.
func (a atom) wider() []atom {
	resources := []string{a.resource, "*"}
	if _, sub, ok := strings.Cut(a.resource, "/"); ok {
		resources = append(resources, "*/"+sub)
	}
	var out []atom
	for _, group := range []string{a.group, "*"} {
		for _, resource := range resources {
			for _, verb := range []string{a.verb, "*"} {
				w := atom{group: group, resource: resource, verb: verb}
				out = append(out, w)
				w.named, w.name = a.named, a.name
				out = append(out, w)
			}
		}
	}
	return out
}

// covers tells whether another atom of the set, or of the same set if self is not counted, grants a.
func (s atoms) covers(a atom, self bool) bool {
	if !a.isURL {
		return slices.ContainsFunc(a.wider(), func(w atom) bool { return s[w] && (self || w != a) })
	}
	for w := range s {
		if !w.isURL || w == a && !self || w.verb != a.verb && w.verb != "*" {
			continue
		}
		if w.url == a.url || strings.HasSuffix(w.url, "*") && strings.HasPrefix(a.url, strings.TrimRight(w.url, "*")) {
			return true
		}
	}
	return false
}

// rules puts what neither another atom nor the set held covers together again.
func (s atoms) rules(held atoms) []rbacv1.PolicyRule {
	var rows []row
	for a := range s {
		if s.covers(a, false) || held.covers(a, true) {
			continue
		}
		r := row{verbsOf: {a.verb}}
		if a.isURL {
			r[urlsOf] = []string{a.url}
		} else {
			r[groupsOf], r[resourcesOf] = []string{a.group}, []string{a.resource}
			if a.named {
				r[namesOf] = []string{a.name}
			}
		}
		rows = append(rows, r)
	}
	return merge(rows)
}
