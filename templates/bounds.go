package templates

import (
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/olmgen/olmgen/manifest"
)

// What one execution of a user's template may ask for. No object that an API server stores has as much text.
const (
	maxText  = 4 << 20  // bytes that one function yields, and that the template yields
	maxHeld  = 64 << 20 // bytes that all functions yield
	maxSteps = 1 << 19  // rounds of loops, and calls of templates
)

// spent is what an execution has asked for.
type spent struct{ bytes, steps int }

const step = "loop" // counts

// count has each round of a loop, and each call of the template, take a step.
func count(t *parse.Tree) {
	counter := &parse.ActionNode{NodeType: parse.NodeAction, Pipe: &parse.PipeNode{NodeType: parse.NodePipe,
		Cmds: []*parse.CommandNode{{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(step)}}}}}
	var walk func(*parse.ListNode, bool)
	walk = func(list *parse.ListNode, counts bool) {
		if list == nil {
			return
		}
		for _, n := range list.Nodes {
			switch n := n.(type) {
			case *parse.IfNode:
				walk(n.List, false)
				walk(n.ElseList, false)
			case *parse.WithNode:
				walk(n.List, false)
				walk(n.ElseList, false)
			case *parse.RangeNode:
				walk(n.List, true)
				walk(n.ElseList, false)
			}
		}
		if counts {
			list.Nodes = append([]parse.Node{counter}, list.Nodes...)
		}
	}
	walk(t.Root, true)
}

// bounded is a copy of templates whose functions and loops are charged to one execution.
type bounded struct {
	root *template.Template
	spent
}

// bounded returns a copy that nobody executes. To make one takes as long as to execute many templates.
func (s *Set) bounded() (*bounded, error) {
	if b, ok := s.free.Get().(*bounded); ok {
		b.spent = spent{}
		return b, nil
	}
	root, err := s.root.Clone()
	if err != nil {
		return nil, err
	}
	b := &bounded{root: root}
	all := template.FuncMap{"html": template.HTMLEscaper, "js": template.JSEscaper, // of text/template
		"urlquery": template.URLQueryEscaper, "print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln}
	maps.Copy(all, Functions())
	for name, f := range all {
		all[name] = b.charged(name, reflect.ValueOf(f))
	}
	all[step] = func() (string, error) {
		if b.steps++; b.steps > maxSteps {
			return "", manifest.OverLimit(fmt.Errorf("the template takes more than %d rounds of loops", maxSteps))
		}
		return "", nil
	}
	root.Funcs(all)
	return b, nil
}

// charged returns a function that refuses to yield too much, before it does where that can be told.
func (s *spent) charged(name string, f reflect.Value) any {
	t := f.Type()
	in := slices.Collect(t.Ins())
	failed := reflect.TypeFor[error]()
	call := func(args []reflect.Value) []reflect.Value {
		yields := 0.0
		if grows := growing[name]; grows != nil {
			yields = grows(args)
		}
		result, err := reflect.Zero(t.Out(0)), error(nil)
		if yields >= 0 && yields <= maxText {
			run := f.Call
			if t.IsVariadic() {
				run = f.CallSlice
			}
			out := run(args)
			if result = out[0]; len(out) > 1 {
				err, _ = reflect.TypeAssert[error](out[1])
			}
			yields = weight(result)
			s.bytes += int(min(yields, maxHeld))
		}
		switch {
		case yields < 0:
			err = fmt.Errorf("%s: a count is below zero", name)
		case yields > maxText:
			err = manifest.OverLimit(fmt.Errorf("%s would yield more than %d MiB", name, maxText>>20))
		case s.bytes > maxHeld:
			err = manifest.OverLimit(fmt.Errorf("its functions yield more than %d MiB", maxHeld>>20))
		}
		is := reflect.Zero(failed)
		if err != nil {
			is = reflect.ValueOf(&err).Elem()
		}
		return []reflect.Value{result, is}
	}
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{t.Out(0), failed}, t.IsVariadic()), call).Interface()
}

// weight returns about how many bytes a result has that a function has made.
func weight(v reflect.Value) float64 {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	const word = 16 // bytes of an item of a list, or of a mapping
	switch v.Kind() {
	case reflect.String:
		return float64(v.Len())
	case reflect.Slice, reflect.Map, reflect.Array:
		return float64(v.Len()) * word
	}
	return 0
}

// growing has the functions that can yield much more than they get: how many bytes that is, at most.
var growing = map[string]func(args []reflect.Value) float64{
	"repeat": func(a []reflect.Value) float64 { return float64(a[0].Int()) * weight(a[1]) },
	"indent": indented, "nindent": indented,
	"until": func(a []reflect.Value) float64 { return numbers(0, float64(a[0].Int()), 0) },
	"untilStep": func(a []reflect.Value) float64 {
		return numbers(float64(a[0].Int()), float64(a[1].Int()), a[2].Int())
	},
	"seq": func(a []reflect.Value) float64 {
		switch list := a[0]; list.Len() {
		case 1:
			return numbers(1, float64(list.Index(0).Int()), 0)
		case 2:
			return numbers(float64(list.Index(0).Int()), float64(list.Index(1).Int()), 0)
		case 3:
			return numbers(float64(list.Index(0).Int()), float64(list.Index(2).Int()), list.Index(1).Int())
		}
		return 0
	},
	"join": func(a []reflect.Value) float64 { return weight(a[0]) * weight(a[1]) },
	"replace": func(a []reflect.Value) float64 {
		return float64(strings.Count(a[2].String(), a[0].String())) * weight(a[1])
	},
	"wrapWith": func(a []reflect.Value) float64 {
		return weight(a[2]) / max(float64(a[0].Int()), 1) * weight(a[1])
	},
	"regexReplaceAll": matched, "regexReplaceAllLiteral": matched,
	"mustRegexReplaceAll": matched, "mustRegexReplaceAllLiteral": matched,
	"printf": func(a []reflect.Value) (most float64) {
		for _, width := range widths.FindAllString(a[0].String(), -1) {
			if width == "*" {
				return math.Inf(1)
			}
			most += float64(len(width)) * math.Pow10(len(width)-1)
		}
		return most
	},
}

// widths are those of the verbs of printf: an argument gives "*".
var widths = regexp.MustCompile(`\*|\d{5,}`)

func indented(a []reflect.Value) float64 {
	return float64(a[0].Int()) * float64(strings.Count(a[1].String(), "\n")+1)
}

// numbers returns the bytes of a list of numbers. In floating point nothing overflows.
func numbers(from, to float64, by int64) float64 {
	const each = 64 // a number, and its text
	if by != 0 && (to < from) != (by < 0) {
		return 0 // they make nothing
	}
	return math.Abs(to-from) / max(math.Abs(float64(by)), 1) * each
}

// matched returns the most that a replacement yields, if each of its groups is the whole text.
func matched(a []reflect.Value) float64 {
	r, err := regexp.Compile(a[0].String())
	if err != nil {
		return 0 // the function says so
	}
	text, by := a[1].String(), a[2].String()
	if by == "" {
		return 0
	}
	most, groups := 0, strings.Count(by, "$")
	for _, at := range r.FindAllStringIndex(text, maxText/len(by)+1) { // more of them are too much in any case
		most += len(by) + groups*(at[1]-at[0])
	}
	return float64(most)
}

// limitedWriter refuses more than maxText bytes, so that a loop that prints ends.
type limitedWriter struct {
	io.Writer
	n int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.n += len(p); w.n > maxText {
		return 0, manifest.OverLimit(fmt.Errorf("the template yields more than %d MiB", maxText>>20))
	}
	return w.Writer.Write(p)
}
