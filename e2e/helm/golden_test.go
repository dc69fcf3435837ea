package helm

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/output"
)

var update = flag.Bool("update", false, "rewrite testdata/values.txt")

const golden = "../../golden"

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "olmgen-helm-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

var command = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "olmgen")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/olmgen")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// goldenCase is a case.yaml of golden/.
type goldenCase struct {
	Bundle   string   `json:"bundle"`
	Args     []string `json:"args"`
	Variants []struct {
		Name string   `json:"name"`
		Args []string `json:"args"`
	} `json:"variants"`
}

// run is one rendering of a golden case.
type run struct {
	dir, bundle string
	args        []string
}

// render runs the command and returns the directory that it wrote.
func (r run) render(t *testing.T, layout ...string) string {
	t.Helper()
	dir, err := r.try(t, layout...)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (r run) try(t *testing.T, more ...string) (string, error) {
	t.Helper()
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(program, slices.Concat([]string{"render", r.bundle, "-o", dir}, r.args, more)...)
	cmd.Dir = r.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, &stderr)
	}
	return dir, nil
}

// elsewhere returns the run for another namespace and other targets, where they are not empty.
func (r run) elsewhere(namespace string, targets []string) run {
	out := run{dir: r.dir, bundle: r.bundle}
	for i := 0; i < len(r.args); i++ {
		switch a := r.args[i]; {
		case a == "--namespace" && namespace != "", a == "--target-namespaces" && targets != nil:
			i++
		default:
			out.args = append(out.args, a)
		}
	}
	if namespace != "" {
		out.args = append(out.args, "--namespace", namespace)
	}
	if targets != nil {
		out.args = append(out.args, "--target-namespaces", strings.Join(targets, ","))
	}
	return out
}

// runs returns every rendering of the golden cases by name.
func runs(t *testing.T) map[string]run {
	t.Helper()
	files, err := filepath.Glob(golden + "/*/case.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	out := map[string]run{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := goldenCase{Bundle: "bundle"}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if len(c.Variants) == 0 {
			out[name] = run{dir, c.Bundle, c.Args}
		}
		for _, v := range c.Variants {
			args := slices.Concat(c.Args, v.Args)
			if !slices.Contains(args, "--layout") {
				out[name+"/"+v.Name] = run{dir, c.Bundle, args}
			}
		}
	}
	return out
}

// Every golden case as a chart: helm lint has nothing to say, helm template gives the objects of the layout flat, and
// with other values the objects that olmgen renders with those options. testdata/values.txt says which values each
// chart has.
func TestGolden(t *testing.T) {
	var lines []string
	var mu sync.Mutex
	all := runs(t)
	t.Run("cases", func(t *testing.T) {
		for name, r := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				line := name + ": " + testRun(t, r)
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			})
		}
	})
	if len(lines) < len(all) { // -run picked some, or some failed
		return
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	const file = "testdata/values.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is not true any more. If the change is meant, run \"make golden\".\n%s", file, d)
	}
}

// What is added to all objects leaves the chart its values, and is there with each of them.
func TestAnnotated(t *testing.T) {
	dir, err := filepath.Abs("../../examples/memcached-operator")
	if err != nil {
		t.Fatal(err)
	}
	free := testRun(t,
		run{dir, "bundle",
			[]string{"--namespace", "cache", "--target-namespaces", "a,b", "--create-namespace",
				"--create-target-namespaces", "--annotations", "argocd"}})
	if free != "namespace targetNamespaces crds images" {
		t.Errorf("values that may be changed: %s", free)
	}
}

// testRun tests the chart of a run and returns the values that a user may change.
func testRun(t *testing.T, r run) string {
	want := flat(t, readDir(t, os.DirFS(r.render(t))))
	dir := r.render(t, "--layout", "helm")
	checkLint(t, dir)
	c, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Files {
		if f.Name == output.LockName {
			t.Error("olmgen's lock is part of the chart")
		}
	}
	got, err := template(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "by default", want, got)
	again := r.render(t, "--layout", "helm", "--helm-crds", "templates")
	for i, f := range readDir(t, os.DirFS(dir)) {
		if g := readDir(t, os.DirFS(again))[i]; !bytes.Equal(f.Data, g.Data) {
			t.Errorf("%s: other bytes the second time", f.Path)
		}
	}
	testCRDs(t, r, want)
	testConfig(t, r, c)
	return testElsewhere(t, r, c)
}

// testCRDs has the CRDs in crds/.
func testCRDs(t *testing.T, r run, want objects) {
	t.Helper()
	dir := r.render(t, "--layout", "helm", "--helm-crds", "crds")
	checkLint(t, dir)
	c, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := template(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "with crds/", want, got)
	for id := range want {
		if strings.Contains(id, " CustomResourceDefinition ") && len(c.CRDObjects()) == 0 {
			t.Errorf("%s is not in crds/", id)
		}
	}
}

// testElsewhere changes the values that can be changed.
func testElsewhere(t *testing.T, r run, c *chart.Chart) string {
	t.Helper()
	free := variable(t, c)
	var said []string
	for _, name := range []string{"namespace", "targetNamespaces", "crds", "images"} {
		if free[name] {
			said = append(said, name)
		}
	}
	type place struct {
		namespace string
		targets   []string
	}
	places := []place{{targets: []string{"0x1f"}}, {targets: []string{"true", "a"}},
		{"z-0", []string{"z-1", "elsewhere", "b"}}, {"elsewhere", []string{"elsewhere", "b"}}}
	// a bundle speaks of some
	for _, ns := range []string{"1e3", "elsewhere", "doors", "clock-system", "team-a", strings.Repeat("n", 63)} {
		places = append(places, place{namespace: ns})
	}
	for _, p := range places {
		values := map[string]any{}
		if p.namespace != "" && free["namespace"] {
			values["namespace"] = p.namespace
		}
		if p.targets != nil && free["targetNamespaces"] {
			values["targetNamespaces"] = anyList(p.targets)
		}
		if (p.namespace != "") == (values["namespace"] != nil) &&
			(p.targets != nil) == (values["targetNamespaces"] != nil) {
			testValues(t, r.elsewhere(p.namespace, p.targets), c, values, free["targetNamespaces"])
		}
	}
	testFixed(t, c, free)
	return strings.Join(said, " ")
}

// testFixed asks for what the chart does not offer.
func testFixed(t *testing.T, c *chart.Chart, free map[string]bool) {
	t.Helper()
	for _, values := range []map[string]any{
		{"namespace": "Elsewhere"}, {"namespace": "a b"}, {"namespace": 5}, {"nonsense": true},
		{"images": map[string]any{"none": map[string]any{}}},
		{"targetNamespaces": []any{"a", "a"}}, {"targetNamespaces": []any{}}, {"crds": map[string]any{"install": "no"}},
	} {
		if _, err := template(c, values); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%v: error %v, want one of the schema", values, err)
		}
	}
	if !free["namespace"] {
		if _, err := template(c, map[string]any{"namespace": "elsewhere"}); err == nil {
			t.Error("the namespace is fixed, and the chart takes another")
		}
	}
}

// testValues compares the chart with some values with what olmgen renders. What olmgen refuses the chart must refuse,
// and the other way around, but for the number of targets: olmgen then takes another install mode.
func testValues(t *testing.T, r run, c *chart.Chart, values map[string]any, targets bool) {
	t.Helper()
	what := fmt.Sprint(values)
	got, err := template(c, values)
	dir, refused := r.try(t)
	switch {
	case err != nil && refused == nil && targets:
		if !strings.Contains(err.Error(), "targetNamespaces") {
			t.Errorf("%s: %v", what, err)
		}
		return
	case (err == nil) != (refused == nil):
		t.Errorf("%s: helm says %v, olmgen %v", what, err, refused)
		return
	case err != nil:
		if !strings.Contains(err.Error(), "schema") && !strings.Contains(err.Error(), "targetNamespaces") {
			t.Errorf("%s: refused by accident: %v", what, err)
		}
		return
	}
	compare(t, what, flat(t, readDir(t, os.DirFS(dir))), got)
}

// exampleChart returns the chart of the example bundle.
func exampleChart(t *testing.T) *chart.Chart {
	t.Helper()
	dir, err := filepath.Abs("../../examples/memcached-operator")
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.Load(run{dir: dir, bundle: "bundle", args: []string{"--namespace", "cache"}}.render(t, "--layout",
		"helm"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The values besides the namespaces: images and resources, in the Deployment and in the CSV, and the CRDs. By default
// "helm uninstall" keeps those.
func TestValues(t *testing.T) {
	c := exampleChart(t)
	const deployment, manager = "memcached-operator-controller-manager", "manager"
	of := func(v any) map[string]any { return map[string]any{deployment: map[string]any{manager: v}} }
	got, err := templateAsGiven(c, map[string]any{
		"images":    of("registry.example/memcached@sha256:0"),
		"resources": of(map[string]any{"limits": map[string]any{"cpu": nil, "memory": "1Gi"}, "requests": nil}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"apps/v1 Deployment cache/" + deployment,
		"operators.coreos.com/v1alpha1 ClusterServiceVersion cache/memcached-operator.v0.0.1"} {
		for _, want := range []string{`"image":"registry.example/memcached@sha256:0"`,
			`"resources":{"limits":{"memory":"1Gi"}}`} {
			if !strings.Contains(got[id], want) {
				t.Errorf("%s: no %s in %s", id, want, got[id])
			}
		}
	}
	const crd = "apiextensions.k8s.io/v1 CustomResourceDefinition <nil>/memcacheds.cache.example.com"
	if want := `"helm.sh/resource-policy":"keep"`; !strings.Contains(got[crd], want) {
		t.Errorf("%s: no %s in %s", crd, want, got[crd])
	}
	if got, err = template(c, map[string]any{"crds": map[string]any{"install": false}}); err != nil || got[crd] != "" {
		t.Errorf("error %v, CRD %q", err, got[crd])
	}
}
