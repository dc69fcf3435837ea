package config

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/internal/inplace"
	"github.com/olmgen/olmgen/manifest"
)

// Change is a new value for a text field of a bundle.
type Change struct {
	Group, Bundle int
	Field         string // source or version
	Value         string
}

// Edit returns the text that c was read from with the values changed. Comments, order and formatting stay.
func (c *Config) Edit(data []byte, changes []Change) ([]byte, error) {
	out, err := inplace.Apply(c.object.File, data, lists.Map(changes, func(ch Change) inplace.Edit {
		return inplace.Edit{Object: c.object, Field: at(ch.Group, ch.Bundle, ch.Field), Value: ch.Value}
	}))
	if err != nil {
		return nil, err
	}
	if _, err := Read(c.object.File, out); err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	return out, nil
}

// Append returns a RenderConfig with more bundles. A bundle goes to the group of the namespace that it suggests, or to
// a new one. Groups go before the first of a greater namespace and name, bundles before the first of a greater source
// and package: two branches seldom change the same lines. Other text stays. name stands for the file in errors.
func Append(name string, data []byte, bundles []InitBundle) ([]byte, error) {
	c, err := Read(name, data)
	if err != nil {
		return nil, err
	}
	for _, b := range bundles {
		for i, g := range c.Groups {
			for j, x := range g.Bundles {
				if filepath.Clean(x.Source) == filepath.Clean(b.Source) && x.Package == b.Chosen.Package &&
					x.Channel == b.Chosen.Channel && x.Version == b.Chosen.Version {
					return nil, c.errorf(at(i, j, ""), "leave it out", "%s is there already", b.Source)
				}
			}
		}
	}
	groups, err := groupsOf(bundles)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(groups, func(a, b *initGroup) int { return a.compare(b.Namespace, b.Name) })
	t := editedText{Text: yamltext.NewText(data), end: bytes.Count(data, []byte("\n")) + 2}
	_ = yaml.Unmarshal(data, &t.root) // it was read before
	list, err := t.list(c, "groups")
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := t.add(c, g, list); err != nil {
			return nil, err
		}
	}
	out := t.Bytes()
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

func (c *Config) count() (n int) {
	for _, g := range c.Groups {
		n += len(g.Bundles)
	}
	return n
}

type editedText struct {
	*yamltext.Text
	root yaml.Node
	end  int // a line behind the last one
}

func (t *editedText) list(c *Config, field string) (*yaml.Node, error) {
	n := t.root.Content[0]
	for _, segment := range decoded.Segments(field) {
		n = yamltext.Child(n, segment)
	}
	if n == nil || n.Kind != yaml.SequenceNode || n.Style&yaml.FlowStyle != 0 {
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
	bundles, err := t.list(c, at(i, -1, "bundles"))
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

// insert adds text with so many blanks to a list: before an item and its comment, or at the end if next is negative.
func (t *editedText) insert(list *yaml.Node, next int, text string, indented int) {
	indent := list.Column - 1
	var line int
	if next >= 0 {
		line = list.Content[next].Line
		for line > 1 && strings.HasPrefix(strings.TrimSpace(t.Content(line-1)), "#") {
			line--
		}
	} else {
		line = cmp.Or(after(&t.root, list), t.end)
		for line > 1 && t.Outside(line-1, indent) {
			line--
		}
	}
	added := ""
	for l := range strings.Lines(text) {
		added += strings.Repeat(" ", indent) + strings.TrimPrefix(l, strings.Repeat(" ", indented))
	}
	t.Add(line, added)
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
