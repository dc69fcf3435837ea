package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/output"
)

// rendered renders a declaration in dir.
func rendered(t *testing.T, dir, text string, o Options) *Rendered {
	t.Helper()
	c, err := Read("olmgen.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	r, err := c.Render(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func content(files output.Files) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Path] = string(f.Data)
	}
	return m
}

const both = head + `
groups:
- namespace: operators
  name: shared
  targetNamespaces: [team]
  bundles:
  - source: memcached
  - source: redis
`

func TestOperatorsOfOneGroupShareIt(t *testing.T) {
	r := rendered(t, testDir(t), both, Options{})
	files := content(r.Files)
	if got := files["operatorgroup_operators_shared.yaml"]; !strings.Contains(got, "olm.providedAPIs: Memcached.v1.example.com,Redis.v1.example.com\n") {
		t.Errorf("the group: %s", got)
	}
	for i := range r.Sources {
		if !strings.HasPrefix(r.Sources[i].Digest, "sha256:") {
			t.Errorf("no digest: %+v", r.Sources[i])
		}
		r.Sources[i].Digest = ""
	}
	if diff := cmp.Diff([]output.Source{{Bundle: "memcached.v1.0.0", Package: "memcached", Profile: "olm", Source: "memcached"},
		{Bundle: "redis.v1.0.0", Package: "redis", Profile: "olm", Source: "redis"}}, r.Sources); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"deployment_operators_memcached-controller.yaml", "deployment_operators_redis-controller.yaml", "customresourcedefinition_rediss.example.com.yaml"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

// Taking an operator away takes its files away, and changes only files that are about all.
func TestRemovingAnOperatorChangesNoOther(t *testing.T) {
	dir := testDir(t)
	all := content(rendered(t, dir, both, Options{}).Files)
	one := content(rendered(t, dir, strings.TrimSuffix(both, "  - source: redis\n"), Options{}).Files)
	for name, data := range one {
		shared := name == "kustomization.yaml" || name == "operatorgroup_operators_shared.yaml"
		if _, ok := all[name]; !ok || !shared && all[name] != data {
			t.Errorf("%s depends on the other operator", name)
		}
	}
}

func TestRenderingDoesNotDependOnWorkers(t *testing.T) {
	dir := testDir(t)
	want := rendered(t, dir, both, Options{Workers: 1})
	for range 5 {
		if diff := cmp.Diff(want.Files, rendered(t, dir, both, Options{Workers: 4}).Files); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := testDir(t)
	write(t, filepath.Join(dir, "shapes", "namespace.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ str .Name }}\n  labels:\n    shaped: here\n")
	write(t, filepath.Join(dir, "p", "replicas.yaml"), "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: memcached-controller\nspec:\n  replicas: 2\n")
	t.Chdir(t.TempDir())
	files := content(rendered(t, dir, head+`
defaults: {templates: shapes}
groups:
- namespace: operators
  createNamespaces: true
  bundles:
  - source: dir:./memcached
    patches: [{path: p/replicas.yaml}]
`, Options{}).Files)
	if got := files["namespace_operators.yaml"]; !strings.Contains(got, "shaped: here") {
		t.Errorf("not of the template: %s", got)
	}
	if got := files["deployment_operators_memcached-controller.yaml"]; !strings.Contains(got, "replicas: 2\n") {
		t.Errorf("not patched: %s", got)
	}
}

func TestBundlesOverrideDefaults(t *testing.T) {
	files := content(rendered(t, testDir(t), head+`
defaults: {profile: plain, copiedCSVs: none}
groups:
- namespace: one
  targetNamespaces: [one]
  bundles:
  - source: memcached
- namespace: two
  targetNamespaces: [two]
  bundles:
  - {source: redis, profile: olm}
`, Options{}).Files)
	if files["operatorgroup_one_one.yaml"] != "" || files["operatorgroup_two_two.yaml"] == "" {
		t.Error("profile plain has no OperatorGroup, profile olm has one")
	}
}

func TestPatchesAreForTheirBundle(t *testing.T) {
	text := both + `
    patches:
    - target: {kind: Deployment}
      patch: '[{op: replace, path: /spec/replicas, value: 7}]'
patches:
- target: {kind: CustomResourceDefinition, name: memcacheds\..*}
  patch: |
    kind: any
    metadata: {annotations: {patched: "yes"}}
- target: {kind: ClusterRole, name: .*-view-crd}
  patch: '{$patch: delete}'
commonLabels: {team: infra}
commonAnnotations: {link: "https://example.com/?a={b}"}
`
	files := content(rendered(t, testDir(t), text, Options{}).Files)
	for name, want := range map[string]string{
		"deployment_operators_memcached-controller.yaml":       "replicas: 1\n",
		"deployment_operators_redis-controller.yaml":           "replicas: 7\n",
		"customresourcedefinition_memcacheds.example.com.yaml": "patched: \"yes\"\n",
		"customresourcedefinition_rediss.example.com.yaml":     "name: rediss.example.com # the name\n", // carried, comment included
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
	for name, data := range files {
		if name != "kustomization.yaml" && (!strings.Contains(data, "team: infra\n") || !strings.Contains(data, "link: https://example.com/?a={b}\n")) {
			t.Errorf("%s lacks the common label or annotation:\n%s", name, data)
		}
		if strings.Contains(name, "view-crd") {
			t.Errorf("%s was to be deleted", name)
		}
	}
	if strings.Contains(files["kustomization.yaml"], "view-crd") {
		t.Error("the kustomization lists what was deleted")
	}
}

func TestMirrorsAreForAllBundles(t *testing.T) {
	r := rendered(t, testDir(t), both+"mirrors:\n- {source: quay.io/example/redis, mirror: r.local/redis}\n- {source: docker.io, mirror: r.local/hub}\n", Options{})
	files := content(r.Files)
	if got := files["deployment_operators_redis-controller.yaml"]; !strings.Contains(got, "image: r.local/redis:1.0.0\n") {
		t.Errorf("not mirrored: %s", got)
	}
	var about []string
	for _, w := range r.Warnings {
		if w.Operator == "" {
			about = append(about, w.Message)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], "docker.io") {
		t.Errorf("only the mirror that no bundle uses is to be warned of: %q", about)
	}
}

// Only operators that OLM manages are among what their OperatorGroup provides.
func TestPlainOperatorsAreNotProvided(t *testing.T) {
	files := content(rendered(t, testDir(t), strings.TrimSuffix(both, "\n")+"\n    profile: plain\n", Options{}).Files)
	if got := files["operatorgroup_operators_shared.yaml"]; !strings.Contains(got, "olm.providedAPIs: Memcached.v1.example.com\n") {
		t.Errorf("the group: %s", got)
	}
}

// What a patch does not speak of stays as it is, to the last digit.
func TestPatchesKeepNumbers(t *testing.T) {
	dir := testDir(t)
	crd := filepath.Join(dir, "memcached", "manifests", "crd.yaml")
	data, err := os.ReadFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	write(t, crd, strings.Replace(string(data), "{type: object}", "{type: object, default: {a: 9007199254740993, b: 9223372036854775807}}", 1))
	for _, patch := range []string{`'[{op: add, path: /metadata/labels, value: {a: b}}]'`, `'{metadata: {labels: {a: b}}}'`} {
		files := content(rendered(t, dir, both+"patches: [{target: {kind: CustomResourceDefinition, name: memc.*}, patch: "+patch+"}]\n", Options{}).Files)
		got := files["customresourcedefinition_memcacheds.example.com.yaml"]
		for _, want := range []string{"a: b\n", "a: 9007199254740993\n", "b: 9223372036854775807\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", patch, want, got)
			}
		}
	}
}

// Options for Argo CD of a person and of olmgen stand side by side.
func TestAnnotationsBesideCommonOnes(t *testing.T) {
	files := content(rendered(t, testDir(t), both+"annotations: argocd\ncommonAnnotations: {argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true}\n", Options{}).Files)
	if got := files["customresourcedefinition_memcacheds.example.com.yaml"]; !strings.Contains(got, "Prune=false") || !strings.Contains(got, "SkipDryRunOnMissingResource=true") {
		t.Errorf("not both: %s", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(both))
	f.Add([]byte(group("certs: {provider: cert-manager, issuer: {kind: Issuer, name: x}}", "patches: [{path: a, target: {name: b}}]")))
	f.Add([]byte("- a\n"))
	f.Add([]byte("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups: [{selector: {matchLabels: {a: 1}}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		c, err := Read("olmgen.yaml", data)
		if err == nil && len(c.Groups) == 0 {
			t.Error("no error and no groups")
		}
		if err != nil && !strings.HasPrefix(err.Error(), "olmgen.yaml") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

// OpenShift's own catalogs are known by their images; a bundle does not say which catalog has it.
func TestCatalogOfReference(t *testing.T) {
	for source, want := range map[string]string{
		"catalog:oci://registry.redhat.io/redhat/certified-operator-index:v4.20": "certified-operators",
		"catalog:oci://quay.io/example/catalog:v1":                               "",
		"oci://registry.redhat.io/redhat/certified-operator-index:v4.20":         "",
		"catalog:community-operators":                                            "",
	} {
		var o generate.Options
		Bundle{Source: source}.options(&o)
		if got := o.Subscription.CatalogSource; got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	own := &Subscription{CatalogSource: &CatalogSource{Name: "mine"}}
	var o generate.Options
	Bundle{Source: "catalog:oci://registry.redhat.io/redhat/redhat-operator-index", Subscription: own}.options(&o)
	if o.Subscription.CatalogSource != "mine" {
		t.Error(o.Subscription.CatalogSource)
	}
}

// A group that is neither named nor has namespaces does not decide where a descoped operator is bound; one that is does. The advice for
// the operator's other installations comes out of the file.
func TestDescoped(t *testing.T) {
	const text = head + `
groups:
- namespace: operators
  bundles:
  - source: memcached
    profile: descoped
    descoped: {bindNamespaces: [north], aggregateTo: [view], split: resource}
- namespace: pier
  targetNamespaces: [south]
  bundles:
  - source: redis
    profile: descoped
- namespace: other
  bundles:
  - {source: memcached, name: another, profile: subscription, subscription: {catalogSource: {name: community-operators}}}
`
	r := rendered(t, testDir(t), text, Options{})
	files := content(r.Files)
	for _, name := range []string{"tenants/north/kustomization.yaml", "tenants/south/kustomization.yaml", "clusterrole_pier-view.yaml"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if _, ok := files["clusterrole_operators-view.yaml"]; ok {
		t.Error("the first group has ClusterRoles")
	}
	if got := files["clusterrole_memcacheds.example.com-v1-view.yaml"]; !strings.Contains(got, "rbac.authorization.k8s.io/aggregate-to-view") {
		t.Errorf("the view role: %s", got)
	}
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, n.String())
	}
	if got := strings.Join(notes, "\n"); !strings.Contains(got, "memcached: installed in other for all namespaces: keep its bindings there (groups[0].bundles[0].descoped.bindAll)") || strings.Contains(got, "redis: installed") {
		t.Errorf("notes: %s", got)
	}
}

// What is added to all objects alike leaves a chart its values; a patch fixes the namespace.
func TestChartsOfChangedObjects(t *testing.T) {
	const chart = "output: {layout: helm}\n"
	patch := "patches: [{target: {kind: Deployment}, patch: '[{op: replace, path: /spec/replicas, value: 7}]'}]\n"
	for _, c := range []struct {
		name, more string
		fixed      bool
	}{
		{"labels", "commonLabels: {team: platform}\ncommonAnnotations: {note: 'a: b'}\nannotations: argocd\n", false},
		{"a patch", "commonLabels: {team: platform}\n" + patch, true},
	} {
		files := content(rendered(t, testDir(t), group()+chart+c.more, Options{}).Files)
		deployment := files["memcached/templates/deployment_operators_memcached-controller.yaml"]
		if c.fixed == strings.Contains(deployment, "namespace: {{ .Values.namespace") || !strings.Contains(deployment, "team: platform\n") {
			t.Errorf("%s: %s", c.name, deployment)
		}
		if schema := files["memcached/values.schema.json"]; c.fixed != strings.Contains(schema, `"const": "operators"`) {
			t.Errorf("%s: %s", c.name, schema)
		}
	}
}
