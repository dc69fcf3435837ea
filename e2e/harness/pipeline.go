package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/e2e/harness/apply"
)

// pipe is a directory in which programs run as in a pipeline.
type pipe struct {
	options

	dir  string            // removed at the end
	home string            // of the programs: no setting of the user's counts
	env  map[string]string // beside PATH and HOME
}

// pipeline runs olmgen under the programs that call it: kustomize, kpt, the steps of the GitHub Actions, pre-commit.
func (o options) pipeline(ctx context.Context, _ material) (err error) {
	for _, test := range []struct {
		name string
		run  func(context.Context, *pipe) error
	}{
		{"kustomize", underKustomize}, {"kustomize refuses", underKustomizeRefused},
		{"kpt fn eval", underKpt}, {"kpt fn render", underKptRender}, {"kpt refuses", underKptRefused},
		{"action check", actionCheck}, {"action diff", actionDiff}, {"action diff, first pull request", actionFirst},
		{"action diff, fork", actionFork}, {"pre-commit", preCommit},
	} {
		if !o.only.MatchString(test.name) {
			continue
		}
		started := time.Now()
		failed := o.inPipe(func(p *pipe) error { return test.run(ctx, p) })
		if missing := (missingError{}); errors.As(failed, &missing) {
			fmt.Printf("pipeline: %s: NOT RUN: there is no %s\n", test.name, missing.program)
			continue
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", test.name, failed))
			continue
		}
		fmt.Printf("pipeline: %s, %.0fs\n", test.name, time.Since(started).Seconds())
	}
	return err
}

// missingError is a program that the machine lacks.
type missingError struct{ program string }

func (e missingError) Error() string { return "there is no " + e.program }

func (o options) inPipe(do func(*pipe) error) error {
	if err := os.MkdirAll(o.files(), 0o755); err != nil {
		return err
	}
	root, err := os.MkdirTemp(o.files(), "pipeline-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	p := &pipe{options: o, dir: filepath.Join(root, "work"), home: filepath.Join(root, "home"), env: map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "e2e", "GIT_AUTHOR_EMAIL": "e2e@example.com",
		"GIT_COMMITTER_NAME": "e2e", "GIT_COMMITTER_EMAIL": "e2e@example.com"}}
	if err := errors.Join(os.MkdirAll(p.dir, 0o755), os.MkdirAll(p.home, 0o755)); err != nil {
		return err
	}
	return do(p)
}

// run runs a program in a directory below p.dir, and returns what it says and its exit code.
func (p *pipe) run(ctx context.Context, in string, args ...string) (stdout, stderr string, code int, err error) {
	path := filepath.Join(p.bin(), "pipeline") + ":" + p.bin() + ":" + os.Getenv("PATH")
	if first := p.env["FIRST"]; first != "" {
		path = first + ":" + path
	}
	program, err := lookPath(args[0], path)
	if err != nil {
		return "", "", 0, missingError{args[0]}
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Dir = filepath.Join(p.dir, in)
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+p.home)
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return "", "", 0, err
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode(), nil
}

func lookPath(program, path string) (string, error) {
	for dir := range strings.SplitSeq(path, ":") {
		file := filepath.Join(dir, program)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

// must runs a program that has to succeed.
func (p *pipe) must(ctx context.Context, in string, args ...string) (string, error) {
	stdout, stderr, code, err := p.run(ctx, in, args...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout, err
}

// refused runs a program that has to fail with a text.
func (p *pipe) refused(ctx context.Context, in, says string, args ...string) error {
	stdout, stderr, code, err := p.run(ctx, in, args...)
	if err == nil && (code != 1 || !strings.Contains(stdout+stderr, says)) {
		err = fmt.Errorf("%s: exit code %d, want 1 and %q\n%s%s", strings.Join(args, " "), code, says, stdout, stderr)
	}
	return err
}

func (p *pipe) write(name, text string) error {
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// edit replaces a text that must be there.
func (p *pipe) edit(name, old, fresh string) error {
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err == nil && !strings.Contains(string(data), old) {
		err = fmt.Errorf("%s: does not have %q", name, old)
	}
	if err != nil {
		return err
	}
	return p.write(name, strings.ReplaceAll(string(data), old, fresh))
}

// examples copies the repository's examples.
func (p *pipe) examples() error {
	return os.CopyFS(filepath.Join(p.dir, "examples"), os.DirFS(filepath.Join(p.root, "examples")))
}

// rendered is what olmgen itself renders, by object.
func (p *pipe) rendered(ctx context.Context, config string) (map[string]string, error) {
	out, err := p.must(ctx, "", "olmgen", "render", "-f", config, "-o", "-")
	if err != nil {
		return nil, err
	}
	return p.objects(out)
}

var noise = regexp.MustCompile(`^(internal\.)?config\.kubernetes\.io/`)

// objects are those of a stream, without what runners of functions add.
func (p *pipe) objects(stream string) (map[string]string, error) {
	file := filepath.Join(p.home, "stream.yaml")
	if err := os.WriteFile(file, []byte(stream), 0o600); err != nil {
		return nil, err
	}
	list, err := apply.ReadStream(file)
	if err != nil {
		return nil, err
	}
	return byName(list)
}

func byName(list []*unstructured.Unstructured) (map[string]string, error) {
	all := map[string]string{}
	for _, o := range list {
		annotations := o.GetAnnotations()
		maps.DeleteFunc(annotations, func(name, _ string) bool { return noise.MatchString(name) })
		if len(annotations) == 0 {
			annotations = nil
		}
		o.SetAnnotations(annotations)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		all[fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())] = string(text)
	}
	return all, nil
}

// sameObjects returns where two sets of objects differ.
func sameObjects(want, got map[string]string) (err error) {
	if len(want) == 0 {
		return errors.New("olmgen renders nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			err = errors.Join(err, fmt.Errorf("%s is\n%s, not\n%s", name, got[name], want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] == "" {
			err = errors.Join(err, fmt.Errorf("%s is more than olmgen renders", name))
		}
	}
	return err
}

const exampleConfig = "examples/kustomize/olmgen.yaml"

// underKustomize builds the example: the objects are those of olmgen render.
func underKustomize(ctx context.Context, p *pipe) error {
	if err := p.examples(); err != nil {
		return err
	}
	want, err := p.rendered(ctx, exampleConfig)
	if err != nil {
		return err
	}
	out, err := p.must(ctx, "", "kustomize", "build", "--enable-alpha-plugins", "--enable-exec", "examples/kustomize")
	if err != nil {
		return err
	}
	got, err := p.objects(out)
	return errors.Join(err, sameObjects(want, got))
}

// underKustomizeRefused: an error of olmgen's ends the build, and kustomize passes on what it says.
func underKustomizeRefused(ctx context.Context, p *pipe) error {
	if err := errors.Join(p.examples(), p.edit(exampleConfig, "memcached-operator/bundle", "nowhere")); err != nil {
		return err
	}
	return errors.Join(
		p.refused(ctx, "", "groups[0].bundles[0]", "kustomize", "build", "--enable-alpha-plugins", "--enable-exec",
			"examples/kustomize"),
		p.refused(ctx, "", "external plugins disabled", "kustomize", "build", "examples/kustomize"))
}

// kptPackage makes a package of kpt's, with or without a pipeline in its Kptfile.
func kptPackage(p *pipe, pipeline string) error {
	data, err := os.ReadFile(filepath.Join(p.root, exampleConfig))
	if err != nil {
		return err
	}
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n"
	config := strings.ReplaceAll(string(data), "../memcached", "../examples/memcached")
	return errors.Join(p.examples(), p.write("pkg/Kptfile", kptfile+pipeline), p.write("pkg/olmgen.yaml", config))
}

// kptObjects are those of the package but what is no object of a cluster.
func kptObjects(p *pipe) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(p.dir, "pkg", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []*unstructured.Unstructured
	for _, file := range files {
		objects, err := apply.ReadStream(file)
		if err != nil {
			return nil, err
		}
		if filepath.Base(file) != "olmgen.yaml" {
			list = append(list, objects...)
		}
	}
	return byName(list)
}

// underKpt evaluates olmgen fn on a package, in the package and from outside: the objects are those of olmgen render,
// and the second time changes no byte.
func underKpt(ctx context.Context, p *pipe) error {
	if err := kptPackage(p, ""); err != nil {
		return err
	}
	want, err := p.rendered(ctx, "pkg/olmgen.yaml")
	if err != nil {
		return err
	}
	if _, err := p.must(ctx, "pkg", "kpt", "fn", "eval", ".", "--exec", "olmgen fn", "--fn-config",
		"olmgen.yaml"); err != nil {
		return err
	}
	got, err := kptObjects(p)
	if err := errors.Join(err, sameObjects(want, got)); err != nil {
		return err
	}
	return p.unchanged("pkg", func() error {
		_, err := p.must(ctx, "pkg", "kpt", "fn", "eval", ".", "--exec", "olmgen fn", "--fn-config", "olmgen.yaml")
		return err
	})
}

// underKptRender runs the pipeline of a Kptfile.
func underKptRender(ctx context.Context, p *pipe) error {
	if err := kptPackage(p, "pipeline:\n  mutators:\n  - exec: olmgen fn\n    configPath: olmgen.yaml\n"); err != nil {
		return err
	}
	want, err := p.rendered(ctx, "pkg/olmgen.yaml")
	if err != nil {
		return err
	}
	if _, err := p.must(ctx, "pkg", "kpt", "fn", "render", ".", "--allow-exec"); err != nil {
		return err
	}
	got, err := kptObjects(p)
	return errors.Join(err, sameObjects(want, got))
}

// underKptRefused: an error of olmgen's fails kpt, which then writes nothing.
func underKptRefused(ctx context.Context, p *pipe) error {
	err := errors.Join(kptPackage(p, ""), p.edit("pkg/olmgen.yaml", "memcached-operator/bundle", "nowhere"))
	if err != nil {
		return err
	}
	return p.unchanged("pkg", func() error {
		return p.refused(ctx, "pkg", "groups[0].bundles[0]", "kpt", "fn", "eval", ".", "--exec", "olmgen fn",
			"--fn-config", "olmgen.yaml", "--truncate-output=false")
	})
}

// unchanged does something that may not change a directory.
func (p *pipe) unchanged(in string, do func() error) error {
	before, err := files(filepath.Join(p.dir, in))
	if err == nil {
		err = do()
	}
	if err != nil {
		return err
	}
	after, err := files(filepath.Join(p.dir, in))
	if err == nil && !maps.Equal(before, after) {
		err = fmt.Errorf("%s has changed", in)
	}
	return err
}

func files(dir string) (map[string]string, error) {
	all := map[string]string{}
	return all, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		all[name] = string(data)
		return err
	})
}

// preCommit installs the repository's hooks with pre-commit, from a clone of this checkout's last commit, and commits.
func preCommit(ctx context.Context, p *pipe) error {
	config := fmt.Sprintf("repos:\n- repo: %s\n  rev: %%s\n  hooks:\n  - id: olmgen-check\n"+
		"    args: [examples/gitops/olmgen.yaml]\n  - id: olmgen-render\n    args: [examples/gitops/olmgen.yaml]\n"+
		"    stages: [manual]\n", p.root)
	rev, err := p.must(ctx, "", "git", "-C", p.root, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if _, _, _, err := p.run(ctx, "", "pre-commit", "--version"); err != nil {
		return err
	}
	// pre-commit gives its clone a GOPATH of its own; what is downloaded and built already is taken from the user's.
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		value, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			return missingError{"go"}
		}
		p.env[name] = strings.TrimSpace(string(value))
	}
	p.env["CGO_ENABLED"], p.env["GOFLAGS"] = "0", "-trimpath"
	if err := errors.Join(p.examples(), p.write(".pre-commit-config.yaml",
		fmt.Sprintf(config, strings.TrimSpace(rev)))); err != nil {
		return err
	}
	for _, args := range [][]string{{"git", "init", "-q", "."}, {"git", "add", "."}, {"pre-commit", "install"},
		{"git", "commit", "-q", "-m", "in sync"}} {
		if _, err := p.must(ctx, "", args...); err != nil {
			return err
		}
	}
	const rendered = "examples/gitops/operators/namespace_caches.yaml"
	if err := p.edit(rendered, "caches", "caches # by hand"); err != nil {
		return err
	}
	if _, err := p.must(ctx, "", "git", "add", "."); err != nil {
		return err
	}
	if err := errors.Join(p.refused(ctx, "", "by hand", "git", "commit", "-q", "-m", "drift"),
		p.refused(ctx, "", "edited by hand", "pre-commit", "run", "--hook-stage", "manual", "olmgen-render"),
		p.edit(rendered, " # by hand", ""),
		p.edit("examples/gitops/olmgen.yaml", "namespace: caches", "namespace: stores")); err != nil {
		return err
	}
	if _, err := p.must(ctx, "", "git", "add", "."); err != nil {
		return err
	}
	if err := errors.Join(p.refused(ctx, "", "namespace_stores.yaml", "git", "commit", "-q", "-m", "not rendered"),
		p.refused(ctx, "", "files were modified by this hook", "pre-commit", "run", "--hook-stage", "manual",
			"olmgen-render")); err != nil {
		return err
	}
	for _, args := range [][]string{{"git", "add", "."}, {"git", "commit", "-q", "-m", "rendered"}} {
		if _, err := p.must(ctx, "", args...); err != nil {
			return err
		}
	}
	return nil
}
