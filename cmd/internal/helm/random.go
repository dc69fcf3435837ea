package helm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// standIns are what takes the place of a function whose value is another one each time, by its name.
type standIns map[string]string

// theFirst and theOther are two of each: what has another value with the other is what a random value reaches. The
// function coalesce takes any arguments. A text of letters and digits may be part of a name, and is base64.
var theFirst, theOther = fixed("0", "2000-01-01", "min"), fixed("1", "2001-12-30", "max")

func fixed(digit, day, bound string) standIns {
	name := `"unknown` + digit + `"`
	text, certificate := "coalesce "+name, fmt.Sprintf(`coalesce (dict "Cert" %[1]s "Key" %[1]s)`, name)
	out := standIns{"now": `toDate "2006-01-02" "` + day + `"`, "randInt": bound,
		"randNumeric": `coalesce "` + digit + `"`}
	for name := range strings.FieldsSeq("randAlpha randAlphaNum randAscii randBytes uuidv4 shuffle bcrypt htpasswd " +
		"encryptAES genPrivateKey date dateInZone date_in_zone htmlDate htmlDateInZone ago durationRound") {
		out[name] = text
	}
	for name := range strings.FieldsSeq("genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey " +
		"genSignedCert genSignedCertWithKey") {
		out[name] = certificate
	}
	return out
}

// in writes them into the templates of a chart, and into what these may read as templates: files and values.
func (s standIns) in(c *chart.Chart) (changed bool) {
	for _, f := range slices.Concat(c.Templates, c.Files) {
		text, is := s.inText(string(f.Data))
		f.Data, changed = []byte(text), changed || is
	}
	changed = s.inValues(c.Values) || changed
	for _, d := range c.Dependencies() {
		changed = s.in(d) || changed
	}
	return changed
}

// inText changes names in the text of a template, and nothing else: messages of helm have lines and columns.
func (s standIns) inText(text string) (out string, changed bool) {
	if !strings.Contains(text, "{{") {
		return text, false
	}
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return text, false // helm says what is wrong with it
	}
	var found []call
	for _, t := range trees {
		found = append(found, calls(t.Root)...)
	}
	slices.SortFunc(found, func(a, b call) int { return cmp.Compare(b.at, a.at) })
	for _, c := range found {
		as := s[c.name]
		if as == "" || !strings.HasPrefix(text[c.at:], c.name) {
			continue
		}
		if c.alone {
			as = "(" + as + ")"
		}
		text, changed = text[:c.at]+as+text[c.at+len(c.name):], true
	}
	return text, changed
}

// call is the name of a function in a text.
type call struct {
	name  string
	at    int
	alone bool // it has no arguments: it is one itself
}

// calls returns the names of functions below a node.
func calls(node parse.Node) (list []call) {
	add := func(nodes ...parse.Node) {
		for _, n := range nodes {
			list = append(list, calls(n)...)
		}
	}
	branch := func(b parse.BranchNode) { add(b.Pipe, b.List, b.ElseList) }
	switch n := node.(type) {
	case *parse.IdentifierNode:
		return []call{{n.Ident, int(n.Pos), true}}
	case *parse.CommandNode:
		if add(n.Args...); n.Args[0].Type() == parse.NodeIdentifier {
			list[0].alone = false
		}
	case *parse.ListNode:
		if n != nil {
			add(n.Nodes...)
		}
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				add(c)
			}
		}
	case *parse.ChainNode:
		add(n.Node)
	case *parse.ActionNode:
		add(n.Pipe)
	case *parse.TemplateNode:
		add(n.Pipe)
	case *parse.IfNode:
		branch(n.BranchNode)
	case *parse.RangeNode:
		branch(n.BranchNode)
	case *parse.WithNode:
		branch(n.BranchNode)
	}
	return list
}

// inValues changes the texts of values, which the function tpl reads as templates.
func (s standIns) inValues(v any) (changed bool) {
	fixOne := func(v any, set func(string)) {
		if old, ok := v.(string); ok {
			text, is := s.inText(old)
			if is {
				set(text)
			}
			changed = changed || is
		} else {
			changed = s.inValues(v) || changed
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			fixOne(below, func(now string) { v[key] = now })
		}
	case []any:
		for i, below := range v {
			fixOne(below, func(now string) { v[i] = now })
		}
	}
	return changed
}
