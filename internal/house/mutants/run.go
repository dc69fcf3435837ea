package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/olmgen/olmgen/internal/base/parallel"
)

// helperText is the file that a package with mutants gets. In the mode "record", every mutant that is reached is
// written to a file.
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
