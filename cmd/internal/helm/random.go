package helm

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// fixed are the functions whose value is another one each time, and what takes their place: the function coalesce, which
// takes any arguments, with a value of the same type; the least number that randInt may be; a day of no meaning. A text
// of letters and digits may be part of a name, and is base64.
var fixed = func() map[string]string {
	const text, certificate = `coalesce "unknown0"`, `coalesce (dict "Cert" "unknown0" "Key" "unknown0")`
	out := map[string]string{"now": `toDate "2006-01-02" "2000-01-01"`, "randInt": "min", "randNumeric": `coalesce "0"`}
	for _, name := range []string{"randAlpha", "randAlphaNum", "randAscii", "randBytes", "uuidv4", "shuffle", "bcrypt",
		"htpasswd", "encryptAES", "genPrivateKey", "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone", "ago",
		"durationRound"} {
		out[name] = text
	}
	for _, name := range []string{"genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey"} {
		out[name] = certificate
	}
	return out
}()

// fix gives what is random or of the clock a fixed value, in the templates of a chart and in what they may read as one:
// files and values. It returns the templates that have it, by their paths below the chart.
func fix(c *chart.Chart, values map[string]any) (random []string) {
	for _, f := range slices.Concat(c.Templates, c.Files) {
		text, changed := fixText(string(f.Data))
		if f.Data = []byte(text); changed {
			_, below, _ := strings.Cut(path.Join(c.ChartFullPath(), f.Name), "/")
			random = append(random, below)
		}
	}
	if fixValues(c.Values) || fixValues(values) {
		random = append(random, "values.yaml")
	}
	for _, d := range c.Dependencies() {
		random = append(random, fix(d, nil)...)
	}
	return lists.SortedUnique(random)
}

// fixText changes names in the text of a template, and nothing else: messages of helm have lines and columns.
func fixText(text string) (out string, changed bool) {
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
		as := fixed[c.name]
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

// fixValues changes the texts of values, which the function tpl reads as templates.
func fixValues(v any) (changed bool) {
	fixOne := func(v any, set func(string)) {
		if s, ok := v.(string); ok {
			text, is := fixText(s)
			if is {
				set(text)
			}
			changed = changed || is
		} else {
			changed = fixValues(v) || changed
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			fixOne(below, func(s string) { v[key] = s })
		}
	case []any:
		for i, below := range v {
			fixOne(below, func(s string) { v[i] = s })
		}
	}
	return changed
}
