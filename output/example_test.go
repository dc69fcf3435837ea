package output_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// layOut renders the example bundle and lays its objects out as files.
func layOut(layout output.Layout) output.Files {
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Render(b, generate.Options{Profile: generate.ProfilePlain})
	if err != nil {
		log.Fatal(err)
	}
	set, err := templates.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	tree := output.SingleOperator(output.Operator{Name: b.Package, Result: result}, set)
	files, err := tree.Files(layout)
	if err != nil {
		log.Fatal(err)
	}
	return files
}

// A layout turns objects into files: paths and bytes. Nothing is written.
func ExampleTree_Files() {
	for _, f := range layOut(output.LayoutByKind) {
		if filepath.Dir(f.Path) == "deployment" || filepath.Dir(f.Path) == "." {
			fmt.Println(f.Path)
		}
	}
	// Output:
	// deployment/memcached-operator-controller-manager.yaml
	// kustomization.yaml
}

// Write files to a directory. A file that olmgen did not write is never touched.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "olmgen")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	files := layOut(output.LayoutFlat)
	for range 2 {
		r, err := output.Write(dir, files, output.WriteOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("new files:", len(r.Added) > 0, "unchanged files:", len(r.Unchanged) > 0)
	}
	// Output:
	// new files: true unchanged files: false
	// new files: false unchanged files: true
}

// Check compares a directory with what Write would make of it, and writes nothing.
func ExampleCheck() {
	dir, err := os.MkdirTemp("", "olmgen")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	files := layOut(output.LayoutFlat)
	if _, err := output.Write(dir, files, output.WriteOptions{}); err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, files[0].Path)); err != nil {
		log.Fatal(err)
	}
	differences, err := output.Check(dir, files, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range differences {
		fmt.Println(d.Path, d.State)
	}
	// Output: customresourcedefinition_memcacheds.cache.example.com.yaml missing
}

// Stream prints files as one stream of YAML documents.
func ExampleStream() {
	files := output.Files{
		{Path: "namespace_a.yaml", Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n")},
		{Path: "namespace_b.yaml", Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: b\n")},
	}
	if err := output.Stream(os.Stdout, files); err != nil {
		log.Fatal(err)
	}
	// Output:
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: a
	// ---
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: b
}
