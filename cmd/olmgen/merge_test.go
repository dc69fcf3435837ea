package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// catalogOfMany has packages with the example's bundle below them, twelve or more so that each shard has some.
func catalogOfMany(t testing.TB, packages int) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("..", "..", "examples", "memcached-operator")
	found, err := filepath.Glob(filepath.Join(from, "bundle*"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for i := range packages {
		for _, bundle := range found {
			to := filepath.Join(dir, fmt.Sprintf("p%02d", i), filepath.Base(bundle))
			if err := os.CopyFS(to, os.DirFS(bundle)); err != nil {
				t.Fatal(err)
			}
			rename(t, to, fmt.Sprintf("memcached-%02d-operator", i))
		}
	}
	return dir
}

// rename changes the package, the name and the API group of a bundle.
func rename(t testing.TB, dir, name string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.NewReplacer("memcached-operator", name, "cache.example.com", name+".example.com").Replace(string(data))
		return os.WriteFile(path, []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mustRun(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("olmgen", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("olmgen %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes()
}

// Processes that do a shard each, one of which is killed and run again, make what one process makes.
func TestShards(t *testing.T) {
	fuzztest.Seconds(t)
	const shards = 3
	catalog, dir := catalogOfMany(t, 12), t.TempDir()
	part := func(kind string, i int) string { return filepath.Join(dir, fmt.Sprintf("%s-%d.json", kind, i)) }
	command := func(kind string, i int) *exec.Cmd {
		return exec.Command("olmgen", "catalog", kind, catalog, "--shard", shard.Shard{Index: i, Count: shards}.String(), "-o", part(kind, i))
	}
	for n, kind := range []string{"audit", "site"} {
		var all []string
		var running []*exec.Cmd
		for i := 1; i <= shards; i++ {
			cmd := command(kind, i)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, all = append(running, cmd), append(all, part(kind, i))
		}
		time.Sleep(time.Duration(n*20) * time.Millisecond)
		if err := running[1].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for i, cmd := range running {
			if err := cmd.Wait(); err != nil && i != 1 {
				t.Fatal(err)
			}
		}
		merge := append([]string{"catalog", "merge"}, all...)
		if _, err := os.Stat(part(kind, 2)); err != nil {
			if out, err := exec.Command("olmgen", merge...).CombinedOutput(); err == nil ||
				!strings.Contains(string(out), "no such file") {
				t.Errorf("%s without a part: %v\n%s", kind, err, out)
			}
		}
		if out, err := command(kind, 2).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if kind == "audit" {
			for _, format := range []findings.Format{findings.Text, findings.JSON, findings.CSV, findings.SARIF} {
				want := mustRun(t, "catalog", "audit", catalog, "--format", string(format))
				if got := mustRun(t, append(merge, "--format", string(format))...); !bytes.Equal(got, want) {
					t.Errorf("%s: %s\nwant %s", format, got, want)
				}
			}
			continue
		}
		one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")
		mustRun(t, "catalog", "site", catalog, "-o", one)
		mustRun(t, append(merge, "-o", many)...)
		sameTree(t, one, many)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func sameTree(t *testing.T, one, two string) {
	t.Helper()
	read := func(dir string) map[string]string {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			files[rel] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	a, b := read(one), read(two)
	if len(a) < 10 || len(a) != len(b) {
		t.Errorf("%d and %d files", len(a), len(b))
	}
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

// Parts that do not belong together are an error.
func TestMergeErrors(t *testing.T) {
	fuzztest.Seconds(t)
	dir := t.TempDir()
	from := filepath.Join("..", "..", "examples", "memcached-operator")
	part := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		mustRun(t, append(args, "-o", path)...)
		return path
	}
	a1 := part("a1", "catalog", "audit", from, "--shard", "1/2")
	a2 := part("a2", "catalog", "audit", from, "--shard", "2/2")
	all := part("all", "catalog", "audit", from, "--shard", "2/2", "--all-versions")
	of3 := part("of3", "catalog", "audit", from, "--shard", "2/3")
	other := part("other", "catalog", "audit", filepath.Join(from, "bundle"), "--shard", "2/2")
	site2 := part("site2", "catalog", "site", from, "--shard", "2/2")
	text, err := os.ReadFile(a2)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "half")
	if err := os.WriteFile(half, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{a1}, "1 of 2 shards are missing: 2/2"},
		{[]string{a1, a1}, "the shard 1/2 is there twice"},
		{[]string{a1, of3}, "are not of the same number"},
		{[]string{a1, all}, "different options"},
		{[]string{a1, other}, "different catalogs"},
		{[]string{a1, site2}, "an audit and of a site"},
		{[]string{a1, half}, "only its beginning"},
		{[]string{a1, filepath.Join(from, "memcached.yaml")}, "is not a part"},
	} {
		out, err := exec.Command("olmgen", append([]string{"catalog", "merge"}, c.parts...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v\n%s, want %q", c.parts, err, out, c.want)
		}
	}
	if out, err := exec.Command("olmgen", "catalog", "audit", from, "--shard", "3/2").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "want I/N") {
		t.Errorf("%v\n%s", err, out)
	}
}

// One worker and four print the same, on stdout and stderr.
func TestWorkers(t *testing.T) {
	fuzztest.Seconds(t)
	many := catalogOfMany(t, 12)
	bundles, err := filepath.Glob(filepath.Join(many, "*", "bundle"))
	if err != nil || len(bundles) != 12 {
		t.Fatal(bundles, err)
	}
	var declared strings.Builder
	declared.WriteString("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ndefaults:\n  profile: plain\ngroups:\n")
	for i, b := range bundles {
		fmt.Fprintf(&declared, "- name: g%02d\n  namespace: ns-%02d\n  bundles:\n  - source: %s\n", i, i, b)
	}
	file := filepath.Join(t.TempDir(), "olmgen.yaml")
	if err := os.WriteFile(file, []byte(declared.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"render", "-f", file, "-o", "-"},
		{"lint", many, "--policy", "operate-first", "--all"},
		append([]string{"images", broken, "--format", "json"}, bundles...),
		{"catalog", "audit", many, "--format", "json"},
	} {
		var outputs []string
		for _, workers := range []string{"1", "4"} {
			cmd := exec.Command("olmgen", args...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+workers)
			out, _ := cmd.CombinedOutput() // findings are an exit code
			outputs = append(outputs, string(out))
		}
		if outputs[0] != outputs[1] || len(outputs[0]) < 1000 {
			t.Errorf("%v: %.2000s\nwith four workers: %.2000s", args[:2], outputs[0], outputs[1])
		}
	}
}
