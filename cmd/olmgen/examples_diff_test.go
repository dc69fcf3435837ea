package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type actionStep struct {
	If, Uses, Shell, Run string
	With                 map[string]any
	Env                  map[string]string
}

// fakeGH is gh: the first call lists no comment, later ones list comment 7. It writes down its arguments and the body.
const fakeGH = `#!/bin/sh
echo "$@" >> "$LOG"
for a; do case "$a" in body=@*) cp "${a#body=@}" "$LOG.body";; esac; done
case "$*" in *--paginate*) test -e "$LOG.listed" && echo 7; touch "$LOG.listed";; esac
exit 0
`

// The action comments on a pull request what it changes, changes its comment later, and fails where it should.
func TestExampleDiffAction(t *testing.T) {
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []actionStep
		}
	}
	strictly(t, &action, "examples", "github-action", "diff", "action.yml")
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	dir, temp := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "bundle"), os.DirFS("../../examples/memcached-operator/bundle")); err != nil {
		t.Fatal(err)
	}
	commit := func(message string) string {
		t.Helper()
		stdout, stderr, code := shell(t, dir, nil, "bash", "-ec", "git init -q; git add -A; git -c user.name=a -c user.email=a@example.com commit -qm "+message+"; git rev-parse HEAD")
		if code != 0 {
			t.Fatal(stderr)
		}
		return strings.TrimSpace(stdout)
	}
	base := commit("old")
	if err := os.RemoveAll(filepath.Join(dir, "bundle")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "bundle"), os.DirFS("../../examples/memcached-operator/bundle-v0.1.0")); err != nil {
		t.Fatal(err)
	}
	commit("new")
	if err := os.WriteFile(filepath.Join(temp, "gh"), []byte(fakeGH), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	log := filepath.Join(temp, "log")
	values := strings.NewReplacer("${{ github.event.pull_request.base.sha }}", base, "${{ inputs.path }}", "bundle", "${{ inputs.fail-on }}", "crd-breaking", "${{ inputs.arguments }}", "--offline",
		"${{ github.event.pull_request.number }}", "12", "${{ github.token }}", "secret")
	all := func() {
		t.Helper()
		ran := 0
		for _, s := range action.Runs.Steps {
			if s.Run == "" || strings.Contains(s.Run, "go install") {
				continue
			}
			env := []string{"RUNNER_TEMP=" + temp, "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"), "GITHUB_REPOSITORY=o/r", "LOG=" + log,
				"PATH=" + temp + string(os.PathListSeparator) + os.Getenv("PATH")}
			for name, value := range s.Env {
				env = append(env, name+"="+values.Replace(value))
			}
			want := 0
			if strings.Contains(s.Run, "--fail-on") {
				want = 3
			}
			stdout, stderr, code := shell(t, dir, env, s.Shell, "-e", "-o", "pipefail", "-c", s.Run)
			if ran++; code != want {
				t.Errorf("%s: exit code %d, want %d\n%s%s", s.Run, code, want, stdout, stderr)
			}
		}
		if ran != 4 {
			t.Errorf("%d steps ran", ran)
		}
	}
	all()
	all()
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	calls := strings.Split(strings.TrimSpace(read(log)), "\n")
	if len(calls) != 4 || !strings.HasPrefix(calls[1], "api repos/o/r/issues/12/comments --field body=@") ||
		!strings.HasPrefix(calls[3], "api --method PATCH repos/o/r/issues/comments/7 --field body=@") {
		t.Errorf("gh was called with %q", calls)
	}
	body := read(log + ".body")
	if !strings.HasPrefix(body, "<!-- olmgen diff of bundle -->\n**memcached-operator.v0.0.1 -&gt; memcached-operator.v0.1.0**") {
		t.Errorf("the comment is %.300s", body)
	}
	if !strings.Contains(read(filepath.Join(temp, "summary")), "gains get,list,watch secrets in the cluster") {
		t.Error("the summary does not say it")
	}
}

// The workflows use the action with inputs that it has, and with paths that exist here.
func TestExampleDiffWorkflows(t *testing.T) {
	var action struct {
		Name, Description string
		Inputs            map[string]any
		Runs              any
	}
	strictly(t, &action, "examples", "github-action", "diff", "action.yml")
	for _, name := range []string{"github-action/diff/workflow.yaml", "flux/pull-request.yaml", "argocd-plugin/pull-request.yaml"} {
		var workflow struct {
			Name        string
			On          any `json:"true"` // that is what YAML 1.1 reads
			Permissions map[string]string
			Jobs        map[string]struct {
				RunsOn string `json:"runs-on"`
				Steps  []actionStep
			}
		}
		strictly(t, &workflow, "examples", name)
		if workflow.Permissions["pull-requests"] != "write" || workflow.On != "pull_request" {
			t.Errorf("%s: it may not comment on pull requests", name)
		}
		used := false
		for _, s := range workflow.Jobs["diff"].Steps {
			if !strings.HasPrefix(s.Uses, "olmgen/olmgen/examples/github-action/diff@") {
				continue
			}
			used = true
			for input := range s.With {
				if _, ok := action.Inputs[input]; !ok {
					t.Errorf("%s: the action has no input %q", name, input)
				}
			}
			failOn := failOn{allowed: triggers()}
			if err := failOn.Set(s.With["fail-on"].(string)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			path := s.With["path"].(string)
			if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil && strings.HasPrefix(path, "examples/") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !used {
			t.Errorf("%s does not use the action", name)
		}
	}
}
