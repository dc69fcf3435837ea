package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/permissions"
)

// Each inspects the releases of each package that want asks for, and calls done once for each package, with its
// releases in their order. done may be called from several goroutines, and not in the order of packages. The first
// error of done ends the work. What is in memory at one time is what the packages need that are not done yet.
func (s *Set) Each(ctx context.Context, want func(*Package, *Release) bool,
	done func(*Package, []*Inspected) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWork(s, want, done)
	for _, p := range s.Packages {
		if w.states[p].open == 0 {
			if err := done(p, nil); err != nil {
				return err
			}
		}
	}
	jobs := make(chan job)
	var wg sync.WaitGroup
	for range parallel.Workers(s.options.Workers) {
		wg.Go(func() {
			for j := range jobs {
				if ctx.Err() != nil {
					continue
				}
				if err := w.finish(j, j.inspect(ctx, s.options)); err != nil {
					cancel(err)
				}
				s.options.step(w.total)
			}
		})
	}
	err := w.produce(ctx, jobs)
	close(jobs)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// work hands out releases and collects what is found.
type work struct {
	set    *Set
	done   func(*Package, []*Inspected) error
	states map[*Package]*packageState
	total  int
	mu     sync.Mutex
}

type packageState struct {
	jobs []job
	list []*Inspected
	open int // jobs that are not done
}

func newWork(s *Set, want func(*Package, *Release) bool, done func(*Package, []*Inspected) error) *work {
	w := &work{set: s, done: done, states: map[*Package]*packageState{}}
	for _, p := range s.Packages {
		state := &packageState{}
		w.states[p] = state
		for _, r := range p.Releases {
			if !want(p, r) {
				r.read = nil
				continue
			}
			state.jobs = append(state.jobs, job{pkg: p, release: r, slot: state.open})
			state.open++
			w.total++
		}
		state.list = make([]*Inspected, state.open)
	}
	return w
}

func (w *work) finish(j job, x *Inspected) error {
	w.mu.Lock()
	state := w.states[j.pkg]
	state.list[j.slot] = x
	state.open--
	list := state.list
	ready := state.open == 0
	if ready {
		state.list = nil
	}
	w.mu.Unlock()
	if !ready {
		return nil
	}
	return w.done(j.pkg, list)
}

// produce sends the jobs, package by package.
func (w *work) produce(ctx context.Context, jobs chan<- job) error {
	for _, p := range w.set.Packages {
		for _, j := range w.states[p].jobs {
			select {
			case jobs <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// Head asks for the head of each package, and for what a tree has or installs.
func Head(p *Package, r *Release) bool { return r == p.Head() || r.facts != nil || r.planned != nil }

// All asks for all releases.
func All(*Package, *Release) bool { return true }

// Run audits the releases that want asks for.
func (s *Set) Run(ctx context.Context, want func(*Package, *Release) bool) (*Report, error) {
	rows := map[*Package][]*Inspected{}
	var mu sync.Mutex
	err := s.Each(ctx, want, func(p *Package, list []*Inspected) error {
		for _, x := range list { // what a row does not need is not kept
			x.Bundle, x.State, x.Permissions, x.CSV = nil, nil, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		rows[p] = list
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Report{APIVersion: APIVersion, Kind: Kind, Rows: []Row{}, Unread: append([]Unread{}, s.Unread...),
		installs: s.installs, Target: s.options.target()}
	for _, p := range s.Packages {
		for _, x := range rows[p] {
			r.add(x)
		}
	}
	r.sum(s.treeMetrics())
	return r, nil
}

// ReportOf makes a report of rows that Each found, without their findings.
func ReportOf(rows []Row, s *Set) *Report {
	r := &Report{APIVersion: APIVersion, Kind: Kind, Rows: append([]Row{}, rows...),
		Unread: append([]Unread{}, s.Unread...), Target: s.options.target()}
	r.sum(s.treeMetrics())
	return r
}

func (r *Report) add(x *Inspected) {
	r.Rows = append(r.Rows, x.Row)
	r.list = append(r.list, x.Findings...)
	if x.Error != "" {
		r.list = append(r.list, findings.Finding{Rule: ruleUnread, Level: findings.Error, Source: x.Source,
			File: x.Source, Object: x.Name, Message: x.Error})
	}
}

// sum counts over all rows.
func (r *Report) sum(trees Metrics) {
	for _, u := range r.Unread {
		r.list = append(r.list, findings.Finding{Rule: ruleUnread, Level: findings.Error, Source: u.Source,
			File: u.Source, Message: u.Error})
	}
	findings.Sort(r.list)
	r.Totals = totalsOf(r.Rows, len(r.Unread))
	m := &r.Totals.Metrics
	m.Subscriptions, m.InstallPlans, m.CatalogSources = trees.Subscriptions, trees.InstallPlans, trees.CatalogSources
}

var modes = []string{"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"}

func totalsOf(rows []Row, unread int) Totals {
	t := Totals{Releases: len(rows), Failed: unread, Unfit: []Count{}, Verdicts: []Count{}}
	packages, unfit, verdicts := map[string]bool{}, map[string]int{}, map[string]int{}
	inMode, inGroup := map[string]int{}, map[permissions.Risk]Count{}
	for _, r := range rows {
		packages[r.Package] = true
		t.add(r)
		for _, m := range r.InstallModes {
			inMode[m]++
		}
		for _, why := range r.Unfit {
			unfit[why]++
		}
		if r.Error == "" {
			verdicts[strings.TrimSpace(string(r.Verdict.Answer)+" "+r.Verdict.Rule)]++
		}
		for _, reach := range r.Reaches {
			c := inGroup[reach.Risk]
			c.Releases++
			if reach.Cluster {
				c.Cluster++
			}
			inGroup[reach.Risk] = c
		}
	}
	t.Packages = len(packages)
	for _, why := range slices.Sorted(maps.Keys(unfit)) {
		t.Unfit = append(t.Unfit, Count{Name: why, Releases: unfit[why]})
	}
	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		t.Verdicts = append(t.Verdicts, Count{Name: name, Releases: verdicts[name]})
	}
	for _, g := range permissions.Dangerous {
		c := inGroup[g]
		c.Name = string(g)
		t.Reaches = append(t.Reaches, c)
	}
	names := slices.Clone(modes)
	for m := range inMode {
		if !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	slices.SortStableFunc(names[len(modes):], func(a, b string) int { return cmp.Compare(a, b) })
	for _, m := range names {
		t.Metrics.InstallModes = append(t.Metrics.InstallModes, Count{Name: m, Releases: inMode[m]})
	}
	return t
}

// add counts a row.
func (t *Totals) add(r Row) {
	one := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	one(&t.Complete, r.Complete)
	one(&t.Failed, r.Error != "")
	one(&t.Deprecated, r.Deprecated != "")
	one(&t.Webhooks, r.Webhooks.Total() > 0)
	t.CRDs.Count += r.CRDs.Count
	t.CRDs.Bytes += r.CRDs.Bytes
	t.Images.Digest += r.Images.Digest
	t.Images.Tag += r.Images.Tag
	t.Findings.Errors += r.Findings.Errors
	t.Findings.Warnings += r.Findings.Warnings
	t.Findings.Notes += r.Findings.Notes
	known := r.Error == "" || r.Complete
	one(&t.Metrics.CSVs, known)
	one(&t.Metrics.Upgradeable, known && r.Upgradeable)
	one(&t.Metrics.NotUpgradeable, known && !r.Upgradeable)
}
