// Package yamltext reads and changes YAML as text: where documents, scalars and the keys of mappings are.
package yamltext

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// NodeError is what is wrong with a node.
type NodeError struct {
	Line int // of the document, 1-based
	Msg  string
}

func (e *NodeError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Fault returns a NodeError.
func Fault(n *yaml.Node, format string, args ...any) error {
	return &NodeError{n.Line, fmt.Sprintf(format, args...)}
}

// Follow resolves aliases.
func Follow(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && i < 100; i++ {
		n = n.Alias
	}
	return n
}

// Key returns the index of a key in a mapping, -1 if there is none. Of equal keys the last one counts.
func Key(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	i := len(n.Content) - 2
	for i >= 0 && KeyText(n.Content[i]) != key {
		i -= 2
	}
	return i
}

// Child returns the value of a key of a mapping, or the item of a list with an index; nil if there is none.
func Child(n *yaml.Node, segment string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	if i := Key(n, segment); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// IsMerge reports whether a key is "<<", which merges other mappings.
func IsMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Value == "<<" && (k.Tag == "!!merge" || k.Tag == "" || k.Style == 0)
}

// KeyText returns a mapping key as it is compared with others: as JSON has it (y is true), or as written.
func KeyText(k *yaml.Node) string {
	if k = Follow(k); k.Kind == yaml.ScalarNode && k.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		if s, err := KeyString(k); err == nil {
			return s
		}
	}
	return k.Value
}

// KeyString returns a mapping key as JSON has it: true, numbers and such become text.
func KeyString(k *yaml.Node) (string, error) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		return "", Fault(k, "a mapping key must be a plain value")
	}
	if k.Style == 0 && SurelyText(k.Value) {
		return k.Value, nil
	}
	v, err := Scalar(k)
	if err != nil {
		return "", Fault(k, "%v", err)
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
	return "", Fault(k, "mapping key %q is neither text, number nor boolean", k.Value)
}
