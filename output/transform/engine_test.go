package transform

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/budget"
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

// annotated annotates one object and returns its annotations.
func annotated(t *testing.T, text string, e Engine) map[string]string {
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
			if d := cmp.Diff(want, annotated(t, bare(c.apiVersion, c.kind), engine)); d != "" {
				t.Errorf("%s %s, %s (-want +got):\n%s", c.apiVersion, c.kind, engine, d)
			}
		}
	}
}

// ServerSideApply=true is on what client-side apply cannot store, of any kind, and not on what is one byte smaller.
func TestAnnotateLargeObjects(t *testing.T) {
	for kind, prune := range map[string]string{
		"apiextensions.k8s.io/v1 CustomResourceDefinition":    "Prune=false",
		"operators.coreos.com/v1alpha1 ClusterServiceVersion": "",
		"v1 ConfigMap": "",
	} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		text := bare(apiVersion, kind) + "spec:\n  description: "
		x, err := generate.Object{Data: []byte(text + `""` + "\n")}.Manifest()
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
		fits := annotationLimit - roomForApply - len(empty)
		server := strings.TrimPrefix(prune+",ServerSideApply=true", ",")
		annotations := "  annotations:\n    a: " + strings.Repeat("b", fits/2)
		for _, c := range []struct{ text, want string }{
			{text + strings.Repeat("a", fits) + "\n", prune},
			{text + strings.Repeat("a", fits+1) + "\n", server},
			{text + `'` + strings.Repeat("<", fits/6+1) + "'\n", server},               // kubectl writes < as \u003c
			{strings.Replace(text, "spec:", annotations+"\nspec:", 1) + "a\n", server}, // annotations count twice
		} {
			if got := annotated(t, c.text, EngineArgoCD)[argoOptions]; got != c.want {
				t.Errorf("%s of %d bytes: %s, want %s", kind, len(c.text), got, c.want)
			}
			if got := annotated(t, c.text, EngineFlux); got[argoOptions] != "" {
				t.Errorf("%s: Flux gets %v", kind, got)
			}
		}
	}
}

// An aggregated ClusterRole is applied server-side. A ClusterRole that only names the field in its rules is not.
func TestAnnotateAggregatedClusterRoles(t *testing.T) {
	text := bare("rbac.authorization.k8s.io/v1", "ClusterRole")
	rule := "aggregationRule:\n  clusterRoleSelectors:\n  - matchLabels:\n      a: b\n"
	want := map[string]string{argoOptions: "ServerSideApply=true"}
	if d := cmp.Diff(want, annotated(t, text+rule, EngineArgoCD)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want[argoOptions] = "ServerSideApply=false"
	own := text + "  annotations: {" + argoOptions + ": ServerSideApply=false}\n" + rule
	if d := cmp.Diff(want, annotated(t, own, EngineArgoCD)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := annotated(t, text+"rules:\n- apiGroups: [a]\n  resources: [aggregationRules]\n  verbs: [get]\n", EngineArgoCD); len(got) > 0 {
		t.Errorf("a ClusterRole with rules: %v", got)
	}
}

// What the bundle says of an annotation stays; what it does not say is added.
func TestAnnotateKeepsWhatIsThere(t *testing.T) {
	text := bare("v1", "Namespace") + "  annotations:\n    " + argoWave + ": \"-7\"\n    " + argoOptions + ": Validate=false, Prune=confirm\n    " + fluxPrune + ": enabled\n"
	want := map[string]string{argoWave: "-7", argoOptions: "Validate=false, Prune=confirm", fluxPrune: "enabled"}
	for _, e := range Engines {
		if d := cmp.Diff(want, annotated(t, text, e)); d != "" {
			t.Errorf("%s (-want +got):\n%s", e, d)
		}
	}
	want[argoOptions] = "Validate=false,Prune=false"
	if d := cmp.Diff(want, annotated(t, strings.Replace(text, ", Prune=confirm", "", 1), EngineArgoCD)); d != "" {
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
		if d := cmp.Diff(want, annotated(t, text, EngineFlux)); d != "" {
			t.Errorf("%s (-want +got):\n%s", value, d)
		}
		if d := cmp.Diff(map[string]string{}, annotated(t, text, EngineArgoCD)); d != "" {
			t.Errorf("%s, Argo CD (-want +got):\n%s", value, d)
		}
	}
	text := bare("v1", "Namespace") + "  annotations:\n    a: ${b}\n"
	want := map[string]string{"a": "${b}", fluxPrune: "disabled", fluxSubstitute: "disabled"}
	if d := cmp.Diff(want, annotated(t, text, EngineFlux)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want[fluxSubstitute] = "enabled"
	if d := cmp.Diff(want, annotated(t, text+"    "+fluxSubstitute+": enabled\n", EngineFlux)); d != "" {
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
		files = append(files, corpustest.Files(t, "bundles", "*", "*", "manifests", "*.yaml")...)
	}
	near, crds, large := 0, 0, map[string]int{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		o, err := manifest.ReadOne(name, text)
		if err != nil || o.ReprintReason != "" {
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
		least, most := leastAsJSON(text), int(budget.AsJSON(text))
		if len(data) < least || len(data) > most {
			t.Errorf("%s: %d bytes of JSON, not %d to %d", name, len(data), least, most)
		}
		limit := annotationLimit - roomForApply
		annotations, err := annotationsOf(generate.Object{Data: text})
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range annotations {
			limit -= len(k) + len(v.(string))
		}
		got, err := tooLarge(generate.Object{Data: text})
		if want := len(data) > limit; err != nil || got != want {
			t.Errorf("%s: too large: %v %v, want %v", name, got, err, want)
		}
		if got {
			large[o.Kind]++
		}
		if o.Kind == "CustomResourceDefinition" {
			if crds++; least <= annotationLimit && most > annotationLimit {
				near++
			}
		}
	}
	t.Logf("too large: %v", large)
	t.Logf("%d of %d CRDs are so near the limit that they are parsed", near, crds)
	if near*20 > crds {
		t.Errorf("%d of %d CRDs are so near the limit that they are parsed", near, crds)
	}
}

// A ClusterServiceVersion that server-side apply refuses is applied client-side by Argo CD, replaced if it is too large for that, and left alone
// by Flux, which has only server-side apply.
func TestRefusedServerSide(t *testing.T) {
	csv := bare("operators.coreos.com/v1alpha1", "ClusterServiceVersion") + "spec:\n  customresourcedefinitions:\n    owned:\n    - name: a.b\n" +
		"      specDescriptors:\n      - path: c\n        value: "
	long := "\n  description: " + strings.Repeat("a", 300_000)
	for _, c := range []struct{ text, argo, flux string }{
		{csv + "[false]\n", "ServerSideApply=false", "Ignore"}, {csv + "[false]" + long + "\n", "ServerSideApply=false,Replace=true", "Ignore"},
		{csv + "text\n", "", ""}, {csv + "text" + long + "\n", "ServerSideApply=true", ""},
		{strings.Replace(csv, "spec:", "  annotations: {argocd.argoproj.io/sync-options: ServerSideApply=true, kustomize.toolkit.fluxcd.io/ssa: Merge}\nspec:", 1) +
			"[false]\n", "ServerSideApply=true", "Merge"},
	} {
		if got := annotated(t, c.text, EngineArgoCD)[argoOptions]; got != c.argo {
			t.Errorf("Argo CD: %q, want %q", got, c.argo)
		}
		if got := annotated(t, c.text, EngineFlux)[fluxSSA]; got != c.flux {
			t.Errorf("Flux: %q, want %q", got, c.flux)
		}
	}
}
