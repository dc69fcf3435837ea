package output_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/templates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ownTemplates(t *testing.T) *templates.Set {
	t.Helper()
	set, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func read(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// chart renders a bundle to the files of a chart.
func chart(t *testing.T, dir string, o generate.Options, crds helm.CRDs, change func(*output.Tree)) (golden.Tree, error) {
	t.Helper()
	o.Templates = ownTemplates(t)
	b := read(t, dir)
	r, err := generate.Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	tree := output.SingleOperator(output.Operator{Name: b.Package, Result: r}, o.Templates)
	tree.HelmCRDs = crds
	if change != nil {
		change(&tree)
	}
	files, err := tree.Files(output.LayoutHelm)
	out := golden.Tree{}
	for _, f := range files {
		out[f.Path] = f.Data
	}
	return out, err
}

// Charts to read: objects for each target, a namespace that the bundle speaks of, CRDs that point into the operator's namespace, and text
// that helm would take for its own. e2e/helm proves with helm that they are right.
func TestHelmGolden(t *testing.T) {
	for _, c := range []struct {
		name, bundle string
		options      generate.Options
		crds         helm.CRDs
	}{
		{"targets", "../examples/memcached-operator/bundle", generate.Options{Namespace: "cache", TargetNamespaces: []string{"team-a", "team-b"}}, helm.CRDsTemplates},
		{"suggested-namespace", "../golden/suggested-namespace/bundle", generate.Options{CreateNamespace: true}, helm.CRDsTemplates},
		{"webhooks", "../golden/webhooks/bundle", generate.Options{Namespace: "rules", Certs: generate.CertsManager}, ""},
		{"hostile-strings", "../golden/hostile-strings/bundle", generate.Options{Namespace: "1e3", OperatorGroup: "null", TargetNamespaces: []string{"yes", "007"},
			Certs: generate.CertsServiceCA, Profile: generate.ProfilePlain}, helm.CRDsDirectory},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chart(t, c.bundle, c.options, c.crds, nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := chart(t, c.bundle, c.options, c.crds, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := golden.Diff("first", got, again); d != "" {
				t.Errorf("other bytes the second time:\n%s", d)
			}
			golden.Check(t, filepath.Join("testdata", "helm", c.name), got, *update)
		})
	}
}

// Objects that were changed after rendering are in the chart as they are; nobody knows how they would be elsewhere, so the namespaces are fixed.
func TestHelmOfChangedObjects(t *testing.T) {
	got, err := chart(t, "../examples/memcached-operator/bundle", generate.Options{Namespace: "cache", TargetNamespaces: []string{"team-a"}}, "", func(tree *output.Tree) {
		for i := range tree.Objects {
			tree.Objects[i].Data = append([]byte("# {{ checked }}\n"), tree.Objects[i].Data...)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"values.schema.json": `"const": "cache"`,
		"templates/serviceaccount_memcached-operator-controller-manager.yaml":     "# {{ \"{{\" }} checked }}\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: memcached-operator-controller-manager\n  namespace: cache\n",
		"templates/rolebinding_team-a_memcached-operator-controller-manager.yaml": "namespace: team-a",
		"templates/deployment_memcached-operator-controller-manager.yaml":         `image: {{ index .Values.images "memcached-operator-controller-manager" "manager" | quote }}`,
		"templates/customresourcedefinition_memcacheds.cache.example.com.yaml":    "# {{ \"{{\" }} checked }}\n",
		"templates/clusterserviceversion_team-a_memcached-operator.yaml":          "namespace: team-a",
	} {
		if !strings.Contains(string(got[file]), want) {
			t.Errorf("%s: no %q in\n%s", file, want, got[file])
		}
	}
}

// Several operators have a chart each, in a directory of its name; those that share an object are refused.
func TestHelmOfSeveral(t *testing.T) {
	set := ownTemplates(t)
	operators := []generate.Operator{
		{Bundle: read(t, "../examples/memcached-operator/bundle"), Options: generate.Options{Namespace: "a", Templates: set}},
		{Bundle: read(t, "../golden/deployments/bundle"), Options: generate.Options{Namespace: "b", InstallMode: v1alpha1.InstallModeTypeOwnNamespace, Templates: set}},
	}
	lay := func() (output.Files, error) {
		s, err := generate.RenderAll(operators)
		if err != nil {
			t.Fatal(err)
		}
		tree := output.Tree{Objects: s.Objects, Templates: set}
		for _, r := range s.Results {
			tree.Operators = append(tree.Operators, output.Operator{Name: r.Package, Result: r})
		}
		return tree.Files(output.LayoutHelm)
	}
	files, err := lay()
	if err != nil {
		t.Fatal(err)
	}
	charts := 0
	for _, f := range files {
		if strings.HasSuffix(f.Path, "/Chart.yaml") && strings.Count(f.Path, "/") == 1 {
			charts++
		}
	}
	if charts != 2 {
		t.Errorf("%d charts for two operators", charts)
	}
	for i := range operators {
		operators[i].Options.Namespace, operators[i].Options.OperatorGroup = "a", "shared"
		operators[i].Options.InstallMode = v1alpha1.InstallModeTypeOwnNamespace
	}
	_, err = lay()
	if want := "share OperatorGroup a/shared, and in helm an object belongs to one release"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
