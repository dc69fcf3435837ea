package tree_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Roots of equal files wait, and are built where another root of their cluster differs, or where they are asked for.
func TestSettle(t *testing.T) {
	files := map[string]string{}
	for _, cluster := range []string{"a", "b"} {
		for _, app := range []string{"x", "y"} {
			dir := "clusters/" + cluster + "/" + app
			files[dir+"/kustomization.yaml"] = "resources: [../../../base]\nnamePrefix: " + cluster + app + "-\n"
		}
	}
	files["base/kustomization.yaml"] = "resources: [cm.yaml]\n"
	files["base/cm.yaml"] = configMap("base", "0")
	old := writeTree(t, files)
	files["clusters/a/x/kustomization.yaml"] += "nameSuffix: -now\n"
	now := writeTree(t, files)
	a, b := readPair(t, old, now)
	for _, side := range []*tree.Tree{a, b} {
		if got := lists.Map(side.Objects, func(o *manifest.Object) string { return o.Name }); len(got) > 1 {
			t.Errorf("before it is known what differs there is %s", got)
		}
	}
	tree.Settle(a, b)
	if got := named(b.Objects); got != "ax-base-now ay-base" {
		t.Errorf("cluster a differs, and these are built: %s", got)
	}
	tree.Settle(a, b, "nothing")
	if got := named(a.Objects); got != "ax-base ay-base" {
		t.Errorf("what nobody has is asked for: %s", got)
	}
	tree.Settle(a, b, "bx-")
	if got := named(a.Objects) + ", " + named(b.Objects); got != "ax-base ay-base bx-base, "+
		"ax-base-now ay-base bx-base" {
		t.Errorf("one root is asked for: %s", got)
	}
}

// What is built of two trees that are compared is what is built of each alone, but for clusters that are equal.
func TestSettleOfRandomTrees(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		files := randomTree(r)
		old := writeTree(t, files)
		for range r.Intn(4) {
			edit(r, files)
		}
		now := writeTree(t, files)
		a, b := readPair(t, old, now)
		tree.Settle(a, b)
		wantOld, wantNow := readAlone(t, old), readAlone(t, now)
		was, is := clusters(a, b), clusters(b, a)
		wantWas, wantIs := clusters(wantOld, wantNow), clusters(wantNow, wantOld)
		if got, want := slices.Sorted(maps.Keys(is)), slices.Sorted(maps.Keys(wantIs)); !slices.Equal(got, want) {
			t.Errorf("seed %d: clusters %s, and alone %s", seed, got, want)
		}
		for name := range wantIs {
			switch equal := wantWas[name] == wantIs[name]; {
			case equal && was[name] != is[name]:
				t.Errorf("seed %d, %s is equal, and differs:\n%s\n%s", seed, name, was[name], is[name])
			case !equal && (was[name] != wantWas[name] || is[name] != wantIs[name]):
				t.Errorf("seed %d, %s:\n%s\n%s\nand alone it has\n%s\n%s", seed, name, was[name], is[name], wantWas[name],
					wantIs[name])
			}
		}
	}
}

func clusters(t, like *tree.Tree) map[string]string {
	out := map[string]string{}
	for _, c := range t.Clusters(like) {
		texts := lists.Map(c.Objects, func(o *manifest.Object) string {
			v, err := o.Value()
			file, _ := t.Rel(o.File)
			by, line := o.PlaceOf("metadata.name")
			by, _ = t.Rel(by)
			return fmt.Sprint(file, o.Line, v, err, by, line)
		})
		out[c.Rel] = strings.Join(texts, "\n")
	}
	return out
}

// randomTree has kustomizations of clusters and of none, bases of several, a component, Applications and manifests.
func randomTree(r *rand.Rand) map[string]string {
	files := map[string]string{"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n" +
		"kind: Component\ncommonAnnotations: {by: component}\n"}
	for i := range 3 {
		dir := fmt.Sprintf("base%d", i)
		files[dir+"/kustomization.yaml"] = "resources: [cm.yaml]\nconfigMapGenerator: [{name: made, files: [data.txt]}]\n"
		files[dir+"/cm.yaml"] = configMap(dir, fmt.Sprint(r.Intn(3)))
		files[dir+"/data.txt"] = fmt.Sprint(r.Intn(3))
	}
	for i := range 6 {
		dir := []string{"clusters/one/", "clusters/two/", "apps/", "app/overlays/"}[r.Intn(4)] + fmt.Sprintf("dir%d", i)
		up := strings.Repeat("../", strings.Count(dir, "/")+1)
		text := fmt.Sprintf("resources: [%sbase%d]\nnamePrefix: p%d-\n", up, r.Intn(3), i)
		if r.Intn(3) == 0 {
			text += "components: [" + up + "component]\n"
		}
		files[dir+"/kustomization.yaml"] = text
		if r.Intn(3) == 0 {
			files[fmt.Sprintf("clusters/one/engine%d.yaml", i)] = application(dir, "ns"+fmt.Sprint(r.Intn(2)))
		}
		if r.Intn(3) == 0 {
			files[fmt.Sprintf("clusters/two/plain%d.yaml", i)] = configMap(fmt.Sprintf("plain%d", i), "0")
		}
	}
	return files
}

func edit(r *rand.Rand, files map[string]string) {
	names := slices.Sorted(maps.Keys(files))
	switch name := names[r.Intn(len(names))]; {
	case r.Intn(6) == 0 && !strings.Contains(name, "base"):
		delete(files, name)
	case strings.HasSuffix(name, "kustomization.yaml"):
		files[name] += []string{"# a comment\n", "commonLabels: {a: b}\n", "nameSuffix: -s\n"}[r.Intn(3)]
	case strings.Contains(name, "engine"):
		files[name] = strings.Replace(files[name], "namespace: ns0", "namespace: ns1", 1)
	case strings.HasSuffix(name, ".txt"):
		files[name] += "1"
	default:
		files[name] = strings.Replace(files[name], "x: \"0\"", "x: \"9\"", 1)
	}
}

func configMap(name, x string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {x: \"" + x + "\"}\n"
}

func application(dir, namespace string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n" +
		"  source: {repoURL: https://example.com/repo, path: " + dir + "}\n  destination: {namespace: " + namespace + "}\n"
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readPair(t *testing.T, old, now string) (a, b *tree.Tree) {
	t.Helper()
	sides := [2]*tree.Tree{}
	for i, dir := range []string{old, now} {
		read, err := tree.Read(context.Background(), []string{dir}, tree.Options{Plain: true,
			Other: []string{now, old}[i], Like: sides[0]})
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = read
	}
	return sides[0], sides[1]
}

func readAlone(t *testing.T, dir string) *tree.Tree {
	t.Helper()
	read, err := tree.Read(context.Background(), []string{dir}, tree.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func named(objects []*manifest.Object) string {
	return strings.Join(lists.SortedUnique(lists.Map(objects, func(o *manifest.Object) string { return o.Name })), " ")
}
