package golden

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
)

// checkLayouts lays a tree out in every layout for kustomize, which must find the objects of the tree. e2e/helm builds
// charts.
func checkLayouts(t *testing.T, tree output.Tree) {
	t.Helper()
	for _, l := range slices.Sorted(maps.Keys(layoutRoots)) {
		files := checkLayout(t, tree, l)
		want := deployed(tree, l)
		for i, patterns := range layoutRoots[l] {
			if i > 0 && len(tree.Operators) == 1 {
				continue // the overlay has but the one bundle
			}
			if roots := rootsOf(files, patterns); len(roots) > 0 || len(want) > 0 {
				checkKustomize(t, files, roots, want)
			}
		}
	}
}

// layoutRoots are the directories to build, as path.Match patterns: all that match one list give all objects.
var layoutRoots = map[output.Layout][][]string{
	output.LayoutFlat:          {{".", "tenants/*", "all-namespaces"}},
	output.LayoutByKind:        {{".", "tenants/*", "all-namespaces"}},
	output.LayoutGitOpsCatalog: {{"*-operator/operator/overlays/*", "tenants/*", "all-namespaces"}},
	output.LayoutClusterScope: {{"cluster-scope/overlays/prod/common", "*/base", "tenants/*", "cluster-scope/all-namespaces"},
		{"cluster-scope/bundles/*", "*/base", "tenants/*", "cluster-scope/all-namespaces"}},
}

func rootsOf(files Tree, patterns []string) []string {
	var roots []string
	for name := range files {
		dir, base := path.Split(name)
		for _, p := range patterns {
			if ok, err := path.Match(p, path.Clean(dir)); ok && err == nil && base == "kustomization.yaml" {
				roots = append(roots, path.Clean(dir))
			}
		}
	}
	slices.Sort(roots)
	return roots
}

// deployed returns the objects of a layout. The decision record of cluster-scope does not deploy all of them, and an
// OperatorGroup for all namespaces has a blank spec there.
func deployed(tree output.Tree, l output.Layout) []generate.Object {
	var objects []generate.Object
	for _, x := range tree.Objects {
		if l == output.LayoutClusterScope && x.Group() == "operators.coreos.com" &&
			(x.Kind == "ClusterServiceVersion" || x.Kind == "InstallPlan") {
			continue
		}
		if l == output.LayoutClusterScope && x.Kind == "OperatorGroup" {
			x.Data = bytes.Replace(x.Data, []byte("\nspec:\n  upgradeStrategy: Default\n"), []byte("\nspec: {}\n"), 1)
		}
		objects = append(objects, x.Object)
	}
	return objects
}

var (
	plainPath = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\.yaml$`)
	listing   = regexp.MustCompile(`(^|/)kustomization\.yaml$`)
	// what a build of the overlay must prove
	ofChannel = regexp.MustCompile(`/(subscription(_.*)?|patch-channel)\.yaml$`)
)

// checkLayout lays a tree out twice, and proves that the files are the same, that any file system holds them, and that
// they hold the objects of the tree byte for byte.
func checkLayout(t *testing.T, tree output.Tree, l output.Layout) Tree {
	t.Helper()
	files, err := layOut(tree, l)
	if err != nil {
		t.Errorf("%s: %v", l, err)
		return nil
	}
	again, err := layOut(tree, l)
	if err != nil {
		t.Errorf("%s: refused only the second time: %v", l, err)
	} else if d := Diff("first", files, again); d != "" {
		t.Errorf("%s: laid out differently the second time:\n%s", l, d)
	}
	folded, got, want := map[string]string{}, map[string]int{}, map[string]int{}
	for name, data := range files {
		if !plainPath.MatchString(name) {
			t.Errorf("%s: not a plain path: %s", l, name)
		}
		for dir := name; dir != "."; dir = path.Dir(dir) {
			if other, ok := folded[strings.ToLower(dir)]; ok && other != dir {
				t.Errorf("%s: %s and %s differ in case only", l, dir, other)
			}
			folded[strings.ToLower(dir)] = dir
		}
		if !listing.MatchString(name) && (l != output.LayoutGitOpsCatalog || !ofChannel.MatchString(name)) {
			got[string(data)] = 1
		}
	}
	for _, o := range deployed(tree, l) {
		if l != output.LayoutGitOpsCatalog || o.Kind != "Subscription" {
			want[string(o.Data)] = 1
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: not the objects, byte for byte (- rendered, + laid out):\n%s", l, d)
	}
	return files
}

// several are operators that go to one cluster: two of them share an OperatorGroup and so its ClusterRoles.
var several = []struct {
	dir     string
	options generate.Options
}{
	{"../examples/memcached-operator/bundle",
		generate.Options{Namespace: "shared", OperatorGroup: "shared",
			InstallMode: v1alpha1.InstallModeTypeOwnNamespace, CreateNamespace: true}},
	{"shipped-kinds/bundle",
		generate.Options{Namespace: "shared", OperatorGroup: "shared",
			InstallMode: v1alpha1.InstallModeTypeOwnNamespace, CreateNamespace: true}},
	{"webhooks/bundle", generate.Options{Namespace: "webhooks", Certs: generate.CertsManager, CreateNamespace: true}},
	{"deployments/bundle",
		generate.Options{Namespace: "deployments", CreateNamespace: true, Profile: generate.ProfilePlain}},
}

func severalOperators(t *testing.T, n int) output.Tree {
	t.Helper()
	var operators []generate.Operator
	for _, s := range several[:n] {
		b, err := bundle.Read(os.DirFS(filepath.FromSlash(s.dir)), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.options.Templates = ownTemplates()
		operators = append(operators,
			generate.Operator{Name: path.Base(path.Dir(s.dir)), Bundle: b, Options: s.options})
	}
	set, err := generate.RenderAll(operators)
	if err != nil {
		t.Fatal(err)
	}
	tree := output.Tree{Objects: set.Objects, Templates: ownTemplates()}
	for i, r := range set.Results {
		tree.Operators = append(tree.Operators, output.Operator{Name: operators[i].Name, Channel: "stable", Result: r})
	}
	return tree
}

// Several operators build like one. One more operator changes no file of the others except the lists of files. A shared
// object lists its operators, so the third of these operators is the first that only adds.
func TestSeveralOperators(t *testing.T) {
	before := severalOperators(t, 3)
	after := severalOperators(t, 4)
	shared := 0
	for _, x := range after.Objects {
		if len(x.Operators) > 1 {
			shared++
		}
	}
	if shared == 0 {
		t.Fatal("no operators of the tree share an object: this proves nothing of those that do")
	}
	for n := range several {
		checkLayouts(t, severalOperators(t, n+1))
	}
	for _, l := range slices.Sorted(maps.Keys(layoutRoots)) {
		a, err := layOut(before, l)
		if err != nil {
			t.Fatal(err)
		}
		b, err := layOut(after, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if string(a[name]) != string(b[name]) && !listing.MatchString(name) {
				t.Errorf("%s: an operator more changed %s:\n%s", l, name, cmp.Diff(string(a[name]), string(b[name])))
			}
		}
	}
}
