package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/templates"
)

// Tree is what is laid out: the objects of one or more operators.
type Tree struct {
	Objects   []generate.Shared // in the order in which they can be applied
	Operators []Operator        // what the indices of Shared mean
	// Namespace is left out of file names. Empty, all have theirs, so that no name depends on which operators there are.
	Namespace string
	Templates *templates.Set
	HelmCRDs  helm.CRDs // where a chart has the CRDs; default: among its templates
}

// Operator is an operator of a tree.
type Operator struct {
	Name    string // unique in the tree; the package name, if nothing else is asked for
	Channel string // of its package; may be empty
	*generate.Result
}

// One gives the tree of a single operator.
func One(o Operator, t *templates.Set) Tree {
	tree := Tree{Operators: []Operator{o}, Namespace: o.Namespace, Templates: t}
	for _, x := range o.Objects {
		tree.Objects = append(tree.Objects, generate.Shared{Object: x, Operators: []int{0}})
	}
	return tree
}

// Layout says where the objects of a tree go.
type Layout string

// The layouts.
const (
	LayoutFlat Layout = "flat"
	LayoutHelm Layout = "helm"
)

// Layouts are all layouts.
var Layouts = []Layout{LayoutFlat, LayoutHelm}

var layouts = map[Layout]func(Tree) (Files, error){
	LayoutFlat: Tree.flat,
	LayoutHelm: Tree.helm,
}

// Files lays out a tree. The files depend on nothing but the tree. Adding an operator to a tree that has no Namespace, or removing one, changes no file of
// the others, but for those that list files.
func (t Tree) Files(l Layout) (Files, error) {
	layout, ok := layouts[l]
	if !ok {
		return nil, fmt.Errorf("no layout %q", string(l))
	}
	return layout(t)
}

// flat puts one object in a file, all in one directory, with a kustomization.yaml that lists them in the order of application. A file is
// called <kind>_<name>.yaml, one outside the tree's namespace <kind>_<namespace>_<name>.yaml; a kind of an API group that is not
// Kubernetes' or OLM's own is written <kind>.<group>.
func (t Tree) flat() (Files, error) {
	var files Files
	var names []string
	for i, name := range t.names() {
		names = append(names, name)
		files = append(files, File{name, t.Objects[i].Data})
	}
	kustomization, err := t.kustomization(names)
	if err != nil {
		return nil, err
	}
	return append(files, File{kustomizationName, kustomization}), nil
}

// kustomization prints a kustomization.yaml with the resources.
func (t Tree) kustomization(resources []string) ([]byte, error) {
	return t.Templates.Execute(kustomizationName, struct{ Resources []string }{resources})
}

// names gives each object a file name of its own.
func (t Tree) names() []string {
	names := make([]string, len(t.Objects))
	count := map[string]int{}
	for i, o := range t.Objects {
		names[i] = stem(o.Object, t.Namespace)
		count[strings.ToLower(names[i])]++
	}
	for i, o := range t.Objects {
		if count[strings.ToLower(names[i])] > 1 { // names that differ in case, or a label that two objects share
			names[i] += "_" + short(o.Kind+o.Group()+o.Namespace+"/"+o.Name)
		}
		names[i] += ".yaml"
	}
	return names
}

// plainGroups are the API groups whose kinds are known by their name alone.
var plainGroups = map[string]bool{
	"": true, "apps": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "admissionregistration.k8s.io": true,
	"networking.k8s.io": true, "operators.coreos.com": true, "policy": true, "rbac.authorization.k8s.io": true, "scheduling.k8s.io": true,
}

func stem(o generate.Object, operatorNamespace string) string {
	kind := strings.ToLower(o.Kind)
	if g := o.Group(); !plainGroups[g] {
		kind += "." + g
	}
	name := o.Name
	if o.Label != "" {
		name = o.Label
	}
	if o.Namespace != "" && o.Namespace != operatorNamespace {
		name = o.Namespace + "_" + escape(name)
	} else {
		name = escape(name)
	}
	s := kind + "_" + name
	if len(s) > 200 {
		s = s[:180] + "_" + short(s)
	}
	return s
}

// escape keeps what every file system takes and writes the rest as _ and two hexadecimal digits.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
