//go:build unix

// Package goals measures the goals of docs/performance.md: what whole jobs cost in relation to rendering.
//
//	OLMGEN_CORPUS=DIR go test ./cmd/internal/goals -run Goals -v -args -runs 9 [-only REGEXP] [-olmgen PROGRAM]
//
// It prints a line for each goal: the figure, what it may be at most, and whether that is reached. Figures are medians
// of runs in which what is compared alternates, in CPU seconds (user and system), because other work on the machine
// changes only the time that passes. Behind each figure stands the physical limit: what it costs to read, hash and
// write the same bytes, and how many times as much the job needs.
package goals

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"text/tabwriter"

	"github.com/olmgen/olmgen/golden/corpus"
)

var (
	runs    = flag.Int("runs", 0, "measure the goals `N` times")
	only    = flag.String("only", ".", "measure the goals whose names match `regexp`")
	program = flag.String("olmgen", "", "`PROGRAM` to measure; else it is built")
)

func TestGoals(t *testing.T) {
	if *runs == 0 {
		t.Skip("a benchmark: make bench-goals")
	}
	b := &bench{runs: *runs, olmgen: *program}
	if err := b.run(t.Context(), os.Stdout, *only, os.Getenv("OLMGEN_CORPUS")); err != nil {
		t.Fatal(err)
	}
}

// bench is what the goals are measured with.
type bench struct {
	runs    int
	olmgen  string // the program
	bundles string // the directory that holds the packages of the corpus
	all     []string
	dir     string // for what is written
}

func (b *bench) run(ctx context.Context, out io.Writer, only, root string) error {
	names, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	packages, err := corpus.Packages(root)
	if err != nil {
		return err
	}
	b.bundles = filepath.Join(root, "bundles")
	for _, p := range packages {
		b.all = append(b.all, p.Bundles...)
	}
	if b.dir, err = os.MkdirTemp("", "goals"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.olmgen == "" {
		if err := b.build(ctx); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "goal\tfigure\tat most\t\tcost\tlimit\tcost/limit")
	for _, g := range goals {
		if !names.MatchString(g.name) {
			continue
		}
		f, err := g.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		fmt.Fprintln(w, g.line(f))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// build builds the program as a release has it.
func (b *bench) build(ctx context.Context) error {
	b.olmgen = filepath.Join(b.dir, "olmgen")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.olmgen, "github.com/olmgen/olmgen/cmd/olmgen")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// line is what is printed of a goal.
func (g goal) line(f figure) string {
	reached := "reached"
	if f.value > g.atMost {
		reached = "missed"
	}
	if g.atMost == 0 {
		reached = ""
	}
	line := fmt.Sprintf("%s\t%s\t%s\t%s", g.name, g.text(f.value), g.text(g.atMost), reached)
	if f.cost > 0 {
		line += fmt.Sprintf("\t%.1f ms", f.cost.Seconds()*1000)
	}
	if f.limit > 0 {
		line += fmt.Sprintf("\t%.1f ms\t%.1f", f.limit.Seconds()*1000, f.cost.Seconds()/f.limit.Seconds())
	}
	return line
}

func (g goal) text(value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f%s", value, g.unit)
}
