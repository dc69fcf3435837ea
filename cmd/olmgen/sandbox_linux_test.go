package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// systemFiles are what Go's runtime and its packages read of the system, and what a process may always open.
var systemFiles = []string{
	"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", // runtime: the size of huge pages
	"/sys/fs/cgroup/",                        // runtime: GOMAXPROCS
	"/etc/localtime", "/usr/share/zoneinfo/", // time
	"/usr/share/mime/", "/usr/local/share/mime/", "/etc/mime.types", "/etc/apache2/", "/etc/apache/", "/etc/httpd/", // mime
	"/dev/null",
}

// loaderFiles are what a program that is linked with C reads.
var loaderFiles = []string{"/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib"}

// resolverFiles are what the network needs.
var resolverFiles = []string{"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/services", "/etc/ssl/", "/proc/sys/net/", "/etc/pki/", "/usr/share/ca-certificates"}

var (
	ownProcess = regexp.MustCompile(`^/proc/(self|\d+)/(cgroup|mountinfo|maps)$`)
	openedPath = regexp.MustCompile(`^\d+ +(?:open|openat|openat2)\((?:AT_FDCWD|-?\d+)?(<[^>]*>)?,? ?"((?:[^"\\]|\\.)*)"[^)]*\) = (-?\d+)(?:<([^>]*)>)?`)
	started    = regexp.MustCompile(`^\d+ +execve\("([^"]*)"`)
	socketOf   = regexp.MustCompile(`^\d+ +(socket|connect|bind)\(`)
)

// trace is what a run did, as strace saw it.
type trace struct {
	opened, started, sockets []string
	code                     int
	output                   string
}

// traced runs olmgen below strace in a directory.
func traced(t *testing.T, olmgen, dir string, env []string, args ...string) trace {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace")
	cmd := exec.Command("strace", append([]string{"-f", "-qq", "-y", "-s", "4096", "-o", log, "-e", "trace=open,openat,openat2,execve,socket,connect,bind", olmgen}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	tr := trace{code: cmd.ProcessState.ExitCode(), output: string(out)}
	f, err := os.Open(log)
	must(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := openedPath.FindStringSubmatch(line); m != nil {
			path := m[4]
			if path == "" && strings.HasPrefix(m[2], "/") {
				path = m[2]
			}
			if path != "" {
				tr.opened = append(tr.opened, path)
			}
		}
		if m := started.FindStringSubmatch(line); m != nil {
			tr.started = append(tr.started, m[1])
		}
		if socketOf.MatchString(line) {
			tr.sockets = append(tr.sockets, line)
		}
	}
	must(t, lines.Err())
	if len(tr.started) == 0 || len(tr.opened) == 0 {
		t.Fatalf("strace saw nothing: %s", tr.output)
	}
	return tr
}

// TestSandbox holds what SECURITY.md promises: olmgen opens nothing but its inputs, its output and what Go needs, starts
// no process but olmgen-validate, and opens a socket for images in registries only.
func TestSandbox(t *testing.T) {
	fuzztest.Slow(t)
	strace(t)
	olmgen := program(t)
	home, dir := t.TempDir(), t.TempDir()
	env := []string{"HOME=" + home, "DOCKER_CONFIG=" + home, "REGISTRY_AUTH_FILE=", "XDG_RUNTIME_DIR=" + home, "TMPDIR=" + filepath.Join(dir, "tmp")}
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, "in"), 0o755))
	must(t, os.CopyFS(filepath.Join(dir, "in", "bundle"), os.DirFS(example(t, "bundle"))))
	must(t, os.CopyFS(filepath.Join(dir, "in", "older"), os.DirFS(example(t, "bundle-v0.1.0"))))
	must(t, os.WriteFile(filepath.Join(dir, "in", "olmgen.yaml"), []byte(`apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
output: {directory: ../out}
groups:
- namespace: ops
  bundles: [{source: bundle}]
`), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "in", "catalog.yaml"), []byte(`schema: olm.package
name: x
defaultChannel: a
---
schema: olm.channel
package: x
name: a
entries: [{name: x.v1}]
---
schema: olm.bundle
package: x
name: x.v1
image: registry.invalid/x@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
properties:
- {type: olm.package, value: {packageName: x, version: 1.0.0}}
`), 0o644))
	for name, text := range map[string]string{ // each would start a process, open a socket or read the secret
		"remote":  "resources: [https://127.0.0.1:1/a/b//c?ref=v1]",
		"scp":     "resources: ['git@127.0.0.1:a/b.git']",
		"file":    "resources: ['file:///" + dir + "/in']",
		"http":    "configMapGenerator:\n- name: a\n  files: ['k=http://127.0.0.1:1/x']",
		"patch":   "resources: [a.yaml]\npatches: [{path: 'http://127.0.0.1:1/p.yaml'}]",
		"plugin":  "generators: [plugin.yaml]",
		"chart":   "helmCharts: [{name: x, repo: 'https://127.0.0.1:1'}]",
		"secret":  "configMapGenerator:\n- name: a\n  files: [../../../secret]",
		"link":    "configMapGenerator:\n- name: a\n  files: [link]",
		"openapi": "openapi: {path: 'http://127.0.0.1:1/schema.json'}\nresources: [a.yaml]",
		"local":   "vars: [{name: A, objref: {kind: ConfigMap, name: a, apiVersion: v1}}]\nresources: [github.com/a/b, a.yaml]",
	} {
		at := filepath.Join(dir, "in", "hostile", name)
		must(t, os.MkdirAll(at, 0o755))
		must(t, os.WriteFile(filepath.Join(at, "kustomization.yaml"), []byte(text), 0o644))
		must(t, os.WriteFile(filepath.Join(at, "a.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(at, "plugin.yaml"), []byte("apiVersion: v1\nkind: X\nmetadata:\n  name: a\n  annotations: {config.kubernetes.io/function: 'exec: {path: /bin/ls}'}\n"), 0o644))
		must(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(at, "link")))
	}
	github := filepath.Join(dir, "in", "hostile", "local", "github.com", "a", "b") // kustomize would clone it
	must(t, os.MkdirAll(github, 0o755))
	must(t, os.WriteFile(filepath.Join(github, "kustomization.yaml"), []byte("resources: [b.yaml]"), 0o644))
	must(t, os.WriteFile(filepath.Join(github, "b.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"), 0o644))
	must(t, os.MkdirAll(filepath.Join(dir, "in", ".git"), 0o755))
	repo, temporary := filepath.Join(dir, "in", "repo"), filepath.Join(dir, "tmp")
	must(t, os.CopyFS(repo, os.DirFS(example(t, "bundle"))))
	must(t, os.Mkdir(temporary, 0o755))
	for _, args := range []string{"init -q", "add .", "-c user.name=x -c user.email=x@example.com commit -q -m x"} {
		git := exec.Command("git", append([]string{"-C", repo}, strings.Fields(args)...)...)
		out, err := git.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct {
		args   string
		code   int
		starts string
	}{
		{"render in/bundle -n ops", exitDone, ""},
		{"render in/bundle -n ops -o out", exitDone, ""},
		{"render in/bundle -n ops -o out --check", exitDone, ""},
		{"render -f in/olmgen.yaml", exitDone, ""},
		{"diff in/older in/bundle -n ops", exitDone, "olmgen-validate"},
		{"diff --git HEAD in/repo", exitDone, "olmgen-validate"},
		{"history in", -1, ""},
		{"permissions in/bundle -n ops", exitDone, ""},
		{"graph in/bundle", exitDone, ""},
		{"images in/bundle", exitDone, ""},
		{"installer-rbac in/bundle --installer ci/deployer", exitDone, ""},
		{"check out", exitDone, "olmgen-validate"},
		{"lint --policy operate-first out", -1, ""},
		{"catalog validate in/catalog.yaml", -1, ""},
		{"catalog audit in/catalog.yaml", -1, ""},
		{"catalog site in/catalog.yaml -o out/site", -1, ""},
		{"catalog path x --from 1.0.0 --catalog in/catalog.yaml", -1, ""},
		{"check in/hostile", exitFound, "olmgen-validate"},
		{"images in/hostile", exitFound, ""},
		{"check in/hostile/local", exitDone, "olmgen-validate"},
		{"validate in/bundle", -1, "olmgen-validate"},
	} {
		t.Run(c.args, func(t *testing.T) {
			tr := traced(t, olmgen, dir, env, strings.Fields(c.args)...)
			if c.code >= 0 && tr.code != c.code || tr.code == exitUsage {
				t.Fatalf("exit code %d: %s", tr.code, tr.output)
			}
			if len(tr.sockets) > 0 {
				t.Errorf("sockets: %v", tr.sockets)
			}
			for _, p := range tr.opened {
				if c.starts != "" && under(p, loaderFiles) { // the test binary, which stands in for it
					continue
				}
				if strings.Contains(c.args, "--git") && under(p, []string{temporary}) {
					continue
				}
				if system(p, olmgen) || under(p, []string{filepath.Join(dir, "in"), filepath.Join(dir, "out")}) || p == dir {
					continue
				}
				t.Errorf("opened %s", p)
			}
			for _, p := range tr.started[1:] {
				if c.starts == "" || filepath.Base(p) != c.starts {
					t.Errorf("started %s", p)
				}
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("%v is left in %s, %v", left, temporary, err)
			}
		})
	}
	t.Run("oci", func(t *testing.T) {
		tr := traced(t, olmgen, dir, env, "render", "oci://127.0.0.1:1/x:v1", "-n", "ops")
		if tr.code != exitFailed || !slices.ContainsFunc(tr.sockets, func(s string) bool { return strings.Contains(s, "127.0.0.1") }) {
			t.Fatalf("exit code %d, sockets %v: %s", tr.code, tr.sockets, tr.output)
		}
		for _, p := range tr.opened {
			if !system(p, olmgen) && !under(p, resolverFiles) && !under(p, []string{home}) {
				t.Errorf("opened %s", p)
			}
		}
		tr = traced(t, olmgen, dir, env, "render", "oci://127.0.0.1:1/x:v1", "-n", "ops", "--offline")
		if tr.code != exitFailed || len(tr.sockets) > 0 {
			t.Errorf("exit code %d, sockets %v", tr.code, tr.sockets)
		}
	})
}

// system reports whether a path is of the system, or the program itself, which a library reads to seed itself.
func system(path, olmgen string) bool {
	return under(path, systemFiles) || ownProcess.MatchString(path) || path == olmgen || filepath.Base(path) == beside.Validate
}

// under reports whether a path is one of a list, or below one.
func under(path string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		p = strings.TrimSuffix(p, "/")
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
