package permissions

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// Input is what a report is made of.
type Input struct {
	Operator  Operator
	Objects   []*manifest.Object // as they are applied; what RBAC is not about is passed over
	Namespace string             // of objects that name none; empty: default, with a note
	CSVs      []CSV              // whose permissions may be the reason for rules

	Rendered bool               // from a bundle: a rule's line is the bundle's, else that of the object
	Shipped  []*manifest.Object // the bundle's own objects
}

// Evaluate returns what the subjects of a set of objects may do. The error, a *manifest.Error, is about an object that
// cannot be read or is too large.
func Evaluate(in Input) (*Report, error) {
	w, err := newWorld(in.Objects, in.Namespace)
	if err != nil {
		return nil, err
	}
	from, err := newOrigins(in)
	if err != nil {
		return nil, err
	}
	r := &Report{APIVersion: APIVersion, Kind: Kind, Operator: in.Operator, Permissions: []Item{}, Users: []Item{},
		Covered: []Covered{}, Unknown: []Unknown{}, Accounts: []Subject{}, Notes: append([]string{}, w.notes...)}
	r.missing = map[Subject]bool{}
	e := evaluation{world: w, from: from, report: r, grants: map[Subject][]grant{}, unknown: map[Subject][]Unknown{}}
	for i := range w.bindings {
		if err := e.bind(&w.bindings[i]); err != nil {
			return nil, err
		}
	}
	if err := e.members(); err != nil {
		return nil, err
	}
	for _, s := range slices.SortedFunc(maps.Keys(e.grants), Subject.compare) {
		if err := e.subject(s); err != nil {
			return nil, err
		}
	}
	if err := e.users(); err != nil {
		return nil, err
	}
	for _, s := range slices.SortedFunc(maps.Keys(e.unknown), Subject.compare) {
		r.Unknown = append(r.Unknown, mergeUnknown(e.unknown[s])...)
	}
	r.Accounts = append(r.Accounts, slices.SortedFunc(maps.Keys(w.accounts), Subject.compare)...)
	r.Summary = r.facts(w.scopes)
	r.Findings = r.paths(w.scopes)
	return r, nil
}

type evaluation struct {
	world   *world
	from    *origins
	report  *Report
	grants  map[Subject][]grant
	unknown map[Subject][]Unknown
	atoms   rbac.Counter // of all grants
}

// add adds a grant, unless there are too many.
func (e *evaluation) add(s Subject, g grant) error {
	if e.atoms.Add(g.rule) != nil {
		return g.tooMany()
	}
	e.grants[s] = append(e.grants[s], g)
	return nil
}

func (g grant) tooMany() error {
	return &manifest.Error{File: g.source.File, Line: g.source.Line, Field: g.source.Field,
		Msg: rbac.ErrTooMany.Error()}
}

// grant is a rule that a subject has at a place.
type grant struct {
	rule   rbacv1.PolicyRule
	place  string
	source Source
}

const userPrefix = "system:serviceaccount:"

// subjectOf returns whom RBAC means. An account has a user's name, too.
func subjectOf(s rbacv1.Subject) Subject {
	if rest, ok := strings.CutPrefix(s.Name, userPrefix); ok && s.Kind == rbacv1.UserKind {
		if ns, name, ok := strings.Cut(rest, ":"); ok {
			return Subject{rbacv1.ServiceAccountKind, ns, name}
		}
	}
	return Subject{s.Kind, s.Namespace, s.Name}
}

func (e *evaluation) bind(b *binding) error {
	r := e.world.roles[b.role]
	if r == nil || r.object == nil { // a default role, of which only what it gains is known
		r = known(b.role)
	}
	for _, s := range b.subjects {
		subject := subjectOf(s)
		if subject.Kind == rbacv1.ServiceAccountKind {
			if !e.world.accounts[subject] {
				e.world.accounts[subject] = true
				e.report.missing[subject] = subject.Name != "default" // which every namespace has
			}
		}
		if r == nil {
			e.unknown[subject] = append(e.unknown[subject], Unknown{Subject: subject,
				Namespaces: []string{cmp.Or(b.place, Everywhere)}, Role: b.role.String(),
				Source: e.from.bindingSource(b, b.role.String())})
		}
		for _, from := range []*role{r, e.gained(b, r)} {
			if from == nil {
				continue
			}
			if err := e.checkSubjects(b, from); err != nil {
				return err
			}
			for i := range from.rules {
				source := e.from.source(use{role: from, rule: i, account: subject.Name, binding: b})
				if err := e.add(subject, grant{from.rules[i].PolicyRule, b.place, source}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkSubjects refuses a role that is too large for all subjects of a binding together, before they get it.
func (e *evaluation) checkSubjects(b *binding, from *role) error {
	n := 0
	for i := range from.rules {
		if n += rbac.Count(from.rules[i].PolicyRule, rbac.MaxAtoms); n*len(b.subjects) > rbac.MaxAtoms {
			return grant{source: e.from.source(use{role: from, rule: i, binding: b})}.tooMany()
		}
	}
	return nil
}

// gained returns a default role of which only what it gains from the objects is known.
func (e *evaluation) gained(b *binding, r *role) *role {
	if r != nil {
		return nil
	}
	return e.world.roles[b.role]
}

// members adds to every account what the groups that it is in have. Every account is authenticated (Kubernetes:
// apiserver/pkg/authentication/serviceaccount, MakeGroupNames).
func (e *evaluation) members() error {
	groups := map[string][]grant{}
	for s, grants := range e.grants {
		if s.Kind == rbacv1.GroupKind {
			groups[s.Name] = grants
		}
	}
	if len(groups) == 0 {
		return nil
	}
	for account := range e.world.accounts {
		for _, group := range []string{"system:authenticated", "system:serviceaccounts",
			"system:serviceaccounts:" + account.Namespace} {
			for _, g := range groups[group] {
				g.source.Via = group
				if err := e.add(account, g); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// preference orders the grants of a subject: what is said first covers what is said again.
func (g grant) preference(o grant) int {
	rank := func(g grant) int {
		n := slices.Index(Whys, g.source.Why)
		if g.source.Via != "" {
			n += len(Whys)
		}
		return n
	}
	return cmp.Or(cmp.Compare(g.place, o.place), cmp.Compare(rank(g), rank(o)), g.source.compare(o.source))
}

// subject adds what one subject may do: each atom once, where the first of its sources grants it.
func (e *evaluation) subject(s Subject) error {
	grants := e.grants[s]
	slices.SortStableFunc(grants, grant.preference)
	kept, covered, err := reduce(grants)
	if err != nil {
		return err
	}
	e.report.Permissions = append(e.report.Permissions, itemsOf(s, kept, e.world.scopes)...)
	for _, by := range slices.SortedFunc(maps.Keys(covered), Source.compare) {
		for _, item := range itemsOf(s, covered[by], e.world.scopes) {
			e.report.Covered = append(e.report.Covered, Covered{item, by})
		}
	}
	return nil
}

// reduce drops what another grant of the same subject allows, too: by is the grant that does.
func reduce(grants []grant) (kept []held, by map[Source][]held, err error) {
	places := map[string]*rbac.Index[Source]{}
	by = map[Source][]held{}
	var atoms rbac.Counter
	var list []held
	for _, g := range grants {
		if atoms.Add(g.rule) != nil {
			return nil, nil, g.tooMany()
		}
		x := places[g.place]
		if x == nil {
			x = &rbac.Index[Source]{}
			places[g.place] = x
		}
		for _, a := range rbac.Atoms(g.rule) {
			h := held{a, g.place, g.source}
			if first, added := x.Add(a, g.source); !added {
				if first != g.source {
					by[first] = append(by[first], h)
				}
				continue
			}
			list = append(list, h)
		}
	}
	cluster := places[""]
	for _, h := range list {
		if source, ok := places[h.place].Wider(h.atom); ok {
			by[source] = append(by[source], h)
			continue
		}
		if h.place != "" {
			if source, ok := cluster.Covers(h.atom); ok {
				by[source] = append(by[source], h)
				continue
			}
		}
		kept = append(kept, h)
	}
	return kept, by, nil
}

// users adds what the roles for users gain.
func (e *evaluation) users() error {
	for _, name := range UserRoles {
		r := e.world.roles[roleKey{"ClusterRole", "", name}]
		s := Subject{Kind: "ClusterRole", Name: name}
		var grants []grant
		for i := range r.rules {
			source := e.from.source(use{role: r, rule: i, binding: &binding{}})
			grants = append(grants, grant{r.rules[i].PolicyRule, "", source})
		}
		slices.SortStableFunc(grants, grant.preference)
		kept, _, err := reduce(grants)
		if err != nil {
			return err
		}
		e.report.Users = append(e.report.Users, itemsOf(s, kept, e.world.scopes)...)
	}
	return nil
}

// mergeUnknown puts the namespaces together in which a subject is bound to the same role.
func mergeUnknown(list []Unknown) []Unknown {
	var out []Unknown
	for _, u := range list {
		i := slices.IndexFunc(out, func(o Unknown) bool { return o.Role == u.Role && o.Source == u.Source })
		if i < 0 {
			out = append(out, u)
			continue
		}
		out[i].Namespaces = append(out[i].Namespaces, u.Namespaces...)
	}
	for i := range out {
		slices.Sort(out[i].Namespaces)
		out[i].Namespaces = slices.Compact(out[i].Namespaces)
	}
	slices.SortFunc(out, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), slices.Compare(a.Namespaces, b.Namespaces),
			a.Source.compare(b.Source))
	})
	return out
}
