package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// Step is one InstallPlan.
type Step struct {
	Subscriptions    []Move         `json:"subscriptions,omitempty"`    // whose status.currentCSV changes
	NewSubscriptions []Subscription `json:"newSubscriptions,omitempty"` // that OLM creates for dependencies
	CSVs             []Planned      `json:"csvs,omitempty"`
	Removed          []string       `json:"removed,omitempty"` // CSVs that a new one replaces

	Approval bool `json:"-"` // somebody approves it: neither OLM nor OperatorPolicies do
}

// Moves reports whether an InstallPlan changes a Subscription. s may be nil.
func (s *Step) Moves(subscription string) bool {
	return s != nil && slices.ContainsFunc(s.Subscriptions, func(m Move) bool { return m.Name == subscription })
}

// beside returns the CSVs of an InstallPlan but for one.
func (s *Step) beside(csv string) []string {
	others := lists.Filter(s.CSVs, func(p Planned) bool { return p.Name != csv })
	return lists.Map(others, func(p Planned) string { return p.Name })
}

// Move is the change of one Subscription.
type Move struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"` // empty: nothing was installed
	To   string `json:"to"`
}

// Planned is a CSV of an InstallPlan.
type Planned struct {
	Name            string `json:"name"`
	Replaces        string `json:"replaces,omitempty"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
	Package         string `json:"package"`
	Channel         string `json:"channel"`
	Version         string `json:"version,omitempty"`
	Reason          string `json:"reason,omitempty"`
	RequiredBy      string `json:"requiredBy,omitempty"` // the CSV that it is a dependency of

	entry *entry
}

// Bundle returns the bundle in the catalog.
func (p *Planned) Bundle() *catalog.Bundle { return p.entry.bundle }

// Failure is why OLM does not resolve.
type Failure struct {
	// Reason of the condition ResolutionFailed. SyncError: OLM returns the error before it sets a condition.
	Reason string `json:"reason"`
	Text   string `json:"text"` // in OLM's words

	// For ConstraintsNotSatisfiable: the smallest set of constraints found that exclude each other, in OLM's words, and
	// changes of which each alone would let OLM resolve.
	Conflict []string `json:"conflict,omitempty"`
	Help     []string `json:"help,omitempty"`

	Dependency bool `json:"-"` // the conflict has a dependency of a bundle

	subscriptions []string // in the conflict
	unreadable    bool     // a finding says which constraint cannot be read
}

// Why returns the constraints that exclude each other, else what OLM says.
func (f *Failure) Why() string { return cmp.Or(strings.Join(f.Conflict, "; "), f.Text) }

// The reasons of a Failure.
const (
	ReasonNotSatisfiable = "ConstraintsNotSatisfiable"
	ReasonPrevented      = "ErrorPreventedResolution"
	ReasonSync           = "SyncError"
)

// resolve returns what OLM decides for a state in one order of its maps.
func (w *namespaceCatalogs) resolve(s *State, c *rand.Rand) (*Step, *Failure) {
	chosen, err := w.choose(s, c)
	var none *unsatisfiable
	switch {
	case errors.As(err, &none):
		return nil, &Failure{Reason: ReasonNotSatisfiable, Text: err.Error()}
	case err != nil:
		return nil, &Failure{Reason: ReasonPrevented, Text: err.Error()}
	}
	return s.plan(chosen), nil
}

func (w *namespaceCatalogs) choose(s *State, c *rand.Rand) ([]*variable, error) {
	installed := installedSnapshot(s)
	installed.entries = shuffled(c, installed.entries)
	variables, err := w.builder(installed, c).build(s.Subscriptions)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(shuffled(c, variables))
	if err != nil {
		return nil, err
	}
	solution, err := p.solve()
	if err != nil {
		return nil, err
	}
	var chosen []*variable
	for _, v := range solution {
		if v.entry == nil || v.entry.source.virtual() {
			continue
		}
		if _, n := w.only(installed, v.entry); n != 1 {
			return nil, fmt.Errorf("expected exactly one operator, got %d", n)
		}
		chosen = append(chosen, v)
	}
	return chosen, nil
}

// plan returns the InstallPlan for the chosen bundles (OLM: step_resolver.go, ResolveSteps).
func (s *State) plan(chosen []*variable) *Step {
	step := &Step{}
	subs := slices.Clone(s.Subscriptions)
	for _, v := range slices.SortedFunc(slices.Values(chosen), func(a, b *variable) int {
		return cmp.Compare(a.id, b.id)
	}) {
		e := v.entry
		matching, current := 0, true
		for i := range subs {
			if !subs[i].matches(e) {
				continue
			}
			matching++
			current = current && s.has(subs[i].CurrentCSV) && subs[i].CurrentCSV == e.name
		}
		if matching > 0 && current {
			continue
		}
		p := Planned{Name: e.name, Replaces: cmp.Or(v.replaces, e.updates.Replaces), Source: e.source.name,
			SourceNamespace: e.source.namespace, Package: e.pkg, Channel: e.channel, entry: e}
		if e.version != nil {
			p.Version = e.version.String()
		}
		step.CSVs = append(step.CSVs, p)
		if matching == 0 {
			step.NewSubscriptions = append(step.NewSubscriptions, Subscription{
				Name:    GeneratedName(e.pkg, e.channel, e.source.name, e.source.namespace),
				Package: e.pkg, Channel: e.channel, Source: e.source.name, SourceNamespace: e.source.namespace,
				StartingCSV: e.name, InstalledCSV: e.name, CurrentCSV: e.name,
			})
		}
		for i := range subs {
			if subs[i].matches(e) && subs[i].CurrentCSV != e.name {
				step.Subscriptions = append(step.Subscriptions, Move{subs[i].Name, subs[i].InstalledCSV, e.name})
				subs[i].CurrentCSV = e.name
			}
		}
	}
	slices.SortStableFunc(step.Subscriptions, func(a, b Move) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(step.NewSubscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(step.CSVs, func(a, b Planned) int { return cmp.Compare(a.Name, b.Name) })
	return step
}

// matches reports whether a Subscription stands for a bundle.
func (s *Subscription) matches(e *entry) bool {
	key := sourceKey{s.Source, s.SourceNamespace}
	return s.Package == e.pkg && (s.Channel == "" || s.Channel == e.channel) && (key == sourceKey{} || key == e.source)
}

// has reports whether the namespace has a CSV, copied or not.
func (s *State) has(csv string) bool {
	return csv != "" && slices.ContainsFunc(s.CSVs, func(c CSV) bool { return c.Name == csv })
}

// GeneratedName returns the name of the Subscription that OLM makes for a dependency (OLM: resolver.go, ResolveSteps).
func GeneratedName(pkg, channel, source, sourceNamespace string) string {
	return strings.Join([]string{pkg, channel, source, sourceNamespace}, "-")
}

// shuffled returns a list in an order in which Go may iterate over OLM's maps. OLM's answer can depend on the order of
// the Subscriptions, of the installed CSVs and of the candidates of one name. With nil the order stays.
func shuffled[T any](c *rand.Rand, list []T) []T {
	if c == nil {
		return list
	}
	list = slices.Clone(list)
	c.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
