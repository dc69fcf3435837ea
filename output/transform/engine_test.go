package transform

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
)

// object makes a rendered object of its YAML.
func object(t *testing.T, text string) generate.Shared {
	t.Helper()
	x, err := generate.Object{Data: []byte(text)}.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return generate.Shared{Object: generate.Object{APIVersion: x.APIVersion, Kind: x.Kind, Namespace: x.Namespace, Name: x.Name, Data: []byte(text)}}
}

func bare(apiVersion, kind string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: x\n", apiVersion, kind)
}

// annotationsOf annotates one object and gives its annotations.
func annotationsOf(t *testing.T, text string, e Engine) map[string]string {
	t.Helper()
	objects := []generate.Shared{object(t, text)}
	if err := Annotate(objects, e); err != nil {
		t.Fatal(err)
	}
	x, err := objects[0].Manifest()
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.Get("metadata", "annotations")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	m, _ := v.(map[string]any)
	for k, s := range m {
		got[k] = s.(string)
	}
	return got
}

func TestAnnotate(t *testing.T) {
	none := map[string]string{}
	keep := map[string]string{argoWave: "-1", argoOptions: "Prune=false"}
	flux := map[string]string{fluxPrune: "disabled"}
	after := map[string]string{argoWave: "1"}
	for _, c := range []struct {
		apiVersion, kind string
		argo, flux       map[string]string
	}{
		{"v1", "Namespace", keep, flux},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", keep, flux},
		{"scheduling.k8s.io/v1", "PriorityClass", map[string]string{argoWave: "-1"}, none},
		{"apiregistration.k8s.io/v1", "APIService", after, none},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", after, none},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", after, none},
		{"example.com/v1", "Namespace", none, none},
		{"apps/v1", "Deployment", none, none},
		{"v1", "Service", none, none},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", none, none},
		{"operators.coreos.com/v1", "OperatorGroup", none, none},
		{"cert-manager.io/v1", "Certificate", none, none},
	} {
		for engine, want := range map[Engine]map[string]string{EngineArgoCD: c.argo, EngineFlux: c.flux, EngineNone: none, "": none} {
			if d := cmp.Diff(want, annotationsOf(t, bare(c.apiVersion, c.kind), engine)); d != "" {
				t.Errorf("%s %s, %s (-want +got):\n%s", c.apiVersion, c.kind, engine, d)
			}
		}
	}
}

// ServerSideApply=true is on a CRD of 262,145 bytes of JSON and not on one of 262,144.
func TestAnnotateLargeCRDs(t *testing.T) {
	crd := bare("apiextensions.k8s.io/v1", "CustomResourceDefinition") + "spec:\n  description: "
	x, err := generate.Object{Data: []byte(crd + `""` + "\n")}.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.Value()
	if err != nil {
		t.Fatal(err)
	}
	empty, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	fits := 262_144 - len(empty)
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("a", fits), "Prune=false"},
		{strings.Repeat("a", fits+1), "Prune=false,ServerSideApply=true"},
		{`'` + strings.Repeat("<", fits/6+1) + `'`, "Prune=false,ServerSideApply=true"}, // kubectl writes < as \u003c
	} {
		if got := annotationsOf(t, crd+c.text+"\n", EngineArgoCD)[argoOptions]; got != c.want {
			t.Errorf("%d bytes: %s, want %s", len(c.text), got, c.want)
		}
	}
	if got := annotationsOf(t, strings.Replace(crd, "CustomResourceDefinition", "Other", 1)+strings.Repeat("a", fits+1)+"\n", EngineArgoCD); len(got) > 0 {
		t.Errorf("no CRD: %v", got)
	}
}

// What the bundle says of an annotation stays; what it does not say is added.
func TestAnnotateKeepsWhatIsThere(t *testing.T) {
	text := bare("v1", "Namespace") + "  annotations:\n    " + argoWave + ": \"-7\"\n    " + argoOptions + ": Validate=false, Prune=confirm\n    " + fluxPrune + ": enabled\n"
	want := map[string]string{argoWave: "-7", argoOptions: "Validate=false, Prune=confirm", fluxPrune: "enabled"}
	for _, e := range Engines {
		if d := cmp.Diff(want, annotationsOf(t, text, e)); d != "" {
			t.Errorf("%s (-want +got):\n%s", e, d)
		}
	}
	want[argoOptions] = "Validate=false,Prune=false"
	if d := cmp.Diff(want, annotationsOf(t, strings.Replace(text, ", Prune=confirm", "", 1), EngineArgoCD)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Flux substitutes variables in the whole document. Every object in which that would change a text is kept out of it.
func TestAnnotateSubstitution(t *testing.T) {
	disabled := map[string]string{fluxSubstitute: "disabled"}
	for value, want := range map[string]map[string]string{
		"a":                 {},
		"$(POD_NAME)":       {}, // a reference of Kubernetes
		"costs $5":          {},
		"${HOME}":           disabled,
		"'a${b:-c}'":        disabled,
		"$$(POD_NAME)":      disabled, // one $ would be lost, and the reference would be resolved
		`"\x24{HOME}"`:      disabled,
		`"\u0024{HOME}"`:    disabled,
		`"\U00000024{A}"`:   disabled,
		"\"$\\\n    {A}\"":  disabled,
		"|-\n    echo ${1}": disabled,
	} {
		text := bare("v1", "ConfigMap") + "data:\n  key: " + value + "\n"
		if d := cmp.Diff(want, annotationsOf(t, text, EngineFlux)); d != "" {
			t.Errorf("%s (-want +got):\n%s", value, d)
		}
		if d := cmp.Diff(map[string]string{}, annotationsOf(t, text, EngineArgoCD)); d != "" {
			t.Errorf("%s, Argo CD (-want +got):\n%s", value, d)
		}
	}
	text := bare("v1", "Namespace") + "  annotations:\n    a: ${b}\n"
	want := map[string]string{"a": "${b}", fluxPrune: "disabled", fluxSubstitute: "disabled"}
	if d := cmp.Diff(want, annotationsOf(t, text, EngineFlux)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want[fluxSubstitute] = "enabled"
	if d := cmp.Diff(want, annotationsOf(t, text+"    "+fluxSubstitute+": enabled\n", EngineFlux)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An object that is carried keeps its bytes and gets two lines; one in olmgen's form stays in it.
func TestAnnotateForm(t *testing.T) {
	carried := "# A CRD.\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n    name: x   # the name\n    annotations:\n        z: a\nspec: {}\n"
	o := []generate.Shared{object(t, carried)}
	if err := Annotate(o, EngineArgoCD); err != nil {
		t.Fatal(err)
	}
	kept := ""
	for line := range strings.Lines(string(o[0].Data)) {
		if !strings.Contains(line, "argocd.argoproj.io/") {
			kept += line
		}
	}
	if d := cmp.Diff(carried, kept); d != "" {
		t.Errorf("(-carried +kept):\n%s", d)
	}
	o = []generate.Shared{object(t, bare("v1", "Namespace"))}
	if err := Annotate(o, EngineFlux); err != nil {
		t.Fatal(err)
	}
	x, err := o[0].Manifest()
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.Value()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(manifest.Encode(v)), string(o[0].Data)); d != "" {
		t.Errorf("(-olmgen's form +got):\n%s", d)
	}
}

// The size of an object as JSON is within its bounds, for every manifest of the corpus.
func TestSizeAsJSON(t *testing.T) {
	files := corpustest.Glob(t, "..", "..", "golden", "*", "*", "manifests", "*.yaml")
	if corpustest.Set(t) {
		files = append(files, corpustest.Glob(t, corpustest.Root(t), "bundles", "*", "*", "manifests", "*.yaml")...)
	}
	near, crds := 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		o, err := manifest.ReadOne(name, text)
		if err != nil || o.Fresh != "" {
			continue
		}
		v, err := o.Value()
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		least, most := sizeAsJSON(text)
		if len(data) < least || len(data) > most {
			t.Errorf("%s: %d bytes of JSON, not %d to %d", name, len(data), least, most)
		}
		if o.Kind == "CustomResourceDefinition" {
			if crds++; least <= annotationLimit && most > annotationLimit {
				near++
			}
		}
	}
	t.Logf("%d of %d CRDs are so near the limit that they are parsed", near, crds)
	if near*20 > crds {
		t.Errorf("%d of %d CRDs are so near the limit that they are parsed", near, crds)
	}
}
