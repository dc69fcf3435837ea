package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
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
	out := make([]findings.Rule, 0, len(consequences)+4)
	for _, p := range consequences {
		out = append(out, findings.Rule{ID: p.id, Text: p.text, Help: p.sources()})
	}
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

// sources returns the help with the addresses of those who say so.
func (c consequence) sources() string {
	text := c.help
	add := func(s string) {
		if text != "" {
			text += " "
		}
		text += s
	}
	if c.practice != "" {
		add("Kubernetes: " + practices + c.practice + ".")
	}
	if c.police != "" {
		add("rbac-police: " + policeURL + c.police + ".rego.")
	}
	if c.attack != "" {
		add("MITRE ATT&CK: " + attackURL + strings.Replace(c.attack, ".", "/", 1) + "/.")
	}
	return text
}

// paths finds what follows, for each subject the worst place only.
func (r *Report) paths(s scopes) []findings.Finding {
	out := []findings.Finding{}
	for i := 0; i < len(r.Permissions); {
		j := i
		for j < len(r.Permissions) && r.Permissions[j].Subject == r.Permissions[i].Subject {
			j++
		}
		out = append(out, follow(r.Permissions[i:j], s)...)
		i = j
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
				placeText(u.Namespaces), show.Short(u.Role))))
	}
	for _, item := range r.Users {
		if item.Risk != Other && item.Risk != NoEffect {
			out = append(out, item.Source.finding(ruleUsers, findings.Warning, item.Subject,
				fmt.Sprintf("users who are bound to this role gain: %s", item.text())))
		}
	}
	slices.SortStableFunc(out, func(a, b findings.Finding) int {
		return a.Level.Rank() - b.Level.Rank()
	})
	return out
}

// everyone returns findings about what groups gain that everybody is in: an error where it is dangerous.
func (r *Report) everyone() []findings.Finding {
	var out []findings.Finding
	noted := map[Subject]bool{}
	for _, i := range r.Permissions {
		isEveryone := slices.ContainsFunc(everyone, func(e crowd) bool { return e.group == i.Subject.Name })
		if i.Subject.Kind != rbacv1.GroupKind || !isEveryone || i.Risk == NoEffect {
			continue
		}
		level := findings.Error
		if i.Risk == Other {
			if level = findings.Note; noted[i.Subject] {
				continue // one is enough to look at the list
			}
			noted[i.Subject] = true
		}
		out = append(out, i.Source.finding(ruleEvery, level, i.Subject,
			fmt.Sprintf("gives everybody in it in %s: %s", placeText(i.Namespaces), i.text())))
	}
	return out
}

// placed are the items of one subject by place.
type placed map[string][]Item

// follow finds what follows from the items of one subject.
func follow(items []Item, s scopes) []findings.Finding {
	here := placed{"": nil}
	for _, i := range items {
		for _, place := range i.places() {
			if i.Risk != NoEffect {
				here[place] = append(here[place], i)
			}
		}
	}
	var out []findings.Finding
	said := map[string]bool{} // id and place; without a place, in the cluster
	for _, p := range consequences {
		sources := map[string]Source{}
		for place := range here {
			worse := func(id string) bool { return said[id+place] || said[id] }
			if worse("everything") || slices.ContainsFunc(p.unless, worse) {
				continue
			}
			if source, ok := p.source(here, place, s); ok {
				sources[place] = source
			}
		}
		for place := range sources {
			said[p.id+place] = true
		}
		if f, ok := p.finding(items[0].Subject, sources); ok {
			out = append(out, f)
		}
	}
	return out
}

// finding returns what follows in the cluster or, if nothing follows there, in namespaces.
func (c consequence) finding(subject Subject, sources map[string]Source) (findings.Finding, bool) {
	if source, ok := sources[""]; ok && c.cluster != findings.None {
		return source.finding(c.id, c.cluster, subject, fmt.Sprintf(c.message, placeText([]string{Everywhere}))), true
	}
	delete(sources, "")
	if len(sources) == 0 || c.namespace == findings.None {
		return findings.Finding{}, false
	}
	namespaces := slices.Sorted(maps.Keys(sources))
	message := fmt.Sprintf(c.message, placeText(namespaces))
	return sources[namespaces[0]].finding(c.id, c.namespace, subject, message), true
}

// source returns the source of the first need if all needs are met at a place, at least one of them by what is granted
// there.
func (c consequence) source(here placed, place string, s scopes) (first Source, ok bool) {
	own := false
	for n, need := range c.needs {
		source, ok := c.meet(need, here[place], place, s)
		if ok {
			own = true
		} else if source, ok = c.meet(need, here[""], place, s); !ok {
			return Source{}, false
		}
		if n == 0 {
			first = source
		}
	}
	return first, own
}

// meet finds the item that allows one of the patterns at a place.
func (c consequence) meet(need []pattern, items []Item, place string, s scopes) (Source, bool) {
	for _, i := range items {
		if len(i.ResourceNames) > 0 && !c.forNames(i) {
			continue
		}
		if slices.ContainsFunc(need, func(n pattern) bool { return n.allowedBy(i, place, s) }) {
			return i.Source, true
		}
	}
	return Source{}, false
}

func (c consequence) forNames(i Item) bool {
	return slices.ContainsFunc(i.ResourceNames, func(name string) bool { return slices.Contains(c.names, name) })
}

func (s Source) finding(rule string, level findings.Severity, subject Subject, message string) findings.Finding {
	f := findings.Finding{Rule: rule, Level: level, File: s.File, Line: s.Line,
		Object: show.Short(subject.String()), Message: message}
	if s.File == "" {
		f.Message += " (" + show.Short(s.Object) + ", which OLM makes)"
	}
	return f
}
