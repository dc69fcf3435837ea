package permissions

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// AnnotationUsed names, on a role that Narrowing changes, the first and the last time of the log.
const AnnotationUsed = "olmgen.dev/used"

// Narrowing takes from roles what no request of a log needs.
type Narrowing struct {
	Names [][2]string // of accounts in the log that have another name there, as NewLog takes them
	Keep  []rbac.Atom // rights that stay
	Days  int         // on which the log has events at least
	Read  func(*used.Log) error
}

// Roles returns how the roles among objects change, by the object. It refuses a log that shows too little.
func (n Narrowing) Roles(objects []*manifest.Object) (map[*manifest.Object]manifest.Edit, error) {
	r, err := Evaluate(Input{Objects: objects, Rendered: true})
	if err != nil {
		return nil, err
	}
	log, err := r.NewLog(n.Names)
	if err != nil {
		return nil, err
	}
	if err := n.Read(log); err != nil {
		return nil, err
	}
	if days := log.Days(); days < n.Days {
		return nil, manifest.WithHint(fmt.Errorf("the audit log has events of %s, and %d are asked for",
			text.Count(days, "day"), n.Days), "give a longer log, or all its files")
	}
	out, kept := map[*manifest.Object]manifest.Edit{}, map[rbac.Atom]bool{}
	for _, role := range r.objects.Roles {
		left, whole, err := n.role(r, log, role, kept)
		if err != nil {
			return nil, err
		}
		if !whole {
			out[role.Object] = manifest.Edit{Annotations: map[string]string{AnnotationUsed: log.First + "/" + log.Last},
				Change: func(v map[string]any) { v["rules"] = rbac.Values(rbac.Rules(left)) }}
		}
	}
	for _, a := range n.Keep {
		if !kept[a] {
			return nil, manifest.WithHint(fmt.Errorf("no role of these accounts grants %q, so it cannot be kept",
				a.Verb+" "+strings.TrimSuffix(a.Resource+"."+a.Group, ".")),
				"write it as a role grants it, or leave it out")
		}
	}
	return out, nil
}

// accountsOf returns the accounts that have a role; none for one that others than accounts of the operator have, or may
// have.
func (r *Report) accountsOf(log *used.Log, role *rbac.Role) (out []rbac.Account) {
	if role.Object == nil || role.ForUsers() || isAggregated(role) || len(role.Selectors) > 0 {
		return nil
	}
	for _, b := range r.objects.Bindings {
		if r.objects.Bound(b) != role {
			continue
		}
		for _, s := range b.Subjects {
			a, ok := rbac.AccountOf(s)
			if !ok || r.missing[accountSubject(a)] && log.Of(a).Events == 0 {
				return nil
			}
			out = lists.Add(out, a)
		}
	}
	kind := role.Labels[olm.LabelDescoped]
	if len(out) > 0 || kind != "required" && kind != "optional" {
		return out
	}
	// An administrator binds the role to the account whose name is in that of the role, unless that is too long.
	all := lists.Filter(r.Accounts, func(s Subject) bool { return !r.missing[s] })
	named := lists.Filter(all, func(s Subject) bool { return strings.Contains(role.Name, s.Name+"-"+kind) })
	if len(named) > 0 {
		all = named
	}
	return lists.Map(all, Subject.account)
}

// role returns what is left of a role, and whether that is all. It notes in kept which rights of Keep there are. A
// ClusterRole may be bound anywhere.
func (n Narrowing) role(r *Report, log *used.Log, role *rbac.Role, kept map[rbac.Atom]bool) (
	left []rbac.Atom, whole bool, err error) {
	var all []rbac.Atom
	var has rbac.Index[bool]
	for _, a := range r.accountsOf(log, role) {
		if log.Of(a).Events == 0 {
			return nil, false, manifest.WithHint(
				fmt.Errorf("the audit log has no decision about a request of %s", accountSubject(a)),
				"give its name in the log, OLD=NEW, or a longer log")
		}
		u := r.newUsage(log, a)
		var atoms rbac.Counter
		for _, rule := range role.PolicyRules() {
			if err := atoms.Add(rule); err != nil {
				return nil, false, fmt.Errorf("%s: %w", role, err)
			}
			u.grant(rule, role.Namespace, Source{})
		}
		u.match()
		for _, a := range n.Keep {
			kept[a] = u.keep(a, "kept on request") || kept[a]
		}
		all = append(all, lists.Map(u.rights, func(g granted) rbac.Atom { return g.atom })...)
		for _, h := range u.needed() {
			has.Add(h.atom, true)
		}
	}
	whole = true
	for _, a := range all {
		_, ok := has.Covers(a)
		whole = whole && ok
	}
	return has.Minimal(nil), whole, nil
}
