package witness

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// patternWidens reports whether it is proven that each text that matches a pattern matches another one, too. The API
// server asks Go's regexp, which finds a pattern anywhere in a text (kube-openapi: pkg/validation/validate, Pattern).
func patternWidens(from, to string) bool {
	var progs [2]*syntax.Prog
	for i, pattern := range []string{from, to} {
		re, err := syntax.Parse("(?s:.*)(?:"+pattern+")(?s:.*)", syntax.Perl)
		if err != nil {
			return false
		}
		if progs[i], err = syntax.Compile(re.Simplify()); err != nil {
			return false
		}
	}
	begin := func(p *syntax.Prog) state { return state{[]uint32{uint32(p.Start)}, -1} } //nolint:gosec // an index
	todo, seen, alphabet := [][2]state{{begin(progs[0]), begin(progs[1])}}, map[string]bool{}, runesOf(progs[:])
	for ; len(todo) > 0 && len(seen) <= mostStates; todo = todo[1:] {
		a, b := todo[0][0], todo[0][1]
		_, taken := a.after(progs[0], -1)
		if _, still := b.after(progs[1], -1); taken && !still {
			return false
		}
		for _, r := range alphabet {
			next := [2]state{}
			next[0], _ = a.after(progs[0], r)
			next[1], _ = b.after(progs[1], r)
			if key := fmt.Sprint(next); !seen[key] {
				seen[key] = true
				todo = append(todo, next)
			}
		}
	}
	return len(todo) == 0
}

// mostStates is how many pairs of states are looked at for two patterns.
const mostStates = 4000

// state is where a pattern is in a text: at some instructions, after a rune that stands for its class; -1: none.
type state struct {
	at     []uint32
	before rune
}

// after returns the state behind a rune, and whether the text before it matches; -1 is the end of the text.
func (s state) after(prog *syntax.Prog, r rune) (out state, match bool) {
	for todo, n := slices.Clone(s.at), 0; n < len(todo); n++ {
		switch i := &prog.Inst[todo[n]]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = lists.Add(lists.Add(todo, i.Out), i.Arg)
		case syntax.InstEmptyWidth:
			if i.MatchEmptyWidth(s.before, r) {
				todo = lists.Add(todo, i.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			todo = lists.Add(todo, i.Out)
		case syntax.InstMatch:
			match = true
		default:
			if i.MatchRune(r) {
				out.at = lists.Add(out.at, i.Out)
			}
		}
	}
	slices.Sort(out.at)
	if out.before = r; syntax.IsWordChar(r) {
		out.before = 'a'
	} else if r != '\n' {
		out.before = '-'
	}
	return out, match
}

// runesOf returns a rune of each class of runes that patterns tell apart.
func runesOf(progs []*syntax.Prog) []rune {
	out := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	for _, prog := range progs {
		for _, i := range prog.Inst {
			for _, r := range i.Rune {
				out = append(out, r, r+1)
				for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
					out = append(out, other, other+1)
				}
			}
		}
	}
	return lists.SortedUnique(slices.DeleteFunc(out, func(r rune) bool { return r > unicode.MaxRune }))
}
