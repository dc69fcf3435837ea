package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-air/gini/logic"
	"github.com/go-air/gini/z"
)

// variable is a thing that is in the solution or not: a bundle, a Subscription, or the rule that only one of several
// bundles may be there (OLM: solver.Variable).
type variable struct {
	id          string
	constraints []constraint
	entry       *entry // of a bundle
	replaces    string // the installed CSV that the bundle replaces

	subscription bool
}

func (v *variable) add(c constraint) { v.constraints = append(v.constraints, c) }

// mandatory reports whether the variable is in every solution.
func (v *variable) mandatory() bool {
	return slices.ContainsFunc(v.constraints, func(c constraint) bool { return c.kind == mandatory })
}

// constraint limits the solutions that its variable can be in.
type constraint struct {
	kind constraintKind
	ids  []string // in the order of preference
	text string   // in OLM's words
	need *requirement
}

type constraintKind int

const (
	mandatory  constraintKind = iota
	prohibited                // the variable is in no solution
	dependency                // one of the others comes with it
	conflict                  // the other one is not there
	atMostOne                 // of the others, whether the variable is there or not
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

// applied is a constraint of a variable.
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

// mostSorted is how many literals are sorted, as OLM sorts them. Sorting 12,000 takes 1.6 GB; no real package has so
// many.
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
