package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/manifest"
)

// Append returns a RenderConfig with more bundles. A bundle goes to the group of the namespace that it suggests, or to
// a new group. Groups go before the first one of a greater namespace and name, bundles before the first one of a
// greater source and package: two branches that add operators seldom change the same lines. The text is not touched
// otherwise. name stands for the file in errors.
func Append(name string, data []byte, bundles []InitBundle) ([]byte, error) {
	c, err := Read(name, data)
	if err != nil {
		return nil, err
	}
	for _, b := range bundles {
		if place := c.placeOfSource(b); place != "" {
			return nil, c.errorf(place, "leave it out", "%s is there already", b.Source)
		}
	}
	groups, err := groupsOf(bundles)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(groups, func(a, b *initGroup) int { return a.compare(b.Namespace, b.Name) })
	text := newText(data)
	list, err := text.list(c, "groups")
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := text.add(c, g, list); err != nil {
			return nil, err
		}
	}
	out := text.bytes()
	after, err := Read(name, out)
	if err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	if after.count() != c.count()+len(bundles) {
		return nil,
			&manifest.Error{File: name, Msg: "bundles can't be added to this file", Tip: "add them with an editor"}
	}
	return out, nil
}

// placeOfSource returns the place of a bundle with the same source and choice; empty if there is none.
func (c *Config) placeOfSource(b InitBundle) string {
	for i, g := range c.Groups {
		for j, x := range g.Bundles {
			if filepath.Clean(x.Source) == filepath.Clean(b.Source) && x.Package == b.Chosen.Package &&
				x.Channel == b.Chosen.Channel && x.Version == b.Chosen.Version {
				return at(i, j, "")
			}
		}
	}
	return ""
}

func (c *Config) count() (n int) {
	for _, g := range c.Groups {
		n += len(g.Bundles)
	}
	return n
}

// editedText is a YAML file that lines are added to.
type editedText struct {
	lines []string
	root  yaml.Node
	end   string         // of a line
	added map[int]string // text before a line, by its index
}

func newText(data []byte) *editedText {
	t := &editedText{end: "\n", added: map[int]string{}}
	if strings.Contains(string(data), "\r\n") {
		t.end = "\r\n"
	}
	_ = yaml.Unmarshal(data, &t.root) // it was read before
	t.lines = strings.SplitAfter(string(data), "\n")
	if last := len(t.lines) - 1; t.lines[last] == "" {
		t.lines = t.lines[:last]
	} else {
		t.lines[last] += t.end
	}
	return t
}

// list returns a list that lines can be added to.
func (t *editedText) list(c *Config, path ...any) (*yaml.Node, error) {
	n := t.root.Content[0]
	for _, step := range path {
		switch x := step.(type) {
		case string:
			for i := 0; i < len(n.Content); i += 2 {
				if n.Content[i].Value == x {
					n = n.Content[i+1]
					break
				}
			}
		case int:
			n = n.Content[x]
		}
	}
	if n.Kind != yaml.SequenceNode || n.Style&yaml.FlowStyle != 0 {
		return nil, c.errorf("groups", "write groups and bundles as lists with a line for each item, or use an editor",
			"nothing can be added to a list in [brackets] or an alias")
	}
	return n, nil
}

// add adds the bundles of a group to the group of its namespace, or as a group.
func (t *editedText) add(c *Config, g *initGroup, groups *yaml.Node) error {
	i := slices.IndexFunc(c.Groups, func(x Group) bool { return x.Namespace == g.Namespace })
	if i < 0 {
		if err := g.scope(); err != nil {
			return err
		}
		text, err := initPart("group", g, false)
		next := slices.IndexFunc(c.Groups, func(x Group) bool { return g.compare(x.Namespace, x.Name) < 0 })
		t.insert(groups, next, text, 0)
		return err
	}
	bundles, err := t.list(c, "groups", i, "bundles")
	if err != nil {
		return err
	}
	slices.SortStableFunc(g.Bundles, func(a, b initBundle) int { return a.compare(b.Source, b.Package) })
	for _, b := range g.Bundles {
		text, err := initPart("bundle", b, false)
		if err != nil {
			return err
		}
		next := slices.IndexFunc(c.Groups[i].Bundles, func(x Bundle) bool { return b.compare(x.Source, x.Package) < 0 })
		t.insert(bundles, next, text, 2)
	}
	return nil
}

func (g *initGroup) compare(namespace, name string) int {
	return cmp.Or(strings.Compare(g.Namespace, namespace), strings.Compare(g.Name, name))
}

func (b initBundle) compare(source, pkg string) int {
	return cmp.Or(strings.Compare(b.Source, source), strings.Compare(b.Package, pkg))
}

// insert adds text to a list: before the item of that index and the comment above it, or to the end if next is
// negative. In the text, items are indented by the given number of blanks.
func (t *editedText) insert(list *yaml.Node, next int, text string, indented int) {
	indent := list.Column - 1
	at := len(t.lines)
	switch line := after(&t.root, list); {
	case next >= 0:
		at = list.Content[next].Line - 1
		for at > 0 && strings.HasPrefix(strings.TrimSpace(t.lines[at-1]), "#") {
			at--
		}
	case line > 0:
		at = line - 1
	}
	for next < 0 && at > 0 && t.outside(at-1, indent) {
		at--
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		t.added[at] += strings.Repeat(" ", indent) + strings.TrimPrefix(line, strings.Repeat(" ", indented)) + t.end
	}
}

// outside reports whether a line is empty, or a comment that does not belong to an item of a list with this
// indentation.
func (t *editedText) outside(line, indent int) bool {
	text := strings.TrimSpace(t.lines[line])
	blanks := len(t.lines[line]) - len(strings.TrimLeft(t.lines[line], " "))
	return text == "" || text[0] == '#' && blanks <= indent
}

func (t *editedText) bytes() []byte {
	var b strings.Builder
	for i := range len(t.lines) + 1 {
		b.WriteString(t.added[i])
		if i < len(t.lines) {
			b.WriteString(t.lines[i])
		}
	}
	return []byte(b.String())
}

// after returns the line of the first node that follows one in the document; 0 if there is none.
func after(root, of *yaml.Node) (line int) {
	found := false
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		switch {
		case line > 0:
			return
		case n == of:
			found = true
			return
		case found:
			line = n.Line
			return
		}
		for _, x := range n.Content {
			walk(x)
		}
	}
	walk(root)
	return line
}
