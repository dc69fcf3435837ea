package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/lazy"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/permissions"
)

// severityOf returns how bad it is that somebody gains or loses a permission.
func severityOf(i permissions.Item) findings.Severity { return cmp.Or(i.Severity, findings.Info) }

// worst returns the worst of some severities.
func worst(list []findings.Severity) findings.Severity {
	out := findings.Info
	for _, s := range list {
		if s.Rank() < out.Rank() {
			out = s
		}
	}
	return out
}

// severities returns those of a section.
func (r *Report) severities(s Section) []findings.Severity {
	var out []findings.Severity
	switch s {
	case SectionPermissions:
		for _, i := range slices.Concat(r.Permissions, r.Users) {
			out = append(out, severityOf(i))
		}
	case SectionCRDs:
		for _, c := range r.CRDs {
			out = append(out, c.Severity)
		}
	case SectionWorkloads:
		for _, c := range r.Workloads {
			out = append(out, c.Severity)
		}
	case SectionIdentity:
		for _, c := range r.Identity {
			out = append(out, c.Severity)
		}
	case SectionOLM:
		for _, c := range r.OLM {
			out = append(out, c.Severity)
		}
	}
	return out
}

// answers sums up each section that is not empty.
func (r *Report) answers() []Answer {
	out := []Answer{}
	for _, s := range sections {
		list := r.severities(s)
		if len(list) == 0 {
			continue
		}
		a := Answer{Section: s, Severity: worst(list)}
		switch s {
		case SectionPermissions:
			a.Text = r.permissionsAnswer()
		case SectionCRDs:
			if a.Text = countText(list); a.Severity != findings.Info {
				c := r.CRDs[0]
				a.Text = strings.TrimPrefix(fmt.Sprintf("%s: %s: %s; %s", text.Brief(c.CRD), text.Brief(c.Path),
					text.Brief(c.Message), a.Text), ": ")
				a.Text = strings.Replace(a.Text, ": : ", ": ", 1)
			}
		case SectionWorkloads:
			a.Text = worstFirst(r.Workloads, list)
		case SectionIdentity:
			a.Text = r.identityAnswer()
		case SectionOLM:
			a.Text = text.Brief(r.OLM[0].Operator) + " " + text.Brief(r.OLM[0].Message)
			if n := len(r.OLM); n > 1 {
				a.Text += fmt.Sprintf(", and %d more", n-1)
			}
		}
		out = append(out, a)
	}
	return out
}

// countText counts severities: "1 error, 2 warnings, 3 other changes".
func countText(list []findings.Severity) string {
	counts := map[findings.Severity]int{}
	for _, s := range list {
		counts[s]++
	}
	var parts []string
	for _, s := range []struct {
		findings.Severity
		name string
	}{{findings.Error, "error"}, {findings.Warning, "warning"}, {findings.Info, "other change"}} {
		if n := counts[s.Severity]; n > 0 {
			parts = append(parts, text.Count(n, s.name))
		}
	}
	if len(parts) == 1 && counts[findings.Info] > 0 {
		return text.Count(counts[findings.Info], "change")
	}
	return strings.Join(parts, ", ")
}

// permissionsAnswer returns what is new in short, and the counts.
func (r *Report) permissionsAnswer() string {
	parts := slices.Clone(r.sentences)
	if !slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, "now ") }) {
		parts = append(r.worstGain(), parts...)
	}
	parts = append(parts, movesText(r.Permissions, "")...)
	return strings.Join(append(parts, movesText(r.Users, " by users")...), "; ")
}

// worstGain names the worst permission that is gained, if it is more than a note.
func (r *Report) worstGain() []string {
	all := slices.DeleteFunc(slices.Concat(r.Permissions, r.Users), func(i permissions.Item) bool {
		return i.Change != permissions.Gained || severityOf(i) == findings.Info
	})
	if len(all) == 0 {
		return nil
	}
	worst := slices.MinFunc(all, func(a, b permissions.Item) int { return severityOf(a).Rank() - severityOf(b).Rank() })
	l := permissions.Lines([]permissions.Item{worst})[0]
	return []string{fmt.Sprintf("gains %s in %s", l.What, strings.Replace(l.Where, "cluster", "the cluster", 1))}
}

func movesText(items []permissions.Item, who string) (out []string) {
	counts := map[permissions.Change]int{}
	for _, i := range items {
		counts[i.Change]++
	}
	for _, c := range []permissions.Change{permissions.Gained, permissions.Lost} {
		if counts[c] > 0 {
			out = append(out, fmt.Sprintf("%d %s%s", counts[c], c, who))
		}
	}
	return out
}

// worstFirst names the first of the worst changes, and counts.
func worstFirst(list []change.Change, severities []findings.Severity) string {
	if list[0].Severity == findings.Info {
		return countText(severities)
	}
	return text.Brief(list[0].Object) + ": " + changeText(list[0]) + "; " + countText(severities)
}

// identityAnswer names the version first.
func (r *Report) identityAnswer() string {
	var parts []string
	left := 0
	for _, c := range r.Identity {
		switch {
		case c.Part == change.Version && c.Change == change.Changed && len(parts) < 3:
			name := ""
			if len(r.New.Operators) > 1 {
				name = strings.TrimPrefix(c.Object, "ClusterServiceVersion ") + " "
			}
			parts = append([]string{text.Brief(name + "version " + c.Old + " -> " + c.New)}, parts...)
		case c.Severity != findings.Info && len(parts) < 3:
			parts = append(parts, changeText(c))
		default:
			left++
		}
	}
	if left > 0 {
		parts = append(parts, text.Count(left, "other change"))
	}
	return strings.Join(parts, "; ")
}

// partTitle is what a part of the identity is called before its value.
var partTitle = map[change.Part]string{change.InstallModes: "install mode ", change.Provided: "provided API ",
	change.Required: "required API ", change.Dependencies: "dependency "}

// changeText returns a change in one line, without its object.
func changeText(c change.Change) string {
	if c.Part == change.Rest {
		return text.Count(len(c.Fields), "other field") + ": " + text.Shorten(restText(c.Fields), maxReason)
	}
	field := partTitle[c.Part] + strings.NewReplacer("spec.template.spec.", "", "spec.jobTemplate.", "",
		"spec.template.metadata.", "pod ").Replace(c.Field)
	value := valueText(c)
	switch {
	case field == "":
		return strings.TrimSuffix(string(c.Change)+": "+value, ": ")
	case value == "":
		return text.Brief(field) + " " + string(c.Change)
	case c.Change == change.Changed, field == change.PodSecurity: // that of a new workload is not added
		return text.Brief(field) + ": " + value
	}
	return text.Brief(field) + " " + string(c.Change) + ": " + value
}

var item = lazy.Regexp(`\[[^\]"]*\]`)

// restText names fields. Those that differ only in the items of lists are one name with a count.
func restText(list []string) string {
	var names []string
	count := map[string]int{}
	for _, f := range list {
		name := strings.TrimPrefix(f, "spec.")
		if generic := item().ReplaceAllString(name, "[]"); len(list) > maxAlike {
			name = generic
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return strings.Join(names, ", ")
}

// digest is that of an image, of which the beginning is enough for a person.
var digest = lazy.Regexp(`(@sha256:[0-9a-f]{12})[0-9a-f]+`)

func valueText(c change.Change) string {
	if c.Part == change.Image || c.Part == change.Workload {
		c.Old, c.New = digest().ReplaceAllString(c.Old, "$1…"), digest().ReplaceAllString(c.New, "$1…")
	}
	switch {
	case c.Old != "" && c.New != "":
		return text.Brief(c.Old) + " -> " + text.Brief(c.New)
	case c.Change == change.Changed && c.New != "":
		return `"" -> ` + text.Brief(c.New)
	case c.Change == change.Changed && c.Old != "":
		return text.Brief(c.Old) + ` -> ""`
	}
	return text.Brief(c.Old + c.New)
}
