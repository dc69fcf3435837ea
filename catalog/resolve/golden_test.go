package resolve_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden resolves the clusters of testdata: each has catalogs, the objects of a cluster and what is printed.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		r := resolveArchive(t, a)
		for _, f := range r.Findings() {
			seen[f.Rule] = true
		}
		var got bytes.Buffer
		if err := print.Report(&got, r, findings.Text); err != nil {
			t.Fatal(err)
		}
		golden.CheckArchived(t, file, a, "want.txt", got.Bytes(), *update)
		checkSchema(t, r)
		var again bytes.Buffer
		if err := print.Report(&again, resolveArchive(t, a), findings.Text); err != nil || again.String() != got.String() {
			t.Errorf("a second run prints something else: %v\n%s", err, cmp.Diff(got.String(), again.String()))
		}
	})
	checkSeen(t, resolve.Rules(), seen)
}

// checkSeen compares the rules with those that some case has a finding of.
func checkSeen(t *testing.T, rules []findings.Rule, seen map[string]bool) {
	t.Helper()
	for _, rule := range rules {
		if !seen[rule.ID] {
			t.Errorf("no case has the finding %s", rule.ID)
		}
		delete(seen, rule.ID)
	}
	for id := range seen {
		t.Errorf("there is no rule %s", id)
	}
}

// A failure is at the Subscription that has a part in it, and says whether a dependency has one.
func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		subscription string
		dependency   bool
	}{"second-at-fault": {"b", true}, "missing-package": {"z", false}} {
		a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		r := resolveArchive(t, a)
		if got := r.Namespaces[0].Failure; got == nil || got.Dependency != c.dependency {
			t.Errorf("%s: %+v", name, got)
		}
		i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "cluster.yaml" })
		before, _, _ := strings.Cut(string(a.Files[i].Data), "metadata: {name: "+c.subscription+",")
		if f := r.Findings()[0]; f.Rule != "no-solution" || f.Line != strings.Count(before, "\n")-1 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// What OLM does in a namespace of several clusters is said once if it is the same, whatever file says so.
func TestAdd(t *testing.T) {
	found := func(message, file string) *resolve.Result {
		return &resolve.Result{Findings: []findings.Finding{
			{Rule: "second-subscription", Level: findings.Warning, Message: message, File: file, Line: len(file)}}}
	}
	var r resolve.Report
	r.Add("east", "ns", found("x", "east.yaml"))
	r.Add("west", "ns", found("x", "west/a.yaml"))
	r.Add("south", "ns", found("y", "east.yaml"))
	r.Add("", "ns", found("x", "east.yaml"))
	r.Add("north", "other", found("x", "east.yaml"))
	var got []string
	for _, n := range r.Namespaces {
		got = append(got, n.Name+" "+strings.Join(n.Clusters, " "))
	}
	if d := cmp.Diff([]string{"ns east west", "ns south", "ns ", "other north"}, got); d != "" || r.Warnings != 4 {
		t.Errorf("%d warnings; (-want +got):\n%s", r.Warnings, d)
	}
}

func TestHeld(t *testing.T) {
	var got []string
	for _, rule := range resolve.Rules() {
		if resolve.Held(rule.ID) {
			got = append(got, rule.ID)
		}
	}
	if d := cmp.Diff([]string{"no-update-path", "update-held-back"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func checkSchema(t *testing.T, r *resolve.Report) {
	t.Helper()
	schema, err := os.ReadFile("../../cmd/olmgen/schemas/ResolveReport.json")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := print.Report(&text, r, findings.JSON); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Check(schema, text.Bytes()); err != nil {
		t.Error(err)
	}
}

// resolveArchive resolves what the files of an archive hold.
func resolveArchive(t *testing.T, a *txtar.Archive) *resolve.Report {
	t.Helper()
	return resolveWith(t, a, resolve.Options{})
}

func resolveWith(t *testing.T, a *txtar.Archive, o resolve.Options) *resolve.Report {
	t.Helper()
	catalogs := map[string]*catalog.Catalog{}
	var objects []*manifest.Object
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "catalogs/"); ok {
			c, err := catalog.ReadFS(t.Context(), fstest.MapFS{f.Name: &fstest.MapFile{Data: f.Data}}, catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			catalogs[strings.TrimSuffix(name, ".yaml")] = c
		}
		if f.Name != "cluster.yaml" {
			continue
		}
		docs, err := manifest.ReadFile(f.Name, f.Data, manifest.Limits{})
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
	}
	cluster, err := resolve.ReadObjects(objects, "ops")
	if err != nil {
		t.Fatal(err)
	}
	r := &resolve.Report{}
	for _, s := range cluster.Namespaces {
		s.GlobalNamespace = "olm"
		for _, c := range cluster.CatalogSources {
			if c.Catalog = catalogs[c.Name]; c.Catalog == nil {
				s.Unknown = append(s.Unknown, c)
				continue
			}
			c.Unavailable = c.Catalog.Refusal() != nil
			s.Catalogs = append(s.Catalogs, c)
		}
		result, err := resolve.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		r.Add("", s.Namespace, result)
	}
	return r
}

// Each finding is explained, and its texts are one line.
func TestRules(t *testing.T) {
	for _, rules := range [][]findings.Rule{resolve.Rules(), resolve.CatalogRules()} {
		ids := map[string]bool{}
		if !slices.IsSortedFunc(rules, func(a, b findings.Rule) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("not sorted: %v", rules)
		}
		for _, r := range rules {
			if resolve.Blocking(findings.Finding{Rule: r.ID}) != (r.ID == "update-held-back") {
				t.Errorf("%s blocks, or does not", r.ID)
			}
			if r.Text == "" || r.Help == "" || strings.Contains(r.Text+r.Help, "\n") || ids[r.ID] {
				t.Errorf("rule %s: %q, %q", r.ID, r.Text, r.Help)
			}
			ids[r.ID] = true
		}
	}
}

// Somebody who approves every InstallPlan sees the walk to its end.
func TestApproveAll(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "approval.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range resolveWith(t, a, resolve.Options{ApproveAll: true}).Namespaces {
		if n.Outcome != resolve.Settled || n.Waiting != nil {
			t.Errorf("%s: %s", n.Name, n.Outcome)
		}
		if end := n.End(); len(end.CSVs) != len(n.Installed) {
			t.Errorf("%s: %d CSVs at the end, want %v", n.Name, len(end.CSVs), n.Installed)
		}
	}
}
