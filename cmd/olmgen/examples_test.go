package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// examplesDir is a copy of examples/.
func examplesDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// strictly decodes a YAML file.
func strictly(t *testing.T, into any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", filepath.Join(path...), err)
	}
}

// shell runs a command in a directory, with olmgen in PATH.
func shell(t *testing.T, dir string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("there is no %s", args[0])
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// drift edits a rendered file, as nobody should.
func drift(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "gitops", "operators", "namespace_caches.yaml")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(data, "# by hand\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The committed manifests of examples/gitops are what its olmgen.yaml renders to; "olmgen render -f examples/gitops/olmgen.yaml" makes
// them anew.
func TestExampleGitOps(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"render", "-f", filepath.Join("..", "..", "examples", "gitops", "olmgen.yaml"), "--check"}, nil, &out, &out); code != 0 {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}

// The plugin is found in the example's directory, and its command, run there, prints what Argo CD wants: objects only.
func TestExampleArgoCDPlugin(t *testing.T) {
	type command struct{ Command, Args []string }
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Discover struct{ FileName string }
			Generate command
		}
	}
	strictly(t, &plugin, "examples", "argocd-plugin", "plugin.yaml")
	if plugin.Kind != "ConfigManagementPlugin" || plugin.APIVersion != "argoproj.io/v1alpha1" {
		t.Errorf("plugin.yaml is %s of %s", plugin.Kind, plugin.APIVersion)
	}
	dir := filepath.Join(examplesDir(t), "gitops")
	found, err := filepath.Glob(filepath.Join(dir, plugin.Spec.Discover.FileName))
	if err != nil || len(found) != 1 {
		t.Errorf("discovered: %v, %v", found, err)
	}
	stdout, stderr, code := shell(t, dir, nil, slices.Concat(plugin.Spec.Generate.Command, plugin.Spec.Generate.Args)...)
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	got, want := map[string]string{}, objectsIn(t, filepath.Join(dir, "operators"))
	addObjects(t, got, []byte(stdout))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-committed +generated):\n%s", d)
	}

	var sidecar appsv1.Deployment
	strictly(t, &sidecar, "examples", "argocd-plugin", "sidecar.yaml")
	c := sidecar.Spec.Template.Spec.Containers[0]
	if c.Command[0] != "/var/run/argocd/argocd-cmp-server" || *c.SecurityContext.RunAsUser != 999 { // argo-cd: docs/operator-manual/config-management-plugins.md
		t.Errorf("no sidecar as Argo CD wants it: %v", c)
	}
	var app struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Spec             struct {
			Project string
			Source  struct {
				RepoURL, TargetRevision, Path string
				Plugin                        struct{}
			}
			Destination struct{ Server string }
			SyncPolicy  json.RawMessage
		}
	}
	strictly(t, &app, "examples", "argocd-plugin", "application.yaml")
	if _, err := os.Stat(filepath.Join("..", "..", app.Spec.Source.Path, "olmgen.yaml")); err != nil {
		t.Error(err)
	}
}

// fluxKustomization is a Kustomization of Flux.
type fluxKustomization struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		DependsOn                              []struct{ Name string }
		Interval, RetryInterval, Timeout, Path string
		SourceRef                              struct{ Kind, Name string }
		Prune, Wait                            bool
	}
}

// Flux applies the operators after cert-manager. What it applies builds, and has all objects.
func TestExampleFlux(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "flux", "flux.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "\n---\n")
	if len(documents) != 3 {
		t.Fatalf("%d documents, want 3", len(documents))
	}
	var source struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Spec             struct {
			Interval, URL string
			Ref           struct{ Branch string }
		}
	}
	var first, then fluxKustomization
	for i, into := range []any{&source, &first, &then} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(then.Spec.DependsOn) != 1 || then.Spec.DependsOn[0].Name != first.Metadata.Name || !first.Spec.Wait {
		t.Errorf("%s does not wait for %s", then.Metadata.Name, first.Metadata.Name)
	}
	release, err := os.ReadFile(filepath.Join("..", "..", first.Spec.Path, "release.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: OCIRepository", "kind: HelmRelease", "name: cert-manager"} {
		if !strings.Contains(string(release), want) {
			t.Errorf("%s: no %s", first.Spec.Path, want)
		}
	}
	for _, k := range []fluxKustomization{first, then} {
		if k.Spec.SourceRef.Kind != source.Kind || k.Spec.SourceRef.Name != source.Metadata.Name ||
			k.Metadata.Namespace != source.Metadata.Namespace {
			t.Errorf("the Kustomization is not of the GitRepository: %+v", k)
		}
	}
	dir := filepath.Join("..", "..", then.Spec.Path)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	addObjects(t, got, text)
	if d := cmp.Diff(objectsIn(t, dir), got); d != "" {
		t.Errorf("(-committed +built):\n%s", d)
	}
}

// The action's steps that call olmgen pass on the example, and fail with 3 where a file was edited.
func TestExampleGitHubAction(t *testing.T) {
	type step struct {
		Uses, Shell, Run string
		With             map[string]any
		Env              map[string]string
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []step
		}
	}
	strictly(t, &action, "examples", "github-action", "action.yml")
	dir := examplesDir(t)
	check := func(want int) {
		ran := 0
		for _, s := range action.Runs.Steps {
			if s.Run != "" && s.Shell == "" {
				t.Errorf("a composite action must name the shell of %q", s.Run)
			}
			if !strings.HasPrefix(s.Run, "olmgen ") {
				continue
			}
			var env []string
			for name, value := range s.Env {
				for input, i := range action.Inputs {
					value = strings.ReplaceAll(value, "${{ inputs."+input+" }}", i.Default)
				}
				env = append(env, name+"="+value)
			}
			stdout, stderr, code := shell(t, filepath.Join(dir, "gitops"), env, s.Shell, "-c", s.Run)
			if ran++; code != want {
				t.Errorf("%s: exit code %d, want %d\n%s%s", s.Run, code, want, stdout, stderr)
			}
		}
		if ran == 0 {
			t.Error("no step runs olmgen")
		}
	}
	check(0)
	drift(t, dir)
	check(3)

	var workflow struct {
		Name        string
		On          any `json:"true"` // that is what YAML 1.1 reads
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn string `json:"runs-on"`
			Steps  []step
		}
	}
	strictly(t, &workflow, "examples", "github-action", "workflow.yaml")
	used := false
	for _, s := range workflow.Jobs["check"].Steps {
		rest, ours := strings.CutPrefix(s.Uses, "olmgen/olmgen/")
		if !ours {
			continue
		}
		used = true
		path, _, _ := strings.Cut(rest, "@")
		if _, err := os.Stat(filepath.Join("..", "..", path, "action.yml")); err != nil {
			t.Error(err)
		}
		for name := range s.With {
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("the action has no input %q", name)
			}
		}
	}
	if !used {
		t.Error("the workflow does not use the action")
	}
}

// The hooks do what they say: one fails where a file was edited, the other has it rendered anew.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Name, Description, Language, Entry string
		Args                                   []string
		PassFilenames                          bool `json:"pass_filenames"`
		AlwaysRun                              bool `json:"always_run"`
	}
	strictly(t, &hooks, ".pre-commit-hooks.yaml")
	dir := examplesDir(t)
	hook := func(i int, want int, more ...string) {
		t.Helper()
		args := slices.Concat(strings.Fields(hooks[i].Entry), hooks[i].Args, more)
		stdout, stderr, code := shell(t, filepath.Join(dir, "gitops"), nil, args...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
	}
	if len(hooks) != 2 || hooks[0].ID != "olmgen-check" || hooks[1].ID != "olmgen-render" || hooks[0].PassFilenames || hooks[1].PassFilenames {
		t.Fatalf("hooks %+v", hooks)
	}
	hook(0, 0)
	hook(1, 0)
	drift(t, dir)
	hook(0, 3)
	hook(1, 1) // it was edited by hand
	hook(1, 0, "--force")
	hook(0, 0)
}

// The kustomization of examples/kustomize builds what olmgen renders of its olmgen.yaml.
func TestExampleKustomize(t *testing.T) {
	dir := filepath.Join(examplesDir(t), "kustomize")
	var out, stderr bytes.Buffer
	if code := run([]string{"render", "-f", filepath.Join(dir, "olmgen.yaml")}, nil, &out, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	want := map[string]string{}
	addObjects(t, want, out.Bytes())
	if d := cmp.Diff(want, kustomized(t, dir)); d != "" {
		t.Errorf("(-rendered +built):\n%s", d)
	}
}
