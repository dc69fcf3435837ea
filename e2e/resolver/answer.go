package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// versions are those of the modules whose code answers.
const versions = "operator-lifecycle-manager v0.46.0, operator-registry v1.73.0, api v0.45.0"

// runs are how often a scenario is walked: often, and very often if the answers differ or are expected to.
type runs struct {
	often, veryOften int
	texts            bool // texts of errors are answers too
}

// answer has OLM answer all scenarios. uncertain tells of a scenario that it is to be walked very often.
func (o *olm) answer(ctx context.Context, r runs, uncertain func(i int) bool) (*resolvercase.Answer, error) {
	a := &resolvercase.Answer{Oracle: versions, CatalogErrors: o.refusals}
	for i := range o.question.Scenarios {
		s := &o.question.Scenarios[i]
		c := collected{walks: map[string]*group{}}
		n := r.often
		if uncertain(i) {
			n = r.veryOften
		}
		for run := 0; run < n; run++ {
			w, err := o.walk(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			if c.add(w); c.differ(r.texts) {
				n = r.veryOften
			}
		}
		a.Scenarios = append(a.Scenarios, c.answer(s.Name))
	}
	return a, nil
}

// collected are the walks of a scenario.
type collected struct {
	walks map[string]*group
	total int
}

// group are the walks that are equal but for the text of an error.
type group struct {
	walk  resolvercase.Walk
	times int
	texts map[string]int
}

func (c *collected) add(w *resolvercase.Walk) {
	c.total++
	equal := *w
	if w.Error != nil {
		equal.Error = &resolvercase.Failure{Reason: w.Error.Reason}
	}
	key := resolvercase.Text(equal)
	g := c.walks[key]
	if g == nil {
		g = &group{walk: *w, texts: map[string]int{}}
		c.walks[key] = g
	}
	g.times++
	if w.Error != nil {
		g.texts[w.Error.Text]++
	}
}

func (c *collected) differ(texts bool) bool {
	if len(c.walks) > 1 || !texts {
		return len(c.walks) > 1
	}
	for _, g := range c.walks {
		return len(g.texts) > 1
	}
	return false
}

func (c *collected) answer(name string) resolvercase.ScenarioAnswer {
	a := resolvercase.ScenarioAnswer{Name: name}
	groups := slices.SortedFunc(maps.Values(c.walks), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(resolvercase.Text(a.walk), resolvercase.Text(b.walk)))
	})
	if len(groups) == 1 {
		a.Walk = groups[0].answer()
		return a
	}
	a.Outcome = resolvercase.Unstable
	for _, g := range groups {
		a.Unstable = append(a.Unstable,
			resolvercase.Alternative{Share: fmt.Sprintf("%d/%d", g.times, c.total), Walk: g.answer()})
	}
	return a
}

// answer returns the walk of a group. If the text of its error varies, it has the shortest.
func (g *group) answer() resolvercase.Walk {
	w := g.walk
	if len(g.texts) < 2 {
		return w
	}
	texts := slices.SortedFunc(maps.Keys(g.texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	w.Error = &resolvercase.Failure{Reason: w.Error.Reason, Text: texts[0], DifferentTexts: len(texts)}
	if w.Error.Reason != resolve.ReasonNotSatisfiable {
		w.Error.OtherTexts = texts[1:]
		return w
	}
	seen := map[string]int{}
	for _, t := range texts {
		for _, c := range constraints(t) {
			seen[c]++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(seen)) {
		if seen[c] == len(texts) {
			w.Error.Always = append(w.Error.Always, c)
		} else {
			w.Error.Sometimes = append(w.Error.Sometimes, c)
		}
	}
	return w
}

// constraints returns the constraints of a text, each once. OLM joins them by a comma, which is also in lists of
// bundles: parts belong together until they are a whole constraint.
func constraints(text string) []string {
	var list []string
	open := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "constraints not satisfiable: "), ", ") {
		if open != "" {
			part = open + ", " + part
		}
		if open = ""; !complete(part) {
			open = part
			continue
		}
		list = append(list, part)
	}
	if open != "" {
		list = append(list, open)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// complete reports whether a part of a text is a whole constraint.
func complete(part string) bool {
	switch {
	case strings.Count(part, `"`)%2 == 1:
		return false
	case strings.HasPrefix(part, "bundle "):
		return strings.Count(part, "with group: ") == strings.Count(part, ", kind: ")
	case strings.HasPrefix(part, "subscription "):
		return !strings.Contains(part, " requires at least one of ") || strings.Contains(part, " or ")
	case strings.HasPrefix(part, "no operators found "), strings.HasPrefix(part, "clusterserviceversion "):
		return true
	}
	for _, verb := range []string{" originate from package ", " provide ", " conflicts with "} {
		if strings.Contains(part, verb) {
			return true
		}
	}
	return false
}
