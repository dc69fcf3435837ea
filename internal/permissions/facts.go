package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Fact answers one question that a person asks first, for all subjects together.
type Fact struct {
	Risk       Risk      `json:"risk"`
	Text       string    `json:"text"`            // such as: reads all Secrets of the cluster
	Named      bool      `json:"named,omitempty"` // only for objects of some names
	Namespaces []string  `json:"namespaces"`      // ["*"] is the cluster
	Subjects   []Subject `json:"subjects"`
	Source     Source    `json:"source"` // the first that grants it

	parts, names []string // of the risk, and of objects
	may          string   // what it is that the subjects may do
	item         Item     // the first that says so
	severity     findings.Severity
}

// In ends a sentence with the places of a fact.
func (f Fact) In() string { return " in " + placeText(f.Namespaces) }

// within reports whether another fact is about the risk in all places of this one, and for all objects if this one is.
func (f Fact) within(o Fact) bool {
	wider := slices.Contains(o.Namespaces, Everywhere) || sets.New(o.Namespaces...).HasAll(f.Namespaces...)
	return o.Risk == f.Risk && wider && (f.Named || !o.Named)
}

// beyond returns what a fact says and others of the same owner do not, and whether anything is left.
func (f Fact) beyond(others []Fact) (Fact, bool) {
	for _, o := range others {
		if f.Risk == Everything || o.Named || !f.within(o) {
			continue
		}
		f.parts = lists.Filter(f.parts, func(p string) bool { return !slices.Contains(o.parts, p) })
		if len(f.parts) == 0 {
			return f, false
		}
		f.say()
	}
	return f, true
}

// say fills in the sentence.
func (f *Fact) say() {
	i := slices.IndexFunc(questions, func(q question) bool { return q.risk == f.Risk })
	if i < 0 {
		return // everything has a sentence of its own
	}
	q, parts := questions[i], partsText(f.Risk, f.parts)
	f.may = q.may
	f.Text = f.everybody() + fmt.Sprintf(q.any, placeText(f.Namespaces), parts)
	if f.Named {
		names := text.FirstOf(12, f.names)
		f.Text = f.everybody() + fmt.Sprintf(q.named, placeText(f.Namespaces), parts, names)
		f.may = q.only + names
	}
}

// question is a risk with the sentence that answers it: %s is the place, then the parts of the risk, then the names.
type question struct {
	risk  Risk
	any   string // for all objects of the resources
	named string // only for some names
	may   string // the same after "may"
	only  string // the same before the names
}

var questions = []question{
	{ReadsSecrets, "reads all Secrets of %s%s", "reads Secrets of %s%s, only %s", "read every Secret",
		"read Secrets, only "},
	{WritesRBAC, "writes RBAC in %s%s", "writes RBAC in %s%s, only of %s", "write RBAC", "write RBAC, only of "},
	{RunsInPods, "runs in pods of %s%s", "runs in pods of %s%s, only of %s", "start or enter pods",
		"start or enter pods, only of "},
	{Impersonates, "impersonates in %s%s", "impersonates in %s%s, only of %s", "act as others",
		"act as others, only of "},
	{ReachesNodes, "reaches nodes of %s%s", "reaches nodes of %s%s, only by %s", "reach nodes",
		"reach nodes, only by "},
	{Installs, "installs operators in %s%s", "installs operators in %s%s, only by %s", "install operators",
		"install operators, only by "},
	{ChangesAPIs, "changes webhooks and CRDs of %s%s", "changes webhooks and CRDs of %s%s, only of %s",
		"change webhooks and CRDs", "change webhooks and CRDs, only of "},
}

// amongThem is what rules about all resources of the core group are good for, if nothing else says it.
const amongThem = ", Secrets and pods among them,"

// facts answers the questions, the most dangerous first. Who may do everything has one fact, with the others in it.
func (r *Report) facts() []Fact {
	if f, full, ok := r.everything(); ok && full {
		return []Fact{f}
	}
	return r.Reaches()
}

// Reaches answers all questions, the most dangerous first, even if there is an account that may do everything.
func (r *Report) Reaches() []Fact {
	out := []Fact{}
	if f, _, ok := r.everything(); ok {
		out = append(out, f)
	}
	for _, q := range questions {
		if f, ok := r.answer(q); ok {
			out = append(out, f)
		}
	}
	return out
}

// everything answers whether there are rules about all resources; full is all verbs on all of them in the cluster.
func (r *Report) everything() (f Fact, full, ok bool) {
	all := lists.Filter(r.Permissions, func(i Item) bool { return i.Risk == Everything })
	if len(all) == 0 {
		return f, false, false
	}
	rank := func(i Item) (n int) {
		for weight, list := range map[int][]string{4: i.Namespaces, 2: i.APIGroups, 1: i.Verbs} {
			if slices.Contains(list, rbac.All) {
				n += weight
			}
		}
		return n
	}
	item := slices.MaxFunc(all, func(a, b Item) int { return rank(a) - rank(b) })
	f = Fact{Risk: Everything, Source: item.Source, item: item}
	for _, other := range all {
		if slices.Equal(other.Verbs, item.Verbs) && slices.Equal(other.APIGroups, item.APIGroups) {
			f.add(other)
		}
	}
	f.sort()
	resources := "all resources"
	if !slices.Contains(item.APIGroups, rbac.All) {
		resources = "all resources of the core group" + amongThem
	}
	f.may = text.FirstOf(12, item.Verbs) + " " + resources
	what := ""
	switch {
	case slices.Contains(item.Verbs, rbac.All) && slices.Contains(item.APIGroups, rbac.All):
		f.may = "do everything"
	case slices.Contains(item.Verbs, rbac.All):
		f.may = "do everything with " + resources
	case sets.New("get", "list", "watch").HasAll(item.Verbs...):
		f.may, what = "read "+resources, "reads "+resources
	}
	what = cmp.Or(what, "may "+f.may)
	f.may = strings.TrimSuffix(f.may, amongThem)
	f.Text = f.everybody() + what + f.In()
	return f, rank(item) == 7, true
}

// everyone are the groups that everybody is in, and the user that who does not log in is, with what to call them, and
// the ClusterRoles that they have by default (Kubernetes: bootstrappolicy/policy.go, ClusterRoleBindings).
var everyone = []struct {
	Subject
	who   string
	roles []string
}{
	{group("system:unauthenticated"), "everybody, without logging in, ", []string{"system:public-info-viewer"}},
	{Subject{Kind: rbacv1.UserKind, Name: "system:anonymous"}, "everybody, without logging in, ",
		[]string{"system:public-info-viewer"}},
	{group("system:authenticated"), "every user ", ofUsers},
	{group("system:authenticated:oauth"), "every user ", ofUsers},
	{group("system:serviceaccounts"), "every ServiceAccount ", ofUsers},
}

var ofUsers = []string{"system:basic-user", "system:discovery", "system:public-info-viewer"}

func group(name string) Subject { return Subject{Kind: rbacv1.GroupKind, Name: name} }

// everybody returns the subject of the sentence where it is not the operator alone.
func (f Fact) everybody() string {
	for _, e := range everyone {
		if slices.Contains(f.Subjects, e.Subject) {
			return e.who
		}
	}
	return ""
}

// Everybody returns what to call a subject that everybody is, or "".
func (s Subject) Everybody() string { return Fact{Subjects: []Subject{s}}.everybody() }

// IsUserRole reports whether a subject is one of UserRoles, which users have.
func (s Subject) IsUserRole() bool {
	return s.Kind == rbac.KindClusterRole && slices.Contains(UserRoles, s.Name)
}

// rated returns how bad a level is for who has the item: what is a warning for one is an error for everybody, and what
// everybody gets beside the defaults is at least a warning.
func (i Item) rated(level findings.Severity) findings.Severity {
	for _, e := range everyone {
		switch {
		case e.Subject != i.Subject || i.Risk == NoEffect:
		case level == findings.Error || level == findings.Warning:
			return findings.Error
		case !slices.ContainsFunc(e.roles, func(role string) bool {
			return rbac.Covers(rbac.DefaultRules(role), i.rule())
		}):
			return findings.Warning
		}
	}
	return level
}

func (f *Fact) add(i Item) {
	f.Namespaces, f.Subjects = append(f.Namespaces, i.Namespaces...), append(f.Subjects, i.Subject)
	f.names = append(f.names, i.ResourceNames...)
	if f.severity == "" || worse(i.Severity, f.severity) < 0 {
		f.severity = i.Severity
	}
}

// sort sorts what was added, each once.
func (f *Fact) sort() {
	f.Namespaces, f.names = lists.SortedUnique(f.Namespaces), lists.SortedUnique(f.names)
	if slices.Contains(f.Namespaces, Everywhere) {
		f.Namespaces = []string{Everywhere}
	}
	slices.SortFunc(f.Subjects, Subject.compare)
	f.Subjects = slices.Compact(f.Subjects)
}

// answer finds the strongest answer: in the cluster before in namespaces, and for all objects before for some names.
func (r *Report) answer(q question) (Fact, bool) {
	best := 4
	f := Fact{}
	for _, item := range r.Permissions {
		if item.Risk == NoEffect || item.Risk == Other {
			continue
		}
		for _, place := range item.places() {
			strength := 0
			if place != "" {
				strength = 1
			}
			if len(item.ResourceNames) > 0 {
				strength += 2
			}
			found := r.scopes.Facets(q.risk, item.rule(), place)
			if len(found) == 0 || strength > best {
				continue
			}
			if strength < best {
				best, f = strength, Fact{Risk: q.risk, Source: item.Source, item: item}
			}
			one := item
			one.Namespaces = []string{cmp.Or(place, Everywhere)}
			f.add(one)
			f.parts = append(f.parts, lists.Map(found, func(f danger.Facet) string { return f.Name })...)
		}
	}
	if best == 4 {
		return f, false
	}
	f.Named = best > 1
	f.sort()
	f.say()
	return f, true
}

// partsText names the parts of a risk in their order.
func partsText(risk Risk, found []string) string {
	names := slices.DeleteFunc(risk.FacetNames(), func(name string) bool { return !slices.Contains(found, name) })
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// absent names the risks that no fact is about.
func (r *Report) absent() []string {
	if _, full, _ := r.everything(); full {
		return nil
	}
	said := lists.Set(r.Summary, func(f Fact) Risk { return f.Risk })
	return lists.Map(lists.Filter(Dangerous, func(risk Risk) bool { return !said[risk] }), Risk.Title)
}
