package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Change is a new value for a text field of a bundle.
type Change struct {
	Group, Bundle int
	Field         string // source or version
	Value         string
}

// Edit returns the text of the RenderConfig with the values changed. Comments, order and formatting stay as they are.
// data is the text that c was read from.
func (c *Config) Edit(data []byte, changes []Change) ([]byte, error) {
	root, err := firstDocument(data)
	if err != nil {
		return nil, err
	}
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	want := c.RenderConfig
	want.Groups = slices.Clone(want.Groups)
	for _, ch := range changes {
		n := writtenField(root, ch)
		if n == nil || n.Kind != yaml.ScalarNode || n.Anchor != "" {
			return nil, c.errorf(at(ch.Group, ch.Bundle, ch.Field), "change it by hand",
				"is an anchor or an alias, so another bundle may have it too")
		}
		start := offset(data, n.Line, n.Column)
		old, ok := written(data[start:], n)
		if !ok {
			return nil, c.errorf(at(ch.Group, ch.Bundle, ch.Field), "write it on one line, or change it by hand",
				"cannot be changed in place")
		}
		edits = append(edits, edit{start, start + len(old), quoteLike(old, ch.Value)})
		g := &want.Groups[ch.Group]
		g.Bundles = slices.Clone(g.Bundles)
		if b := &g.Bundles[ch.Bundle]; ch.Field == "version" {
			b.Version = ch.Value
		} else {
			b.Source = ch.Value
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	out := slices.Clone(data)
	for _, e := range edits {
		out = slices.Replace(out, e.start, e.end, []byte(e.text)...)
	}
	after, err := Read(c.object.File, out)
	if err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	if !reflect.DeepEqual(after.RenderConfig, want) {
		return nil, errors.New("the edit would change other parts of the file too: change it by hand")
	}
	return out, nil
}

// firstDocument returns the first YAML document that is not empty.
func firstDocument(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			return nil, errors.New("is empty")
		} else if err != nil {
			return nil, err
		}
		if len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode {
			return n.Content[0], nil
		}
	}
}

// writtenField returns the value of a field that is written in the bundle itself, or nil.
func writtenField(root *yaml.Node, ch Change) *yaml.Node {
	groups := nodeAt(root, "groups")
	if groups == nil || ch.Group >= len(groups.Content) {
		return nil
	}
	bundles := nodeAt(groups.Content[ch.Group], "bundles")
	if bundles == nil || ch.Bundle >= len(bundles.Content) {
		return nil
	}
	return nodeAt(bundles.Content[ch.Bundle], ch.Field)
}

func nodeAt(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// offset returns where a line and column are, which count from 1; columns count characters.
func offset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	if at == 0 && bytes.HasPrefix(data, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	for ; column > 1; column-- {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}

// written returns a scalar as it is written at the beginning of data, if it is on one line.
func written(data []byte, n *yaml.Node) (string, bool) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		data = data[:i]
	}
	text := string(data)
	switch n.Style {
	case yaml.SingleQuotedStyle:
		old := "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
		return old, strings.HasPrefix(text, old)
	case yaml.DoubleQuotedStyle:
		old := `"` + n.Value + `"`
		return old, strings.HasPrefix(text, old)
	case 0:
		return n.Value, n.Value != "" && strings.HasPrefix(text, n.Value)
	}
	return "", false
}

// quoteLike returns a value with the quotes of the old one. A plain value gets quotes if YAML would read it as
// something else than text.
func quoteLike(old, value string) string {
	single := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	switch {
	case old[0] == '\'':
		return single
	case old[0] == '"' && !strings.ContainsAny(value, `"\`):
		return `"` + value + `"`
	case old[0] == '"':
		return single
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("[ "+value+" ]"), &n); err == nil && len(n.Content) == 1 {
		list := n.Content[0].Content
		if len(list) == 1 && list[0].Kind == yaml.ScalarNode && list[0].Tag == "!!str" && list[0].Value == value {
			return value
		}
	}
	return single
}
