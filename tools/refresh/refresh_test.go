package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// sources are the files of synthetic repositories, by repository, ref and path.
var sources = map[string]map[string]map[string]string{
	upstream: {"v1.4.0": {
		"internal/operator-controller/features/features.go": gates("SingleOwn", "false"),
		"manifests/standard.yaml":                           crd("ClusterExtension", ""),
		"manifests/experimental.yaml":                       crd("ClusterExtension", "config: {}") + flag("SingleOwn=true"),
	}, "v1.4.1-rc1": {"README.md": ""}, "v0.9.0": {"README.md": ""}},
	operand: {"release-4.22": {
		"go.mod": "require (\n\tk8s.io/api v0.35.1\n)\n",
		"internal/operator-controller/features/features.go": gates("SingleOwn", "false") + gates("Boxcutter", "false") + gates("CertManager", "true"),
		"openshift/operator-controller/manifests.yaml":      crd("ClusterExtension", ""),
		"openshift/operator-controller/manifests-experimental.yaml": crd("ClusterExtension", "config: {}") +
			flag("Boxcutter=false"),
		"helm/olmv1/templates/crds/crd-clusterobjectsets.yml": "{{- if has \"Boxcutter\" .Values.options.operatorController.features.enabled }}\n",
		"helm/olmv1/base/operator-controller/crd/experimental/x_clusterobjectsets.yaml": crd("ClusterObjectSet",
			"phases: {maxItems: 20}"),
	}, "release-4.17": {}, "release-5.2": {}},
	operator: {"release-4.22": {
		"internal/featuregates/mapper.go": `package featuregates

const (
	SingleOwn   = "SingleOwn"
	BoxCutter   = "Boxcutter"
	CertManager = "CertManager"
)

func enableOperatorControllerFeature(v *values, enabled bool, feature string) {}

var gates = map[string]func(){
		// features.FeatureGateExample: a comment
		features.FeatureGateNewOLMOwn: func(v *values, enabled bool) error {
			enableOperatorControllerFeature(v, enabled, SingleOwn)
			enableOperatorControllerFeature(v, false, CertManager)
		},
		features.FeatureGateNewOLMBox: func(v *values, enabled bool) error {
			enableOperatorControllerFeature(v, enabled, BoxCutter)
		},
}
`,
		"pkg/controller/builder.go": "switch set {\ncase configv1.TechPreviewNoUpgrade:\n\treturn true\n}\n",
		"pkg/controller/helm.go":    "\tuseExperimental := b.UseExperimentalFeatureSet() || hasEnabledFeatureGates\n",
	}, "release-5.2": {}},
	api: {"release-4.22": {
		"config/v1/types_feature.go": "AllFixedFeatureSets = []FeatureSet{Default, TechPreviewNoUpgrade}\n",
		"features/features.go": `
	FeatureGateNewOLMOwn = newFeatureGate("NewOLMOwn").
				enable(inClusterProfile(SelfManaged), inDefault(), inTechPreviewNoUpgrade()).
				mustRegister()
	FeatureGateNewOLMBox = newFeatureGate("NewOLMBox").
				enable(inClusterProfile(Hypershift), inDefault()).
				enableForClusterProfile(SelfManaged, configv1.TechPreviewNoUpgrade).
				mustRegister()
`,
	}},
}

func gates(name, value string) string {
	return "\t" + name + ": {\n\t\tDefault: " + value + ",\n\t},\n"
}

func flag(value string) string {
	return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  args:\n  - --feature-gates=" + value + "\n"
}

func crd(kind, fields string) string {
	return `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a}
spec:
  names: {kind: ` + kind + `}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            required: [serviceAccount]
            properties:
              serviceAccount: {}
              ` + fields + "\n"
}

// clones writes the synthetic repositories, with some text in the place of another.
func clones(t *testing.T, old, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, refs := range sources {
		repository := filepath.Join(dir, name)
		run := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %s", args, out)
			}
		}
		if err := os.MkdirAll(repository, 0o755); err != nil {
			t.Fatal(err)
		}
		run("init", "-q", "-b", "main")
		for ref, files := range refs {
			run("checkout", "-q", "--orphan", "work-"+ref)
			for path, data := range files {
				file := filepath.Join(repository, path)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.Replace(data, old, text, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run("add", "-A")
			run("commit", "-q", "--allow-empty", "-m", ref)
			if strings.HasPrefix(ref, "v") {
				run("tag", "-m", ref, ref) // an annotated one
			} else {
				run("branch", ref)
			}
			run("rm", "-rqf", "--ignore-unmatch", ".")
		}
	}
	return dir
}

// refresh reads the releases that all repositories have, and says the same twice.
func TestRefresh(t *testing.T) {
	dir, file := clones(t, "", ""), filepath.Join(t.TempDir(), "read.json")
	var texts []string
	for range 2 {
		if err := run(file, dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	if texts[0] != texts[1] {
		t.Errorf("the second run says\n%s\nthe first\n%s", texts[1], texts[0])
	}
	var list []versions.Read
	if err := json.Unmarshal([]byte(texts[0]), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, strings.TrimSpace(string(r.Of)+" "+r.Number+" "+strings.Join(r.At, " ")))
		for _, f := range r.Facts {
			line := strings.TrimSpace(f.Gate+f.Kind+" "+f.Field) + " " + string(f.State)
			if f.Limit > 0 {
				line += " 20"
			}
			got = append(got, line+" in "+strings.Join(text(f.Sets), ",")+": "+strings.Join(f.At, " "))
		}
	}
	got = strings.Split(strings.NewReplacer(upstream, "UP", operand, "OPERAND", operator, "OPERATOR", api, "API",
		"openshift/operator-controller/", "", "internal/operator-controller/features/", "", "internal/featuregates/", "",
		"pkg/controller/", "", "features/features.go", "features.go", "helm/olmv1/templates/crds/", "",
		"helm/olmv1/base/operator-controller/crd/experimental/", "").Replace(strings.Join(got, "\n")), "\n")
	want := []string{
		"operator-controller v1.4",
		"ClusterExtension accepted in standard: UP:manifests/standard.yaml:10",
		"ClusterExtension spec.serviceAccount required in standard: UP:manifests/standard.yaml:15",
		"SingleOwn disabled in standard: UP:features.go:1",
		"ClusterExtension accepted in experimental: UP:manifests/experimental.yaml:10",
		"ClusterExtension spec.config accepted in experimental: UP:manifests/experimental.yaml:16",
		"ClusterExtension spec.serviceAccount required in experimental: UP:manifests/experimental.yaml:15",
		"SingleOwn enabled in experimental: UP:manifests/experimental.yaml:23",
		"OpenShift 4.22 OPERAND:go.mod:2 API:config/v1/types_feature.go:1",
		"Boxcutter disabled in Default: API:features.go:7 OPERATOR:mapper.go:18",
		"CertManager disabled in Default,TechPreviewNoUpgrade: API:features.go:3 OPERATOR:mapper.go:15",
		"ClusterExtension accepted in Default: OPERAND:manifests-experimental.yaml:10 OPERATOR:helm.go:1 API:features.go:3 OPERATOR:mapper.go:14",
		"ClusterExtension spec.config accepted in Default: OPERAND:manifests-experimental.yaml:16 OPERATOR:helm.go:1 API:features.go:3 OPERATOR:mapper.go:14",
		"ClusterExtension spec.serviceAccount required in Default: OPERAND:manifests-experimental.yaml:15 OPERATOR:helm.go:1 API:features.go:3 OPERATOR:mapper.go:14",
		"SingleOwn enabled in Default,TechPreviewNoUpgrade: API:features.go:3 OPERATOR:mapper.go:14",
		"Boxcutter enabled in TechPreviewNoUpgrade: API:features.go:7 OPERATOR:mapper.go:18",
		"ClusterExtension accepted in TechPreviewNoUpgrade: OPERAND:manifests-experimental.yaml:10 OPERATOR:builder.go:2",
		"ClusterExtension spec.config accepted in TechPreviewNoUpgrade: OPERAND:manifests-experimental.yaml:16 OPERATOR:builder.go:2",
		"ClusterExtension spec.serviceAccount required in TechPreviewNoUpgrade: OPERAND:manifests-experimental.yaml:15 OPERATOR:builder.go:2",
		"ClusterObjectSet accepted in TechPreviewNoUpgrade: OPERAND:x_clusterobjectsets.yaml:10 API:features.go:7 OPERATOR:mapper.go:18 OPERAND:crd-clusterobjectsets.yml:1",
		"ClusterObjectSet spec.phases accepted 20 in TechPreviewNoUpgrade: OPERAND:x_clusterobjectsets.yaml:16 API:features.go:7 OPERATOR:mapper.go:18 OPERAND:crd-clusterobjectsets.yml:1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What is written otherwise than refresh knows is refused, and nothing is written.
func TestRefreshRefuses(t *testing.T) {
	for old, c := range map[string]struct{ text, want string }{
		"|| hasEnabledFeatureGates": {"&& isTuesday", "openshift/cluster-olm-operator:pkg/controller/helm.go of 4.22 has nothing"},
		"inDefault(), inTech":       {"inVersion(5, greaterThan), inTech", "features.go:3 enables FeatureGateNewOLMOwn by version"},
		"k8s.io/api v0.35":          {"k8s.io/api v1.35", "go.mod of 4.22 has nothing"},
	} {
		file := filepath.Join(t.TempDir(), "read.json")
		if err := run(file, clones(t, old, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: it is written", c.text)
		}
	}
	if err := run("read.json", t.TempDir()); err == nil {
		t.Error("it reads without clones")
	}
}

func text(sets []versions.Set) (list []string) {
	for _, set := range sets {
		list = append(list, string(set))
	}
	return list
}
