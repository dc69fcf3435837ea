package helm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// configs are spec.config of a Subscription, and values of a chart that say the same.
var configs = []string{`
nodeSelector: {disktype: ssd, "kubernetes.io/os": linux}
tolerations:
- {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
- {key: node-role.kubernetes.io/infra, operator: Exists}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: disk, operator: In, values: [ssd]}]
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: a}}}
env:
- {name: HTTPS_PROXY, value: "http://proxy.example:3128"}
- {name: WATCH_NAMESPACE, value: "{{ everywhere }}"}
- name: NODE
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
annotations: {example.com/team: "007", olm.operatorNamespace: nowhere}
`, `
nodeSelector: {}
affinity: {podAntiAffinity: {}}
`, `
affinity: {nodeAffinity: {}, podAffinity: {}}
`, twice, `
affinity: {}
tolerations: []
env: []
`}

// twice has a variable twice: OLM v0 takes the last one.
const twice = `
env:
- {name: HTTPS_PROXY, value: "http://proxy.example:3128"}
- {name: NO_PROXY, value: "no"}
- {name: HTTPS_PROXY, value: "1e3"}
`

var specHash = regexp.MustCompile(`"olm.deployment-spec-hash":"[^"]*",?`)

// testConfig returns a chart values, and compares with what olmgen renders for a Subscription config that says the same.
func testConfig(t *testing.T, r run, c *chart.Chart) {
	t.Helper()
	if !variable(t, c)["env"] || slices.Contains(r.args, "--config-subscription") {
		return
	}
	for i, config := range configs {
		if i > 0 && slices.Contains(r.args, "olmv1") {
			break // OLM v1 takes empty kinds of affinity, and a variable that is given twice, in another way
		}
		var values map[string]any
		if err := yaml.Unmarshal([]byte(config), &values); err != nil {
			t.Fatal(err)
		}
		testConfigured(t, r, c, config, values, nil)
	}
	testResources(t, r, c)
}

// testResources returns every container the resources of a Subscription config. They are values of each container, and
// also in the ClusterServiceVersion, so only the Deployments are compared.
func testResources(t *testing.T, r run, c *chart.Chart) {
	t.Helper()
	const text = `{limits: {cpu: "2", memory: 1Gi}, requests: {cpu: 10m}}`
	var resources any
	if err := yaml.Unmarshal([]byte(text), &resources); err != nil {
		t.Fatal(err)
	}
	have, err := template(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	without := *c // or helm merges them with the default
	without.Values = maps.Clone(c.Values)
	values, _ := c.Values["resources"].(map[string]any)
	values = maps.Clone(values)
	delete(without.Values, "resources")
	for id, object := range have {
		if !strings.HasPrefix(id, deployment) {
			continue
		}
		var d struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct{ Containers []struct{ Name string } }
				}
			}
		}
		if err := json.Unmarshal([]byte(object), &d); err != nil {
			t.Fatal(err)
		}
		containers, _ := values[d.Metadata.Name].(map[string]any)
		containers = maps.Clone(containers) // init containers keep their own
		for _, x := range d.Spec.Template.Spec.Containers {
			containers[x.Name] = resources
		}
		values[d.Metadata.Name] = containers
	}
	testConfigured(t, r, &without, "resources: "+text, map[string]any{"resources": values},
		func(id string) bool { return strings.HasPrefix(id, deployment) })
}

const deployment = "apps/v1 Deployment "

func testConfigured(t *testing.T, r run, c *chart.Chart, config string, values map[string]any,
	only func(string) bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := r.try(t, "--config-subscription", file)
	if err != nil {
		if strings.Contains(err.Error(), "means nothing") {
			return // the profile has no Subscription
		}
		t.Fatal(err)
	}
	want := flat(t, readDir(t, os.DirFS(dir)))
	got, err := template(c, values)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	for _, o := range []objects{want, got} {
		for id, text := range o {
			if only != nil && !only(id) {
				delete(o, id)
				continue
			}
			o[id] = specHash.ReplaceAllString(text, "")
		}
	}
	compare(t, config, want, got)
}

// Replicas, labels of pods and pull secrets are values that a Subscription does not have.
func TestDeploymentValues(t *testing.T) {
	c := exampleChart(t)
	const name = "memcached-operator-controller-manager"
	got, err := template(c, map[string]any{
		"replicas":         map[string]any{name: 3},
		"podLabels":        map[string]any{"team": "a", "control-plane": "other"},
		"imagePullSecrets": []any{map[string]any{"name": "registry"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"replicas":3,`, `"imagePullSecrets":[{"name":"registry"}]`,
		`"labels":{"app.kubernetes.io/name":"memcached-operator","control-plane":"controller-manager","team":"a"}`} {
		if text := got["apps/v1 Deployment cache/"+name]; !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, values := range []map[string]any{
		{"replicas": map[string]any{"other": 1}}, {"replicas": map[string]any{name: -1}},
		{"env": []any{map[string]any{"value": "a"}}}, {"env": []any{map[string]any{"name": "OPERATOR_CONDITION_NAME"}}},
		{"affinity": map[string]any{"affinity": map[string]any{}}}, {"tolerations": "a"},
		{"podLabels": map[string]any{"a": 1}},
		{"nodeSelector": []any{}}, {"imagePullSecrets": []any{"registry"}},
	} {
		if _, err := template(c, values); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%v: error %v, want one of the schema", values, err)
		}
	}
}
