// Command harness runs a real API server and a real OLM on loopback and checks olmgen against them. See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/olmgen/olmgen/golden/equal"
)

// options are the flags of all commands.
type options struct {
	root     string // the checkout
	only     *regexp.Regexp
	forms    *regexp.Regexp // of plans
	with     []string       // neighbours; none: all
	update   bool
	parallel int
	sample   int
	alone    bool // one check runs: it must have a case
}

// looked returns an error if the check that runs alone has looked at nothing.
func (o options) looked(check string, n int) error {
	if n == 0 && o.alone {
		return fmt.Errorf("%s: no case has a name that matches %s", check, o.only)
	}
	return nil
}

func main() {
	root := flag.String("root", ".", "the checkout of olmgen")
	only := flag.String("run", "", "only cases whose name matches this regular expression")
	forms := flag.String("forms", "", "only plans to forms that match this regular expression")
	with := flag.String("with", "", "only checks with these neighbours, separated by spaces")
	update := flag.Bool("update", false, "write the recordings anew")
	parallel := flag.Int("parallel", 2, "clusters at a time")
	sample := flag.Int("sample", 1, "of the corpus, only each n-th package")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{root: *root, update: *update, parallel: max(1, *parallel), sample: max(1, *sample),
		with: strings.Fields(*with)}
	var err error
	if o.forms, err = regexp.Compile(*forms); err == nil {
		o.only, err = regexp.Compile(*only)
	}
	if err == nil {
		if o.root, err = filepath.Abs(o.root); err == nil {
			err = run(ctx, flag.Args(), o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "harness:", err)
		stop()
		os.Exit(1)
	}
}

const usage = "usage: harness [flags] live|e2e [dry-run] [apply] [upgrade] [access] [crs] [adopt] [refused] " +
	"[admission] [writes] [pinned] [used] [neighbours]"

func run(ctx context.Context, args []string, o options) error {
	switch {
	case len(args) == 1 && args[0] == "live":
		return o.live(ctx)
	case len(args) > 0 && args[0] == "e2e":
		return o.e2e(ctx, args[1:])
	}
	return errors.New(usage)
}

func (o options) golden() string { return filepath.Join(o.root, "golden") }
func (o options) bin() string    { return filepath.Join(o.root, "e2e", ".bin") }
func (o options) files() string  { return filepath.Join(o.root, "e2e", ".run") }

// each calls do for 0 to n-1, some at a time, and counts the errors.
func (o options) each(n int, do func(int) error) (failed int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, o.parallel)
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

// report runs a check over cases and prints what it finds, or why it fails, with its time. An error counts the
// failures.
func (o options) report(ctx context.Context, check string, cases []equal.Case,
	do func(context.Context, equal.Case) (string, error)) error {
	failed := o.each(len(cases), func(n int) error {
		started := time.Now()
		found, err := do(ctx, cases[n])
		if err != nil {
			fmt.Printf("%s: %s FAILED after %.0fs: %v\n", check, cases[n].Name, time.Since(started).Seconds(), err)
		} else {
			fmt.Printf("%s: %s %s, %.0fs\n", check, cases[n].Name, found, time.Since(started).Seconds())
		}
		return err
	})
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d cases failed", check, failed, len(cases))
	}
	return ctx.Err()
}
