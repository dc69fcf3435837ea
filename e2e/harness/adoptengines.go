package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
)

// engineCases are the recordings that an engine takes over: of a group with a selector, with webhooks, and of two
// operators. adoptOfCase is before their names.
var engineCases = []string{shortest, "gates-multi", "two-operators-in-one-group"}

const adoptOfCase = "adopt "

// takesOver has an engine apply a directory, with pruning or without it. It is an error if the engine is not in sync
// then, or if a second time changes something.
type takesOver func(ctx context.Context, dir string, prune bool) error

// adoptBy has an engine take over what is left when the operators have left OLM by a plan to profile plain. Before that
// OLM writes over the marks of the engine. start starts the engine in a cluster.
func (o options) adoptBy(ctx context.Context, name string,
	start func(context.Context, *cluster.Cluster) (takesOver, error)) error {
	return o.adoptions(ctx, name, engineCases, "taken over", func(c equal.Case) error {
		return o.adoptCaseBy(ctx, name, c, start)
	})
}

// adoptions calls do for the recordings of some names that are asked for, and prints what became of each: well, if
// nothing failed.
func (o options) adoptions(ctx context.Context, name string, names []string, well string,
	do func(equal.Case) error) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	for _, c := range cases {
		if ctx.Err() != nil || !slices.Contains(names, c.Name) || !o.only.MatchString(adoptOfCase+c.Name) {
			continue
		}
		started, said := time.Now(), well
		if failed := do(c); failed != nil {
			said = "FAILED: " + failed.Error()
			err = errors.Join(err, fmt.Errorf("%s%s: %w", adoptOfCase, c.Name, failed))
		}
		fmt.Printf("%s: %s%s: %s, %.0fs\n", name, adoptOfCase, c.Name, said, time.Since(started).Seconds())
	}
	return errors.Join(err, ctx.Err())
}

func (o options) adoptCaseBy(ctx context.Context, name string, c equal.Case,
	start func(context.Context, *cluster.Cluster) (takesOver, error)) error {
	a, err := o.installed(ctx, c)
	if err != nil {
		return err
	}
	defer a.stop()
	engine, err := start(ctx, a.cluster)
	if err == nil {
		err = a.prepare(ctx)
	}
	if err != nil {
		return err
	}
	if err := a.leave(ctx); err != nil {
		return err
	}
	marked := func(file string) string { return file + "annotations: " + name + "\n" }
	if err := a.edit("olmgen.yaml", marked); err != nil {
		return err
	}
	if out, err := a.cluster.Shell(ctx, a.dir, "olmgen render -f olmgen.yaml"); err != nil {
		return fmt.Errorf("olmgen render: %w: %s", err, out)
	}
	if err := a.takenBy(ctx, engine); err != nil {
		return err
	}
	return a.resourcesKept(ctx)
}

// takenBy has an engine take over what is rendered, first without pruning. No object may become another one, or get
// another generation or other rights, and pruning must find nothing.
func (a *adoption) takenBy(ctx context.Context, engine takesOver) error {
	before, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	const settle = 6 * time.Second // OLM goes on
	for _, prune := range []bool{false, true} {
		if err := engine(ctx, filepath.Join(a.dir, "operators"), prune); err != nil {
			return fmt.Errorf("pruning %t: %w", prune, err)
		}
		if err := sleep(ctx, settle); err != nil {
			return err
		}
		after, _, err := a.dump(ctx)
		if err != nil {
			return err
		}
		if err := allSame(before.Dump, after.Dump); err != nil {
			return fmt.Errorf("pruning %t: %w", prune, err)
		}
	}
	return nil
}

// allSame is an error if a cluster has other objects than before.
func allSame(before, after *dump.Dump) error {
	for _, o := range before.Objects {
		if err := same(o, after.Get(o.Kind, o.Namespace, o.Name)); err != nil {
			return err
		}
	}
	if n := len(before.Objects); len(after.Objects) != n {
		return fmt.Errorf("the cluster had %d objects, and has %d", n, len(after.Objects))
	}
	return nil
}

// argoAdopts starts Argo CD's engine, which takes over as docs/adopt.md says: without automated sync, server-side.
func argoAdopts(ctx context.Context, c *cluster.Cluster) (takesOver, error) {
	a, err := argoIn(ctx, c)
	return func(ctx context.Context, dir string, prune bool) error {
		app := argoRequest{App: "adopted", Dirs: []string{dir}, Namespace: "default", Prune: prune,
			ServerSideApply: true, ServerSideDiff: true}
		for range 2 {
			if _, err := a.sync(ctx, app); err != nil {
				return err
			}
			if err := a.inSync(ctx, app, nil); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// fluxAdopts starts Flux, which takes over as docs/adopt.md says.
func (o options) fluxAdopts(ctx context.Context, c *cluster.Cluster) (takesOver, error) {
	f, err := o.fluxIn(ctx, c)
	return func(ctx context.Context, dir string, prune bool) error {
		k := kustomization{name: "adopted", source: "adopted", path: "./", prune: prune}
		revision, err := f.publish(ctx, k.source, dir)
		if err == nil {
			err = f.apply(ctx, k)
		}
		if err == nil {
			err = f.ready(ctx, k.name, revision)
		}
		if err != nil {
			return err
		}
		said, err := f.again(ctx, k.name, revision)
		if match := configured.FindStringSubmatch(said); err == nil && match != nil {
			err = fmt.Errorf("the second time changes %s", match[1])
		}
		return err
	}, err
}
