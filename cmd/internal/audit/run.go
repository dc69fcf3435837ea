package audit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
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
	var jobs []job // package by package
	for _, p := range s.Packages {
		found := &collected{}
		for _, r := range p.Releases {
			if !want(p, r) {
				r.read = nil
				continue
			}
			jobs = append(jobs, job{pkg: p, release: r, found: found, slot: found.open})
			found.open++
		}
		found.list = make([]*Inspected, found.open)
		if found.open == 0 {
			if err := done(p, nil); err != nil {
				return err
			}
		}
	}
	parallel.Each(s.options.Workers, len(jobs), func(i int) {
		j := jobs[i]
		if ctx.Err() != nil {
			return
		}
		if list, all := j.found.add(j.slot, j.inspect(ctx, s.options)); all {
			if err := done(j.pkg, list); err != nil {
				cancel(err)
			}
		}
		s.options.step(len(jobs))
	})
	return context.Cause(ctx)
}

type collected struct {
	sync.Mutex
	list []*Inspected
	open int // releases that are not inspected
}

// add adds a release, and returns the list if that is all.
func (c *collected) add(slot int, x *Inspected) (list []*Inspected, all bool) {
	c.Lock()
	defer c.Unlock()
	c.list[slot] = x
	if c.open--; c.open > 0 {
		return nil, false
	}
	list, c.list = c.list, nil
	return list, true
}

// Head asks for the head of each package, and for what a tree has or installs.
func Head(p *Package, r *Release) bool { return r == p.Head() || r.facts != nil || r.planned != nil }

// All asks for all releases.
func All(*Package, *Release) bool { return true }

// Run audits the releases that want asks for: the whole set is a shard.
func (s *Set) Run(ctx context.Context, want func(*Package, *Release) bool) (*Report, error) {
	part, err := s.RunPart(ctx, shard.Whole, "", want)
	if err != nil {
		return nil, err
	}
	r, err := MergeParts([]*Part{part})
	if err == nil {
		r.installs = s.installs
	}
	return r, err
}

func (r *Report) add(x *Inspected) {
	r.Rows = append(r.Rows, x.Row)
	r.list = append(r.list, x.Findings...)
	if x.Error != "" {
		r.list = append(r.list, findings.Finding{Rule: ruleUnread, Level: findings.Error, Source: x.Source,
			File: x.Source, Object: x.Name, Message: x.Error})
	}
}

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
	t.Unfit = append(t.Unfit, counted(unfit, slices.Sorted(maps.Keys(unfit)))...)
	t.Verdicts = append(t.Verdicts, counted(verdicts, slices.Sorted(maps.Keys(verdicts)))...)
	for _, g := range permissions.Dangerous {
		c := inGroup[g]
		c.Name = string(g)
		t.Reaches = append(t.Reaches, c)
	}
	others := lists.Filter(slices.Sorted(maps.Keys(inMode)), func(m string) bool { return !slices.Contains(modes, m) })
	t.Metrics.InstallModes = counted(inMode, slices.Concat(modes, others))
	return t
}

func counted(releases map[string]int, names []string) []Count {
	return lists.Map(names, func(name string) Count { return Count{Name: name, Releases: releases[name]} })
}

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
