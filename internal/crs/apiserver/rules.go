package apiserver

import (
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// Rule is a rule of x-kubernetes-validations as CEL reads it.
type Rule struct {
	Text     string   // without what means nothing: white space, comments, brackets. As it was if CEL cannot read it
	Literals []any    // the texts and numbers in it
	Fields   []string // the names of the fields that it looks at
	Old      bool     // it looks at oldSelf, so that it is about updates
}

// ruleParser returns the parser of all rules. It knows no macros, which stay calls.
var ruleParser = sync.OnceValues(func() (*parser.Parser, error) { return parser.NewParser() })

// ReadRule reads a rule. It does not check the types.
func ReadRule(rule string) Rule {
	out := Rule{Text: rule}
	p, err := ruleParser()
	if err != nil {
		return out
	}
	parsed, errs := p.Parse(common.NewTextSource(rule))
	if len(errs.GetErrors()) > 0 {
		return out
	}
	if text, err := parser.Unparse(parsed.Expr(), parsed.SourceInfo()); err == nil {
		out.Text = text
	}
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.IdentKind:
			out.Old = out.Old || e.AsIdent() == "oldSelf"
		case e.Kind() == ast.SelectKind:
			out.Fields = append(out.Fields, e.AsSelect().FieldName())
		case e.Kind() == ast.LiteralKind:
			switch v := e.AsLiteral().Value().(type) {
			case string, int64, float64:
				out.Literals = append(out.Literals, v)
			}
		}
	}))
	return out
}
