package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mutant is one change of the code, which a test shall notice.
type mutant struct {
	id          int
	name        string // the same as long as the function is
	file        string
	first, last int // lines of the code that changes
}

// A file is compiled once with all of its mutants: each expression calls a helper with the number of its mutant, and
// an environment variable says which one is active.
type mutator struct {
	at            *token.File
	source        []byte
	file          string
	mutants       *[]mutant
	names         map[string]int
	before, after map[int]string // what stands before the byte at an offset: the second behind what ends there
	cut           map[int]int    // how many bytes at an offset are left out
	within        string         // the function
	functions     []*ast.FuncType
	operands      map[ast.Expr]bool // seen as part of a condition
}

// mutate returns the source with its mutants, which are added to the list, and the name of its package.
func mutate(file string, source []byte, mutants *[]mutant) (out []byte, pkg string, err error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	m := &mutator{at: files.File(tree.Pos()), source: source, file: file, mutants: mutants, names: map[string]int{},
		before: map[int]string{}, after: map[int]string{}, cut: map[int]int{}, operands: map[ast.Expr]bool{}}
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
	for i := 0; i <= len(source); i++ {
		out = append(out, m.after[i]+m.before[i]...)
		if i += m.cut[i]; i < len(source) {
			out = append(out, source[i])
		}
	}
	return out, tree.Name.Name, nil
}

func (m *mutator) function(t *ast.FuncType, body *ast.BlockStmt) {
	m.functions = append(m.functions, t)
	ast.Inspect(body, m.visit)
	m.functions = m.functions[:len(m.functions)-1]
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
	case *ast.ReturnStmt:
		m.returned(n)
	case *ast.BinaryExpr:
		m.binary(n)
	}
	return true
}

// condition negates a condition, but one of several operands: binary leaves out each of those.
func (m *mutator) condition(e ast.Expr) {
	e = ast.Unparen(e)
	if not, ok := e.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		m.condition(not.X)
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) || m.operands[e] {
		return
	}
	m.operands[e] = true
	m.wrap("mutantNot", e, m.codeOf(e)+": negated")
}

// helpers are the functions that stand for operators, and what a mutant makes of the operator.
var helpers = map[token.Token]struct{ name, moved string }{
	token.LAND: {"mutantTrue", ""}, token.LOR: {"mutantFalse", ""},
	token.LSS: {"mutantLess", "<="}, token.LEQ: {"mutantLessEqual", "<"},
	token.GTR: {"mutantGreater", ">="}, token.GEQ: {"mutantGreaterEqual", ">"},
}

func (m *mutator) binary(e *ast.BinaryExpr) {
	helper, known := helpers[e.Op]
	switch {
	case e.Op == token.EQL || e.Op == token.NEQ:
		m.condition(e)
	case known && helper.moved != "":
		m.wrap(helper.name, e, m.codeOf(e)+": "+helper.moved)
		operator := m.at.Offset(e.OpPos)
		m.before[operator], m.cut[operator] = ",", len(e.Op.String())
	case known:
		for _, operand := range []ast.Expr{e.X, e.Y} {
			inner := ast.Unparen(operand)
			m.operands[inner] = true
			if b, ok := inner.(*ast.BinaryExpr); ok && b.Op == e.Op {
				continue // its own operands are left out
			}
			m.wrap(helper.name, operand, m.codeOf(e)+": without "+m.codeOf(operand))
		}
	}
}

// returned swaps two results of one type, negates a truth value and the order that a comparison returns.
func (m *mutator) returned(r *ast.ReturnStmt) {
	t := m.functions[len(m.functions)-1]
	var types []string
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				types = append(types, m.codeOf(f.Type))
			}
		}
	}
	if len(types) != len(r.Results) {
		return
	}
	for i, e := range r.Results {
		if types[i] == "bool" {
			m.condition(e)
		}
	}
	switch {
	case len(types) == 2 && types[0] == types[1] && types[0] != "bool":
		m.insert("mutantSwap["+types[0]+"]", r.Results[0], r, m.codeOf(r)+": swapped")
	case len(types) == 1 && types[0] == "int" && t.Params.NumFields() == 2:
		if _, literal := r.Results[0].(*ast.BasicLit); !literal {
			m.insert("mutantMinus", r.Results[0], r, m.codeOf(r)+": minus")
		}
	}
}

func (m *mutator) wrap(helper string, e ast.Expr, what string) { m.insert(helper, e, e, what) }

// insert puts a call of a helper around what begins and what ends with a node, an outer call before inner ones.
func (m *mutator) insert(helper string, begin, end ast.Node, what string) {
	name := fmt.Sprintf("%s %s: %s", m.file, m.within, what)
	m.names[name]++
	if k := m.names[name]; k > 1 {
		name += fmt.Sprintf(" (%d)", k)
	}
	id := len(*m.mutants) + 1
	*m.mutants = append(*m.mutants, mutant{id, name, m.file, m.at.Line(begin.Pos()), m.at.Line(end.End())})
	m.before[m.at.Offset(begin.Pos())] += fmt.Sprintf("%s(%d, ", helper, id)
	m.after[m.at.Offset(end.End())] += ")"
}

func (m *mutator) codeOf(n ast.Node) string {
	return string(bytes.Join(bytes.Fields(m.source[m.at.Offset(n.Pos()):m.at.Offset(n.End())]), []byte(" ")))
}
