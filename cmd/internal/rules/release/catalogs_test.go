package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
)

// files are those of a repository of a catalog, by path.
type files map[string]string

// bundle adds operators/a/VERSION. more has fields of spec, and annotations below "annotations: ".
func (f files) bundle(version, channels, annotations, spec string) files {
	at := "operators/a/" + version + "/"
	f[at+"metadata/annotations.yaml"] = "annotations:\n  operators.operatorframework.io.bundle.package.v1: a\n" +
		"  operators.operatorframework.io.bundle.channels.v1: " + channels + "\n"
	f[at+"manifests/csv.yaml"] = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v` + version + `, annotations: {` + annotations + `}}
spec:
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
  version: ` + version + "\n" + spec
	return f
}

// ofCatalog is the document of a bundle in a catalog.
func ofCatalog(version, property string) string {
	return `---
schema: olm.bundle
package: a
name: a.v` + version + `
image: r.example.com/a:` + version + `
properties:
- {type: olm.package, value: {packageName: a, version: ` + version + `}}
` + property
}

const (
	ciBasic = `fbc:
  enabled: true
  catalog_mapping:
  - template_name: basic.yaml
    type: olm.template.basic
    catalog_names: [v4.16, v4.17]
`
	graph1 = `---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries:
- name: a.v1.0.0
`
	basic1 = `schema: olm.template.basic
entries:
- schema: olm.package
  name: a
  defaultChannel: stable
- schema: olm.channel
  package: a
  name: stable
  entries:
  - name: a.v1.0.0
- schema: olm.bundle
  image: r.example.com/a:1.0.0
`
	metadata1 = "- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}\n"
)

// published is an operator with a template, and the catalogs that it makes.
func published() files {
	f := files{"operators/a/ci.yaml": ciBasic, "operators/a/catalog-templates/basic.yaml": basic1}
	for _, v := range []string{"v4.16", "v4.17"} {
		f["catalogs/"+v+"/a/catalog.yaml"] = graph1 + ofCatalog("1.0.0", metadata1)
	}
	return f.bundle("1.0.0", "stable", "", "")
}

func (f files) set(path, text string) files {
	f[path] = text
	return f
}

func (f files) replace(path, old, now string) files {
	if !strings.Contains(f[path], old) {
		panic(path + " has no " + old)
	}
	f[path] = strings.ReplaceAll(f[path], old, now)
	return f
}

// judged writes a repository and returns what catalogs says of the release of versions.
func judged(t *testing.T, f files, root string, bundles ...string) (lines []string, said string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range f {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	r, err := look(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var all, released []*opened
	for _, at := range r.bundles {
		b, err := bundle.Read(os.DirFS(at), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &opened{dir: at, bundle: b})
		if slices.Contains(bundles, filepath.Base(at)) {
			released = append(released, all[len(all)-1])
		}
	}
	list, texts := catalogs(t.Context(), r, all, released)
	for _, f := range list {
		lines = append(lines, fmt.Sprintf("%s: %s: %s [%s]", f.Where(), f.Level, f.Description(), f.Rule))
	}
	return lines, strings.Join(texts, "\n")
}

func csvOf(version string) string { return "operators/a/" + version + "/manifests/csv.yaml" }

// What pipelines rejected in public, each in the smallest form, and what they take: community-operators-prod 4002
// (dangling), certified-operators 9619 and 4081 (replaces), 8497 (a catalog that was edited), serverless-operator 3012 and
// deployment-validation-operator 697 (olm.bundle.object), operator-registry 822 (skipRange alone) and 1101 (two heads),
// infinispan-operator 2512 (the template of release-config.yaml), VictoriaMetrics/operator 2195 (its channels).
func TestCatalogs(t *testing.T) {
	const config = "operators/a/1.1.0/release-config.yaml"
	const template, catalog17 = "operators/a/catalog-templates/basic.yaml", "catalogs/v4.17/a/catalog.yaml"
	next := func(edge string) files {
		return published().bundle("1.1.0", "stable", "", "").set(config, "catalog_templates:\n- template_name: basic.yaml\n"+
			"  channels: [stable]\n"+edge)
	}
	ofSemver := func(channels string) files {
		return next("").replace(config, "[stable]", "["+channels+"]").replace("operators/a/ci.yaml", "olm.template.basic", "olm.semver").
			replace("operators/a/ci.yaml", "v4.16, v4.17", "v4.18").
			set(template, "Schema: olm.semver\nGenerateMajorChannels: true\nStable: {Bundles: [{Image: r.example.com/a:1.0.0}]}\n")
	}
	csv := csvOf
	plain := func() files {
		return files{"operators/a/ci.yaml": "updateGraph: replaces-mode\n"}.bundle("1.0.0", "v1", "", "")
	}
	for _, test := range []struct {
		name  string
		files files
		want  []string
	}{
		{"a template and its catalogs", published(), nil},
		{"a field that opm drops", published().replace("operators/a/catalog-templates/basic.yaml", "  - name: a.v1.0.0\n",
			"  - name: a.v1.0.0\n    replace: a.v0.9.0\n"), []string{
			template + ":11: warning: olm.channel has no field entries[0].replace: opm drops it [unknown-field]"}},
		{"bundles that follow each other", plain().bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"), nil},
		{"a new channel", plain().bundle("1.1.0", "v2", "", "  replaces: a.v1.0.0\n"), []string{"operators/a/1.1.0/metadata/annotations.yaml:3: note: " +
			"Package a: a.v1.1.0 is only in channel v2: users of other channels stay: v1 at a.v1.0.0 [release/users-stay]"}},
		{"a new channel to which nothing leads", plain().bundle("1.1.0", "v2", "", ""), []string{"operators/a/1.1.0/metadata/annotations.yaml:3: warning: Package a: " +
			"a.v1.1.0 is only in channel v2: users of other channels stay: v1 at a.v1.0.0, and no replaces, skips or skipRange of it leads from there [release/users-stay]"}},
		{"a default channel that no bundle has", plain().bundle("1.1.0", "v1\n  operators.operatorframework.io.bundle.channel.default.v1: v3", "",
			"  replaces: a.v1.0.0\n"), []string{"operators/a/1.1.0/metadata/annotations.yaml:4: error: Package a: invalid channel \"v3\": " +
			"channel must contain at least one bundle [default-channel]"}},
		{"a release that is skipped, and its users too", plain().bundle("1.0.1", "v1", "", "  replaces: a.v1.0.0\n").
			bundle("1.1.0", "v1", "", "  replaces: a.v1.0.9\n  skips: [a.v1.0.1]\n"), []string{csv("1.1.0") + ":8: error: it replaces a.v1.0.9, and " +
			"no bundle of the operator is that: users of a.v1.0.0 stay [release/update-graph]"}},

		{"a version twice", plain().bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n").replace(csv("1.1.0"), "version: 1.1.0", "version: 1.0.0"),
			[]string{csv("1.1.0") + ":1: error: Package a: duplicate versions found in bundles: [{1.0.0: [a.v1.0.0, a.v1.1.0]}] [duplicate-version]"}},
		{"dangling", plain().bundle("1.0.1", "v1", "", "  replaces: a.v1.0.0\n").bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"),
			[]string{csv("1.0.1") + ":1: error: Channel v1: dangling: the head is a.v1.1.0, and nothing updates a.v1.0.1 [release/update-graph]"}},
		{"it replaces what is not there", plain().bundle("1.1.0", "v1", `olm.skipRange: "<1.1.0"`, "  replaces: a.v1.0.9\n"),
			[]string{csv("1.1.0") + ":8: error: it replaces a.v1.0.9, and no bundle of the operator is that [release/update-graph]"}},
		{"updates in a circle", plain().replace(csv("1.0.0"), "annotations: {}", `annotations: {olm.skipRange: "<1.2.0"}`).
			bundle("1.1.0", "v1", "", "  replaces: a.v1.0.0\n"),
			[]string{csv("1.0.0") + ":3: error: Channel v1: updates form a circle: a.v1.0.0 updates a.v1.0.0 and a.v1.0.0 updates a.v1.1.0 [release/update-graph]"}},
		{"two names", plain().bundle("1.1.0", "v1", "", "  replaces: b.v1.0.0\n").replace(csv("1.0.0"), "name: a.v", "name: b.v"),
			[]string{csv("1.1.0") + `:1: error: the operator is "a" in the CSV, and "b" in all other bundles [catalog/operator-name]`}},
		{"three names", plain().bundle("1.0.1", "v1", "", "  replaces: b.v1.0.0\n").bundle("1.1.0", "v1", "", "  replaces: a.v1.0.1\n").
			replace(csv("1.0.0"), "name: a.v", "name: b.v"),
			[]string{csv("1.1.0") + ":1: error: the bundles have several operator names: a and b [release/update-graph]"}},
		{"another package", next("  replaces: a.v1.0.0\n").replace("operators/a/1.1.0/metadata/annotations.yaml", "v1: a\n", "v1: b\n"),
			[]string{csv("1.1.0") + `:1: error: the operator is "b" in annotations, and "a" in all other bundles [catalog/operator-name]`,
				config + ":2: warning: it replaces a.v1.0.0, and no bundle of the operator is that [release/update-graph]"}},
		{"the first template", func() files {
			f := next("")
			for _, file := range []string{template, catalog17, "catalogs/v4.16/a/catalog.yaml"} {
				delete(f, file)
			}
			return f
		}(), nil},

		{"olm.bundle.object", published().replace("catalogs/v4.17/a/catalog.yaml", metadata1, "- {type: olm.bundle.object, value: {data: e30=}}\n"),
			[]string{"catalogs/v4.17/a/catalog.yaml:11: error: Bundle a.v1.0.0: catalogs from v4.17 on must not have olm.bundle.object: " +
				"render it with --migrate-level bundle-object-to-csv-metadata [release/bundle-format]"}},

		{"a release-config.yaml", next("  replaces: a.v1.0.0\n"), nil},
		{"it has no edge", next(""), []string{
			config + ":2: error: Channel a/stable: users run a.v1.0.0, and a.v1.1.0 is new: no replaces, skips or skipRange of it leads from there, and they stay [release/users-stay]"}},
		{"it has a skipRange alone", next("  skipRange: <1.1.0\n"), []string{
			config + ":2: error: Channel a/stable: users run a.v1.0.0, and a.v1.1.0 is new: only its skipRange leads from there, and opm refuses a channel with two heads [release/users-stay]"}},
		{"its template is another one", next("").replace(config, "basic.yaml", "v4.17.yaml"), []string{
			config + ":2: error: catalog_templates[0].template_name: the catalog_mapping of ci.yaml does not have v4.17.yaml [release/pipeline-files]"}},
		{"its channels are no list", next("").replace(config, "[stable]", "stable"), []string{
			config + ":3: error: catalog_templates[0].channels: has the wrong type: text, want a list [release/pipeline-files]"}},
		{"its default channel is another one", next("  defaultChannel: beta\n"), []string{
			config + ":4: error: catalog_templates[0].defaultChannel: beta is not among the channels [release/pipeline-files]"}},
		{"it replaces a typing error, and skips another operator", next("  replaces: a.v1.0.9\n  skips: [a.v1.0.5, b.v1.0.0]\n"), []string{
			config + ":2: error: Channel a/stable: users run a.v1.0.0, and a.v1.1.0 is new: no replaces, skips or skipRange of it leads from there, and they stay [release/users-stay]",
			config + ":2: warning: it replaces a.v1.0.9, and no bundle of the operator is that [release/update-graph]",
			config + ":2: warning: it skips b.v1.0.0, and no bundle of the operator is that [release/update-graph]"}},
		{"its channel is misspelt", next("  replaces: a.v1.0.0\n").replace(config, "[stable]", "[stabel]"), []string{
			config + ":2: warning: Package a: a.v1.1.0 is only in channel stabel: users of other channels stay: stable at a.v1.0.0 [release/users-stay]"}},
		{"its channel is of the next version", next("  replaces: a.v1.0.0\n").replace(config, "[stable]", "[stable-v2]"), []string{
			config + ":2: note: Package a: a.v1.1.0 is only in channel stable-v2: users of other channels stay: stable at a.v1.0.0 [release/users-stay]"}},
		{"nothing leads to its channel", next("").replace(config, "[stable]", "[candidate]"), []string{
			config + ":2: warning: Package a: a.v1.1.0 is only in channel candidate: users of other channels stay: stable at a.v1.0.0, and no replaces, skips or " +
				"skipRange of it leads from there [release/users-stay]"}},
		{"it has no channel", next("").replace(config, "[stable]", "[]"), []string{
			config + ":3: error: catalog_templates[0].channels: missing: the pipeline adds the bundle to no channel [release/pipeline-files]"}},
		{"it has no template", next("").set(config, "merge: true\n"), []string{
			config + ":1: error: catalog_templates: missing: the pipeline adds the bundle to no template [release/pipeline-files]"}},
		{"channels of a semver template", ofSemver("Candidate, Stable"), nil},
		{"channels that a semver template makes", ofSemver("Stable, stable-v1"), []string{config + `:3: error: catalog_templates[0].channels[1]: ` +
			`unknown channel "stable-v1" of a template of schema olm.semver [release/pipeline-files]`}},
		{"without file-based catalogs", next("  replaces: a.v1.0.0\n").replace("operators/a/ci.yaml", "enabled: true", "enabled: false").
			replace(csvOf("1.1.0"), "version: 1.1.0\n", "version: 1.1.0\n  replaces: a.v1.0.0\n"),
			[]string{config + ":1: error: fbc.enabled of ci.yaml is not true [release/pipeline-files]"}},

		{"a catalog of two templates", published().replace("operators/a/ci.yaml", "  - template_name", "  - {template_name: old.yaml, type: olm.semver, catalog_names: [v4.17]}\n  - template_name"), []string{
			"operators/a/ci.yaml:4: error: fbc.catalog_mapping[0].template_name: catalog-templates has no template old.yaml [release/pipeline-files]",
			"operators/a/ci.yaml:7: error: fbc.catalog_mapping[1].catalog_names: v4.17 is made of two templates, old.yaml and basic.yaml [release/pipeline-files]"}},
		{"another type", published().replace("operators/a/ci.yaml", "olm.template.basic", "olm.semver"), []string{
			"operators/a/ci.yaml:5: error: fbc.catalog_mapping[0].type: basic.yaml is one of schema olm.template.basic [release/pipeline-files]"}},
		{"another mode", plain().set("operators/a/ci.yaml", "updateGraph: semver\n"), []string{
			"operators/a/ci.yaml:1: error: updateGraph: semver is neither replaces-mode nor semver-mode [release/pipeline-files]"}},

		{"a catalog that was edited", published().replace(catalog17, "- name: a.v1.0.0\n", "- name: a.v1.0.0\n  skipRange: <1.0.0\n"), []string{
			template + ": warning: catalogs/v4.17/a is not what it makes, by 1 difference: render it again [release/template]",
			template + ":10: warning: Channel a/stable: a.v1.0.0: skipRange none, was <1.0.0 [edge-changed]"}},
		{"a template that leaves users behind", published().replace("operators/a/ci.yaml", "v4.16, ", "").bundle("1.1.0", "stable", "", "").
			replace(template, "  - name: a.v1.0.0", "  - name: a.v1.1.0").replace(template, "a:1.0.0", "a:1.1.0"), []string{
			template + ": warning: catalogs/v4.17/a is not what it makes, by 4 differences: render it again [release/template]",
			template + ":6: error: Channel a/stable: a.v1.0.0: nothing leads to the head a.v1.1.0 any more; OLM keeps it [release-stranded]",
			template + ":6: warning: Channel a/stable: gone: a.v1.0.0 [entry-removed]",
			template + ":6: note: Channel a/stable: new: a.v1.1.0 [entry-added]",
			template + ":10: note: Channel a/stable: the head is a.v1.1.0, was a.v1.0.0 [head-moved]"}},
		{"a template with two heads", published().bundle("1.1.0", "stable", "", "").replace(template,
			"  - name: a.v1.0.0\n- schema: olm.bundle", "  - name: a.v1.0.0\n  - name: a.v1.1.0\n    replaces: v1.0.0\n"+
				"- schema: olm.bundle\n  image: r.example.com/a:1.1.0\n- schema: olm.bundle"), []string{
			template + `:10: error: Package a: invalid channel "stable": multiple channel heads found in graph: a.v1.0.0, a.v1.1.0 [several-heads]`,
			template + ":11: note: Channel a/stable: a.v1.1.0 replaces v1.0.0, which is not in the channel [dangling-replaces]"}},
		{"a bundle in no channel", published().bundle("1.1.0", "stable", "", "").set(template, basic1+"- schema: olm.bundle\n  image: r.example.com/a:1.1.0\n"), []string{
			csv("1.1.0") + `:1: error: Package a: package "a", bundle "a.v1.1.0" not found in any channel entries [no-entry]`}},
		{"a deprecation of nothing", published().replace(template, "- schema: olm.bundle", "- schema: olm.deprecations\n  package: a\n  entries:\n"+
			"  - reference: {schema: olm.bundle, name: a.v0.9.0}\n    message: old\n- schema: olm.bundle"), []string{
			template + `:14: error: Package a: cannot deprecate bundle "a.v0.9.0" for package "a": bundle not found [deprecation]`}},
		{"nobody gets it", published().bundle("1.1.0", "stable", "", ""), []string{csv("1.1.0") +
			":1: warning: a.v1.1.0 is in no catalog, no template and no release-config.yaml that counts: nobody gets it [release/users-stay]"}},
		{"older releases are nowhere", nowhere(""), []string{
			csv("0.9.0") + ":1: warning: users of a.v0.9.0 stay: no catalog and no template has it, and no entry leads from there [release/users-stay]",
			csv("1.0.5") + ":1: error: users of a.v1.0.5, a.v1.0.6 stay: no catalog and no template has it, and no entry leads from there [release/users-stay]"}},
		{"entries name them", nowhere("    skips: [a.v1.0.5, a.v1.0.6]\n    skipRange: <1.0.0\n"), nil},
		{"what skips them is skipped", nowhere("    skips: [a.v1.0.1, a.v1.0.5]\n    skipRange: <1.0.0\n  - name: a.v1.0.1\n    replaces: a.v1.0.0\n    skips: [a.v1.0.6]\n").
			bundle("1.0.1", "stable", "", "").replace(template, "- schema: olm.bundle\n", "- {schema: olm.bundle, image: r.example.com/a:1.0.1}\n- schema: olm.bundle\n"), []string{
			csv("1.0.6") + ":1: error: users of a.v1.0.6 stay: no catalog and no template has it, and no entry leads from there [release/users-stay]"}},
		{"the release will update them", nowhere("").bundle("1.2.0", "stable", "", "").set("operators/a/1.2.0/release-config.yaml",
			"catalog_templates:\n- {template_name: basic.yaml, channels: [stable], replaces: a.v1.1.0, skips: [a.v0.9.0, a.v1.0.5, a.v1.0.6]}\n"), nil},
		{"a template of nothing", published().replace(template, "name: a\n", "name: b\n"), []string{
			template + ": error: " + template + ": it is of 2 packages, and must be of one [release/template]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := "1.0.0"
			for path := range test.files {
				if v, ok := strings.CutSuffix(strings.TrimPrefix(path, "operators/a/"), "/manifests/csv.yaml"); ok {
					version = max(version, v)
				}
			}
			got, said := judged(t, test.files, "operators/a", version)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("%s\n%s", d, said)
			}
		})
	}
}

// nowhere has three older bundles that its template, which makes no catalog that is there, does not have. edges are
// fields of the head.
func nowhere(edges string) files {
	const template = "operators/a/catalog-templates/basic.yaml"
	f := files{"operators/a/ci.yaml": strings.Replace(ciBasic, "v4.16, ", "", 1), template: strings.Replace(basic1,
		"  - name: a.v1.0.0\n- schema", "  - name: a.v1.1.0\n    replaces: a.v1.0.0\n"+edges+"  - name: a.v1.0.0\n- schema", 1) +
		"- schema: olm.bundle\n  image: r.example.com/a:1.1.0\n"}
	for _, version := range []string{"0.9.0", "1.0.0", "1.0.5", "1.0.6", "1.1.0"} {
		f.bundle(version, "stable", "", "")
	}
	return f
}

// The answer about an operator does not depend on the directory that is given.
func TestCheckDirectories(t *testing.T) {
	dir := t.TempDir()
	for path, text := range nowhere("").bundle("1.2.0", "stable", "", "") {
		file := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var first []string
	for _, at := range [][2]string{{"", "operators/a"}, {"", "operators"}, {"", "."}, {"", "operators/a/1.2.0"},
		{"operators/a/1.2.0", "."}, {"operators/a", "1.2.0"}, {"operators/a", "."}} {
		root := at[1]
		t.Chdir(filepath.Join(dir, at[0]))
		list, n, err := Check(t.Context(), root, validate.Options{}, nil)
		if n != 1 || err != nil {
			t.Fatal(root, n, err)
		}
		var got []string
		for _, f := range list {
			if f.Level != findings.Note {
				got = append(got, filepath.Base(f.Path)+": "+f.Description())
			}
		}
		slices.Sort(got)
		if first == nil {
			first = got
		}
		if d := cmp.Diff(first, got); d != "" || !strings.Contains(strings.Join(got, "\n"), "users of a.v1.0.5") {
			t.Errorf("%s: %s\n%q", at, d, got)
		}
	}
}

// What is not looked at is said.
func TestCatalogsSaid(t *testing.T) {
	const template = "operators/a/catalog-templates/basic.yaml"
	for _, test := range []struct {
		name  string
		files files
		want  string
	}{
		{"all", published(), "looked at 1 bundle, 2 catalogs and 1 template"},
		{"an image that nobody knows", published().replace(template, "a.v1.0.0", "a.v2.0.0"),
			"not rendered: " + template + ": nothing says what a.v2.0.0 is: no directory beside ci.yaml, and no published catalog has it"},
		{"another kind of template", published().set("operators/a/catalog-templates/c.yaml", "schema: olm.composite\n"),
			`not rendered: operators/a/catalog-templates/c.yaml: olmgen does not know the template "olm.composite"`},
		{"a catalog that is not there", published().replace("operators/a/ci.yaml", "v4.16, ", "v4.16, v4.23, "),
			"not compared with basic.yaml: catalogs/v4.23/a is not there, or not read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := "1.0.0"
			if test.files[csvOf("1.1.0")] != "" {
				version = "1.1.0"
			}
			if got, said := judged(t, test.files, "operators/a", version); got != nil || !strings.Contains(said, test.want) {
				t.Errorf("%q, %s", got, said)
			}
		})
	}
}

// The repository of an operator has a bundle beside a catalog, and no ci.yaml.
func TestCatalogsOfOperator(t *testing.T) {
	own := func(spec string) files {
		f := files{}
		for path, text := range (files{}).bundle("1.1.0", "stable", "", spec) {
			f[strings.Replace(path, "operators/a/1.1.0", "bundle", 1)] = text
		}
		return f.set("catalog/a.yaml", graph1).set("catalog/bundles/a.yaml", ofCatalog("1.0.0", metadata1))
	}
	for _, test := range []struct {
		name  string
		files files
		want  []string
	}{
		{"it leads from the head", own("  replaces: a.v1.0.0\n"), nil},
		{"a catalog beside others", files{"a.yaml": graph1 + ofCatalog("1.0.0", metadata1), "values.yaml": "a: {{ .b }}\n",
			"bundle/manifests/csv.yaml": own("")["bundle/manifests/csv.yaml"], "bundle/metadata/annotations.yaml": own("")["bundle/metadata/annotations.yaml"],
			"published/v0.2/catalog.yaml": strings.Replace(graph1, "v1.0.0", "v1.1.0", 1) + ofCatalog("1.1.0", "- {type: olm.bundle.object, value: {data: e30=}}\n")}, nil},
		{"it does not", own(""), []string{"bundle/manifests/csv.yaml:1: error: Channel a/stable: users run a.v1.0.0, and " +
			"a.v1.1.0 is new: no replaces, skips or skipRange of it leads from there, and they stay [release/users-stay]"}},
		{"it replaces another operator", own("  replaces: b.v1.0.0\n  skips: [a.v1.0.0]\n"), []string{
			"bundle/manifests/csv.yaml:8: warning: it replaces b.v1.0.0, and no bundle of the operator is that [release/update-graph]"}},
		{"a template", own("  replaces: a.v1.0.0\n").set("template.yaml", strings.NewReplacer("  - name: a.v1.0.0\n",
			"  - name: a.v1.1.0\n    skips: [a.v1.0.0]\n", "a:1.0.0", "a:1.1.0").Replace(basic1)), []string{
			"template.yaml: warning: catalog is not what it makes, by 3 differences: render it again [release/template]",
			"template.yaml:6: warning: Channel a/stable: gone: a.v1.0.0 [entry-removed]",
			"template.yaml:6: note: Channel a/stable: new: a.v1.1.0 [entry-added]",
			"template.yaml:10: note: Channel a/stable: the head is a.v1.1.0, was a.v1.0.0 [head-moved]"}},
		{"a template alone, from which it does not lead", func() files {
			f := own("").set("template.yaml", strings.ReplaceAll(basic1, "r.example.com/a:1.0.0", "r.example.com/a:v1.0.0"))
			for path, text := range (files{}).bundle("1.0.0", "stable", "", "") {
				f[strings.Replace(path, "operators/a/1.0.0", "older", 1)] = text
			}
			delete(f, "catalog/a.yaml")
			delete(f, "catalog/bundles/a.yaml")
			return f
		}(), []string{"bundle/manifests/csv.yaml:1: error: Channel a/stable: users run a.v1.0.0, and " +
			"a.v1.1.0 is new: no replaces, skips or skipRange of it leads from there, and they stay [release/users-stay]"}},
		{"a catalog that its own bundle is added to", own("").set("catalog/a.yaml", graph1+
			"---\nschema: olm.package\nname: b\ndefaultChannel: x\n---\nschema: olm.channel\npackage: b\nname: x\nentries: [{name: b.v1.0.0}]\n").
			replace("catalog/bundles/a.yaml", "package: a", "package: b").
			replace("catalog/bundles/a.yaml", "a.v1.0.0", "b.v1.0.0").replace("catalog/bundles/a.yaml", "packageName: a", "packageName: b"), nil},
		{"a template whose bundles nobody knows", own("  replaces: a.v1.0.0\n").set("template.yaml",
			strings.Replace(basic1, "  - name: a.v1.0.0\n", "  - name: a.v0.1.0\n  - name: a.v0.3.0\n    replaces: a.v0.2.0\n", 1)), []string{
			`template.yaml: error: template.yaml: invalid channel "stable": multiple channel heads found in graph: a.v0.1.0, a.v0.3.0 [release/template]`}},
		{"a catalog that is no YAML", own("  replaces: a.v1.0.0\n").set("catalog/a.yaml", "schema: olm.package\nname: [\n"), []string{
			"catalog: error: not read: catalog/a.yaml:2: document that starts in line 1: did not find expected node content [schema]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, said := judged(t, test.files, ".", "bundle")
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("%s\n%s", d, said)
			}
		})
	}
}
