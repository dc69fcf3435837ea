package policy_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
)

var update = flag.Bool("update", false, "write the golden files and the page of the rules anew")

// check holds the files below the current directory against a policy, twice.
func check(t *testing.T, p *policy.Policy, paths ...string) []findings.Finding {
	t.Helper()
	return checkAll(t, []*policy.Policy{p}, paths...)
}

// checkAll reads the files once for several policies; each finding has to be of a rule of its policy.
func checkAll(t *testing.T, policies []*policy.Policy, paths ...string) []findings.Finding {
	t.Helper()
	files, err := tree.Read(t.Context(), paths, tree.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	var first []findings.Finding
	for i := range 2 {
		var all []findings.Finding
		for _, p := range policies {
			list, err := p.Check(t.Context(), policy.Input{Paths: paths, Tree: files})
			if err != nil {
				t.Fatal(err)
			}
			rules := p.Rules()
			for _, f := range list {
				if !slices.ContainsFunc(rules, func(r policy.Rule) bool { return r.ID == f.Rule }) {
					t.Errorf("of no rule: %+v", f)
				}
			}
			all = append(all, list...)
		}
		if i == 0 {
			first = all
		} else if d := cmp.Diff(first, all); d != "" {
			t.Fatalf("the second time (-first +second):\n%s", d)
		}
	}
	return first
}

func printed(t *testing.T, p *policy.Policy, list []findings.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := print.Report(&b, print.List{Rules: policy.Explain(p.Rules()), Findings: list}, findings.Text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// goldenTrees is a txtar file: trees in the directories fail and pass, what olmgen lint says of each in fail.txt and
// pass.txt, and the policy (without policy.yaml operate-first).
func goldenTrees(t *testing.T, name string) map[string][]findings.Finding {
	t.Helper()
	file, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, p := t.TempDir(), policy.Builtin(policy.OperateFirst)
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if f.Name == "policy.yaml" {
			if p, err = policy.Parse("policy.yaml", f.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := map[string][]findings.Finding{}
	for _, tree := range []string{"fail", "pass"} {
		t.Chdir(filepath.Join(dir, tree))
		found[tree] = check(t, p, ".")
		want(t, archive, tree+".txt", printed(t, p, found[tree]))
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// want compares text with a file of an archive, or puts it there.
func want(t *testing.T, a *txtar.Archive, name, got string) {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: name})
		i = len(a.Files) - 1
	}
	if *update {
		a.Files[i].Data = []byte(got)
	}
	if d := cmp.Diff(string(a.Files[i].Data), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// Every rule has a tree that breaks it and one that does not.
func TestRules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "rules", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var ids, tested []string
	for _, r := range policy.BuiltinRules() {
		if r.ID != "operator-unknown" { // TestInstalled
			ids = append(ids, r.ID)
		}
	}
	for _, f := range files {
		tested = append(tested, strings.TrimSuffix(filepath.Base(f), ".txtar"))
	}
	if d := cmp.Diff(ids, tested); d != "" {
		t.Fatalf("the rules and testdata/rules (-rules +files):\n%s", d)
	}
	for i, f := range files {
		t.Run(ids[i], func(t *testing.T) {
			found := goldenTrees(t, f)
			of := func(f findings.Finding) bool { return f.Rule == ids[i] }
			if !slices.ContainsFunc(found["fail"], of) {
				t.Error("the tree that should break the rule does not")
			}
			if slices.ContainsFunc(found["pass"], of) {
				t.Error("the tree that should pass breaks the rule")
			}
		})
	}
}

// Limits, expressions and exceptions of policy files.
func TestPolicies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "policies", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			found := goldenTrees(t, f)
			if len(found["fail"]) == 0 || len(found["pass"]) > 0 {
				t.Errorf("%d findings in fail, %d in pass", len(found["fail"]), len(found["pass"]))
			}
		})
	}
}
