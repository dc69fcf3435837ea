package generate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

const (
	own    = v1alpha1.InstallModeTypeOwnNamespace
	single = v1alpha1.InstallModeTypeSingleNamespace
	multi  = v1alpha1.InstallModeTypeMultiNamespace
	all    = v1alpha1.InstallModeTypeAllNamespaces
)

type modes = []v1alpha1.InstallModeType

func csvSupporting(supported modes) *v1alpha1.ClusterServiceVersion {
	csv := &v1alpha1.ClusterServiceVersion{}
	for _, m := range supported {
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, v1alpha1.InstallMode{Type: m, Supported: true})
	}
	return csv
}

func ofCSV(csv *v1alpha1.ClusterServiceVersion) *bundle.Bundle {
	return &bundle.Bundle{CSV: csv, CSVObject: &manifest.Object{}}
}

// The operator is in the namespace operators.
func TestTargets(t *testing.T) {
	every := modes{own, single, multi, all}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	for _, c := range []struct {
		name     string
		supports modes
		ask      v1alpha1.InstallModeType
		targets  []string
		selector *metav1.LabelSelector
		copied   []string
		mode     v1alpha1.InstallModeType
		want     []string
		refused  string // the whole message
	}{
		{name: "by default all namespaces", supports: every, mode: all, want: []string{""}},
		{name: "by default the own one, where all is unsupported", supports: modes{own, single, multi}, mode: own, want: []string{"operators"}},
		{name: "no default", supports: modes{single, multi},
			refused: "the operator supports neither AllNamespaces nor OwnNamespace, so its target namespaces must be given"},
		{name: "none supported", supports: modes{"Other"},
			refused: "spec.installModes: the operator supports no install mode: none is marked as supported"},
		{name: "nothing supported", refused: "the operator supports no install mode, because spec.installModes is empty"},

		{name: "own by target", supports: modes{own}, targets: []string{"operators"}, mode: own, want: []string{"operators"}},
		{name: "own asked for", supports: modes{own}, ask: own, mode: own, want: []string{"operators"}},
		{name: "own asked for and named", supports: modes{own}, ask: own, targets: []string{"operators"}, mode: own, want: []string{"operators"}},
		{name: "single by target", supports: modes{single}, targets: []string{"a"}, mode: single, want: []string{"a"}},
		{name: "single asked for", supports: modes{single}, ask: single, targets: []string{"a"}, mode: single, want: []string{"a"}},
		{name: "multi sorted", supports: modes{multi}, targets: []string{"b", "a"}, mode: multi, want: []string{"a", "b"}},
		{name: "multi with own", supports: modes{multi, own}, ask: multi, targets: []string{"operators", "a"}, mode: multi, want: []string{"a", "operators"}},
		{name: "all asked for", supports: modes{all}, ask: all, mode: all, want: []string{""}},

		{name: "own unsupported", supports: modes{single, multi, all}, targets: []string{"operators"},
			refused: "UnsupportedOperatorGroup: OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"},
		{name: "single unsupported, own does not cover it", supports: modes{own, multi, all}, targets: []string{"a"},
			refused: "UnsupportedOperatorGroup: SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"},
		{name: "multi unsupported", supports: modes{own, single, all}, targets: []string{"a", "b", "c"},
			refused: "UnsupportedOperatorGroup: MultiNamespace InstallModeType not supported, cannot configure to watch 3 namespaces"},
		{name: "multi with own, own unsupported", supports: modes{multi, all}, targets: []string{"a", "operators"},
			refused: "UnsupportedOperatorGroup: OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"},
		{name: "multi with own, multi unsupported too", targets: []string{"a", "operators"},
			refused: "UnsupportedOperatorGroup: MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces"},
		{name: "all unsupported", supports: modes{own, single, multi}, ask: all,
			refused: "UnsupportedOperatorGroup: AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces"},

		{name: "unknown mode", supports: every, ask: "Some", refused: `unknown install mode "Some"`},
		{name: "all with targets", supports: every, ask: all, targets: []string{"a"}, refused: "AllNamespaces has no target namespaces and no selector"},
		{name: "all with selector", supports: every, ask: all, selector: selector, refused: "AllNamespaces has no target namespaces and no selector"},
		{name: "own with another", supports: every, ask: own, targets: []string{"a"}, refused: "OwnNamespace has one target namespace, the operator's own, operators"},
		{name: "own with several", supports: every, ask: own, targets: []string{"a", "operators"}, refused: "OwnNamespace has one target namespace, the operator's own, operators"},
		{name: "single with none", supports: every, ask: single, refused: "SingleNamespace needs exactly one target namespace, not 0"},
		{name: "single with several", supports: every, ask: single, targets: []string{"a", "b"}, refused: "SingleNamespace needs exactly one target namespace, not 2"},
		{name: "single with own", supports: every, ask: single, targets: []string{"operators"}, refused: "SingleNamespace needs a target namespace other than the operator's own, operators"},
		{name: "multi with one", supports: every, ask: multi, targets: []string{"a"}, refused: "MultiNamespace needs at least two target namespaces, not 1: OLM asks for another install mode then"},

		{name: "selector without targets", supports: every, selector: selector,
			refused: "no targetNamespaces are matched operatorgroups namespace selection: the namespaces behind a selector can't be known offline"},
		{name: "selector with targets", supports: every, selector: selector, targets: []string{"b", "a"}, mode: multi, want: []string{"a", "b"}},

		{name: "copied CSVs in all", supports: every, copied: []string{"x"}, mode: all, want: []string{""}},
		{name: "copied CSVs in single", supports: every, targets: []string{"a"}, copied: []string{"x"},
			refused: "only AllNamespaces takes namespaces for copied CSVs: with SingleNamespace each target namespace gets a copy"},
		{name: "copied CSVs in the own namespace", supports: every, copied: []string{"operators"},
			refused: `the operator's own namespace "operators" has the CSV itself, no copy of it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Namespace: "operators", InstallMode: c.ask, TargetNamespaces: c.targets, Selector: c.selector, CopiedCSVNamespaces: c.copied}
			mode, targets, err := o.targets(ofCSV(csvSupporting(c.supports)))
			if c.refused != "" {
				if err == nil || err.Error() != c.refused {
					t.Fatalf("error %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || mode != c.mode || !cmp.Equal(targets, c.want) {
				t.Errorf("%s %q, error %v; want %s %q", mode, targets, err, c.mode, c.want)
			}
		})
	}
}

// A mode listed with supported: false is unsupported, and so is one that is not listed.
func TestTargetsOfUnsupportedEntry(t *testing.T) {
	csv := csvSupporting(modes{own})
	csv.Spec.InstallModes = append(csv.Spec.InstallModes, v1alpha1.InstallMode{Type: all})
	_, _, err := Options{Namespace: "operators", InstallMode: all}.targets(ofCSV(csv))
	checkRefused(t, err, "AllNamespaces InstallModeType not supported")
	var e *Error
	_, _, err = Options{Namespace: "operators", TargetNamespaces: []string{"a"}}.targets(ofCSV(csvSupporting(modes{all})))
	if !errors.As(err, &e) || e.Hint() != "the operator supports AllNamespaces only: choose it, without target namespaces" {
		t.Errorf("AllNamespaces only: %#v", err)
	}
	_, _, err = Options{Namespace: "operators", InstallMode: all}.targets(ofCSV(csv))
	if !errors.As(err, &e) || e.Hint() != "the operator supports OwnNamespace only: choose it, or other target namespaces" {
		t.Errorf("no hint to the supported modes: %#v", err)
	}
}

func TestTargetsDoNotChangeTheOptions(t *testing.T) {
	o := Options{Namespace: "operators", TargetNamespaces: []string{"b", "a"}}
	if _, _, err := o.targets(ofCSV(csvSupporting(modes{multi}))); err != nil {
		t.Fatal(err)
	}
	if o.TargetNamespaces[0] != "b" {
		t.Error("the caller's list was sorted")
	}
}

func TestOptions(t *testing.T) {
	b := testBundle(t, allModes)
	for _, c := range []struct {
		name    string
		o       Options
		refused string
	}{
		{name: "none at all"},
		{name: "namespace", o: Options{Namespace: "No_Name"}, refused: `namespace "No_Name" is not a valid namespace name`},
		{name: "namespace with a dot", o: Options{Namespace: "a.b"}, refused: `namespace "a.b" is not a valid namespace name`},
		{name: "target", o: Options{TargetNamespaces: []string{""}}, refused: `target namespace "" is not a valid namespace name`},
		{name: "target twice", o: Options{TargetNamespaces: []string{"a", "b", "a"}}, refused: `target namespace "a" is given twice`},
		{name: "copied twice", o: Options{CopiedCSVNamespaces: []string{"a", "a"}}, refused: `namespace for copied CSVs "a" is given twice`},
		{name: "target with a bad character", o: Options{TargetNamespaces: []string{"a,b"}}, refused: `target namespace "a,b" is not a valid namespace name`},

		{name: "group with capitals", o: Options{OperatorGroup: "Group"}, refused: `OperatorGroup name "Group" is not a valid name`},
		{name: "group of 63 characters", o: Options{OperatorGroup: strings.Repeat("g", 63)}},
		{name: "group of 64 characters", o: Options{OperatorGroup: strings.Repeat("g", 64)}, refused: "is longer than 63 characters: OLM then silently makes no roles"},
		{name: "group cluster", o: Options{OperatorGroup: "cluster"}, refused: `OperatorGroup name "cluster" would overwrite the default ClusterRole cluster-admin`},
		{name: "group registry", o: Options{OperatorGroup: "registry"}, refused: "default ClusterRole registry-admin"},
		{name: "group storage", o: Options{OperatorGroup: "storage", Names: NamesStable}, refused: "default ClusterRole storage-admin"},
		{name: "group cluster with OLM's names", o: Options{OperatorGroup: "cluster", Names: NamesOLM}},
		{name: "service account", o: Options{ServiceAccount: "a b"}, refused: `service account name "a b" is not a valid name`},
		{name: "a good service account", o: Options{ServiceAccount: "installer"}},

		{name: "names", o: Options{Names: "mine"}, refused: `unknown naming "mine"`},
		{name: "profile", o: Options{Profile: "openshift"}, refused: `unknown profile "openshift"`},
		{name: "copied CSVs", o: Options{CopiedCSVs: "half"}, refused: `unknown form of copied CSVs "half"`},
		{name: "certs", o: Options{Certs: "vault"}, refused: `unknown certificate provider "vault"`},
		{name: "certs where nothing serves", o: Options{Certs: CertsManager}},

		{name: "static API", o: Options{StaticProvidedAPIs: []string{"Memcached.v1.cache.example.com"}}},
		{name: "static API of the core group", o: Options{StaticProvidedAPIs: []string{"Pod.v1."}}},
		{name: "static API without group", o: Options{StaticProvidedAPIs: []string{"Pod.v1"}}, refused: `static provided API "Pod.v1" is not of the form Kind.version.group`},
		{name: "static API without kind", o: Options{StaticProvidedAPIs: []string{".v1.g.com"}}, refused: `".v1.g.com" is not of the form`},
		{name: "static APIs in one item", o: Options{StaticProvidedAPIs: []string{"A.v1.g,B.v1.g"}}, refused: "is not of the form"},
		{name: "static API with a blank", o: Options{StaticProvidedAPIs: []string{"A.v1. g"}}, refused: "is not of the form"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Render(b, c.o)
			checkRefused(t, err, c.refused)
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%T is no *Error: the options are at fault", err)
			}
		})
	}
}

func TestNamespaceDefault(t *testing.T) {
	const template = `operatorframework.io/suggested-namespace-template: '{"metadata":{"name":"from-template"}}'`
	for _, c := range []struct{ name, annotations, ask, want, refused string }{
		{name: "the package", annotations: "{}", want: "memcached"},
		{name: "suggested", annotations: "{operatorframework.io/suggested-namespace: suggested, " + template + "}", want: "suggested"},
		{name: "by a template", annotations: "{" + template + "}", want: "from-template"},
		{name: "a template that is no JSON", annotations: "{operatorframework.io/suggested-namespace-template: '{'}", want: "memcached"},
		{name: "asked for", annotations: "{operatorframework.io/suggested-namespace: suggested}", ask: "asked", want: "asked"},
		{name: "suggested badly", annotations: "{operatorframework.io/suggested-namespace: A b}",
			refused: `the annotation operatorframework.io/suggested-namespace, "A b", is not a valid namespace name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := Render(annotatedBundle(t, c.annotations, allModes), Options{Namespace: c.ask})
			checkRefused(t, err, c.refused)
			if err == nil && result.Namespace != c.want {
				t.Errorf("namespace %s, want %s", result.Namespace, c.want)
			}
		})
	}
}

// TestTruncated: where the version is missing too, the file is more likely truncated than the operator descoped.
func TestTruncated(t *testing.T) {
	whole, cut := csvSupporting(nil), csvSupporting(nil)
	whole.Spec.Version.Major = 1
	for csv, want := range map[*v1alpha1.ClusterServiceVersion]string{
		whole: descopedHint, cut: "get the whole file: without spec.version too, it may be truncated",
	} {
		_, _, err := Options{Namespace: "operators"}.targets(ofCSV(csv))
		if e, ok := errors.AsType[*Error](err); !ok || e.Tip != want {
			t.Errorf("%v: want the hint %q", err, want)
		}
	}
}
