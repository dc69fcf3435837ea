package permissions

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Explained returns the findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.Findings }

// groupText names API groups for a person.
func groupText(groups []string) string {
	names := slices.Clone(groups)
	for i, g := range names {
		switch g {
		case "":
			names[i] = "core"
		case rbac.All:
			names[i] = "all groups"
		}
	}
	return text.FirstOf(12, names)
}

// ruleText returns what the item allows: verbs, resources, groups and names.
func (i Item) ruleText() string {
	out := i.withoutGroup()
	if len(i.NonResourceURLs) == 0 && !slices.Equal(i.APIGroups, []string{""}) {
		out += " (" + groupText(i.APIGroups) + ")"
	}
	return out
}

func (i Item) withoutGroup() string {
	verbs := strings.ReplaceAll(text.FirstOf(12, i.Verbs), ", ", ",")
	if slices.Contains(i.Verbs, rbac.All) {
		verbs = "all verbs on"
	}
	if len(i.NonResourceURLs) > 0 {
		return verbs + " URLs " + text.FirstOf(12, i.NonResourceURLs)
	}
	resources := text.FirstOf(12, i.Resources)
	if slices.Contains(i.Resources, rbac.All) {
		resources = "all resources"
	}
	out := verbs + " " + resources
	if len(i.ResourceNames) > 0 {
		out += " named " + text.FirstOf(12, i.ResourceNames)
	}
	return out
}

// where names the places of the item in a few words.
func (i Item) where() string {
	if slices.Contains(i.Namespaces, Everywhere) {
		return "cluster"
	}
	if len(i.Namespaces) > 4 {
		return text.Count(len(i.Namespaces), "namespace")
	}
	return text.FirstOf(12, i.Namespaces)
}

// reason returns why a rule is there.
func (s Source) reason() string {
	if s.Via != "" {
		return whyText[s.Why] + ", for all of " + text.Brief(s.Via)
	}
	if s.Field == "roleRef" {
		return whyText[s.Why] + ", of " + text.Brief(s.Object)
	}
	return whyText[s.Why]
}
