package versions_test

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/crdtest"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

var products = []versions.Product{versions.OperatorController, versions.OpenShift}

// Each fact has a source, is of a product and set that exist, and holds of some release.
func TestFacts(t *testing.T) {
	for _, f := range versions.Facts() {
		holds := false
		for _, r := range versions.Releases(f.Of) {
			for _, set := range versions.Sets {
				var of versions.Fact
				switch {
				case f.Gate != "":
					_, of = r.Gate(f.Gate, set)
				case f.Behavior != "":
					of, _ = r.Does(f.Behavior)
				default:
					_, of = r.State(f.Kind, f.Field, set)
				}
				holds = holds || of == f
			}
		}
		if !holds || f.Source == "" || f.State == versions.Absent {
			t.Errorf("%+v", f)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		of               versions.Product
		text, want, hint string
	}{
		{versions.OperatorController, "v1.10", "operator-controller v1.10", ""},
		{versions.OperatorController, "1.8.0", "operator-controller v1.8", ""},
		{versions.OpenShift, "4.19", "OpenShift 4.19", ""},
		{versions.OpenShift, "5.0.3", "OpenShift 5.0", ""},
		{versions.OperatorController, "v1.12", "nothing is known of operator-controller v1.12", "operator-controller v1.0 to v1.11 are known"},
		{versions.OperatorController, "v0.46", "nothing is known of operator-controller v0.46", "operator-controller v1.0 to v1.11 are known"},
		{versions.OpenShift, "4.17", "nothing is known of OpenShift 4.17", "OpenShift 4.18 to 5.0 are known"},
		{versions.OpenShift, "4.24", "nothing is known of OpenShift 4.24", "OpenShift 4.18 to 5.0 are known"},
		{versions.OpenShift, "new", `"new" is not a release of OpenShift`, "write it as 5.0"},
		{versions.OperatorController, "", `"" is not a release of operator-controller`, "write it as v1.11"},
	} {
		r, err := versions.Parse(c.of, c.text)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want || manifest.HintOf(err) != c.hint {
			t.Errorf("%s %q: %q, hint %q", c.of, c.text, got, manifest.HintOf(err))
		}
	}
}

// TestCRDs holds the facts against the CRDs of each release, and the CRDs against the facts: what differs between
// releases has a fact.
func TestCRDs(t *testing.T) {
	seen := map[string]map[string]bool{} // by kind and field: the states
	count := 0
	for _, of := range products {
		for _, r := range versions.Releases(of) {
			for _, set := range versions.Sets {
				crds := readCRDs(t, r, set)
				checkLimits(t, r, set)
				for _, pair := range versions.Fields() {
					want := versions.Absent
					if fields := crds[pair[0]]; fields != nil {
						want = fields[pair[1]]
					} else if crds == nil && !r.Has(set) {
						continue
					}
					got, _ := r.State(pair[0], pair[1], set)
					switch got {
					case versions.Ignored:
						got = versions.Accepted
					case versions.Unknown:
						got = versions.Absent // it has no CRD among those
					}
					if got != want {
						t.Errorf("%s, %s: %s %s is %q, and the CRD says %q", r, set, pair[0], pair[1], got, want)
					}
					count++
				}
				record(seen, crds)
			}
		}
	}
	about := versions.Fields()
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		kind, field, _ := strings.Cut(what, " ")
		if len(seen[what]) > 1 && !slices.Contains(about, [2]string{kind, field}) {
			t.Errorf("the CRDs differ in %s, and no fact is about it: %v", what, slices.Sorted(maps.Keys(seen[what])))
		}
	}
	t.Logf("%d states of %d fields", count, len(about))
	if count == 0 {
		t.Error("nothing was compared")
	}
}

// checkLimits holds the limits of lists against the CRDs.
func checkLimits(t *testing.T, r versions.Release, set versions.Set) {
	t.Helper()
	for _, pair := range versions.Fields() {
		_, fact := r.State(pair[0], pair[1], set)
		crd := crdtest.Of(t, r, set)[pair[0]]
		if fact.Limit == 0 || crd == nil {
			continue
		}
		at := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for name := range strings.SplitSeq(pair[1], ".") {
			name, items := strings.CutSuffix(name, "[]")
			if at = at.Properties[name]; items {
				at = *at.Items.Schema
			}
		}
		if at.MaxItems == nil || *at.MaxItems != int64(fact.Limit) {
			t.Errorf("%s: %v has at most %d items, the CRD says %v", r, pair, fact.Limit, at.MaxItems)
		}
	}
}

// record notes what each field of ClusterExtensions and ClusterCatalogs is. What is below a field with facts is not
// recorded: it comes and goes with that.
func record(seen map[string]map[string]bool, crds map[string]map[string]versions.State) {
	all := map[string]bool{}
	for what := range seen {
		all[what] = true
	}
	for _, kind := range []string{"ClusterExtension", "ClusterCatalog"} {
		for field := range crds[kind] {
			all[kind+" "+field] = true
		}
	}
	for what := range all {
		kind, field, _ := strings.Cut(what, " ")
		if crds[kind] == nil || slices.ContainsFunc(versions.Fields(), func(f [2]string) bool {
			return f[0] == kind && f[1] != "" && strings.HasPrefix(field, f[1]+".")
		}) {
			continue
		}
		if seen[what] == nil {
			seen[what] = map[string]bool{}
		}
		seen[what]["is "+string(crds[kind][field])] = true
	}
}

// readCRDs returns the fields of the CRDs of a release by kind, nil if it has none of that set.
func readCRDs(t *testing.T, r versions.Release, set versions.Set) map[string]map[string]versions.State {
	t.Helper()
	var all map[string]map[string]versions.State
	for kind, crd := range crdtest.Of(t, r, set) {
		if all == nil {
			all = map[string]map[string]versions.State{}
		}
		all[kind] = map[string]versions.State{"": versions.Accepted}
		for _, v := range crd.Spec.Versions {
			walk(all[kind], "spec", v.Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	return all
}

func walk(fields map[string]versions.State, path string, s apiextensionsv1.JSONSchemaProps) {
	for name, property := range s.Properties {
		at := path + "." + name
		fields[at] = versions.Accepted
		if slices.Contains(s.Required, name) {
			fields[at] = versions.Required
		}
		walk(fields, at, property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(fields, path+"[]", *s.Items.Schema)
	}
}

// TestPage keeps docs/explanation/versions.md equal to the facts; make docs writes it.
func TestPage(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, "| Kind | Field | Feature set | Release | State |\n| --- | --- | --- | --- | --- |\n")
	rows := func(begin string, spans func(versions.Product, versions.Set) []versions.Span) {
		for _, of := range products {
			for _, set := range versions.Sets {
				for _, s := range spans(of, set) {
					state := string(s.State)
					if s.State == versions.Absent {
						state = "not there"
					}
					if s.Limit > 0 {
						state += fmt.Sprintf(", at most %d", s.Limit)
					}
					fmt.Fprintf(&b, "%s | %s | %s | %s |\n", begin, set, s, state)
				}
			}
		}
	}
	for _, pair := range versions.Fields() {
		field := pair[1]
		if field != "" {
			field = "`" + field + "`"
		}
		rows(fmt.Sprintf("| %s | %s", pair[0], field), func(of versions.Product, set versions.Set) []versions.Span {
			return versions.Spans(of, pair[0], pair[1], set)
		})
	}
	fmt.Fprint(&b, "\n| Feature gate | Feature set | Release | State |\n| --- | --- | --- | --- |\n")
	for _, gate := range versions.Gates() {
		rows("| "+gate, func(of versions.Product, set versions.Set) []versions.Span {
			return versions.GateSpans(of, gate, set)
		})
	}
	fmt.Fprint(&b, "\n| Product | Since | Until | It ... | Source |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range versions.Facts() {
		if f.Behavior != "" {
			since := cmp.Or(f.Since, versions.Releases(f.Of)[0].Number())
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.Of, since, f.Until, f.Behavior, f.Source)
		}
	}
	fmt.Fprint(&b, "\n| OpenShift | Kubernetes |\n| --- | --- |\n")
	for _, r := range versions.Releases(versions.OpenShift) {
		fmt.Fprintf(&b, "| %s | 1.%d |\n", r.Number(), r.Kubernetes())
	}
	golden.CheckPart(t, filepath.Join("..", "..", "..", "docs", "explanation", "versions.md"),
		"<!-- what the releases take: written by make docs -->\n", "<!-- end -->", b.String(), *versions.Update)
}

func TestParseOLM(t *testing.T) {
	for text, want := range map[string]string{"v0.46": "OLM v0 v0.46", "0.28.0": "OLM v0 v0.28", "v1.8": "operator-controller v1.8",
		"v1": `"v1" names no minor version of operator-controller`, "0": `"0" names no minor version of OLM v0`, "v0.27": "nothing is known of OLM v0 v0.27", "x": `"x" is not a release of OLM`} {
		r, err := versions.ParseOLM(text)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// OpenShift 4.23 and 5.0 are the same release (OLM: pkg/controller/operators/openshift/helpers.go).
func TestNewer(t *testing.T) {
	for _, c := range []struct {
		release, than string
		want          bool
	}{{"4.20", "4.19", true}, {"4.20", "4.20", false}, {"4.20", "4.20.9", false}, {"4.20", "4.21", false}, {"4.23", "4.22", true},
		{"4.23", "4.23", false}, {"4.23", "5.0", false}, {"5.0", "4.23", false}, {"5.0", "4.22", true}, {"4.22", "5.0", false}} {
		r, err := versions.Parse(versions.OpenShift, c.release)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Newer(semver.MustParse(c.than + strings.Repeat(".0", 2-strings.Count(c.than, ".")))); got != c.want {
			t.Errorf("%s is newer than %s: %t", c.release, c.than, got)
		}
	}
}

// The releases of OpenShift contain one of Kubernetes, no other product does.
func TestKubernetes(t *testing.T) {
	for _, of := range versions.Products {
		for _, r := range versions.Releases(of) {
			if (r.Kubernetes() > 0) != (of == versions.OpenShift) {
				t.Errorf("%s contains Kubernetes 1.%d", r, r.Kubernetes())
			}
		}
	}
	if r, err := versions.Parse(versions.OpenShift, "4.20"); err != nil || r.Kubernetes() != 33 {
		t.Error(r, r.Kubernetes(), err)
	}
}

// The versions are those of Kubernetes' deprecation guide. A resource that moved to another version of its group is
// still there.
func TestResourceRemoved(t *testing.T) {
	for resource, want := range map[[2]string]uint64{{"policy", "podsecuritypolicies"}: 25, {"extensions", "ingresses"}: 22,
		{"extensions", "deployments"}: 16, {"extensions", "podsecuritypolicies"}: 16, {"policy", "poddisruptionbudgets"}: 0,
		{"apps", "deployments"}: 0, {"", "pods"}: 0, {"batch", "cronjobs"}: 0, {"flowcontrol.apiserver.k8s.io", "flowschemas"}: 0,
		{"autoscaling", "horizontalpodautoscalers"}: 0, {"example.com", "deployments"}: 0} {
		if got := versions.ResourceRemoved(resource[0], resource[1]); got != want {
			t.Errorf("%v: 1.%d, want 1.%d", resource, got, want)
		}
	}
}

func TestParseController(t *testing.T) {
	for text, want := range map[string]string{"v1.8": "operator-controller v1.8", "1.0.0": "operator-controller v1.0", "4.20": "OpenShift 4.20",
		"5.0": "OpenShift 5.0", "2.0": "nothing is known of OpenShift 2.0", "v0.46": "nothing is known of operator-controller v0.46",
		"x": `"x" is not a release of operator-controller`} {
		r, err := versions.ParseController(text)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWhere(t *testing.T) {
	of := func(numbers ...string) string {
		return versions.Where(func(r versions.Release) bool { return slices.Contains(numbers, r.Number()) }, products...)
	}
	for want, numbers := range map[string][]string{"": nil, "operator-controller v1.0": {"v1.0"}, "operator-controller v1.0 to v1.2 and OpenShift 5.0": {"v1.0", "v1.1", "v1.2", "5.0"},
		"operator-controller v1.0, operator-controller v1.2 and OpenShift 4.18 to 4.19": {"v1.0", "v1.2", "4.18", "4.19"}} {
		if got := of(numbers...); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	if got := versions.LastRequiring(versions.OperatorController, versions.FieldAccount); got != "v1.10" {
		t.Error(got)
	}
	if got := versions.LastRequiring(versions.OperatorController, versions.FieldConfig); got != "" {
		t.Error(got)
	}
	for _, c := range []struct {
		of       versions.Product
		behavior string
		want     string
	}{{versions.OperatorController, versions.WritesAsIs, "operator-framework/"}, {versions.OpenShift, versions.WritesAsIs, "openshift/"},
		{versions.OpenShift, versions.AnnotatesNamespace, "operator-framework/"}} {
		if got := versions.SourceOf(c.of, c.behavior); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s", c.of, c.behavior, got)
		}
	}
	for kind, want := range map[string]string{"Service": "v1.0", "NetworkPolicy": "v1.3", "ConsolePlugin": "v1.3", "PodMonitor": "v1.6"} {
		first := ""
		for _, r := range versions.Releases(versions.OperatorController) {
			ok, source := r.Installs(kind)
			if ok && first == "" {
				first = r.Number()
			}
			if ok == (source != "") {
				t.Errorf("%s %s: %t, %q", r, kind, ok, source)
			}
		}
		if first != want {
			t.Errorf("%s: since %s, want %s", kind, first, want)
		}
	}
}
