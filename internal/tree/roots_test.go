package tree_test

import (
	"flag"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/tree"
)

var update = flag.Bool("update", false, "write what is expected in testdata anew")

// Each archive is a tree; its comment ends with the options to read it with. Its part want says what is applied.
func TestRoots(t *testing.T) {
	golden.EachArchive(t, "testdata/roots/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		files(t, string(txtar.Format(&txtar.Archive{Files: a.Files})))
		o, paths := tree.Options{}, []string{}
		lines := strings.Split(strings.TrimSpace(string(a.Comment)), "\n")
		for _, word := range strings.Fields(lines[len(lines)-1])[1:] {
			flag, value, _ := strings.Cut(word, "=")
			switch flag {
			case "all":
				o.All = true
			case "plain":
				o.Plain = true
			case "exclude":
				o.Exclude = append(o.Exclude, value)
			case "cluster":
				o.Clusters = append(o.Clusters, value)
			default:
				paths = append(paths, word)
			}
		}
		got, err := tree.Read(t.Context(), paths, o)
		if err != nil {
			t.Fatal(err)
		}
		golden.CheckArchived(t, file, a, "want", []byte(describe(got)), *update)
		if len(paths) != 1 || len(o.Clusters) > 0 { // these are names of directories
			return
		}
		const revision = "origin/main:"
		o.Named = func(rel string) string { return revision + path.Join(paths[0], rel) }
		ofGit, err := tree.Read(t.Context(), paths, o)
		if err != nil {
			t.Fatal(err)
		}
		if want, is := describe(got), strings.ReplaceAll(describe(ofGit), revision, ""); is != want {
			t.Errorf("of a Git revision: %s", cmp.Diff(want, is))
		}
	})
}

func describe(t *tree.Tree) string {
	var b strings.Builder
	for _, r := range t.Roots {
		fmt.Fprintf(&b, "root %s of %s\n", r.Name, r.Cluster)
		if r.Unknown != nil {
			fmt.Fprintf(&b, "  unknown: %s\n", r.Unknown)
		}
		for _, o := range r.Objects {
			fmt.Fprintf(&b, "  %s:%d %s\n", o.File, o.Line, o.Identity())
			for _, field := range []string{"spec.channel", "spec.targetNamespaces", "metadata.namespace"} {
				file, line := o.PlaceOf(field)
				if v, err := o.Get(strings.Split(field, ".")...); err == nil && v != nil && file != o.File {
					fmt.Fprintf(&b, "    %s: %v by %s:%d\n", field, v, file, line)
				}
			}
		}
	}
	for _, c := range t.Clusters(nil) {
		fmt.Fprintf(&b, "cluster %s (%s): %d\n", c.Name, c.Rel, c.Roots)
	}
	if len(t.Clusters(nil)) > 1 {
		b.WriteString(t.ClustersText())
	}
	b.WriteString("\n")
	for _, file := range t.Unapplied {
		fmt.Fprintf(&b, "not applied: %s\n", file)
	}
	for _, e := range t.Templated {
		fmt.Fprintf(&b, "template: %s\n", e)
	}
	for _, f := range t.Faults {
		fmt.Fprintf(&b, "fault: %s\n", f)
	}
	return b.String()
}

// Clusters have one key if they have the same objects, in files of the same names.
func TestClusterKey(t *testing.T) {
	const cluster = "-- NAME/kustomization.yaml --\nresources: [../../base, own.yaml]\n-- NAME/own.yaml --\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {x: \"1\"}\n"
	at := func(name string, change ...string) string {
		return strings.NewReplacer(append(change, "NAME", name)...).Replace(cluster)
	}
	files(t, "-- base/kustomization.yaml --\nresources: [base.yaml]\n-- base/base.yaml --\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"+
		at("clusters/a")+at("clusters/b")+at("clusters/value", `"1"`, `"2"`)+at("clusters/file", "own.yaml", "other.yaml")+
		at("clusters/less", "../../base, ", ""))
	read, err := tree.Read(t.Context(), []string{"clusters"}, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, c := range read.Clusters(nil) {
		keys[filepath.Base(c.Name)] = fmt.Sprintf("%x", c.Key())
	}
	if len(keys) != 5 || keys["a"] != keys["b"] {
		t.Errorf("of equal clusters: %v", keys)
	}
	for _, name := range []string{"value", "file", "less"} {
		if keys[name] == keys["a"] || keys[name] == "" {
			t.Errorf("%s has the key of another cluster", name)
		}
	}
}
