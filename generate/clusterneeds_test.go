package generate

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
)

const needy = allModes + oneDeployment + `
customresourcedefinitions:
  required:
  - {name: clocks.clock.example.com, kind: Clock, version: v1}
`

// needyBundle requires an API and packages, and ships kinds of other projects.
func needyBundle(t *testing.T) *bundle.Bundle {
	t.Helper()
	b := testBundle(t, needy,
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\n",
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: b}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"kind: Role\nmetadata: {name: a}\nrules: []\n")
	for kind, value := range map[string]string{
		"olm.package":    `{"packageName":"clock-operator","version":">=1.0.0 <2.0.0"}`,
		"olm.gvk":        `{"group":"clock.example.com","version":"v1","kind":"Clock"}`,
		"olm.constraint": `{"failureMessage":"needs a board","cel":{"rule":"true"}}`,
	} {
		b.Dependencies = append(b.Dependencies, bundle.Property{Type: kind, Value: []byte(value)})
	}
	return b
}

func noteTexts(r *Result) (texts []string) {
	for _, n := range r.Notes {
		texts = append(texts, n.Msg)
	}
	return texts
}

func TestNeeds(t *testing.T) {
	b := needyBundle(t)
	const rule = "the bundle ships objects of kind PrometheusRule: the cluster must serve monitoring.coreos.com/v1"
	for _, profile := range Profiles {
		r, err := Render(b, Options{Profile: profile, Namespace: "ops", Subscription: fromCommunity})
		if refused := (*Error)(nil); errors.As(err, &refused) && profile == ProfileOLMv1 {
			continue
		}
		if err != nil {
			t.Fatal(profile, err)
		}
		how := "install it in the cluster"
		if profile == ProfileSubscription {
			how = "OLM looks for it in its catalogs"
		}
		want := []string{
			"the operator requires what its olm.constraint says (needs a board): " + how,
			"the operator requires the API Clock.v1.clock.example.com: " + how,
			"the operator requires the package clock-operator >=1.0.0 <2.0.0: " + how,
			rule,
		}
		got := noteTexts(r)
		if len(got) > len(want) { // what a profile says of itself comes first
			got = got[len(got)-len(want):]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", profile, d)
		}
	}
}

// What an operator that is rendered together with it provides is no news.
func TestNeedsOfOthers(t *testing.T) {
	clock := func(version string) *bundle.Bundle {
		return csvBundle(t, "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: clock.v1}\n"+
			"spec:\n  version: "+version+"\n  installModes: [{type: AllNamespaces, supported: true}]\n"+
			"  apiservicedefinitions:\n    owned: []\n"+
			"  customresourcedefinitions:\n    owned: [{name: clocks.clock.example.com, kind: Clock, version: v1}]\n",
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: clocks.clock.example.com}\n"+
				"spec: {group: clock.example.com, names: {kind: Clock, plural: clocks}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}\n")
	}
	for version, want := range map[string]bool{"1.2.3": false, "2.0.0": true} {
		other := clock(version)
		other.Package = "clock-operator"
		set, err := RenderAll([]Operator{
			{Bundle: needyBundle(t), Options: Options{Namespace: "ops", OperatorGroup: "ops"}},
			{Bundle: other, Options: Options{Namespace: "clocks", OperatorGroup: "clocks"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		texts := noteTexts(set.Results[0])
		if slices.Contains(texts, "the operator requires the API Clock.v1.clock.example.com: install it in the cluster") {
			t.Errorf("version %s: a note of an API that is served", version)
		}
		if got := slices.Contains(texts, "the operator requires the package clock-operator >=1.0.0 <2.0.0: install it in the cluster"); got != want {
			t.Errorf("version %s: a note of the package: %v, want %v", version, got, want)
		}
	}
}

// A dependency without the name of a package is not one on a package that is called like its version.
func TestPackageWithoutName(t *testing.T) {
	o := Options{Properties: []bundle.Property{{Type: "olm.package.required", Value: []byte(`{"versionRange": "1.0.0"}`)}}}
	result, err := Render(testBundle(t, allModes+oneDeployment), o)
	if err != nil {
		t.Fatal(err)
	}
	want := "the operator requires version 1.0.0 of a package without a name, which its dependencies.yaml has to give"
	if notes := noteTexts(result); !slices.Contains(notes, want) {
		t.Errorf("got %q", notes)
	}
}
