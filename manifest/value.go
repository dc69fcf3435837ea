package manifest

import (
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// decoder turns nodes into JSON-like values and counts what aliases multiply.
type decoder struct {
	limits       Limits
	nodes, bytes int
}

// value returns map[string]any, []any, string, bool, nil, int64, uint64 or float64.
func (d *decoder) value(n *yaml.Node, depth int) (any, error) {
	if err := d.count(n, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return d.value(n.Content[0], depth)
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		return m, d.mapping(n, m, depth)
	case yaml.SequenceNode:
		s := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := d.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			s[i] = v
		}
		return s, nil
	case yaml.ScalarNode:
		v, err := yamltext.Scalar(n)
		if err != nil {
			return nil, yamltext.Fault(n, "%v", err)
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, yamltext.Fault(n, "%s is not a number that JSON can hold", n.Value)
		}
		return v, nil
	}
	return nil, nil
}

// count bounds what aliases multiply: a file of 1 KB can hold a billion values, or one long text a million times.
func (d *decoder) count(n *yaml.Node, depth int) error {
	d.nodes++
	d.bytes += len(n.Value)
	switch {
	case d.nodes > d.limits.Nodes:
		return yamltext.Fault(n, "the document has more than %d values once its aliases are written out",
			d.limits.Nodes)
	case d.bytes > d.limits.FileBytes:
		return yamltext.Fault(n, "the document is larger than %s once its aliases are written out",
			mib(d.limits.FileBytes))
	case depth > d.limits.Depth:
		return yamltext.Fault(n, "nested deeper than %d levels", d.limits.Depth)
	}
	return nil
}

func (d *decoder) mapping(n *yaml.Node, m map[string]any, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if yamltext.IsMerge(k) {
			if err := d.merge(v, m, depth); err != nil {
				return err
			}
			continue
		}
		key, err := yamltext.KeyString(k)
		if err != nil {
			return err
		}
		d.bytes += len(key)
		x, err := d.value(v, depth+1)
		if err != nil {
			return err
		}
		m[key] = x
	}
	return nil
}

// merge applies "<<": where it stands, so keys after it win and keys before it lose, as in the decoder that OLM uses.
func (d *decoder) merge(n *yaml.Node, m map[string]any, depth int) error {
	if err := d.count(n, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias.Kind == yaml.MappingNode {
			return d.mapping(n.Alias, m, depth+1)
		}
	case yaml.MappingNode:
		return d.mapping(n, m, depth+1)
	case yaml.SequenceNode:
		for _, v := range slices.Backward(n.Content) {
			if v.Kind == yaml.SequenceNode {
				return yamltext.Fault(n, "a merge key (<<) needs a mapping or a list of mappings")
			}
			if err := d.merge(v, m, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return yamltext.Fault(n, "a merge key (<<) needs a mapping or a list of mappings")
}
