package manifest

import "go.yaml.in/yaml/v3"

// renumber sets the lines that nodes have moved to: those of the first lines, and others by which all later ones
// have moved.
func renumber(n *yaml.Node, moved []int, later int) {
	if n.Line > len(moved) {
		n.Line += later
	} else if n.Line > 0 {
		n.Line = moved[n.Line-1]
	}
	for _, c := range n.Content {
		renumber(c, moved, later)
	}
}

// moveToFirstKey sets the line of block mappings to that of their first key, which may be a new one.
func moveToFirstKey(n *yaml.Node) {
	for _, c := range n.Content {
		moveToFirstKey(c)
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
		n.Line = n.Content[0].Line
	}
}

// copyTree copies a tree without aliases.
func copyTree(n *yaml.Node) *yaml.Node {
	size := treeSize(n)
	c := copier{make([]yaml.Node, size), make([]*yaml.Node, size-1)}
	return c.copy(n)
}

func treeSize(n *yaml.Node) int {
	size := 1
	for _, c := range n.Content {
		size += treeSize(c)
	}
	return size
}

// copier has the memory for a tree.
type copier struct {
	nodes []yaml.Node
	links []*yaml.Node
}

func (c *copier) copy(n *yaml.Node) *yaml.Node {
	to := &c.nodes[0]
	c.nodes = c.nodes[1:]
	*to = *n
	if k := len(n.Content); k > 0 {
		to.Content = c.links[:k:k] // an append makes a copy
		c.links = c.links[k:]
		for i, x := range n.Content {
			to.Content[i] = c.copy(x)
		}
	}
	return to
}
