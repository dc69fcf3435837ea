package versions_test

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
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
			for _, set := range r.Sets() {
				var of versions.Fact
				switch {
				case f.Gate != "":
					_, of = r.Gate(f.Gate, set)
				case f.Behavior != "":
					of, _ = r.Does(f.Behavior)
				default:
					_, of = r.State(f.Kind, f.Field, set)
				}
				holds = holds || reflect.DeepEqual(of, f)
			}
		}
		overridden := f.Kind != "" && len(f.At) > 0 // by what a person wrote: the CRD does not say all
		if !holds && !overridden || f.Source == "" || f.State == versions.Absent {
			t.Errorf("%+v", f)
		}
		if len(f.At) == 0 && f.Behavior == "" && f.State != versions.Unknown && f.State != versions.Ignored {
			t.Errorf("a person wrote what refresh can read: %+v", f)
		}
	}
}

// What no release has yet is of a product, and has the commit that says it. The workflow reads these lines.
func TestNext(t *testing.T) {
	line := regexp.MustCompile(`^operator-framework/[a-z-]+(#\d+)?, [0-9a-f]{40}$`)
	for _, f := range versions.Next() {
		if len(versions.Releases(f.Of)) == 0 || f.Behavior == "" || f.Since+f.Until != "" || !line.MatchString(f.Source) {
			t.Errorf("%+v", f)
		}
	}
}

// What refresh read has the repository, file and line that say it, and the commit of each repository.
func TestReadFactsHaveSources(t *testing.T) {
	list, err := versions.ReadData()
	if err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	commit, number := regexp.MustCompile(`^[0-9a-f]{40}$`), regexp.MustCompile(`^[1-9]\d*$`)
	for _, r := range list {
		sources := [][]string{r.At}
		for _, f := range r.Facts {
			if len(f.At) == 0 {
				t.Errorf("%s %s: no source: %+v", r.Of, r.Number, f)
			}
			sources = append(sources, f.At)
		}
		for _, at := range slices.Concat(sources...) {
			repository, rest, _ := strings.Cut(at, ":")
			file, line, _ := strings.Cut(rest, ":")
			if !commit.MatchString(r.Commits[repository]) || file == "" || !number.MatchString(line) {
				t.Errorf("%s %s: %q at commit %q", r.Of, r.Number, at, r.Commits[repository])
			}
		}
	}
}

// What cluster-olm-operator makes of the feature sets, read by a person in openshift/api features/features.go,
// cluster-olm-operator internal/featuregates/mapper.go and pkg/controller/helm.go.
func TestOpenShift(t *testing.T) {
	const on, off, none = versions.Enabled, versions.Disabled, versions.Absent
	for gate, want := range map[string]map[string][3]versions.State{ // by release: Default, TechPreviewNoUpgrade, OKD
		"BoxcutterRuntime": {"4.20": {none, none, none}, "4.21": {off, off, none}, "4.22": {off, on, off}, "4.23": {off, on, off},
			"5.0": {off, on, off}, "5.1": {off, on, off}},
		"DeploymentConfig": {"4.21": {none, none, none}, "4.22": {off, on, off}, "4.23": {off, on, off}, "5.0": {off, on, off},
			"5.1": {off, on, off}},
		"SingleOwnNamespaceInstallSupport": {"4.18": {none, none, none}, "4.19": {off, on, none}, "4.20": {off, on, none},
			"4.22": {off, on, off}, "5.1": {off, on, off}},
		"WebhookProviderOpenshiftServiceCA": {"4.19": {none, none, none}, "4.20": {off, on, none}, "4.21": {on, on, none},
			"4.22": {on, on, on}, "4.23": {on, on, on}, "5.1": {on, on, on}},
		"WebhookProviderCertManager": {"4.20": {off, off, none}, "4.21": {off, off, none}, "4.22": {off, off, off},
			"5.1": {off, off, off}},
		"PreflightPermissions": {"4.22": {off, on, off}, "4.23": {off, off, off}, // 4.23 maps a gate that openshift/api has no more
			"5.0": {on, on, on}, "5.1": {on, on, on}}, // nothing maps it, and the experimental values have it
	} {
		for number, states := range want {
			r, err := versions.Parse(versions.OpenShift, number)
			if err != nil {
				t.Fatal(err)
			}
			for i, set := range []versions.Set{versions.Default, versions.TechPreview, "OKD"} {
				if got, _ := r.Gate(gate, set); got != states[i] {
					t.Errorf("%s has %s %q in %s, want %q", r, gate, got, set, states[i])
				}
			}
		}
	}
	for _, r := range versions.Releases(versions.OpenShift) {
		config, _ := r.State("ClusterExtension", versions.FieldConfig, versions.Standard)
		if (config != none) != (r.Number() >= "4.21") {
			t.Errorf("%s takes spec.config in Default: %q", r, config)
		}
		objects, _ := r.State("ClusterObjectSet", "", versions.Experimental)
		if (objects != none) != (r.Number() >= "4.22") {
			t.Errorf("%s has ClusterObjectSets in TechPreviewNoUpgrade: %q", r, objects)
		}
		if objects, _ = r.State("ClusterObjectSet", "", versions.Default); objects != none {
			t.Errorf("%s has ClusterObjectSets in Default", r)
		}
		if r.Has("OKD") != (r.Number() >= "4.22") || r.Has("CustomNoUpgrade") {
			t.Errorf("%s has the feature sets %s", r, r.Sets())
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
		{versions.OpenShift, "4.17", "nothing is known of OpenShift 4.17", "OpenShift 4.18 to 5.1 are known; name its version of Kubernetes instead, 1.30"},
		{versions.OpenShift, "4.24", "nothing is known of OpenShift 4.24", "OpenShift 4.18 to 5.1 are known"},
		{versions.OpenShift, "new", `"new" is not a release of OpenShift`, "write it as 5.1"},
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
			for _, set := range r.Sets() {
				crds := readCRDs(t, r, set)
				checkLimits(t, r, set)
				for _, pair := range versions.Fields() {
					if crds == nil || of == versions.OpenShift && pair[0] == "ClusterObjectSet" {
						continue // the chart makes this CRD with a feature gate: TestOpenShift
					}
					want := versions.Absent
					if fields := crds[pair[0]]; fields != nil {
						want = fields[pair[1]]
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

// TestPage keeps docs/reference/versions.md equal to the facts; make docs writes it.
func TestPage(t *testing.T) {
	var b strings.Builder
	for _, of := range products {
		writeTable(t, &b, of)
	}
	fmt.Fprint(&b, "| Product | Since | Until | It ... | Source |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range versions.Facts() {
		if f.Behavior != "" {
			since := cmp.Or(f.Since, versions.Releases(f.Of)[0].Number())
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.Of, since, f.Until, f.Behavior, f.Source)
		}
	}
	for _, f := range versions.Next() {
		fmt.Fprintf(&b, "| %s | after %s |  | %s | %s |\n", f.Of, versions.Newest(f.Of).Number(), f.Behavior, f.Source)
	}
	fmt.Fprint(&b, "\n| OpenShift | Kubernetes |\n| --- | --- |\n")
	for _, r := range versions.Releases(versions.OpenShift) {
		fmt.Fprintf(&b, "| %s | 1.%d |\n", r.Number(), r.Kubernetes())
	}
	golden.CheckPart(t, filepath.Join("..", "..", "..", "docs", "reference", "versions.md"),
		"<!-- what the releases take: written by make docs -->\n", "<!-- end -->", b.String(), *versions.Update)
}

// writeTable writes what the releases of a product have: the feature sets are columns. Consecutive releases with the
// same are a row, with the sources of the newest one.
func writeTable(t *testing.T, b *strings.Builder, of versions.Product) {
	t.Helper()
	sets := versions.Newest(of).Sets()
	fmt.Fprintf(b, "| %s | Releases |%s Read at |\n| --- |%s\n", of, header(sets), strings.Repeat(" --- |", len(sets)+2))
	type topic struct {
		name string
		ask  func(versions.Release, versions.Set) (versions.State, versions.Fact)
	}
	var topics []topic
	for _, pair := range versions.Fields() {
		topics = append(topics, topic{strings.TrimSuffix(pair[0]+" `"+pair[1]+"`", " ``"),
			func(r versions.Release, set versions.Set) (versions.State, versions.Fact) {
				return r.State(pair[0], pair[1], set)
			}})
	}
	for _, gate := range versions.Gates() {
		topics = append(topics, topic{"feature gate " + gate,
			func(r versions.Release, set versions.Set) (versions.State, versions.Fact) { return r.Gate(gate, set) }})
	}
	for _, about := range topics {
		var first, row, last, links string
		flush := func() {
			if row != "" {
				fmt.Fprintf(b, "| %s | %s |%s %s |\n", about.name, span(first, last), row, links)
			}
		}
		for _, r := range versions.Releases(of) {
			cells, read, there := "", []string(nil), false
			for _, set := range sets {
				state, fact := about.ask(r, set)
				there = there || state != versions.Absent
				cells += " " + cell(r, set, state, fact) + " |"
				read = append(read, fact.At...)
			}
			if !there {
				cells = ""
			}
			if cells != row {
				flush()
				first, row = r.Number(), cells
			}
			last, links = r.Number(), linked(t, r, read)
		}
		flush()
	}
	fmt.Fprintln(b)
}

func span(first, last string) string {
	if first == last {
		return first
	}
	return first + " to " + last
}

func header(sets []versions.Set) (line string) {
	for _, set := range sets {
		line += " " + string(set) + " |"
	}
	return line
}

func cell(r versions.Release, set versions.Set, state versions.State, fact versions.Fact) string {
	switch {
	case !r.Has(set):
		return ""
	case state == versions.Absent:
		return "not there"
	case fact.Limit > 0:
		return fmt.Sprintf("%s, at most %d", state, fact.Limit)
	}
	return string(state)
}

// linked returns links to what was read, each once.
func linked(t *testing.T, r versions.Release, read []string) string {
	t.Helper()
	list, err := versions.ReadData()
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, data := range list {
		for _, at := range read {
			repository, rest, _ := strings.Cut(at, ":")
			file, line, _ := strings.Cut(rest, ":")
			link := fmt.Sprintf("[%s:%s](https://github.com/%s/blob/%s/%s#L%s)", path.Base(file), line, repository,
				data.Commits[repository], file, line)
			if data.Of == r.Product && data.Number == r.Number() && !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return strings.Join(links, " ")
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
		{versions.OpenShift, "annotates pods with olm.operatorNamespace", "operator-framework/"}} {
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
