package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// instrumented is the code with its mutants.
type instrumented struct {
	mutants []mutant
	overlay string // a file for go test -overlay
}

// instrument writes the packages with their mutants below a directory.
func instrument(packages []string, tmp string) (instrumented, error) {
	var out instrumented
	replace := map[string]string{}
	put := func(original string, data []byte) error {
		name := filepath.Join(tmp, fmt.Sprintf("%d.go", len(replace)))
		replace[original] = name
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
			if err != nil {
				return out, err
			}
			absolute, err := filepath.Abs(file)
			if err != nil {
				return out, err
			}
			if err := put(absolute, changed); err != nil {
				return out, err
			}
		}
		if name == "" {
			return out, fmt.Errorf("%s has no Go files", dir)
		}
		absolute, err := filepath.Abs(filepath.Join(dir, "zz_mutants.go"))
		if err != nil {
			return out, err
		}
		if err := put(absolute, []byte(helpers(name))); err != nil {
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

// test is one test function of a compiled package.
type test struct {
	binary, dir, name string
	cpu               time.Duration
}

type suite struct {
	reached map[int][]test // by the number of the mutant, the quickest test first
}

// build compiles the tests once, and runs each alone to see which mutants it reaches.
func build(ctx context.Context, packages []string, overlay, tmp string) (*suite, error) {
	s := &suite{reached: map[int][]test{}}
	for i, dir := range packages {
		binary := filepath.Join(tmp, fmt.Sprintf("%d.test", i))
		compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+dir)
		if out, err := compile.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", dir, err, out)
		}
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue // a package without tests
		}
		list := exec.CommandContext(ctx, binary, "-test.list", ".")
		list.Dir = dir
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			if strings.HasPrefix(name, "Benchmark") {
				continue
			}
			if err := s.record(ctx, test{binary: binary, dir: dir, name: name},
				filepath.Join(tmp, "record")); err != nil {
				return nil, err
			}
		}
	}
	for _, tests := range s.reached {
		slices.SortFunc(tests, func(a, b test) int { return int(a.cpu - b.cpu) })
	}
	return s, nil
}

// record runs a test without a mutant.
func (s *suite) record(ctx context.Context, t test, file string) error {
	c := t.command(ctx, time.Hour, "OLMGEN_MUTANT_RECORD="+file)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s fails without a mutant: %w\n%s", t.name, err, out)
	}
	t.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err != nil {
			return err
		}
		s.reached[n] = append(s.reached[n], t)
	}
	return os.Remove(file)
}

// kills reports whether a test that reaches the mutant fails with it.
func (s *suite) kills(ctx context.Context, m mutant) (bool, error) {
	for _, t := range s.reached[m.id] {
		err := t.command(ctx, 10*time.Second+5*t.cpu, "OLMGEN_MUTANT="+strconv.Itoa(m.id)).Run()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// command returns the test as a process. Its limit is CPU time: that of the clock depends on what else runs. A mutant
// can make a loop endless, or a list.
func (t test) command(ctx context.Context, limit time.Duration, environment ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -t %d -v 8000000; exec "$0" "$@"`, int(limit.Seconds())+1)
	c := exec.CommandContext(ctx, "bash", "-c", script, t.binary, "-test.run", "^"+t.name+"$", "-test.timeout", "30m")
	c.Dir = t.dir
	c.Env = append(append(os.Environ(), "OLMGEN_CORPUS=", "OLMGEN_ORACLE="), environment...)
	return c
}
