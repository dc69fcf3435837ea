// Package corpustest finds the real bundles, and what OLM made of them, for the tests that read them. Neither is a part
// of the repository: $OLMGEN_CORPUS names the directory of the one (package corpus knows its layout), $OLMGEN_ORACLE
// that of the other.
package corpustest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root gives the directory of the corpus. The test is skipped if there is none.
func Root(tb testing.TB) string {
	tb.Helper()
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		tb.Skip("OLMGEN_CORPUS is not set: it names a directory with real bundles in bundles/<package>/<version>/")
	}
	return root
}

// Set reports whether there is a corpus, for tests that read other bundles too, and says so if there is none.
func Set(tb testing.TB) bool {
	tb.Helper()
	if os.Getenv("OLMGEN_CORPUS") != "" {
		return true
	}
	tb.Log("OLMGEN_CORPUS is not set: only with the bundles of the repository")
	return false
}

// Bundles gives the directory of every bundle of the corpus. The test is skipped if there is no corpus, and fails if it
// is empty.
func Bundles(tb testing.TB) []string {
	tb.Helper()
	return Glob(tb, Root(tb), "bundles", "*", "*")
}

// Oracle gives the directories of the corpus and of what OLM made of it. The test is skipped if one is missing.
func Oracle(tb testing.TB) (corpus, oracle string) {
	tb.Helper()
	corpus, oracle = Root(tb), os.Getenv("OLMGEN_ORACLE")
	if oracle == "" {
		tb.Skip("OLMGEN_ORACLE is not set: it names a directory with what OLM made of the bundles of OLMGEN_CORPUS")
	}
	return corpus, oracle
}

// Glob gives what is at a path with patterns. The test fails if that is nothing.
func Glob(tb testing.TB, path ...string) []string {
	tb.Helper()
	pattern := filepath.Join(path...)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		tb.Fatalf("there is no %s: %v", pattern, err)
	}
	return found
}
