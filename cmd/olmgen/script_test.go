package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/olmgen/olmgen/validate"
	"github.com/olmgen/olmgen/validate/framework"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"olmgen":            func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		validate.HelperName: func() { os.Exit(framework.Main(os.Args[1:], os.Stdin, os.Stderr)) },
	})
}

// TestScripts runs testdata/script: each script is a session at the command line, with its files below it and the example's bundle in
// the directory bundle.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			return os.CopyFS(filepath.Join(env.WorkDir, "bundle"), os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle")))
		},
	})
}
