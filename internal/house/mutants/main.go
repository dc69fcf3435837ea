// Command mutants changes conditions, bounds and results of the code one by one: a test must notice each change.
//
//	go run ./internal/house/mutants [-since REV] [-sample 40 -seed 1] [-only TEXT] [-again FILE] [-run REGEXP] DIR...
//
// It lists the changes that no test of the same package notices. The file equivalent.txt holds those that cannot be
// noticed, each with its argument: the text of the mutant, a tab, why it makes no difference. The file survivors.txt
// says how many others a package may have, if all of its mutants are tried: the number may only fall.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/olmgen/olmgen/internal/base/lists"
)

func main() {
	o := options{}
	flag.IntVar(&o.sample, "sample", 0, "try `N` mutants only")
	flag.Uint64Var(&o.seed, "seed", 1, "pick them by this number")
	flag.StringVar(&o.since, "since", "", "try the mutants of lines that differ from this Git `revision`")
	flag.StringVar(&o.only, "only", "", "try the mutants that have this `text` in theirs")
	flag.StringVar(&o.again, "again", "", "try the mutants that an earlier run printed to this `file`")
	flag.StringVar(&o.tests, "run", ".", "run the tests with a name like `regexp` only, for a quick first look")
	flag.IntVar(&o.processes, "p", 2, "run `N` tests at once")
	flag.StringVar(&o.equivalent, "equivalent", "internal/house/mutants/equivalent.txt",
		"the `file` of mutants that make no difference")
	flag.StringVar(&o.known, "survivors", "internal/house/mutants/survivors.txt", "the `file` of numbers of survivors")
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
	equivalent string
	known      string // a file
	since      string // a revision
	only       string
	again      string // a file
	tests      string // a regular expression
	sample     int
	seed       uint64
	processes  int
}

// run returns the number of mutants that survived without an argument, in packages that have more of them than they
// may, and of arguments without a mutant.
func (o options) run(ctx context.Context, out io.Writer) (int, error) {
	arguments, err := readEquivalent(o.equivalent)
	if err != nil {
		return 0, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	code, err := instrument(o.packages, tmp)
	if err != nil {
		return 0, err
	}
	picked, err := o.pick(ctx, code.mutants)
	if err != nil {
		return 0, err
	}
	allowed := map[string]int{}
	if len(picked) == len(code.mutants) && o.tests == "." {
		if allowed, err = readKnown(o.known); err != nil {
			return 0, err
		}
	}
	r := runner{tmp: tmp, processes: o.processes, tests: cmp.Or(o.tests, ".")}
	var packages []string
	for _, m := range picked {
		packages = lists.Add(packages, path.Dir(m.file))
	}
	suite, err := r.build(ctx, packages, code)
	if err != nil {
		return 0, err
	}
	bad, equivalent, left := 0, 0, map[string]int{} // left: survivors by package
	err = r.survivors(ctx, suite, picked, func(m mutant, survived bool) {
		_, argued := arguments[m.name]
		how := verdict(argued, survived, len(suite[m.id]) > 0)
		switch {
		case how != "":
			bad++
			left[path.Dir(m.file)]++
			fmt.Fprintf(out, "%s:%d: %s: %s\n", m.file, m.line, how, m.name)
		case argued:
			equivalent++
		}
	})
	if err != nil {
		return 0, err
	}
	failed := o.overKnown(out, left, allowed)
	stale := stale(arguments, code.mutants, o.packages)
	for _, name := range stale {
		fmt.Fprintf(out, "%s: there is no such mutant: %s\n", o.equivalent, name)
	}
	fmt.Fprintf(out, "%d of %d mutants tried: %d noticed, %d equivalent, %d to look at; %s of CPU time in tests\n",
		len(picked), len(code.mutants), len(picked)-bad-equivalent, equivalent, bad, r.cpu.Round(time.Second))
	return failed + len(stale), nil
}

// verdict says what is wrong with a mutant; nothing if a test notices it, or if it survives with an argument.
func verdict(argued, survived, reached bool) string {
	switch {
	case argued && survived:
		return ""
	case argued:
		return "a test notices it, so it is not equivalent"
	case !reached:
		return "is reached by no test"
	case survived:
		return "survives"
	}
	return ""
}

// overKnown returns how many survivors are in packages with too many, and says whose number is not that of the file.
func (o options) overKnown(out io.Writer, left, allowed map[string]int) (failed int) {
	for dir, n := range left {
		if n > allowed[dir] {
			failed += n
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(allowed)) {
		if n := left[dir]; slices.Contains(o.packages, dir) && n != allowed[dir] {
			fmt.Fprintf(out, "%s: %s has %d survivors, not %d: the number may only fall\n",
				o.known, dir, n, allowed[dir])
		}
	}
	return failed
}

func (o options) pick(ctx context.Context, all []mutant) ([]mutant, error) {
	if o.since != "" {
		lines, err := changedLines(ctx, o.since, o.packages)
		if err != nil {
			return nil, err
		}
		all = lists.Filter(all, func(m mutant) bool {
			return slices.ContainsFunc(lines[m.file],
				func(s span) bool { return m.line <= s.last && s.first <= m.last })
		})
	}
	if o.again != "" {
		data, err := os.ReadFile(o.again)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(data), "\n")
		all = lists.Filter(all, func(m mutant) bool {
			return slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, ": "+m.name) })
		})
	}
	all = lists.Filter(all, func(m mutant) bool { return strings.Contains(m.name, o.only) })
	if o.sample == 0 || o.sample >= len(all) {
		return all, nil
	}
	order := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(all))[:o.sample]
	slices.Sort(order)
	return lists.Map(order, func(i int) mutant { return all[i] }), nil
}

// readEquivalent returns the arguments by the text of the mutant.
func readEquivalent(file string) (map[string]string, error) {
	out := map[string]string{}
	return out, eachLine(file, "a mutant that is not there yet, a tab and why it makes no difference",
		func(line string) bool {
			name, argument, _ := strings.Cut(line, "\t")
			_, twice := out[name]
			out[name] = strings.TrimSpace(argument)
			return out[name] != "" && !twice
		})
}

// readKnown returns how many survivors a package may have.
func readKnown(file string) (map[string]int, error) {
	known := map[string]int{}
	return known, eachLine(file, "a directory, a space and a number from 1", func(line string) (ok bool) {
		dir, count, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(strings.TrimSpace(count))
		known[dir] = n
		return err == nil && n > 0
	})
}

// eachLine calls add with the lines that are neither empty nor comments, and fails where it returns false.
func eachLine(file, want string, add func(line string) bool) error {
	data, err := os.ReadFile(file)
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !add(line) {
			return fmt.Errorf("%s:%d: want %s", file, n, want)
		}
	}
	return err
}

// stale returns the arguments about no mutant of these packages.
func stale(arguments map[string]string, all []mutant, packages []string) (out []string) {
	known := lists.Set(all, func(m mutant) string { return m.name })
	for name := range arguments {
		file, _, _ := strings.Cut(name, " ")
		if slices.Contains(packages, path.Dir(file)) && !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
