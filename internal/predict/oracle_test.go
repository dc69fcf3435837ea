package predict_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// inputs is inputs.yaml of a scenario: what was made in a cluster, in this order.
type inputs struct {
	Description string
	Steps       []map[string]map[string]any
	CSVs        []csvFacts `json:"clusterServiceVersions"`
}

// csvFacts are what membership depends on.
type csvFacts struct {
	Namespace, Name string
	ProvidedAPIs    []string
	InstallModes    map[string]bool
}

// status is expected-status.yaml of a scenario, and the same of a report.
type status struct {
	CSVs   []csvStatus   `json:"clusterServiceVersions"`
	Groups []groupStatus `json:"operatorGroups"`
}

type csvStatus struct {
	Namespace, Name, CopiedFrom, Phase, Reason, Message string
}

type groupStatus struct {
	Namespace, Name string
	Annotations     map[string]string
	Status          map[string]any
}

// TestOracle compares with what a real OLM said: $OLMGEN_ORACLE/olm-v0-scenarios, with the bundles of $OLMGEN_CORPUS.
func TestOracle(t *testing.T) {
	corpus, oracle := corpustest.Oracle(t)
	for _, file := range corpustest.Glob(t, oracle, "olm-v0-scenarios", "*", "inputs.yaml") {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			var in inputs
			var want status
			readYAML(t, file, &in)
			readYAML(t, filepath.Join(filepath.Dir(file), "expected-status.yaml"), &want)
			t.Run("bundle", func(t *testing.T) { compare(t, want, check(t, &in, corpus)) })
			if !in.needsRBAC() {
				t.Run("facts", func(t *testing.T) { compare(t, want, check(t, &in, "")) })
			}
		})
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(file, err)
	}
}

// needsRBAC reports whether the outcome depends on more than the facts about CSVs.
func (in *inputs) needsRBAC() bool {
	return slices.ContainsFunc(in.Steps, func(s map[string]map[string]any) bool {
		return s["install"]["onlyKinds"] != nil || s["serviceAccount"] != nil
	})
}

// check writes the steps down as a tree, and checks that: with all objects of the bundles, or with CSVs that hold the
// facts only.
func check(t *testing.T, in *inputs, corpus string) *predict.Report {
	t.Helper()
	var text bytes.Buffer
	add := func(o map[string]any) {
		text.WriteString("---\n")
		text.Write(manifest.Encode(o))
	}
	if strings.Contains(in.Description, "disableCopiedCSVs: true") { // the one input that is no step
		add(
			map[string]any{
				"apiVersion": "operators.coreos.com/v1",
				"kind":       "OLMConfig",
				"metadata":   map[string]any{"name": "cluster"},
				"spec":       map[string]any{"features": map[string]any{"disableCopiedCSVs": true}},
			},
		)
	}
	var content bytes.Buffer
	for _, step := range in.Steps {
		for what, s := range step {
			switch what {
			case "install":
				installed(t, in, s, corpus, add)
			case "subscription":
				add(object("operators.coreos.com/v1alpha1", "Subscription", s))
				spec := s["spec"].(map[string]any)
				pkg := spec["name"].(string)
				addPackage(t, &content, pkg, spec["channel"], in.facts(t, s["namespace"].(string), pkg))
			default:
				kind := strings.ToUpper(what[:1]) + what[1:]
				add(
					object(
						map[string]string{"Namespace": "v1", "ServiceAccount": "v1", "OperatorGroup": "operators.coreos.com/v1"}[kind],
						kind,
						s,
					),
				)
			}
		}
	}
	tr, err := tree.Read(t.Context(), []string{"-"}, tree.Options{Stdin: &text})
	if err != nil {
		t.Fatal(err)
	}
	var o predict.Options
	if content.Len() > 0 {
		o.Catalogs.Others = readCatalog(t, content.Bytes())
	}
	r, err := predict.Check(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func object(apiVersion, kind string, step map[string]any) map[string]any {
	meta, o := map[string]any{}, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": nil}
	if apiVersion == "" {
		panic("unknown kind " + kind)
	}
	for k, v := range step {
		if k == "spec" {
			o[k] = v
		} else {
			meta[k] = v
		}
	}
	o["metadata"] = meta
	return o
}

// addPackage adds a package with one bundle to a file-based catalog.
func addPackage(t *testing.T, to *bytes.Buffer, pkg string, channel any, f csvFacts) {
	t.Helper()
	csv, err := json.Marshal(f.csv())
	if err != nil {
		t.Fatal(err)
	}
	if channel == nil {
		channel = "stable"
	}
	e := json.NewEncoder(to)
	for _, doc := range []map[string]any{
		{"schema": "olm.package", "name": pkg, "defaultChannel": channel},
		{"schema": "olm.channel", "package": pkg, "name": channel, "entries": []any{map[string]any{"name": f.Name}}},
		{"schema": "olm.bundle", "package": pkg, "name": f.Name, "properties": []any{
			map[string]any{"type": "olm.package", "value": map[string]any{"packageName": pkg, "version": "1.0.0"}},
			map[string]any{"type": "olm.bundle.object", "value": map[string]any{"data": csv}},
		}},
	} {
		if err := e.Encode(doc); err != nil {
			t.Fatal(err)
		}
	}
}

// facts finds the CSV of a package or bundle in a namespace.
func (in *inputs) facts(t *testing.T, namespace, name string) csvFacts {
	t.Helper()
	for _, f := range in.CSVs {
		if f.Namespace == namespace && strings.HasPrefix(f.Name, name) {
			return f
		}
	}
	t.Fatalf("no CSV %s in namespace %s", name, namespace)
	return csvFacts{}
}

func (f csvFacts) csv() map[string]any {
	var owned, modes []any
	for _, a := range f.ProvidedAPIs {
		part := strings.SplitN(a, ".", 3)
		owned = append(
			owned,
			map[string]any{"name": strings.ToLower(part[0]) + "s." + part[2], "version": part[1], "kind": part[0]},
		)
	}
	for _, m := range bundle.InstallModes {
		if supported, ok := f.InstallModes[string(m)]; ok {
			modes = append(modes, map[string]any{"type": string(m), "supported": supported})
		}
	}
	return map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{"name": f.Name, "namespace": f.Namespace},
		"spec":     map[string]any{"installModes": modes, "customresourcedefinitions": map[string]any{"owned": owned}},
	}
}

// installed adds what the steps of a bundle's InstallPlan make.
func installed(t *testing.T, in *inputs, step map[string]any, corpus string, add func(map[string]any)) {
	t.Helper()
	namespace := step["namespace"].(string)
	if corpus == "" {
		for _, f := range in.CSVs {
			if renamed, ok := step["renamedTo"]; f.Namespace == namespace && (!ok || renamed == f.Name) {
				add(f.csv())
			}
		}
		return
	}
	b, err := bundle.Read(os.DirFS(filepath.Join(corpus, "bundles", step["bundle"].(string))), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	only, _ := step["onlyKinds"].([]any)
	addKind := func(o map[string]any) {
		if only == nil || slices.Contains(only, o["kind"]) {
			add(o)
		}
	}
	value := func(o *manifest.Object) map[string]any {
		v, err := o.Value()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	csv := value(b.CSVObject)
	meta := csv["metadata"].(map[string]any)
	meta["namespace"] = namespace
	if name, ok := step["renamedTo"]; ok {
		meta["name"] = name
	}
	addKind(csv)
	for _, crd := range b.CRDs {
		addKind(value(crd.Object))
	}
	strategy := b.CSV.Spec.InstallStrategy.StrategySpec
	rights(t, namespace, "", strategy.Permissions, addKind)
	rights(t, namespace, "Cluster", strategy.ClusterPermissions, addKind)
}

// rights adds the accounts, roles and bindings for permissions.
func rights(
	t *testing.T,
	namespace, scope string,
	permissions []v1alpha1.StrategyDeploymentPermissions,
	add func(map[string]any),
) {
	t.Helper()
	const rbac = "rbac.authorization.k8s.io"
	for i, p := range permissions {
		name := fmt.Sprintf("%s-%d", p.ServiceAccountName, i)
		typed, err := manifest.Typed(map[string]any{"rules": p.Rules})
		if err != nil {
			t.Fatal(err)
		}
		meta := map[string]any{"name": name, "namespace": namespace}
		if scope != "" {
			name = namespace + "-" + name // in the cluster, each operator has roles of its own
			meta = map[string]any{"name": name}
		}
		add(
			map[string]any{
				"apiVersion": "v1",
				"kind":       "ServiceAccount",
				"metadata":   map[string]any{"name": p.ServiceAccountName, "namespace": namespace},
			},
		)
		add(map[string]any{"apiVersion": rbac + "/v1", "kind": scope + "Role", "metadata": meta, "rules": typed["rules"]})
		add(map[string]any{"apiVersion": rbac + "/v1", "kind": scope + "RoleBinding", "metadata": meta,
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": scope + "Role", "name": name},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": p.ServiceAccountName, "namespace": namespace}}})
	}
}

// compare compares all that the oracle has of groups, CSVs and copies.
func compare(t *testing.T, want status, r *predict.Report) {
	t.Helper()
	var out bytes.Buffer
	if err := print.Report(&out, r, "json"); err != nil {
		t.Fatal(err)
	}
	var got status
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, v := range r.CSVs {
		for _, ns := range v.CopiedTo {
			got.CSVs = append(
				got.CSVs,
				csvStatus{
					ns,
					v.Name,
					v.Namespace,
					v.Phase,
					"Copied",
					"The operator is running in " + v.Namespace + " but is managing this namespace",
				},
			)
		}
	}
	for _, s := range []*status{&want, &got} {
		slices.SortFunc(
			s.CSVs,
			func(a, b csvStatus) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) },
		)
		if s.CSVs == nil {
			s.CSVs = []csvStatus{}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-OLM +olmgen):\n%s\n%v", d, r.Findings)
	}
}
