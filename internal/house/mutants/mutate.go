package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"
)

// mutant is one change of the code, which a test shall notice.
type mutant struct {
	id   int
	name string // the same as long as the function is
	line int
	last int // the last line of the code that changes
	file string
}

// A file is compiled once with all of its mutants: each expression calls a helper with the number of its mutant, and
// an environment variable says which one is active.
type mutator struct {
	fset    *token.FileSet
	source  []byte
	file    string
	mutants *[]mutant
	known   map[string]int
	edits   []edit
	within  string            // the function
	results [][]*ast.Field    // of the functions around
	bools   map[ast.Expr]bool // seen as part of a condition
}

type edit struct {
	at    int
	order int // of edits at one place: those that end, inner ones first, then those that begin, outer ones first
	cut   int
	text  string
}

// mutate returns the source with its mutants, which are added to the list.
func mutate(file string, source []byte, mutants *[]mutant) ([]byte, error) {
	m := &mutator{fset: token.NewFileSet(), source: source, file: file, mutants: mutants,
		known: map[string]int{}, bools: map[ast.Expr]bool{}}
	tree, err := parser.ParseFile(m.fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.within = d.Name.Name
			if d.Recv != nil {
				m.within = strings.TrimLeft(m.codeOf(d.Recv.List[0].Type), "*") + "." + m.within
			}
			if d.Body != nil {
				m.function(d.Type, d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				m.within = "var"
				ast.Inspect(d, m.visit)
			}
		}
	}
	return m.apply(), nil
}

func (m *mutator) function(t *ast.FuncType, body *ast.BlockStmt) {
	var fields []*ast.Field
	if t.Results != nil {
		fields = t.Results.List
	}
	m.results = append(m.results, fields)
	params := t.Params
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			m.returned(r, params)
		}
		return m.visit(n)
	})
	m.results = m.results[:len(m.results)-1]
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		m.function(n.Type, n.Body)
		return false
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.ArrayType:
		return false
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			m.condition(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					m.condition(e)
				}
			}
		}
	case *ast.BinaryExpr:
		m.binary(n)
	}
	return true
}

// condition negates a condition, or leaves out each of its operands.
func (m *mutator) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		m.condition(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			m.condition(e.X)
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return // binary leaves out the operands
		}
		m.negate(e)
	default:
		m.negate(e)
	}
}

func (m *mutator) negate(e ast.Expr) {
	if m.bools[e] {
		return
	}
	m.bools[e] = true
	m.wrap("mutantNot", e, fmt.Sprintf("%s: negated", m.codeOf(e)))
}

func (m *mutator) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		helper := map[token.Token]string{token.LAND: "mutantTrue", token.LOR: "mutantFalse"}[e.Op]
		for _, operand := range []ast.Expr{e.X, e.Y} {
			inner := operand
			for p, ok := inner.(*ast.ParenExpr); ok; p, ok = inner.(*ast.ParenExpr) {
				inner = p.X
			}
			m.bools[inner] = true
			if b, ok := inner.(*ast.BinaryExpr); ok && b.Op == e.Op {
				continue // its own operands are left out
			}
			m.wrap(helper, operand, fmt.Sprintf("%s: without %s", m.codeOf(e), m.codeOf(operand)))
		}
	case token.EQL, token.NEQ:
		m.negate(e)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		moved := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
			token.GEQ: token.GTR}[e.Op]
		helper := map[token.Token]string{token.LSS: "mutantLess", token.LEQ: "mutantLessEqual",
			token.GTR: "mutantGreater", token.GEQ: "mutantGreaterEqual"}[e.Op]
		m.wrap(helper, e, fmt.Sprintf("%s: %s", m.codeOf(e), moved))
		m.edits = append(m.edits, edit{at: m.offset(e.OpPos), cut: len(e.Op.String()), text: ","})
	}
}

// returned swaps two results of one type, negates a truth value and the order that a comparison returns.
func (m *mutator) returned(r *ast.ReturnStmt, params *ast.FieldList) {
	var types []string
	for _, f := range m.results[len(m.results)-1] {
		for range max(1, len(f.Names)) {
			types = append(types, m.codeOf(f.Type))
		}
	}
	for i, e := range r.Results {
		if len(types) == len(r.Results) && types[i] == "bool" {
			m.condition(e)
		}
	}
	switch {
	case len(types) == 2 && len(r.Results) == 2 && types[0] == types[1] && types[0] != "bool":
		id := m.add(r, m.codeOf(r)+": swapped")
		m.edits = append(m.edits,
			edit{at: m.offset(r.Results[0].Pos()), order: -1 << 20,
				text: fmt.Sprintf("mutantSwap[%s](%d, ", types[0], id)},
			edit{at: m.offset(r.End()), order: 1 << 20, text: ")"})
	case len(types) == 1 && types[0] == "int" && len(r.Results) == 1 && params.NumFields() == 2:
		if _, literal := r.Results[0].(*ast.BasicLit); !literal {
			m.wrap("mutantMinus", r.Results[0], m.codeOf(r)+": minus")
		}
	}
}

func (m *mutator) add(n ast.Node, what string) int {
	name := fmt.Sprintf("%s %s: %s", m.file, m.within, what)
	m.known[name]++
	if k := m.known[name]; k > 1 {
		name += fmt.Sprintf(" (%d)", k)
	}
	*m.mutants = append(*m.mutants,
		mutant{id: len(*m.mutants) + 1, name: name, line: m.fset.Position(n.Pos()).Line,
			last: m.fset.Position(n.End()).Line, file: m.file})
	return len(*m.mutants)
}

func (m *mutator) wrap(helper string, e ast.Expr, what string) {
	id := m.add(e, what)
	begin, end := m.offset(e.Pos()), m.offset(e.End())
	m.edits = append(m.edits,
		edit{at: begin, order: begin - end, text: fmt.Sprintf("%s(%d, ", helper, id)},
		edit{at: end, order: end - begin, text: ")"})
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) codeOf(n ast.Node) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, m.fset, n) // of a tree that was parsed
	return strings.Join(strings.Fields(b.String()), " ")
}

func (m *mutator) apply() []byte {
	ends := func(e edit) bool { return e.text == ")" }
	slices.SortStableFunc(m.edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case ends(a) != ends(b):
			if ends(a) {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.order, b.order)
	})
	var out bytes.Buffer
	at := 0
	for _, e := range m.edits {
		out.Write(m.source[at:e.at])
		out.WriteString(e.text)
		at = e.at + e.cut
	}
	out.Write(m.source[at:])
	return out.Bytes()
}

// helpers returns the file that a package with mutants gets.
func helpers(packageName string) string {
	return strings.ReplaceAll(helperText, "PACKAGE", path.Base(packageName))
}

// In the mode "record", every mutant that is reached is written to a file.
//
//go:embed helpers.go.txt
var helperText string
