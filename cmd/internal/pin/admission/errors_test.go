package admission

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/olmgen/olmgen/internal/olm"
)

func TestRefused(t *testing.T) {
	const digest = "@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	for _, c := range []struct {
		want     string
		policies Policies
	}{
		{`a ClusterServiceVersion: "" is not the name of an object`, Policies{Facts: Facts{CSVs: []string{""}}}},
		{`a ClusterServiceVersion: "a b" is not`, Policies{Previous: &Facts{CSVs: []string{"a b"}}}},
		{`the Subscription to "" in namespace "n" names no package or no CatalogSource`,
			Policies{Facts: Facts{Subscriptions: []Subscription{{Namespace: "n", Source: "s", SourceNamespace: "m"}}}}},
		{`the Subscription to "p" in namespace "n" names no package or no CatalogSource`,
			Policies{Facts: Facts{Subscriptions: []Subscription{{Namespace: "n", Package: "p", SourceNamespace: "m"}}}}},
		{`the Subscription to "p" in namespace "": "" is not the name of an object`,
			Policies{Facts: Facts{Subscriptions: []Subscription{{Package: "p", Source: "s", SourceNamespace: "m"}}}}},
		{`the Subscription to "p" in namespace "n": "" is not the name of an object`,
			Policies{Facts: Facts{Subscriptions: []Subscription{{Namespace: "n", Package: "p", Source: "s"}}}}},
		{`the ClusterExtension "e": "" is not the name`, Policies{Facts: Facts{Extensions: []Extension{{Name: "e"}}}}},
		{`the ClusterExtension "e": "a,b" is not the name`, Policies{Facts: Facts{Extensions: []Extension{{Name: "e", Package: "p", Channels: []string{"a,b"}}}}}},
		{`the ClusterExtension "e" selects catalogs by "a b": "c", which is no label`,
			Policies{Facts: Facts{Extensions: []Extension{{Name: "e", Package: "p", Selector: map[string]string{"a b": "c"}}}}}},
		{`the ClusterExtension "e" selects catalogs by "a": "b,c", which is no label`,
			Policies{Facts: Facts{Extensions: []Extension{{Name: "e", Package: "p", Selector: map[string]string{"a": "b,c"}}}}}},
		{`the CatalogSource "c" in namespace "n": the image "quay.io/a/b:v1" has no digest, so its content can change`,
			Policies{Facts: Facts{CatalogSources: []CatalogSource{{"n", "c", "quay.io/a/b:v1"}}}}},
		{`the CatalogSource "" in namespace "n": "" is not`, Policies{Facts: Facts{CatalogSources: []CatalogSource{{"n", "", "quay.io/a/b" + digest}}}}},
		{`the CatalogSource "c" in namespace "": "" is not`, Policies{Facts: Facts{CatalogSources: []CatalogSource{{"", "c", "quay.io/a/b" + digest}}}}},
		{`the ClusterCatalog "c": the image "" has no digest`, Policies{Facts: Facts{ClusterCatalogs: []ClusterCatalog{{"c", ""}}}}},
		{`the ClusterCatalog "C": "C" is not`, Policies{Facts: Facts{ClusterCatalogs: []ClusterCatalog{{"C", "quay.io/a/b" + digest}}}}},
		{`the scope of the policies: "a_b" is not`, Policies{Exempt: Exempt{Namespaces: []string{"a_b"}}}},
		{`an exempt user or group has no name`, Policies{Exempt: Exempt{Users: []string{""}}}},
		{`an exempt user or group has no name`, Policies{Exempt: Exempt{Groups: []string{""}}}},
	} {
		objects, err := c.policies.Objects("f")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || objects != nil {
			t.Errorf("error %v and %d objects, want %s", err, len(objects), c.want)
		}
	}
}

// The same facts in any order, and twice, make the same bytes.
func TestOrder(t *testing.T) {
	_, policies := states(t)
	print := func(p Policies) []byte {
		t.Helper()
		objects, err := p.Objects("clusters/prod")
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, x := range objects {
			b.Write(x.YAML)
		}
		return b.Bytes()
	}
	turn := func(f Facts) Facts {
		f.CSVs = append(slices.Clone(f.CSVs), f.CSVs...)
		slices.Reverse(f.CSVs)
		f.Subscriptions = append(slices.Clone(f.Subscriptions), f.Subscriptions...)
		slices.Reverse(f.Subscriptions)
		f.Extensions = slices.Clone(f.Extensions)
		for i := range f.Extensions {
			f.Extensions[i].Channels = slices.Clone(f.Extensions[i].Channels)
			slices.Reverse(f.Extensions[i].Channels)
		}
		slices.Reverse(f.Extensions)
		return f
	}
	p := *policies["change"]
	want := print(p)
	before := turn(*p.Previous)
	p.Previous, p.Facts = &before, turn(p.Facts)
	p.Users = []string{"break-glass", "system:serviceaccount:ops:fixer", "break-glass"}
	if got := print(p); !bytes.Equal(got, want) {
		t.Errorf("in another order:\n%s", got)
	}
}

func TestScope(t *testing.T) {
	f := Facts{Subscriptions: []Subscription{{Namespace: "one", Package: "p", Source: "s", SourceNamespace: "olm"}}}
	source := func(namespace string) object {
		return parse(t, "{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: x, namespace: "+namespace+
			"}, spec: {sourceType: grpc, image: x}}")
	}
	plan := func(namespace string) object {
		return parse(t, "{apiVersion: operators.coreos.com/v1alpha1, kind: InstallPlan, metadata: {name: x, namespace: "+namespace+
			"}, spec: {approved: true, clusterServiceVersionNames: [x]}}")
	}
	extension := parse(t, "{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: x}, "+
		"spec: {source: {catalog: {packageName: p}}}}")
	for _, c := range []struct {
		name    string
		exempt  []string
		refused []string // namespaces in which they are
	}{
		{"everywhere", nil, []string{"one", "two", "olm", "three"}},
		{"not everywhere", []string{"one", "olm"}, []string{"two", "three"}},
	} {
		s := newServer(t, &Policies{Exempt: Exempt{Namespaces: c.exempt}, Facts: f}, "f")
		for _, ns := range []string{"one", "two", "olm", "three"} {
			for _, o := range []object{source(ns), plan(ns)} {
				if got := s.ask(t, &user.DefaultInfo{}, o, nil); got.refused != slices.Contains(c.refused, ns) {
					t.Errorf("%s: %s in %s: refused %v", c.name, o["kind"], ns, got.refused)
				}
			}
		}
		if got := s.ask(t, &user.DefaultInfo{}, extension, nil); !got.refused { // it has no namespace
			t.Errorf("%s: a ClusterExtension passes", c.name)
		}
	}
}

// A message shows no more names than the API server takes.
func TestLongMessage(t *testing.T) {
	s := newServer(t, &Policies{}, "clusters/prod")
	o := parse(t, "{apiVersion: operators.coreos.com/v1alpha1, kind: InstallPlan, metadata: {name: x, namespace: y}, spec: {approved: true}}")
	names := []any{}
	for range 300 {
		names = append(names, "openshift-cluster-logging-operator.v4.16.0-202607120934")
	}
	o["spec"].(object)["clusterServiceVersionNames"] = names
	got := s.ask(t, &user.DefaultInfo{}, o, nil)
	if !strings.HasSuffix(got.message, "...; change clusters/prod") || len(got.message) < 1000 || len(got.message) > 1100 {
		t.Errorf("%d: %s", len(got.message), got.message)
	}
}

func TestLiteral(t *testing.T) {
	for s, want := range map[string]string{"": "''", "a": "'a'", `it's`: `'it\'s'`, `a\b`: `'a\\b'`, "a\nb": `'a\U0000000ab'`, `"`: `'"'`, "é": "'é'"} {
		if got := literal(s); got != want {
			t.Errorf("%q: %s", s, got)
		}
	}
	// a file with hostile characters is one text in every message
	for _, file := range []string{`a'b`, `a\`, "it's \\ \"x\" é", "a' + 'b"} {
		s := newServer(t, &Policies{}, file)
		o := parse(t, "{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: x}, spec: {source: {catalog: {packageName: p}}}}")
		if got := s.ask(t, &user.DefaultInfo{}, o, nil); got.message != "package p is not pinned; change "+file {
			t.Errorf("%q: %s", file, got.message)
		}
	}
}

// olm knows each kind; kind does not look whether it does.
func TestKinds(t *testing.T) {
	p := writer{Policies: &Policies{}, file: "f"}
	for _, y := range []policy{p.installPlans(), p.subscriptions(), p.catalogSources(), p.clusterExtensions(), p.clusterCatalogs()} {
		if y.kind.Plural == "" || y.kind.Namespaced != (y.kind.Group == olm.Group) {
			t.Errorf("%+v", y.kind)
		}
	}
}

// What holds together with the new pin is all that was pinned since the last change was finished, each once.
func TestUnion(t *testing.T) {
	a := Facts{CSVs: []string{"a", "b"}, Extensions: []Extension{{Name: "x", Package: "p"}}}
	b := Facts{CSVs: []string{"b", "c"}, Extensions: []Extension{{Name: "x", Package: "p"},
		{Name: "x", Package: "p", Version: "2"}}}
	got := a.Union(b)
	if len(got.CSVs) != 3 || len(got.Extensions) != 2 {
		t.Errorf("%+v", got)
	}
}
