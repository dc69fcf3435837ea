package permissions

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/manifest"
)

// Input is what a report is made of.
type Input struct {
	Operator  Operator
	Objects   []*manifest.Object // that count; of two roles of one name, both do. What RBAC is not about is passed over
	Namespace string             // of objects that name none; empty: default, with a note
	CSVs      []CSV              // whose permissions may be the reason for rules

	Rendered bool               // from a bundle: a rule's line is the bundle's, else that of the object
	Shipped  []*manifest.Object // the bundle's own objects
	Unread   []string           // files that could not be read, and why
	Notes    []string           // what else a reader has to know
	// Unresolved are the objects that hand an operator over to OLM, and why the operator is not known.
	Unresolved []string
	Unbuilt    []string // kustomizations that could not be built, and why
}

// Evaluate returns what subjects may do. The error, a *manifest.Error, is about an unreadable or too large object.
func Evaluate(in Input) (*Report, error) {
	e, err := in.evaluate()
	if err != nil {
		return nil, err
	}
	return e.report, nil
}

// EvaluateWithRoles is Evaluate with the roles that nothing binds and none aggregates. Errors are those of Evaluate.
func EvaluateWithRoles(in Input) (*Report, Roles, error) {
	e, err := in.evaluate()
	if err != nil {
		return nil, Roles{}, err
	}
	roles, err := unboundRoles(e.inventory, e.from)
	return e.report, roles, err
}

func (in Input) read() (*evaluation, error) {
	v, err := readInventory(in.Objects, in.Namespace)
	if err != nil {
		return nil, err
	}
	from, err := newOrigins(in, v)
	r := &Report{APIVersion: apiVersion, Kind: kind, Operator: in.Operator, Permissions: []Item{}, Users: []Item{},
		Covered: []Covered{}, Unknown: []Unknown{}, Accounts: []Subject{}, Ways: []Way{},
		Notes:  append(append([]string{}, in.Notes...), v.notes...),
		Unread: append([]string{}, in.Unread...), Unresolved: append([]string{}, in.Unresolved...), Unbuilt: in.Unbuilt,
		missing: map[Subject]bool{}, scopes: v.scopes, objects: &v.Objects}
	for _, c := range in.CSVs {
		if c.ClusterServiceVersion != nil && c.Name != in.Operator.Name {
			r.Operator.Operators = append(r.Operator.Operators, c.Name)
		}
	}
	r.Operator.Operators = lists.Unique(r.Operator.Operators)
	return &evaluation{inventory: v, from: from, report: r, grants: map[Subject][]grant{},
		unknown: map[Subject][]Unknown{}}, err
}

func (in Input) evaluate() (*evaluation, error) {
	e, err := in.read()
	if err != nil {
		return nil, err
	}
	r := e.report
	for _, b := range e.Bindings {
		if err := e.bind(b); err != nil {
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
	for a := range e.Accounts {
		r.Accounts = append(r.Accounts, accountSubject(a))
	}
	slices.SortFunc(r.Accounts, Subject.compare)
	r.Summary = r.facts()
	r.Findings = r.follows()
	return e, nil
}

type evaluation struct {
	*inventory
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

func (e *evaluation) bind(b *rbac.Binding) error {
	r := e.Bound(b)
	for _, s := range b.Subjects {
		if s.Kind == rbacv1.GroupKind && s.Name == "system:masters" {
			continue // it may do everything without a binding (Kubernetes: authorizerfactory, NewPrivilegedGroups)
		}
		subject := Subject{s.Kind, s.Namespace, s.Name}
		account, ok := rbac.AccountOf(s)
		if ok { // it may be bound by its user's name
			subject = accountSubject(account)
		}
		if ok && !e.Accounts[account] {
			e.report.missing[subject] = !e.Exists(account)
			e.AddAccount(account)
		}
		if r == nil || r.Object == nil && len(r.Selectors) > 0 {
			e.unknown[subject] = append(e.unknown[subject], Unknown{Subject: subject,
				Namespaces: []string{cmp.Or(b.Namespace, Everywhere)}, Role: b.Role.String(),
				Source: e.from.bindingSource(b, b.Role.String())})
		}
		from := []*rbac.Role{r}
		if gained := e.Role(b.Role); gained != nil && gained.Object == nil { // by a default role, from the objects
			from = append(from, gained)
		}
		for _, from := range from {
			if from == nil {
				continue
			}
			if err := e.checkSubjects(b, from); err != nil {
				return err
			}
			for i := range from.Rules {
				source := e.from.source(use{role: from, rule: i, account: account, binding: b})
				if err := e.add(subject, grant{from.Rules[i].PolicyRule, b.Namespace, source}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkSubjects refuses a role that is too large for all subjects of a binding together, before they get it.
func (e *evaluation) checkSubjects(b *rbac.Binding, from *rbac.Role) error {
	n := 0
	for i := range from.Rules {
		if n += rbac.Count(from.Rules[i].PolicyRule, rbac.MaxAtoms); n*len(b.Subjects) > rbac.MaxAtoms {
			return grant{source: e.from.source(use{role: from, rule: i, binding: b})}.tooMany()
		}
	}
	return nil
}

// members adds to every account what the groups that it is in have.
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
	for account := range e.Accounts {
		for _, group := range account.Groups() {
			for _, g := range groups[group] {
				g.source.Via = group
				if err := e.add(accountSubject(account), g); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// preference orders the grants of a subject: the preferred one covers the others.
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
	e.report.Permissions = append(e.report.Permissions, itemsOf(s, kept, e.scopes)...)
	for _, by := range slices.SortedFunc(maps.Keys(covered), Source.compare) {
		for _, item := range itemsOf(s, covered[by], e.scopes) {
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
	list := make([]held, 0, len(grants))
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
	kept = make([]held, 0, len(list))
	for _, h := range list {
		source, covered := places[h.place].Wider(h.atom)
		if !covered && h.place != "" {
			source, covered = places[""].Covers(h.atom)
		}
		if covered {
			by[source] = append(by[source], h)
		} else {
			kept = append(kept, h)
		}
	}
	return kept, by, nil
}

// users adds what the roles for users gain.
func (e *evaluation) users() error {
	for _, name := range UserRoles {
		s, r := Subject{Kind: "ClusterRole", Name: name}, e.Role(rbac.ClusterRole(name)).Gained()
		items, err := e.from.itemsOfRole(s, r, "", e.scopes)
		if err != nil {
			return err
		}
		e.report.Users = append(e.report.Users, items...)
	}
	return nil
}

// itemsOfRole returns what a role allows whoever is bound to it at a place.
func (o *origins) itemsOfRole(s Subject, r *rbac.Role, place string, scopes danger.Scopes) ([]Item, error) {
	var grants []grant
	for i := range r.Rules {
		source := o.source(use{role: r, rule: i, binding: &rbac.Binding{}})
		grants = append(grants, grant{r.Rules[i].PolicyRule, place, source})
	}
	slices.SortStableFunc(grants, grant.preference)
	kept, _, err := reduce(grants)
	return itemsOf(s, kept, scopes), err
}

// mergeUnknown puts the namespaces together in which a subject is bound to the same role.
func mergeUnknown(list []Unknown) []Unknown {
	type key struct {
		role   string
		source Source
	}
	var out []Unknown
	for _, same := range lists.Groups(list, func(u Unknown) key { return key{u.Role, u.Source} }) {
		u := same[0]
		for _, o := range same[1:] {
			u.Namespaces = union(u.Namespaces, o.Namespaces)
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), slices.Compare(a.Namespaces, b.Namespaces),
			a.Source.compare(b.Source))
	})
	return out
}
