package main

import (
	"io"
	"strings"
	"testing"
)

// Wrong flags are refused before a cluster starts.
func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "the tree is missing",
		". --memory x":                    "--memory x:",
		". --format html":                 `--format "html" is not text, json or markdown`,
		". --case x":                      "--case needs --compare",
		". --compare --anonymize":         "--anonymize needs --case",
		". --catalog a=testdata":          "OLM v1 does not run",
		"--git a...b .":                   "--git wants OLD..NEW",
		"--git a..b . .":                  "--git wants OLD..NEW",
		". --repo x":                      "--repo x is not URL=DIR",
		"testdata/none.yaml --catalog x/": "x/",
	} {
		cmd := newRoot()
		cmd.SetArgs(strings.Fields(args))
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
