// Command resolver asks OLM's own resolver about catalogs and namespaces, and compares the answers with what olmgen's
// package catalog/resolve predicts. See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const usage = `usage: resolver [flags] random      make random cases and compare olmgen with OLM
       resolver [flags] mutants        break random catalogs and compare what opm and olmgen say
       resolver [flags] check DIR...   compare the answers recorded in cases, OLM and olmgen
       resolver [flags] answer DIR...  write OLM's answers into cases
       resolver [flags] pin [DIR...]   pin what OLM comes to rest at, in cases or random ones, and have OLM play that
DIR is a case, or a directory of cases`

type options struct {
	seed     uint64
	cases    int
	out      string
	keep     bool
	parallel int
	runs     runs
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "random: seed of the first case; the next one has the next seed")
	flag.IntVar(&o.cases, "cases", 100, "random: how many cases")
	flag.StringVar(&o.out, "out", "", "random: where cases that differ are written; default: a temporary directory")
	flag.BoolVar(&o.keep, "all", false,
		"random: write all cases, not only those that differ; pin: print why pins are refused")
	flag.IntVar(&o.parallel, "parallel", 2, "cases at a time")
	flag.IntVar(&o.runs.often, "runs", 30, "how often a scenario is walked")
	flag.IntVar(&o.runs.veryOften, "more-runs", 300, "how often it is walked if the answers differ")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.run(ctx, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "resolver:", err)
		stop()
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "random":
		return o.random(ctx)
	case len(args) == 1 && args[0] == "mutants":
		return o.mutants(ctx)
	case len(args) > 1 && (args[0] == "check" || args[0] == "answer"):
		dirs, err := caseDirs(args[1:])
		if err != nil {
			return err
		}
		return o.given(ctx, dirs, args[0] == "answer")
	case len(args) == 1 && args[0] == "pin":
		return o.randomPins(ctx)
	case len(args) > 1 && args[0] == "pin":
		dirs, err := caseDirs(args[1:])
		if err != nil {
			return err
		}
		return o.pinCases(ctx, dirs)
	}
	return errors.New(usage)
}

// caseDirs returns the cases in some directories.
func caseDirs(args []string) ([]string, error) {
	var dirs []string
	for _, a := range args {
		if _, err := os.Stat(filepath.Join(a, "case.yaml")); err == nil {
			dirs = append(dirs, a)
			continue
		}
		found, err := filepath.Glob(filepath.Join(a, "*", "case.yaml"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s: no case.yaml in it or one level below", a)
		}
		for _, f := range found {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs, nil
}

// given runs cases that are there.
func (o *options) given(ctx context.Context, dirs []string, write bool) error {
	total, start := &counts{}, time.Now()
	o.runs.texts = true
	var mu sync.Mutex
	same := 0
	failed := o.each(len(dirs), func(i int) error {
		answer, diffs, err := compare(ctx, dirs[i], o.runs, total)
		if err == nil && write {
			err = answer.Write(dirs[i])
		}
		if err == nil {
			var d []string
			if d, err = recorded(dirs[i], answer); len(d) == 0 && err == nil {
				mu.Lock()
				same++
				mu.Unlock()
			}
			diffs = append(d, diffs...)
		}
		return o.report(filepath.Base(dirs[i]), diffs, err)
	})
	fmt.Printf("recorded answers: %d of %d cases equal to OLM's\nolmgen: %s\n%s\n", same, len(dirs), total,
		time.Since(start).Round(time.Second))
	return o.result(ctx, failed)
}

// random runs cases by seed.
func (o *options) random(ctx context.Context) error {
	dir := o.out
	if dir == "" {
		tmp, err := os.MkdirTemp("", "olmgen-e2e-resolve-")
		if err != nil {
			return err
		}
		dir = tmp
		defer os.Remove(tmp) // it stays if it holds a case
	}
	total, start := &counts{}, time.Now()
	failed := o.each(o.cases, func(i int) error {
		seed := o.seed + uint64(i)
		name := fmt.Sprintf("random-%05d", seed)
		at := filepath.Join(dir, name)
		if err := randomPuzzle(seed).write(at); err != nil {
			return o.report(name, nil, err)
		}
		answer, diffs, err := compare(ctx, at, o.runs, total)
		switch {
		case err == nil && (o.keep || len(diffs) > 0):
			err = answer.Write(at)
		case err == nil:
			err = os.RemoveAll(at)
		}
		if len(diffs) > 0 {
			name += " in " + at
		}
		return o.report(name, diffs, err)
	})
	fmt.Printf("resolve, seeds %d to %d: %s\n%s\n", o.seed, o.seed+uint64(o.cases)-1, total,
		time.Since(start).Round(time.Second))
	return o.result(ctx, failed)
}

func (o *options) result(ctx context.Context, failed int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed > 0 {
		return fmt.Errorf("%d cases differ or fail", failed)
	}
	return nil
}

// report prints the differences of a case.
func (o *options) report(name string, diffs []string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		diffs = append(diffs, err.Error())
	}
	if len(diffs) == 0 {
		return nil
	}
	text := name + ":\n" + strings.Join(diffs, "\n")
	fmt.Println(text)
	return errors.New(text)
}

// each calls do for 0 to n-1, some at a time, and counts the errors.
func (o *options) each(n int, do func(int) error) (failed int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, o.parallel))
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if do(i) != nil {
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}
