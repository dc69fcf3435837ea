//go:build unix

package goals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/source"
)

func init() { debug.SetGCPercent(300) } // as the command has it

func read(dir string) (*bundle.Bundle, error) {
	return bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true, Workers: 1})
}

// renders reports whether a bundle can be rendered with the options of the goals.
func (b *bench) renders(dir string) bool {
	x, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err == nil {
		_, err = generate.Render(x, options(generate.ProfileOLM))
	}
	return err == nil
}

func options(p generate.Profile) generate.Options {
	return generate.Options{Profile: p, Certs: generate.CertsManager}
}

// render reads and renders bundles. It returns how many bytes came out.
func render(dirs []string, p generate.Profile) (written int64, err error) {
	for _, dir := range dirs {
		result, _, err := one(dir, p)
		if err != nil {
			return 0, err
		}
		if result == nil {
			continue
		}
		for _, o := range result.Objects {
			written += int64(len(o.Data))
		}
	}
	return written, nil
}

// one reads and renders a bundle. The result is nil if olmgen refuses it: that costs little.
func one(dir string, p generate.Profile) (*generate.Result, *bundle.Bundle, error) {
	x, err := read(dir)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // tests say which bundles are refused
	}
	result, err := generate.Render(x, options(p))
	if refused := (*generate.Error)(nil); errors.As(err, &refused) {
		return nil, x, nil
	}
	return result, x, err
}

func profiles(_ context.Context, b *bench) (figure, error) {
	var written int64
	job := func(p generate.Profile) cost {
		return inside(func() (err error) { written, err = render(b.all, p); return err })
	}
	times, err := b.alternate(job(generate.ProfileOLMv1), job(generate.ProfileOLM))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: ratio(times[1], times[0]), cost: median(times[1])}
	f.limit, err = b.limit(written, b.bundles)
	return f, err
}

// rights evaluates what a rendered bundle may do.
func rights(result *generate.Result, x *bundle.Bundle) error {
	in := permissions.Input{Shipped: x.Others, Namespace: result.Namespace}
	in.CSVs = []permissions.CSV{{ClusterServiceVersion: x.CSV, Object: x.CSVObject, Namespace: result.Namespace}}
	for _, o := range result.Objects {
		read, err := o.Manifest()
		if err != nil {
			return err
		}
		in.AddRendered(read, o.Namespace)
	}
	_, _, err := permissions.EvaluateWithRoles(in)
	return err
}

// parts measures render, permissions and validate for each bundle, each for itself: what was read for one part is not
// counted for the next one.
func parts(ctx context.Context, dirs []string) cost {
	return func() (time.Duration, error) {
		var sum time.Duration
		for _, dir := range dirs {
			var result *generate.Result
			var x *bundle.Bundle
			for _, part := range []func() error{
				func() (err error) { result, x, err = one(dir, generate.ProfileOLM); return err },
				func() error {
					if result == nil {
						return nil
					}
					return rights(result, x)
				},
				func() error { return found(ctx, dir, x) },
			} {
				t, err := lap(part)
				if err != nil {
					return 0, fmt.Errorf("%s: %w", dir, err)
				}
				sum += t
			}
		}
		return sum, nil
	}
}

// lap returns the CPU time of a function, without a collection of garbage before it.
func lap(f func() error) (time.Duration, error) {
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cpu()
	return after - before, err
}

// found validates a bundle. It is nil if it was refused.
func found(ctx context.Context, dir string, x *bundle.Bundle) error {
	if x == nil {
		return nil
	}
	src, err := source.Open(ctx, dir, source.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = validate.Read(ctx, src, x, validate.Options{})
	return err
}

func audits(ctx context.Context, b *bench) (figure, error) {
	times, err := b.alternate(b.command(ctx, "catalog", "audit", "--all-versions", b.bundles), parts(ctx, b.all))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: ratio(times[0], times[1]), cost: median(times[0])}
	f.limit, err = b.limit(0, b.bundles)
	return f, err
}

func sites(ctx context.Context, b *bench) (figure, error) {
	out := filepath.Join(b.dir, "site")
	site := func() (time.Duration, error) {
		if err := os.RemoveAll(out); err != nil {
			return 0, err
		}
		return b.command(ctx, "catalog", "site", b.bundles, "-o", out)()
	}
	times, err := b.alternate(site, parts(ctx, b.all), b.neighbours(ctx))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: ratio(times[0], times[1], times[2]), cost: median(times[0])}
	written, err := sizeOf(out)
	if err == nil {
		f.limit, err = b.limit(written, b.bundles)
	}
	return f, err
}

// neighbours measures what the comparison of each release with the one before it costs.
func (b *bench) neighbours(ctx context.Context) cost {
	return func() (sum time.Duration, err error) {
		set, err := audit.Load(ctx, []string{b.bundles}, audit.Options{Workers: 1})
		if err != nil {
			return 0, err
		}
		err = set.Each(ctx, audit.All, func(p *audit.Package, list []*audit.Inspected) error {
			for _, x := range list {
				before := p.Neighbour(x.Release)
				for _, old := range list {
					if old.Release != before || old.State == nil || x.State == nil {
						continue
					}
					t, err := lap(func() error {
						_, err := compare.Compare(ctx, *old.State, *x.State, compare.Options{})
						return err
					})
					if err != nil {
						return err
					}
					sum += t
				}
			}
			return nil
		})
		return sum, err
	}
}

// pair is an older and a newer release.
type pair struct{ old, now string }

// pairs returns every third pair of neighbouring releases that can be rendered.
func (b *bench) pairs() (list []pair) {
	n := 0
	for i := range b.all[1:] {
		p := pair{b.all[i], b.all[i+1]}
		if filepath.Dir(p.old) != filepath.Dir(p.now) || !b.renders(p.old) || !b.renders(p.now) {
			continue
		}
		if n++; n%3 == 1 {
			list = append(list, p)
		}
	}
	return list
}

// diffs measures the command diff in relation to rendering both sides. What a start costs is taken off each.
func (b *bench) diffs(ctx context.Context, list []pair) (figure, error) {
	start, diff, renders := sum{}, sum{}, sum{}
	for _, p := range list {
		diff = append(diff, b.command(ctx, "diff", p.old, p.now))
		start = append(start, b.command(ctx, "version"))
		for _, dir := range []string{p.old, p.now} {
			renders = append(renders, b.command(ctx, "render", dir, "--certs", "cert-manager", "-o", "-"))
		}
	}
	times, err := b.alternate(start.run, diff.run, renders.run)
	if err != nil {
		return figure{}, err
	}
	job := less(times[1], times[0])
	f := figure{value: ratio(job, less(less(times[2], times[0]), times[0])), cost: median(job)}
	var dirs []string
	for _, p := range list {
		dirs = append(dirs, p.old, p.now)
	}
	f.limit, err = b.limit(0, dirs...)
	return f, err
}

// sum is several jobs that are one.
type sum []cost

func (s sum) run() (total time.Duration, err error) {
	for _, job := range s {
		t, err := job()
		if err != nil {
			return 0, err
		}
		total += t
	}
	return total, nil
}

func equalCRDs(ctx context.Context, b *bench) (figure, error) {
	dir, err := os.MkdirTemp(b.dir, "revised")
	if err != nil {
		return figure{}, err
	}
	defer os.RemoveAll(dir)
	var list []pair
	for i, p := range b.pairs() {
		to := filepath.Join(dir, fmt.Sprint(i))
		if err := b.revised(p.now, to, "99.0.0"); err == nil && b.renders(to) {
			list = append(list, pair{p.now, to})
		}
	}
	return b.diffs(ctx, list)
}

func changedCRDs(ctx context.Context, b *bench) (figure, error) { return b.diffs(ctx, b.pairs()) }

// crdsAlone measures the comparison of the CRDs of the same releases.
func crdsAlone(ctx context.Context, b *bench) (figure, error) {
	alone := func() (total time.Duration, err error) {
		for _, p := range b.pairs() {
			old, err := read(p.old)
			if err != nil {
				return 0, err
			}
			now, err := read(p.now)
			if err != nil {
				return 0, err
			}
			t, err := lap(func() error {
				_, err := crds.Compare(ctx, old.Shipped(), now.Shipped(), crds.Options{})
				return err
			})
			if err != nil {
				return 0, err
			}
			total += t
		}
		return total, nil
	}
	var dirs []string
	for _, p := range b.pairs() {
		dirs = append(dirs, p.old, p.now)
	}
	rendered := inside(func() error { _, err := render(dirs, generate.ProfileOLM); return err })
	times, err := b.alternate(alone, rendered)
	if err != nil {
		return figure{}, err
	}
	return figure{value: ratio(times[0], times[1]), cost: median(times[0])}, nil
}

// histories measures 120 releases that differ in their versions.
func histories(ctx context.Context, b *bench) (figure, error) {
	dir, err := os.MkdirTemp(b.dir, "history")
	if err != nil {
		return figure{}, err
	}
	defer os.RemoveAll(dir)
	var from string
	for _, x := range b.all {
		if b.renders(x) && filepath.Base(filepath.Dir(x)) == "cert-manager" {
			from = x
		}
	}
	var dirs []string
	for i := range 120 {
		version := fmt.Sprintf("9.%d.0", i)
		dirs = append(dirs, filepath.Join(dir, version))
		if err := b.revised(from, dirs[i], version); err != nil {
			return figure{}, err
		}
	}
	times, err := b.alternate(b.command(ctx, "history", dir), inside(func() error {
		for _, dir := range dirs {
			result, x, err := one(dir, generate.ProfileOLM)
			if err == nil {
				err = rights(result, x)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: ratio(times[0], times[1]), cost: median(times[0])}
	f.limit, err = b.limit(0, dir)
	return f, err
}
