package resolve

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Formats are the formats of a Report. Mermaid is a picture of the walk.
var Formats = []findings.Format{findings.Text, findings.JSON, findings.Mermaid}

// Report is what OLM does in some namespaces.
type Report struct {
	Namespaces []Namespace `json:"namespaces"`
	Errors     int         `json:"errors"`
	Warnings   int         `json:"warnings"`
	Notes      int         `json:"notes"`
}

// Namespace is what OLM does in one namespace.
type Namespace struct {
	Name string `json:"namespace"`
	*Result
}

// Add adds a namespace.
func (r *Report) Add(name string, result *Result) {
	r.Namespaces = append(r.Namespaces, Namespace{name, result})
	r.Errors += catalog.Count(result.Findings, findings.Error)
	r.Warnings += catalog.Count(result.Findings, findings.Warning)
	r.Notes += catalog.Count(result.Findings, findings.Note)
}

// Findings returns the findings of all namespaces.
func (r *Report) Findings() []catalog.Finding {
	var all []catalog.Finding
	for _, n := range r.Namespaces {
		all = append(all, n.Findings...)
	}
	return all
}

// Print writes the report.
func (r *Report) Print(w io.Writer, format findings.Format) error {
	switch format {
	case findings.JSON:
		return writeJSON(w, r)
	case findings.Mermaid:
		return r.mermaid(w)
	case findings.Text:
		return r.text(w)
	}
	return text.Unknown("format", format, Formats)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (r *Report) text(w io.Writer) error {
	p := &printer{bufio.NewWriter(w)}
	for i, n := range r.Namespaces {
		if i > 0 {
			p.line("")
		}
		p.line("Namespace %s", n.Name)
		p.walk(&n.Walk)
		if len(n.Alternatives) > 0 {
			p.alternatives(n.Result)
		}
		for _, f := range n.Findings {
			if f.Rule != ruleNoSolution || n.Failure == nil || n.Failure.Conflict == nil { // said above
				p.finding(f)
			}
		}
	}
	return p.w.Flush()
}

type printer struct{ w *bufio.Writer }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, text.Printable(fmt.Sprintf(format, args...)))
}

func (p *printer) walk(w *Walk) {
	for i := range w.Steps {
		p.line("  InstallPlan %d", i+1)
		p.step(&w.Steps[i])
	}
	if w.Withheld != nil {
		p.line("  without InstallPlan")
		p.step(w.Withheld)
	}
	p.line("  %s", w.ending())
	if w.Failure != nil {
		p.line("    %s: %s", w.Failure.Reason, w.Failure.Text)
		p.list("the smallest set that conflicts", w.Failure.Conflict)
		p.list("what would help", w.Failure.Help)
	}
	if len(w.Installed) > 0 {
		p.line("  installed: %s", strings.Join(w.Installed, ", "))
	}
	for _, d := range w.Deprecations {
		for _, m := range []string{d.Package, d.Channel, d.Bundle} {
			if m != "" {
				p.line("  deprecated: Subscription %s: %s", d.Subscription, text.OneLine(m))
			}
		}
	}
}

func (p *printer) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line("    %s:", title)
	for _, item := range items {
		p.line("      %s", item)
	}
}

func (p *printer) step(s *Step) {
	for _, c := range s.CSVs {
		line := fmt.Sprintf("    %s from %s/%s, channel %s", c.Name, c.SourceNamespace, c.Source, c.Channel)
		if c.Replaces != "" {
			line += ", replaces " + c.Replaces
		}
		p.line("%s", line)
		if c.Reason != "" {
			p.line("        %s", c.Reason)
		}
	}
	for _, m := range s.Subscriptions {
		p.line("    Subscription %s: %s -> %s", m.Name, cmp.Or(m.From, "nothing"), m.To)
	}
	for _, n := range s.NewSubscriptions {
		p.line("    new Subscription %s", n.Name)
	}
	if len(s.Removed) > 0 {
		p.line("    removes %s", strings.Join(s.Removed, ", "))
	}
}

// ending returns how a walk ends.
func (w *Walk) ending() string {
	switch w.Outcome {
	case Settled:
		return "settled: there is nothing left to do"
	case Failed:
		return "failed: OLM installs and updates nothing"
	case Withheld:
		return "withheld: OLM finds operators to install, but makes no InstallPlan for them"
	case UpgradePending:
		return "pending: every Subscription waits for its InstallPlan"
	case NoSubscriptions:
		return "no Subscriptions: OLM does not look at the namespace"
	case Cycle:
		return fmt.Sprintf("cycle: the state after %s comes again", text.Count(w.CycleFrom, "InstallPlan"))
	case Stopped:
		return "stopped: there may be further InstallPlans"
	}
	return string(w.Outcome)
}

func (p *printer) alternatives(r *Result) {
	p.line("  OLM's answer depends on chance; it can also be:")
	for _, a := range r.Alternatives[1:] {
		var steps []string
		for _, s := range a.Steps {
			var moves []string
			for _, m := range s.Subscriptions {
				moves = append(moves, m.To)
			}
			steps = append(steps, strings.Join(moves, " and "))
		}
		steps = append(steps, string(a.Outcome))
		p.line("    %s; installed: %s", strings.Join(steps, ", then "), cmp.Or(strings.Join(a.Installed, ", "),
			"nothing"))
	}
}

func (p *printer) finding(f catalog.Finding) {
	at := ""
	if f.File != "" {
		at = fmt.Sprintf("%s:%d: ", f.File, f.Line)
	}
	p.line("  %s%s: %s: %s [%s]", at, f.Level, f.Object, f.Message, f.Rule)
	if f.Hint != "" {
		p.line("      hint: %s", f.Hint)
	}
}

// mermaid draws each namespace as a row of states.
func (r *Report) mermaid(w io.Writer) error {
	p := &printer{bufio.NewWriter(w)}
	p.line("flowchart LR")
	for i, n := range r.Namespaces {
		p.line("  subgraph n%d[%s]", i, quoteMermaid("namespace "+n.Name))
		for j, s := range n.states {
			p.line("    n%ds%d[%s]", i, j, quoteMermaid(strings.Join(s.names(), "\n")))
		}
		p.line("    n%dend([%s])", i, quoteMermaid(string(n.Outcome)))
		p.line("  end")
		for j, s := range n.Steps {
			var moves []string
			for _, m := range s.Subscriptions {
				moves = append(moves, m.Name)
			}
			for _, m := range s.NewSubscriptions {
				moves = append(moves, "new "+m.Name)
			}
			p.line("  n%ds%d -->|%s| n%ds%d", i, j, quoteMermaid(strings.Join(moves, "\n")), i, j+1)
		}
		p.line("  n%ds%d --> n%dend", i, len(n.states)-1, i)
	}
	return p.w.Flush()
}

var mermaidEscapes = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", "<br/>")

func quoteMermaid(s string) string {
	if s == "" {
		s = "nothing"
	}
	return `"` + mermaidEscapes.Replace(s) + `"`
}
