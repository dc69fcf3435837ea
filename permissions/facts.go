package permissions

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/findings/show"
)

// Fact answers one question that a person asks first, for all subjects together.
type Fact struct {
	Risk       Risk      `json:"risk"`
	Text       string    `json:"text"`            // such as: reads all Secrets of the cluster
	Named      bool      `json:"named,omitempty"` // only for objects of some names
	Namespaces []string  `json:"namespaces"`      // ["*"] is the cluster
	Subjects   []Subject `json:"subjects"`
	Source     Source    `json:"source"` // the first that grants it
}

// facet is a part of a risk with its name.
type facet struct {
	name     string
	patterns []pattern
}

// question is a risk with the sentence that answers it: %s is the place, then the facets, then the names.
type question struct {
	risk   Risk
	any    string // for all objects of the resources
	named  string // only for some names
	facets []facet
}

var questions = []question{
	{ReadsSecrets, "reads all Secrets of %s%s", "reads Secrets of %s%s, only %s", []facet{
		{"", []pattern{secretsRead}}}},
	{WritesRBAC, "writes RBAC in %s%s", "writes RBAC in %s%s, only of %s", []facet{
		{"escalate", []pattern{with(roleWrite, "escalate")}}, {"bind", []pattern{with(roleWrite, "bind")}},
		{"", []pattern{roleWrite}}}},
	{RunsInPods, "runs in pods of %s%s", "runs in pods of %s%s, only of %s", []facet{
		{"exec", []pattern{podExec}}, {"port-forward", []pattern{podReach}}, {"debug containers", []pattern{podDebug}},
		{"pods", []pattern{podWrite}}, {"workloads", []pattern{appsWrite, batchWrite, dcWrite}},
		{"nodes/proxy", []pattern{nodesProxy}}}},
	{Impersonates, "impersonates in %s%s", "impersonates in %s%s, only of %s", []facet{
		{"users", []pattern{impersonateUsers, impersonateExtra}}, {"accounts", []pattern{impersonateAccounts}},
		{"tokens of accounts", []pattern{tokenCreate}},
		{"certificates", []pattern{csrApprove, csrSigner}}}},
	{ChangesAPIs, "changes webhooks and CRDs of %s%s", "changes webhooks and CRDs of %s%s, only of %s", []facet{
		{"webhooks", []pattern{webhookWrite}}, {"admission policies", []pattern{policyWrite}},
		{"CRDs", []pattern{crdWrite}},
		{"APIServices", []pattern{apiServiceWrite}}}},
}

func with(p pattern, verb string) pattern {
	p.verbs = []string{verb}
	return p
}

// facts answers the questions, the most dangerous first. What is not the case has no fact.
func (r *Report) facts(s scopes) []Fact {
	out := []Fact{}
	f, full, ok := r.everything()
	if ok {
		out = append(out, f)
	}
	if full {
		return out // the other answers are in it
	}
	for _, q := range questions {
		if f, ok := r.answer(q, s); ok {
			out = append(out, f)
		}
	}
	return out
}

// everything answers whether there are rules about all resources; full is all verbs on all of them in the cluster.
func (r *Report) everything() (f Fact, full, ok bool) {
	best, at := -1, -1
	for i, item := range r.Permissions {
		if item.Risk != Everything {
			continue
		}
		rank := 0
		for _, b := range []bool{slices.Contains(item.Namespaces, Everywhere), slices.Contains(item.APIGroups, all),
			slices.Contains(item.Verbs, all)} {
			rank *= 2
			if b {
				rank++
			}
		}
		if rank > best {
			best, at = rank, i
		}
	}
	if at < 0 {
		return f, false, false
	}
	item := r.Permissions[at]
	f = Fact{Risk: Everything, Source: item.Source}
	for _, other := range r.Permissions {
		if other.Risk == Everything && slices.Equal(other.Verbs, item.Verbs) &&
			slices.Equal(other.APIGroups, item.APIGroups) {
			f.add(other)
		}
	}
	resources := "all resources"
	if !slices.Contains(item.APIGroups, all) {
		resources = "all resources of the core group, Secrets and pods among them,"
	}
	switch {
	case slices.Contains(item.Verbs, all) && slices.Contains(item.APIGroups, all):
		f.Text = "may do everything in " + placeText(f.Namespaces)
	case slices.Contains(item.Verbs, all):
		f.Text = "may do everything with " + resources + " in " + placeText(f.Namespaces)
	case !slices.ContainsFunc(item.Verbs, func(v string) bool { return !slices.Contains(reading, v) }):
		f.Text = "reads " + resources + " in " + placeText(f.Namespaces)
	default:
		f.Text = fmt.Sprintf("may %s %s in %s", show.List(item.Verbs), resources, placeText(f.Namespaces))
	}
	f.Text = f.everybody() + f.Text
	return f, best == 7, true
}

// crowd is a group that everybody is in, with what to call it.
type crowd struct{ group, who string }

var everyone = []crowd{
	{"system:unauthenticated", "everybody, without logging in, "},
	{"system:authenticated", "every user "}, {"system:authenticated:oauth", "every user "},
	{"system:serviceaccounts", "every ServiceAccount "},
}

// everybody returns the subject of the sentence where it is not the operator alone.
func (f Fact) everybody() string {
	for _, e := range everyone {
		if slices.Contains(f.Subjects, Subject{Kind: rbacv1.GroupKind, Name: e.group}) {
			return e.who
		}
	}
	return ""
}

func (f *Fact) add(i Item) {
	for _, ns := range i.Namespaces {
		if !slices.Contains(f.Namespaces, ns) {
			f.Namespaces = append(f.Namespaces, ns)
		}
	}
	if slices.Contains(f.Namespaces, Everywhere) {
		f.Namespaces = []string{Everywhere}
	}
	if !slices.Contains(f.Subjects, i.Subject) {
		f.Subjects = append(f.Subjects, i.Subject)
	}
	slices.Sort(f.Namespaces)
	slices.SortFunc(f.Subjects, Subject.compare)
}

// answer finds the strongest answer: in the cluster before in namespaces, and for all objects before for some names.
func (r *Report) answer(q question, s scopes) (Fact, bool) {
	best := 4
	f := Fact{}
	var facets, names []string
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
			found := q.found(item, place, s)
			if len(found) == 0 || strength > best {
				continue
			}
			if strength < best {
				best, f, names = strength, Fact{Risk: q.risk, Source: item.Source}, nil
				facets = nil
			}
			one := item
			if one.Namespaces = []string{place}; place == "" {
				one.Namespaces = []string{Everywhere}
			}
			f.add(one)
			facets, names = append(facets, found...), union(names, item.ResourceNames)
		}
	}
	if best == 4 {
		return f, false
	}
	f.Text = fmt.Sprintf(q.any, placeText(f.Namespaces), q.facetText(facets))
	if best > 1 {
		f.Named = true
		f.Text = fmt.Sprintf(q.named, placeText(f.Namespaces), q.facetText(facets), show.List(names))
	}
	f.Text = f.everybody() + f.Text
	return f, true
}

// found names the facets that an item has at a place.
func (q question) found(item Item, place string, s scopes) (names []string) {
	for _, f := range q.facets {
		if slices.ContainsFunc(f.patterns, func(p pattern) bool { return p.allowedBy(item, place, s) }) {
			names = append(names, f.name)
		}
	}
	return names
}

func (q question) facetText(found []string) string {
	var names []string
	for _, f := range q.facets {
		if f.name != "" && slices.Contains(found, f.name) {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// absent names the risks that no fact is about.
func (r *Report) absent() []string {
	var out []string
	if _, full, _ := r.everything(); full {
		return nil
	}
	for _, risk := range Risks {
		if risk == Other || risk == NoEffect {
			continue
		}
		if !slices.ContainsFunc(r.Summary, func(f Fact) bool { return f.Risk == risk }) {
			out = append(out, title[risk])
		}
	}
	return out
}
