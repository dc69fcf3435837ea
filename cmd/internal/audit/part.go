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
	"sync"

	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

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
	if err != nil {
		return nil, err
	}
	return s.Part(in, KindPart, wanted, made), nil
}

// Part makes a part of what is made of the packages of a shard.
func (s *Set) Part(in shard.Shard, kind, wanted string, made map[*Package]PartPackage) *Part {
	part := &Part{APIVersion: APIVersion, Kind: kind, Shard: in.String(), Set: s.digest(), Options: wanted,
		Target:   s.options.target(),
		Packages: []PartPackage{}, Unread: append([]Unread{}, s.Unread...), Metrics: s.treeMetrics()}
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

func (s *Set) treeMetrics() (m Metrics) {
	for _, t := range s.trees {
		m.Subscriptions += t.metrics.Subscriptions
		m.InstallPlans += t.metrics.InstallPlans
		m.CatalogSources += t.metrics.CatalogSources
	}
	return m
}

// ReadPart reads the JSON of a part.
func ReadPart(data []byte) (*Part, error) {
	var p Part
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("is not a part of a catalog, or only its beginning: %w", err)
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
	r.sum(parts[0].Metrics)
	return r, nil
}
