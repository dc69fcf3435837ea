package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus"
)

// applied is how many bundles of the corpus are applied for real.
const applied = 30

// notRendered are bundles of the repository that "olmgen render" refuses without the flags of their golden case.
var notRendered = map[string]string{
	"no-annotations":    "metadata that it lacks",
	"csv-directory":     "no bundle",
	"unsupported-kinds": "kinds that OLM does not install",
}

// material is what is applied.
type material struct {
	own      []string
	packages []corpus.Package // every o.sample-th of the corpus
}

func (o options) material() (m material, err error) {
	if m.own, err = apply.OwnBundles(o.golden()); err != nil {
		return m, err
	}
	m.own = slices.DeleteFunc(m.own,
		func(dir string) bool { return notRendered[filepath.Base(filepath.Dir(dir))] != "" })
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		fmt.Println("OLMGEN_CORPUS is not set: only the bundles of the repository are applied")
		return m, nil
	}
	all, err := corpus.Packages(root)
	m.packages = every(o.sample, all)
	return m, err
}

// every returns each n-th element.
func every[T any](n int, all []T) (some []T) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// e2e runs all checks, or those that are named.
func (o options) e2e(ctx context.Context, names []string) error {
	o.alone = len(names) == 1
	checks := map[string]func(context.Context, material) error{"dry-run": o.dryRuns, "apply": o.applies,
		"upgrade": o.upgrades, "access": o.access, "crs": o.customResources, "adopt": o.adopt,
		"refused": o.refusals, "admission": o.admission, "writes": o.writes, "pinned": o.pinned,
		"used": o.used, "neighbours": o.neighbours}
	if len(names) == 0 {
		names = []string{"dry-run", "apply", "upgrade", "access", "crs", "adopt", "refused", "admission", "writes",
			"pinned", "used"}
	}
	for _, name := range names {
		if checks[name] == nil {
			return fmt.Errorf("there is no check %q", name)
		}
	}
	m, err := o.material()
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, checks[name](ctx, m))
	}
	return err
}

// dryRuns asks one server about every golden tree and the newest bundle of every package in every form.
func (o options) dryRuns(ctx context.Context, m material) error {
	trees, err := apply.GoldenTrees(o.golden())
	if err != nil {
		return err
	}
	s := newSummary("dry run")
	for _, p := range m.packages {
		for _, form := range apply.Forms {
			if t, ok := s.render(form, p.Bundles[len(p.Bundles)-1], generate.Options{}); ok {
				trees = append(trees, t)
			}
		}
	}
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.InstallOLMCRDs(ctx); err != nil {
		return err
	}
	a := apply.New(c)
	o.each(len(trees), func(n int) error {
		if !o.only.MatchString(trees[n].Name) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.Namespaces(ctx, trees[n]); err != nil {
			return s.add(trees[n].Name, apply.Result{}, []error{err})
		}
		r, errs := a.DryRun(ctx, trees[n])
		return s.add(trees[n].Name, r, errs)
	})
	return errors.Join(ctx.Err(), s.err(), o.kubectl(ctx, c, trees))
}

// kubectlTrees are golden trees whose APIs the cluster has: streams for "kubectl apply -f", a directory for "kubectl
// apply -k".
var kubectlTrees = regexp.MustCompile(`^(install-modes/out/|layouts/out/flat$)`)

// kubectl runs kubectl itself on some golden trees: it must accept what the harness has applied.
func (o options) kubectl(ctx context.Context, c *cluster.Cluster, trees []apply.Tree) (err error) {
	if path, _ := exec.LookPath("kubectl"); path == "" {
		fmt.Println("dry run: there is no kubectl; the same requests were made without it")
		return nil
	}
	for _, t := range trees {
		if !kubectlTrees.MatchString(t.Name) || !o.only.MatchString(t.Name) {
			continue
		}
		flag := "-k"
		if filepath.Ext(t.Path) == ".yaml" {
			flag = "-f"
		}
		out, failed := c.Kubectl(ctx, "apply", "--server-side", "--dry-run=server", "--validate=strict", flag, t.Path)
		if n := strings.Count(out, " serverside-applied (server dry run)\n"); failed != nil || n != len(t.Objects) {
			err = errors.Join(err, failed,
				fmt.Errorf("kubectl applies %d of %d objects of %s:\n%s", n, len(t.Objects), t.Name, out))
		}
	}
	return err
}

// applies takes the repository's bundles and some of the corpus: it applies them, checks that they are in sync, and
// removes them.
func (o options) applies(ctx context.Context, m material) error {
	s, dirs := newSummary("applied twice"), m.own
	for _, p := range every(max(1, len(m.packages)*o.sample/applied), m.packages) {
		dirs = append(dirs, p.Bundles[len(p.Bundles)-1])
	}
	return o.inBoth(ctx, s, len(dirs), func(a *apply.Applier, form apply.Form, n int) {
		t, ok := s.render(form, dirs[n], generate.Options{})
		if !ok || !o.only.MatchString(t.Name) {
			return
		}
		if err := a.Namespaces(ctx, t); err != nil {
			_ = s.add(t.Name, apply.Result{}, []error{err})
			return
		}
		r, errs := a.Apply(ctx, t)
		errs = append(errs, a.Synced(ctx, t, r)...)
		if err := a.Remove(ctx, t); err != nil {
			errs = append(errs, err)
		}
		_ = s.add(t.Name, r, errs) // s.err reports it
	})
}

// upgrade is a bundle and its successor.
type upgrade struct {
	from, to string
	options  generate.Options
}

// upgrades applies a bundle and its successor over it: the pairs of golden/upgrades in every install mode, and the
// newest two of every package of the corpus that has two.
func (o options) upgrades(ctx context.Context, m material) error {
	pairs, err := filepath.Glob(filepath.Join(o.golden(), "upgrades", "*"))
	if err != nil || len(pairs) == 0 {
		return errors.Join(errors.New("no pairs in golden/upgrades"), err)
	}
	var all []upgrade
	for _, dir := range pairs {
		for _, mode := range apply.Modes() {
			all = append(all, upgrade{filepath.Join(dir, "from"), filepath.Join(dir, "to"), mode})
		}
	}
	for _, p := range m.packages {
		if n := len(p.Bundles); n > 1 {
			all = append(all, upgrade{p.Bundles[n-2], p.Bundles[n-1], generate.Options{}})
		}
	}
	s := newSummary("upgraded")
	err = o.inBoth(ctx, s, len(all), func(a *apply.Applier, form apply.Form, n int) {
		from, ok := s.render(form, all[n].from, all[n].options)
		to, alsoOK := s.render(form, all[n].to, all[n].options)
		name := fmt.Sprintf("%s to %s %s", from.Name, to.Name, all[n].options.InstallMode)
		if ok && alsoOK && o.only.MatchString(name) {
			r, errs := a.Upgrade(ctx, from, to)
			_ = s.add(name, r, errs)
		}
	})
	return errors.Join(err, o.looked(s.what, s.trees))
}

// inBoth calls do n times for every form: for the profile olm with a cluster that has OLM's CRDs, for plain with one
// that has not.
func (o options) inBoth(ctx context.Context, s *summary, n int, do func(*apply.Applier, apply.Form, int)) error {
	profiles := []generate.Profile{generate.ProfileOLM, generate.ProfilePlain}
	var failed atomic.Pointer[error]
	o.each(len(profiles), func(i int) error {
		c, err := cluster.Start(ctx, o.bin(), o.files())
		if err == nil {
			defer c.Stop()
			if profiles[i] == generate.ProfileOLM {
				err = c.InstallOLMCRDs(ctx)
			}
		}
		a := apply.New(c)
		for _, form := range apply.Forms {
			for k := 0; k < n && form.Profile == profiles[i] && ctx.Err() == nil && err == nil; k++ {
				do(a, form, k)
				err = c.Check()
			}
		}
		if err != nil {
			failed.Store(&err)
		}
		return err
	})
	if err := failed.Load(); err != nil {
		return errors.Join(*err, s.err())
	}
	return errors.Join(ctx.Err(), s.err())
}

// short names a bundle's directory by its last two elements.
func short(dir string) string {
	return strings.TrimSuffix(filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)), "/bundle")
}
