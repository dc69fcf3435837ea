// Package rbac says who may do what by the roles and bindings of a set of objects.
//
// Objects reads them once. Its methods Allows and OLMAllows answer as the API server and as OLM do. Atom is the
// smallest part of a rule; an Index finds the atom that covers another, and Rules merges atoms into few rules.
// DeploysOperators finds a meta-operator. How bad a right is says the package danger.
package rbac

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// All is the wildcard for verbs, API groups, resources and URLs.
const All = rbacv1.VerbAll

// Atom is the smallest part of a rule: one verb on one resource, for all its objects or for one name, or one verb on
// one URL. Wildcards stay as they are.
type Atom struct {
	Group, Resource, Verb string
	Named                 bool
	Name                  string
	IsURL                 bool
	URL                   string
}

// MaxAtoms is how many atoms a report breaks rules down into. The largest operator that is known has some ten thousand.
const MaxAtoms = 1 << 19

// ErrTooMany is the error for rules that have more than MaxAtoms atoms.
var ErrTooMany = fmt.Errorf("the rules have more than %d combinations of verb, resource and name", MaxAtoms)

// Counter counts the atoms of rules that belong together.
type Counter struct{ atoms int }

// Add counts the atoms of a rule. The error is ErrTooMany.
func (c *Counter) Add(r rbacv1.PolicyRule) error {
	if c.atoms += Count(r, MaxAtoms); c.atoms > MaxAtoms {
		return ErrTooMany
	}
	return nil
}

// Count returns the number of atoms of a rule, or limit+1 if there are more than limit.
func Count(r rbacv1.PolicyRule, limit int) int {
	n := 1
	for _, list := range [][]string{r.APIGroups, r.Resources, r.ResourceNames} {
		n = min(n*max(1, len(list)), limit+1)
	}
	if len(r.APIGroups) == 0 || len(r.Resources) == 0 {
		n = 0
	}
	return min((n+len(r.NonResourceURLs))*len(r.Verbs), limit+1)
}

// Atoms breaks a rule down as the API server does (Kubernetes: component-helpers/auth/rbac/validation, BreakdownRule).
func Atoms(r rbacv1.PolicyRule) []Atom {
	const first = 1 << 16 // a capacity; the list of a larger rule grows
	out := make([]Atom, 0, Count(r, first))
	for _, verb := range r.Verbs {
		for _, url := range r.NonResourceURLs {
			if strings.HasSuffix(url, All) {
				url = strings.TrimRight(url, All) + All // several stars mean the same as one
			}
			out = append(out, Atom{Verb: verb, IsURL: true, URL: url})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				a := Atom{Group: group, Resource: resource, Verb: verb}
				if len(r.ResourceNames) == 0 {
					out = append(out, a)
				}
				for _, name := range r.ResourceNames {
					a.Named, a.Name = true, name
					out = append(out, a)
				}
			}
		}
	}
	return out
}
