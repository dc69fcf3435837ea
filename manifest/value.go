package manifest

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// decoder turns nodes into JSON-like values and counts what aliases multiply.
type decoder struct {
	limits       Limits
	nodes, bytes int
}

type nodeError struct {
	line int
	msg  string
}

func (e *nodeError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

func fault(n *yaml.Node, format string, args ...any) error {
	return &nodeError{n.Line, fmt.Sprintf(format, args...)}
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
		v, err := scalar(n)
		if err != nil {
			return nil, fault(n, "%v", err)
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, fault(n, "%s is not a number that JSON can hold", n.Value)
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
		return fault(n, "the document has more than %d values once its aliases are written out", d.limits.Nodes)
	case d.bytes > d.limits.FileBytes:
		return fault(n, "the document is larger than %s once its aliases are written out", mib(d.limits.FileBytes))
	case depth > d.limits.Depth:
		return fault(n, "nested deeper than %d levels", d.limits.Depth)
	}
	return nil
}

func (d *decoder) mapping(n *yaml.Node, m map[string]any, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if isMerge(k) {
			if err := d.merge(v, m, depth); err != nil {
				return err
			}
			continue
		}
		key, err := keyString(k)
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
				return fault(n, "a merge key (<<) needs a mapping or a list of mappings")
			}
			if err := d.merge(v, m, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return fault(n, "a merge key (<<) needs a mapping or a list of mappings")
}

func isMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Value == "<<" && (k.Tag == "!!merge" || k.Tag == "" || k.Style == 0)
}

// keyText returns a mapping key as it is compared with others: as JSON has it (y is true), or as written where that is
// none.
func keyText(k *yaml.Node) string {
	if k = follow(k); k.Kind == yaml.ScalarNode && k.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		if s, err := keyString(k); err == nil {
			return s
		}
	}
	return k.Value
}

// keyString returns a mapping key as JSON has it: true, numbers and such become text.
func keyString(k *yaml.Node) (string, error) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		return "", fault(k, "a mapping key must be a plain value")
	}
	if k.Style == 0 && surelyText(k.Value) {
		return k.Value, nil
	}
	v, err := scalar(k)
	if err != nil {
		return "", fault(k, "%v", err)
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		switch s := strconv.FormatFloat(v, 'g', -1, 32); s {
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return s, nil
		}
	}
	return "", fault(k, "mapping key %q is neither text, number nor boolean", k.Value)
}
