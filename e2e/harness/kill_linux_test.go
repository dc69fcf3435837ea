package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// programs is the directory that build.sh fills. "make e2e" and "make live" need it, so does this.
func programs(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "harness")); err != nil {
		t.Skip("e2e/build.sh has not been run")
	}
	return bin
}

// checkout is a directory that is to the harness the checkout: with the same files, and with a .run of its own.
func checkout(t *testing.T, bin string) string {
	t.Helper()
	root := t.TempDir()
	real, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "e2e"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{bin: "e2e/.bin", filepath.Join(real, "golden"): "golden",
		filepath.Join(real, "examples"): "examples"} {
		if err := os.Symlink(from, filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Killed at any point, the harness leaves no process behind and no file but in e2e/.run, and the next start removes
// these too.
func TestKilled(t *testing.T) {
	root := checkout(t, programs(t))
	run := filepath.Join(root, "e2e", ".run")
	home, tmp := t.TempDir(), t.TempDir()
	for _, moment := range []struct {
		what string
		come func() bool // whether it has come
	}{
		{"at once", func() bool { return true }},
		{"the first file is there", func() bool { return len(clusters(run)) > 0 }},
		{"etcd runs", func() bool { return runs(run, "etcd") }},
		{"the API server runs", func() bool { return runs(run, "kube-apiserver") }},
		{"the controllers run", func() bool { return runs(run, "kube-controller-manager") }},
		{"OLM runs", func() bool { return runs(run, "olm") && runs(run, "catalog") }},
		{"OLM installs", func() bool { return said(run, "catalog.log", "my-og") || said(run, "olm.log", "my-og") }},
	} {
		cmd := exec.Command(filepath.Join(root, "e2e/.bin/harness"), "-root", root, "-run", "^harbour-own$", "live")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "HOME=") }),
			"HOME="+home, "TMPDIR="+tmp)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if !wait(func() bool { return moment.come() || len(ended) > 0 }) || len(ended) > 0 {
			cmd.Process.Kill()
			t.Fatalf("%s: that moment did not come:\n%s", moment.what, &out)
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-ended
		if !wait(func() bool { return len(processes(root)) == 0 }) {
			t.Errorf("killed when %s: %q are still alive", moment.what, processes(root))
		}
		for _, dir := range []string{home, tmp} {
			if files := below(t, dir); len(files) > 0 {
				t.Errorf("killed when %s: left behind %q", moment.what, files)
			}
		}
	}
	// what was left in .run goes with the next start
	left := clusters(run)
	for _, dir := range left {
		past := time.Now().Add(-time.Minute)
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	c, err := cluster.Start(context.Background(), programs(t), run)
	if err != nil {
		t.Fatal(err)
	}
	c.Stop()
	if len(left) == 0 || len(clusters(run)) > 0 {
		t.Errorf("of %q the next start left %q", left, clusters(run))
	}
}

// $KUBEBUILDER_ASSETS goes before e2e/.bin.
func TestAssets(t *testing.T) {
	bin, assets, run := programs(t), t.TempDir(), t.TempDir()
	names := []string{"etcd", "kube-apiserver", "kube-controller-manager"}
	for _, name := range names { // a script tells that it was started here
		script := fmt.Sprintf("#!/bin/sh\n: >%s.started\nexec %s \"$@\"\n", filepath.Join(assets, name),
			filepath.Join(bin, name))
		if err := os.WriteFile(filepath.Join(assets, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	c, err := cluster.Start(context.Background(), t.TempDir(), run) // where there is none of them
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	for _, name := range names {
		if !wait(func() bool { _, err := os.Stat(filepath.Join(assets, name+".started")); return err == nil }) {
			t.Errorf("%s was not taken from there", name)
		}
	}
	os.Remove(filepath.Join(assets, "etcd"))
	if c, err := cluster.Start(context.Background(), t.TempDir(), run); err == nil {
		c.Stop()
		t.Error("there was no etcd, and the cluster started")
	}
}

// wait tries for a minute.
func wait(done func() bool) bool {
	for range 6000 {
		if done() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func clusters(run string) []string {
	dirs, _ := filepath.Glob(filepath.Join(run, "cluster-*"))
	return dirs
}

func said(run, file, what string) bool {
	for _, dir := range clusters(run) {
		data, _ := os.ReadFile(filepath.Join(dir, file))
		if bytes.Contains(data, []byte(what)) {
			return true
		}
	}
	return false
}

func runs(run, program string) bool {
	return slices.ContainsFunc(processes(run), func(p string) bool { return filepath.Base(p) == program })
}

// processes are the programs that run in a directory below one.
func processes(dir string) (programs []string) {
	cwds, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range cwds {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			program, _ := os.Readlink(filepath.Join(filepath.Dir(link), "exe"))
			programs = append(programs, program)
		}
	}
	return programs
}

// below lists the files in a directory.
func below(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
