package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// workflow is the job of one event: GitHub's runner, for composite actions with steps of bash.
type workflow struct {
	*pipe

	inputs map[string]string
	github map[string]any
	ran    int
}

// What a runner has beside bash: a go that "installs" the olmgen of this checkout, and a gh that keeps comments in
// files. A read-only token may list comments and not write them. gh's requests stay those of the action.
const (
	fakeGo = `#!/bin/sh
case "$1" in
env) echo "$RUNNER_TEMP/go" ;;
install)
	mkdir -p "$RUNNER_TEMP/go/bin" && ln -sf "$OLMGEN" "$RUNNER_TEMP/go/bin/olmgen" &&
		echo "$2" >> "$RUNNER_TEMP/installed"
	;;
*) exit 64 ;;
esac
`
	fakeComments = `#!/bin/sh
state="$RUNNER_TEMP/comments"
mkdir -p "$state"
echo "$@" >> "$state/calls"
body=$(printf '%s\n' "$@" | sed -n 's/^body=@//p')
case "$*" in
*--paginate*) cd "$state" && for f in *.body; do
	test -e "$f" && case "$(head -n 1 "$f")" in "$MARKER"*) echo "${f%.body}" ;; esac
	done; exit 0 ;;
esac
test "$GH_TOKEN" = read-write || { echo "gh: Resource not accessible by integration (HTTP 403)" >&2; exit 1; }
case "$*" in
*PATCH*) id=$(printf '%s\n' "$@" | sed -n 's|.*/comments/||p'); cp "$body" "$state/$id.body" ;;
*) n=$(ls "$state" | grep -c body); cp "$body" "$state/$((n + 1)).body" ;;
esac
`
)

// job prepares a runner for an event. A push has no pull request in it.
func (p *pipe) job(event map[string]any, token string, inputs map[string]string) (*workflow, error) {
	temp := filepath.Join(p.home, "temp")
	file := filepath.Join(p.home, "event.json")
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	programs := filepath.Join(p.home, "programs")
	err = errors.Join(os.MkdirAll(temp, 0o755), os.MkdirAll(programs, 0o755), os.WriteFile(file, data, 0o600))
	for name, text := range map[string]string{"go": fakeGo, "gh": fakeComments} {
		if err == nil {
			err = os.WriteFile(filepath.Join(programs, name), []byte(text), 0o700) //nolint:gosec // it is a program
		}
	}
	if err != nil {
		return nil, err
	}
	maps.Copy(p.env, map[string]string{"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "company/clusters",
		"GITHUB_EVENT_PATH": file, "GITHUB_WORKSPACE": filepath.Join(p.dir, "checkout"), "RUNNER_TEMP": temp,
		"GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary"), "GITHUB_OUTPUT": filepath.Join(temp, "output"),
		"GITHUB_PATH": filepath.Join(temp, "path"), "GITHUB_ENV": filepath.Join(temp, "env"),
		"OLMGEN": filepath.Join(p.bin(), "olmgen"), "FIRST": programs})
	return &workflow{pipe: p, inputs: inputs, github: map[string]any{"event": event, "token": token,
		"repository": "company/clusters"}}, nil
}

type actionFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct{ Steps []actionStep }
}

type actionStep struct {
	If, Uses, Shell, Run string
	Env                  map[string]string
}

// action runs the steps of an action until one fails, and returns what was said and that step's exit code.
func (w *workflow) action(ctx context.Context, name string) (said string, code int, err error) {
	var a actionFile
	data, err := os.ReadFile(filepath.Join(w.root, "examples", "github-action", name, "action.yml"))
	if err == nil {
		err = yaml.Unmarshal(data, &a)
	}
	if err != nil {
		return "", 0, err
	}
	for input, field := range a.Inputs {
		if _, given := w.inputs[input]; !given {
			w.inputs[input] = field.Default
		}
	}
	for _, step := range a.Runs.Steps {
		if step.Uses != "" || !w.holds(step.If) { // actions/setup-go: the stand-in is there
			continue
		}
		for variable, value := range step.Env {
			w.env[variable] = w.expand(value)
		}
		script := filepath.Join(w.home, "step.sh")
		if err := os.WriteFile(script, []byte(w.expand(step.Run)), 0o600); err != nil {
			return said, 0, err
		}
		// as GitHub runs "shell: bash"
		out, e, code, err := w.run(ctx, "checkout", step.Shell, "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		w.ran++
		if said += out + e; err != nil || code != 0 {
			return said, code, err
		}
		if added, err := os.ReadFile(w.env["GITHUB_PATH"]); err == nil {
			w.env["FIRST"] = strings.Join(strings.Fields(string(added)), ":") + ":" + filepath.Join(w.home, "programs")
		}
	}
	return said, 0, nil
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

func (w *workflow) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		return w.value(expression.FindStringSubmatch(e)[1])
	})
}

// holds evaluates the conditions that the actions have: comparisons, joined by &&.
func (w *workflow) holds(condition string) bool {
	if condition == "" {
		return true
	}
	for part := range strings.SplitSeq(condition, "&&") {
		left, right, equal := strings.Cut(part, "==")
		if !equal {
			left, right, _ = strings.Cut(part, "!=")
		}
		if (w.value(strings.TrimSpace(left)) == w.value(strings.TrimSpace(right))) != equal {
			return false
		}
	}
	return true
}

// value is that of a text in quotes or of a name, as inputs.path or github.event.number. What is not there is empty.
func (w *workflow) value(name string) string {
	if text, quoted := strings.CutPrefix(name, "'"); quoted {
		return strings.TrimSuffix(text, "'")
	}
	if input, ok := strings.CutPrefix(name, "inputs."); ok {
		return w.inputs[input]
	}
	var at any = map[string]any{"github": w.github}
	for part := range strings.SplitSeq(name, ".") {
		m, _ := at.(map[string]any)
		at = m[part]
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}

// repository makes a repository with two commits, base and head, and checks head out as actions/checkout does: with
// one commit of history.
func (p *pipe) repository(ctx context.Context, base, head func() error) (baseSHA string, err error) {
	commit := func(change func() error) func() error {
		return func() error {
			if err := change(); err != nil {
				return err
			}
			_, err := p.must(ctx, "", "bash", "-ec", "git -C source add -A; git -C source commit -q -m change")
			return err
		}
	}
	if _, err := p.must(ctx, "", "git", "init", "-q", "-b", "main", "source"); err != nil {
		return "", err
	}
	if err := p.write("source/README.md", "clusters\n"); err != nil {
		return "", err
	}
	if err := commit(base)(); err != nil {
		return "", err
	}
	out, err := p.must(ctx, "source", "git", "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if _, err := p.must(ctx, "source", "git", "checkout", "-q", "-b", "change"); err != nil {
		return "", err
	}
	if err := commit(head)(); err != nil {
		return "", err
	}
	_, err = p.must(ctx, "", "git", "clone", "-q", "--depth=1", "--single-branch", "--branch", "change",
		"file://"+filepath.Join(p.dir, "source"), "checkout")
	return strings.TrimSpace(out), err
}

// bundle puts a version of the example's bundle into the source.
func (p *pipe) bundle(version string) func() error {
	return func() error {
		to := filepath.Join(p.dir, "source", "operator")
		return errors.Join(os.RemoveAll(to),
			os.CopyFS(to, os.DirFS(filepath.Join(p.root, "examples", "memcached-operator", version))))
	}
}

func pullRequest(base, head string) map[string]any {
	return map[string]any{"number": 12, "pull_request": map[string]any{"number": 12,
		"base": map[string]any{"sha": base}, "head": map[string]any{"repo": map[string]any{"full_name": head}}}}
}

// expect compares an exit code and looks for texts.
func expect(said string, code, want int, err error, texts ...string) error {
	if err == nil && code != want {
		err = fmt.Errorf("exit code %d, want %d\n%s", code, want, said)
	}
	for _, text := range texts {
		if err == nil && !strings.Contains(said, text) {
			err = fmt.Errorf("it does not say %q:\n%s", text, said)
		}
	}
	return err
}

func (w *workflow) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.env["RUNNER_TEMP"], name))
	return string(data)
}

// actionCheck: a push of what is in sync passes, one with an edit by hand fails with a diff.
func actionCheck(ctx context.Context, p *pipe) error {
	examples := func() error {
		return os.CopyFS(filepath.Join(p.dir, "source", "examples"), os.DirFS(filepath.Join(p.root, "examples")))
	}
	more := func() error { return p.write("source/README.md", "more\n") }
	if _, err := p.repository(ctx, examples, more); err != nil {
		return err
	}
	w, err := p.job(map[string]any{"ref": "refs/heads/main"}, "read-only",
		map[string]string{"config": "examples/gitops/olmgen.yaml"})
	if err != nil {
		return err
	}
	said, code, err := w.action(ctx, ".")
	if err := expect(said, code, 0, err); err != nil {
		return err
	}
	if got := w.read("installed"); got != "github.com/olmgen/olmgen/cmd/olmgen@latest\n" {
		return fmt.Errorf("it installs %q", got)
	}
	const rendered = "checkout/examples/gitops/operators/namespace_caches.yaml"
	if err := p.edit(rendered, "caches", "caches # by hand"); err != nil {
		return err
	}
	said, code, err = w.action(ctx, ".")
	return expect(said, code, 3, err, "by hand")
}

// actionDiff: an upgrade is commented on, the second run changes the comment, and fail-on fails the job after that.
func actionDiff(ctx context.Context, p *pipe) error {
	base, err := p.repository(ctx, p.bundle("bundle"), p.bundle("bundle-v0.1.0"))
	if err != nil {
		return err
	}
	w, err := p.job(pullRequest(base, "company/clusters"), "read-write", map[string]string{"path": "operator"})
	if err != nil {
		return err
	}
	for range 2 {
		said, code, err := w.action(ctx, "diff")
		if err := expect(said, code, 0, err); err != nil {
			return err
		}
	}
	const says = "now reads all Secrets of the cluster"
	comment := w.read("comments/1.body")
	if !strings.HasPrefix(comment, "<!-- olmgen diff of operator -->\n") || !strings.Contains(comment, says) {
		return fmt.Errorf("the comment is %q", comment)
	}
	if w.read("comments/2.body") != "" || strings.Count(w.read("comments/calls"), "PATCH") != 1 {
		return fmt.Errorf("the second run does not change the comment: %s", w.read("comments/calls"))
	}
	w.inputs["fail-on"] = "crd-breaking"
	said, code, err := w.action(ctx, "diff")
	return errors.Join(expect(said, code, 3, err, "differ: crd-breaking"), expect(w.read("summary"), 0, 0, nil, says))
}

// actionFirst: the base has no operator yet. All of it is new, and the job does not fail.
func actionFirst(ctx context.Context, p *pipe) error {
	base, err := p.repository(ctx, func() error { return nil }, p.bundle("bundle"))
	if err != nil {
		return err
	}
	w, err := p.job(pullRequest(base, "company/clusters"), "read-write", map[string]string{"path": "operator"})
	if err != nil {
		return err
	}
	said, code, err := w.action(ctx, "diff")
	return errors.Join(expect(said, code, 0, err), expect(w.read("comments/1.body"), 0, 0, nil,
		"memcached-operator.v0.0.1", "is not there yet: everything is new"))
}

// actionFork: the token may not comment. The summary has the text, and the job does not fail.
func actionFork(ctx context.Context, p *pipe) error {
	base, err := p.repository(ctx, p.bundle("bundle"), p.bundle("bundle-v0.1.0"))
	if err != nil {
		return err
	}
	w, err := p.job(pullRequest(base, "stranger/clusters"), "read-only", map[string]string{"path": "operator"})
	if err != nil {
		return err
	}
	said, code, err := w.action(ctx, "diff")
	if calls := w.read("comments/calls"); calls != "" {
		err = errors.Join(err, fmt.Errorf("gh was called: %s", calls))
	}
	return errors.Join(expect(said, code, 0, err),
		expect(w.read("summary"), 0, 0, nil, "now reads all Secrets of the cluster"))
}
