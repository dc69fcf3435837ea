package catalog_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/manifest"
)

// edges returns the update graph of a package as a text.
func edges(p *catalog.Package) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, default channel %s\n", p.Name, p.DefaultChannel)
	for _, ch := range slices.SortedFunc(slices.Values(p.Channels), func(a, b *catalog.Channel) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(&out, "  %s\n", ch.Name)
		for _, e := range slices.SortedFunc(slices.Values(ch.Entries), func(a, b catalog.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			fmt.Fprintf(&out, "    %s replaces=%s skips=%v skipRange=%s\n", e.Name, e.Replaces, slices.Sorted(slices.Values(e.Skips)), e.SkipRange)
		}
	}
	return out.String()
}

// TestTemplatesArePublished compares the graphs that templates make with the published catalogs. OLMGEN_OPERATORS is a
// checkout of a repository with operators/ and catalogs/.
func TestTemplatesArePublished(t *testing.T) {
	root := os.Getenv("OLMGEN_OPERATORS")
	if root == "" {
		t.Skip("OLMGEN_OPERATORS is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "operators", "*", "ci.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	same := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var ci struct {
			FBC struct {
				Enabled bool `json:"enabled"`
				Mapping []struct {
					Catalogs []string `json:"catalog_names"`
				} `json:"catalog_mapping"`
			} `json:"fbc"`
		}
		if err := yaml.Unmarshal(data, &ci); err != nil || !ci.FBC.Enabled {
			continue
		}
		newest := ""
		for _, m := range ci.FBC.Mapping {
			newest = max(newest, slices.Max(append(m.Catalogs, newest)))
		}
		dir := filepath.Dir(file)
		published, err := catalog.Read(t.Context(), filepath.Join(root, "catalogs", newest, filepath.Base(dir)), catalog.Options{})
		if err != nil {
			t.Logf("%s: %v", filepath.Base(dir), err)
			continue
		}
		made, err := catalog.Read(t.Context(), dir, catalog.Options{})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
			continue
		}
		for _, name := range published.Names() {
			if made.Packages[name] == nil {
				t.Errorf("%s: %v (the published one: %v)", name, made.Missing(name), published.Refusal())
			} else if x, y := edges(made.Packages[name]), edges(published.Packages[name]); x != y {
				t.Errorf("made:\n%spublished:\n%s", x, y)
			} else {
				same++
			}
		}
	}
	t.Logf("%d packages have the published graph", same)
}

// writeFiles writes the files of a map below a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// versionDir adds the directory of a release to files.
func versionDir(files map[string]string, pkg, version, channels, more string) {
	at := "operators/" + pkg + "/" + version + "/"
	files[at+"metadata/annotations.yaml"] = "annotations:\n  operators.operatorframework.io.bundle.package.v1: " + pkg +
		"\n  operators.operatorframework.io.bundle.channels.v1: " + channels + "\n"
	files[at+"manifests/csv.yaml"] = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: ` + pkg + ".v" + version + `}
spec:
  displayName: a
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
  version: ` + version + "\n" + more
}

func readOperators(t *testing.T, files map[string]string) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	c, err := catalog.Read(t.Context(), filepath.Join(dir, "operators"), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The graphs are those of BundleGraphLoader (operator-registry, pkg/registry), to which bundles are added in the order
// of their versions, and for replaces-mode what the CSVs say.
func TestUpdateGraph(t *testing.T) {
	const linked = "a.v1.0.0 replaces= a.v1.0.1 replaces=a.v1.0.0 a.v1.0.10 replaces=a.v1.0.1 a.v1.1.0 replaces=a.v1.0.10"
	for _, test := range []struct{ name, ci, want, missing string }{
		{name: "no ci.yaml", want: "a.v1.0.0 replaces= a.v1.0.10 replaces=a.v1.0.0 a.v1.1.0 replaces=a.v1.0.0"},
		{name: "replaces", ci: "updateGraph: replaces-mode\n", want: "a.v1.0.0 replaces= a.v1.0.10 replaces=a.v1.0.0 a.v1.1.0 replaces=a.v1.0.0"},
		{name: "semver", ci: "updateGraph: semver-mode\n", want: linked},
		{name: "skippatch", ci: "updateGraph: semver-skippatch\n", want: "a.v1.0.10 replaces=a.v1.0.1 a.v1.1.0 replaces=a.v1.0.10"},
		{name: "unknown", ci: "updateGraph: other\n", missing: `updateGraph is "other"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			versionDir(files, "a", "1.1.0", "stable", "  replaces: a.v1.0.0\n  skips: [a.v1.0.10, a.v1.0.1]\n")
			versionDir(files, "a", "1.0.10", "stable", "  replaces: a.v1.0.0\n")
			versionDir(files, "a", "1.0.1", "stable", "")
			versionDir(files, "a", "1.0.0", "stable", "")
			versionDir(files, "b", "1.0.0", "stable", "")
			versionDir(files, "b", "2.0.0", "stable", "") // two heads
			versionDir(files, "c", "1.0.0", "stable", "")
			versionDir(files, "c", "2.0.0", "stable", "")
			files["operators/c/2.0.0/manifests/csv.yaml"] = "{"
			if test.name == "no ci.yaml" || test.name == "replaces" {
				delete(files, "operators/a/1.0.1/manifests/csv.yaml")
				delete(files, "operators/a/1.0.1/metadata/annotations.yaml")
			}
			if test.ci != "" {
				files["operators/a/ci.yaml"] = test.ci
			}
			c := readOperators(t, files)
			if c.Packages["c"] == nil || c.Packages["b"] != nil {
				t.Errorf("the catalog has %v", c.Names())
			}
			if err := fmt.Sprint(c.Missing("b")); !strings.Contains(err, "multiple channel heads") ||
				!strings.Contains(err, filepath.Join("operators", "b", "ci.yaml")+" that says how they follow each other") {
				t.Errorf("b: %s", err)
			}
			if r := c.Refusal(); r != nil {
				t.Errorf("the catalog is refused: %v", r)
			}
			if test.missing != "" {
				if err := c.Missing("a"); err == nil || !strings.Contains(err.Error(), test.missing) {
					t.Errorf("a: %v", err)
				}
				return
			}
			var got []string
			if c.Packages["a"] == nil {
				t.Fatal(c.Faulty)
			}
			for _, e := range c.Packages["a"].Channel("stable").Entries {
				got = append(got, e.Name+" replaces="+e.Replaces)
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}

// The pipeline adds one release after the other, and opm keeps what leads to the highest: so it is in the published
// catalogs, such as ako-operator of certified-operators. Without ci.yaml, nobody says that they are added like that.
func TestHighestOfSeveralHeads(t *testing.T) {
	files := map[string]string{"operators/a/ci.yaml": "merge: true\n"}
	versionDir(files, "a", "1.2.0", "stable", "  replaces: a.v1.1.0\n  skips: [a.v0.9.0]\n")
	versionDir(files, "a", "1.1.0", "stable,other", "")
	versionDir(files, "a", "1.10.0", "other", "")
	versionDir(files, "a", "1.0.0", "stable", "")
	versionDir(files, "a", "1.0.1", "stable", "  replaces: a.v1.0.0\n")
	versionDir(files, "a", "0.9.0", "stable", "")
	c := readOperators(t, files)
	if c.Packages["a"] == nil || c.Refusal() != nil {
		t.Fatalf("%v, %v", c.Faulty, c.Refusal())
	}
	const want = "a, default channel stable\n  other\n    a.v1.10.0 replaces= skips=[] skipRange=\n  stable\n    a.v0.9.0 replaces= skips=[] skipRange=\n" +
		"    a.v1.1.0 replaces= skips=[] skipRange=\n    a.v1.2.0 replaces=a.v1.1.0 skips=[a.v0.9.0] skipRange=\n"
	if got := edges(c.Packages["a"]); got != want {
		t.Error(got)
	}
	if c.Packages["a"].Bundle("a.v1.0.1") != nil || c.Packages["a"].Bundle("a.v1.1.0") == nil {
		t.Error("bundles that no channel has are gone, and others are not")
	}
	if f := fmt.Sprint(c.Faulty); len(c.Faulty) != 2 || !strings.Contains(f, "channel stable ends at its highest release, to which nothing leads from a.v1.0.0, a.v1.0.1: opm drops them") || c.Missing("a") != nil {
		t.Error(f)
	}
	for version, there := range map[string]bool{"1.0.1": true, "1.0.2": false} {
		_, err := c.Choose("a", "", version)
		if got := strings.Contains(manifest.HintOf(err), "write updateGraph: semver-mode"); err == nil || got != there {
			t.Errorf("%s: %v, hint %q", version, err, manifest.HintOf(err))
		}
	}
}

// A release that is on disk can be chosen without an update graph. Where there is one that lacks it, the error says why.
func TestChooseOutsideOfGraph(t *testing.T) {
	template := strings.ReplaceAll(`schema: olm.template.basic
entries:
- {schema: olm.package, name: a, defaultChannel: stable}
- {schema: olm.channel, package: a, name: stable, entries: [{name: a.vVERSION}]}
- {schema: olm.bundle, image: "r.example.com/a:VERSION"}
`, "VERSION", "2.0.0")
	for _, test := range []struct{ name, ci, wrong, hint string }{
		{"no ci.yaml", "", "", ""},
		{"semver", "updateGraph: semver-mode\n", "", ""},
		{"replaces", "updateGraph: replaces-mode\n", "a.v1.0.0 is in no channel: DIR/ci.yaml: channel stable ends at its highest release, " +
			"to which nothing leads from a.v1.0.0: opm drops them", "name it in skips of a newer release, or in its skipRange, " +
			"or write updateGraph: semver-mode, or name the directory of the release"},
		{"template", "fbc: {enabled: true, catalog_mapping: [{template_name: t.yaml, catalog_names: [v4.10]}]}\n",
			"a.v1.0.0 is in no channel: DIR/catalog-templates/t.yaml does not name it", "add it there, or name the directory of the release"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"operators/a/catalog-templates/t.yaml": template}
			if test.ci != "" {
				files["operators/a/ci.yaml"] = test.ci
			}
			versionDir(files, "a", "1.0.0", "stable", "")
			versionDir(files, "a", "2.0.0", "stable", "")
			c := readOperators(t, files)
			choice, err := c.Choose("a", "", "1.0.0")
			if test.wrong == "" {
				if err != nil || choice.Bundle.Name != "a.v1.0.0" {
					t.Error(choice, err)
				}
				return
			}
			if err == nil {
				t.Fatal(choice.Bundle.Name)
			}
			_, want, _ := strings.Cut(test.wrong, "DIR")
			if !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), "a.v1.0.0 is in no channel: ") || manifest.HintOf(err) != test.hint {
				t.Errorf("%v\nhint: %s", err, manifest.HintOf(err))
			}
			if why := c.Dropped("a", "2.0.0"); why != nil {
				t.Error(why)
			}
		})
	}
}

// publishedA is the published catalog of the package that the templates make.
const publishedA = `schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries: [{name: a.v0.9.0}]
---
schema: olm.bundle
package: a
name: a.v0.9.0
image: r.example.com/a@sha256:0000000000000000000000000000000000000000000000000000000000000009
properties: [{type: olm.package, value: {packageName: a, version: 0.9.0}}]
`

func TestTemplates(t *testing.T) {
	const ci = "fbc:\n  enabled: true\n  catalog_mapping:\n  - {template_name: old.yaml, catalog_names: [v4.9]}\n" +
		"  - {template_name: new.yaml, catalog_names: [v4.10]}\n"
	digest := "r.example.com/a@sha256:0000000000000000000000000000000000000000000000000000000000000009"
	const basic = `schema: olm.template.basic
entries:
- {schema: olm.package, name: a, defaultChannel: fast}
- {schema: olm.channel, package: a, name: fast, entries: [{name: a.v0.9.0}, {name: a.v1.0.0, replaces: a.v0.9.0}]}
- {schema: olm.bundle, image: "r.example.com/a:1.0.0"}
- {schema: olm.bundle, image: "r.example.com/a:0.9.0"}
`
	for _, test := range []struct{ name, template, want, missing string }{
		{"basic", basic, "a, default channel fast\n  fast\n" +
			"    a.v0.9.0 replaces= skips=[] skipRange=\n    a.v1.0.0 replaces=a.v0.9.0 skips=[] skipRange=\n", ""},
		{"basic, unknown", strings.ReplaceAll(basic, "a.v0.9.0", "a.v0.8.0"), "", "nothing says what a.v0.8.0 is"},
		{"semver", "Schema: olm.semver\nGenerateMajorChannels: true\nGenerateMinorChannels: true\nFast:\n  Bundles:\n" +
			"  - Image: r.example.com/a:1.0.0\n  - Image: r.example.com/a:v1.0.1\n  - Image: r.example.com/a:1.1.0\n  - Image: " + digest +
			"\nCandidate:\n  Bundles:\n  - Image: r.example.com/a:1.1.0\n",
			`a, default channel fast-v1.1
  candidate-v1
    a.v1.1.0 replaces= skips=[] skipRange=
  candidate-v1.1
    a.v1.1.0 replaces= skips=[] skipRange=
  fast-v0
    a.v0.9.0 replaces= skips=[] skipRange=
  fast-v0.9
    a.v0.9.0 replaces= skips=[] skipRange=
  fast-v1
    a.v1.0.0 replaces= skips=[] skipRange=
    a.v1.0.1 replaces= skips=[a.v1.0.0] skipRange=
    a.v1.1.0 replaces=a.v1.0.1 skips=[a.v1.0.0] skipRange=
  fast-v1.0
    a.v1.0.0 replaces= skips=[] skipRange=
    a.v1.0.1 replaces= skips=[a.v1.0.0] skipRange=
  fast-v1.1
    a.v1.1.0 replaces=a.v1.0.1 skips=[a.v1.0.0] skipRange=
`, ""},
		{"semver, unknown", "schema: olm.semver\nstable: {bundles: [{image: \"r.example.com/a@sha256:1\"}]}\n", "", "nothing says what r.example.com/a@sha256:1 is"},
		{"basic, refused", basic + "- {schema: a/b, package: a}\n", "", `invalid custom schema meta: invalid schema "a/b"`},
		{"two heads", strings.Replace(basic, ", replaces: a.v0.9.0", ", replaces: a.v0.8.0", 1), "",
			`new.yaml: invalid channel "fast": multiple channel heads found in graph: a.v0.9.0, a.v1.0.0
hint: a.v1.0.0 replaces a.v0.8.0, which is not in the channel; have one of them replace or skip the others`},
		{"semver, a field that opm refuses", "schema: olm.semver\ngenerateMajorChannel: true\n", "", `unknown field "generateMajorChannel"`},
		{"semver, a preference without its channels", "schema: olm.semver\ndefaultChannelTypePreference: major\n", "",
			`defaultChannelTypePreference is "major", and the template makes minor channels`},
		{"basic, a bundle with a package", basic + "- {schema: olm.bundle, image: r.example.com/a:1.0.0, package: a}\n", "",
			"opm wants the image of a bundle, and neither package"},
		{"another one", "schema: olm.composite\n", "", `does not know the template "olm.composite"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"operators/a/ci.yaml": ci, "operators/a/catalog-templates/new.yaml": test.template,
				"catalogs/v4.10/a/catalog.yaml": publishedA}
			for _, v := range []string{"1.0.0", "1.0.1", "1.1.0"} {
				versionDir(files, "a", v, "alpha", "")
			}
			versionDir(files, "b", "1.0.0", "alpha", "")
			c := readOperators(t, files)
			if c.Packages["b"] == nil {
				t.Error("b is lost")
			}
			if test.missing != "" {
				err := c.Missing("a")
				if err == nil || c.Packages["a"] != nil || !strings.Contains(err.Error()+"\nhint: "+manifest.HintOf(err), test.missing) {
					t.Errorf("%v", err)
				}
				return
			}
			if c.Packages["a"] == nil {
				t.Fatal(c.Missing("a"))
			}
			if got := edges(c.Packages["a"]); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A directory with a file-based catalog and bundles is one catalog: the graph of the former, the objects of the latter.
func TestCatalogWithBundles(t *testing.T) {
	files := map[string]string{"operators/catalog.yaml": strings.ReplaceAll(publishedA, "0.9.0", "1.0.0"), "operators/a/ci.yaml": "{}"}
	versionDir(files, "a", "1.0.0", "alpha", "")
	versionDir(files, "a", "1.1.0", "alpha", "") // a second head of the graph that does not count
	versionDir(files, "b", "1.0.0", "alpha", "")
	c := readOperators(t, files)
	if len(c.Faulty) > 0 || c.Refusal() != nil {
		t.Errorf("%v, %v", c.Faulty, c.Refusal())
	}
	if got := edges(c.Packages["a"]); got != "a, default channel stable\n  stable\n    a.v1.0.0 replaces= skips=[] skipRange=\n" {
		t.Error(got)
	}
	if c.Packages["b"] == nil {
		t.Error("b is lost")
	}
	b := c.Packages["a"].Bundle("a.v1.0.0")
	if b == nil || !b.Objects || b.Image == "" {
		t.Fatalf("%+v", b)
	}
	if csv, err := b.CSV(t.Context()); err != nil || !strings.Contains(string(csv), "strategy") {
		t.Errorf("%s, %v", csv, err)
	}
	if _, err := b.Document(t.Context()); err != nil {
		t.Error(err)
	}
}

// A package whose template cannot be used is left out for that reason, whatever opm says of its directories alone.
func TestTemplateFault(t *testing.T) {
	files := map[string]string{"operators/a/ci.yaml": "fbc: {enabled: true, catalog_mapping: [{template_name: basic.yaml, catalog_names: [v4.20]}]}\n",
		"operators/a/catalog-templates/basic.yaml": "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: a, defaultChannel: stable}\n" +
			"- {schema: olm.channel, package: a, name: stable, entries: [{name: a.v1.0.0}]}\n"}
	versionDir(files, "a", "1.0.0", "stable", "")
	versionDir(files, "a", "2.0.0", "stable", "") // two heads
	c := readOperators(t, files)
	if f := c.Faults(); len(f) > 0 {
		t.Errorf("%+v", f)
	}
	if err := c.Missing("a"); err == nil || !strings.Contains(err.Error(), "its channels have 1 bundle, and it names 0 images") {
		t.Error(err)
	}
}

// What FromTemplate makes has the lines of the template.
func TestFromTemplate(t *testing.T) {
	const text = `schema: olm.template.basic
entries:
- schema: olm.channel
  package: a
  name: stable
  entries:
  - name: a.v0.8.0
  - name: a.v0.9.0
    replaces: a.v0.8.0
- schema: olm.package
  name: a
  defaultChannel: stable
- schema: olm.deprecations
  package: a
  entries:
  - {reference: {schema: olm.channel, name: old}, message: gone}
- schema: olm.bundle
  image: r.example.com/a@sha256:0000000000000000000000000000000000000000000000000000000000000009
- schema: olm.bundle
  image: r.example.com/a:v0.8.0
`
	files := map[string]string{"operators/catalog.yaml": publishedA}
	versionDir(files, "a", "0.8.0", "stable", "")
	known := readOperators(t, files)
	dir := t.TempDir()
	writeFiles(t, dir, files)
	old, err := catalog.Read(t.Context(), filepath.Join(dir, "operators", "a", "0.8.0"), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.FromTemplate(t.Context(), "t.yaml", []byte(text), known, old)
	if err != nil {
		t.Fatal(err)
	}
	p := c.Packages["a"]
	if p == nil || p.Line != 10 || p.Channels[0].Line != 3 || p.Channels[0].Entries[1].Line != 8 || p.Deprecations[0].Line != 16 ||
		p.Deprecations[0].File != "t.yaml" || len(p.Bundles) != 2 || p.Bundles[0].Image != "r.example.com/a:v0.8.0" {
		t.Errorf("%+v", p)
	}
	if f := c.Faults(); len(f) != 1 || f[0].Rule != "deprecation" || f[0].Line != 16 {
		t.Errorf("%+v", f)
	}
	if _, err := catalog.FromTemplate(t.Context(), "t.yaml", []byte(text), known); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := catalog.FromTemplate(t.Context(), "t.yaml", []byte("schema: [\n")); err == nil || errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "t.yaml: ") {
		t.Error(err)
	}
}

// The content of a directory and of a document is the same if opm makes the one of the other.
func TestSameContent(t *testing.T) {
	files := map[string]string{}
	versionDir(files, "a", "1.0.0", "stable", "")
	csv := base64.StdEncoding.EncodeToString([]byte(files["operators/a/1.0.0/manifests/csv.yaml"]))
	dir := readOperators(t, files).Packages["a"].Bundle("a.v1.0.0")
	const metadata = "{type: olm.csv.metadata, value: {displayName: %s, apiServiceDefinitions: {}, provider: {}, installModes: " +
		"[{type: AllNamespaces, supported: %t}]}}"
	for _, test := range []struct {
		name, property string
		same, known    bool
	}{
		{"metadata", fmt.Sprintf(metadata, "a", true), true, true},
		{"another name", fmt.Sprintf(metadata, "b", true), false, true},
		{"another install mode", fmt.Sprintf(metadata, "a", false), false, true},
		{"an object", "{type: olm.bundle.object, value: {data: " + csv + "}}", true, true},
		{"neither", "{type: olm.gvk, value: {group: g, kind: K, version: v1}}", false, false},
	} {
		text := strings.Replace(publishedA, "properties: [", "properties: ["+test.property+", ", 1)
		c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(text)}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		document := c.Packages["a"].Bundles[0]
		for i := range 2 {
			of := [2]*catalog.Bundle{dir, document}
			same, known, err := of[i].SameContent(t.Context(), of[1-i])
			if same != test.same || known != test.known || err != nil {
				t.Errorf("%s: %t, %t, %v", test.name, same, known, err)
			}
		}
	}
	same, known, err := dir.SameContent(t.Context(), dir)
	if !same || !known || err != nil {
		t.Errorf("%t, %t, %v", same, known, err)
	}
}
