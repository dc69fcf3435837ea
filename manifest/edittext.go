package manifest

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// setText replaces the text of a field that exists, if it stands alone at the end of a line.
func (s *splicer) setText(field, value string) bool {
	n := s.root
	for _, segment := range Segments(field) {
		next := step(n, segment)
		if next == nil || next.node.Kind == yaml.AliasNode || next.node.Anchor != "" {
			return false
		}
		n = next.node
	}
	if n.Kind != yaml.ScalarNode {
		return false
	}
	if x, err := scalar(n); err != nil {
		return false
	} else if _, ok := x.(string); !ok {
		return false
	}
	return s.replace(n, value)
}

// setTextIn replaces the text of a field of a decoded value, if the field exists.
func setTextIn(v any, field []string, value string) {
	for i, segment := range field {
		last := i == len(field)-1
		switch x := v.(type) {
		case map[string]any:
			if _, ok := x[segment].(string); ok && last {
				x[segment] = value
			}
			v = x[segment]
		case []any:
			n, err := strconv.Atoi(segment)
			if err != nil || n < 0 || n >= len(x) {
				return
			}
			if _, ok := x[n].(string); ok && last {
				x[n] = value
			}
			v = x[n]
		default:
			return
		}
	}
}
