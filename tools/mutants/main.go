// Command mutants changes conditions, bounds and results of the code one by one: a test must notice each change.
//
//	mutants [-since REV] [-only TEXT] [-again FILE] DIR...
//
// It lists the changes that no test of the same package notices. The file equivalent.txt holds those that cannot be
// noticed, each with its argument: the text of the mutant, a tab, why it makes no difference.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
)

func main() {
	o := options{equivalent: "tools/mutants/equivalent.txt"}
	flag.StringVar(&o.since, "since", "", "try the mutants of lines that differ from this Git `revision`")
	flag.StringVar(&o.only, "only", "", "try the mutants that have this `text` in theirs")
	flag.StringVar(&o.again, "again", "", "try the mutants that an earlier run printed to this `file`")
	flag.Parse()
	o.packages = lists.Map(flag.Args(), func(dir string) string { return filepath.ToSlash(filepath.Clean(dir)) })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bad, err := o.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

type options struct {
	packages   []string // directories below the current one
	equivalent string   // a file
	since      string   // a revision
	only       string
	again      string // a file
}

// run returns the number of mutants that survived without an argument, and of arguments without a mutant.
func (o options) run(ctx context.Context, out io.Writer) (bad int, err error) {
	arguments, err := readEquivalent(o.equivalent)
	if err != nil {
		return 0, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	all, overlay, err := instrument(o.packages, tmp)
	if err != nil {
		return 0, err
	}
	picked, err := o.pick(ctx, all)
	if err != nil {
		return 0, err
	}
	packages := lists.Unique(lists.Map(picked, func(m mutant) string { return path.Dir(m.file) }))
	suite, err := build(ctx, packages, all, tmp, overlay)
	if err != nil {
		return 0, err
	}
	survived := make([]bool, len(picked))
	err = each(len(picked), func(i int) (err error) {
		survived[i], err = survives(ctx, suite[picked[i].id], picked[i].id)
		return err
	})
	if err != nil {
		return 0, err
	}
	equivalent := 0
	for i, m := range picked {
		how := "survives"
		switch argued := arguments[m.name]; {
		case argued && survived[i]:
			equivalent++
			continue
		case argued:
			how = "a test notices it, so it is not equivalent"
		case !survived[i]:
			continue
		case len(suite[m.id]) == 0:
			how = "is reached by no test"
		}
		bad++
		fmt.Fprintf(out, "%s:%d: %s: %s\n", m.file, m.first, how, m.name)
	}
	fmt.Fprintf(out, "%d of %d mutants tried: %d noticed, %d equivalent, %d to look at\n",
		len(picked), len(all), len(picked)-bad-equivalent, equivalent, bad)
	exist := lists.Set(all, func(m mutant) string { return m.name })
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		file, _, _ := strings.Cut(name, " ")
		if slices.Contains(o.packages, path.Dir(file)) && !exist[name] {
			bad++
			fmt.Fprintf(out, "%s: there is no such mutant: %s\n", o.equivalent, name)
		}
	}
	return bad, nil
}

func (o options) pick(ctx context.Context, all []mutant) ([]mutant, error) {
	lines, err := changedLines(ctx, o.since, o.packages)
	if err != nil {
		return nil, err
	}
	var again []byte
	if o.again != "" {
		if again, err = os.ReadFile(o.again); err != nil {
			return nil, err
		}
	}
	return lists.Filter(all, func(m mutant) bool {
		changed := func(s span) bool { return m.first <= s.last && s.first <= m.last }
		return strings.Contains(m.name, o.only) && (o.since == "" || slices.ContainsFunc(lines[m.file], changed)) &&
			(o.again == "" || strings.Contains(string(again), ": "+m.name+"\n"))
	}), nil
}

// readEquivalent returns the mutants that have an argument, by their text.
func readEquivalent(file string) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, argument, _ := strings.Cut(line, "\t")
		if strings.TrimSpace(argument) == "" || out[name] {
			return nil, fmt.Errorf("%s:%d: want a mutant that is not there yet, a tab and why it makes no difference",
				file, i+1)
		}
		out[name] = true
	}
	return out, nil
}

type span struct{ first, last int }

// hunk is the line of a diff that names the new file, or the one that tells the lines of the new file.
var hunk = regexp.MustCompile(`(?m)^(?:\+\+\+ (.*)|@@ -\S+ \+(\d+)(?:,(\d+))? @@.*)$`)

// changedLines returns the lines that differ from a Git revision. Where lines are gone, those around the place count.
func changedLines(ctx context.Context, revision string, dirs []string) (map[string][]span, error) {
	if revision == "" {
		return nil, nil
	}
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", append(args, dirs...)...)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w", c, err)
		}
		return string(out), err
	}
	diff, err := git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix", "--relative", revision, "--")
	if err != nil {
		return nil, err
	}
	lines, file := map[string][]span{}, ""
	for _, m := range hunk.FindAllStringSubmatch(diff, -1) {
		if m[1] != "" {
			file = m[1]
			continue
		}
		first, _ := strconv.Atoi(m[2]) // the pattern has matched digits
		count := 1
		switch m[3] {
		case "":
		case "0":
			count = 2 // the new text has nothing between this line and the next one
		default:
			count, _ = strconv.Atoi(m[3])
		}
		lines[file] = append(lines[file], span{first, first + count - 1})
	}
	untracked, err := git("ls-files", "--others", "--exclude-standard", "--")
	for name := range strings.Lines(untracked) {
		lines[strings.TrimSpace(name)] = []span{{1, math.MaxInt}}
	}
	return lines, err
}

// helperText is the file that a package with mutants gets. With "record", it writes every mutant reached to a file.
//
//go:embed helpers.go.txt
var helperText string

// instrument writes the packages with their mutants below a directory, and the file of go test -overlay.
func instrument(packages []string, tmp string) (mutants []mutant, overlay string, err error) {
	replace := map[string]string{}
	put := func(original string, data []byte) error {
		absolute, err := filepath.Abs(original)
		replace[absolute] = filepath.Join(tmp, fmt.Sprintf("%d.go", len(replace)))
		return errors.Join(err, os.WriteFile(replace[absolute], data, 0o600))
	}
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, "", err
		}
		name := ""
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err == nil {
				source, name, err = mutate(filepath.ToSlash(file), source, &mutants)
			}
			if err == nil {
				err = put(file, source)
			}
			if err != nil {
				return nil, "", err
			}
		}
		if name == "" {
			return nil, "", fmt.Errorf("%s has no Go files", dir)
		}
		helpers := []byte(strings.ReplaceAll(helperText, "PACKAGE", name))
		if err := put(filepath.Join(dir, "zz_mutants.go"), helpers); err != nil {
			return nil, "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay = filepath.Join(tmp, "overlay.json")
	return mutants, overlay, os.WriteFile(overlay, data, 0o600)
}

type test struct {
	binary, dir, name string
	cpu               time.Duration
}

// build compiles the tests of each package once, and runs each alone to see which mutants of its package it reaches. It
// returns the tests that reach a mutant, by its number, the quickest first.
func build(ctx context.Context, packages []string, mutants []mutant, tmp, overlay string) (map[int][]test, error) {
	var tests []test
	for i, dir := range packages {
		binary := filepath.Join(tmp, fmt.Sprintf("%d.test", i))
		compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+dir)
		if out, err := compile.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", dir, err, out)
		}
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue // a package without tests
		}
		list := exec.CommandContext(ctx, binary, "-test.list", "^[^B]") // no benchmarks
		list.Dir = dir
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			tests = append(tests, test{binary: binary, dir: dir, name: name})
		}
	}
	records := make([][]byte, len(tests))
	if err := each(len(tests), func(i int) error {
		file := filepath.Join(tmp, fmt.Sprintf("%d.record", i))
		out, err := tests[i].run(ctx, time.Hour, "OLMGEN_MUTANT_RECORD="+file)
		if err != nil {
			return fmt.Errorf("%s fails without a mutant: %w\n%s", tests[i].name, err, out)
		}
		if records[i], err = os.ReadFile(file); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	reaching := map[int][]test{}
	for i, t := range tests {
		for line := range bytes.FieldsSeq(records[i]) {
			id, err := strconv.Atoi(string(line))
			if err != nil {
				return nil, err
			}
			if path.Dir(mutants[id-1].file) == t.dir {
				reaching[id] = append(reaching[id], t)
			}
		}
	}
	for _, tests := range reaching {
		slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.cpu, b.cpu) })
	}
	return reaching, nil
}

// survives reports whether none of the tests fails with a mutant.
func survives(ctx context.Context, tests []test, id int) (bool, error) {
	for _, t := range tests {
		_, err := t.run(ctx, 2*time.Second+3*t.cpu, "OLMGEN_MUTANT="+strconv.Itoa(id))
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// each calls a function with the numbers below n, some at once.
func each(n int, f func(int) error) error {
	errs := make([]error, n)
	parallel.Each(runtime.NumCPU(), n, func(i int) { errs[i] = f(i) })
	return errors.Join(errs...)
}

// run runs a test as a process, and notes what it takes. Its limit is CPU time: that of the clock depends on what else
// runs. A mutant can make a loop endless, or a list.
func (t *test) run(ctx context.Context, limit time.Duration, environment string) (out []byte, err error) {
	script := fmt.Sprintf(`ulimit -t %d -v 8000000; exec "$0" "$@"`, int(limit.Seconds())+1)
	c := exec.CommandContext(ctx, "bash", "-c", script, t.binary,
		"-test.run", "^"+t.name+"$", "-test.timeout", "30m", "-test.short", "-test.failfast")
	c.Dir = t.dir
	c.Env = append(os.Environ(), "OLMGEN_CORPUS=", "OLMGEN_ORACLE=", "GOMAXPROCS=1", environment)
	if out, err = c.CombinedOutput(); c.ProcessState != nil {
		t.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	return out, err
}
