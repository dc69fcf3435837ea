package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/helper"
	"github.com/olmgen/olmgen/internal/rules/validate"
	"github.com/olmgen/olmgen/internal/rules/validate/framework"
)

// answers are those of the program olmgen-validate.
var answers = map[string]helper.Answer{
	validate.HelperArg: helper.JSON(framework.Checker{}.Check),
	crs.HelperArg:      helper.JSON(apiserver.Checker{}.Check),
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"olmgen":    func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		helper.Name: func() { os.Exit(helper.Main(os.Args[1:], answers, os.Stdin, os.Stderr)) },
	})
}

// TestScripts runs testdata/script: each script is a session at the command line, with its files below it and the example's bundles in
// the directories bundle and bundle-v0.1.0, and a dump of a cluster with it in adopt.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
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
