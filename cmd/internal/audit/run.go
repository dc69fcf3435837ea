package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/permissions"
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
			jobs = append(jobs, job{pkg: p, release: r, found: found, slot: len(found.list)})
			found.list = append(found.list, nil)
		}
		found.open.Store(int64(len(found.list)))
		if len(found.list) == 0 {
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
		j.found.list[j.slot] = j.inspect(ctx, s.options)
		if j.found.open.Add(-1) == 0 {
			list := j.found.list
			j.found.list = nil // of the jobs, which stay until all are done
			if err := done(j.pkg, list); err != nil {
				cancel(err)
			}
		}
		watch.Step(ctx, "reading bundles", len(jobs))
	})
	return context.Cause(ctx)
}

type collected struct {
	list []*Inspected
	open atomic.Int64 // releases that are not inspected
}

// Head asks for the head of each package, and for what a tree has or installs.
func Head(p *Package, r *Release) bool {
	return r == p.Head() || r.installed != nil || r.planned != nil
}

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
		r.Notes = s.Notes
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
	t.Unfit = append(t.Unfit, counted(unfit, lists.Keys(unfit))...)
	t.Verdicts = append(t.Verdicts, counted(verdicts, lists.Keys(verdicts))...)
	for _, g := range permissions.Dangerous {
		c := inGroup[g]
		c.Name = string(g)
		t.Reaches = append(t.Reaches, c)
	}
	others := lists.Filter(lists.Keys(inMode), func(m string) bool { return !slices.Contains(modes, m) })
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

// The kinds of a part in JSON.
const (
	KindPart     = "AuditPart"
	KindSitePart = "SitePart"
)

// Part is what one shard found. MergeParts makes of all parts what Run finds.
type Part struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Shard      string        `json:"shard"`
	Set        string        `json:"set"`    // a digest of what the catalogs have: the parts must be of the same
	Options    string        `json:"wanted"` // what was asked for, which must be the same too
	Packages   []PartPackage `json:"packages"`
	Target     string        `json:"target"`
	Unread     []Unread      `json:"unread"`
	Metrics    Metrics       `json:"metrics"` // of trees
}

// PartPackage is a package of a part.
type PartPackage struct {
	Index    int             `json:"index"` // in the set
	Rows     []Row           `json:"rows"`
	Findings []PartFinding   `json:"findings,omitempty"`
	Site     json.RawMessage `json:"site,omitempty"` // its pages: package site knows what this is
}

// PartFinding is a finding with what its own JSON leaves out.
type PartFinding struct {
	findings.Finding
	Path string         `json:"path,omitempty"`
	Flow *findings.Flow `json:"flow,omitempty"`
}

// RunPart audits those releases of a shard that want asks for. wanted describes what want asks for.
func (s *Set) RunPart(ctx context.Context, in shard.Shard, wanted string,
	want func(*Package, *Release) bool) (*Part, error) {
	made := map[*Package]PartPackage{}
	var mu sync.Mutex
	mine := func(p *Package, r *Release) bool { return in.Has(p.Name) && want(p, r) }
	err := s.Each(ctx, mine, func(p *Package, list []*Inspected) error {
		r := &Report{Rows: []Row{}}
		for _, x := range list {
			r.add(x)
		}
		mu.Lock()
		defer mu.Unlock()
		made[p] = PartPackage{Rows: r.Rows, Findings: lists.Map(r.list, func(f findings.Finding) PartFinding {
			return PartFinding{f, f.Path, f.Flow}
		})}
		return nil
	})
	return s.Part(in, KindPart, wanted, made), err
}

// Part makes a part of what is made of the packages of a shard.
func (s *Set) Part(in shard.Shard, kind, wanted string, made map[*Package]PartPackage) *Part {
	part := &Part{APIVersion: APIVersion, Kind: kind, Shard: in.String(), Set: s.digest(), Options: wanted,
		Target:   s.target(),
		Packages: []PartPackage{}, Unread: append([]Unread{}, s.Unread...), Metrics: s.metrics}
	for i, p := range s.Packages {
		if x, ok := made[p]; ok && in.Has(p.Name) {
			x.Index = i
			part.Packages = append(part.Packages, x)
		}
	}
	return part
}

// digest returns a digest of the packages, their sources and the names of their releases.
func (s *Set) digest() string {
	h := sha256.New()
	for _, p := range s.Packages {
		fmt.Fprintf(h, "%q %q", p.Name, p.Source)
		for _, r := range p.Releases {
			fmt.Fprintf(h, " %q %q", r.Name, r.Version)
		}
		fmt.Fprintln(h)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// ReadPart reads the JSON of a part.
func ReadPart(data []byte) (*Part, error) {
	var p Part
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, errors.New("is not a part of a catalog, or only its beginning")
	}
	if p.APIVersion != APIVersion || p.Kind != KindPart && p.Kind != KindSitePart {
		return nil, errors.New("is not a part of a catalog")
	}
	return &p, nil
}

// CheckParts returns an error unless the parts are all shards of one run over one set.
func CheckParts(parts []*Part) error {
	var shards []string
	for _, p := range parts {
		first := parts[0]
		switch {
		case p.Kind != first.Kind:
			return fmt.Errorf("the shards %s and %s are of an audit and of a site", first.Shard, p.Shard)
		case p.Options != first.Options, p.Target != first.Target:
			return fmt.Errorf("the shards %s and %s were made with different options", first.Shard, p.Shard)
		case p.Set != first.Set:
			return fmt.Errorf("the shards %s and %s are of different catalogs, or a catalog has changed", first.Shard,
				p.Shard)
		}
		shards = append(shards, p.Shard)
	}
	return shard.Complete(shards)
}

// PackagesOf returns the packages of parts in the order of the set.
func PackagesOf(parts []*Part) (all []PartPackage) {
	for _, p := range parts {
		all = append(all, p.Packages...)
	}
	slices.SortFunc(all, func(a, b PartPackage) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

// MergeParts returns the report that Run makes of the whole set.
func MergeParts(parts []*Part) (*Report, error) {
	if err := CheckParts(parts); err != nil {
		return nil, err
	}
	r := &Report{APIVersion: APIVersion, Kind: Kind, Rows: []Row{}, Target: parts[0].Target,
		Unread: append([]Unread{}, parts[0].Unread...)}
	for _, p := range PackagesOf(parts) {
		r.Rows = append(r.Rows, p.Rows...)
		for _, f := range p.Findings {
			f.Finding.Path, f.Finding.Flow = f.Path, f.Flow
			r.list = append(r.list, f.Finding)
		}
	}
	for _, u := range r.Unread {
		r.list = append(r.list, findings.Finding{Rule: ruleUnread, Level: findings.Error, Source: u.Source,
			File: u.Source, Message: u.Error})
	}
	findings.Sort(r.list)
	r.Totals = totalsOf(r.Rows, len(r.Unread))
	m, trees := &r.Totals.Metrics, parts[0].Metrics
	m.Subscriptions, m.InstallPlans, m.CatalogSources = trees.Subscriptions, trees.InstallPlans, trees.CatalogSources
	return r, nil
}
