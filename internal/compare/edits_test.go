package compare_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// TestEdits changes a field of an object at random: the report is empty if and only if nothing but noise differs. OLMGEN_EDITS is how many
// edits are made ("make test-edits"); OLMGEN_EDIT is the only one, for whoever looks for a fault.
func TestEdits(t *testing.T) {
	fuzztest.Seconds(t)
	count := 500
	if s := os.Getenv("OLMGEN_EDITS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	data, err := os.ReadFile(filepath.Join("testdata", "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sets := [][]*manifest.Object{reviewtest.Objects(t, "everything.yaml", string(data)), bundleObjects(t, "../../golden/upgrades/ferry/from")}
	checkEdits(t, "own", sets, count)
	if corpustest.Set(t) {
		packages, err := corpus.Packages(corpustest.Root(t)) // it picks some itself
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		bundles := 8
		if !corpustest.Whole(t) {
			bundles = 1
		}
		for range bundles {
			p := packages[random.IntN(len(packages))]
			dir := p.Bundles[random.IntN(len(p.Bundles))]
			if list := bundleObjects(t, dir); list != nil {
				checkEdits(t, dir, [][]*manifest.Object{list}, max(20, count/100))
			}
		}
	}
}

// bundleObjects returns what a bundle renders to, and its CSV; nil if it cannot be rendered.
func bundleObjects(t *testing.T, dir string) []*manifest.Object {
	b := reviewtest.Bundle(t, dir)
	s, ok := rendered(t, b)
	if !ok {
		return nil
	}
	if slices.ContainsFunc(s.Objects, func(o *manifest.Object) bool { return o.Name == b.CSV.Name && o.Kind == "ClusterServiceVersion" }) {
		return s.Objects
	}
	v, err := b.CSVObject.Value()
	if err != nil {
		t.Fatal(err)
	}
	v["metadata"].(map[string]any)["namespace"] = s.Operators[0].Namespace
	return append(s.Objects, manifest.New(v))
}

func checkEdits(t *testing.T, name string, sets [][]*manifest.Object, count int) {
	t.Helper()
	first, silent, refused, wrong := 0, 0, 0, 0
	if s := os.Getenv("OLMGEN_EDIT"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		first, count = n, n+1
	}
	bases := make([]base, len(sets))
	for i, list := range sets {
		bases[i] = baseOf(t, name, list)
	}
	for seed := first; seed < count && wrong < 20; seed++ {
		random := rand.New(rand.NewPCG(uint64(seed), 22))
		set := seed % len(sets)
		edited, what := edit(random, sets[set])
		same, report, err := bases[set].compare(t, edited)
		if err != nil {
			refused++
			continue
		}
		if same {
			silent++
		}
		if report != "" {
			wrong++
			t.Errorf("%s: OLMGEN_EDIT=%d: %s: only noise: %t; the report: %s", name, seed, what, same, report)
		}
	}
	t.Logf("%s: %d edits, %d of noise, %d of objects that cannot be read", name, count-first, silent, refused)
	if count-first > 100 && (refused > count*2/3 || silent > count/2) {
		t.Error("the edits do not test enough")
	}
}

// base is what edited objects are compared with.
type base struct {
	state  compare.State
	normal normal
}

func baseOf(t *testing.T, name string, list []*manifest.Object) base {
	t.Helper()
	n, err := normalOf(list)
	if err != nil {
		t.Fatal(name, err)
	}
	b := base{stateOf(t, list), n}
	if r := compared(t, b.state, stateOf(t, list)); !r.Empty() {
		t.Fatalf("%s differs from itself: %s", name, lines(r))
	}
	return b
}

// compare reports whether nothing but noise differs, and returns the report if it says otherwise. The error is about
// objects that cannot be read.
func (b base) compare(t *testing.T, edited []*manifest.Object) (same bool, report string, err error) {
	want, err := normalOf(edited)
	if err != nil {
		return false, "", err
	}
	r, err := tryCompare(t, b.state, edited)
	if err != nil {
		return false, "", err
	}
	same = b.normal.equal(want)
	differences := *r
	if same {
		differences.OLM = nil // it is about what OLM does: it also reads in a CSV what the objects do not say
	}
	if same != differences.Empty() {
		report = "(" + lines(r) + ")"
	}
	return same, report, nil
}

// The comparison is empty if and only if nothing but noise differs, after several edits too.
func FuzzEdits(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "everything.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(20) {
		f.Add(seed, byte(seed))
	}
	var once sync.Once
	var objects []*manifest.Object
	var unedited base
	f.Fuzz(func(t *testing.T, seed uint64, edits byte) {
		once.Do(func() {
			objects = reviewtest.Objects(t, "everything.yaml", string(data))
			unedited = baseOf(t, "everything.yaml", objects)
		})
		random := rand.New(rand.NewPCG(seed, 23))
		list, what := objects, []string{}
		for range 1 + edits%4 {
			edited, did := edit(random, list)
			list, what = edited, append(what, did)
		}
		if same, report, err := unedited.compare(t, list); err == nil && report != "" {
			t.Errorf("%q: only noise: %t; the report: %s", what, same, report)
		}
	})
}

func tryCompare(t *testing.T, old compare.State, list []*manifest.Object) (*compare.Report, error) {
	csvs, err := permissions.InstalledCSVs(list)
	if err != nil {
		return nil, err
	}
	in := permissions.Input{Objects: list, CSVs: csvs}
	now := compare.State{Name: "tree", Objects: list}
	if now.Permissions, err = permissions.Evaluate(in); err != nil {
		return nil, err
	}
	if now.Operators, err = compare.TreeOperators(list, csvs); err != nil {
		return nil, err
	}
	if _, now.Roles, err = permissions.EvaluateWithRoles(in); err != nil {
		return nil, err
	}
	return compare.Compare(t.Context(), old, now, compare.Options{})
}

// edit returns the objects with one field changed, and what was done.
func edit(random *rand.Rand, list []*manifest.Object) ([]*manifest.Object, string) {
	for {
		i := random.IntN(len(list))
		value, err := list[i].Value()
		if err != nil {
			panic(err)
		}
		type spot struct {
			path string
			do   func() string
		}
		var spots []spot
		var walk func(path string, v any, set func(any))
		walk = func(path string, v any, set func(any)) {
			switch x := v.(type) {
			case map[string]any:
				spots = append(spots, spot{path, func() string {
					k := pick(random, "extra", "name", "status", "labels", "annotations", "enabled", "type", "replicas")
					if _, ok := x[k]; ok {
						k = "other"
					}
					x[k] = added(random)
					return fmt.Sprintf("adds %s: %v", k, x[k])
				}})
				for _, k := range slices.Sorted(mapKeys(x)) {
					if path == "" && k == "kind" {
						continue
					}
					spots = append(spots, spot{path + "." + k, func() string { delete(x, k); return "removed" }})
					walk(path+"."+k, x[k], func(v any) { x[k] = v })
				}
			case []any:
				for n := range x {
					walk(fmt.Sprintf("%s[%d]", path, n), x[n], func(v any) { x[n] = v })
				}
				spots = append(spots, spot{path, func() string { return editList(random, x, set) }})
			default:
				spots = append(spots, spot{path, func() string {
					now := scalarLike(random, v)
					set(now)
					return fmt.Sprintf("%v (%T) -> %v (%T)", v, v, now, now)
				}})
			}
		}
		walk("", value, nil)
		s := spots[random.IntN(len(spots))]
		what := fmt.Sprintf("%s %s: %s", list[i].Identity(), s.path, s.do())
		o, err := manifest.ReadOne("edited.yaml", manifest.Encode(value))
		if err != nil || o == nil {
			continue
		}
		out := slices.Clone(list)
		out[i] = o
		return out, what
	}
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func added(random *rand.Rand) any {
	return []any{"text", "", true, false, int64(7), nil, map[string]any{}, []any{}, []any{"a"}, map[string]any{"a": "b"}}[random.IntN(10)]
}

func scalarLike(random *rand.Rand, v any) any {
	switch x := v.(type) {
	case bool:
		return !x
	case string:
		return []any{x + "x", "", "false", pick(random, "Always", "None", "v1", "10", "1", "true"), strings.ToUpper(x) + "y", nil}[random.IntN(6)]
	case nil:
		return "text"
	}
	return []any{int64(0), int64(1), int64(30), int64(443), fmt.Sprint(v), nil}[random.IntN(6)]
}

func editList(random *rand.Rand, x []any, set func(any)) string {
	n := 0
	if len(x) > 0 {
		n = random.IntN(len(x))
	}
	switch random.IntN(4) {
	case 0:
		set([]any{})
		return "emptied"
	case 1:
		if len(x) > 0 {
			set(slices.Delete(slices.Clone(x), n, n+1))
		}
		return fmt.Sprintf("item %d removed", n)
	case 2:
		if len(x) > 0 {
			set(append(slices.Clone(x), x[n]))
		}
		return fmt.Sprintf("item %d twice", n)
	}
	reversed := slices.Clone(x)
	slices.Reverse(reversed)
	set(reversed)
	return "reversed"
}
