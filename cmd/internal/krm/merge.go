package krm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// The annotations with the file of an object: those of the specification, and the older ones (kyaml: kio/kioutil).
const (
	internalPrefix = "internal.config.kubernetes.io/"
	pathKey        = internalPrefix + "path"
	indexKey       = internalPrefix + "index"
	oldPathKey     = "config.kubernetes.io/path"
	oldIndexKey    = "config.kubernetes.io/index"
)

// orchestrators reports whether an annotation belongs to the orchestrator, so that a function must keep it (kyaml:
// kio/kioutil; kustomize: api/internal/plugins/utils).
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
func (l *list) merge(
	objects []generate.Shared, sources []string, file func(generate.Object) string,
) ([]*yaml.Node, error) {
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
		k := slices.IndexFunc(same, func(i int) bool {
			found := pathOf(items[i])
			return found == p || !slices.ContainsFunc(sources, func(dir string) bool { return below(found, dir) })
		})
		if k >= 0 {
			i := same[k]
			inherit(n, items[i])
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

func below(file, dir string) bool {
	return file != "" && (dir == "." || file == dir || strings.HasPrefix(file, dir+"/"))
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

// inherit copies the orchestrator's annotations from the item that an object replaces.
func inherit(n, old *yaml.Node) {
	annotations := yamltext.Child(yamltext.Child(old, "metadata"), "annotations")
	if annotations == nil {
		return
	}
	for i := 0; i+1 < len(annotations.Content); i += 2 {
		if key := annotations.Content[i].Value; orchestrators(key) {
			annotate(n, key, annotations.Content[i+1].Value)
		}
	}
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
