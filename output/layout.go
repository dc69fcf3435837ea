package output

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/templates"
)

// Tree is what is laid out: the objects of one or more operators.
type Tree struct {
	Objects   []generate.Shared // in the order in which they can be applied
	Operators []Operator        // what the indices of Shared mean
	// Namespace is left out of file names. Empty, all have theirs, so that no name depends on which operators there
	// are.
	Namespace string
	Templates *templates.Set
	HelmCRDs  helm.CRDs // where a chart has the CRDs; default: among its templates
	// Change is what has been done to Objects since they were rendered, if that can be done in the same way wherever
	// the operator is; nil for nothing.
	Change func([]generate.Shared) error
}

// Operator is an operator of a tree.
type Operator struct {
	Name    string // unique in the tree; the package name, if nothing else is asked for
	Channel string // of its package; may be empty
	*generate.Result
}

// SingleOperator returns the tree of a single operator. Without templates, olmgen's own are used.
func SingleOperator(o Operator, t *templates.Set) Tree {
	o.Result = cmp.Or(o.Result, &generate.Result{})
	objects := lists.Map(o.Objects, func(x generate.Object) generate.Shared {
		return generate.Shared{Object: x, Operators: []int{0}}
	})
	return Tree{Objects: objects, Operators: []Operator{o}, Namespace: o.Namespace, Templates: t}
}

// Layout is where the objects of a tree go.
type Layout string

// The layouts.
const (
	LayoutFlat          Layout = "flat"
	LayoutByKind        Layout = "by-kind"
	LayoutGitOpsCatalog Layout = "gitops-catalog"
	LayoutClusterScope  Layout = "cluster-scope"
	LayoutHelm          Layout = "helm"
)

// Layouts are all layouts.
var Layouts = []Layout{LayoutFlat, LayoutByKind, LayoutGitOpsCatalog, LayoutClusterScope, LayoutHelm}

var layouts = map[Layout]func(Tree) (Files, error){
	LayoutFlat:          Tree.flat,
	LayoutByKind:        Tree.byKind,
	LayoutGitOpsCatalog: Tree.gitopsCatalog,
	LayoutClusterScope:  Tree.clusterScope,
	LayoutHelm:          Tree.helm,
}

// Files lays out a tree. The files depend on nothing but the tree. Adding an operator to a tree that has no Namespace,
// or removing one, changes no file of the others, but for those that list files.
func (t Tree) Files(l Layout) (Files, error) {
	layout, ok := layouts[l]
	if !ok {
		return nil, text.Unknown("layout", l, Layouts)
	}
	root, parts := t.parts()
	if err := t.checkParts(l, parts); err != nil {
		return nil, err
	}
	files, err := layout(root)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for i := range t.Operators {
		own[t.LockOf(l, i)] = true
	}
	for i, f := range files {
		if top, _, below := strings.Cut(f.Path, "/"); below && own[top] {
			files[i].Lock = top
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		objects := parts[part]
		dir := part
		namespaced := func(x generate.Shared) bool { return x.Namespace != "" }
		// The decision record wants cluster-scoped objects in cluster-scope.
		if l == LayoutClusterScope && !slices.ContainsFunc(objects, namespaced) {
			dir = clusterApp + "/" + part
		}
		more, err := t.directory(dir+"/", objects,
			unique(objects, func(o generate.Object) string { return stem(o, o.Namespace) }))
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].Lock = dir
		}
		files = append(files, more...)
	}
	return files, nil
}

// LockOf returns the directory of the lock that records an operator and its files: the operator's own where a layout
// gives it one, else "" for the tree's.
func (t Tree) LockOf(l Layout, operator int) string {
	name := segment(escape(t.Operators[operator].Name))
	switch {
	case l == LayoutGitOpsCatalog:
		return catalogDirectory(t.Operators[operator])
	case l == LayoutClusterScope, l == LayoutHelm && t.Namespace == "":
		return name
	}
	return ""
}

// parts takes out of a tree what is applied apart from the rest. In every layout each part has a directory of its own,
// and no kustomization.yaml but its own lists it.
func (t Tree) parts() (Tree, map[string][]generate.Shared) {
	parts := lists.Group(t.Objects, func(x generate.Shared) string { return x.Part })
	t.Objects = parts[""]
	delete(parts, "")
	return t, parts
}

// checkParts refuses an operator whose directory would be one of the parts'.
func (t Tree) checkParts(l Layout, parts map[string][]generate.Shared) error {
	// other layouts have no directory of the operator's name
	if l != LayoutClusterScope && (l != LayoutHelm || t.Namespace != "") {
		return nil
	}
	for _, o := range t.Operators {
		dir := segment(escape(o.Name))
		for part := range parts {
			if top, _, _ := strings.Cut(part, "/"); fold(top) == fold(dir) {
				return refuse("give the operator another name, or choose another layout",
					"%s would be in the directory %s, which is that of an administrator's bindings", o.Name, top)
			}
		}
	}
	return nil
}

// Warnings returns what a layout leaves out of a tree, and what the rules of the layout do not allow.
func (t Tree) Warnings(l Layout) []string {
	if l == LayoutClusterScope {
		return t.clusterScopeWarnings()
	}
	return nil
}

// flat puts one object in a file, all in one directory, with a kustomization.yaml that lists them in the order of
// application. A file is called <kind>_<name>.yaml, one outside the tree's namespace <kind>_<namespace>_<name>.yaml; a
// kind of an API group that is not Kubernetes' or OLM's own is written <kind>.<group>.
func (t Tree) flat() (Files, error) {
	return t.directory("", t.Objects, unique(t.Objects, func(o generate.Object) string { return stem(o, t.Namespace) }))
}

// directory puts objects into files below dir, by their paths without ".yaml", and lists them in a kustomization.yaml.
func (t Tree) directory(dir string, objects []generate.Shared, paths []string) (Files, error) {
	var files Files
	var resources []string
	for i, o := range objects {
		resources = append(resources, paths[i]+".yaml")
		files = append(files, File{Path: dir + resources[i], Data: o.Data, Object: IDOf(o.Object)})
	}
	kustomization, err := t.kustomization(resources)
	if err != nil {
		return nil, err
	}
	return append(files, File{Path: dir + kustomizationName, Data: kustomization}), nil
}

func (t Tree) kustomization(resources []string) ([]byte, error) {
	return t.Templates.Execute(kustomizationName, views.Kustomization{Resources: resources})
}

// perOperator returns the objects of each operator, shared ones included.
func (t Tree) perOperator() [][]generate.Shared {
	own := make([][]generate.Shared, len(t.Operators))
	for _, x := range t.Objects {
		for _, i := range x.Operators {
			own[i] = append(own[i], x)
		}
	}
	return own
}

func isOLM(x generate.Object, kind string) bool {
	return x.Kind == kind && x.Group() == olm.Group
}

// byKind writes <kind>/<name>.yaml for each object, or <kind>/<namespace>_<name>.yaml outside the tree's namespace.
// The kustomization.yaml at the root lists all of them in the order of application.
func (t Tree) byKind() (Files, error) {
	return t.directory("", t.Objects, unique(t.Objects, func(o generate.Object) string {
		return segment(kindPart(o)) + "/" + segment(namePart(o, t.Namespace))
	}))
}
