package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-air/gini"
	"github.com/go-air/gini/inter"
	"github.com/go-air/gini/logic"
	"github.com/go-air/gini/z"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// The answers of gini.
const (
	satisfied = 1
	unknown   = 0
	refuted   = -1
)

// solve returns the variables that OLM chooses, in the order of the problem. It decides as OLM does: first the
// mandatory variables in the order given, then level by level what each chosen variable depends on, the preferred one
// first, and on a contradiction it changes the latest decision (OLM: solver/solve.go, solver/search.go).
func (p *problem) solve() ([]*variable, error) {
	g := gini.New()
	p.circuit.ToCnf(g)
	var anchors []z.Lit
	for _, v := range p.all {
		if slices.ContainsFunc(v.constraints, func(c constraint) bool { return c.kind == mandatory }) {
			anchors = append(anchors, p.lits[v.id])
		}
	}
	g.Assume(p.order...)
	g.Assume(anchors...)
	outcome, _ := g.Test(nil)
	var chosen []z.Lit
	if outcome == unknown {
		s := &search{problem: p, g: g, assumed: map[z.Lit]bool{}}
		outcome, chosen = s.run(anchors)
	}
	switch outcome {
	case satisfied:
		return p.smallest(g, chosen)
	case refuted:
		e := &unsatisfiable{}
		for _, m := range g.Why(nil) {
			if a, ok := p.applied[m]; ok {
				e.texts = append(e.texts, a.text)
			}
		}
		slices.Sort(e.texts)
		return nil, e
	}
	return nil, errors.New("cancelled before a solution could be found")
}

// smallest completes the decisions with as few further variables as possible.
func (p *problem) smallest(g *gini.Gini, chosen []z.Lit) ([]*variable, error) {
	var extras, excluded []z.Lit
	for _, v := range p.all {
		switch m := p.lits[v.id]; {
		case slices.Contains(chosen, m):
		case g.Value(m):
			extras = append(extras, m)
		default:
			excluded = append(excluded, m.Not())
		}
	}
	g.Untest()
	known := p.circuit.Len()
	sorted := p.circuit.CardSort(extras)
	marks := make([]int8, known, p.circuit.Len())
	for i := range marks {
		marks[i] = 1
	}
	for n := 0; n <= sorted.N(); n++ {
		marks, _ = p.circuit.CnfSince(g, marks, sorted.Leq(n))
	}
	g.Assume(chosen...)
	g.Assume(excluded...)
	g.Assume(p.order...)
	g.Test(nil)
	for n := 0; n <= sorted.N(); n++ {
		g.Assume(sorted.Leq(n))
		if g.Solve() == satisfied {
			return lists.Filter(p.all, func(v *variable) bool { return g.Value(p.lits[v.id]) }), nil
		}
	}
	return nil, errors.New("unexpected internal error")
}

// search decides choices one after the other. The first made of them are decided.
type search struct {
	*problem
	g       inter.S
	choices []choice
	made    int
	assumed map[z.Lit]bool
	result  int
}

// choice is a set of candidates of which one is to be in the solution.
type choice struct {
	candidates []z.Lit
	next       int   // the candidate to try
	guessed    z.Lit // null: the choice was already met, or every candidate was refuted
	children   int   // how many choices the guess added
}

func (s *search) run(anchors []z.Lit) (int, []z.Lit) {
	s.choices = lists.Map(anchors, func(m z.Lit) choice { return choice{candidates: []z.Lit{m}} })
	for {
		if s.made == len(s.choices) && s.result == unknown {
			s.result = s.g.Solve()
		}
		if s.result == refuted {
			if s.made == 0 {
				break
			}
			s.undo()
			continue
		}
		if s.made == len(s.choices) {
			break
		}
		s.decide()
	}
	var chosen []z.Lit
	for _, c := range s.choices[:s.made] {
		if c.guessed != z.LitNull {
			chosen = append(chosen, c.guessed)
		}
	}
	result := s.result
	for s.made > 0 {
		s.undo()
	}
	return result, chosen
}

func (s *search) decide() {
	c := &s.choices[s.made]
	s.made++
	c.guessed, c.children = z.LitNull, 0
	if c.next < len(c.candidates) {
		c.guessed = c.candidates[c.next]
	}
	if slices.ContainsFunc(c.candidates, func(m z.Lit) bool { return s.assumed[m] }) {
		c.guessed = z.LitNull
	}
	if c.guessed == z.LitNull {
		return
	}
	guessed, at := c.guessed, s.made-1
	for _, each := range s.byLit[guessed].constraints {
		if each.kind != dependency || len(each.ids) == 0 {
			continue
		}
		candidates := lists.Map(each.ids, func(id string) z.Lit { return s.lits[id] })
		s.choices = append(s.choices, choice{candidates: candidates})
		s.choices[at].children++
	}
	s.assumed[guessed] = true
	s.g.Assume(guessed)
	s.result, _ = s.g.Test(nil)
}

// undo takes the latest decision back. As in OLM, its choice goes on with the next candidate in any case.
func (s *search) undo() {
	s.made--
	c := &s.choices[s.made]
	if c.guessed != z.LitNull {
		delete(s.assumed, c.guessed)
		s.result = s.g.Untest()
		c.next++
	}
	s.choices = s.choices[:len(s.choices)-c.children]
	c.children = 0
}

// variable is in the solution or not: a bundle, a Subscription, or a rule about several bundles (OLM: solver.Variable).
type variable struct {
	id          string
	constraints []constraint
	entry       *entry // of a bundle
	replaces    string // the installed CSV that the bundle replaces

	subscription bool
}

func (v *variable) add(c constraint) { v.constraints = append(v.constraints, c) }

type constraint struct {
	kind constraintKind
	ids  []string // in the order of preference
	text string   // in OLM's words
	need *requirement
}

type constraintKind int

const (
	mandatory  constraintKind = iota // the variable is in every solution
	prohibited                       // the variable is in no solution
	dependency                       // one of the others comes with it
	conflict                         // the other one is not there
	atMostOne                        // of the others, whether the variable is there or not
)

// problem holds the variables and how gini sees them.
type problem struct {
	all     []*variable
	circuit *logic.C
	lits    map[string]z.Lit
	byLit   map[z.Lit]*variable
	applied map[z.Lit]applied
	order   []z.Lit // of applied
}

type applied struct {
	*variable
	constraint
}

// newProblem encodes the variables as OLM does (OLM: solver/constraints.go, solver/lit_mapping.go).
func newProblem(variables []*variable) (*problem, error) {
	p := &problem{all: variables, circuit: logic.NewCCap(len(variables)), lits: map[string]z.Lit{},
		byLit: map[z.Lit]*variable{}, applied: map[z.Lit]applied{}}
	for _, v := range variables {
		m := p.circuit.Lit()
		p.lits[v.id], p.byLit[m] = m, v
	}
	for _, v := range variables {
		for _, c := range v.constraints {
			m, err := p.encode(v, c)
			if err != nil {
				return nil, err
			}
			if _, ok := p.applied[m]; !ok {
				p.order = append(p.order, m)
			}
			p.applied[m] = applied{v, c}
		}
	}
	return p, nil
}

func (p *problem) encode(v *variable, c constraint) (z.Lit, error) {
	subject := p.lits[v.id]
	ms := make([]z.Lit, len(c.ids))
	for i, id := range c.ids {
		m, ok := p.lits[id]
		if !ok {
			return z.LitNull, fmt.Errorf("1 errors encountered: variable %q referenced but not provided", id)
		}
		ms[i] = m
	}
	switch c.kind {
	case mandatory:
		return subject, nil
	case prohibited:
		return subject.Not(), nil
	case conflict:
		return p.circuit.Or(subject.Not(), ms[0].Not()), nil
	case atMostOne:
		return p.atMostOne(ms), nil
	}
	m := subject.Not()
	for _, other := range ms {
		m = p.circuit.Or(m, other)
	}
	return m, nil
}

// mostSorted is how many literals are sorted as OLM does. Sorting 12,000 takes 1.6 GB; no real package has so many.
const mostSorted = 2_000

// atMostOne returns the literal that at most one of others holds.
func (p *problem) atMostOne(ms []z.Lit) z.Lit {
	if len(ms) <= mostSorted {
		return p.circuit.CardSort(ms).Leq(1)
	}
	some, two := p.circuit.F, p.circuit.F
	for _, m := range ms {
		some, two = p.circuit.Or(some, m), p.circuit.Or(two, p.circuit.And(some, m))
	}
	return two.Not()
}

// unsatisfiable is the error for a problem without solution: a set of constraints that exclude each other.
type unsatisfiable struct{ texts []string }

func (e *unsatisfiable) Error() string {
	const text = "constraints not satisfiable"
	if len(e.texts) == 0 {
		return text
	}
	return text + ": " + strings.Join(e.texts, ", ")
}
