package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// Filter leaves the packages that a word finds by their head: its name, an API that it provides, its title, a keyword
// or its provider, whatever the case of letters. They are sorted by that, the package with exactly this name first.
// A head that cannot be read is in Unread.
func (s *Set) Filter(ctx context.Context, word string) {
	ranks := map[*Package]int{}
	for _, p := range s.Packages {
		rank, err := p.find(ctx, strings.ToLower(word))
		if err != nil {
			s.unread(p.Head().place, err)
		}
		ranks[p] = rank
	}
	s.Packages = slices.DeleteFunc(s.Packages, func(p *Package) bool { return len(p.matches) == 0 })
	slices.SortStableFunc(s.Packages, func(a, b *Package) int { return cmp.Compare(ranks[a], ranks[b]) })
}

// find sets what a word finds the package by, and returns how far down it stands.
func (p *Package) find(ctx context.Context, word string) (rank int, err error) {
	rank = 4
	found := func(what, text string, at int) {
		if !strings.Contains(strings.ToLower(text), word) {
			return
		}
		p.matches = lists.Add(p.matches, strings.TrimSpace(what+" "+text))
		rank = min(rank, at)
	}
	switch name := strings.ToLower(p.Name); {
	case name == word:
		p.matches, rank = []string{"name"}, 0
	case strings.Contains(name, word):
		p.matches, rank = []string{"name"}, 1
	}
	head := p.Head()
	if head == nil {
		return rank, nil
	}
	for _, property := range head.bundle.Properties {
		var api catalog.GVK
		if property.Type == catalog.TypeGVK && json.Unmarshal(property.Value, &api) == nil {
			found("API", api.Kind+"."+api.Group, 2)
		}
	}
	var csv *v1alpha1.ClusterServiceVersion
	switch {
	case head.read != nil:
		csv = head.read.CSV
	case head.bundle.HasCSV():
		data, err := head.bundle.CSV(ctx)
		if err == nil {
			err = json.Unmarshal(data, &csv)
		}
		if err != nil {
			return rank, err
		}
	default:
		return rank, nil
	}
	found("title", csv.Spec.DisplayName, 3)
	for _, k := range csv.Spec.Keywords {
		found("keyword", k, 3)
	}
	found("provider", csv.Spec.Provider.Name, 3)
	return rank, nil
}
