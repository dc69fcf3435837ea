package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/manifest"
)

// Path is the way from an installed version through a channel, as OLM v0 goes it. Dependencies play no part: Run takes
// them into account. The package extension makes the path of OLM v1.
type Path struct {
	Package string `json:"package"`

	// Of OLM v0.
	Channel string `json:"channel,omitempty"`

	// What a ClusterExtension of OLM v1 asks for.
	OLMv1         bool     `json:"olmv1,omitempty"`
	Channels      []string `json:"channels,omitempty"`
	Versions      string   `json:"versionRange,omitempty"`
	SelfCertified bool     `json:"selfCertified,omitempty"`

	From  string     `json:"from,omitempty"` // CSV; empty: a fresh install
	To    string     `json:"to,omitempty"`   // the CSV that was asked for
	Head  string     `json:"head,omitempty"` // of the channel; in OLM v1 the bundle that a fresh install takes
	Steps []PathStep `json:"steps,omitempty"`
	End   PathEnd    `json:"end"`
	Text  string     `json:"text"` // why it ends there
	Notes []string   `json:"notes,omitempty"`
}

// PathStep is one update.
type PathStep struct {
	From    string   `json:"from,omitempty"` // empty: a fresh install
	To      string   `json:"to"`
	Version string   `json:"version,omitempty"` // of To
	Catalog string   `json:"catalog,omitempty"` // of To, if there are several
	Channel string   `json:"channel,omitempty"` // whose entry makes To an update, in OLM v1
	Edge    string   `json:"edge"`              // why To is an update of From
	Passed  []string `json:"passed,omitempty"`  // entries between them that OLM does not install
	Notes   []string `json:"notes,omitempty"`
}

// PathEnd is where a path ends.
type PathEnd string

// The ends of a path.
const (
	AtTarget   PathEnd = "target"   // at the version that was asked for
	AtHead     PathEnd = "head"     // at the head of the channel
	PassedOver PathEnd = "passed"   // OLM passes the version that was asked for
	Stuck      PathEnd = "stuck"    // nothing updates the last version, and it is not the head
	GoesRound  PathEnd = "cycle"    // an older entry updates a newer one
	OutOfReach PathEnd = "no-reach" // at the head, and the version that was asked for is not on the way
	Refused    PathEnd = "refused"  // OLM v1 finds no bundle, or several
)

// Good reports whether the path reaches what was asked for, or the head.
func (p *Path) Good() bool { return p.End == AtTarget || p.End == AtHead }

// JSONKind returns the kind of the report.
func (*Path) JSONKind() string { return "PathReport" }

// PathOf returns the way from a version, which is a version or the name of a CSV; an empty one is a fresh install.
// Without a channel it is the default channel, without a target it is the head.
func PathOf(c *catalog.Catalog, pkg, channel, from, to string) (*Path, error) {
	p := c.Packages[pkg]
	if why := c.Missing(pkg); p == nil && why != nil {
		return nil, why
	}
	if p == nil {
		return nil, manifest.WithHint(fmt.Errorf("the catalog has no package %s", pkg),
			text.DidYouMean(pkg, c.AllNames()))
	}
	ch, order, err := orderOf(p, channel)
	if err != nil {
		return nil, err
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("channel %s of package %s has no entries", ch.Name, pkg)
	}
	w := &pathWalk{order: order, path: &Path{Package: pkg, Channel: ch.Name, Head: order[0].name}}
	current := &entry{}
	if from == "" {
		current = w.install()
	} else if current.name, current.version, err = p.Installed(from); err != nil {
		return nil, err
	} else {
		w.path.From = current.name
	}
	if to != "" {
		if w.path.To, _, err = p.Installed(to); err != nil {
			return nil, err
		}
	}
	if current == nil {
		w.end(Refused, "each release of channel %s has the property olm.deprecated, so OLM installs none", ch.Name)
		return w.path, nil
	}
	w.run(current)
	return w.path, nil
}

// Reaches returns a function that reports whether OLM updates a release of a package, a version or the name of a CSV,
// to the head of a channel. Its error is about the release. It is an error if opm serves no such channel.
func Reaches(p *catalog.Package, channel string) (func(from string) (bool, error), error) {
	_, order, err := orderOf(p, channel)
	if err != nil {
		return nil, err
	}
	end := ends(order)
	return func(from string) (bool, error) {
		name, version, err := p.Installed(from)
		return err == nil && len(order) > 0 && end(&entry{name: name, version: version}) == order[0].name, err
	}, nil
}

// orderOf returns a channel, or the default channel, and its entries from the head on.
func orderOf(p *catalog.Package, channel string) (*catalog.Channel, []*entry, error) {
	ch, err := p.ChannelOrDefault(channel)
	if err != nil {
		return nil, nil, err
	}
	order, err := sortChannel(channelEntries(p, ch))
	return ch, order, err
}

type pathWalk struct {
	order []*entry
	path  *Path
}

// install adds the step of a fresh install: the entry nearest the head that is not deprecated; nil if there is none.
func (w *pathWalk) install() *entry {
	step := PathStep{Edge: "the head of channel " + w.path.Channel}
	for _, e := range w.order {
		if e.deprecated {
			step.Edge = "the entry nearest the head of channel " + w.path.Channel + " that is not deprecated"
			step.Notes = append(step.Notes, fmt.Sprintf(deprecatedNote, e.name))
			continue
		}
		step.To = e.name
		if e.version != nil {
			step.Version = e.version.String()
		}
		w.path.Steps = append(w.path.Steps, step)
		return e
	}
	return nil
}

const deprecatedNote = "%s has the property olm.deprecated, so OLM passes it over"

func (w *pathWalk) at(name string) int {
	return slices.IndexFunc(w.order, func(e *entry) bool { return e.name == name })
}

func (w *pathWalk) run(current *entry) {
	p, seen := w.path, []string{}
	for {
		next, notes := w.next(current)
		switch {
		case current.name == p.To:
			w.end(AtTarget, "%s is reached", current.name)
		case slices.Contains(seen, current.name):
			w.end(GoesRound, "OLM updates forever: it returns to %s, because skipRange has no direction", current.name)
		case next != nil:
			seen = append(seen, current.name)
			p.Steps = append(p.Steps, w.step(current, next, notes))
			current = next
			continue
		case slices.ContainsFunc(p.Steps, func(s PathStep) bool { return slices.Contains(s.Passed, p.To) }):
			w.end(PassedOver,
				"OLM does not stop at %s: it goes to the entry nearest the head that updates what is installed", p.To)
		case current.name == p.Head && p.To != "":
			w.end(OutOfReach, "%s is not on the way to the head", p.To)
		case current.name == p.Head:
			w.end(AtHead, "%s is the head of channel %s", current.name, p.Channel)
		default:
			w.end(Stuck, "nothing in channel %s updates %s; the head is %s", p.Channel, current.name, p.Head)
		}
		return
	}
}

func (w *pathWalk) end(end PathEnd, format string, args ...any) {
	w.path.End, w.path.Text = end, fmt.Sprintf(format, args...)
}

// next returns the update that OLM chooses: the entry nearest the head that is one and is not deprecated. OLM is up to
// date if that is what is installed (resolver.go getSubscriptionVariables, step_resolver.go ResolveSteps).
func (w *pathWalk) next(current *entry) (*entry, []string) {
	var notes []string
	for _, e := range w.order {
		switch {
		case !e.isUpdate(current):
		case e.deprecated:
			notes = append(notes, fmt.Sprintf(deprecatedNote, e.name))
		case e.name == current.name:
			return nil, nil
		default:
			return e, notes
		}
	}
	return nil, notes
}

func (w *pathWalk) step(from, to *entry, notes []string) PathStep {
	s := PathStep{From: from.name, To: to.name, Edge: to.edgeFrom(from), Notes: notes}
	if to.version != nil {
		s.Version = to.version.String()
		if from.version != nil && to.version.LT(*from.version) {
			s.Notes = append(s.Notes, "the version goes down")
		}
	}
	if at := w.at(from.name); at > 0 {
		s.Passed = lists.Map(w.order[max(0, w.at(to.name)+1):at], func(e *entry) string { return e.name })
	}
	slices.Reverse(s.Passed)
	return s
}

// Document returns the path for people: a table for each step, and one for the end.
func (p *Path) Document() *document.Document {
	var s document.Section
	add := func(title string, notes []string) {
		rows := lists.Map(notes, func(n string) []document.Cell { return document.Cells(n) })
		s.Tables = append(s.Tables, document.Table{Title: title, Indent: 4,
			Columns: []document.Column{{Title: "Note"}}, Rows: rows})
	}
	for _, step := range p.Steps {
		notes := step.Notes
		if len(step.Passed) > 0 {
			notes = slices.Concat([]string{"passes over " + strings.Join(step.Passed, ", ")}, notes)
		}
		add(step.title(), notes)
	}
	add(p.Text, p.Notes)
	return &document.Document{Kind: "Path", Title: p.title(), Sections: []document.Section{s}}
}

func (p *Path) title() string {
	title := p.Package
	if p.OLMv1 {
		title += ", OLM v1"
	}
	if p.Channel != "" {
		title += ", channel " + p.Channel
	}
	switch len(p.Channels) {
	case 0:
	case 1:
		title += ", channel " + p.Channels[0]
	default:
		title += ", channels " + text.And(p.Channels)
	}
	if p.Versions != "" {
		title += ", versions " + p.Versions
	}
	if p.SelfCertified {
		title += ", SelfCertified"
	}
	if p.From == "" {
		return title + ", a fresh install"
	}
	return title + ", from " + p.From
}

func (s *PathStep) title() string {
	line := "installs " + s.To
	if s.From != "" {
		line = s.From + " -> " + s.To
	}
	if s.Catalog != "" {
		line += " from catalog " + s.Catalog
	}
	line += ": " + s.Edge
	if s.Channel != "" {
		line += " (channel " + s.Channel + ")"
	}
	return line
}
