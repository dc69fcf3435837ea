package permissions

import (
	"fmt"
	"slices"
	"time"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// AnnotationUsed names, on a role that Narrowing changes, the first and the last time of the log.
const AnnotationUsed = "olmgen.dev/used"

// Narrowing takes from roles what no request of a log needs.
type Narrowing struct {
	Names map[rbac.Account]rbac.Account // in the log, of accounts that have another name there
	Keep  []rbac.Atom                   // rights that stay
	Days  int                           // that the log covers at least
	Read  func(*used.Log) error
}

// Roles returns how the roles among objects change, by the object. It refuses a log that shows too little.
func (n Narrowing) Roles(objects []*manifest.Object) (map[*manifest.Object]manifest.Edit, error) {
	x, err := rbac.Read(objects, "")
	if err != nil {
		return nil, err
	}
	r, err := Evaluate(Input{Objects: objects, Rendered: true})
	if err != nil {
		return nil, err
	}
	log, err := r.NewLog(n.Names)
	if err != nil {
		return nil, err
	}
	for _, role := range x.Roles {
		for _, rule := range role.Rules {
			log.Know(rule.ResourceNames)
		}
	}
	if err := n.Read(log); err != nil {
		return nil, err
	}
	if covered := log.Covers(); covered < time.Duration(n.Days)*24*time.Hour {
		return nil, manifest.WithHint(fmt.Errorf("the audit log covers %.1f days, and %d are asked for",
			covered.Hours()/24, n.Days), "give a longer log, or all its files")
	}
	out := map[*manifest.Object]manifest.Edit{}
	for _, role := range x.Roles {
		rules, err := n.role(r, log, role, n.accountsOf(r, log, x, role))
		if err != nil {
			return nil, err
		}
		if rules == nil {
			continue
		}
		out[role.Object] = manifest.Edit{Annotations: map[string]string{AnnotationUsed: log.First + "/" + log.Last},
			Change: func(v map[string]any) { v["rules"] = rules }}
	}
	return out, nil
}

// accountsOf returns the accounts that have a role; none for one that others than accounts have, or may have.
func (n Narrowing) accountsOf(r *Report, log *used.Log, x *rbac.Objects, role *rbac.Role) (
	out []rbac.Account) {
	if role.ForUsers() || isAggregated(role) || len(role.Selectors) > 0 {
		return nil
	}
	for _, b := range x.Bindings {
		if x.Bound(b) != role {
			continue
		}
		for _, s := range b.Subjects {
			a, ok := rbac.AccountOf(s)
			if !ok {
				return nil
			}
			out = lists.Add(out, a)
		}
	}
	kind := role.Labels[olm.LabelDescoped]
	if len(out) > 0 || kind != "required" && kind != "optional" {
		return out
	}
	for _, s := range r.Accounts { // an administrator binds the role to one of them
		a := rbac.Account{Namespace: s.Namespace, Name: s.Name}
		if seen := log.Of(s.account(n.Names)); len(r.Accounts) == 1 || seen != nil && seen.Events > 0 {
			out = append(out, a)
		}
	}
	return out
}

// role returns what is left of the rules of a role, or nil if that is all. A ClusterRole may be bound anywhere.
func (n Narrowing) role(r *Report, log *used.Log, role *rbac.Role, accounts []rbac.Account) ([]any, error) {
	var left, all []rbac.Atom
	for _, a := range accounts {
		s := accountSubject(a)
		seen := log.Of(s.account(n.Names))
		if seen == nil || seen.Events == 0 {
			return nil, manifest.WithHint(fmt.Errorf("the audit log has no decision about a request of %s", s),
				"give its name in the log, OLD=NEW, or a longer log")
		}
		u := usage{report: r, log: log, a: seen, subject: s, at: map[string]*rbac.Index[int]{}}
		for _, rule := range role.PolicyRules() {
			if rbac.Count(rule, rbac.MaxAtoms) > rbac.MaxAtoms {
				return nil, manifest.WithHint(fmt.Errorf("%s: %w", role, rbac.ErrTooMany), "leave it out")
			}
			u.grant(rbac.Atoms(rule), role.Namespace, Source{})
		}
		u.match()
		for _, a := range n.Keep {
			u.need(used.Asked{Atom: a, Place: role.Namespace}, "kept on request")
		}
		all = append(all, lists.Map(u.rights, func(g granted) rbac.Atom { return g.atom })...)
		left = append(left, u.narrowed()...)
	}
	before := lists.Set(left, func(a rbac.Atom) rbac.Atom { return a })
	if !slices.ContainsFunc(all, func(a rbac.Atom) bool { return !before[a] }) {
		return nil, nil
	}
	return rbac.Values(rbac.Rules(lists.Unique(left))), nil
}
