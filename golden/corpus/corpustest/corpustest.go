// Package corpustest finds real bundles, and what OLM made of them, for tests. They are not part of the repository:
// $OLMGEN_CORPUS names the directory of the bundles (see package corpus), $OLMGEN_ORACLE the other one, and
// $OLMGEN_CASES that of edits with what a reviewer must be told.
package corpustest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus"
)

// every is n if $OLMGEN_CORPUS_EVERY asks for each n-th bundle or package only, else 1. It changes no recording: those
// of $OLMGEN_ORACLE are all read.
func every(tb testing.TB) int {
	tb.Helper()
	text := os.Getenv("OLMGEN_CORPUS_EVERY")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("OLMGEN_CORPUS_EVERY=%s: want a number from 1", text)
	}
	return n
}

// Whole reports whether a test takes the whole corpus. A figure of the largest bundle is only known then.
func Whole(tb testing.TB) bool {
	tb.Helper()
	return every(tb) == 1
}

// Least returns how many of n things that the corpus has a test must find at least. It is half as many as the part of
// the corpus should have that the test takes.
func Least(tb testing.TB, n int) int {
	tb.Helper()
	if k := every(tb); k > 1 {
		return n / (2 * k)
	}
	return n
}

// sample returns each n-th element.
func sample[T any](n int, all []T) []T {
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// Files returns the paths that match a pattern below the corpus. Without a corpus it skips the test.
func Files(tb testing.TB, path ...string) []string {
	tb.Helper()
	return sample(every(tb), Glob(tb, append([]string{Root(tb)}, path...)...))
}

// Root returns the directory of the corpus. Without a corpus it skips the test.
func Root(tb testing.TB) string {
	tb.Helper()
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		tb.Skip("OLMGEN_CORPUS is not set: it names a directory with real bundles in bundles/<package>/<version>/")
	}
	return root
}

// Set reports whether there is a corpus, for tests that read other bundles too. It logs a missing corpus.
func Set(tb testing.TB) bool {
	tb.Helper()
	if os.Getenv("OLMGEN_CORPUS") != "" {
		return true
	}
	tb.Log("OLMGEN_CORPUS is not set: only with the bundles of the repository")
	return false
}

// Bundles returns the directory of every bundle of the corpus. Without a corpus it skips the test.
func Bundles(tb testing.TB) []string {
	tb.Helper()
	return Files(tb, "bundles", "*", "*")
}

// Packages returns the packages of the corpus. Without a corpus it skips the test.
func Packages(tb testing.TB) []corpus.Package {
	tb.Helper()
	all, err := corpus.Packages(Root(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return sample(every(tb), all)
}

// Oracle returns the directories of the corpus and of what OLM made of it. If one is missing it skips the test.
func Oracle(tb testing.TB) (corpus, oracle string) {
	tb.Helper()
	corpus, oracle = Root(tb), os.Getenv("OLMGEN_ORACLE")
	if oracle == "" {
		tb.Skip("OLMGEN_ORACLE is not set: it names a directory with what OLM made of the bundles of OLMGEN_CORPUS")
	}
	return corpus, oracle
}

// Cases returns the directory of the cases that are not part of the repository. Without them it skips the test.
func Cases(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("OLMGEN_CASES")
	if dir == "" {
		tb.Skip("OLMGEN_CASES is not set: it names a directory with edits of real bundles in review/")
	}
	return dir
}

// Glob returns the paths that match a pattern. If there are none the test fails.
func Glob(tb testing.TB, path ...string) []string {
	tb.Helper()
	pattern := filepath.Join(path...)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		tb.Fatalf("there is no %s: %v", pattern, err)
	}
	return found
}
