package golden

import (
	"os"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/refused"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

// What a real OLM refused ("make e2e CHECK=refused" recorded it) is an error of olmgen, by the rule of the case. What OLM upgraded is none.
func TestRefused(t *testing.T) {
	cases, err := refused.Cases(".")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := refused.Answers(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(cases) {
		t.Errorf("%d answers to %d cases (make e2e CHECK=refused UPDATE=1 records them)", len(answers), len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			said, ok := answers[c.Name]
			if !ok {
				t.Fatalf("it is not recorded (make e2e CHECK=refused CASES='^%s$' UPDATE=1)", c.Name)
			}
			if upgraded := said == refused.Upgraded; upgraded != (c.Rule == "") {
				t.Errorf("rule %q, and OLM said: %s", c.Rule, said)
			}
			var rules []string
			for _, f := range upgradeFindings(t, c) {
				if f.Severity == findings.Error {
					rules = append(rules, f.Rule)
				}
			}
			if got := strings.Join(rules, ", "); got != c.Rule {
				t.Errorf("got errors %q, want %q; OLM said: %s", got, c.Rule, said)
			}
		})
	}
}

func upgradeFindings(t *testing.T, c refused.Case) []upgrade.Consequence {
	t.Helper()
	old, now := released(t, c.From), released(t, c.To)
	u := upgrade.Upgrade{Pairs: []upgrade.Pair{{Old: &old, New: &now}}, Checker: apiserver.Checker{}, API: kubernetes.Checker{}}
	if file := c.ClusterFile("."); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		u.Cluster = reviewtest.Objects(t, file, string(data))
		u.Others = installed(t, u.Cluster)
	}
	found, err := u.Findings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// released returns a bundle as the operator that OLM installs.
func released(t *testing.T, name string) upgrade.Release {
	t.Helper()
	b, err := bundle.Read(os.DirFS(refused.Bundle(".", name)), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csv := permissions.CSV{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: "operator-ns"}
	return upgrade.Release{CSV: csv, Entry: catalog.EntryOf(b.CSV), Bundle: b.Shipped()}
}

func installed(t *testing.T, objects []*manifest.Object) (list []upgrade.Release) {
	t.Helper()
	csvs, err := permissions.InstalledCSVs(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, csv := range csvs {
		list = append(list, upgrade.Release{CSV: csv, Entry: catalog.EntryOf(csv.ClusterServiceVersion)})
	}
	return list
}
