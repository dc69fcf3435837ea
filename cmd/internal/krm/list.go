package krm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// deepest is how deep the values of a package of manifests may be.
const deepest = 250

// limits returns the limits of a whole package of manifests in one document.
func limits() manifest.Limits {
	b := budget.Of(budget.Function)
	return manifest.Limits{FileBytes: budget.Int(b.Bytes), ObjectBytes: -1, Depth: deepest,
		Nodes: budget.Int(b.Values)}
}

// versions are the versions of ResourceList that orchestrators send. The fields that olmgen uses are the same in all.
var versions = []string{"config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"}

const useRender = "kustomize or kpt start olmgen fn; use olmgen render -f to render by hand"

// list is a ResourceList. Items keep their comments.
type list struct {
	root   *yaml.Node
	items  []*yaml.Node
	config *yaml.Node // nil if there is none
}

// read reads a ResourceList. Errors are *manifest.Error.
func read(r io.Reader) (*list, error) {
	limits := limits()
	data, err := io.ReadAll(io.LimitReader(r, int64(limits.FileBytes)+1))
	if err != nil {
		return nil, err
	}
	docs, err := manifest.ReadFile("stdin", data, limits)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d *manifest.Document) bool { return d.Root == nil })
	if len(docs) != 1 {
		msg := fmt.Sprintf("%d documents instead of one ResourceList", len(docs))
		return nil, &manifest.Error{File: "stdin", Msg: msg, Tip: useRender}
	}
	d := docs[0]
	kind, version := scalarAt(d.Root, "kind"), scalarAt(d.Root, "apiVersion")
	if kind != "ResourceList" || !slices.Contains(versions, version) {
		return nil, d.Errorf("kind", "is %q of %q, not ResourceList of %s", kind, version, versions[0]).With(useRender)
	}
	l := new(list)
	if l.root, err = d.Nodes(); err != nil {
		return nil, err
	}
	left := limits.Nodes
	if err := expand(l.root, &left, 0); err != nil {
		return nil, d.Errorf("", "%v", err)
	}
	if l.config = yamltext.Child(l.root, "functionConfig"); l.config != nil && l.config.Kind != yaml.MappingNode {
		return nil, d.Errorf("functionConfig", "must be a mapping")
	}
	items := yamltext.Child(l.root, "items")
	switch {
	case items == nil || items.Kind == yaml.ScalarNode && items.Tag == "!!null":
		return l, nil
	case items.Kind != yaml.SequenceNode:
		return nil, d.Errorf("items", "must be a list")
	}
	for i, item := range items.Content {
		if item.Kind != yaml.MappingNode {
			return nil, d.Errorf(fmt.Sprintf("items[%d]", i), "must be a mapping")
		}
	}
	l.items = items.Content
	return l, nil
}

// expand replaces aliases by copies, because the item with the anchor may be replaced.
func expand(n *yaml.Node, left *int, depth int) error {
	if *left--; *left < 0 || depth > deepest {
		return errors.New("the aliases expand to too many values")
	}
	n.Anchor = ""
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			aliased := *c.Alias
			aliased.Content = slices.Clone(aliased.Content)
			aliased.HeadComment, aliased.LineComment, aliased.FootComment = c.HeadComment, c.LineComment, c.FootComment
			c = &aliased
			n.Content[i] = c
		}
		if err := expand(c, left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// write prints the list with the items and results. If it fails before writing, nothing is written.
func (l *list) write(w io.Writer, items []*yaml.Node, results []Result) error {
	root := *l.root
	root.Content = slices.Clone(root.Content)
	root.Style = 0
	set(&root, "items", &yaml.Node{Kind: yaml.SequenceNode, Content: items})
	remove(&root, "results")
	if len(results) > 0 {
		var n yaml.Node
		if err := n.Encode(results); err != nil {
			return err
		}
		set(&root, "results", &n)
	}
	unfold(&root)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := errors.Join(e.Encode(&root), e.Close()); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// unfold makes a folded text (">") a literal one ("|") if the encoder would change its value, as with an indented line.
func unfold(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.FoldedStyle != 0 {
		var again string
		data, err := yaml.Marshal(n)
		if err == nil {
			err = yaml.Unmarshal(data, &again)
		}
		if err != nil || again != n.Value {
			n.Style = n.Style&^yaml.FoldedStyle | yaml.LiteralStyle
		}
	}
	for _, c := range n.Content {
		unfold(c)
	}
}

// scalarAt returns the scalar at a path of keys, or "".
func scalarAt(n *yaml.Node, path ...string) string {
	for _, key := range path {
		n = yamltext.Child(n, key)
	}
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func set(n *yaml.Node, key string, value *yaml.Node) {
	if i := yamltext.Key(n, key); i >= 0 {
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func remove(n *yaml.Node, key string) {
	for i := yamltext.Key(n, key); i >= 0; i = yamltext.Key(n, key) {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}
