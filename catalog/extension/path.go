package extension

import (
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// PathOf returns the updates that OLM v1 makes until it makes none, from an installed version, which is a version or
// the name of a bundle; without from it is a fresh install. to is the version to reach, or empty.
func PathOf(sources []Source, q Request, from, to string) (*resolve.Path, error) {
	has := func(s Source) bool { return s.Catalog.Packages[q.Package] != nil }
	if !slices.ContainsFunc(sources, has) {
		for _, s := range sources {
			if why := s.Catalog.Missing(q.Package); why != nil {
				return nil, why
			}
		}
		names := slices.Concat(lists.Map(sources, func(s Source) []string { return s.Catalog.AllNames() })...)
		err := fmt.Errorf("the catalog has no package %s", q.Package)
		if len(sources) != 1 {
			err = fmt.Errorf("no catalog has package %s", q.Package)
		}
		return nil, manifest.WithHint(err, text.DidYouMean(q.Package, names))
	}
	if _, err := q.versions(); err != nil {
		return nil, err
	}
	w := &walk{sources: sources, request: q, path: &resolve.Path{Package: q.Package, OLMv1: true,
		Channels: q.Channels, Versions: q.Versions, SelfCertified: q.SelfCertified}}
	current, err := w.find(from)
	if err != nil {
		return nil, err
	}
	if w.target, err = w.find(to); err != nil {
		return nil, err
	}
	w.path.From, w.path.To = current.name(), w.target.name()
	if head, err := Resolve(sources, Request{q.Package, q.Versions, q.Channels, true}, nil); err == nil {
		w.path.Head = head.Bundle.Name
	}
	w.run(current)
	return w.path, nil
}

type walk struct {
	sources []Source
	request Request
	target  *Installed
	path    *resolve.Path
	visited []Installed
}

// find returns a release by its name or version, nil for "": a catalog that has its bundle goes first.
func (w *walk) find(which string) (*Installed, error) {
	var found *Installed
	var fault error
	if which == "" {
		return nil, nil //nolint:nilnil // no release
	}
	for _, s := range w.sources {
		p := s.Catalog.Packages[w.request.Package]
		if p == nil {
			continue
		}
		name, version, err := p.Installed(which)
		switch {
		case err != nil:
			fault = err
		case version == nil:
			fault = manifest.WithHint(fmt.Errorf("the catalog does not say the version of %s", name),
				"name its version")
		case p.Bundle(name) != nil:
			return &Installed{name, version.String()}, nil
		case found == nil || found.Name == w.request.Package+".v"+found.Version:
			found = &Installed{name, version.String()}
		}
	}
	if found == nil {
		return nil, fault
	}
	return found, nil
}

func (w *walk) run(current *Installed) {
	for {
		if current != nil {
			if w.target != nil && current.Name == w.target.Name {
				w.end(resolve.AtTarget, "%s is reached", current.Name)
				return
			}
			if slices.Contains(w.visited, *current) {
				w.end(resolve.GoesRound, "OLM updates forever: it returns to %s", current.Name)
				return
			}
			w.visited = append(w.visited, *current)
		}
		r, err := Resolve(w.sources, w.request, current)
		if err != nil {
			w.end(resolve.Refused, "OLM says: %s", err)
			if current != nil {
				w.note("%s stays installed", current.Name)
			}
			w.noteExactVersion()
			return
		}
		if current != nil && r.Bundle.Name == current.Name {
			w.stay(r, *current)
			return
		}
		current = w.step(r, current)
	}
}

func (w *walk) end(end resolve.PathEnd, format string, args ...any) {
	w.path.End, w.path.Text = end, fmt.Sprintf(format, args...)
}

func (w *walk) note(format string, args ...any) {
	w.path.Notes = append(w.path.Notes, fmt.Sprintf(format, args...))
}

// stay ends the path where OLM keeps what is installed.
func (w *walk) stay(r *Resolution, current Installed) {
	p := w.path
	notes := reasons(r, current.Name)
	if n := len(p.Steps); n == 0 || !slices.Equal(p.Steps[n-1].Notes, notes) {
		p.Notes = notes
	}
	switch {
	case p.To != "" && slices.ContainsFunc(p.Steps, func(s resolve.PathStep) bool {
		return slices.Contains(s.Passed, p.To)
	}):
		w.end(resolve.PassedOver, "OLM does not stop at %s: it takes the highest version that may follow", p.To)
	case p.To != "":
		w.end(resolve.OutOfReach, "OLM stays at %s, and %s is not on the way", current.Name, p.To)
	case current.Name == p.Head:
		w.end(resolve.AtHead, "OLM stays at %s, which a fresh install takes too", current.Name)
	case p.Head == "":
		w.end(resolve.AtHead, "OLM stays at %s", current.Name)
	default:
		w.end(resolve.Stuck, "nothing updates %s; a fresh install takes %s", current.Name, p.Head)
	}
	w.noteExactVersion()
}

// noteExactVersion notes from which version OLM reaches the target if the ClusterExtension asks for exactly that.
func (w *walk) noteExactVersion() {
	if w.target == nil || w.path.End == resolve.AtTarget {
		return
	}
	q := w.request
	q.Versions = w.target.Version
	for i := range w.visited {
		r, err := Resolve(w.sources, q, &w.visited[i])
		if err == nil && r.Bundle.Name == w.target.Name {
			w.note("with spec.source.catalog.version %s, OLM updates %s to it", q.Versions, w.visited[i].Name)
			return
		}
	}
}

func (w *walk) step(r *Resolution, current *Installed) *Installed {
	next := &Installed{r.Bundle.Name, r.Version.Text()}
	s := resolve.PathStep{To: next.Name, Version: next.Version, Edge: r.Edge.Text, Channel: r.Edge.Channel,
		Notes: reasons(r, current.name())}
	if len(w.sources) > 1 {
		s.Catalog = r.Source
	}
	if current == nil {
		s.Edge = "the highest version of the catalog"
		if w.request.Versions != "" || len(w.request.Channels) > 0 {
			s.Edge += " that the ClusterExtension allows"
		}
		w.path.Steps = append(w.path.Steps, s)
		return next
	}
	s.From = current.Name
	before, err := parseVersion(current.Version)
	if err == nil && r.Version.Compare(before) < 0 {
		s.Notes = append(s.Notes, "the version goes down")
	}
	if !w.request.SelfCertified {
		for _, o := range slices.Backward(r.Others) {
			if o.Why == "" && o.Name != current.Name {
				s.Passed = append(s.Passed, o.Name)
			}
		}
	}
	w.path.Steps = append(w.path.Steps, s)
	return next
}

func (i *Installed) name() string {
	if i == nil {
		return ""
	}
	return i.Name
}

// reasons returns why OLM did not take bundles with a higher version than the chosen one.
func reasons(r *Resolution, installed string) []string {
	var notes []string
	var better []Candidate
	for _, o := range r.Others {
		switch {
		case o.Why == "" || o.Version.Compare(r.Version) <= 0:
		case o.Name == installed:
			notes = append(notes, fmt.Sprintf("OLM leaves %s: %s", o.Name, o.Why))
		default:
			better = append(better, o)
		}
	}
	for _, list := range lists.Groups(better, func(c Candidate) string { return c.Why }) {
		slices.SortStableFunc(list, func(a, b Candidate) int { return b.Version.Compare(a.Version) })
		names := lists.Map(list, func(c Candidate) string { return c.Name })
		notes = append(notes, fmt.Sprintf("OLM does not take %s: %s", text.FirstOf(5, names), list[0].Why))
	}
	for _, d := range r.dropped {
		notes = append(notes, fmt.Sprintf("OLM does not take %s of catalog %s: %s", d.bundle, d.source, d.why))
	}
	return notes
}
