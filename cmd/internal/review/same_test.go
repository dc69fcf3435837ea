package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/golden/resolvercase"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// TestSameOperators asks about the fresh clusters of the cases that OLM's own resolver answered: catalog resolve, check
// and diff name the same operators. With OLMGEN_ORACLE it does so for all cases of the oracle. An operator that a tree
// has already keeps its version in check and diff, so clusters with installed operators are left out.
func TestSameOperators(t *testing.T) {
	dirs := caseDirs(t, filepath.Join("..", "..", "..", "catalog", "resolve", "testdata", "cases"))
	if root := os.Getenv("OLMGEN_ORACLE"); root != "" {
		dirs = append(dirs, caseDirs(t, filepath.Join(root, "resolver", "cases"))...)
	}
	compared, names := 0, 0
	for _, dir := range dirs {
		in, opened, err := resolvercase.ReadOpened(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Scenarios {
			s := &in.Scenarios[i]
			state, err := in.State(s, opened)
			if err != nil {
				t.Fatal(err)
			}
			installed := func(sub resolvercase.Subscription) bool { return sub.InstalledCSV+sub.CurrentCSV != "" }
			if len(s.Installed) > 0 || slices.ContainsFunc(s.Subscriptions, installed) {
				continue
			}
			t.Run(filepath.Base(dir)+"/"+s.Name, func(t *testing.T) { names += sameOperators(t, state) })
			compared++
		}
	}
	t.Logf("%d operators in %d fresh clusters of %d cases", names, compared, len(dirs))
	if compared == 0 || names == 0 {
		t.Error("nothing was compared")
	}
}

func caseDirs(t *testing.T, root string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases below %s: %v", root, err)
	}
	return dirs
}

// sameOperators compares the answers for a namespace, and returns how many operators OLM installs.
func sameOperators(t *testing.T, state *resolve.State) int {
	objects := objectsOf(t, state)
	catalogs := predict.Catalogs{Sources: state.Catalogs, Global: state.GlobalNamespace}
	r, err := resolve.Run(t.Context(), state, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(r.Installed))
	in := &tree.Tree{Objects: objects}
	report, err := predict.Check(t.Context(), in, predict.Options{Catalogs: catalogs})
	if err != nil {
		t.Fatal(err)
	}
	checked := []string{}
	for _, i := range report.Installs {
		checked = append(checked, i.Name)
	}
	slices.Sort(checked)
	if d := cmp.Diff(want, checked); d != "" && len(want)+len(checked) > 0 {
		t.Errorf("resolve and check differ (-resolve +check):\n%s", d)
	}
	installed, unknown, err := review.Installs(t.Context(), in,
		review.TreeOptions{Catalogs: catalogs, Source: source.Options{Offline: true}})
	if err != nil {
		t.Fatal(err)
	}
	reviewed := []string{}
	for _, i := range installed {
		reviewed = append(reviewed, i.Name)
	}
	for _, u := range unknown { // its image is not there
		if u.Name != "" {
			reviewed = append(reviewed, u.Name)
		}
	}
	slices.Sort(reviewed)
	if d := cmp.Diff(want, reviewed); d != "" && len(want)+len(reviewed) > 0 {
		t.Errorf("resolve and diff differ (-resolve +diff):\n%s", d)
	}
	return len(want)
}

// objectsOf returns the OperatorGroups and Subscriptions of a namespace as a tree has them.
func objectsOf(t *testing.T, state *resolve.State) (objects []*manifest.Object) {
	t.Helper()
	var b strings.Builder
	for i := range state.OperatorGroups {
		fmt.Fprintf(&b, "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\n"+
			"metadata: {name: g%d, namespace: %s, annotations: {olm.operatorframework.io/exclude-global-namespace-resolution: %q}}\n",
			i, state.Namespace, fmt.Sprint(state.ExcludeGlobal))
		if state.FailForward {
			b.WriteString("spec: {upgradeStrategy: TechPreviewUnsafeFailForward}\n")
		}
	}
	for _, s := range state.Subscriptions {
		fmt.Fprintf(&b, "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: %q, namespace: %s}\n"+
			"spec: {name: %q, channel: %q, source: %q, sourceNamespace: %q, startingCSV: %q}\n",
			s.Name, state.Namespace, s.Package, s.Channel, s.Source, s.SourceNamespace, s.StartingCSV)
	}
	docs, err := manifest.ReadFile("tree.yaml", []byte(b.String()), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}
