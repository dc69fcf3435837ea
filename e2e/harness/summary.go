package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus"
)

// summary collects results.
type summary struct {
	what           string
	started        time.Time
	mu             sync.Mutex
	trees, objects int
	unknown        map[string]int // objects, by kind
	refused        map[string]int // objects or bundles, by class
	failed         int
}

func newSummary(what string) *summary {
	return &summary{what: what, started: time.Now(), unknown: map[string]int{}, refused: map[string]int{}}
}

// render renders a bundle. A refusal that nothing explains is a failure.
func (s *summary) render(form apply.Form, dir string, o generate.Options) (apply.Tree, bool) {
	o.ConvertCRDs = true
	t, err := form.Render(dir, o)
	if err == nil {
		return t, true
	}
	if class, _ := corpus.Refusal(err); class != "" {
		s.count(class)
		return t, false
	}
	_ = s.add(fmt.Sprintf("%s (%s)", short(dir), form.Name), apply.Result{}, []error{err})
	return t, false
}

func (s *summary) add(name string, r apply.Result, errs []error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees++
	s.objects += r.Applied
	for kind, n := range r.Unknown {
		s.unknown[kind] += n
	}
	for class, n := range r.Refused {
		s.refused[class] += n
	}
	if len(errs) > 0 {
		s.failed++
		fmt.Printf("%s: %s: %v\n", s.what, name, errors.Join(errs...))
	}
	return errors.Join(errs...)
}

func (s *summary) err() error {
	fmt.Printf("%s: %d trees, %d objects, %d trees failed, %.0fs; ",
		s.what, s.trees, s.objects, s.failed, time.Since(s.started).Seconds())
	fmt.Printf("explained refusals: %s; of APIs that are not there: %s\n", counts(s.refused), counts(s.unknown))
	if s.failed > 0 {
		return fmt.Errorf("%s: %d of %d trees failed", s.what, s.failed, s.trees)
	}
	return nil
}

func counts(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d %s", m[k], k))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// count counts a refusal, or something else that a class explains.
func (s *summary) count(class string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[class]++
}
