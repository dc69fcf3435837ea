package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

const (
	ruleUnknown = "role-unknown"
	ruleAccount = "account-missing"
	ruleUsers   = "users-gain"
	ruleEvery   = "everyone-gains"
)

const (
	practices = "https://kubernetes.io/docs/concepts/security/rbac-good-practices/#"
	policeURL = "https://github.com/PaloAltoNetworks/rbac-police/blob/main/lib/"
	attackURL = "https://attack.mitre.org/techniques/"
)

// Rules explains the findings of a report.
func Rules() []findings.Rule {
	out := lists.Map(danger.Consequences(), func(c danger.Consequence) findings.Rule {
		return findings.Rule{ID: c.ID, Text: c.Text, Help: help(c)}
	})
	out = append(out, findings.Rule{ID: ruleUnknown, Text: "is bound to a role that is not among the objects",
		Help: "What the role allows is in the cluster, not in what was read."},
		findings.Rule{ID: ruleAccount, Text: "is bound and not among the objects",
			Help: "Whoever creates the ServiceAccount, or its namespace, has its permissions. " +
				"Often the namespace is not the operator's."},
		findings.Rule{ID: ruleEvery, Text: "every user or every account gains permissions",
			Help: "The groups system:authenticated, system:unauthenticated and system:serviceaccounts " +
				"have everybody in them."},
		findings.Rule{ID: ruleUsers, Text: "users gain more than the operator's own APIs",
			Help: "A ClusterRole with a label aggregate-to adds its rules to a role that users have."})
	slices.SortFunc(out, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// help returns the help of a consequence with the addresses of those who say so.
func help(c danger.Consequence) string {
	text, from := c.Help, sources[c.ID]
	for _, s := range []struct{ before, word, after string }{{" Kubernetes: " + practices, from.practice, "."},
		{" rbac-police: " + policeURL, from.police, ".rego."},
		{" MITRE ATT&CK: " + attackURL, strings.Replace(from.attack, ".", "/", 1), "/."},
		{" https://github.com/", c.Source, "."}} {
		if s.word != "" {
			text += s.before + s.word + s.after
		}
	}
	for _, at := range from.code {
		text += " https://github.com/" + at + "."
	}
	return strings.TrimPrefix(text, " ")
}

// follows finds what follows, for each subject the worst place only.
func (r *Report) follows() []findings.Finding {
	out := []findings.Finding{}
	var owners []Subject // of the findings
	x := reach{scopes: r.scopes, ways: map[Subject]*Way{}, into: map[string][]Step{}}
	for _, items := range lists.Groups(r.Permissions, subjectOfItem) {
		s := items[0].Subject
		held, sources := heldBy(items)
		list := r.scopes.Follow(held)
		x.subject(s, list, held, sources)
		if slices.ContainsFunc(items, Item.ofOperator) {
			x.last = append(x.last, &Way{Subject: s, Reaches: operatorsRights})
		}
		for _, same := range lists.Groups(list, func(f danger.Follows) [2]string { return [2]string{f.ID, f.Text} }) {
			if f, ok := worstPlace(same, s, sources); ok {
				out, owners = append(out, f), append(owners, s)
			}
		}
	}
	x.search()
	for i, s := range owners {
		if w := x.ways[s]; w != nil && out[i].Rule == w.Steps[0].rule {
			out[i].Flow = &findings.Flow{Steps: lists.Map(w.Steps, func(s Step) findings.Step {
				return findings.Step{File: s.Source.File, Line: s.Source.Line,
					Message: text.Brief(s.Subject.String()) + ": " + s.Text}
			})}
			if w.Reaches != operatorsRights {
				out[i].Level = findings.Error
			}
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(x.ways), Subject.compare) {
		r.Ways = append(r.Ways, *x.ways[s])
	}
	for i, item := range r.Permissions {
		if s := item.Subject; r.missing[s] && (i == 0 || r.Permissions[i-1].Subject != s) {
			out = append(out, item.Source.finding(ruleAccount, findings.Warning, s,
				"is bound and not among the objects: whoever creates it has its permissions"))
		}
	}
	out = append(out, r.everyone()...)
	for _, u := range r.Unknown {
		out = append(out, u.Source.finding(ruleUnknown, findings.Warning, u.Subject,
			fmt.Sprintf("is bound in %s to %s, which is not among the objects",
				placeText(u.Namespaces), text.Brief(u.Role))))
	}
	for _, item := range r.Users {
		held, _ := heldBy([]Item{item})
		level, follows := item.news(held, nil, byDefault(item.Subject), r.scopes)
		if level == findings.Info {
			continue
		}
		message := "users who are bound to this role gain: " + item.ruleText()
		if follows != "" {
			message += "; who has it by a ClusterRoleBinding " + follows + item.inRoleBinding()
		}
		out = append(out, item.Source.finding(ruleUsers, level, item.Subject, message))
	}
	slices.SortStableFunc(out, func(a, b findings.Finding) int { return worse(a.Level, b.Level) })
	return out
}

// inRoleBinding returns what a right to impersonate is worth by a RoleBinding: users and groups are asked without a
// namespace (k8s.io/apiserver: pkg/endpoints/filters/impersonation). It is "" for other rights.
func (i Item) inRoleBinding() string {
	switch {
	case !slices.Contains(i.Verbs, "impersonate"):
		return ""
	case slices.Contains(i.Resources, "serviceaccounts") || slices.Contains(i.Resources, rbac.All):
		return ", by a RoleBinding every ServiceAccount of its namespace"
	}
	return ", by a RoleBinding nobody"
}

// everyone returns findings about what groups gain that everybody is in: an error where it is dangerous.
func (r *Report) everyone() []findings.Finding {
	var out []findings.Finding
	noted := map[Subject]bool{}
	for _, i := range r.Permissions {
		if i.Subject.Everybody() == "" || i.Risk == NoEffect {
			continue
		}
		held, _ := heldBy([]Item{i})
		level, _ := levelOf(i, held, nil, r.scopes)
		if level = i.rated(level); level != findings.Error {
			if level != findings.Warning || noted[i.Subject] {
				continue // by default, or one is enough to look at the list
			}
			noted[i.Subject] = true
		}
		out = append(out, i.Source.finding(ruleEvery, level, i.Subject,
			fmt.Sprintf("gives everybody in it in %s: %s", placeText(i.Namespaces), i.ruleText())))
	}
	return out
}

// byDefault returns what a role for users has in every cluster.
func byDefault(role Subject) danger.Held { return danger.Held{"": rbac.DefaultRules(role.Name)} }

// levelOf returns the severity of an item beside all that its subject has, and the worst that follows from it and did
// not follow before. A dangerous risk from which nothing follows is a warning, and so is at most an unbound role.
func levelOf(i Item, held, before danger.Held, scopes danger.Scopes) (worst findings.Severity, follows string) {
	worst = findings.None
	for _, place := range i.places() {
		if news := scopes.News(i.rule(), place, held, before); len(news) > 0 && worse(news[0].Level(place), worst) < 0 {
			worst, follows = news[0].Level(place), news[0].Text
		}
	}
	switch {
	case worst == findings.None && before == nil && slices.Contains(Dangerous, i.Risk),
		worst == findings.Error && i.Subject.IsRole() && !i.Subject.IsUserRole():
		worst = findings.Warning
	}
	return worst, follows
}

func worse(a, b findings.Severity) int { return a.Rank() - b.Rank() }

// heldBy returns the rules of one subject by place, and where each of them stands.
func heldBy(items []Item) (danger.Held, map[string][]Source) {
	held, sources := danger.Held{}, map[string][]Source{}
	for _, i := range items {
		if i.Risk == NoEffect {
			continue
		}
		for _, place := range i.places() {
			held[place] = append(held[place], i.rule())
			sources[place] = append(sources[place], i.Source)
		}
	}
	return held, sources
}

// worstPlace returns one consequence in the cluster or, if it does not hold there, in namespaces, which are sorted.
func worstPlace(list []danger.Follows, subject Subject, sources map[string][]Source) (findings.Finding, bool) {
	level, places := list[0].Cluster, []string{Everywhere}
	if list[0].Place != "" {
		level, places = findings.None, nil
		for _, f := range list {
			if at := f.Level(f.Place); at != findings.None {
				places, level = append(places, f.Place), slices.MinFunc([]findings.Severity{level, at}, worse)
			}
		}
	}
	message := fmt.Sprintf(list[0].Message, placeText(places))
	return sources[list[0].From()][list[0].First].finding(list[0].ID, level, subject, message), level != findings.None
}

func (s Source) finding(rule string, level findings.Severity, subject Subject, message string) findings.Finding {
	f := findings.Finding{Rule: rule, Level: level, File: s.File, Line: s.Line,
		Object: text.Brief(subject.String()), Message: message}
	if s.File == "" {
		f.Message += " (" + text.Brief(s.Object) + ", which OLM makes)"
	}
	return f
}
