package audit_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

var update = flag.Bool("update", false, "write schema.json anew")

const example = "../../../examples/memcached-operator/bundle"

// write makes files of a text in which "-- path --" begins a file.
func write(t *testing.T, dir, text string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "-- "), "\n-- ") {
		name, data, ok := strings.Cut(part, " --\n")
		if !ok {
			t.Fatalf("%q is no file", part)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const metadata = `-- catalog/catalog.yaml --
schema: olm.package
name: cache
defaultChannel: stable
---
schema: olm.channel
package: cache
name: stable
entries:
- name: cache.v1.0.0
- name: cache.v1.1.0
  replaces: cache.v1.0.0
---
schema: olm.bundle
package: cache
name: cache.v1.0.0
image: example.com/cache:1.0.0
properties:
- type: olm.package
  value: {packageName: cache, version: 1.0.0}
- type: olm.csv.metadata
  value:
    displayName: Cache
    installModes:
    - {type: AllNamespaces, supported: true}
    - {type: OwnNamespace, supported: false}
---
schema: olm.bundle
package: cache
name: cache.v1.1.0
image: example.com/cache:1.1.0
properties:
- type: olm.package
  value: {packageName: cache, version: 1.1.0}
- type: olm.maxOpenShiftVersion
  value: "4.20"
- type: olm.csv.metadata
  value:
    displayName: Cache
    installModes:
    - {type: AllNamespaces, supported: true}
    crdDescriptions: {owned: [{name: caches.example.com, kind: Cache, version: v1}]}
---
schema: olm.deprecations
package: cache
entries:
- reference: {schema: olm.bundle, name: cache.v1.0.0}
  message: too old
`

func run(t *testing.T, want func(*audit.Package, *audit.Release) bool, workers int, refs ...string) *audit.Report {
	t.Helper()
	set, err := audit.Load(context.Background(), refs, audit.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Run(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func printed(t *testing.T, r *audit.Report, f findings.Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := print.Report(&b, r, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A bundle: what its row says.
func TestBundle(t *testing.T) {
	r := run(t, audit.Head, 1, example)
	if len(r.Rows) != 1 || len(r.Unread) != 0 {
		t.Fatalf("%d rows, %d unread", len(r.Rows), len(r.Unread))
	}
	row := r.Rows[0]
	if !row.Complete || !row.Head || row.Version != "0.0.1" || row.Package != "memcached-operator" || row.CRDs.Count != 1 ||
		row.CRDs.Bytes == 0 || row.Images.Digest+row.Images.Tag == 0 || row.Error != "" {
		t.Errorf("%+v", row)
	}
	if len(row.Reaches) != 2 || row.Reaches[0].Risk != "everything" || !strings.HasSuffix(row.Reaches[0].Text, "-> every right") ||
		row.Reaches[1].Risk != "runs-in-pods" || !row.Reaches[1].Cluster {
		t.Errorf("reaches: %+v", row.Reaches)
	}
	if row.Findings.Errors != findings.Count(r.Findings(), findings.Error) || row.Findings.Errors == 0 {
		t.Errorf("%+v", row.Findings)
	}
}

// A catalog that does not hold the objects: the head, all versions, deprecation, what holds back an upgrade.
func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, metadata)
	r := run(t, audit.Head, 1, filepath.Join(dir, "catalog"))
	if len(r.Rows) != 1 || r.Rows[0].Name != "cache.v1.1.0" || r.Rows[0].Complete || r.Rows[0].Upgradeable ||
		r.Rows[0].CRDs.Count != 1 || !slices.Equal(r.Rows[0].InstallModes, []string{"AllNamespaces"}) {
		t.Fatalf("%+v", r.Rows)
	}
	r = run(t, audit.All, 1, filepath.Join(dir, "catalog"))
	if len(r.Rows) != 2 || r.Rows[1].Deprecated != "too old" || r.Rows[0].Deprecated != "" {
		t.Fatalf("%+v", r.Rows)
	}
	m := r.Totals.Metrics
	if m.CSVs != 2 || m.Upgradeable != 1 || m.NotUpgradeable != 1 || m.InstallModes[3] != (audit.Count{Name: "AllNamespaces", Releases: 2}) {
		t.Errorf("%+v", m)
	}
	if text := printed(t, r, findings.Text); !strings.Contains(text, "? the objects of the bundle are not in the catalog") {
		t.Errorf("%s", text)
	}
}

// A bundle in a directory fills in what the catalog does not hold; a version that the catalog does not have is listed.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, strings.NewReplacer("cache.v1.1.0", "memcached-operator.v0.0.1", "1.1.0", "0.0.1",
		": cache\n", ": memcached-operator\n", "packageName: cache", "packageName: memcached-operator").Replace(metadata))
	r := run(t, audit.All, 1, filepath.Join(dir, "catalog"), example)
	if len(r.Rows) != 2 {
		t.Fatalf("%+v", r.Rows)
	}
	for _, row := range r.Rows {
		if row.Complete != (row.Name == "memcached-operator.v0.0.1") {
			t.Errorf("%+v", row)
		}
	}
}

// The update graph of directories is that of package catalog, and what it lacks is said.
func TestUpdateGraphs(t *testing.T) {
	bundles := ""
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		bundles += "-- DIR/a/" + v + `/metadata/annotations.yaml --
annotations:
  operators.operatorframework.io.bundle.package.v1: a
  operators.operatorframework.io.bundle.channels.v1: stable
-- DIR/a/` + v + `/manifests/csv.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v` + v + `}
spec: {version: ` + v + `, install: {strategy: deployment, spec: {deployments: []}}, installModes: [{type: AllNamespaces, supported: true}]}
`
	}
	bundles = strings.Replace(bundles, "version: 1.1.0", "version: 1.1.0, replaces: a.v1.0.0", 1)
	const fbc = "fbc: {enabled: true, catalog_mapping: [{template_name: t.yaml, catalog_names: [v4.10]}]}\n"
	const template = `-- DIR/a/catalog-templates/t.yaml --
schema: olm.template.basic
entries:
- {schema: olm.package, name: a, defaultChannel: fast}
- {schema: olm.channel, package: a, name: fast, entries: [{name: a.v1.0.0}, {name: a.v2.0.0, replaces: a.v1.0.0}]}
- {schema: olm.bundle, image: "r.example.com/a:1.0.0"}
- {schema: olm.bundle, image: "r.example.com/a:2.0.0"}
`
	for _, test := range []struct{ name, files, warns string }{
		{"semver", "-- DIR/a/ci.yaml --\nupdateGraph: semver-mode\n", ""},
		{"replaces", "-- DIR/a/ci.yaml --\nupdateGraph: replaces-mode\n", "nothing leads from a.v1.0.0, a.v1.1.0: opm drops them"},
		{"template", "-- DIR/a/ci.yaml --\n" + fbc + template, ""},
		{"broken", "-- DIR/a/ci.yaml --\n" + fbc + strings.ReplaceAll(template, "a.v1.0.0", "a.v1.0.1"), "nothing says what a.v1.0.1 is"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, strings.ReplaceAll(bundles+test.files, "DIR", "operators"))
			dir = filepath.Join(dir, "operators")
			warned := ""
			o := audit.Options{Source: source.Options{Warn: func(format string, args ...any) { warned += fmt.Sprintf(format, args...) }}}
			set, err := audit.Load(t.Context(), []string{dir}, o)
			if err != nil || len(set.Packages) != 1 || len(set.Packages[0].Releases) != 3 || len(set.Unread) > 0 {
				t.Fatal(set, err)
			}
			if test.warns == "" && warned != "" || !strings.Contains(warned, test.warns) {
				t.Error(warned)
			}
			c, err := catalog.Read(t.Context(), dir, catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			entries := func(p *catalog.Package) (out []string) {
				for _, ch := range p.Channels {
					for _, e := range ch.Entries {
						out = append(out, fmt.Sprint(p.DefaultChannel, " ", ch.Name, " ", e.Name, " ", e.Replaces))
					}
				}
				return out
			}
			want := []string(nil)
			if c.Packages["a"] != nil {
				want = entries(c.Packages["a"])
			}
			if d := cmp.Diff(want, entries(set.Packages[0].Package)); d != "" || (want == nil) != (test.name == "broken") {
				t.Error(d)
			}
		})
	}
}

// One bad bundle does not stop the audit.
func TestBad(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "good"), os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "-- bad/manifests/csv.yaml --\nkind: ClusterServiceVersion\nmetadata: [\n-- empty/metadata/annotations.yaml --\nannotations: {}\n")
	r := run(t, audit.Head, 2, dir)
	if len(r.Rows) != 1 || len(r.Unread) != 2 || r.Totals.Failed != 2 || r.Totals.Complete != 1 {
		t.Fatalf("%+v", r)
	}
	if !findings.Reaches(r.Findings(), findings.Error) {
		t.Error("an unread bundle is no finding")
	}
	text := printed(t, r, findings.Text)
	if strings.Count(text, "\nerror: ") != 2 {
		t.Errorf("%s", text)
	}
	for place, want := range map[string]string{"good/0.0.3": "memcached-operator 0.0.3", "redis/1.0.0": "redis 1.0.0"} {
		dir := t.TempDir()
		write(t, dir, "-- "+place+"/manifests/csv.yaml --\nkind: ClusterServiceVersion\nmetadata: [\n")
		if err := os.CopyFS(filepath.Join(dir, "good", "0.0.1"), os.DirFS(example)); err != nil {
			t.Fatal(err)
		}
		if text := printed(t, run(t, audit.Head, 2, dir), findings.Text); !strings.Contains(text, "\nerror: "+want+": ") {
			t.Errorf("%s: no %s in\n%s", place, want, text)
		}
	}
}

// A tree with installed operators.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	csv := func(name, extra string) string {
		return fmt.Sprintf("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: %s, "+
			"namespace: op%s}\nspec:\n  version: 1.0.0\n  installModes:\n  - {type: OwnNamespace, supported: true}\n---\n", name, extra)
	}
	condition := func(name, status string) string {
		return "apiVersion: operators.coreos.com/v2\nkind: OperatorCondition\nmetadata: {name: " + name + ", namespace: op}\nspec:\n" +
			"  conditions: [{type: Upgradeable, status: '" + status + "', reason: r, message: m, lastTransitionTime: 2024-01-01T00:00:00Z}]\n---\n"
	}
	write(t, dir, "-- tree.yaml --\n"+csv("a.v1.0.0", "")+
		strings.NewReplacer("Own", "Single", "---", "status: {phase: Succeeded, reason: InstallSucceeded}\n---").Replace(csv("b.v1.0.0", ""))+csv("c.v1.0.0", ", labels: {olm.copiedFrom: x}")+
		condition("a.v1.0.0", "False")+condition("b.v1.0.0", "True")+
		"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: op}\nspec: {targetNamespaces: [op]}\n---\n"+
		"apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: op}\n")
	read, err := tree.Read(t.Context(), []string{dir}, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := audit.OfTree(t.Context(), read, review.TreeOptions{Name: dir}, audit.Options{Form: fit.OLMv0})
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Run(t.Context(), audit.Head)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	for _, row := range r.Rows {
		verdicts = append(verdicts, row.Name+" "+row.Verdict.String())
	}
	const failed = "b.v1.0.0 does not start: it becomes Failed in the cluster (UnsupportedOperatorGroup): OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"
	if !slices.Contains(verdicts, failed) || slices.Contains(verdicts, strings.Replace(failed, "b.", "a.", 1)) {
		t.Errorf("verdicts %q, want %q", verdicts, failed)
	}
	m := r.Totals.Metrics
	if m.CSVs != 2 || m.Subscriptions != 1 || m.Upgradeable != 1 || m.NotUpgradeable != 1 {
		t.Errorf("%+v", m)
	}
}

// A directory without anything is an error that says so, and so is one that does not exist.
func TestNothing(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := audit.Load(context.Background(), []string{path}, audit.Options{}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

// Hostile text cannot make a line, a terminal sequence or a formula of its own.
func TestHostile(t *testing.T) {
	for _, bad := range []string{"=1+1", "a\nb", "\x1b[31mred", "@x", "a\tb", "\u202ex"} {
		row := audit.Row{Package: bad, Version: bad, Name: bad, Source: bad, Error: bad, Deprecated: bad, InstallModes: []string{bad},
			Unsupported: []string{bad}, Complete: true}
		r := &audit.Report{Rows: []audit.Row{row}, Unread: []audit.Unread{{Source: bad, Error: bad}}}
		if lines := strings.Count(printed(t, r, findings.Text), "\n"); lines != 7 {
			t.Errorf("%q: %d lines:\n%s", bad, lines, printed(t, r, findings.Text))
		}
		records, err := csv.NewReader(strings.NewReader(printed(t, r, findings.CSV))).ReadAll()
		if err != nil || len(records) != 3 {
			t.Fatalf("%q: %d records, %v", bad, len(records), err)
		}
		for _, record := range records {
			for _, cell := range record {
				if strings.ContainsAny(cell, "\n\x1b") || cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
					t.Errorf("%q: cell %q", bad, cell)
				}
			}
		}
	}
}

var schema = schematest.Schema{
	Type: reflect.TypeFor[audit.Report](), ID: "https://olmgen.dev/schemas/auditreport-v1alpha1.json",
	Title:  "olmgen catalog audit --format json",
	Consts: map[string]string{"apiVersion": audit.APIVersion, "kind": audit.Kind},
	Enums:  map[reflect.Type]any{reflect.TypeFor[permissions.Risk](): permissions.Dangerous},
	Description: map[string]string{
		"Report.apiVersion":            "Changes when a field changes its meaning or goes",
		"Report.target":                "The releases that unfit is about: those that were asked for, or the newest OLM v1",
		"Report.rows":                  "By package, then source, the newest release first",
		"Report.unread":                "Bundles that are in no row",
		"Unread.package":               "Of the bundles beside it, or the directory. Missing if it is not known",
		"Unread.version":               "The name of its directory",
		"Row.source":                   "The catalog's file, the bundle's directory or the file of a tree",
		"Row.name":                     "The name of the ClusterServiceVersion",
		"Row.version":                  "Empty if it is not known",
		"Row.channels":                 "Sorted. Empty in a tree",
		"Row.head":                     "The head of the default channel",
		"Row.deprecated":               "Why it is deprecated",
		"Row.complete":                 "The objects of the bundle were read. If false, only installModes, the number of CRDs and what the catalog says are known",
		"Row.installModes":             "That it supports, sorted",
		"Row.upgradeable":              "False if olm.maxOpenShiftVersion holds back upgrades of OpenShift, or an OperatorCondition in a tree holds back that of the operator",
		"Row.reaches":                  "What its permissions reach, the most dangerous first, with the install mode that olmgen render takes by default",
		"Row.unsupportedKinds":         "Kinds of objects that OLM refuses in a bundle",
		"Row.unfit":                    "What keeps it from working with the target: rules without the prefix target/",
		"Row.findings":                 "What olmgen validate and olmgen permissions find",
		"Report.notes":                 "On a tree: what its objects stand for, and what is not in the rows",
		"Row.cluster":                  "Of a tree with several",
		"Row.error":                    "Why it cannot be read, or not be rendered",
		"Reach.cluster":                "In all namespaces",
		"Reach.text":                   "In words",
		"CRDs.count":                   "Of a release whose CRDs are not known, those that it owns",
		"CRDs.bytes":                   "0 of a release whose CRDs are not known",
		"Images.tag":                   "And those that are not valid",
		"Count.name":                   "An install mode, or one of the values of risk",
		"Count.cluster":                "Of these, in all namespaces",
		"Metrics.subscription_count":   "In trees",
		"Metrics.install_plan_count":   "In trees",
		"Metrics.catalog_source_count": "In trees",
		"Totals.releases":              "Rows",
		"Totals.failed":                "Rows with an error, and unread",
		"Totals.withWebhooks":          "Releases",
		"Totals.reaches":               "All groups",
		"Totals.unfit":                 "Releases, by what keeps them from the target",
		"Totals.metrics":               "The counts that OLM has as metrics, if these releases were installed",
	},
}

// The schema is that of the types, and what is printed conforms to it.
func TestSchema(t *testing.T) {
	want, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want, *update)
	dir := t.TempDir()
	write(t, dir, metadata)
	for _, refs := range [][]string{{example}, {filepath.Join(dir, "catalog")}} {
		if err := conforms(printed(t, run(t, audit.All, 1, refs...), findings.JSON)); err != nil {
			t.Error(err)
		}
	}
	if conforms(`{"apiVersion": "olmgen.dev/v1alpha1", "kind": "AuditReport", "rows": [{}]}`) == nil {
		t.Error("an empty row conforms")
	}
}

func conforms(document string) error { return schematest.Check(audit.Schema, []byte(document)) }

// The same bytes with any number of workers, over real bundles and catalogs.
func TestCorpus(t *testing.T) {
	refs := slices.Concat(corpustest.Files(t, "catalogs", "*"), corpustest.Files(t, "bundles", "*", "*"), corpustest.Files(t, "packagemanifests", "*"))
	var want string
	for _, workers := range []int{1, 7} {
		r := run(t, audit.Head, workers, refs...)
		got := ""
		for _, f := range []findings.Format{findings.Text, findings.JSON, findings.CSV, findings.SARIF} {
			got += printed(t, r, f)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Error("the number of workers changes the output")
		}
		if err := conforms(printed(t, r, findings.JSON)); err != nil {
			t.Error(err)
		}
		fmt.Printf("audit: %d packages, %d releases, %d with their objects, %d that cannot be read\n", r.Totals.Packages,
			r.Totals.Releases, r.Totals.Complete, r.Totals.Failed)
	}
}

// A catalog that holds the objects: its row is that of the bundle, and findings are at its olm.bundle.
func TestObjects(t *testing.T) {
	text := "schema: olm.package\nname: memcached-operator\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: memcached-operator\n" +
		"name: stable\nentries:\n- name: memcached-operator.v0.0.1\n---\nschema: olm.bundle\npackage: memcached-operator\n" +
		"name: memcached-operator.v0.0.1\nproperties:\n- {type: olm.package, value: {packageName: memcached-operator, version: 0.0.1}}\n"
	files, err := filepath.Glob(filepath.Join(example, "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += "- {type: olm.bundle.object, value: {data: " + base64.StdEncoding.EncodeToString(data) + "}}\n"
	}
	name := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, want := run(t, audit.Head, 1, name), run(t, audit.Head, 1, example)
	row := want.Rows[0]
	row.Source, row.Channels = filepath.ToSlash(name), []string{"stable"}
	if d := cmp.Diff(row, got.Rows[0]); d != "" {
		t.Errorf("(-bundle +catalog):\n%s", d)
	}
	for _, f := range got.Findings() {
		if f.Path != filepath.ToSlash(name) || f.Line != 10 {
			t.Errorf("%+v", f)
		}
	}
}
