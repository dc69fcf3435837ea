package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Diff is what subjects gain and lose between two reports.
type Diff struct {
	Permissions []Item        // gained and lost, of accounts and other subjects
	Users       []Item        // of the roles for users
	Facts       []ChangedFact // of owners, in short: gained, moved, then lost, each the worst first
}

// Compare returns what subjects gain and lose, by what they may do and not by how it is written: rules that are split,
// regrouped, reordered or granted twice are no change. What is allowed in the cluster is allowed in every namespace,
// so a rule that moves from a namespace to the cluster is one gain, and nothing is lost. A wildcard is a thing of its
// own: what replaces it is not more, and the wildcard is lost, apart from what is Kept of it.
//
// owner returns who has what an account has: the same for all accounts of an operator. Without it each has its own.
// What another account of the owner could do before is at most a warning.
func Compare(old, now *Report, owner func(Subject) Subject) Diff {
	c := newComparison(old.Permissions, now.Permissions, now.scopes, owner)
	d := Diff{Permissions: c.items(), Users: newComparison(beyondDefaults(old.Users),
		beyondDefaults(now.Users), now.scopes, nil).items()}
	type reached struct {
		owner Subject
		what  string
	}
	had := lists.Set(old.Ways, func(w Way) reached { return reached{c.owner(w.Subject), w.Reaches} })
	begins := map[Subject]Step{}
	for _, w := range now.Ways {
		if !had[reached{c.owner(w.Subject), w.Reaches}] && w.Reaches != operatorsRights {
			begins[w.Subject] = w.Steps[0]
		}
	}
	for n := range d.Permissions {
		i := &d.Permissions[n]
		step := begins[i.Subject]
		part := func(place string) bool { return c.scopes.Part(step.rule, i.rule(), place) }
		if i.Change == Gained && i.Severity == findings.Warning && slices.ContainsFunc(i.places(), part) {
			i.Severity, i.Follows = findings.Error, step.Text
		}
	}
	d.Facts = c.facts(d.Permissions)
	for n, f := range d.Facts {
		owners := lists.Unique(lists.Map(f.Subjects, c.owner))
		d.Facts[n].Before = !slices.ContainsFunc(owners, func(owner Subject) bool {
			before := &Report{Permissions: c.had[owner], scopes: old.scopes}
			return !had[reached{owner, EveryRight}] && !slices.ContainsFunc(before.Reaches(), f.within)
		})
	}
	return d
}

// Gained returns the items that are gained.
func (d Diff) Gained() []Item { return d.only(Gained) }

// Lost returns the items that are lost.
func (d Diff) Lost() []Item { return d.only(Lost) }

func (d Diff) only(c Change) []Item {
	return slices.DeleteFunc(slices.Concat(d.Permissions, d.Users), func(i Item) bool { return i.Change != c })
}

// comparison is of what subjects have: by subject, and by owner.
type comparison struct {
	scopes        danger.Scopes
	owner         func(Subject) Subject
	before, after map[Subject][]Item
	had, has      map[Subject][]Item
}

func newComparison(old, now []Item, scopes danger.Scopes, owner func(Subject) Subject) *comparison {
	if owner == nil {
		owner = func(s Subject) Subject { return s }
	}
	of := func(i Item) Subject { return owner(i.Subject) }
	return &comparison{scopes, owner, lists.Group(old, subjectOfItem), lists.Group(now, subjectOfItem),
		lists.Group(old, of), lists.Group(now, of)}
}

// items returns what each subject gains and loses.
func (c *comparison) items() []Item {
	all := maps.Clone(c.before)
	maps.Copy(all, c.after)
	out := []Item{}
	for _, s := range slices.SortedFunc(maps.Keys(all), Subject.compare) {
		before, after := c.before[s], c.after[s]
		if gained := c.keep(uncovered(after, before, Gained), before); len(gained) > 0 {
			held, _ := heldBy(after)
			own, _ := heldBy(before)
			others, _ := heldBy(lists.Filter(c.had[c.owner(s)], func(i Item) bool { return i.Subject != s }))
			if s.IsUserRole() {
				others = byDefault(s)
			}
			for _, i := range gained {
				i.Severity, i.Follows = i.news(held, own, others, c.scopes)
				out = append(out, i)
			}
		}
		for _, i := range c.keep(uncovered(before, after, Lost), after) {
			if i.inVain(after) {
				i.Severity = findings.Warning
			}
			out = append(out, i)
		}
	}
	return out
}

// news returns how bad a gain is, and what follows from it: at most a warning if that followed from what others of the
// owner had. own is what the subject had.
func (i Item) news(held, own, others danger.Held, scopes danger.Scopes) (findings.Severity, string) {
	level, follows := levelOf(i, held, nil, scopes)
	if level.Rank() > findings.Warning.Rank() {
		return cmp.Or(i.rated(""), findings.Info), ""
	}
	if fresh, _ := levelOf(i, held, others, scopes); fresh != level {
		level = findings.Warning
	}
	if _, fresh := levelOf(i, held, own, scopes); len(i.Kept) > 0 && fresh != follows {
		follows += ", as before"
	}
	return i.rated(level), follows
}

// keep says of items what others allow of them, as lists do of a wildcard, and what risk is left beside that.
func (c *comparison) keep(items, others []Item) []Item {
	held := placesOf(items)
	kept := make([]map[string][]rbac.Atom, len(items))
	for _, o := range others {
		for _, place := range o.places() {
			for _, a := range rbac.Atoms(o.rule()) {
				n, ok := held.allow(a, place)
				switch {
				case !ok:
					continue
				case kept[n] == nil:
					kept[n] = map[string][]rbac.Atom{}
				}
				kept[n][place] = append(kept[n][place], a)
			}
		}
	}
	for n := range items {
		i := &items[n]
		parts := i.rest(kept[n], i.Change)
		if len(parts) > 0 && slices.Contains(Dangerous[1:], i.Risk) {
			left := append(c.changed(items[n:n+1], parts, i.Change), ChangedFact{Fact: Fact{Risk: Other}})
			i.Risk = left[0].Risk
		}
		for _, part := range parts {
			text := part.withoutGroup()
			if slices.Equal(part.Resources, i.Resources) && slices.Equal(part.ResourceNames, i.ResourceNames) {
				text = part.verbText()
			}
			if !slices.Equal(part.Namespaces, i.Namespaces) {
				text += " in " + part.where()
			}
			i.Kept = lists.Add(i.Kept, text)
		}
	}
	return items
}

// ChangedFact is a fact that is new, that is true no more, or that has become one of another account of its operator.
type ChangedFact struct {
	Fact
	Change   Change            // Gained, Moved or Lost
	Severity findings.Severity // of a loss: Info
	May      string            // such as: read every Secret
	From     []Subject         // who of the operator loses what is moved; empty if nobody does
	Item     Item              // the first of what says so
	Before   bool              // of a gain: the owner had the risk already, by other rights or over other accounts
}

// facts returns in short what owners gain and lose, and what only other accounts of theirs may do now.
func (c *comparison) facts(items []Item) (facts []ChangedFact) {
	var out []ChangedFact
	for _, of := range lists.Groups(items, func(i Item) Subject { return c.owner(i.Subject) }) {
		owner := c.owner(of[0].Subject)
		gained, lost := Diff{Permissions: of}.Gained(), Diff{Permissions: of}.Lost()
		fresh := uncovered(gained, c.had[owner], Gained)
		out = append(out, c.changed(fresh, c.had[owner], Gained)...)
		out = append(out, c.changed(uncovered(lost, c.has[owner], Lost), c.has[owner], Lost)...)
		left := c.changed(lost, nil, Lost)
		for _, of := range lists.Groups(uncovered(gained, fresh, Gained), subjectOfItem) {
			for _, f := range c.changed(of, c.before[of[0].Subject], Moved) {
				for _, l := range left {
					if l.Risk == f.Risk {
						f.From = l.Subjects
					}
				}
				out = append(out, f)
			}
		}
	}
	order := []Change{Gained, Moved, Lost}
	slices.SortStableFunc(out, func(a, b ChangedFact) int {
		return cmp.Or(slices.Index(order, a.Change)-slices.Index(order, b.Change), worse(a.Severity, b.Severity),
			cmp.Compare(a.Namespaces[0], b.Namespaces[0]), // the star sorts first
			slices.Index(Dangerous, a.Risk)-slices.Index(Dangerous, b.Risk))
	})
	for _, same := range lists.Groups(out, func(f ChangedFact) [3]string {
		return [3]string{string(f.Change), f.Text, fmt.Sprint(f.From)}
	}) {
		for _, f := range same[1:] {
			same[0].Subjects = append(same[0].Subjects, f.Subjects...)
		}
		facts = append(facts, same[0])
	}
	return facts
}

// changed answers the questions for items, beyond what follows from others.
func (c *comparison) changed(items, others []Item, change Change) (out []ChangedFact) {
	part, rest := &Report{Permissions: items, scopes: c.scopes}, &Report{Permissions: others, scopes: c.scopes}
	known := rest.Reaches()
	for _, f := range part.facts() {
		if f, left := f.beyond(known); left {
			f.Text = strings.Replace(f.Text, amongThem, "", 1)
			severity := cmp.Or(f.severity, findings.Info)
			out = append(out, ChangedFact{Fact: f, Change: change, Severity: severity, May: f.may, Item: f.item})
		}
	}
	return out
}

// inVain reports whether others ask for a part of the item where nobody is asked for it: a rule moved to a namespace.
func (i Item) inVain(others []Item) bool {
	return slices.ContainsFunc(others, func(o Item) bool {
		return o.Risk == NoEffect && slices.ContainsFunc(rbac.Atoms(i.rule()), func(a rbac.Atom) bool {
			return rbac.Covers([]rbacv1.PolicyRule{o.rule()}, rbac.Rules([]rbac.Atom{a})[0])
		})
	})
}

// uncovered returns what items allow beyond others.
func uncovered(items, others []Item, change Change) []Item {
	held := placesOf(others)
	var out []Item
	for _, i := range items {
		out = append(out, i.rest(i.beyond(held), change)...)
	}
	slices.SortFunc(out, Item.compare)
	return out
}

// beyondDefaults returns items of the roles for users without the dangerous rights that these have in every cluster.
func beyondDefaults(items []Item) (out []Item) {
	for _, of := range lists.Groups(items, subjectOfItem) {
		has := &rbac.Index[int]{}
		for _, rule := range rbac.DefaultRules(of[0].Subject.Name) {
			for _, a := range rbac.Atoms(rule) {
				has.Add(a, 0)
			}
		}
		for _, i := range of {
			if !slices.Contains(Dangerous, i.Risk) {
				out = append(out, i)
				continue
			}
			out = append(out, i.rest(i.beyond(allowed{"": has}), i.Change)...)
		}
	}
	return out
}

// beyond returns what the item allows at each place beyond others.
func (i Item) beyond(held allowed) map[string][]rbac.Atom {
	left := map[string][]rbac.Atom{}
	atoms := rbac.Atoms(i.rule())
	for _, place := range i.places() {
		for _, a := range atoms {
			if _, ok := held.allow(a, place); !ok {
				left[place] = append(left[place], a)
			}
		}
	}
	return left
}

// rest returns the item for those of its atoms that are left at each place. The risk and the source stay.
func (i Item) rest(left map[string][]rbac.Atom, change Change) []Item {
	var out []Item
	index := map[string]int{}
	for _, place := range slices.Sorted(maps.Keys(left)) {
		name := cmp.Or(place, Everywhere)
		for _, r := range rbac.Rules(left[place]) {
			slices.SortFunc(r.Verbs, compareVerbs)
			id := rbac.RuleKey(r)
			if at, ok := index[id]; ok {
				out[at].Namespaces = append(out[at].Namespaces, name)
				continue
			}
			index[id] = len(out)
			i.Namespaces, i.Change = []string{name}, change
			i.Verbs, i.APIGroups, i.Resources = r.Verbs, r.APIGroups, r.Resources
			i.ResourceNames, i.NonResourceURLs = r.ResourceNames, r.NonResourceURLs
			out = append(out, i)
		}
	}
	return out
}

// allowed is what items allow, by place: which of them does.
type allowed map[string]*rbac.Index[int]

func placesOf(items []Item) allowed {
	out := allowed{}
	for n, i := range items {
		atoms := rbac.Atoms(i.rule())
		for _, place := range i.places() {
			if out[place] == nil {
				out[place] = &rbac.Index[int]{}
			}
			for _, a := range atoms {
				out[place].Add(a, n)
			}
		}
	}
	return out
}

// allow returns which item allows an atom at a place, by what holds there or in the cluster.
func (x allowed) allow(a rbac.Atom, place string) (n int, ok bool) {
	if n, ok = x[place].Covers(a); !ok {
		n, ok = x[""].Covers(a)
	}
	return n, ok
}

// verbOrder is the order in which people know the verbs; others follow.
var verbOrder = append([]string{rbacv1.VerbAll}, rbac.Verbs...)

func compareVerbs(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(verbOrder, v); i >= 0 {
			return i
		}
		return len(verbOrder)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
