package resolve_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/resolvercase"
	"github.com/olmgen/olmgen/internal/print"
)

// TestResolverCases compares with what OLM's own resolver answered to the cases of the repository. "make e2e
// CHECK=resolve" finds further ones.
func TestResolverCases(t *testing.T) {
	compareCases(t, filepath.Join("testdata", "cases"), true)
}

// TestResolverOracle does the same with all cases of OLMGEN_ORACLE. It works on any directory of that format.
func TestResolverOracle(t *testing.T) {
	root := os.Getenv("OLMGEN_ORACLE")
	if root == "" {
		t.Skip("OLMGEN_ORACLE is not set")
	}
	compareCases(t, filepath.Join(root, "resolver", "cases"), false)
}

// compareCases compares the cases below a directory with OLM's answers, and the reports with their report.txt.
func compareCases(t *testing.T, root string, reports bool) {
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases below %s: %v", root, err)
	}
	c := &oracleCount{}
	t.Run("cases", func(t *testing.T) {
		for _, dir := range dirs {
			t.Run(filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				report := c.compare(t, dir)
				var got bytes.Buffer
				if err := print.Report(&got, report, findings.Text); err != nil {
					t.Fatal(err)
				}
				if reports {
					golden.CheckFile(t, filepath.Join(dir, "report.txt"), got.Bytes(), *update)
				}
			})
		}
	})
	t.Logf("%d of %d cases equal, %d of %d scenarios; %d unstable, of which all %d answers known in %d; "+
		"%d more that olmgen calls unstable; %d error texts equal, %d that vary",
		c.equalCases, len(dirs), c.equal, c.scenarios, c.unstable, c.alternatives, c.complete, c.more, c.texts, c.varying)
}

type oracleCount struct {
	sync.Mutex
	equalCases, equal, scenarios                           int
	unstable, alternatives, complete, more, texts, varying int
}

// compare returns a report with a namespace for each scenario.
func (c *oracleCount) compare(t *testing.T, dir string) *resolve.Report {
	in, opened, err := resolvercase.ReadOpened(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := resolvercase.ReadAnswer(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Scenarios) != len(in.Scenarios) {
		t.Fatalf("%d scenarios have an answer, of %d", len(want.Scenarios), len(in.Scenarios))
	}
	if d := resolvercase.RefusalDiff(want.CatalogErrors, opened.Refusals); d != "" {
		t.Errorf("catalogs (-opm +olmgen):\n%s", d)
	}
	good, report := !t.Failed(), &resolve.Report{}
	for i := range in.Scenarios {
		state, err := in.State(&in.Scenarios[i], opened)
		if err != nil {
			t.Fatal(err)
		}
		r, err := resolve.Run(context.Background(), state, resolve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		diff := resolvercase.Diff(&want.Scenarios[i], r)
		if diff != "" {
			good = false
			t.Errorf("%s (-want +got):\n%s", in.Scenarios[i].Name, diff)
		}
		c.add(&want.Scenarios[i], r, diff == "")
		report.Add("", in.Scenarios[i].Name, r)
	}
	c.Lock()
	defer c.Unlock()
	if good {
		c.equalCases++
	}
	return report
}

// add counts a scenario.
func (c *oracleCount) add(want *resolvercase.ScenarioAnswer, r *resolve.Result, equal bool) {
	c.Lock()
	defer c.Unlock()
	c.scenarios++
	if equal {
		c.equal++
	}
	switch {
	case want.Outcome == resolvercase.Unstable:
		c.unstable++
		if n := len(want.Unstable); resolvercase.Known(want, r) == n {
			c.complete++
			c.alternatives += n
		}
	case len(r.Alternatives) > 0:
		c.more++
	}
	if want.Error != nil && want.Error.DifferentTexts > 0 {
		c.varying++
	} else if want.Error != nil {
		c.texts++
	}
}
