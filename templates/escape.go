package templates

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/olmgen/olmgen/manifest"
)

// escaper adds to every action that prints something the encoder of its place, as html/template does. It first
// collects the edits of a template and then makes them, because the body of a range is read twice.
type escaper struct {
	root    *template.Template
	edits   map[parse.Node]edit
	order   []parse.Node
	called  map[callSite]result // templates that a template of this set calls
	calling map[string]bool
	loops   [][]place // where break and continue stand, for each loop around
	tree    *parse.Tree
}

// edit is what becomes of a node: an encoder for an action, another name for a template, text without its last
// spaces.
type edit struct {
	encoder string
	indent  int // -1 for encoders without one
	name    string
	trim    bool
}

type callSite struct {
	name string
	place
}

type result struct {
	name string
	end  place
}

// escape rewrites one template.
func escape(root *template.Template, name string) error {
	t := root.Lookup(name)
	e := &escaper{root: root, edits: map[parse.Node]edit{}, called: map[callSite]result{},
		calling: map[string]bool{name: true}, tree: t.Tree}
	end, err := e.list(place{kind: start, lineStart: true}, t.Root)
	if err != nil {
		return err
	}
	if end.kind == double || end.kind == single {
		return &manifest.Error{File: name, Msg: "a quoted text of the template does not end"}
	}
	for _, n := range e.order {
		e.edits[n].apply(n)
	}
	return nil
}

func (e *escaper) edit(n parse.Node, x edit) error {
	if old, ok := e.edits[n]; ok && old != x {
		return e.errorf(n, "", "it stands at different places of the YAML in one loop")
	}
	if _, ok := e.edits[n]; !ok {
		e.order = append(e.order, n)
	}
	e.edits[n] = x
	return nil
}

// errorf names the line of a node, and the node.
func (e *escaper) errorf(n parse.Node, hint, format string, args ...any) error {
	location, context := e.tree.ErrorContext(n)
	file, rest, _ := strings.Cut(location, ":")
	line, _, _ := strings.Cut(rest, ":")
	out := &manifest.Error{File: file, Msg: fmt.Sprintf(format, args...), Tip: hint}
	if n.Type() != parse.NodeText {
		action, _, _ := strings.Cut(context, "}}")
		out.Msg = action + "}}: " + out.Msg
	}
	out.Line, _ = strconv.Atoi(line)
	return out
}

func (e *escaper) list(p place, l *parse.ListNode) (place, error) {
	if l == nil {
		return p, nil
	}
	var err error
	for i, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			var end place
			if end, err = p.read(string(n.Text)); err != nil {
				err = e.mixed(l.Nodes[:i], n, err)
			}
			p = end
		case *parse.ActionNode:
			var prev, next parse.Node
			if i > 0 {
				prev = l.Nodes[i-1]
			}
			if i+1 < len(l.Nodes) {
				next = l.Nodes[i+1]
			}
			p, err = e.action(p, n, prev, next)
		case *parse.IfNode:
			p, err = e.branch(p, n, &n.BranchNode)
		case *parse.WithNode:
			p, err = e.branch(p, n, &n.BranchNode)
		case *parse.RangeNode:
			p, err = e.loop(p, n)
		case *parse.BreakNode, *parse.ContinueNode:
			last := len(e.loops) - 1
			e.loops[last] = append(e.loops[last], p)
		case *parse.TemplateNode:
			p, err = e.call(p, n)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// mixed returns an error about text that follows an action.
func (e *escaper) mixed(before []parse.Node, text *parse.TextNode, cause error) error {
	var n parse.Node = text
	if len(before) > 0 {
		n = before[len(before)-1]
	}
	return e.errorf(n, mixHint, "%v", cause)
}

const mixHint = `put the whole in double quotes, as in "{{ .Name }}-x", ` +
	`or into one action, as in {{ printf "%s-x" .Name }}`

func (e *escaper) branch(p place, n parse.Node, b *parse.BranchNode) (place, error) {
	first, err := e.list(p, b.List)
	if err != nil {
		return p, err
	}
	second, err := e.list(p, b.ElseList)
	if err != nil {
		return p, err
	}
	return e.join(n, first, second)
}

func (e *escaper) join(n parse.Node, p, q place) (place, error) {
	out, err := join(p, q)
	if err != nil {
		return out, e.errorf(n, "let each branch have whole lines", "%v", err)
	}
	return out, nil
}

// loop reads the body of a range a second time, from where its first turn ends.
func (e *escaper) loop(p place, n *parse.RangeNode) (place, error) {
	out := p
	for range 2 {
		e.loops = append(e.loops, nil)
		end, err := e.list(out, n.List)
		if err != nil {
			return p, err
		}
		last := len(e.loops) - 1
		ends := append(e.loops[last], end)
		e.loops = e.loops[:last]
		for _, q := range ends {
			if out, err = e.join(n, out, q); err != nil {
				return p, err
			}
		}
	}
	other, err := e.list(p, n.ElseList)
	if err != nil {
		return p, err
	}
	if n.ElseList == nil {
		return out, nil
	}
	return e.join(n, out, other)
}

// call makes a copy of a called template for the place of the call.
func (e *escaper) call(p place, n *parse.TemplateNode) (place, error) {
	t := e.root.Lookup(n.Name)
	if t == nil || t.Tree == nil {
		return p, e.errorf(n, "", "template %q not defined", n.Name)
	}
	if e.calling[n.Name] {
		return p, e.errorf(n, "", "template %q calls itself", n.Name)
	}
	key := callSite{n.Name, p}
	done, ok := e.called[key]
	if !ok {
		tree := e.tree
		e.tree = t.Copy()
		e.calling[n.Name] = true
		end, err := e.list(p, e.tree.Root)
		if err != nil {
			return p, err
		}
		done = result{fmt.Sprintf("%s in %s (%d)", n.Name, tree.ParseName, len(e.called)), end}
		if _, err := e.root.AddParseTree(done.name, e.tree); err != nil {
			return p, err
		}
		delete(e.calling, n.Name)
		e.tree, e.called[key] = tree, done
	}
	return done.end, e.edit(n, edit{name: done.name})
}

// action chooses the encoder of an action, and returns the place behind it.
func (e *escaper) action(p place, n *parse.ActionNode, prev, next parse.Node) (place, error) {
	if len(n.Pipe.Decl) > 0 {
		return p, nil // it prints nothing
	}
	last := lastFunction(n.Pipe)
	if last == "yaml" && (p.kind != start || !p.afterKey || p.flow > 0) {
		return p, e.errorf(n, `write it as in labels: {{ .Labels }}`,
			"yaml prints what stands behind a key on a line of its own")
	}
	switch p.kind {
	case double:
		return p, e.edit(n, edit{encoder: encodeDouble, indent: -1})
	case single:
		return p, e.edit(n, edit{encoder: encodeSingle, indent: -1})
	case comment:
		return p, e.edit(n, edit{encoder: encodeText, indent: -1})
	case header, block:
		return p, e.errorf(n, `write it as in key: {{ .Text }}: a text of several lines is quoted`,
			"it stands inside a block text")
	case plain, done, inserted:
		return p, e.errorf(n, mixHint, "it follows other text on its line")
	}
	if p.goesOn() {
		return p, e.errorf(n, mixHint, "it follows the text of the line before")
	}
	x, err := e.atStart(p, n, prev, next)
	if err != nil {
		return p, err
	}
	p.kind, p.lineStart, p.continues = done, false, false
	if x.encoder == encodeValue || last == "yaml" {
		p.kind = inserted
	}
	if x.encoder == "" {
		return p, nil
	}
	return p, e.edit(n, x)
}

// atStart chooses the encoder where a scalar may begin; none if the action is encoded already.
func (e *escaper) atStart(p place, n *parse.ActionNode, prev, next parse.Node) (edit, error) {
	switch lastFunction(n.Pipe) {
	case "yaml":
		return edit{}, e.checkYAML(p, n)
	case "toJson", "mustToJson", "toRawJson", "mustToRawJson":
		return edit{}, nil
	case "quote", "squote":
		return edit{encoder: encodeQuoted, indent: -1}, nil
	}
	text := ""
	if t, ok := next.(*parse.TextNode); ok {
		text = string(t.Text)
	}
	switch {
	case p.flow > 0:
		return edit{encoder: encodeFlow, indent: -1}, nil
	case strings.HasPrefix(text, ":") && endsKey(text[1:], false):
		return edit{encoder: encodeKey, indent: p.column}, nil
	case !p.afterKey || !endsLine(text):
		return edit{encoder: encodeText, indent: -1}, nil
	case p.tight:
		return edit{encoder: encodeValue, indent: p.indent + 2}, nil
	}
	if t, ok := prev.(*parse.TextNode); ok && strings.HasSuffix(strings.TrimRight(string(t.Text), " "), ":") {
		return edit{encoder: encodeValue, indent: p.indent + 2}, e.edit(t, edit{trim: true})
	}
	return edit{encoder: encodeText, indent: -1}, nil
}

func endsLine(text string) bool {
	return text == "" || text[0] == '\n'
}

// checkYAML checks the indentation that a template gives to the function yaml: with too little a value's keys would
// become its neighbours.
func (e *escaper) checkYAML(p place, n *parse.ActionNode) error {
	want := p.indent + 2
	command := n.Pipe.Cmds[len(n.Pipe.Cmds)-1]
	if len(command.Args) > 1 {
		if x, ok := command.Args[1].(*parse.NumberNode); ok && x.IsInt && x.Int64 >= int64(want) {
			return nil
		}
	}
	hint := fmt.Sprintf("write yaml %d, or leave yaml out, as in labels: {{ .Labels }}", want)
	return e.errorf(n, hint, "the indentation must be a number, at least %d here", want)
}

// lastFunction names the function that the last command of a pipeline calls.
func lastFunction(p *parse.PipeNode) string {
	if id, ok := p.Cmds[len(p.Cmds)-1].Args[0].(*parse.IdentifierNode); ok {
		return id.Ident
	}
	return ""
}

func (x edit) apply(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		n.Text = []byte(strings.TrimRight(string(n.Text), " "))
	case *parse.TemplateNode:
		n.Name = x.name
	case *parse.ActionNode:
		x.encode(n.Pipe)
	}
}

// encode calls the encoder: in place of str, around a single operand, or as the last command of a pipeline.
func (x edit) encode(p *parse.PipeNode) {
	last := p.Cmds[len(p.Cmds)-1]
	function := []parse.Node{parse.NewIdentifier(x.encoder).SetPos(last.Pos)}
	if x.indent >= 0 {
		function = append(function, &parse.NumberNode{NodeType: parse.NodeNumber, Pos: last.Pos, IsInt: true,
			Int64: int64(x.indent), Text: strconv.Itoa(x.indent)})
	}
	name := lastFunction(p)
	quotes := x.encoder == encodeQuoted
	_, called := last.Args[0].(*parse.IdentifierNode)
	switch {
	case name == "str" || quotes:
		last.Args = append(function, last.Args[1:]...)
	case len(p.Cmds) == 1 && len(last.Args) == 1 && !called:
		last.Args = append(function, last.Args[0])
	default:
		p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: last.Pos, Args: function})
	}
}
