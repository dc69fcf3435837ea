package review_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// TestInstalls reviews neighbouring releases as a Subscription and as a ClusterExtension whose catalog moves: the
// review is that of the two bundles. The catalog is the directory of the bundle, or has olm.csv.metadata and an image.
func TestInstalls(t *testing.T) {
	packages := corpustest.Packages(t)
	host := sourcetest.Serve(t, nil)
	pairs, refused := 0, map[string]int{}
	for _, p := range packages {
		for i := 1; i < len(p.Bundles); i++ {
			pairs++
			for _, profile := range []generate.Profile{generate.ProfileOLM, generate.ProfileOLMv1} {
				if why := checkPair(t, host, p.Bundles[i-1], p.Bundles[i], profile); why != "" {
					refused[why]++
				}
			}
		}
	}
	t.Logf("%d pairs; not compared: %v", pairs, refused)
	left := 0
	for _, n := range refused {
		left += n
	}
	if pairs < corpustest.Least(t, 50) || left > pairs/2 {
		t.Errorf("only %d of %d reviews were compared", 2*pairs-left, 2*pairs)
	}
}

// checkPair returns why a pair is not compared.
func checkPair(t *testing.T, host, from, to string, profile generate.Profile) string {
	t.Helper()
	bundles := [2]*bundle.Bundle{reviewtest.Bundle(t, from), reviewtest.Bundle(t, to)}
	if bundles[0] == nil || bundles[1] == nil {
		return "refused bundle"
	}
	target := targetOf(bundles)
	var direct [2]*review.Subject
	for i, dir := range []string{from, to} {
		var err error
		if direct[i], err = rendered(t, dir, target, profile); err != nil {
			return "not rendered"
		}
		for o := range direct[i].Operators {
			direct[i].Operators[o].Channels = nil // the objects change to that of the release
		}
	}
	want := report(t, direct, [2]string{from, to})
	for _, made := range []func(testing.TB, string, string, *bundle.Bundle) string{ofDirectory, ofImage} {
		var subjects [2]*review.Subject
		for i, dir := range []string{from, to} {
			objects := subscription(bundles[i], target)
			if profile == generate.ProfileOLMv1 {
				objects = clusterExtension(bundles[i], target)
			}
			ref := made(t, host, dir, bundles[i])
			c, err := catalog.Read(t.Context(), ref, catalog.Options{})
			if err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
			subjects[i] = reviewed(t, objects, c, host)
			if len(subjects[i].Unknown) == 1 {
				if _, why, nothing := strings.Cut(subjects[i].Unknown[0].Why, "installs nothing: "); nothing {
					t.Logf("%s, profile %s: OLM installs nothing: %s", dir, profile, why)
					return "OLM installs nothing"
				}
			}
			for _, u := range subjects[i].Unknown {
				t.Errorf("%s, profile %s: %s", dir, profile, u)
				return "unknown"
			}
		}
		got := report(t, subjects, [2]string{from, to})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -> %s, profile %s: the review of what the catalog moved is not that of the bundles (-bundles +tree):\n%s",
				from, to, profile, d[:min(len(d), 3000)])
		}
	}
	return ""
}

// TestCatalogDiff moves the catalog of a Subscription and of a ClusterExtension from each release to the next: the
// review is that of the two bundles.
func TestCatalogDiff(t *testing.T) {
	packages := corpustest.Packages(t)
	reviewed, not := 0, map[string]int{}
	for _, p := range packages {
		for i := 1; i < len(p.Bundles); i++ {
			for _, profile := range []generate.Profile{generate.ProfileOLM, generate.ProfileOLMv1} {
				if why := checkMove(t, p.Bundles[i-1], p.Bundles[i], profile); why != "" {
					not[why]++
				} else {
					reviewed++
				}
			}
		}
	}
	t.Logf("%d reviews; others: %v", reviewed, not)
	if reviewed < corpustest.Least(t, 60) {
		t.Errorf("only %d moves were reviewed", reviewed)
	}
}

// checkMove returns why there is no move.
func checkMove(t *testing.T, from, to string, profile generate.Profile) string {
	t.Helper()
	bundles := [2]*bundle.Bundle{reviewtest.Bundle(t, from), reviewtest.Bundle(t, to)}
	if bundles[0] == nil || bundles[1] == nil || bundles[0].CSV.Name == bundles[1].CSV.Name {
		return "no two bundles"
	}
	target := targetOf(bundles)
	var direct [2]*review.Subject
	var contents [2]*catalog.Catalog
	for i, dir := range []string{from, to} {
		var err error
		if direct[i], err = rendered(t, dir, target, profile); err != nil {
			return "not rendered"
		}
		if contents[i], err = catalog.Read(t.Context(), dir, catalog.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ch := range contents[1].Packages[bundles[1].Package].Channels {
		for i := range ch.Entries {
			ch.Entries[i].Skips = append(ch.Entries[i].Skips, bundles[0].CSV.Name)
			direct[1].Operators[0].Entry = &ch.Entries[i]
		}
	}
	objects := subscription(bundles[0], target)
	if profile == generate.ProfileOLMv1 {
		objects = clusterExtension(bundles[0], target)
	}
	in := compare.Options{PathKnown: true}
	all := func(string) compare.Options { return in }
	d, err := review.MovesOf(t.Context(), &tree.Tree{Objects: reviewtest.Objects(t, "tree.yaml", objects)},
		review.TreeOptions{Catalogs: predict.Catalogs{Others: contents[0]}}, predict.Catalogs{Others: contents[1]}, all)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(d.Unknown) > 0:
		return "unknown"
	case len(d.Moves) != 1 && len(d.Findings) == 0:
		t.Errorf("%s -> %s, profile %s: %d moves, and no word of OLM's", from, to, profile, len(d.Moves))
	case len(d.Moves) != 1:
		return "refused by OLM"
	case d.Moves[0].Diff == nil:
		t.Errorf("%s -> %s, profile %s: %s", from, to, profile, d.Moves[0].Unknown)
	case slices.ContainsFunc(d.Moves[0].Diff.OLM, func(c compare.Consequence) bool { return c.Rule == "install-plan-fails" }):
		return "the InstallPlan fails" // the review of two bundles plays none
	default:
		want, err := review.Compare(t.Context(), direct[0], direct[1], [2]string{}, in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields(t, want), fields(t, d.Moves[0].Diff)); diff != "" {
			t.Errorf("%s -> %s, profile %s: the review of the move is not that of the bundles (-bundles +move):\n%s", from, to,
				profile, diff[:min(len(diff), 3000)])
		}
	}
	return ""
}

// targetOf returns the target namespace of an OperatorGroup that both releases support; empty for all namespaces.
func targetOf(bundles [2]*bundle.Bundle) string {
	for _, mode := range []struct {
		mode   v1alpha1.InstallModeType
		target string
	}{{v1alpha1.InstallModeTypeAllNamespaces, ""}, {v1alpha1.InstallModeTypeOwnNamespace, "ops"},
		{v1alpha1.InstallModeTypeSingleNamespace, "team"}} {
		if olm.Supports(bundles[0].CSV.Spec.InstallModes, mode.mode) && olm.Supports(bundles[1].CSV.Spec.InstallModes, mode.mode) {
			return mode.target
		}
	}
	return ""
}

// rendered returns what a bundle is rendered to.
func rendered(t *testing.T, dir, target string, profile generate.Profile) (*review.Subject, error) {
	t.Helper()
	group := map[string]any{"namespace": "ops", "bundles": []any{map[string]any{"source": dir, "profile": string(profile),
		"certs": map[string]any{"provider": "cert-manager"}}}}
	if group["installMode"] = "AllNamespaces"; target != "" {
		delete(group, "installMode")
		group["targetNamespaces"] = []any{target}
	}
	text := manifest.Encode(map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "groups": []any{group}})
	c, err := config.Read("bundle.yaml", text)
	if err != nil {
		return nil, err
	}
	r, err := c.Render(t.Context(), config.Options{})
	if err != nil {
		return nil, err
	}
	s, err := review.FromRendered(t.Context(), r)
	if err != nil {
		return nil, err
	}
	s.MovePaths(func(_ int, file string) string { return filepath.Base(dir) + "/" + file })
	return s, nil
}

func reviewed(t *testing.T, objects string, c *catalog.Catalog, host string) *review.Subject {
	t.Helper()
	s, err := review.FromTree(t.Context(), &tree.Tree{Objects: reviewtest.Objects(t, "tree.yaml", objects)}, review.TreeOptions{
		Catalogs: predict.Catalogs{Others: c}, Source: source.Options{InsecureRegistries: []string{host}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// report returns a comparison without what names the two sides: names, notes, the objects that only the tree has, and
// the directories of files.
func report(t *testing.T, s [2]*review.Subject, names [2]string) map[string]any {
	t.Helper()
	r, err := review.Compare(t.Context(), s[0], s[1], names, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, r)
}

func fields(t *testing.T, r *compare.Report) map[string]any {
	t.Helper()
	r.Notes, r.Old.Name, r.New.Name = nil, "", ""
	r.Old.InstallMode, r.New.InstallMode = "", "" // a ClusterExtension asks for none
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	withoutDirectories(v)
	return v
}

func withoutDirectories(v any) {
	switch v := v.(type) {
	case map[string]any:
		if f, ok := v["file"].(string); ok {
			v["file"] = filepath.Base(f)
		}
		for _, item := range v {
			withoutDirectories(item)
		}
	case []any:
		for _, item := range v {
			withoutDirectories(item)
		}
	}
}

func subscription(b *bundle.Bundle, target string) string {
	spec := "{}"
	if target != "" {
		spec = "{targetNamespaces: [" + target + "]}"
	}
	return fmt.Sprintf(`apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: ops, namespace: ops}
spec: %s
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: it, namespace: ops}
spec: {name: %s, source: c, sourceNamespace: olm}
`, spec, b.Package)
}

func clusterExtension(b *bundle.Bundle, target string) string {
	watched := ""
	if target != "" {
		watched = ", config: {configType: Inline, inline: {watchNamespace: " + target + "}}"
	}
	return fmt.Sprintf(`apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: it}
spec: {namespace: ops, source: {sourceType: Catalog, catalog: {packageName: %s}}%s}
`, b.Package, watched)
}

// ofDirectory has the bundle's directory as a catalog.
func ofDirectory(_ testing.TB, _, dir string, _ *bundle.Bundle) string { return dir }

// ofImage has a catalog that says what the bundle provides, and an image with the rest.
func ofImage(t testing.TB, host, dir string, b *bundle.Bundle) string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	image := sourcetest.Image(t, map[string]string{"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1": "metadata/"}, sourcetest.Tar(t, files))
	ref := fmt.Sprintf("%s/%s:v%s", host, b.Package, b.CSV.Spec.Version)
	sourcetest.Push(t, strings.ReplaceAll(ref, "+", "-"), image)
	metadata, err := json.Marshal(map[string]any{"annotations": b.CSV.Annotations, "installModes": b.CSV.Spec.InstallModes,
		"crdDescriptions": b.CSV.Spec.CustomResourceDefinitions, "apiServiceDefinitions": b.CSV.Spec.APIServiceDefinitions})
	if err != nil {
		t.Fatal(err)
	}
	channels := b.Channels
	if len(channels) == 0 {
		channels = []string{"stable"}
	}
	documents := []any{map[string]any{"schema": "olm.package", "name": b.Package, "defaultChannel": channels[0]},
		map[string]any{"schema": "olm.bundle", "package": b.Package, "name": b.CSV.Name,
			"image":      strings.ReplaceAll(ref, "+", "-"),
			"properties": append(b.CatalogProperties(), bundle.Property{Type: olm.PropertyCSVMetadata, Value: metadata})}}
	for _, c := range channels {
		entry := map[string]any{"name": b.CSV.Name, "skips": b.CSV.Spec.Skips}
		for field, value := range map[string]string{"replaces": b.CSV.Spec.Replaces,
			"skipRange": b.CSV.Annotations["olm.skipRange"]} {
			if value != "" {
				entry[field] = value
			}
		}
		documents = append(documents, map[string]any{"schema": "olm.channel", "package": b.Package, "name": c,
			"entries": []any{entry}})
	}
	var text strings.Builder
	for _, d := range documents {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
		text.WriteString("\n")
	}
	file := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
