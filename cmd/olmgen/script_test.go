package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
)

// withPrograms are tests that have the programs beside olmgen in PATH.
type withPrograms struct{ *testing.M }

// Run builds the programs, and runs the tests.
func (m withPrograms) Run() int {
	dir, err := os.MkdirTemp("", "olmgen-programs-")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-ldflags=-w", "-o", dir, "../olmgen-validate", "../olmgen-helm")
	if out, err := build.CombinedOutput(); err != nil {
		log.Printf("%s: %v\n%s", build, err, out)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		log.Print(err)
		return 1
	}
	return m.M.Run()
}

func TestMain(m *testing.M) {
	testscript.Main(withPrograms{m}, map[string]func(){
		"olmgen": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// scripts returns the files of testdata/script; with -short, those with less than ten commands.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		if !testing.Short() {
			return false
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "exec ") >= 10
	})
}

// TestScripts runs testdata/script: each script is a session at the command line, with its files below it and the example's bundles in
// the directories bundle and bundle-v0.1.0, and a dump of a cluster with it in adopt. With -short, only sessions of few commands run.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"pack": pack},
		Setup: func(env *testscript.Env) error {
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			env.Defer(server.Close)
			env.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
			example := filepath.Join("..", "..", "examples", "memcached-operator")
			if err := os.CopyFS(filepath.Join(env.WorkDir, "bundle-v0.1.0"), os.DirFS(filepath.Join(example, "bundle-v0.1.0"))); err != nil {
				return err
			}
			cluster := filepath.Join("..", "..", "examples", "adopt")
			if err := os.CopyFS(filepath.Join(env.WorkDir, "adopt"), os.DirFS(cluster)); err != nil {
				return err
			}
			return os.CopyFS(filepath.Join(env.WorkDir, "bundle"), os.DirFS(filepath.Join(example, "bundle")))
		},
	})
}
