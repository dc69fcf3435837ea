package generate

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/manifest"
)

// Each field of a Subscription's config over a pod spec (spec 6.2).
func TestConfigure(t *testing.T) {
	for _, c := range []struct{ name, pod, config, want string }{
		{"env replaces in place and appends in order", `{containers: [{name: c, env: [{name: A, value: a}, {name: B, value: b}]}]}`,
			`env: [{name: D, value: d}, {name: B, value: new}, {name: C, value: c}]`,
			`{containers: [{name: c, env: [{name: A, value: a}, {name: B, value: new}, {name: D, value: d}, {name: C, value: c}]}]}`},
		{"env replaces valueFrom too", `{containers: [{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}`,
			`env: [{name: A, value: a}]`, `{containers: [{name: c, env: [{name: A, value: a}]}]}`},
		{"the last of two of one name counts", `{containers: [{name: c}]}`, `env: [{name: A, value: "1"}, {name: B, value: b}, {name: A, value: "2"}]`,
			`{containers: [{name: c, env: [{name: A, value: "2"}, {name: B, value: b}]}]}`},
		{"every container, no init container", `{initContainers: [{name: i}], containers: [{name: c}, {name: d}]}`,
			`{env: [{name: A, value: a}], envFrom: [{prefix: P}], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {cpu: "1"}}}`,
			`{initContainers: [{name: i}], containers: [{name: c, env: [{name: A, value: a}], envFrom: [{prefix: P}], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {cpu: "1"}}},
			  {name: d, env: [{name: A, value: a}], envFrom: [{prefix: P}], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {cpu: "1"}}}]}`},
		{"envFrom appends what is not there", `{containers: [{name: c, envFrom: [{configMapRef: {name: a}}]}]}`,
			`envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: a, optional: true}}, {secretRef: {name: a}}]`,
			`{containers: [{name: c, envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: a, optional: true}}, {secretRef: {name: a}}]}]}`},
		{"volumes replace by name and append", `{containers: [], volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}`,
			`volumes: [{name: c, emptyDir: {}}, {name: b, configMap: {name: x}}]`,
			`{containers: [], volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: x}}, {name: c, emptyDir: {}}]}`},
		{"mounts replace by name and append", `{containers: [{name: c, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b}]}]}`,
			`volumeMounts: [{name: b, mountPath: /new, readOnly: true}, {name: c, mountPath: /a}]`,
			`{containers: [{name: c, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /new, readOnly: true}, {name: c, mountPath: /a}]}]}`},
		{"tolerations append what is not there", `{containers: [], tolerations: [{key: a, operator: Exists}]}`,
			`tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists, tolerationSeconds: 1}]`,
			`{containers: [], tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists, tolerationSeconds: 1}]}`},
		{"resources replace whole", `{containers: [{name: c, resources: {limits: {cpu: "1"}, requests: {cpu: "1"}}}]}`, `resources: {limits: {memory: 1Gi}}`,
			`{containers: [{name: c, resources: {limits: {memory: 1Gi}}}]}`},
		{"empty resources clear", `{containers: [{name: c, resources: {limits: {cpu: "1"}}}]}`, `resources: {}`, `{containers: [{name: c}]}`},
		{"no resources keep", `{containers: [{name: c, resources: {limits: {cpu: "1"}}}]}`, `{}`, `{containers: [{name: c, resources: {limits: {cpu: "1"}}}]}`},
		{"nodeSelector replaces whole", `{containers: [], nodeSelector: {a: b}}`, `nodeSelector: {c: d}`, `{containers: [], nodeSelector: {c: d}}`},
		{"an empty nodeSelector clears", `{containers: [], nodeSelector: {a: b}}`, `nodeSelector: {}`, `{containers: []}`},
		{"the selector means nothing", `{containers: [{name: c}]}`, `selector: {matchLabels: {a: b}}`, `{containers: [{name: c}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d appsv1.Deployment
			d.Spec.Template.Spec = fromYAML[corev1.PodSpec](t, c.pod)
			configure(new(fromYAML[v1alpha1.SubscriptionConfig](t, c.config)), &d)
			got := d.Spec.Template.Spec
			if len(got.NodeSelector) == 0 {
				got.NodeSelector = nil // the two look the same in JSON
			}
			if diff := cmp.Diff(fromYAML[corev1.PodSpec](t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigureAffinity(t *testing.T) {
	const (
		node  = `nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: n, operator: Exists}]}]}}`
		node2 = `nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: m, operator: Exists}]}]}}`
		pod   = `podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: p}]}`
		pod2  = `podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: q}]}`
		anti  = `podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}`
		anti2 = `podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: b}]}`
		none  = "null"
	)
	all := "{" + node + ", " + pod + ", " + anti + "}"
	for _, c := range []struct{ name, have, config, want string }{
		{"not given", all, none, all},
		{"the pod has none", none, "{" + node + "}", "{" + node + "}"},
		{"the pod has an empty one", "{}", "{" + node + "}", "{" + node + "}"},
		{"the pod has none, given empty", none, "{}", none},
		{"the pod has none, a part given empty is taken over", none, "{nodeAffinity: {}}", "{nodeAffinity: {}}"},
		{"given empty", all, "{}", none},
		{"node overridden", all, "{" + node2 + "}", "{" + node2 + ", " + pod + ", " + anti + "}"},
		{"pod overridden", all, "{" + pod2 + "}", "{" + node + ", " + pod2 + ", " + anti + "}"},
		{"anti overridden", all, "{" + anti2 + "}", "{" + node + ", " + pod + ", " + anti2 + "}"},
		{"all overridden", all, "{" + node2 + ", " + pod2 + ", " + anti2 + "}", "{" + node2 + ", " + pod2 + ", " + anti2 + "}"},
		{"a part that the pod lacks", "{" + node + "}", "{" + anti + "}", "{" + node + ", " + anti + "}"},
		{"an empty node affinity clears it", all, "{nodeAffinity: {}}", "{" + pod + ", " + anti + "}"},
		{"an empty pod affinity clears it", all, "{podAffinity: {}}", "{" + node + ", " + anti + "}"},
		{"an empty pod anti-affinity clears all", all, "{podAntiAffinity: {}}", none},
		{"and with others given", all, "{" + node2 + ", podAntiAffinity: {}}", none},
		{"nothing is left", "{" + node + "}", "{nodeAffinity: {}}", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d appsv1.Deployment
			d.Spec.Template.Spec.Affinity = fromYAML[*corev1.Affinity](t, c.have)
			config := &v1alpha1.SubscriptionConfig{Affinity: fromYAML[*corev1.Affinity](t, c.config)}
			configure(config, &d)
			if diff := cmp.Diff(fromYAML[*corev1.Affinity](t, c.want), d.Spec.Template.Spec.Affinity); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(fromYAML[*corev1.Affinity](t, c.config), config.Affinity); diff != "" {
				t.Errorf("the config was changed:\n%s", diff)
			}
		})
	}
}

// Annotations go under those of the pod template, which has the CSV's by then, and onto the Deployment and the APIServices.
func TestConfigureAnnotations(t *testing.T) {
	b := annotatedBundle(t, "{of-csv: csv}", allModes+oneDeployment+`
            metadata: {}
apiservicedefinitions:
  owned:
  - {name: nodes, group: metrics.example.com, version: v1, kind: NodeMetrics, deploymentName: my.dep}
`)
	got := rendered(t, b, Options{Certs: CertsServiceCA, InstallMode: own, OperatorGroup: "g", Config: &v1alpha1.SubscriptionConfig{
		Annotations: map[string]string{"of-csv": "lost", "added": "x", "service.beta.openshift.io/inject-cabundle": "lost"}}})
	d := got["Deployment operators/my.dep"]
	checkYAML(t, "Deployment", at(t, d, "metadata", "annotations"), `{of-csv: lost, added: x, service.beta.openshift.io/inject-cabundle: lost}`)
	checkYAML(t, "pod template", at(t, d, "spec", "template", "metadata", "annotations"), `
of-csv: csv
added: x
service.beta.openshift.io/inject-cabundle: lost
olm.operatorGroup: g
olm.operatorNamespace: operators
olm.targetNamespaces: operators
`)
	checkYAML(t, "APIService", at(t, got["APIService v1.metrics.example.com"], "metadata", "annotations"),
		`{of-csv: lost, added: x, service.beta.openshift.io/inject-cabundle: "true"}`)
}

// The condition's name is set after the config.
func TestConfigureBeforeCondition(t *testing.T) {
	got := rendered(t, testBundle(t, allModes+oneDeployment), Options{Config: &v1alpha1.SubscriptionConfig{
		Env: []corev1.EnvVar{{Name: envCondition, Value: "mine"}, {Name: "A", Value: "a"}}}})
	checkYAML(t, "env", at(t, got["Deployment operators/my.dep"], "spec", "template", "spec", "containers", 0, "env"),
		`[{name: OPERATOR_CONDITION_NAME, value: memcached-operator.v0.0.1}, {name: A, value: a}]`)
}

func TestConfigureNothing(t *testing.T) {
	var d appsv1.Deployment
	configure(nil, &d)
	if diff := cmp.Diff(appsv1.Deployment{}, d); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

func TestReadConfig(t *testing.T) {
	const subscription = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s}\nspec:\n  channel: stable\n  name: p\n  source: c\n  sourceNamespace: olm\n"
	for _, c := range []struct {
		name, text string
		want       string // the config
		refused    string // the whole message
		line       int
	}{
		{name: "a Subscription", text: subscription + "  config:\n    env: [{name: A, value: a}]\n", want: `env: [{name: A, value: a}]`},
		{name: "a Subscription without config", text: subscription, want: `{}`},
		{name: "a bare config", text: "nodeSelector: {a: b}\ntolerations: [{operator: Exists}]\n", want: "nodeSelector: {a: b}\ntolerations: [{operator: Exists}]"},
		{name: "after a comment and an empty document", text: "# nothing\n---\nnodeSelector: {a: b}\n", want: "nodeSelector: {a: b}"},
		{name: "JSON", text: `{"nodeSelector": {"a": "b"}}`, want: "nodeSelector: {a: b}"},
		{name: "an unknown field", text: "nodeSelector: {a: b}\nenv:\n- name: A\n  valeu: a\n", refused: "sub.yaml:4: env[0].valeu: no such field", line: 4},
		{name: "an unknown field of a Subscription", text: subscription + "  config:\n    enviroment: []\n", refused: "sub.yaml:10: spec.config.enviroment: no such field", line: 10},
		{name: "a wrong type", text: "nodeSelector:\n  a: 1\n", refused: "sub.yaml:2: nodeSelector.a: has the wrong type: a number, want text (quote it)", line: 2},
		{name: "another kind", text: "# a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", refused: "sub.yaml:3: kind: ConfigMap is not a Subscription", line: 3},
		{name: "two documents", text: "nodeSelector: {a: b}\n---\nnodeSelector: {a: c}\n", refused: "sub.yaml: must hold one Subscription, or the config of one"},
		{name: "no document", text: "# nothing\n", refused: "sub.yaml: must hold one Subscription, or the config of one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadConfig("sub.yaml", []byte(c.text))
			if c.refused != "" {
				var e *manifest.Error
				if err == nil || err.Error() != c.refused || !errors.As(err, &e) || e.Line != c.line {
					t.Errorf("error %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(new(fromYAML[v1alpha1.SubscriptionConfig](t, c.want)), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
