package resolve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// oracleCase is a question to OLM's resolver: case.yaml.
type oracleCase struct {
	Namespace              string `json:"namespace"`
	GlobalCatalogNamespace string `json:"globalCatalogNamespace"`
	OperatorGroup          struct {
		Count                 *int   `json:"count"`
		ExcludeGlobalCatalogs bool   `json:"excludeGlobalCatalogs"`
		UpgradeStrategy       string `json:"upgradeStrategy"`
	} `json:"operatorGroup"`
	Catalogs []struct {
		Name        string `json:"name"`
		Namespace   string `json:"namespace"`
		Priority    int    `json:"priority"`
		Unvalidated bool   `json:"unvalidated"`
		Unavailable bool   `json:"unavailable"`
	} `json:"catalogs"`
	Scenarios []oracleScenario `json:"scenarios"`
}

type oracleScenario struct {
	Name          string `json:"name"`
	Subscriptions []struct {
		resolve.Subscription
		InstalledCSV string `json:"installedCSV"`
		CurrentCSV   string `json:"currentCSV"`
	} `json:"subscriptions"`
	Installed []struct {
		Name       string             `json:"name"`
		Version    string             `json:"version"`
		Replaces   string             `json:"replaces"`
		Phase      string             `json:"phase"`
		CopiedFrom string             `json:"copiedFrom"`
		From       string             `json:"from"`
		Properties []catalog.Property `json:"properties"`
		Provided   []catalog.GVK      `json:"provided"`
		Required   []catalog.GVK      `json:"required"`
	} `json:"installed"`
}

// oracleAnswer is what OLM does: expected.yaml.
type oracleAnswer struct {
	CatalogErrors map[string]string `json:"catalogErrors"`
	Scenarios     []struct {
		Name string `json:"name"`
		oracleWalk
		Unstable []oracleWalk `json:"unstable"`
	} `json:"scenarios"`
}

type oracleWalk struct {
	Outcome       string           `json:"outcome"`
	Steps         []oracleStep     `json:"steps"`
	Withheld      *oracleStep      `json:"withheld"`
	CycleFrom     int              `json:"cycleFrom"`
	Installed     []string         `json:"installed"`
	Subscriptions []resolve.Status `json:"subscriptions"`
	Error         *struct {
		Reason         string `json:"reason"`
		Text           string `json:"text"`
		DifferentTexts int    `json:"differentTexts"`
	} `json:"error"`
	DeprecationConditions []resolve.Deprecation `json:"deprecationConditions"`
}

type oracleStep struct {
	Subscriptions    []resolve.Move         `json:"subscriptions"`
	NewSubscriptions []resolve.Subscription `json:"newSubscriptions"`
	CSVs             []oracleCSV            `json:"csvs"`
	Removed          []string               `json:"removed"`
}

type oracleCSV struct {
	Name            string `json:"name"`
	Replaces        string `json:"replaces"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
}

// TestResolverOracle compares with what OLM's own resolver answered. It works on any directory of that format.
func TestResolverOracle(t *testing.T) {
	root := os.Getenv("OLMGEN_ORACLE")
	if root == "" {
		t.Skip("OLMGEN_ORACLE is not set")
	}
	dirs, err := filepath.Glob(filepath.Join(root, "resolver", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases below %s: %v", root, err)
	}
	c := &oracleCount{}
	t.Run("cases", func(t *testing.T) {
		for _, dir := range dirs {
			t.Run(filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				c.compare(t, dir)
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

func (c *oracleCount) compare(t *testing.T, dir string) {
	var in oracleCase
	var want oracleAnswer
	readYAML(t, filepath.Join(dir, "case.yaml"), &in)
	readYAML(t, filepath.Join(dir, "expected.yaml"), &want)
	catalogs, sources := in.open(t, dir, want.CatalogErrors)
	good := !t.Failed()
	for i, s := range in.Scenarios {
		w := want.Scenarios[i]
		r, err := resolve.Run(context.Background(), in.state(t, s, catalogs, sources), resolve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		diff := c.scenario(r, w.oracleWalk, w.Unstable)
		c.Lock()
		c.scenarios++
		if diff == "" {
			c.equal++
		}
		c.Unlock()
		if diff != "" {
			good = false
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
	}
	c.Lock()
	defer c.Unlock()
	if good {
		c.equalCases++
	}
}

// scenario returns the difference to OLM's answer.
func (c *oracleCount) scenario(r *resolve.Result, want oracleWalk, unstable []oracleWalk) string {
	c.Lock()
	defer c.Unlock()
	if want.Outcome != "unstable" {
		if len(r.Alternatives) > 0 {
			c.more++
		}
		if want.Error != nil && want.Error.DifferentTexts > 0 {
			c.varying++
		} else if want.Error != nil {
			c.texts++
		}
		return walkDiff(want, r.Walk)
	}
	c.unstable++
	diffs, known := []string{}, true
	for _, w := range unstable {
		diffs = append(diffs, walkDiff(w, r.Walk))
		known = known && slices.ContainsFunc(r.Alternatives, func(a resolve.Walk) bool { return walkDiff(w, a) == "" })
	}
	if known {
		c.complete++
		c.alternatives += len(unstable)
	}
	if len(r.Alternatives) == 0 {
		return "OLM's answer depends on chance, and olmgen has one answer only\n" + strings.Join(diffs, "\n")
	}
	if slices.Contains(diffs, "") {
		return ""
	}
	return strings.Join(diffs, "\n")
}

// walkDiff compares as the oracle's README says.
func walkDiff(want oracleWalk, got resolve.Walk) string {
	have := oracleWalk{Outcome: string(got.Outcome), CycleFrom: got.CycleFrom, Installed: got.Installed,
		Subscriptions: got.Subscriptions, DeprecationConditions: got.Deprecations}
	for _, s := range got.Steps {
		have.Steps = append(have.Steps, oracleStepOf(s))
	}
	if got.Withheld != nil {
		s := oracleStepOf(*got.Withheld)
		have.Withheld = &s
	}
	failure, wanted := "", ""
	if got.Failure != nil {
		failure = got.Failure.Reason + ": " + got.Failure.Text
	}
	if want.Error != nil {
		wanted = want.Error.Reason + ": " + want.Error.Text
		if want.Error.DifferentTexts > 0 && got.Failure != nil {
			wanted, failure = want.Error.Reason, got.Failure.Reason
		}
	}
	want.Error = nil
	return cmp.Diff(plain(want), plain(have)) + cmp.Diff(wanted, failure)
}

func oracleStepOf(s resolve.Step) oracleStep {
	out := oracleStep{Subscriptions: s.Subscriptions, Removed: s.Removed}
	for _, n := range s.NewSubscriptions {
		n.InstalledCSV, n.CurrentCSV = "", ""
		out.NewSubscriptions = append(out.NewSubscriptions, n)
	}
	for _, c := range s.CSVs {
		out.CSVs = append(out.CSVs, oracleCSV{c.Name, c.Replaces, c.Source, c.SourceNamespace})
	}
	return out
}

// plain returns a value as text; what is empty is missing.
func plain(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var any map[string]any
	if err := json.Unmarshal(data, &any); err != nil {
		panic(err)
	}
	text, err := yaml.Marshal(prune(any))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, each := range v {
			if each = prune(each); each == nil {
				delete(v, k)
			} else {
				v[k] = each
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return v
}

// open reads the catalogs of a case and compares what opm says about them.
func (in *oracleCase) open(t *testing.T, dir string, refused map[string]string) (map[string]*catalog.Catalog, []resolve.Source) {
	catalogs := map[string]*catalog.Catalog{}
	var sources []resolve.Source
	for _, c := range in.Catalogs {
		s := resolve.Source{Name: c.Name, Namespace: c.Namespace, Priority: c.Priority, Unavailable: c.Unavailable}
		if !c.Unavailable {
			read, err := catalog.Read(context.Background(), filepath.Join(dir, "catalogs", c.Name), catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.Catalog, catalogs[c.Name] = read, read
			text := ""
			if r := read.Refusal(); r != nil {
				text = r.Error()
				s.Unavailable = !c.Unvalidated
			}
			if d := cmp.Diff(refused[c.Name], text); d != "" {
				t.Errorf("catalog %s (-opm +olmgen):\n%s", c.Name, d)
			}
		}
		sources = append(sources, s)
	}
	return catalogs, sources
}

func (in *oracleCase) state(t *testing.T, sc oracleScenario, catalogs map[string]*catalog.Catalog, sources []resolve.Source) *resolve.State {
	s := &resolve.State{Namespace: in.Namespace, GlobalNamespace: in.GlobalCatalogNamespace, OperatorGroups: 1,
		ExcludeGlobal: in.OperatorGroup.ExcludeGlobalCatalogs, Catalogs: sources,
		FailForward: in.OperatorGroup.UpgradeStrategy == "TechPreviewUnsafeFailForward"}
	if in.OperatorGroup.Count != nil {
		s.OperatorGroups = *in.OperatorGroup.Count
	}
	for _, sub := range sc.Subscriptions {
		sub.Subscription.InstalledCSV, sub.Subscription.CurrentCSV = sub.InstalledCSV, sub.CurrentCSV
		if sub.CurrentCSV == "" {
			sub.Subscription.CurrentCSV = sub.InstalledCSV
		}
		s.Subscriptions = append(s.Subscriptions, sub.Subscription)
	}
	for _, i := range sc.Installed {
		c := resolve.CSV{Name: i.Name, Properties: i.Properties, Annotated: i.Properties != nil, Owned: i.Provided, Required: i.Required}
		if i.From != "" {
			c = resolve.Installed(findBundle(t, catalogs[i.From], i.Name))
		}
		if i.Version != "" {
			c.Version = i.Version
		}
		c.Replaces, c.Phase, c.Copied = i.Replaces, i.Phase, i.CopiedFrom != ""
		if c.Phase == "" {
			c.Phase = "Succeeded"
		}
		s.CSVs = append(s.CSVs, c)
	}
	return s
}

func findBundle(t *testing.T, c *catalog.Catalog, name string) (*catalog.Bundle, string) {
	for _, pkg := range c.Names() {
		if b := c.Packages[pkg].Bundle(name); b != nil {
			return b, pkg
		}
	}
	t.Fatal(fmt.Errorf("no bundle %s", name))
	return nil, ""
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
