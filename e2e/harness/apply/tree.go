package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Tree is what is applied together, in this order.
type Tree struct {
	Name    string
	Objects []*unstructured.Unstructured
}

// id names an object whatever its version.
type id struct{ group, kind, namespace, name string }

func idOf(o *unstructured.Unstructured) id {
	return id{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}
}

func (i id) String() string { return fmt.Sprintf("%s %s/%s", i.kind, i.namespace, i.name) }

// Without gives the tree without the objects that another tree has as well.
func (t Tree) Without(other Tree) Tree {
	has := map[id]bool{}
	for _, o := range other.Objects {
		has[idOf(o)] = true
	}
	objects := slices.Clone(t.Objects)
	return Tree{t.Name, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return has[idOf(o)] })}
}

// GoldenTrees reads every tree below golden/*/out, in the order of its kustomization.yaml.
func GoldenTrees(golden string) (trees []Tree, err error) {
	for _, pattern := range []string{"*/out/kustomization.yaml", "*/out/*/kustomization.yaml"} {
		files, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, _ := filepath.Rel(golden, filepath.Dir(file))
			t := Tree{Name: name}
			var k struct{ Resources []string }
			if err := readYAML(file, &k); err != nil {
				return nil, err
			}
			for _, resource := range k.Resources {
				u := &unstructured.Unstructured{}
				if err := readYAML(filepath.Join(filepath.Dir(file), resource), u); err != nil {
					return nil, err
				}
				t.Objects = append(t.Objects, u)
			}
			trees = append(trees, t)
		}
	}
	if len(trees) == 0 {
		return nil, fmt.Errorf("no trees below %s", golden)
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Name, b.Name) })
	return trees, nil
}

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// OwnBundles are the directories of the repository's own bundles.
func OwnBundles(golden string) (dirs []string, err error) {
	for _, pattern := range []string{"*/bundle/manifests", "live-bundles/*/manifests", "../examples/*/bundle/manifests"} {
		found, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil {
			return nil, err
		}
		for _, dir := range found {
			dirs = append(dirs, filepath.Dir(dir))
		}
	}
	return dirs, nil
}
