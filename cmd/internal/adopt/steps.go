package adopt

import (
	_ "embed"
	"regexp"
	"strings"
	"text/template"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// planText has the steps. It says itself how it is read.
//
//go:embed plan.txt
var planText string

// commandLine is a line of planText that is no paragraph.
var commandLine = regexp.MustCompile(`^(guard|run|undo)(?: each (\w+))?: `)

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
		title := strings.HasPrefix(line, "##")
		if strings.HasPrefix(line, "# ") || leftOut && !title {
			continue
		}
		head, body := "", strings.TrimSuffix(line, "\n")
		if title {
			head, body, _ = strings.Cut(body, " ")
		}
		command := commandLine.FindStringSubmatch(body)
		if command != nil {
			body = body[len(command[0]):]
		}
		var b strings.Builder
		t, err := lines.New("line").Parse(body)
		if err == nil {
			err = t.Execute(&b, values)
		}
		if err != nil {
			return err
		}
		if title {
			if leftOut = b.Len() == 0; !leftOut {
				all = append(all, Step{Title: b.String(), Irreversible: head == "##!"})
			}
			continue
		}
		for said := range strings.SplitSeq(b.String(), "\x00") {
			if said != "" && command != nil && command[2] != "" {
				said = p.each(command[2], said)
			}
			if said != "" {
				all[len(all)-1].add(command, said)
			}
		}
	}
	for _, s := range all {
		switch s.Title {
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

// add adds a paragraph, or a command of a line.
func (s *Step) add(command []string, said string) {
	switch {
	case command == nil:
		s.Text = append(s.Text, said)
	case command[1] == "guard":
		s.Guard = append(s.Guard, said)
	case command[1] == "run":
		s.Run = append(s.Run, said)
	default:
		s.Undo = append(s.Undo, said)
	}
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
		"V1": v1, "Leaves": len(operators) > 0, "Stays": stays, "Moves": len(p.list(movedList).Rows) > 0,
		"Some":       len(operators) < len(p.state.All()),
		"Subscribed": len(p.list(subscriptionsList).Rows) > 0,
		"Apply":      p.eachDirectory(applied),
		"Try":        leaving(tried), "Keep": leaving(kept), "ApplyLeaving": leaving(applied),
		"Stop": p.stop(), "Start": p.start(),
		"Warnings": p.plan.Warnings, "Harm": p.harm(), "Bringers": p.state.bringers(operators), "Foreign": p.foreign(),
		"Refused": p.result.named(func(c Compared) bool { return len(c.Immutable) > 0 }),
		"Orphans": p.result.named(func(c Compared) bool { return strings.HasPrefix(c.Reason, orphanOf) }),
		"Secrets": lists.Map(p.list(certificatesList).Rows, func(row string) string {
			words := strings.Fields(row)
			return words[1] + "/" + words[2]
		}),
		"Certified": lists.Map(lists.Filter(operators, (*Operator).certified),
			func(o *Operator) string { return o.CSV.Name }),
	}
}
