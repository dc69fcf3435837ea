package policy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

func example(t testing.TB) *policy.Policy {
	t.Helper()
	name := filepath.Join("../../../..", "examples", "policies", "limits.yaml")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("limits.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Where an object is depends on the path that was given, not on where it was found from.
func TestPlaces(t *testing.T) {
	group := "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: g\n  namespace: app\n"
	t.Chdir(t.TempDir())
	for _, dir := range []string{"repo/cluster-scope/base", "repo/app", "mycluster-scope"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "group.yaml"), []byte(group), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for paths, want := range map[string]string{
		".":                            "mycluster-scope/group.yaml repo/app/group.yaml",
		"repo":                         "repo/app/group.yaml",
		"repo/":                        "repo/app/group.yaml",
		"./repo/app":                   "repo/app/group.yaml",
		"repo/cluster-scope":           "",
		"repo/cluster-scope/base":      "",
		"repo/app repo/cluster-scope":  "repo/app/group.yaml",
		"repo/app/group.yaml":          "repo/app/group.yaml",
		"mycluster-scope repo/app/../": "mycluster-scope/group.yaml repo/app/group.yaml",
	} {
		var got []string
		for _, f := range check(t, policy.Builtin(policy.OperateFirst), strings.Fields(paths)...) {
			if f.Rule == "of-operatorgroup-in-cluster-scope" {
				got = append(got, f.File)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("lint %s: %v, want %s", paths, got, want)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := example(t).Check(ctx, policy.Input{Tree: &tree.Tree{}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Parse returns a usable policy, or an error of one line that names the file.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/policies/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- policy.yaml --\n")
		text, _, _ := strings.Cut(rest, "\n-- ")
		f.Add([]byte(text))
	}
	docs, err := manifest.ReadFile("a.yaml", []byte(objects), manifest.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	in := policy.Input{Paths: []string{"a.yaml"}, Tree: &tree.Tree{}}
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			f.Fatal(err)
		}
		in.Tree.Objects = append(in.Tree.Objects, o)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		p, err := policy.Parse("p.yaml", data)
		if err != nil {
			var fault *manifest.Error
			if !errors.As(err, &fault) || fault.File != "p.yaml" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		if _, err := p.Check(t.Context(), in); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, r := range p.Rules() {
			if r.ID == "" || seen[r.ID] || strings.Contains(r.Text, "\n") {
				t.Errorf("rule %q twice, or %q", r.ID, r.Text)
			}
			seen[r.ID] = true
		}
	})
}

const objects = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: all
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
- nonResourceURLs: ["*"]
  verbs: [get]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
  namespace: ns
spec:
  template:
    spec:
      containers:
      - image: quay.io/a/b
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata:
  name: g
  namespace: ns
`

// Real bundles, against the record and against a policy with limits of every kind: each finding is of a rule, on one
// line, at a place that exists, and the second time they are the same.
func TestCorpus(t *testing.T) {
	dirs := corpustest.Bundles(t)
	policies := []*policy.Policy{policy.Builtin(policy.OperateFirst), example(t)}
	count := map[string]int{}
	for _, dir := range dirs {
		t.Chdir(dir)
		for _, f := range checkAll(t, policies, ".") {
			count[f.Rule]++
			if !visible(f.Message) || f.Message == "" {
				t.Errorf("%s: %+v", dir, f)
			}
			if n := lines(t, f.File); f.Line > n {
				t.Errorf("%s: %s has %d lines: %+v", dir, f.File, n, f)
			}
		}
	}
	t.Logf("%d bundles: %v", len(dirs), count)
}

func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r == '\n' || unicode.IsControl(r) }) < 0
}

func lines(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n") + 1
}

// 2,000 files: reading them, and each policy by itself.
func BenchmarkRepository(b *testing.B) {
	limits := example(b)
	b.Chdir(b.TempDir())
	for i := range 250 {
		write := func(dir, name, text string) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "NAME", fmt.Sprintf("op-%d", i))), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		scope, app := fmt.Sprintf("cluster-scope/base/op-%d", i), fmt.Sprintf("op-%d", i)
		write(scope, "namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: NAME\n")
		write(
			scope,
			"group.yaml",
			"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: NAME\n  namespace: NAME\nspec:\n  "+
				"targetNamespaces: [NAME]\n",
		)
		write(scope, "role.yaml", roleText)
		write(scope, "binding.yaml", strings.ReplaceAll(bindingText, "KIND", "Cluster"))
		write(app, "binding.yaml", strings.ReplaceAll(bindingText, "KIND", ""))
		write(
			app,
			"subscription.yaml",
			"apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata:\n  name: NAME\n  namespace: "+
				"NAME\nspec:\n  name: NAME\n",
		)
		write(app, "deployment.yaml", deploymentText)
		write(
			app,
			"config.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n  namespace: NAME\ndata:\n  a: b\n",
		)
	}
	read := func() *tree.Tree {
		files, err := tree.Read(b.Context(), []string{"."}, tree.Options{})
		if err != nil || files.Files != 2000 {
			b.Fatal(err, files.Files)
		}
		return files
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			read()
		}
	})
	files := read()
	for name, p := range map[string]*policy.Policy{policy.OperateFirst: policy.Builtin(policy.OperateFirst), "limits": limits} {
		b.Run(name, func(b *testing.B) {
			var list []findings.Finding
			for b.Loop() {
				var err error
				if list, err = p.Check(b.Context(), policy.Input{Paths: []string{"."}, Tree: files}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(list)), "findings")
		})
	}
}

const (
	roleText = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: NAME
rules:
- apiGroups: ["", apps]
  resources: [secrets, pods, deployments]
  verbs: [get, list, watch, update]
- apiGroups: [NAME.example.com]
  resources: ["*"]
  verbs: ["*"]
`
	bindingText = `apiVersion: rbac.authorization.k8s.io/v1
kind: KINDRoleBinding
metadata:
  name: NAME
  namespace: NAME
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: NAME
subjects:
- kind: ServiceAccount
  name: NAME
  namespace: NAME
`
	deploymentText = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: NAME
spec:
  template:
    spec:
      containers:
      - name: NAME
        image: docker.io/NAME/NAME:v1
`
)
