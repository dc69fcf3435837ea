package krm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// deepest is how deep the values of a package of manifests may be.
const deepest = 250

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
	b := budget.Of(budget.Function)
	limits := manifest.Limits{FileBytes: budget.Int(b.Bytes), ObjectBytes: -1, Depth: deepest,
		Nodes: budget.Int(b.Values)}
	data, err := io.ReadAll(io.LimitReader(r, int64(limits.FileBytes)+1))
	if err != nil {
		return nil, err
	}
	docs, err := manifest.ReadFile("stdin", data, limits)
	if err != nil {
		return nil, err
	}
	docs = manifest.Written(docs)
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

// The annotations with the file of an object: those of the specification, and the older ones (kyaml: kio/kioutil).
const (
	internalPrefix = "internal.config.kubernetes.io/"
	pathKey        = internalPrefix + "path"
	indexKey       = internalPrefix + "index"
	oldPathKey     = "config.kubernetes.io/path"
	oldIndexKey    = "config.kubernetes.io/index"
)

// orchestrators reports whether a function must keep an annotation (kyaml: kio/kioutil; kustomize: plugins/utils).
func orchestrators(key string) bool {
	return strings.HasPrefix(key, internalPrefix) ||
		slices.Contains([]string{oldPathKey, oldIndexKey, "config.k8s.io/id", "kustomize.config.k8s.io/id"}, key)
}

func pathOf(n *yaml.Node) string {
	return cmp.Or(scalarAt(n, "metadata", "annotations", pathKey), scalarAt(n, "metadata", "annotations", oldPathKey))
}

type identity struct{ group, kind, namespace, name string }

func identityOf(n *yaml.Node) identity {
	return identity{manifest.GroupOf(scalarAt(n, "apiVersion")), scalarAt(n, "kind"),
		scalarAt(n, "metadata", "namespace"), scalarAt(n, "metadata", "name")}
}

// merge returns the items with the objects. An object replaces the item with its name, unless that is in the source
// of a bundle. The other objects come last, with annotations for their files.
func (l *list) merge(objects []generate.Shared, sources []string, file func(generate.Object) string) ([]*yaml.Node,
	error) {
	items := slices.Clone(l.items)
	places := map[identity][]int{}
	for i, item := range items {
		places[identityOf(item)] = append(places[identityOf(item)], i)
	}
	for _, o := range objects {
		n, err := node(o.Object)
		if err != nil {
			return nil, err
		}
		p := file(o.Object)
		same := places[identity{o.Group(), o.Kind, o.Namespace, o.Name}]
		at := slices.IndexFunc(same, func(i int) bool {
			found := pathOf(items[i])
			return found == p || !slices.ContainsFunc(sources, func(dir string) bool {
				return found != "" && (dir == "." || found == dir || strings.HasPrefix(found, dir+"/"))
			})
		})
		if at >= 0 {
			i := same[at]
			annotations := yamltext.Child(yamltext.Child(items[i], "metadata"), "annotations")
			for k := 0; annotations != nil && k+1 < len(annotations.Content); k += 2 {
				if key := annotations.Content[k].Value; orchestrators(key) {
					annotate(n, key, annotations.Content[k+1].Value)
				}
			}
			items[i] = n
			continue
		}
		annotate(n, oldIndexKey, "0")
		annotate(n, oldPathKey, p)
		annotate(n, indexKey, "0")
		annotate(n, pathKey, p)
		items = append(items, n)
	}
	return items, nil
}

func node(o generate.Object) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(o.Data, &doc); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
	}
	if len(doc.Content) != 1 || yamltext.Child(doc.Content[0], "metadata") == nil {
		return nil, fmt.Errorf("%s %s: not an object", o.Kind, o.Name)
	}
	n := doc.Content[0]
	n.HeadComment = cmp.Or(n.HeadComment, doc.HeadComment)
	return n, nil
}

func annotate(n *yaml.Node, key, value string) {
	meta := yamltext.Child(n, "metadata")
	annotations := yamltext.Child(meta, "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		annotations = &yaml.Node{Kind: yaml.MappingNode}
		set(meta, "annotations", annotations)
	}
	if len(annotations.Content) == 0 {
		annotations.Style = 0
	}
	set(annotations, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
}
