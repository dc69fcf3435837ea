package apply

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Tree is what is applied together, in this order.
type Tree struct {
	Name    string
	Path    string // of a golden tree: a file with all objects, or a directory with a kustomization.yaml
	Objects []*unstructured.Unstructured
}

// id names an object whatever its version.
type id struct{ group, kind, namespace, name string }

func idOf(o *unstructured.Unstructured) id {
	return id{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}
}

func (i id) String() string { return fmt.Sprintf("%s %s/%s", i.kind, i.namespace, i.name) }

// Name is the kind, the API group, the namespace and the name of an object.
func Name(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
}

// Without returns the tree without the objects that another tree has as well.
func (t Tree) Without(other Tree) Tree {
	has := map[id]bool{}
	for _, o := range other.Objects {
		has[idOf(o)] = true
	}
	objects := slices.Clone(t.Objects)
	return Tree{t.Name, t.Path,
		slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return has[idOf(o)] })}
}

// Only returns the tree with the objects that were applied.
func (t Tree) Only(r Result) Tree {
	objects := slices.Clone(t.Objects)
	return Tree{t.Name, t.Path,
		slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !r.ids[idOf(o)] })}
}

// GoldenTrees reads the golden files of every variant: a stream in its order, a directory in the order of its
// kustomization.yaml.
func GoldenTrees(golden string) (trees []Tree, err error) {
	streams, err := filepath.Glob(filepath.Join(golden, "*", "out", "*.yaml"))
	if err != nil {
		return nil, err
	}
	lists, err := filepath.Glob(filepath.Join(golden, "*", "out", "*", "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(streams, lists...) {
		t := Tree{Path: file}
		if filepath.Base(file) == "kustomization.yaml" {
			t.Path = filepath.Dir(file)
			t.Objects, err = readResources(file)
		} else {
			t.Objects, err = ReadStream(file)
		}
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(golden, t.Path)
		if err != nil {
			return nil, err
		}
		t.Name = filepath.ToSlash(strings.TrimSuffix(name, ".yaml"))
		trees = append(trees, t)
	}
	if len(streams) == 0 || len(lists) == 0 {
		return nil,
			fmt.Errorf("%d streams and %d directories below %s/*/out: want some of both", len(streams), len(lists),
				golden)
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Name, b.Name) })
	return trees, nil
}

// readResources reads the objects that a kustomization.yaml lists.
func readResources(kustomization string) (objects []*unstructured.Unstructured, err error) {
	var k struct{ Resources []string }
	if err := readYAML(kustomization, &k); err != nil {
		return nil, err
	}
	for _, resource := range k.Resources {
		u := &unstructured.Unstructured{}
		if err := readYAML(filepath.Join(filepath.Dir(kustomization), resource), u); err != nil {
			return nil, err
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// ReadStream reads the objects of a file with several documents.
func ReadStream(file string) (objects []*unstructured.Unstructured, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(f))
	for {
		data, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		u := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(data, u)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", file, len(objects)+1, err)
		}
		objects = append(objects, u)
	}
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
	for _, pattern := range []string{"*/bundle/manifests", "live-bundles/*/manifests",
		"../examples/*/bundle/manifests"} {
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
