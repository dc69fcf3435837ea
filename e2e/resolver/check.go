package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// counts are what the harness has compared.
type counts struct {
	sync.Mutex
	cases, different, scenarios, equal, steps int
	outcomes                                  map[string]int
	alternatives, known                       int // of OLM in unstable scenarios; those that olmgen knows too
	more                                      int // scenarios that olmgen alone calls unstable
	texts, varying                            int // of errors
}

func (c *counts) String() string {
	var outcomes []string
	for _, o := range slices.Sorted(maps.Keys(c.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", o, c.outcomes[o]))
	}
	return fmt.Sprintf("%d of %d cases equal, %d of %d scenarios (%s); %d steps; %d error texts equal, %d that vary\n"+
		"unstable scenarios: olmgen knows %d of OLM's %d answers; %d more that olmgen alone calls unstable",
		c.cases-c.different, c.cases, c.equal, c.scenarios, strings.Join(outcomes, ", "), c.steps, c.texts, c.varying,
		c.known, c.alternatives, c.more)
}

// compare has OLM and olmgen answer a case, and returns OLM's answer and the differences.
func compare(ctx context.Context, dir string, r runs, total *counts) (*resolvercase.Answer, []string, error) {
	question, opened, err := resolvercase.ReadOpened(dir)
	if err != nil {
		return nil, nil, err
	}
	predicted := make([]*resolve.Result, len(question.Scenarios))
	for i := range question.Scenarios {
		state, err := question.State(&question.Scenarios[i], opened)
		if err != nil {
			return nil, nil, err
		}
		if predicted[i], err = resolve.Run(ctx, state, resolve.Options{}); err != nil {
			return nil, nil, err
		}
	}
	o, err := newOLM(ctx, question, dir)
	if err != nil {
		return nil, nil, err
	}
	defer o.close()
	answer, err := o.answer(ctx, r, func(i int) bool { return len(predicted[i].Alternatives) > 0 })
	if err != nil {
		return nil, nil, err
	}
	var diffs []string
	if d := resolvercase.RefusalDiff(answer.CatalogErrors, opened.Refusals); d != "" {
		diffs = append(diffs, "catalogErrors (-OLM +olmgen):\n"+d)
	}
	for i := range answer.Scenarios {
		d := resolvercase.Diff(&answer.Scenarios[i], predicted[i])
		if d != "" {
			diffs = append(diffs, answer.Scenarios[i].Name+" (-OLM +olmgen):\n"+d)
		}
		total.scenario(&answer.Scenarios[i], predicted[i], d == "")
	}
	total.Lock()
	defer total.Unlock()
	total.cases++
	if len(diffs) > 0 {
		total.different++
	}
	return answer, diffs, nil
}

func (c *counts) scenario(a *resolvercase.ScenarioAnswer, predicted *resolve.Result, equal bool) {
	c.Lock()
	defer c.Unlock()
	if c.outcomes == nil {
		c.outcomes = map[string]int{}
	}
	c.scenarios++
	c.outcomes[a.Outcome]++
	c.steps += len(a.Steps)
	if equal {
		c.equal++
	}
	switch {
	case a.Outcome == resolvercase.Unstable:
		c.alternatives += len(a.Unstable)
		c.known += resolvercase.Known(a, predicted)
	case len(predicted.Alternatives) > 0:
		c.more++
	}
	if a.Error != nil && a.Error.DifferentTexts > 0 {
		c.varying++
	} else if a.Error != nil && equal {
		c.texts++
	}
}

// recorded compares OLM's answer with the one that a case has.
func recorded(dir string, answer *resolvercase.Answer) ([]string, error) {
	want, err := resolvercase.ReadAnswer(dir)
	if err != nil {
		return nil, err
	}
	var diffs []string
	if d := resolvercase.RefusalDiff(want.CatalogErrors, answer.CatalogErrors); d != "" {
		diffs = append(diffs, "catalogErrors (-recorded +OLM):\n"+d)
	}
	if have, all := len(want.Scenarios), len(answer.Scenarios); have != all {
		return append(diffs, fmt.Sprintf("%d scenarios are recorded of %d", have, all)), nil
	}
	for i := range want.Scenarios {
		if d := recordedDiff(&want.Scenarios[i], &answer.Scenarios[i]); d != "" {
			diffs = append(diffs, want.Scenarios[i].Name+" (-recorded +OLM):\n"+d)
		}
	}
	return diffs, nil
}

// recordedDiff compares two answers of OLM. Of an unstable one, the most frequent walk must be recorded: rare ones may
// be missing on both sides.
func recordedDiff(want, got *resolvercase.ScenarioAnswer) string {
	if (want.Outcome == resolvercase.Unstable) != (got.Outcome == resolvercase.Unstable) {
		return fmt.Sprintf("the outcome %s is recorded, and OLM's is %s", want.Outcome, got.Outcome)
	}
	if want.Outcome != resolvercase.Unstable {
		return resolvercase.WalkDiff(want.Walk, got.Walk)
	}
	var diffs []string
	for _, w := range want.Unstable {
		d := resolvercase.WalkDiff(w.Walk, got.Unstable[0].Walk)
		if d == "" {
			return ""
		}
		diffs = append(diffs, d)
	}
	return strings.Join(diffs, "\n")
}
