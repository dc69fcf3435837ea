package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// pinCounts are the scenarios of which catalogs were pinned.
type pinCounts struct {
	sync.Mutex
	scenarios, settled, pinned int
	chances, pinnedByChance    int      // where it depends on chance where OLM comes to rest
	refused                    []string // why
}

// pinCases pins what OLM comes to rest at in each scenario, and has opm and OLM's resolver read the pinned catalogs: in
// a new cluster, and from the start of the scenario.
func (o *options) pinCases(ctx context.Context, dirs []string) error {
	total, start := &pinCounts{}, time.Now()
	for i := range dirs { // the test has a directory of its own
		var err error
		if dirs[i], err = filepath.Abs(dirs[i]); err != nil {
			return err
		}
	}
	pinned, err := pin(ctx, dirs)
	if err != nil {
		return err
	}
	failed := o.each(len(dirs), func(i int) error {
		diffs, err := o.pinCase(ctx, dirs[i], pinned[dirs[i]], total)
		return o.report(filepath.Base(dirs[i]), diffs, err)
	})
	fmt.Printf("pin: %d scenarios, %d come to rest at releases of catalogs that opm serves: %d pinned and played by "+
		"OLM, %d refused\nwhere it depends on chance: %d, %d pinned\n%s\n", total.scenarios, total.settled,
		total.pinned, total.settled-total.pinned, total.chances, total.pinnedByChance,
		time.Since(start).Round(time.Second))
	if o.keep {
		for _, reason := range slices.Sorted(slices.Values(total.refused)) {
			fmt.Printf("refused: %s\n", reason)
		}
	}
	return o.result(ctx, failed)
}

// randomPins does the same with random cases.
func (o *options) randomPins(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "olmgen-e2e-pin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var dirs []string
	for i := range o.cases {
		at := filepath.Join(dir, fmt.Sprintf("random-%05d", o.seed+uint64(i)))
		if err := randomPuzzle(o.seed + uint64(i)).write(at); err != nil {
			return err
		}
		dirs = append(dirs, at)
	}
	return o.pinCases(ctx, dirs)
}

// pin has a test of the package pin the scenarios of cases: no program takes what is approved of dependencies.
func pin(ctx context.Context, dirs []string) (resolvercase.PinnedCases, error) {
	dir, err := os.MkdirTemp("", "olmgen-e2e-pin-cases-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cases")
	if err := os.WriteFile(file, []byte(strings.Join(dirs, "\n")), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=0", "-run", "^TestCases$", "./cmd/internal/pin")
	cmd.Env = append(os.Environ(), "OLMGEN_PIN_CASES="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return resolvercase.ReadPinned(file + ".json")
}

func (o *options) pinCase(ctx context.Context, dir string, pinned []resolvercase.Pinned,
	total *pinCounts) (diffs []string, err error) {
	question, _, err := resolvercase.ReadOpened(dir)
	if err != nil {
		return nil, err
	}
	for i := range question.Scenarios {
		s, made := &question.Scenarios[i], &pinned[i]
		total.add(filepath.Base(dir)+", "+s.Name, made)
		if made.Catalogs == nil {
			continue
		}
		d, err := o.play(ctx, dir, question, s, made)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		for _, one := range d {
			diffs = append(diffs, s.Name+": "+one)
		}
	}
	return diffs, nil
}

// add counts a scenario.
func (c *pinCounts) add(scenario string, made *resolvercase.Pinned) {
	c.Lock()
	defer c.Unlock()
	c.scenarios++
	switch {
	case !made.Settled:
		return
	case made.Catalogs == nil:
		c.refused = append(c.refused, scenario+": "+strings.Join(made.Refused, "; "))
	default:
		c.pinned++
	}
	c.settled++
	if made.Chance {
		c.chances++
	}
	if made.Chance && made.Catalogs != nil {
		c.pinnedByChance++
	}
}

// sourceName is the name under which the source of a pinned catalog is served, in a namespace that the operators do not
// see: installed ClusterServiceVersions may be of it.
func sourceName(catalog string) string { return "source-" + catalog }

// play has OLM walk the scenario, and a new cluster, on the pinned catalogs.
func (o *options) play(ctx context.Context, dir string, c *resolvercase.Case, s *resolvercase.Scenario,
	made *resolvercase.Pinned) (diffs []string, err error) {
	at, err := os.MkdirTemp("", "olmgen-e2e-pinned-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(at)
	derived := *c
	derived.Scenarios = []resolvercase.Scenario{*s, fresh(s)}
	var listed map[string]bool
	derived.Catalogs, listed, err = layOut(c, dir, at, made)
	if err != nil {
		return nil, err
	}
	first := &derived.Scenarios[0]
	first.Installed = slices.Clone(first.Installed)
	for i := range first.Installed {
		if from := first.Installed[i].From; from != "" {
			first.Installed[i].From = sourceName(from)
		}
	}
	olm, err := newOLM(ctx, &derived, at)
	if err != nil {
		return nil, err
	}
	defer olm.close()
	answer, err := olm.answer(ctx, o.runs, func(int) bool { return false })
	if err != nil {
		return nil, err
	}
	if diffs, err = mirrored(ctx, at, made); err != nil {
		return nil, err
	}
	for name, text := range answer.CatalogErrors {
		diffs = append(diffs, fmt.Sprintf("opm refuses catalog %s: %s", name, text))
	}
	for i := range answer.Scenarios {
		asked := derived.Scenarios[i].Subscriptions
		diffs = append(diffs, astray(&answer.Scenarios[i], made.Approved, asked, listed)...)
	}
	return diffs, nil
}

// layOut writes the catalogs of a case, and the pinned ones, into a directory. listed are the bundles of the pinned
// ones.
func layOut(c *resolvercase.Case, dir, at string, made *resolvercase.Pinned) (catalogs []resolvercase.Catalog,
	listed map[string]bool, err error) {
	listed = map[string]bool{}
	for _, source := range c.Catalogs {
		hidden := resolvercase.Catalog{Name: sourceName(source.Name), Namespace: "hidden"}
		catalogs = append(catalogs, hidden)
		content := os.DirFS(resolvercase.CatalogDir(dir, source.Name))
		if err := os.CopyFS(resolvercase.CatalogDir(at, hidden.Name), content); err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(made.Catalogs, func(m resolvercase.PinnedCatalog) bool {
			return m.Namespace == source.Namespace && m.Name == source.Name
		})
		if i < 0 {
			continue
		}
		catalogs = append(catalogs, source)
		for _, p := range made.Catalogs[i].Packages {
			for _, b := range p.Bundles {
				listed[b] = true
			}
			to := filepath.Join(resolvercase.CatalogDir(at, source.Name), p.Name)
			if err := os.MkdirAll(to, 0o755); err != nil {
				return nil, nil, err
			}
			if err := os.WriteFile(filepath.Join(to, "catalog.yaml"), p.File, 0o644); err != nil {
				return nil, nil, err
			}
		}
	}
	return catalogs, listed, nil
}

// fresh returns a scenario as a new cluster has it.
func fresh(s *resolvercase.Scenario) resolvercase.Scenario {
	out := resolvercase.Scenario{Name: s.Name + " in a new cluster", Subscriptions: slices.Clone(s.Subscriptions)}
	for i := range out.Subscriptions {
		out.Subscriptions[i].InstalledCSV, out.Subscriptions[i].CurrentCSV = "", ""
	}
	return out
}

// astray returns where OLM did something else than what is approved.
func astray(a *resolvercase.ScenarioAnswer, approved []resolvercase.Approved, subscriptions []resolvercase.Subscription,
	listed map[string]bool) (diffs []string) {
	walks := []resolvercase.Walk{a.Walk}
	for _, w := range a.Unstable {
		walks = append(walks, w.Walk)
	}
	if a.Outcome == resolvercase.Unstable {
		walks = walks[1:]
	}
	wrong := func(format string, args ...any) { diffs = append(diffs, a.Name+": "+fmt.Sprintf(format, args...)) }
	for _, w := range walks {
		if w.Outcome != string(resolve.Settled) {
			wrong("OLM does not come to rest: %s", resolvercase.Text(w))
			continue
		}
		for _, step := range w.Steps {
			for _, csv := range step.CSVs {
				if !listed[csv.Name] {
					wrong("OLM installs %s, which is not on the list", csv.Name)
				}
			}
		}
		for _, s := range subscriptions {
			for _, p := range approved {
				if p.Package == s.Package && p.Catalog == s.SourceNamespace+"/"+s.Source &&
					!slices.Contains(w.Subscriptions, resolvercase.Status{Name: s.Name, InstalledCSV: p.Bundle}) {
					wrong("Subscription %s does not get %s", s.Name, p.Bundle)
				}
			}
		}
	}
	return diffs
}
