package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/olmgen/olmgen/e2e/harness/apply"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
	"github.com/olmgen/olmgen/generate"
)

// applied is how many bundles of the corpus are applied for real.
const applied = 30

// notApplied are golden trees, by the start of their names, that no API server takes, because of what the bundle says.
var notApplied = map[string]string{
	"deployments/":     "a volume of the bundle is not valid (iscsi.iqn, scaleIO.volumeName)",
	"hostile-strings/": "control characters, which server-side apply refuses, and a webhook path that is none",
}

// e2e gives golden trees and renderings of real bundles to an API server.
func (o options) e2e(ctx context.Context) error {
	crds, err := cluster.OLMCRDs(ctx, filepath.Join(o.root, "e2e", "harness"))
	if err != nil {
		return err
	}
	var bundles []string
	if corpus := os.Getenv("OLMGEN_CORPUS"); corpus == "" {
		fmt.Println("OLMGEN_CORPUS is not set: only golden trees are applied")
	} else if bundles, err = apply.Newest(corpus); err != nil {
		return err
	}
	return errors.Join(o.dryRuns(ctx, crds, bundles), o.forReal(ctx, crds, bundles))
}

// dryRuns asks one server about every golden tree and every bundle in every form.
func (o options) dryRuns(ctx context.Context, crds string, bundles []string) error {
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.InstallCRDs(ctx, crds); err != nil {
		return err
	}
	trees, err := apply.GoldenTrees(o.golden())
	if err != nil {
		return err
	}
	trees = slices.DeleteFunc(trees, func(t apply.Tree) bool {
		for start, reason := range notApplied {
			if strings.HasPrefix(t.Name, start) {
				fmt.Printf("%s is not applied: %s\n", t.Name, reason)
				return true
			}
		}
		return false
	})
	golden := len(trees)
	for _, dir := range bundles {
		for _, form := range apply.Forms {
			t, err := form.Render(dir, generate.Options{})
			if err != nil {
				fmt.Printf("%s (%s) is not rendered: %v\n", filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)), form.Name, err)
				continue
			}
			trees = append(trees, t)
		}
	}
	s := newSummary("dry run")
	a := apply.New(c)
	o.each(len(trees), func(n int) error {
		if !o.only.MatchString(trees[n].Name) || ctx.Err() != nil {
			return nil
		}
		if err := a.Namespaces(ctx, trees[n]); err != nil {
			return s.add(trees[n].Name, apply.Result{}, []error{err})
		}
		r, errs := a.DryRun(ctx, trees[n])
		return s.add(trees[n].Name, r, errs)
	})
	fmt.Printf("dry run: %d golden trees, %d renderings of %d bundles\n", golden, len(trees)-golden, len(bundles))
	return s.err()
}

// forReal applies some bundles twice, each form in a cluster of its own: with OLM's CRDs for the profile olm, without for plain.
func (o options) forReal(ctx context.Context, crds string, bundles []string) error {
	s := newSummary("applied twice")
	step := max(1, len(bundles)/applied)
	o.each(len(bundles)/step*len(apply.Forms), func(n int) error {
		form, dir := apply.Forms[n%len(apply.Forms)], bundles[n/len(apply.Forms)*step]
		t, err := form.Render(dir, generate.Options{})
		if err != nil || !o.only.MatchString(t.Name) || ctx.Err() != nil {
			return nil // dryRuns has said so
		}
		c, err := cluster.Start(ctx, o.bin(), o.files())
		if err == nil {
			defer c.Stop()
			if form.Profile == generate.ProfileOLM {
				err = c.InstallCRDs(ctx, crds)
			}
		}
		a := apply.New(c)
		if err == nil {
			err = a.Namespaces(ctx, t)
		}
		if err != nil {
			return s.add(t.Name, apply.Result{}, []error{err})
		}
		r, errs := a.Twice(ctx, t)
		return s.add(t.Name, r, errs)
	})
	return s.err()
}

// summary collects results.
type summary struct {
	what           string
	started        time.Time
	mu             sync.Mutex
	trees, objects int
	unknown        map[string]int
	failed         int
}

func newSummary(what string) *summary {
	return &summary{what: what, started: time.Now(), unknown: map[string]int{}}
}

func (s *summary) add(name string, r apply.Result, errs []error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees++
	s.objects += r.Applied
	for kind, n := range r.Unknown {
		s.unknown[kind] += n
	}
	if len(errs) > 0 {
		s.failed++
		fmt.Printf("%s: %s: %v\n", s.what, name, errors.Join(errs...))
	}
	return errors.Join(errs...)
}

func (s *summary) err() error {
	var unknown []string
	for _, kind := range slices.Sorted(maps.Keys(s.unknown)) {
		unknown = append(unknown, fmt.Sprintf("%d %s", s.unknown[kind], kind))
	}
	fmt.Printf("%s: %d trees, %d objects, %d trees failed, %.0fs; of APIs that are not there: %s\n",
		s.what, s.trees, s.objects, s.failed, time.Since(s.started).Seconds(), strings.Join(unknown, ", "))
	if s.failed > 0 {
		return fmt.Errorf("%s: %d of %d trees failed", s.what, s.failed, s.trees)
	}
	return nil
}
