package resolve

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"
)

// problemOf returns an explainer of variables. Their constraints are written as in "a": "mandatory", "requires b c".
func problemOf(t *testing.T, constraints map[string][]string) *explainer {
	t.Helper()
	b := &builder{variables: map[string]*variable{}}
	for id, list := range constraints {
		v := &variable{id: id, entry: &entry{name: id}}
		for _, text := range list {
			kind, rest, _ := strings.Cut(text, " ")
			v.add(constraint{text: id + " " + text, ids: strings.Fields(rest), kind: map[string]constraintKind{
				"mandatory": mandatory, "prohibited": prohibited, "requires": dependency, "excludes": conflict, "one": atMostOne}[kind]})
		}
		b.put(v)
	}
	slices.Sort(b.ids)
	var all []*variable
	for _, id := range b.ids {
		all = append(all, b.variables[id])
	}
	p, err := newProblem(all)
	if err != nil {
		t.Fatal(err)
	}
	return &explainer{builder: b, problem: p}
}

// The search goes through all candidates of a choice (OLM: pkg/controller/registry/resolver/solver/search.go).
func TestSolve(t *testing.T) {
	// x1 and x2 provide one API that a2 requires and y1 and y2 the other, and one of the four can be there.
	constraints := map[string][]string{"s": {"mandatory", "requires a2 a1"}, "a2": {"requires x1 x2", "requires y1 y2"},
		"a1": nil, "x1": nil, "x2": nil, "y1": nil, "y2": nil, "p": {"mandatory", "one x1 y1", "one x1 y2", "one x2 y1", "one x2 y2"}}
	chosen, err := problemOf(t, constraints).solve()
	var ids []string
	for _, v := range chosen {
		ids = append(ids, v.id)
	}
	if err != nil || strings.Join(ids, " ") != "a1 p s" {
		t.Errorf("%v, %v", ids, err)
	}
	constraints["a1"] = []string{"prohibited"}
	if _, err := problemOf(t, constraints).solve(); err == nil {
		t.Error("there is a solution")
	} else if _, none := errors.AsType[*unsatisfiable](err); !none {
		t.Error(err)
	}
}

// What is decided is completed with as few others as possible (OLM: solver/solve.go).
func TestSmallest(t *testing.T) {
	// Without h, all three others would be needed.
	x := problemOf(t, map[string][]string{"a": {"requires h b", "requires h c", "requires h d"}, "h": nil, "b": nil, "c": nil, "d": nil, "e": nil})
	g := gini.New()
	x.circuit.ToCnf(g)
	g.Assume(x.order...)
	g.Test(nil)
	g.Assume(x.lits["a"], x.lits["b"], x.lits["c"], x.lits["d"], x.lits["h"], x.lits["e"].Not())
	g.Solve()
	list, err := x.smallest(g, []z.Lit{x.lits["a"]})
	if err != nil || len(list) != 2 || list[0].id != "a" || list[1].id != "h" {
		t.Errorf("%v, %v", list, err)
	}
}

// Nothing can be left out of the smallest completion of a decision, whatever gini has tried before.
func TestSmallestOfRandom(t *testing.T) {
	for seed := range uint64(100) {
		x := randomProblem(t, rand.New(rand.NewPCG(seed, 3)))
		g, a := gini.New(), x.lits["a"]
		x.circuit.ToCnf(g)
		g.Assume(x.order...)
		g.Test(nil)
		for _, v := range x.all { // gini remembers what was there
			g.Assume(a, x.lits[v.id])
			g.Solve()
		}
		g.Assume(a)
		if g.Solve() != satisfied {
			continue
		}
		list, err := x.smallest(g, []z.Lit{a})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 1<<len(list) - 1 { // all subsets
			if x.solvedBy(list, n) {
				t.Errorf("seed %d: %d variables, and the subset %b is a solution", seed, len(list), n)
			}
		}
	}
}

// randomProblem returns a problem in which the variables a, b and so on require and exclude one another.
func randomProblem(t *testing.T, r *rand.Rand) *explainer {
	t.Helper()
	n, constraints := 6+r.IntN(4), map[string][]string{}
	name := func(i int) string { return string(rune('a' + i)) }
	for i := range n {
		constraints[name(i)] = nil
		for range r.IntN(3) {
			constraints[name(i)] = append(constraints[name(i)], "requires "+name(r.IntN(n))+" "+name(r.IntN(n)))
		}
		if j := r.IntN(n); j != i && r.IntN(4) == 0 {
			constraints[name(i)] = append(constraints[name(i)], "excludes "+name(j))
		}
	}
	return problemOf(t, constraints)
}

// solvedBy reports whether a and the variables of a list whose bits are set in subset are a solution, without others.
func (x *explainer) solvedBy(list []*variable, subset int) bool {
	there := map[string]bool{"a": true}
	for i, v := range list {
		there[v.id] = there[v.id] || subset>>i&1 == 1
	}
	if !slices.ContainsFunc(list, func(v *variable) bool { return !there[v.id] }) {
		return false // it is the whole list
	}
	g := gini.New()
	x.circuit.ToCnf(g)
	g.Assume(x.order...)
	for _, v := range x.all {
		m := x.lits[v.id]
		if !there[v.id] {
			m = m.Not()
		}
		g.Assume(m)
	}
	return g.Solve() == satisfied
}

// Of several conflicts of one size, the one that gini meets first is told.
func TestConflictOfOneSize(t *testing.T) {
	constraints := map[string][]string{}
	for _, id := range []string{"a", "b", "c"} {
		constraints[id] = []string{"mandatory", "prohibited"}
	}
	x := problemOf(t, constraints)
	if got := texts(x.conflict()); !slices.Equal(got, []string{"a mandatory", "a prohibited"}) {
		t.Errorf("%q", got)
	}
}

// A constraint helps if there is a solution without it alone.
func TestHelps(t *testing.T) {
	for _, c := range []struct {
		name        string
		constraints map[string][]string
		without     string
		want        bool
	}{
		{"the only one in the way", map[string][]string{"a": {"mandatory", "prohibited"}}, "a prohibited", true},
		{"another of the variable is in the way", map[string][]string{"a": {"mandatory", "prohibited", "requires b"}, "b": {"prohibited"}},
			"a prohibited", false},
		{"another variable is in the way", map[string][]string{"a": {"mandatory", "prohibited"}, "b": {"mandatory", "prohibited"}}, "a prohibited", false},
	} {
		x := problemOf(t, c.constraints)
		for _, m := range x.order {
			a := x.applied[m]
			if a.text != c.without {
				continue
			}
			if got := x.helps(a); got != c.want {
				t.Errorf("%s: %v", c.name, got)
			}
		}
	}
	// Two variables may have constraints of one text.
	x := problemOf(t, map[string][]string{"a": {"mandatory", "prohibited"}, "b": {"mandatory", "prohibited"}})
	for m, a := range x.applied {
		if a.kind == prohibited {
			a.text = "the same"
			x.applied[m] = a
		}
	}
	for _, a := range x.applied {
		if x.helps(a) {
			t.Errorf("%s: it stands alone in the way", a.text)
		}
	}
}

// The smallest conflict is found even if gini meets a longer one first, as long as each of the 400 constraints can be
// left out once.
func TestConflict(t *testing.T) {
	for length, want := range map[int]int{3: 2, 397: 2, 398: 399} {
		constraints := map[string][]string{"a001": {"mandatory"}, "x": {"mandatory", "prohibited"}}
		for i := 1; i < length; i++ {
			id := fmt.Sprintf("a%03d", i)
			constraints[id] = append(constraints[id], fmt.Sprintf("requires a%03d", i+1))
		}
		constraints[fmt.Sprintf("a%03d", length)] = []string{"prohibited"}
		x := problemOf(t, constraints)
		if got := texts(x.conflict()); len(got) != want {
			t.Errorf("%d constraints: %d in the conflict: %s", len(x.order), len(got), got)
		}
	}
}

// Candidates are bundles, each once.
func TestCandidates(t *testing.T) {
	x := problemOf(t, map[string][]string{"a": nil, "b": nil, "subscription:s": {"mandatory", "requires b a b"}, "subscription:t": nil})
	var ids []string
	for _, v := range x.candidates(&Subscription{Name: "s"}) {
		ids = append(ids, v.id)
	}
	if strings.Join(ids, " ") != "b a" || x.candidates(&Subscription{Name: "u"}) != nil {
		t.Errorf("%v", ids)
	}
}

// A bundle with two requirements in a conflict is named once, and the bundle in question is not.
func TestBlockers(t *testing.T) {
	need := &requirement{}
	a, b := &variable{id: "a", entry: &entry{name: "a"}}, &variable{id: "b", entry: &entry{name: "b"}}
	got := blockers([]applied{{a, constraint{need: need}}, {b, constraint{}}, {a, constraint{need: need}}, {b, constraint{need: need}}}, "b")
	if !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
}

// A walk has at most so many alternatives.
func TestMostAlternatives(t *testing.T) {
	s := &State{OperatorGroups: 1, Subscriptions: []Subscription{{Name: "a"}}}
	settled := decision{step: &Step{}}
	for before, want := range map[int]int{0: 2, mostAlternatives - 2: mostAlternatives, mostAlternatives - 1: mostAlternatives,
		mostAlternatives: mostAlternatives + 1} { // that of a state in which OLM decides the same every time is there
		w := &walker{ctx: t.Context(), catalogs: &namespaceCatalogs{}, walks: make([]Walk, before),
			decided: map[string][]decision{s.key(): {settled, settled}}}
		if err := w.walk(s, path{}); err != nil || len(w.walks) != want {
			t.Errorf("after %d: %d, %v", before, len(w.walks), err)
		}
	}
}

func TestMostSteps(t *testing.T) {
	s := &State{OperatorGroups: 1, Subscriptions: []Subscription{{Name: "a"}}}
	for before, want := range map[int]Outcome{mostSteps - 1: Settled, mostSteps: Stopped} {
		w := &walker{ctx: t.Context(), catalogs: &namespaceCatalogs{}, decided: map[string][]decision{s.key(): {{step: &Step{}}}}}
		if err := w.walk(s, path{steps: make([]Step, before)}); err != nil || w.walks[0].Outcome != want {
			t.Errorf("after %d steps: %v, %v", before, w.walks[0].Outcome, err)
		}
	}
}

// One change is one help, and what no change lifts is none.
func TestHelp(t *testing.T) {
	x := problemOf(t, map[string][]string{"a": {"mandatory"}, "b": {"mandatory"}, "p": {"mandatory", "one a b"}})
	x.state = &State{}
	var set []applied
	for _, m := range x.order {
		set = append(set, x.applied[m], x.applied[m])
	}
	want := []string{"delete ClusterServiceVersion a, or let a Subscription of its package own it",
		"delete ClusterServiceVersion b, or let a Subscription of its package own it"}
	got := slices.DeleteFunc(x.help(set), func(h string) bool { return strings.Contains(h, "ClusterServiceVersion p,") })
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
