package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A test takes the data if it asks for it, or if a function of the tests does that it calls.
func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a/a_test.go": "package a\n\nfunc TestBundles(t *testing.T) { corpustest.Root(t) }\n\n" +
			"func TestNothing(t *testing.T) { other(t) }\n\nfunc TestCalls(t *testing.T) { calls(t) }\n\n" +
			"func BenchmarkBundles(b *testing.B) { corpustest.Root(b) }\n",
		"a/b_test.go":         "package a\n\nfunc calls(t *testing.T) { reads(t) }\n\nfunc other(t *testing.T) {}\n",
		"a/c_test.go":         "package a_test\n\nfunc reads(t *testing.T) { os.Getenv(\"OLMGEN_ORACLE\") }\n",
		"b/b_test.go":         "package b\n\nfunc TestNone(t *testing.T) {}\n",
		"c/go.mod":            "module c\n",
		"c/c_test.go":         "package c\n\nfunc TestModule(t *testing.T) { corpustest.Root(t) }\n",
		"a/testdata/_test.go": "package testdata\n\nfunc TestData(t *testing.T) { corpustest.Root(t) }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, tests, err := find(".")
	if err != nil || !slices.Equal(packages, []string{"./a"}) || !slices.Equal(tests, []string{"TestBundles", "TestCalls"}) {
		t.Error(packages, tests, err)
	}
}

// The module has such tests.
func TestFindHere(t *testing.T) {
	packages, tests, err := find(filepath.Join("..", ".."))
	if err != nil || len(packages) < 10 || !slices.Contains(tests, "TestConformance") || !slices.Contains(tests, "TestOracle") {
		t.Error(packages, tests, err)
	}
}
