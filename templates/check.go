package templates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/manifest"
)

// encoders are the functions that print a value as YAML that nothing in the value can leave.
var encoders = []string{"str", "yaml", "quote", "toJson"}

// checker holds a template to the rule that makes every value harmless: an action that prints ends in an encoder, and
// its value is a whole key or scalar. So the text around it can be judged line by line.
type checker struct {
	root    *template.Template
	tree    *parse.Tree
	called  map[callSite]line // lines behind templates that a template calls
	calling []string
	loops   [][]line // lines at break and continue, for each loop around
}

type callSite struct {
	name string
	line
}

// line is what stands on a line of a template so far.
type line struct {
	text   string // with x for a value
	key    bool   // a value stands where a key may be: a colon may follow
	closed bool   // a value or branches stand on it: nothing else may follow
	block  int    // column of the key whose block text (| or >) goes on; -1: there is none
}

func check(root *template.Template, name string) error {
	t := root.Lookup(name)
	c := &checker{root: root, tree: t.Tree, called: map[callSite]line{}, calling: []string{name}}
	end, err := c.list(line{block: -1}, t.Root)
	if err != nil {
		return err
	}
	last, offset := t.Root.Nodes[len(t.Root.Nodes)-1], 0
	if n, ok := last.(*parse.TextNode); ok {
		offset = strings.LastIndex(string(n.Text), "\n") + 1
	}
	if msg, hint := end.fault(); msg != "" {
		return c.errorf(last, offset, hint, "%s", msg)
	}
	return nil
}

// errorf names the line of a node, some bytes into its text, and the action.
func (c *checker) errorf(n parse.Node, offset int, hint, format string, args ...any) error {
	at := &parse.TextNode{Pos: n.Position() + parse.Pos(offset)}
	location, _ := c.tree.ErrorContext(at)
	file, rest, _ := strings.Cut(location, ":")
	number, _, _ := strings.Cut(rest, ":")
	out := &manifest.Error{File: file, Msg: fmt.Sprintf(format, args...), Tip: hint}
	if n.Type() != parse.NodeText {
		action, _, _ := strings.Cut(n.String(), "}}")
		out.Msg = action + "}}: " + out.Msg
	}
	out.Line, _ = strconv.Atoi(number)
	return out
}

const (
	aloneHint = `a value is a whole key or scalar: write text and values into one action, ` +
		`as in {{ printf "%s-x" .Name | str }}`
	openHint = "write a text in quotes or brackets on one line"
	keyHint  = "write key: {{ str .Value }}, - {{ str .Value }} or {{ str .Key }}: value"
)

func (c *checker) list(l line, list *parse.ListNode) (line, error) {
	if list == nil {
		return l, nil
	}
	var err error
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			l, err = c.text(l, n)
		case *parse.ActionNode:
			l, err = c.action(l, n)
		case *parse.IfNode:
			l, err = c.branch(l, n, &n.BranchNode)
		case *parse.WithNode:
			l, err = c.branch(l, n, &n.BranchNode)
		case *parse.RangeNode:
			l, err = c.loop(l, n)
		case *parse.BreakNode, *parse.ContinueNode:
			last := len(c.loops) - 1
			c.loops[last] = append(c.loops[last], l)
		case *parse.TemplateNode:
			l, err = c.call(l, n)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

func (c *checker) branch(l line, n parse.Node, b *parse.BranchNode) (line, error) {
	first, err := c.list(l, b.List)
	if err != nil {
		return l, err
	}
	second, err := c.list(l, b.ElseList)
	if err != nil {
		return l, err
	}
	return c.join(n, first, second)
}

// join returns the line behind branches that end at a and b.
func (c *checker) join(n parse.Node, a, b line) (line, error) {
	if a.block != b.block {
		a.block, b.block = -1, -1 // at worst a value is quoted in a block text
	}
	if a == b {
		return a, nil
	}
	for _, end := range []line{a, b} {
		if msg, hint := end.fault(); msg != "" {
			return a, c.errorf(n, 0, hint, "%s", msg)
		}
	}
	return line{closed: true, block: a.block}, nil
}

// loop reads the body of a range a second time, from where its first turn ends.
func (c *checker) loop(l line, n *parse.RangeNode) (line, error) {
	out := l
	for range 2 {
		c.loops = append(c.loops, nil)
		end, err := c.list(out, n.List)
		if err != nil {
			return l, err
		}
		last := len(c.loops) - 1
		ends := append(c.loops[last], end)
		c.loops = c.loops[:last]
		for _, end := range ends {
			if out, err = c.join(n, out, end); err != nil {
				return l, err
			}
		}
		if out == l {
			break // the second turn begins as the first one did
		}
	}
	if n.ElseList == nil {
		return out, nil
	}
	other, err := c.list(l, n.ElseList)
	if err != nil {
		return l, err
	}
	return c.join(n, out, other)
}

// call reads a called template as if it stood in the place of the call.
func (c *checker) call(l line, n *parse.TemplateNode) (line, error) {
	t := c.root.Lookup(n.Name)
	if t == nil || t.Tree == nil {
		return l, c.errorf(n, 0, "", "template %q not defined", n.Name)
	}
	if slices.Contains(c.calling, n.Name) {
		return l, c.errorf(n, 0, "", "template %q calls itself", n.Name)
	}
	key := callSite{n.Name, l}
	if end, ok := c.called[key]; ok {
		return end, nil
	}
	tree := c.tree
	c.tree, c.calling = t.Tree, append(c.calling, n.Name)
	end, err := c.list(l, t.Root)
	c.tree, c.calling = tree, c.calling[:len(c.calling)-1]
	c.called[key] = end
	return end, err
}

func (c *checker) text(l line, n *parse.TextNode) (line, error) {
	text := string(n.Text)
	for {
		part, rest, more := strings.Cut(text, "\n")
		part = strings.TrimSuffix(part, "\r")
		offset := len(n.Text) - len(text)
		switch {
		case strings.ContainsAny(part, "\r\u0085\u2028\u2029"):
			return l, c.errorf(n, offset, "end lines with a line feed", "another line break")
		case l.closed && l.key && (part == ":" || strings.HasPrefix(part, ": ")):
			l.key, l.closed = false, false
		case l.closed && part != "":
			return l, c.errorf(n, offset, aloneHint, "it follows a value on its line: %q", part)
		}
		l.text += part
		if !more {
			return l, nil
		}
		if msg, hint := l.fault(); msg != "" {
			return l, c.errorf(n, offset, hint, "%s", msg)
		}
		l, text = l.next(), rest
	}
}

// lineBegin matches indentation, indicators of list items and the key, as far as a line has them. YAML takes all up to
// the first colon before a space for the key, unless it begins with an indicator or holds a comment.
var lineBegin = lazy.Regexp(`^[ \t]*(?:(?:---|[-?:])[ \t]+)*` +
	`(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#&*!|>%@\x60\[\]{},](?:\S|[ \t]+[^\s#])*?)[ \t]*:(?:[ \t]+|$))?`)

// begin returns what of the line stands before its value, the column of the key or, without one, of the last
// indicator, and whether there is a key.
func (l line) begin() (before string, column int, key bool) {
	m := lineBegin().FindStringSubmatchIndex(l.text)
	before = l.text[:m[1]]
	if m[2] >= 0 {
		return before, m[2], true
	}
	return before, strings.LastIndexAny(before, "-?:"), false
}

// inBlock reports whether the line belongs to a block text.
func (l line) inBlock() bool {
	deep := len(l.text) - len(strings.TrimLeft(l.text, " "))
	return l.block >= 0 && (deep > l.block || deep == len(l.text))
}

// fault returns what is wrong if the line ends here, and what to write.
func (l line) fault() (msg, hint string) {
	before, column, _ := l.begin()
	value := l.text[len(before):]
	switch {
	case l.inBlock(), value == "":
		return "", ""
	case l.key && column < 0:
		return "a value is neither a key nor behind one, nor a list item", keyHint
	case strings.ContainsAny(value[:1], `"'[{&!`):
		if _, err := manifest.ReadFile("", []byte(value), manifest.Limits{}); err != nil {
			return "a text in quotes or brackets does not end on its line", openHint
		}
	}
	return "", ""
}

var blockHeader = lazy.Regexp(`^[|>][-+0-9]*[ \t]*(?:#.*)?$`)

func (l line) next() line {
	before, column, _ := l.begin()
	switch {
	case l.inBlock():
	case blockHeader().MatchString(l.text[len(before):]):
		l.block = column
	default:
		l.block = -1
	}
	return line{block: l.block}
}

func (c *checker) action(l line, n *parse.ActionNode) (line, error) {
	if len(n.Pipe.Decl) > 0 {
		return l, nil // it prints nothing
	}
	before, column, key := l.begin()
	last := n.Pipe.Cmds[len(n.Pipe.Cmds)-1]
	name, _ := last.Args[0].(*parse.IdentifierNode)
	switch {
	case name == nil || !slices.Contains(encoders, name.Ident):
		return l, c.errorf(n, 0, encoderHint(n.Pipe, name != nil, column+2), "it does not end in an encoder")
	case l.closed || before != l.text:
		return l, c.errorf(n, 0, aloneHint, "it follows other text on its line")
	case l.inBlock() && l.text != "":
		return l, c.errorf(n, 0, "write it as in key: {{ str .Text }}: a text of several lines is quoted",
			"it stands inside a block text")
	case name.Ident == "yaml" && !key:
		return l, c.errorf(n, 0, "write it as in labels: {{- yaml 4 .Labels }}", "yaml prints what stands behind a key")
	case name.Ident == "yaml" && !deepEnough(last, column+2):
		return l, c.errorf(n, 0, fmt.Sprintf("write yaml %d", column+2),
			"the indentation must be a number, at least %d here", column+2)
	case name.Ident != "yaml" && key && strings.HasSuffix(before, ":"):
		return l, c.errorf(n, 0, "write key: {{ str .Value }}", "a space must stand behind the colon")
	}
	l.text, l.key, l.closed = l.text+"x", !key, true
	return l, nil
}

// encoderHint returns how a pipeline may end in an encoder.
func encoderHint(p *parse.PipeNode, called bool, indent int) string {
	if len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 && !called {
		return fmt.Sprintf("write {{ str %s }}, or {{- yaml %d %[1]s }} for a mapping or list", p, indent)
	}
	return fmt.Sprintf("write {{ %s | str }}, or {{- %[1]s | yaml %d }} for a mapping or list", p, indent)
}

// deepEnough checks the indentation that a template gives to the function yaml: with too little a value's keys would
// become its neighbours.
func deepEnough(command *parse.CommandNode, want int) bool {
	if len(command.Args) < 2 {
		return false
	}
	x, ok := command.Args[1].(*parse.NumberNode)
	return ok && x.IsInt && x.Int64 >= int64(want)
}
