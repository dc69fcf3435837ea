package output

import "github.com/olmgen/olmgen/generate"

// byKind writes <kind>/<name>.yaml for each object, or <kind>/<namespace>_<name>.yaml outside the tree's namespace.
// The kustomization.yaml at the root lists all of them in the order of application.
func (t Tree) byKind() (Files, error) {
	return t.directory("", t.Objects, unique(t.Objects, func(o generate.Object) string {
		return segment(kindPart(o)) + "/" + segment(namePart(o, t.Namespace))
	}))
}
