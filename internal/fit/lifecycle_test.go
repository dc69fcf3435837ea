package fit_test

import (
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/fit"
)

const lifecycle = `{"versions": [{"name": "2.6", "phases": [
{"name": "maintenance", "startDate": "2026-08-18", "endDate": "2027-01-31"},
{"name": "full support", "startDate": "2026-01-17", "endDate": "2026-08-17"}],
"platformCompatibility": [{"name": "openshift", "versions": ["4.18", "4.19"]}]},
{"name": "2.5", "phases": [{"name": "early", "startDate": "2026-01-01", "endDate": "2026-01-31"},
{"name": "later", "startDate": "2026-04-01", "endDate": "2026-04-30"}, {"name": "late", "startDate": "2026-03-01", "endDate": "2026-03-31"}]}]}`

func TestLifecycle(t *testing.T) {
	known := fit.ReadLifecycle([][]byte{[]byte(lifecycle)})
	for _, test := range []struct{ name, version, openShift, date, want string }{
		{"the last day counts", "2.6.1", "", "2027-01-31", "note: maintenance of 2.6 ends on 2027-01-31"},
		{"the day after", "2.6.1", "", "2027-02-01", "warning: maintenance of 2.6 ended on 2027-01-31"},
		{"before the first phase", "2.6.1", "", "2026-01-16", "note: full support of 2.6 has not begun: it begins on 2026-01-17"},
		{"its first day counts", "2.6.1", "", "2026-01-17", "note: maintenance of 2.6 ends on 2027-01-31"},
		{"between two phases", "2.5.0", "", "2026-02-01", "note: late of 2.5 has not begun: it begins on 2026-03-01"},
		{"no date, and nothing is judged", "2.6.1", "", "", "note: support of 2.6: maintenance 2026-08-18 to 2027-01-31, full support 2026-01-17 to 2026-08-17"},
		{"another release of OpenShift", "2.6.0", "4.20", "2026-09-01", "warning: 4.20 is not in platformCompatibility of 2.6; note: maintenance of 2.6 ends on 2027-01-31"},
		{"one that it is for", "2.6.0", "4.19", "2026-09-01", "note: maintenance of 2.6 ends on 2027-01-31"},
		{"a version of which nothing is said", "2.7.0", "4.20", "2030-01-01", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := fit.Given{OpenShift: test.openShift}.Read()
			if err != nil {
				t.Fatal(err)
			}
			c.Date = test.date
			o := fit.Operator{CSV: &v1alpha1.ClusterServiceVersion{}, Lifecycle: known}
			o.CSV.Spec.Version = version.OperatorVersion{Version: semver.MustParse(test.version)}
			var got []string
			for _, f := range fit.Findings(o, fit.OLMv0, c) {
				if f.Rule == fit.RuleSupport.ID || f.Rule == fit.RuleCompatible.ID {
					got = append(got, string(f.Level)+": "+f.Message)
				}
			}
			if text := strings.Join(got, "; "); text != test.want {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}

func TestReadLifecycle(t *testing.T) {
	for _, test := range []struct {
		documents []string
		want      string
	}{
		{nil, ""},
		{[]string{lifecycle, lifecycle}, "2 documents of schema io.openshift.operators.lifecycles.v1alpha1"},
		{[]string{strings.Replace(lifecycle, "2027-01-31", "January", 1)}, `version 2.6, phase maintenance: "January" is not a date`},
		{[]string{`{"versions": {}}`}, "io.openshift.operators.lifecycles.v1alpha1: json: "},
	} {
		var documents [][]byte
		for _, d := range test.documents {
			documents = append(documents, []byte(d))
		}
		o := operator(t, "AllNamespaces", "", nil)
		o.Lifecycle = fit.ReadLifecycle(documents)
		said := map[string]bool{} // the rules that nothing is known of
		for _, f := range fit.Findings(o, fit.OLMv0, cluster(t, "4.20")) {
			if f.Level == findings.Warning && strings.Contains(f.Message, test.want) {
				said[f.Rule] = true
			}
		}
		known := test.want == ""
		if said[fit.RuleSupport.ID] == known || said[fit.RuleCompatible.ID] == known {
			t.Errorf("%s: %v", test.want, said)
		}
	}
}
