package validate_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/source"
)

const (
	annotationsFile = "metadata/annotations.yaml"
	csvFile         = "manifests/op.csv.yaml"
	crdFile         = "manifests/things.crd.yaml"
)

// goodFiles is a bundle about which nobody has anything to say.
func goodFiles() map[string]string {
	return map[string]string{
		annotationsFile: `annotations:
  operators.operatorframework.io.bundle.package.v1: op
  operators.operatorframework.io.bundle.channels.v1: stable
`,
		csvFile: `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: op.v1.0.0
  annotations:
    alm-examples: '[{"apiVersion": "example.com/v1", "kind": "Thing"}]'
    categories: Database
    capabilities: Basic Install
spec:
  displayName: Op
  version: 1.0.0
  minKubeVersion: 1.20.0
  provider: {name: Example}
  icon: [{base64data: eA==, mediatype: image/png}]
  installModes:
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: things.example.com, kind: Thing, version: v1, description: A thing.}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: op
        spec:
          selector: {matchLabels: {app: op}}
          template:
            metadata: {labels: {app: op}}
            spec:
              serviceAccountName: default
              containers:
              - {name: op, image: op, resources: {requests: {cpu: 1m, memory: 1Mi}}}
`,
		crdFile: `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing, singular: thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`,
	}
}

// change replaces a text in a file, or makes the file of it.
type change struct{ file, old, new string }

func sourceOf(t *testing.T, changes ...change) *source.Source {
	t.Helper()
	files := goodFiles()
	for _, c := range changes {
		if c.old != "" && !strings.Contains(files[c.file], c.old) {
			t.Fatalf("%s has no %q", c.file, c.old)
		}
		if c.old == "" {
			files[c.file] = c.new
		} else {
			files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
		}
	}
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return &source.Source{FS: m, Ref: "b", Kind: source.KindDir}
}

// lines prints findings as the text format does, without the directory.
func lines(t *testing.T, src *source.Source, list []validate.Finding) []string {
	t.Helper()
	src.Ref = "b"
	var b strings.Builder
	if err := print.Report(&b, print.List{Rules: validate.Rules(), Findings: validate.Located(src, list)}, findings.Text); err != nil {
		t.Fatal(err)
	}
	var out []string
	for l := range strings.Lines(b.String()) {
		out = append(out, strings.TrimPrefix(strings.TrimSuffix(l, "\n"), "b/"))
	}
	return out
}

func oldCRD(kubeVersion string) []change {
	return []change{
		{crdFile, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n"},
		{crdFile, "spec:\n", "spec:\n  preserveUnknownFields: false\n"},
		{crdFile, "    schema: {openAPIV3Schema: {type: object}}\n", "  validation: {openAPIV3Schema: {type: object}}\n"},
		{csvFile, "minKubeVersion: 1.20.0", "minKubeVersion: " + kubeVersion},
	}
}

func TestBundle(t *testing.T) {
	const noRequests = ": warning: unable to find the resource requests for the container: (op). It is recommended to " +
		"ensure the resource request for CPU and Memory. " +
		"Be aware that for some clusters configurations it is required to specify requests or limits for those values. " +
		"Otherwise, the system or quota may reject Pod creation. " +
		"More info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/ [api/good-practices]"
	const naming = " are not following the recommended naming convention: " +
		"https://olm.operatorframework.io/docs/best-practices/channel-naming [api/good-practices]"
	const guide = "this bundle is using APIs which were deprecated and removed in v1.25. More info: " +
		"https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25. Migrate the API(s) for "
	tests := []struct {
		name    string
		changes []change
		want    []string
	}{
		{"nothing", nil, nil},
		{"a refusal, with its hint", []change{{csvFile, "kind: ClusterServiceVersion", "kind: Other"}}, []string{
			"manifests: error: no ClusterServiceVersion (a bundle needs exactly one object of kind ClusterServiceVersion) " +
				"[refused]",
			"    hint: mend this first: nothing else of the bundle is judged"}},
		{"a refusal at a line", []change{{csvFile, "version: v1,", "version: v2,"}}, []string{
			csvFile + `:19: error: spec.customresourcedefinitions.owned[0].version: the CustomResourceDefinition things.example.com (manifests/things.crd.yaml) has no version "v2" [refused]`,
			"    hint: mend this first: nothing else of the bundle is judged"}},
		{"a refusal, and the warnings before it", []change{{csvFile, "kind: ClusterServiceVersion", "kind: Other"}, {"manifests/notes.txt", "", "a: b: c"}}, []string{
			"manifests: error: no ClusterServiceVersion (a bundle needs exactly one object of kind ClusterServiceVersion) [refused]",
			"    hint: mend this first: nothing else of the bundle is judged",
			"manifests/notes.txt: warning: left out: not YAML [layout]"}},
		{"warnings of olmgen", []change{{csvFile, "  displayName: Op", "  displayname: Op\n  displayName: Op"}}, []string{
			csvFile + ":10: warning: spec.displayname: not a field of a ClusterServiceVersion (did you mean displayName?): OLM takes it for that, and others drop it [unknown-field]"}},
		{
			"kinds that OLM refuses, and the rest",
			[]change{
				{"manifests/job.yaml", "", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n"},
				{csvFile, "requests: {cpu: 1m, memory: 1Mi}", ""},
			},
			[]string{
				"manifests/job.yaml:2: error: kind: OLM does not install Job of batch/v1 from a bundle [unsupported-kind]",
				csvFile + ":1" + noRequests},
		},
		{"an old API is said once", oldCRD("1.20.0"), []string{
			crdFile + ":1: warning: apiVersion: apiextensions.k8s.io/v1beta1 is not served by Kubernetes 1.22 and later, unless it is " +
				"converted to v1 [old-crd]"}},
		{"and is an error where it cannot work", oldCRD("1.22.0"), []string{
			crdFile + ":1: error: apiVersion: apiextensions.k8s.io/v1beta1 is not served by Kubernetes 1.22 and later, unless it is " +
				"converted to v1 [old-crd]"}},
		{
			"an old API that only the validators know",
			[]change{
				{
					"manifests/pdb.yaml",
					"",
					"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {maxUnavailable: 0}\n",
				},
			},
			[]string{
				"manifests/pdb.yaml:1: error: maxUnavailable field cannot be set to 0 or 0% [api/object]",
				"manifests/pdb.yaml:1: warning: apiVersion: " + guide + `PodDisruptionBudget: (["x"]) [api/alpha-deprecated-apis]`},
		},
		{
			"old APIs that the CSV names, in order",
			[]change{
				{
					csvFile,
					"description: A thing.",
					"description: A thing., resources: [{kind: RuntimeClass, version: node.k8s.io/v1beta1, name: ''}, {kind: " +
						"CronJob, version: batch/v1beta1, name: ''}]",
				},
			},
			[]string{
				csvFile + ":1: warning: " + guide +
					`CronJob: (["ClusterServiceVersion.Spec.CustomResourceDefinitions.Owned[0].Resource[1]"]), RuntimeClass: (["ClusterServiceVersion.Spec.CustomResourceDefinitions.Owned[0].Resource[0]"]) [api/alpha-deprecated-apis]`},
		},
		{"a required field", []change{{csvFile, "  displayName: Op\n", ""}}, []string{
			csvFile + ":9: error: spec.displayName: required field missing [api/csv]"}},
		{"a required field that olmgen misses too", []change{{csvFile, "    strategy: deployment\n", ""}}, []string{
			csvFile + `:20: error: spec.install.strategy: missing: OLM installs only "deployment" [install-strategy]`}},
		{"a fault of two validators is said once", []change{{csvFile, "1.20.0", "one"}}, []string{
			csvFile + ":1: error: csv.Spec.MinKubeVersion has an invalid value: one [api/csv]",
			csvFile + ":1: error: unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an " +
				"invalid value: one [api/alpha-deprecated-apis]"}},
		{"an example that is none", []change{{csvFile, `[{"apiVersion"`, `[{apiVersion`}}, []string{
			csvFile + `:6: error: metadata.annotations["alm-examples"]: invalid example: invalid character at 3 [{a<--(see the invalid character) [api/csv]`}},
		{"an example of another API", []change{{csvFile, `"kind": "Thing"`, `"kind": "Other"`}}, []string{
			csvFile + `:6: error: metadata.annotations["alm-examples"]: example must have a provided API: example.com/v1, Kind=Other [api/csv]`,
			csvFile + `:6: warning: metadata.annotations["alm-examples"]: provided API should have an example annotation: example.com/v1, Kind=Thing [api/csv]`}},
		{
			"no annotations at all",
			[]change{{csvFile, "    alm-examples: '[{\"apiVersion\": \"example.com/v1\", \"kind\": \"Thing\"}]'\n", ""}},
			[]string{
				csvFile + ":5: warning: metadata.annotations: example annotations not found [api/csv]"},
		},
		{
			"a CRD that the CSV does not own",
			[]change{
				{
					"manifests/other.yaml",
					"",
					strings.NewReplacer("things", "others", "Thing", "Other", "thing", "other").Replace(goodFiles()[crdFile]),
				},
			},
			[]string{
				"manifests/other.yaml:1: error: CRD \"example.com/v1, Kind=Other\" is present in bundle \"op.v1.0.0\" but not " +
					"defined in CSV [api/bundle]"},
		},
		{"a CRD that the API server refuses", []change{{crdFile, "storage: true", "storage: false"}}, []string{
			crdFile + ":9: error: spec.versions: Invalid value: must have exactly one version marked as storage version " +
				"[api/crd]"}},
		{"a CRD of wrong types", []change{{crdFile, "{type: object}", "{type: object, properties: [a]}"}}, []string{
			crdFile + ":13: error: spec.versions[0].schema.openAPIV3Schema.properties: has the wrong type: a list, want a " +
				"mapping [refused]",
			"    hint: mend this first: nothing else of the bundle is judged"}},
		{
			"an account of the bundle that is the CSV's too",
			[]change{{"manifests/sa.yaml", "", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n"}},
			[]string{
				"manifests/sa.yaml:1: error: invalid service account found in bundle. This service account default in your " +
					"bundle is not valid, because a service account with the same name was already specified in your CSV. " +
					"If this was unintentional, please remove the service account manifest from your bundle. If it was intentional " +
					"to specify a separate service account, please rename the SA in either the bundle manifest or the CSV " +
					"[api/bundle]"},
		},
		{
			"related images",
			[]change{
				{
					csvFile,
					"  displayName: Op",
					"  displayName: Op\n  relatedImages:\n  - {name: a, image: a}\n  - {name: b, image: ''}",
				},
			},
			[]string{
				csvFile + ":13: error: spec.relatedImages[1].image: relatedImages[1] has an empty image field [api/bundle]"},
		},
		{"channels, each by itself", []change{{annotationsFile, "stable", "z,stable,a"}}, []string{
			`b: warning: channel(s) ["a"]` + naming, `b: warning: channel(s) ["z"]` + naming}},
		{
			"what OperatorHub.io asks",
			[]change{
				{csvFile, "Database", "Nonsense"},
				{csvFile, "Basic Install", "Nonsense"},
				{csvFile, "{name: Example}", "{}"},
			},
			[]string{
				csvFile + ":1: error: csv.Metadata.Annotations.Capabilities \"Nonsense\" is not a valid capabilities level " +
					"[api/standardcapabilities]",
				csvFile + ":1: error: csv.Metadata.Annotations[\"categories\"] value \"Nonsense\" is not in the set of standard " +
					"categories [api/standardcategories]",
				csvFile + ":1: error: csv.Spec.Provider.Name not specified [api/operatorhub]"},
		},
		{"a validator that panics", []change{{csvFile, "[{base64data: eA==, mediatype: image/png}]", "[]"}}, []string{
			csvFile + ":1: warning: the validator fails on this bundle: runtime error: index out of range [0] with " +
				"length 0 [api/operatorhub]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src := sourceOf(t, test.changes...)
			for range 3 { // maps have another order each time
				findings, err := validate.Bundle(
					t.Context(),
					src,
					validate.Options{Checker: framework.Checker{}, OperatorHub: true},
				)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(test.want, lines(t, src, findings)); d != "" {
					t.Fatalf("(-want +got):\n%s", d)
				}
			}
		})
	}
}

type stub struct {
	problems []validate.Problem
	err      error
}

func (s stub) Check(context.Context, validate.Subject) ([]validate.Problem, error) {
	return s.problems, s.err
}

func TestOptions(t *testing.T) {
	src := sourceOf(t, change{csvFile, "1.20.0", "one"}, change{csvFile, "{name: Example}", "{}"})
	for _, test := range []struct {
		name    string
		options validate.Options
		want    int
	}{
		{"olmgen alone", validate.Options{}, 0},
		{"with the validators", validate.Options{Checker: framework.Checker{}}, 2},
		{"with those for OperatorHub.io", validate.Options{Checker: framework.Checker{}, OperatorHub: true}, 3},
	} {
		findings, err := validate.Bundle(t.Context(), src, test.options)
		if err != nil || len(findings) != test.want {
			t.Errorf("%s: %d findings, want %d: %v %v", test.name, len(findings), test.want, findings, err)
		}
	}

	broken := errors.New("broken")
	if _, err := validate.Bundle(t.Context(), src, validate.Options{Checker: stub{err: broken}}); !errors.Is(err, broken) {
		t.Errorf("the checker's error is %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, checker := range []validate.Checker{nil, framework.Checker{}} {
		if _, err := validate.Bundle(canceled, src, validate.Options{Checker: checker}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error of a canceled context is %v", err)
		}
	}
	if _, err := (framework.Checker{}).Check(t.Context(), validate.Subject{}); err == nil {
		t.Error("a subject without objects is none")
	}
	got, err := validate.Bundle(
		t.Context(),
		src,
		validate.Options{
			Checker: stub{problems: []validate.Problem{{Validator: "csv", Level: findings.Error, Object: 99, Message: "m"}}},
		},
	)
	want := []validate.Finding{{Rule: "api/csv", Level: findings.Error, Message: "m"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("a problem of no object: %v\n%s", err, d)
	}
}

// A bundle near the limit of OLM is told so by what its files are packed.
func TestSize(t *testing.T) {
	var noise strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&noise, "  k%d: \"%x\"\n", i, uint64(i)*0x9E3779B97F4A7C15)
	}
	src := sourceOf(
		t,
		change{"manifests/big.yaml", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n" + noise.String()},
	)
	findings, err := validate.Bundle(t.Context(), src, validate.Options{Checker: framework.Checker{}})
	if err != nil || len(findings) != 1 ||
		!strings.Contains(findings[0].Message, "bundle files exceeded 1048576 bytes limit") {
		t.Errorf("%v %v", findings, err)
	}
}

// Every warning class of package bundle has a rule, and so has every validator that package framework asks.
func TestRules(t *testing.T) {
	var ids []string
	for _, r := range validate.Rules() {
		ids = append(ids, r.ID)
		if r.Text == "" || strings.HasSuffix(r.Text, ".") {
			t.Errorf("%s: text %q", r.ID, r.Text)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("not sorted, or not unique: %v", ids)
	}
	wanted := append([]string{"alm-examples", "api-not-served", "api-owner", "api-server", "catalog-refuses", "catalog/directory", "catalog/features", "catalog/openshift-versions", "catalog/operator-name",
		"catalog/pruned-graph", "catalog/related-images", "catalog/required-fields", "catalog/version", "channels", "cluster-scoped-permissions", "crd-names", "default-role", "role-missing", "rule-grants-nothing", "csv-schema", "dependencies", "network-cut-off", "owned-version", "refused", "name-version", "replaces-itself", "skip-range", "stored-without-field", "suggested-namespace", "webhook"},
		stringsIn(t, "../../../../bundle/bundle.go", func(name string) bool { return strings.HasPrefix(name, "Warn") })...,
	)
	if len(wanted) < 10 {
		t.Fatalf("found only %v", wanted)
	}
	for _, v := range []string{"csv", "crd", "bundle", "object", "good-practices", "alpha-deprecated-apis", "operatorhub", "standardcapabilities", "standardcategories"} {
		wanted = append(wanted, "api/"+v)
	}
	for _, r := range fit.Rules() {
		wanted = append(wanted, r.ID)
	}
	slices.Sort(wanted)
	if d := cmp.Diff(wanted, ids); d != "" {
		t.Errorf("(-wanted +rules):\n%s", d)
	}
}

// stringsIn returns the values of the string constants of a file whose name is wanted.
func stringsIn(t *testing.T, file string, wanted func(name string) bool) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !wanted(spec.Names[0].Name) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		return true
	})
	return list
}
