package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/views"
)

// longest is how long a list becomes in one expression. The API server refuses one of 100,000 characters (cel-go:
// parser/parser.go).
const longest = 80_000

// literal returns a text as CEL writes it. Every escape here is one of Go too (cel-spec: doc/langdef.md, "String and
// Bytes Values").
func literal(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func list(texts []string) string {
	return "[" + strings.Join(lists.Map(texts, literal), ", ") + "]"
}

type entry struct {
	key  string // entries with equal keys are one
	text string // of CEL
}

// record is an entry with fields; all but the file tell it from others.
func record(file string, fields ...string) entry {
	var pairs []string
	for i := 0; i < len(fields); i += 2 {
		pairs = append(pairs, literal(fields[i])+": "+literal(fields[i+1]))
	}
	key := strings.Join(pairs, ", ")
	if file != "" {
		pairs = append(pairs, literal("file")+": "+literal(file))
	}
	return entry{key, "{" + strings.Join(pairs, ", ") + "}"}
}

// pinned returns the variables with what is pinned: pinned, and pinned2 and so on where one expression cannot hold it.
// What was only pinned before stands at the end, below a comment.
func (w *writer) pinned(brackets string, entries func(Facts) []entry) (out []views.NamedExpression) {
	var b strings.Builder
	flush := func() {
		name := "pinned"
		if n := len(out) + 1; n > 1 {
			name = fmt.Sprint(name, n)
		}
		text := strings.TrimSuffix(b.String(), ",\n")
		if text != "" {
			text = "\n" + text + "\n"
		}
		out = append(out, views.NamedExpression{Name: name, Expression: brackets[:1] + text + brackets[1:]})
		b.Reset()
	}
	seen := map[string]bool{}
	for _, part := range []struct {
		comment string
		entries []entry
	}{{"", entries(w.Facts)}, {"  // pinned before; taken until the change is finished\n", entries(w.before)}} {
		slices.SortFunc(part.entries, func(x, y entry) int {
			return cmp.Or(strings.Compare(x.key, y.key), strings.Compare(x.text, y.text))
		})
		comment := part.comment
		for _, e := range part.entries {
			if seen[e.key] {
				continue
			}
			seen[e.key] = true
			if b.Len()+len(comment)+len(e.text) > longest {
				flush()
			}
			b.WriteString(comment + "  " + e.text + ",\n")
			comment = ""
		}
	}
	flush()
	return out
}

// over joins an expression about each of the variables that pinned has made; in the expression, $ is the variable.
func over(variables []views.NamedExpression, join, expression string) string {
	return strings.Join(lists.Map(variables, func(v views.NamedExpression) string {
		return strings.ReplaceAll(expression, "$", "variables."+v.Name)
	}), join)
}
