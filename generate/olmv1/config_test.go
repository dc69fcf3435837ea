package olmv1

import (
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	v := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), v); err != nil {
		t.Fatal(err)
	}
	return v
}

// fullConfig sets every field.
func fullConfig(t *testing.T) *Config {
	return parse[Config](t, `
env: [{name: A, value: new}, {name: B, value: b}]
envFrom: [{configMapRef: {name: more}}]
volumes: [{name: data, secret: {secretName: s}}]
volumeMounts: [{name: data, mountPath: /new}]
tolerations: [{key: spot, operator: Exists}]
resources: {limits: {cpu: 500m}}
nodeSelector: {disk: ssd}
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}
annotations: {team: a, note: config}
`)
}

func TestConfigIsSubscriptionConfigWithoutSelector(t *testing.T) {
	text, err := yaml.Marshal(fullConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	parse[v1alpha1.SubscriptionConfig](t, string(text))
}

func TestConfig(t *testing.T) {
	const term = `{matchExpressions: [{key: k, operator: Exists}]}`
	const node = `requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + term + `]}`
	const pod = `requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]`
	for _, tt := range []struct{ name, config, before, after string }{
		{"env", `env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}, {name: X, value: "1"}, {name: X, value: "2"}]`,
			`{initContainers: [{name: i}], containers: [{name: c, env: [{name: A, value: "1"}, {name: B}, {name: A, value: "2"}]}, {name: d}]}`,
			`{initContainers: [{name: i}], containers: [{name: c, env: [{name: A, value: "1"}, {name: B}, {name: A, valueFrom: {fieldRef: {fieldPath: x}}}, {name: X, value: "1"}, {name: X, value: "2"}]},
			  {name: d, env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}, {name: X, value: "1"}, {name: X, value: "2"}]}]}`},
		{"envFrom", `envFrom: [{configMapRef: {name: a}}, {prefix: P, configMapRef: {name: a}}, {secretRef: {name: s}}, {secretRef: {name: s}}]`,
			`containers: [{name: c, envFrom: [{configMapRef: {name: a}}]}, {name: d}]`,
			`containers: [{name: c, envFrom: [{configMapRef: {name: a}}, {prefix: P, configMapRef: {name: a}}, {secretRef: {name: s}}]},
			  {name: d, envFrom: [{configMapRef: {name: a}}, {prefix: P, configMapRef: {name: a}}, {secretRef: {name: s}}]}]`},
		{"volumes", `volumes: [{name: a, secret: {secretName: s}}, {name: x, emptyDir: {}}]`,
			`volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]`,
			`volumes: [{name: a, secret: {secretName: s}}, {name: b, emptyDir: {}}, {name: x, emptyDir: {}}]`},
		{"volumeMounts of a mounted volume collapse, of another do not",
			`volumeMounts: [{name: a, mountPath: /1}, {name: a, mountPath: /2}, {name: x, mountPath: /3}, {name: x, mountPath: /4}]`,
			`{initContainers: [{name: i}], containers: [{name: c, volumeMounts: [{name: a, mountPath: /old}, {name: b, mountPath: /b}]}]}`,
			`{initContainers: [{name: i}], containers: [{name: c, volumeMounts: [{name: a, mountPath: /2}, {name: b, mountPath: /b}, {name: x, mountPath: /3}, {name: x, mountPath: /4}]}]}`},
		{"tolerations", `tolerations: [{key: a, tolerationSeconds: 5}, {key: a}, {key: b}]`,
			`tolerations: [{key: a, tolerationSeconds: 5}]`, `tolerations: [{key: a, tolerationSeconds: 5}, {key: a}, {key: b}]`},
		{"resources", `resources: {requests: {cpu: "1"}}`,
			`{initContainers: [{name: i}], containers: [{name: c, resources: {limits: {cpu: "2"}}}, {name: d}]}`,
			`{initContainers: [{name: i}], containers: [{name: c, resources: {requests: {cpu: "1"}}}, {name: d, resources: {requests: {cpu: "1"}}}]}`},
		{"empty resources", `resources: {}`, `containers: [{name: c, resources: {limits: {cpu: "2"}}}]`, `containers: [{name: c}]`},
		{"nodeSelector", `nodeSelector: {disk: ssd}`, `nodeSelector: {os: linux}`, `nodeSelector: {disk: ssd}`},
		{"empty nodeSelector", `nodeSelector: {}`, `nodeSelector: {os: linux}`, `{}`},
		{"no nodeSelector", `env: []`, `nodeSelector: {os: linux}`, `nodeSelector: {os: linux}`},
		{"empty affinity removes all", `affinity: {}`, `affinity: {podAffinity: {` + pod + `}}`, `{}`},
		{"a part of the affinity", `affinity: {nodeAffinity: {` + node + `}}`, `affinity: {podAffinity: {` + pod + `}}`,
			`affinity: {nodeAffinity: {` + node + `}, podAffinity: {` + pod + `}}`},
		{"an affinity where there is none", `affinity: {podAntiAffinity: {` + pod + `}}`, `{}`, `affinity: {podAntiAffinity: {` + pod + `}}`},
		{"empty parts of the affinity", `affinity: {podAffinity: {}, nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}`,
			`affinity: {podAffinity: {` + pod + `}, nodeAffinity: {` + node + `}, podAntiAffinity: {` + pod + `}}`, `affinity: {podAntiAffinity: {` + pod + `}}`},
		{"an affinity left empty", `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}`,
			`affinity: {podAntiAffinity: {` + pod + `}}`, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := parse[appsv1.Deployment](t, "spec: {template: {spec: "+flow(t, tt.before)+"}}")
			Configure(parse[Config](t, tt.config), d, true, true)
			v, err := olm.Value(d)
			if err != nil {
				t.Fatal(err)
			}
			olm.TrimDeployment(v["spec"])
			got := dig(v, "spec", "template", "spec")
			if got["containers"] == nil {
				delete(got, "containers")
			}
			wantYAML(t, got, tt.after)
		})
	}
}

// flow returns YAML as JSON, to be put into other YAML.
func flow(t *testing.T, text string) string {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConfigAnnotations(t *testing.T) {
	d := parse[appsv1.Deployment](t, `{metadata: {annotations: {a: there}}, spec: {template: {metadata: {annotations: {b: there}}}}}`)
	Configure(parse[Config](t, `annotations: {a: config, b: config, c: config}`), d, true, true)
	v, err := manifest.Typed(d)
	if err != nil {
		t.Fatal(err)
	}
	wantYAML(t, dig(v, "metadata", "annotations"), `{a: there, b: config, c: config}`)
	wantYAML(t, dig(v, "spec", "template", "metadata", "annotations"), `{a: config, b: there, c: config}`)
}

// TestConfigComesLast: it replaces the certificate volume, and OLM's own annotations win over it.
func TestConfigComesLast(t *testing.T) {
	b := readBundle(t, csv("A", webhookSpec("ValidatingAdmissionWebhook")), fooCRD)
	config := parse[Config](t, `
volumes: [{name: webhook-cert, emptyDir: {}}]
annotations: {olm.operatorNamespace: other, note: config, team: a}
`)
	o := find(t, render(t, b, Options{Certs: ServiceCA, Config: config}), "Deployment", "demo")
	wantYAML(t, o["metadata"], `
{name: demo, namespace: install-ns, labels: {app: demo}, annotations: {olm.operatorNamespace: other, note: config, team: a}}`)
	wantYAML(t, dig(o, "spec", "template", "metadata", "annotations"), `
{note: from-csv, both: from-template, team: a, olm.targetNamespaces: "", olm.operatorNamespace: install-ns}`)
	wantYAML(t, items(dig(o, "spec", "template", "spec"), "volumes")[1], `{name: webhook-cert, emptyDir: {}}`)
}
