package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type instrumented struct {
	mutants []mutant
	overlay string // a file for go test -overlay
}

// instrument writes the packages with their mutants below a directory.
func instrument(packages []string, tmp string) (instrumented, error) {
	var out instrumented
	replace := map[string]string{}
	put := func(original string, data []byte) error {
		absolute, err := filepath.Abs(original)
		if err != nil {
			return err
		}
		name := filepath.Join(tmp, fmt.Sprintf("%d.go", len(replace)))
		replace[absolute] = name
		return os.WriteFile(name, data, 0o600)
	}
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return out, err
		}
		name := ""
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return out, err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.PackageClauseOnly)
			if err != nil {
				return out, err
			}
			name = tree.Name.Name
			changed, err := mutate(filepath.ToSlash(file), source, &out.mutants)
			if err == nil {
				err = put(file, changed)
			}
			if err != nil {
				return out, err
			}
		}
		if name == "" {
			return out, fmt.Errorf("%s has no Go files", dir)
		}
		if err := put(filepath.Join(dir, "zz_mutants.go"), []byte(helpers(name))); err != nil {
			return out, err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return out, err
	}
	out.overlay = filepath.Join(tmp, "overlay.json")
	return out, os.WriteFile(out.overlay, data, 0o600)
}

type test struct {
	binary, dir, name string
	cpu               time.Duration
}

// suite has the tests that reach a mutant, by its number, the quickest first.
type suite map[int][]test

type runner struct {
	tmp       string
	processes int
	tests     string // a regular expression

	mu  sync.Mutex
	cpu time.Duration // of all processes
}

// build compiles the tests of each package once, and runs each alone to see which mutants of its package it reaches.
func (r *runner) build(ctx context.Context, packages []string, code instrumented) (suite, error) {
	var tests []test
	for i, dir := range packages {
		binary := filepath.Join(r.tmp, fmt.Sprintf("%d.test", i))
		compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", code.overlay, "-o", binary,
			"./"+dir)
		if out, err := compile.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", dir, err, out)
		}
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue // a package without tests
		}
		list := exec.CommandContext(ctx, binary, "-test.list", r.tests)
		list.Dir = dir
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			if !strings.HasPrefix(name, "Benchmark") {
				tests = append(tests, test{binary: binary, dir: dir, name: name})
			}
		}
	}
	reached := make([][]int, len(tests))
	if err := r.each(len(tests), func(i int) (err error) {
		reached[i], err = r.record(ctx, &tests[i], filepath.Join(r.tmp, fmt.Sprintf("%d.record", i)))
		return err
	}); err != nil {
		return nil, err
	}
	s := suite{}
	for i, t := range tests {
		for _, id := range reached[i] {
			if path.Dir(code.mutants[id-1].file) == t.dir {
				s[id] = append(s[id], t)
			}
		}
	}
	for _, tests := range s {
		slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.cpu, b.cpu) })
	}
	return s, nil
}

// record runs a test without a mutant and returns the mutants that it reaches.
func (r *runner) record(ctx context.Context, t *test, file string) (reached []int, err error) {
	cpu, out, err := r.run(ctx, *t, time.Hour, "OLMGEN_MUTANT_RECORD="+file)
	if err != nil {
		return nil, fmt.Errorf("%s fails without a mutant: %w\n%s", t.name, err, out)
	}
	t.cpu = cpu
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, err
		}
		reached = append(reached, n)
	}
	return reached, err
}

// survivors reports for each mutant, in their order, whether no test that reaches it fails with it.
func (r *runner) survivors(ctx context.Context, s suite, all []mutant, tell func(m mutant, survived bool)) error {
	var mu sync.Mutex
	survived := map[int]bool{}
	told := 0
	return r.each(len(all), func(i int) error {
		alive, err := r.survives(ctx, s[all[i].id], all[i])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		survived[i] = alive
		for alive, known := survived[told]; known; alive, known = survived[told] {
			tell(all[told], alive)
			told++
		}
		return nil
	})
}

func (r *runner) survives(ctx context.Context, tests []test, m mutant) (bool, error) {
	for _, t := range tests {
		_, _, err := r.run(ctx, t, 2*time.Second+3*t.cpu, "OLMGEN_MUTANT="+strconv.Itoa(m.id))
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
func (r *runner) each(n int, f func(int) error) error {
	errs := make([]error, n)
	slots := make(chan bool, max(1, r.processes))
	var wait sync.WaitGroup
	for i := range n {
		slots <- true
		wait.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// run runs a test as a process. Its limit is CPU time: that of the clock depends on what else runs. A mutant can make a
// loop endless, or a list.
func (r *runner) run(ctx context.Context, t test, limit time.Duration, environment ...string) (
	cpu time.Duration, out []byte, err error,
) {
	script := fmt.Sprintf(`ulimit -t %d -v 8000000; exec "$0" "$@"`, int(limit.Seconds())+1)
	c := exec.CommandContext(ctx, "bash", "-c", script, t.binary,
		"-test.run", "^"+t.name+"$", "-test.timeout", "30m", "-test.short", "-test.failfast")
	c.Dir = t.dir
	c.Env = append(append(os.Environ(), "OLMGEN_CORPUS=", "OLMGEN_ORACLE=", "GOMAXPROCS=1"), environment...)
	out, err = c.CombinedOutput()
	if c.ProcessState == nil {
		return 0, out, err
	}
	cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	r.mu.Lock()
	r.cpu += cpu
	r.mu.Unlock()
	return cpu, out, err
}
