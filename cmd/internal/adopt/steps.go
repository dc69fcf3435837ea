package adopt

import (
	_ "embed"
	"strings"
	"text/template"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// planText has the steps. It says itself how it is read.
//
//go:embed plan.txt
var planText string

// lineOf matches a line of planText: the mark of a title, or the kind of a command and its list, and a template.
var lineOf = lazy.Regexp(`^(?:(##!?) |(guard|run|undo)(?: each (\w+))?: )?(.*)\n$`)

// steps fills the steps and the way back. Kubernetes does what it can do by itself: the garbage collector takes the
// ownerReferences of what a CSV owns when the CSV is deleted with --cascade=orphan.
func (p *planner) steps() error {
	lines, values := template.New("").Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"all":     func(list []string) string { return strings.Join(list, "\x00") },
		"apply":   applied,
		"firstOf": func(list []string) string { return text.FirstOf(mostNamed, list) },
		"names":   text.And[string],
		"shell":   text.Shell,
	}), p.values()
	var all []Step
	leftOut := false
	for line := range strings.Lines(strings.ReplaceAll(planText, "\\\n", "")) {
		parts := lineOf().FindStringSubmatch(line)
		mark, kind, list := parts[1], parts[2], parts[3]
		if strings.HasPrefix(line, "# ") || leftOut && mark == "" {
			continue
		}
		var b strings.Builder
		t, err := lines.New("line").Parse(parts[4])
		if err == nil {
			err = t.Execute(&b, values)
		}
		if err != nil {
			return err
		}
		if mark != "" {
			leftOut = b.Len() == 0
			all = append(all, Step{Title: b.String(), Irreversible: mark == "##!"})
			continue
		}
		for said := range strings.SplitSeq(b.String(), "\x00") {
			if said != "" && list != "" {
				said = p.each(list, said)
			}
			if said != "" {
				s := &all[len(all)-1]
				to := map[string]*[]string{"": &s.Text, "guard": &s.Guard, "run": &s.Run, "undo": &s.Undo}[kind]
				*to = append(*to, said)
			}
		}
	}
	for _, s := range all {
		switch s.Title {
		case "": // left out
		case "The way back":
			p.plan.Back = s.Run
		case "Notes":
			p.plan.Notes = s.Text
		default:
			p.plan.Steps = append(p.plan.Steps, s)
		}
	}
	return nil
}

// values are what planText asks for.
func (p *planner) values() map[string]any {
	operators, v1 := p.departure.operators, p.To == generate.ProfileClusterExtension
	leaving := p.eachDirectory
	if v1 {
		leaving = func(command func(dir string) string) string { return command(PartDirectory) }
	}
	stays := len(operators) == 0 && (p.To == generate.ProfileOLM || p.To == generate.ProfileSubscription)
	return map[string]any{
		"Commands": p.Commands, "Dir": p.Directory, "Parts": p.Parts, "To": string(p.To),
		"Part": PartDirectory, "Pods": olmPods,
		"V1": v1, "Leaves": len(operators) > 0, "Stays": stays, "Moves": len(p.list("moved").Rows) > 0,
		"Some":       len(operators) < len(p.state.All()),
		"Subscribed": len(p.list("subscriptions").Rows) > 0,
		"Apply":      p.eachDirectory(applied),
		"Try":        leaving(tried), "Keep": leaving(kept), "ApplyLeaving": leaving(applied),
		"Stop": p.stop(), "Start": p.start(),
		"Warnings": p.plan.Warnings, "Harm": p.harm(), "Bringers": p.state.bringers(operators), "Foreign": p.foreign(),
		"Refused": p.result.named(func(c Compared) bool { return len(c.Immutable) > 0 }),
		"Nowhere": p.result.named(func(c Compared) bool { return c.refused }),
		"Orphans": p.result.named(func(c Compared) bool { return strings.HasPrefix(c.Reason, orphanOf) }),
		"Secrets": lists.Map(p.list("certificates").Rows, func(row string) string {
			words := strings.Fields(row)
			return words[1] + "/" + words[2]
		}),
		"Certified": lists.Map(lists.Filter(operators, (*Operator).certified),
			func(o *Operator) string { return o.CSV.Name }),
	}
}
