package olm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
)

func valueOf(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What Go's types write for a field that nobody has set goes away; what an author wrote stays.
func TestDropNulls(t *testing.T) {
	for text, want := range map[string]string{
		"{a: null, b: {c: null, d: 1}}":    "{b: {d: 1}}",
		"{a: [{b: null}, null]}":           "{a: [{}, null]}",
		"{value: {a: null}}":               "{value: {a: null}}",
		"{value: null, values: {a: null}}": "{values: {}}",
	} {
		v := valueOf(t, text)
		olm.DropNulls(v)
		if d := cmp.Diff(valueOf(t, want), v); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

func TestDropEmpty(t *testing.T) {
	for text, want := range map[string]string{"{a: {}}": "{}", "{a: {b: 1}}": "{a: {b: 1}}", "{a: text}": "{a: text}", "{b: {}}": "{b: {}}"} {
		v := valueOf(t, text)
		olm.DropEmpty(v, "a")
		if d := cmp.Diff(valueOf(t, want), v); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

func TestTrimDeployment(t *testing.T) {
	container := []corev1.Container{{Name: "a"}}
	v, err := olm.Value(&appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: container, InitContainers: container}}})
	if err != nil {
		t.Fatal(err)
	}
	olm.TrimDeployment(v)
	if d := cmp.Diff(valueOf(t, "template: {spec: {containers: [{name: a}], initContainers: [{name: a}]}}"), v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A hash is that of the JSON on a line of its own, as OLM writes it.
func TestHash(t *testing.T) {
	got := olm.Hash(map[string]any{"b": 1, "a": "<"}, 36)
	if want := olm.Digits([]byte(`{"a":"\u003c","b":1}`+"\n"), 36); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
