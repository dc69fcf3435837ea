//go:build unix

package goals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// goal is a line of the table. The figure is atMost at most.
type goal struct {
	name    string
	unit    string
	atMost  float64 // 0: the figure is shown beside those that have a goal
	measure func(context.Context, *bench) (figure, error)
}

// goals are in an order in which this process is small while it starts others: Linux counts the memory of a process
// that starts another one as memory of the new one.
var goals = []goal{
	{"olmgen, stripped", " MB", 50, size},
	{"olmgen version, CPU ms", " ms", 8, version},
	{"olmgen render, bundle of 333 kB, CPU ms", " ms", 15, small},
	{"olmgen render -f, memory for each operator", " MB", 1.6, memory},
	{"catalog audit, 300 MB of JSON, memory", " MB", 120, holds},
	{"one Subscription, 57 MB of directories, CPU s", " s", 0.3, oneOf(57e6, 0, resolves)},
	{"one Subscription, 384 MB of directories, CPU s", " s", 1.2, oneOf(384e6, 0, resolves)},
	{"one, requires an API, 384 MB, CPU s", " s", 1.2, oneOf(384e6, 0, requires)},
	{"graph --package, 1,349 bundles in directories, CPU s", " s", 3, oneOf(0, 1349, graphs)},
	{"catalog audit --filter, 150 MB of JSON, CPU s", " s", 1.5, filters},
	{"render: olm in relation to olmv1", "", 1.1, profiles},
	{"catalog audit --all-versions: to render, permissions and validate", "", 1.2, audits},
	{"catalog site: to render, permissions, validate and diff", "", 1.3, sites},
	{"catalog site again, one package changed: to its site", "", 3, again},
	{"diff, CRDs equal: to both renders", "", 1.5, equalCRDs},
	{"diff, CRDs changed: to both renders", "", 4, changedCRDs},
	{"diff, CRDs changed: comparison of CRDs alone, to both renders", "", 0, crdsAlone},
	{"history of 120 releases: to render and permissions of each", "", 1.2, histories},
}

func size(_ context.Context, b *bench) (figure, error) {
	info, err := os.Stat(b.olmgen)
	if err != nil {
		return figure{}, err
	}
	return figure{value: float64(info.Size()) / 1e6}, nil
}

// version measures a start.
func version(ctx context.Context, b *bench) (figure, error) {
	return b.starts(ctx, 0, nil, "version")
}

// smallBundle is the size of the bundle that small renders: the nearest one in the corpus is taken.
const smallBundle = 333_000

func small(ctx context.Context, b *bench) (figure, error) {
	best, distance := "", int64(0)
	for _, dir := range b.all {
		size, err := sizeOf(dir)
		if err != nil {
			return figure{}, err
		}
		if d := max(size-smallBundle, smallBundle-size); (best == "" || d < distance) && b.renders(dir) {
			best, distance = dir, d
		}
	}
	out := filepath.Join(b.dir, "small")
	return b.starts(ctx, smallBundle, []string{best}, "render", best, "--certs", "cert-manager", "--force", "-o", out)
}

// starts measures a command that is short: several starts in each run.
func (b *bench) starts(ctx context.Context, write int64, read []string, args ...string) (figure, error) {
	const each = 5
	times, err := b.alternate(func() (time.Duration, error) {
		var sum time.Duration
		for range each {
			t, err := b.command(ctx, args...)()
			if err != nil {
				return 0, err
			}
			sum += t
		}
		return sum / each, nil
	})
	if err != nil {
		return figure{}, err
	}
	f := figure{cost: median(times[0])}
	f.value = f.cost.Seconds() * 1000
	if len(read) > 0 {
		f.limit, err = b.limit(write, read...)
	}
	return f, err
}

// memory measures the newest bundle of each package, in a namespace of its own.
func memory(ctx context.Context, b *bench) (figure, error) {
	var file strings.Builder
	file.WriteString("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\n" +
		"defaults: {certs: {provider: cert-manager}}\ngroups:\n")
	operators, last, provided := 0, "", map[string]bool{}
	for i, dir := range b.all {
		newest := i+1 == len(b.all) || filepath.Dir(b.all[i+1]) != filepath.Dir(dir)
		if !newest || !b.renders(dir) || !alone(dir, provided) {
			continue
		}
		fmt.Fprintf(&file, "- namespace: operator-%d\n  bundles: [{source: %q}]\n", i, dir)
		operators, last = operators+1, dir
	}
	name := filepath.Join(b.dir, "olmgen.yaml")
	if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
		return figure{}, err
	}
	one, err := b.peak(ctx, "render", last, "--certs", "cert-manager", "--dry-run", "-o", filepath.Join(b.dir, "none"))
	if err != nil {
		return figure{}, err
	}
	all, err := b.peak(ctx, "render", "-f", name, "--dry-run", "-o", filepath.Join(b.dir, "none"))
	return figure{value: (all - one) / float64(operators-1)}, err
}

// alone reports whether no other bundle has one of the CRDs of a bundle: the operators would be in conflict.
func alone(dir string, provided map[string]bool) bool {
	x, err := read(dir)
	if err != nil {
		return false
	}
	for _, crd := range x.CRDs {
		if provided[crd.Name] {
			return false
		}
	}
	for _, crd := range x.CRDs {
		provided[crd.Name] = true
	}
	return true
}

// peak returns the median of the largest memory of a command in MB.
func (b *bench) peak(ctx context.Context, args ...string) (float64, error) {
	var list []float64
	for range b.runs {
		state, err := b.start(ctx, args...)
		if err != nil {
			return 0, err
		}
		usage, ok := state.SysUsage().(*syscall.Rusage)
		if !ok {
			return 0, errors.New("this system does not say how much memory a process had")
		}
		list = append(list, float64(usage.Maxrss)*1024/1e6)
	}
	return median(list), nil
}

// again measures a site of all packages of which one has a new description, in relation to a site of that package.
func again(ctx context.Context, b *bench) (figure, error) {
	all, out := filepath.Join(b.dir, "bundles"), filepath.Join(b.dir, "public")
	if err := os.CopyFS(all, os.DirFS(b.bundles)); err != nil {
		return figure{}, err
	}
	middle := b.all[len(b.all)/2]
	pkg := filepath.Join(all, filepath.Base(filepath.Dir(middle)))
	csv, err := csvOf(filepath.Join(pkg, filepath.Base(middle)))
	if err != nil {
		return figure{}, err
	}
	text, err := os.ReadFile(csv)
	if err != nil {
		return figure{}, err
	}
	if _, err := b.start(ctx, "catalog", "site", all, "-o", out); err != nil {
		return figure{}, err
	}
	run := 0
	change := func() (time.Duration, error) {
		run++
		name := fmt.Appendf(nil, "displayName: Changed %d, ", run)
		if err := os.WriteFile(csv, bytes.ReplaceAll(text, []byte("displayName: "), name), 0o600); err != nil {
			return 0, err
		}
		return b.command(ctx, "catalog", "site", all, "-o", out)()
	}
	times, err := b.alternate(change,
		b.command(ctx, "catalog", "site", pkg, "-o", filepath.Join(b.dir, "alone"), "--force"))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: ratio(times[0], times[1]), cost: median(times[0])}
	written, err := sizeOf(filepath.Join(out, "packages", filepath.Base(pkg)))
	if err == nil {
		f.limit, err = b.limit(written, pkg)
	}
	return f, errors.Join(err, os.RemoveAll(all), os.RemoveAll(out))
}

// csvOf returns the file of the ClusterServiceVersion of a bundle.
func csvOf(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*"))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && bytes.Contains(text, []byte("\nkind: ClusterServiceVersion\n")) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%s: no ClusterServiceVersion", dir)
}

// revised returns a copy of a bundle as another version, which differs in nothing else.
func (b *bench) revised(dir, to, version string) error {
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		return err
	}
	csv, err := csvOf(to)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(csv)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(filepath.Base(dir)), []byte(version))
	return os.WriteFile(csv, text, 0o600)
}
