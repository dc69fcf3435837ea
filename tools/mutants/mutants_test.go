package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

const example = `package p

func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func Both(a, b bool, n int) bool {
	return a && b && n >= 3
}

func Order(a, b string) (string, string) {
	if b < a {
		a, b = b, a
	}
	return a, b
}

func unused(a *int) bool {
	for a != nil {
		return true
	}
	return false
}
`

const exampleTest = `package p

import "testing"

func Test(t *testing.T) {
	if Max(2, 3) != 3 || Max(3, 2) != 3 || !Both(true, true, 4) || Both(true, false, 4) {
		t.Fail()
	}
	if a, b := Order("y", "x"); a != "x" || b != "y" {
		t.Fail()
	}
}
`

// A mutant is told by its function and its code, so that its argument stays true when lines move.
func TestMutate(t *testing.T) {
	var list []mutant
	if _, _, err := mutate("p/p.go", []byte(example), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, strings.TrimPrefix(m.name, "p/p.go "))
	}
	want := []string{
		"Max: a > b: negated", "Max: a > b: >=", "Max: return a: minus", "Max: return b: minus",
		"Both: a && b && n >= 3: without n >= 3", "Both: a && b: without a", "Both: a && b: without b", "Both: n >= 3: >",
		"Order: return a, b: swapped", "Order: b < a: negated", "Order: b < a: <=",
		"unused: a != nil: negated", "unused: true: negated", "unused: false: negated",
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRun(t *testing.T) {
	fuzztest.Seconds(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("p", 0o700); err != nil {
		t.Fatal(err)
	}
	write("go.mod", "module example.com/p\n\ngo 1.26\n")
	write("p/p.go", example)
	write("p/p_test.go", exampleTest)
	const file = "# those that nobody can notice\np/p.go Max: a > b: >=\tequal numbers are one\np/p.go Order: b < a: <=\tequal too\n"
	for _, c := range []struct{ equivalent, want string }{
		{file, "p/p.go:11: survives: p/p.go Both: a && b: without a\n" +
			"p/p.go:11: survives: p/p.go Both: a && b && n >= 3: without n >= 3\n" +
			"p/p.go:11: is reached by no test: p/p.go Both: n >= 3: >\n" +
			"p/p.go:22: is reached by no test: p/p.go unused: a != nil: negated\n" +
			"p/p.go:23: is reached by no test: p/p.go unused: true: negated\n" +
			"p/p.go:25: is reached by no test: p/p.go unused: false: negated\n" +
			"14 of 14 mutants tried: 6 noticed, 2 equivalent, 6 to look at\n"},
		{file + "p/p.go Max: a > b: negated\tit is noticed\np/p.go gone: a: negated\tthere is none\nq/q.go q: a: negated\tof another package\n",
			"p/p.go:4: a test notices it, so it is not equivalent: p/p.go Max: a > b: negated\n"},
		{file + "p/p.go gone: a: negated\tthere is none\n", "equivalent.txt: there is no such mutant: p/p.go gone: a: negated\n"},
	} {
		write("equivalent.txt", c.equivalent)
		var out strings.Builder
		survivors, err := options{packages: []string{"p"}, equivalent: "equivalent.txt"}.run(t.Context(), &out)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(c.want) {
			if !strings.Contains(out.String(), line) {
				t.Errorf("no %sin\n%s", line, out.String())
			}
		}
		if survivors == 0 {
			t.Error("no survivors")
		}
	}
}

// With a revision, only mutants in lines that differ from it are tried, and in new files.
func TestSince(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Chdir(t.TempDir())
	run := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("p", 0o700); err != nil {
		t.Fatal(err)
	}
	run("init", "-q")
	write("p/p.go", example)
	write("p/same.go", strings.ReplaceAll(example, "func ", "func Same"))
	run("add", ".")
	run("commit", "-q", "-m", "one")
	write("p/p.go", strings.Replace(strings.Replace(example, "n >= 3", "n >=\n\t\t4", 1), "\t\treturn true\n", "", 1))
	write("p/new.go", "package p\n\nfunc New(a, b int) bool {\n\treturn a < b\n}\n")
	var all []mutant
	for _, file := range []string{"p/p.go", "p/same.go", "p/new.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := mutate(file, source, &all); err != nil {
			t.Fatal(err)
		}
	}
	picked, err := options{since: "HEAD", packages: []string{"p"}}.pick(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range picked {
		got = append(got, m.name)
	}
	want := []string{"p/p.go Both: a && b && n >= 4: without n >= 4", "p/p.go Both: a && b: without a",
		"p/p.go Both: a && b: without b", "p/p.go Both: n >= 4: >", "p/p.go unused: a != nil: negated",
		"p/new.go New: a < b: negated", "p/new.go New: a < b: <="}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := (options{since: "none", packages: []string{"p"}}).pick(t.Context(), all); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
}

func TestPick(t *testing.T) {
	var all []mutant
	for i := range 100 {
		all = append(all, mutant{id: i + 1, name: fmt.Sprintf("p.go F: %d: negated", i)})
	}
	again := filepath.Join(t.TempDir(), "survivors")
	if err := os.WriteFile(again, []byte("p.go:3: survives: p.go F: 42: negated\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	picked := func(o options) []int {
		list, err := o.pick(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int
		for _, m := range list {
			ids = append(ids, m.id)
		}
		return ids
	}
	if len(picked(options{})) != 100 {
		t.Error("not all")
	}
	if got := picked(options{only: "F: 7: "}); !cmp.Equal(got, []int{8}) {
		t.Errorf("-only: %v", got)
	}
	if got := picked(options{again: again}); !cmp.Equal(got, []int{43}) {
		t.Errorf("-again: %v", got)
	}
}

func TestEquivalent(t *testing.T) {
	name := t.TempDir() + "/e.txt"
	for _, text := range []string{"a: negated\n", "a: negated\t \n", "a\tb\na\tb\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readEquivalent(name); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
