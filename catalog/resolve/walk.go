package resolve

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// Outcome is how a walk ends.
type Outcome string

// The outcomes.
const (
	Settled         Outcome = "settled"         // there is nothing left to do
	Failed          Outcome = "error"           // OLM cannot resolve
	Withheld        Outcome = "withheld"        // OLM finds operators to install, but makes no InstallPlan for them
	NeedsApproval   Outcome = "needsApproval"   // the next InstallPlan waits until somebody approves it
	UpgradePending  Outcome = "upgradePending"  // every Subscription waits for the CSV of an InstallPlan that it has
	NoSubscriptions Outcome = "noSubscriptions" // OLM does not look at the namespace
	Cycle           Outcome = "cycle"           // the updates go round forever
	Stopped         Outcome = "stopped"         // Options.Steps is reached
	Unknown         Outcome = "unknown"         // a catalog without known content may change what OLM does
)

// Walk is the way of a namespace from InstallPlan to InstallPlan.
type Walk struct {
	Outcome       Outcome       `json:"outcome"`
	Steps         []Step        `json:"steps,omitempty"`
	CycleFrom     int           `json:"cycleFrom,omitempty"` // outcome cycle: the state after so many steps came again
	Withheld      *Step         `json:"withheld,omitempty"`
	Waiting       *Step         `json:"waiting,omitempty"` // outcome needsApproval: the InstallPlan
	Failure       *Failure      `json:"error,omitempty"`
	Installed     []string      `json:"installed,omitempty"`     // CSVs at the end
	Subscriptions []Status      `json:"subscriptions,omitempty"` // at the end
	Deprecations  []Deprecation `json:"deprecations,omitempty"`

	ByPolicy bool `json:"-"` // outcome needsApproval: an OperatorPolicy manages what waits, and does not approve it

	states []*State // before each step, and at the end
}

// Status is a Subscription at the end of a walk.
type Status struct {
	Name         string `json:"name"`
	InstalledCSV string `json:"installedCSV,omitempty"`
}

// Deprecation holds the messages of a Subscription's conditions.
type Deprecation struct {
	Subscription string `json:"subscription"`
	Package      string `json:"package,omitempty"`
	Channel      string `json:"channel,omitempty"`
	Bundle       string `json:"bundle,omitempty"`
}

// Options say how far to walk.
type Options struct {
	Steps      int  // at most; 0: until nothing changes
	ApproveAll bool // somebody approves every InstallPlan that waits for approval
}

// Result is what OLM does. Where it depends on chance, the walk is one of the alternatives.
type Result struct {
	Walk
	Alternatives []Walk             `json:"alternatives,omitempty"` // at least two, if any
	Findings     []findings.Finding `json:"findings,omitempty"`     // what OLM does in silence
}

const (
	mostSteps        = 2000 // no real package has as many versions
	mostAlternatives = 40
)

// Run predicts what OLM does with a namespace.
func Run(ctx context.Context, s *State, o Options) (*Result, error) {
	w := newNamespaceCatalogs(s)
	walker := &walker{ctx: ctx, catalogs: w, options: o, decided: map[string][]decision{}}
	start := s.Clone()
	slices.SortFunc(start.Subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
	start.installCurrentCSVs()
	if err := walker.walk(walker.reopen(start), path{}); err != nil {
		return nil, err
	}
	r := &Result{Walk: walker.walks[0]}
	if len(walker.walks) > 1 {
		r.Alternatives = walker.walks
	}
	w.explainResult(r)
	if w.converter.fault != nil {
		return nil, w.converter.fault
	}
	return r, nil
}

// reopen returns the state before OLM has made the InstallPlans that wait for approval; s if the catalogs do not lead
// to their CSVs.
func (w *walker) reopen(s *State) *State {
	next, automatic := s.Clone(), s.manual() == nil
	for i := range next.Subscriptions {
		sub := &next.Subscriptions[i]
		if sub.plan == v1alpha1.InstallPlanPhaseRequiresApproval && s.Lacks(sub.CurrentCSV) {
			sub.planned, sub.CurrentCSV = sub.CurrentCSV, sub.InstalledCSV
			sub.Manual = sub.Manual || automatic // approval is asked for, whatever the Subscription says by now
		}
	}
	waiting := lists.Filter(next.Subscriptions, func(sub Subscription) bool { return sub.planned != "" })
	if len(waiting) == 0 {
		return s
	}
	step := w.decide(next, next.key())[0].step
	if slices.ContainsFunc(waiting, func(sub Subscription) bool { return !step.Moves(sub.Name) }) {
		return s
	}
	return next
}

// Clone returns a copy that is changed without the state: its Subscriptions and CSVs are others.
func (s *State) Clone() *State {
	c := *s
	c.Subscriptions, c.CSVs = slices.Clone(s.Subscriptions), slices.Clone(s.CSVs)
	return &c
}

// installCurrentCSVs has Subscriptions install current CSVs that are there (OLM: ensureSubscriptionCSVState).
func (s *State) installCurrentCSVs() {
	for i := range s.Subscriptions {
		if sub := &s.Subscriptions[i]; s.has(sub.CurrentCSV) {
			sub.InstalledCSV = sub.CurrentCSV
		}
	}
}

// End returns the state in which the walk ends.
func (w *Walk) End() *State { return w.states[len(w.states)-1].Clone() }

// StepsOf returns the updates of a Subscription, one after the other.
func (w *Walk) StepsOf(subscription string) (list []PathStep) {
	for _, step := range w.Steps {
		for _, m := range step.Subscriptions {
			if m.Name == subscription {
				csv := lists.Find(step.CSVs, func(p Planned) bool { return p.Name == m.To })
				list = append(list, PathStep{From: m.From, To: m.To, Version: csv.Version})
			}
		}
	}
	return list
}

// HeldBack returns why OLM does not make an update of a Subscription that the catalog has, or "".
func (r *Result) HeldBack(namespace, subscription string) string {
	return lists.Find(r.Findings, func(f findings.Finding) bool {
		return f.Object == "Subscription "+namespace+"/"+subscription && Blocking(f)
	}).Message
}

// Planned returns the CSVs of all InstallPlans by their names.
func (w *Walk) Planned() map[string]Planned {
	csvs := slices.Concat(lists.Map(w.Steps, func(s Step) []Planned { return s.CSVs })...)
	return lists.By(csvs, func(p Planned) string { return p.Name })
}

func (s *State) key() string {
	var b strings.Builder
	for _, c := range s.names() {
		b.WriteString(c + "\n")
	}
	for _, sub := range s.Subscriptions {
		fmt.Fprintf(&b, "%s: %s, %s\n", sub.Name, sub.InstalledCSV, sub.CurrentCSV)
	}
	return b.String()
}

// names returns the names of the CSVs that are installed there: a copy is not.
func (s *State) names() []string {
	originals := lists.Filter(s.CSVs, func(c CSV) bool { return !c.Copied })
	return slices.Sorted(slices.Values(lists.Map(originals, func(c CSV) string { return c.Name })))
}

type walker struct {
	ctx      context.Context
	catalogs *namespaceCatalogs
	options  Options
	walks    []Walk
	decided  map[string][]decision // by state
}

type decision struct {
	step    *Step
	failure *Failure
}

func (d decision) key() string {
	if d.failure != nil {
		return d.failure.Reason
	}
	var b strings.Builder
	for _, m := range d.step.Subscriptions {
		b.WriteString(m.Name + " " + m.To + "\n")
	}
	for _, c := range d.step.CSVs {
		fmt.Fprintf(&b, "%s %s %s %s\n", c.Name, c.Replaces, c.Source, c.SourceNamespace)
	}
	for _, n := range d.step.NewSubscriptions {
		b.WriteString(n.Name + "\n")
	}
	return b.String()
}

// path is the way to a state: the states before it, and the steps from one to the next.
type path struct {
	steps  []Step
	states []*State
	keys   []string
}

func (w *walker) walk(s *State, p path) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	key := s.key()
	steps, again := len(p.steps), slices.Index(p.keys, key)
	var end Walk
	switch {
	case len(s.Subscriptions) == 0:
		end.Outcome = NoSubscriptions
	case s.OperatorGroups != 1:
		end.Outcome, end.Failure = Failed, &Failure{Reason: ReasonSync,
			Text: fmt.Sprintf("found %d operatorGroups, expected 1", s.OperatorGroups)}
	case s.find(func(sub *Subscription) bool { return s.unknown(sub) == "" }) == nil:
		end.Outcome = Unknown
	case !slices.ContainsFunc(s.Subscriptions, func(sub Subscription) bool {
		return sub.CurrentCSV == "" || s.waitsFor(sub.CurrentCSV) == nil
	}):
		end.Outcome = UpgradePending
	case again >= 0:
		end.Outcome, end.CycleFrom = Cycle, again
	case steps == mostSteps || w.options.Steps > 0 && steps == w.options.Steps:
		end.Outcome = Stopped
	}
	if end.Outcome != "" {
		w.end(s, p, end)
		return nil
	}
	for i, d := range w.decide(s, key) {
		if i > 0 && len(w.walks) >= mostAlternatives {
			break
		}
		switch {
		case d.failure != nil:
			w.end(s, p, Walk{Outcome: Failed, Failure: d.failure})
		case len(d.step.Subscriptions) > 0:
			next, done := s.apply(*d.step)
			waits, withheld := s.approval(&done, next)
			done.Approval = waits
			if withheld || waits && !w.options.ApproveAll {
				managed := func(m Move) bool { return s.policyOf(m) != nil }
				w.end(s, p, Walk{Outcome: NeedsApproval, Waiting: &done,
					ByPolicy: slices.ContainsFunc(done.Subscriptions, managed)})
				continue
			}
			further := path{append(slices.Clone(p.steps), done), append(slices.Clone(p.states), s),
				append(slices.Clone(p.keys), key)}
			if err := w.walk(next, further); err != nil {
				return err
			}
		case len(d.step.CSVs) > 0:
			w.end(s, p, Walk{Outcome: Withheld, Withheld: d.step})
		default:
			w.end(s, p, Walk{Outcome: Settled})
		}
	}
	return nil
}

// waitsFor returns the Subscription whose current CSV this is, as long as it is not there; nil if there is none.
func (s *State) waitsFor(csv string) *Subscription {
	if s.has(csv) {
		return nil
	}
	return s.find(func(sub *Subscription) bool { return sub.CurrentCSV == csv })
}

// Lacks reports whether a CSV is not there.
func (s *State) Lacks(csv string) bool { return csv != "" && !s.has(csv) }

// manual returns the first Subscription whose InstallPlans somebody approves, or nil. All InstallPlans of the namespace
// wait as long as there is one (OLM: pkg/controller/operators/catalog/operator.go, syncResolvingNamespace).
func (s *State) manual() *Subscription {
	return s.find(func(sub *Subscription) bool { return sub.Manual })
}

func (s *State) find(is func(*Subscription) bool) *Subscription {
	for i := range s.Subscriptions {
		if is(&s.Subscriptions[i]) {
			return &s.Subscriptions[i]
		}
	}
	return nil
}

// decide returns the answers of OLM for a state, the most frequent one first.
func (w *walker) decide(s *State, key string) []decision {
	if known, ok := w.decided[key]; ok {
		return known
	}
	var list []decision
	times := map[string]int{}
	// With few things to order, all orders come up with near certainty: of three, each is missed once in 10,000 times.
	tries := []int{4, 4, 16, 48, 96}[min(s.deciders(), 4)] // besides the order by name
	for seed := range tries + 1 {
		var c *rand.Rand
		if seed > 0 {
			c = rand.New(rand.NewPCG(uint64(seed), 0))
		}
		step, failure := w.catalogs.resolve(s, c)
		d := decision{step, failure}
		if times[d.key()]++; times[d.key()] == 1 {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b decision) int { return cmp.Compare(times[b.key()], times[a.key()]) })
	w.decided[key] = list
	return list
}

// deciders counts what OLM decides about first: Subscriptions, twice without a channel, and CSVs without one.
func (s *State) deciders() int {
	open := lists.Count(s.Subscriptions, func(sub Subscription) bool { return sub.Channel == "" })
	return len(s.Subscriptions) + open + lists.Count(s.CSVs, func(c CSV) bool {
		return !c.Copied && s.find(func(sub *Subscription) bool { return sub.InstalledCSV == c.Name }) == nil
	})
}

// apply returns the state after an InstallPlan that succeeds, and the step with the CSVs that it removes.
func (s *State) apply(step Step) (*State, Step) {
	next := s.Clone()
	had := lists.By(s.CSVs, func(c CSV) string { return c.Name })
	for _, p := range step.CSVs {
		if !next.has(p.Name) {
			c := Installed(p.entry.bundle, p.Package)
			c.Replaces = p.Replaces
			next.CSVs = append(next.CSVs, c)
		}
	}
	fresh := func(name string) bool {
		return slices.ContainsFunc(step.CSVs, func(p Planned) bool { return p.Name == name })
	}
	step.Removed = nil
	for _, p := range step.CSVs {
		for old := p.Replaces; s.has(old) && !fresh(old) && !slices.Contains(step.Removed,
			old); old = had[old].Replaces {
			step.Removed = append(step.Removed, old)
		}
	}
	slices.Sort(step.Removed)
	next.CSVs = slices.DeleteFunc(next.CSVs, func(c CSV) bool { return slices.Contains(step.Removed, c.Name) })
	for _, m := range step.Subscriptions {
		if sub := next.find(func(s *Subscription) bool { return s.Name == m.Name }); sub != nil {
			sub.CurrentCSV, sub.planned = m.To, ""
		}
	}
	for _, sub := range step.NewSubscriptions {
		if !slices.ContainsFunc(next.Subscriptions, func(o Subscription) bool { return o.Name == sub.Name }) {
			next.Subscriptions = append(next.Subscriptions, sub)
		}
	}
	slices.SortFunc(next.Subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
	next.installCurrentCSVs()
	return next, step
}

func (w *walker) end(s *State, p path, walk Walk) {
	walk.Steps, walk.states = p.steps, append(slices.Clone(p.states), s)
	walk.Installed = s.names()
	for _, sub := range s.Subscriptions {
		walk.Subscriptions = append(walk.Subscriptions, Status{sub.Name, sub.InstalledCSV})
		d := w.catalogs.deprecation(&sub)
		if d == (Deprecation{}) {
			continue
		}
		d.Subscription = sub.Name
		if d.Package != "" {
			d.Package = "olm.package/" + sub.Package + ": " + d.Package
		}
		if d.Channel != "" {
			d.Channel = "olm.channel/" + sub.Channel + ": " + d.Channel
		}
		if d.Bundle != "" {
			d.Bundle = "olm.bundle/" + sub.InstalledCSV + ": " + d.Bundle
		}
		walk.Deprecations = append(walk.Deprecations, d)
	}
	w.walks = append(w.walks, walk)
}

// deprecation returns what the catalog of a Subscription says about what is installed. The catalog may be one that the
// resolver does not see (OLM: catalog/subscription/reconciler.go, updateDeprecatedStatus).
func (w *namespaceCatalogs) deprecation(s *Subscription) Deprecation {
	for _, c := range slices.Concat(w.catalogs, w.hidden) {
		if c.key != (sourceKey{s.Source, s.SourceNamespace}) {
			continue
		}
		for _, e := range c.byName[s.InstalledCSV] {
			if !e.ofPackage(s.Package) || s.Channel != "" && e.channel != s.Channel {
				continue
			}
			d := e.deprecations
			if s.Channel == "" {
				d.Channel = ""
			}
			return d
		}
	}
	return Deprecation{}
}
