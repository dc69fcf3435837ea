package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRenovate has the real Renovate read a repository with the configuration of examples/renovate, and the releases of
// a site.
func TestRenovate(t *testing.T) {
	program := os.Getenv("RENOVATE")
	if program == "" {
		t.Skip("RENOVATE is not set: make test-renovate installs Renovate with npm and sets it")
	}
	dir := t.TempDir()
	public, repository := filepath.Join(dir, "public"), filepath.Join(dir, "repository")
	if code := run([]string{"catalog", "site", "../../examples/catalog/configs", "-o", public}, strings.NewReader(""), os.Stdout,
		os.Stderr); code != 0 {
		t.Fatal("exit code", code)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(public)))
	defer server.Close()
	config, err := os.ReadFile("../../examples/renovate/renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"renovate.json":      strings.ReplaceAll(string(config), "https://operators.example.com", server.URL),
		"prod/olmgen.yaml":   "groups:\n- bundles:\n  - source: catalog:configs\n    package: memcached-operator\n    channel: stable\n    version: 0.0.1 # reviewed\n  - source: catalog:configs\n    package: certificates-operator\n    version: \"1.0.0\"\n",
		"prod/sub.yaml":      "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata:\n  name: m\nspec:\n  channel: stable\n  installPlanApproval: Manual\n  name: memcached-operator\n  source: example\n  startingCSV: memcached-operator.v0.1.0\n",
		"prod/extension.yml": "kind: ClusterExtension\nspec:\n  source:\n    catalog:\n      packageName: memcached-operator\n      version: 0.2.1\n",
	} {
		file := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report := filepath.Join(dir, "report.json")
	for _, args := range [][]string{
		{"git", "init", "-q"},
		{"git", "add", "."},
		{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "all"},
		{"node", program, "--platform=local", "--report-type=file", "--report-path=" + report},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = repository
		cmd.Env = append(os.Environ(), "RENOVATE_BASE_DIR="+filepath.Join(dir, "base"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Repositories map[string]struct {
			PackageFiles map[string][]struct {
				PackageFile string
				Deps        []struct {
					PackageName, CurrentValue string
					Updates                   []struct{ NewValue string }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &found); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range found.Repositories {
		for _, files := range r.PackageFiles {
			for _, f := range files {
				for _, d := range f.Deps {
					key := f.PackageFile + " " + d.PackageName + " " + d.CurrentValue
					for _, u := range d.Updates {
						got[key] += " " + u.NewValue
					}
					if len(d.Updates) == 0 {
						got[key] = " up to date"
					}
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]string{
		"prod/olmgen.yaml memcached-operator/stable 0.0.1": " 0.2.1",
		"prod/olmgen.yaml certificates-operator 1.0.0":     " 1.1.0 2.0.0",
		"prod/sub.yaml memcached-operator/stable 0.1.0":    " 0.2.1",
		"prod/extension.yml memcached-operator 0.2.1":      " up to date",
	}, got); diff != "" {
		t.Errorf("what Renovate finds, and what it should (-want +got):\n%s", diff)
	}
}
