// Command mutants changes conditions, bounds and results of the code one by one: a test must notice each change.
//
//	go run ./internal/house/mutants [-sample 40 -seed 1] [PACKAGE...]
//
// It lists the changes that no test notices. The file equivalent.txt holds those that cannot be noticed, each with its
// argument: the text of the mutant, a tab, why it makes no difference.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	o := options{}
	flag.IntVar(&o.sample, "sample", 0, "try `N` mutants only")
	flag.Uint64Var(&o.seed, "seed", 1, "pick them by this number")
	flag.StringVar(&o.equivalent, "equivalent", "internal/house/mutants/equivalent.txt",
		"the `file` of mutants that make no difference")
	tests := flag.String("tests", "", "comma-separated `packages` whose tests run too")
	flag.Parse()
	o.packages = flag.Args()
	if *tests != "" {
		o.tests = strings.Split(*tests, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := o.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

type options struct {
	packages, tests []string // directories below the current one
	equivalent      string
	sample          int
	seed            uint64
}

// run returns the number of mutants that survived without an argument.
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
	suite, err := build(ctx, slices.Concat(o.packages, o.tests), code.overlay, tmp)
	if err != nil {
		return 0, err
	}
	picked := pick(code.mutants, o.sample, o.seed)
	survivors, equivalent := 0, 0
	for _, m := range picked {
		killed, err := suite.kills(ctx, m)
		if err != nil {
			return 0, err
		}
		_, argued := arguments[m.name]
		switch {
		case killed && argued:
			survivors++
			fmt.Fprintf(out, "%s:%d: a test notices it, so it is not equivalent: %s\n", m.file, m.line, m.name)
		case argued:
			equivalent++
		case !killed:
			survivors++
			how := "survives"
			if len(suite.reached[m.id]) == 0 {
				how = "is reached by no test"
			}
			fmt.Fprintf(out, "%s:%d: %s: %s\n", m.file, m.line, how, m.name)
		}
	}
	stale := stale(arguments, code.mutants, o.packages)
	for _, name := range stale {
		fmt.Fprintf(out, "%s: there is no such mutant: %s\n", o.equivalent, name)
	}
	fmt.Fprintf(out, "%d of %d mutants tried: %d noticed, %d equivalent, %d to look at\n", len(picked),
		len(code.mutants),
		len(picked)-survivors-equivalent, equivalent, survivors)
	return survivors + len(stale), nil
}

// pick returns n mutants by a seed, in their order; all of them if n is 0.
func pick(all []mutant, n int, seed uint64) []mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(order)
	var out []mutant
	for _, i := range order {
		out = append(out, all[i])
	}
	return out
}

// readEquivalent returns the arguments by the text of the mutant.
func readEquivalent(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, argument, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(argument) == "" || out[name] != "" {
			return nil,
				fmt.Errorf("%s:%d: want a mutant that is not there yet, a tab and why it makes no difference", file, n)
		}
		out[name] = argument
	}
	return out, nil
}

// stale returns the arguments about no mutant of these packages.
func stale(arguments map[string]string, all []mutant, packages []string) []string {
	known := map[string]bool{}
	for _, m := range all {
		known[m.name] = true
	}
	var out []string
	for name := range arguments {
		file, _, _ := strings.Cut(name, " ")
		if slices.Contains(packages, filepath.ToSlash(filepath.Dir(file))) && !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
