package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Fact answers one question that a person asks first, for all subjects together.
type Fact struct {
	Risk       Risk      `json:"risk"`
	Text       string    `json:"text"`       // such as: reads all Secrets of the cluster
	Namespaces []string  `json:"namespaces"` // ["*"] is the cluster
	Subjects   []Subject `json:"subjects"`
	Source     Source    `json:"source"` // the first that grants it
}

// facet is a part of a risk with its name.
type facet struct {
	name     string
	patterns []pattern
}

// question is a risk with the sentence that answers it: %s is the place, then the facets.
type question struct {
	risk   Risk
	any    string // for all objects of the resources
	named  string // only for some names
	facets []facet
}

var questions = []question{
	{ReadsSecrets, "reads all Secrets of %s%s", "reads Secrets of %s by name%s", []facet{{"", []pattern{secretsRead}}}},
	{WritesRBAC, "writes RBAC in %s%s", "writes RBAC in %s by name%s", []facet{
		{"escalate", []pattern{with(roleWrite, "escalate")}}, {"bind", []pattern{with(roleWrite, "bind")}},
		{"", []pattern{roleWrite}}}},
	{RunsInPods, "runs in pods of %s%s", "runs in pods of %s by name%s", []facet{
		{"exec", []pattern{podExec}}, {"ports", []pattern{podReach}}, {"debug containers", []pattern{podDebug}},
		{"pods", []pattern{podWrite}}, {"workloads", []pattern{appsWrite, batchWrite, dcWrite}}, {"nodes/proxy", []pattern{nodesProxy}}}},
	{Impersonates, "impersonates in %s%s", "impersonates in %s by name%s", []facet{
		{"users, groups or accounts", []pattern{impersonate, impersonateExtra}}, {"tokens of accounts", []pattern{tokenCreate}},
		{"approves certificates", []pattern{csrApprove, csrSigner}}}},
	{ChangesAPIs, "changes webhooks and CRDs of %s%s", "changes webhooks and CRDs of %s by name%s", []facet{
		{"webhooks", []pattern{webhookWrite}}, {"admission policies", []pattern{policyWrite}}, {"CRDs", []pattern{crdWrite}},
		{"APIServices", []pattern{apiServiceWrite}}}},
}

func with(p pattern, verb string) pattern {
	p.verbs = []string{verb}
	return p
}

// facts answers the questions, the most dangerous first. What is not the case has no fact.
func (r *Report) facts(s scopes) []Fact {
	out := []Fact{}
	if f, ok := r.everything(); ok {
		out = append(out, f)
	}
	for _, q := range questions {
		if f, ok := r.answer(q, s); ok {
			out = append(out, f)
		}
	}
	return out
}

// everything answers whether there are rules about all resources.
func (r *Report) everything() (Fact, bool) {
	best, at := -1, -1
	for i, item := range r.Permissions {
		if item.Risk != Everything {
			continue
		}
		rank := 0
		for _, b := range []bool{slices.Contains(item.Namespaces, Everywhere), slices.Contains(item.APIGroups, all), slices.Contains(item.Verbs, all)} {
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
		return Fact{}, false
	}
	item := r.Permissions[at]
	f := Fact{Risk: Everything, Source: item.Source}
	for _, other := range r.Permissions {
		if other.Risk == Everything && slices.Equal(other.Verbs, item.Verbs) && slices.Equal(other.APIGroups, item.APIGroups) {
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
		f.Text = fmt.Sprintf("may %s %s in %s", listText(item.Verbs), resources, placeText(f.Namespaces))
	}
	return f, true
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
	var names []string
	for _, item := range r.Permissions {
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
			}
			one := item
			if one.Namespaces = []string{place}; place == "" {
				one.Namespaces = []string{Everywhere}
			}
			f.add(one)
			names = append(names, found...)
		}
	}
	if best == 4 {
		return f, false
	}
	text := q.any
	if best > 1 {
		text = q.named
	}
	f.Text = fmt.Sprintf(text, placeText(f.Namespaces), q.facetText(names))
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
