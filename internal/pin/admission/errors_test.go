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
		want    string
		facts   Facts
		options Options
	}{
		{"there is no file that the messages of the policies can name", Facts{}, Options{}},
		{`a ClusterServiceVersion: "" is not the name of an object`, Facts{CSVs: []string{""}}, Options{File: "f"}},
		{`a ClusterServiceVersion: "a b" is not`, Facts{}, Options{File: "f", Previous: &Facts{CSVs: []string{"a b"}}}},
		{`the Subscription to "" in namespace "n" names no package or no CatalogSource`,
			Facts{Subscriptions: []Subscription{{Namespace: "n", Source: "s", SourceNamespace: "m"}}}, Options{File: "f"}},
		{`the Subscription to "p" in namespace "n" names no package or no CatalogSource`,
			Facts{Subscriptions: []Subscription{{Namespace: "n", Package: "p", SourceNamespace: "m"}}}, Options{File: "f"}},
		{`the Subscription to "p" in namespace "": "" is not the name of an object`,
			Facts{Subscriptions: []Subscription{{Package: "p", Source: "s", SourceNamespace: "m"}}}, Options{File: "f"}},
		{`the Subscription to "p" in namespace "n": "" is not the name of an object`,
			Facts{Subscriptions: []Subscription{{Namespace: "n", Package: "p", Source: "s"}}}, Options{File: "f"}},
		{`the ClusterExtension "e": "" is not the name`, Facts{Extensions: []Extension{{Name: "e"}}}, Options{File: "f"}},
		{`the ClusterExtension "e": "a,b" is not the name`, Facts{Extensions: []Extension{{Name: "e", Package: "p", Channels: []string{"a,b"}}}},
			Options{File: "f"}},
		{`the ClusterExtension "e" selects catalogs by "a b": "c", which is no label`,
			Facts{Extensions: []Extension{{Name: "e", Package: "p", Selector: map[string]string{"a b": "c"}}}}, Options{File: "f"}},
		{`the ClusterExtension "e" selects catalogs by "a": "b,c", which is no label`,
			Facts{Extensions: []Extension{{Name: "e", Package: "p", Selector: map[string]string{"a": "b,c"}}}}, Options{File: "f"}},
		{`the CatalogSource "c" in namespace "n": the image "quay.io/a/b:v1" has no digest, so its content can change`,
			Facts{CatalogSources: []CatalogSource{{"n", "c", "quay.io/a/b:v1"}}}, Options{File: "f"}},
		{`the CatalogSource "" in namespace "n": "" is not`, Facts{CatalogSources: []CatalogSource{{"n", "", "quay.io/a/b" + digest}}}, Options{File: "f"}},
		{`the CatalogSource "c" in namespace "": "" is not`, Facts{CatalogSources: []CatalogSource{{"", "c", "quay.io/a/b" + digest}}}, Options{File: "f"}},
		{`the ClusterCatalog "c": the image "" has no digest`, Facts{ClusterCatalogs: []ClusterCatalog{{"c", ""}}}, Options{File: "f"}},
		{`the ClusterCatalog "C": "C" is not`, Facts{ClusterCatalogs: []ClusterCatalog{{"C", "quay.io/a/b" + digest}}}, Options{File: "f"}},
		{`the policies: "a/b" is not`, Facts{}, Options{File: "f", Name: "a/b"}},
		{`the scope of the policies: "" is not`, Facts{}, Options{File: "f", Namespaces: []string{""}}},
		{`the scope of the policies: "a_b" is not`, Facts{}, Options{File: "f", ExemptNamespaces: []string{"a_b"}}},
		{`the exempt ServiceAccount "" in namespace "n": "" is not`, Facts{}, Options{File: "f", ExemptServiceAccounts: []ServiceAccount{{"n", ""}}}},
		{`the exempt ServiceAccount "a" in namespace "": "" is not`, Facts{}, Options{File: "f", ExemptServiceAccounts: []ServiceAccount{{"", "a"}}}},
		{`an exempt user or group has no name`, Facts{}, Options{File: "f", ExemptUsers: []string{""}}},
		{`an exempt user or group has no name`, Facts{}, Options{File: "f", ExemptGroups: []string{""}}},
	} {
		objects, err := Objects(c.facts, c.options)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || objects != nil {
			t.Errorf("error %v and %d objects, want %s", err, len(objects), c.want)
		}
	}
}

// The same facts in any order, and twice, make the same bytes.
func TestOrder(t *testing.T) {
	_, facts, options := states(t)
	print := func(f Facts, o Options) []byte {
		t.Helper()
		objects, err := Objects(f, o)
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
	o := options["change"]
	want := print(facts["change"], o)
	before := turn(*o.Previous)
	o.Previous = &before
	o.ExemptUsers = []string{"break-glass", "break-glass"}
	if got := print(turn(facts["change"]), o); !bytes.Equal(got, want) {
		t.Errorf("in another order:\n%s", got)
	}
}

func TestScope(t *testing.T) {
	f := Facts{Subscriptions: []Subscription{{Namespace: "one", Package: "p", Source: "s", SourceNamespace: "olm"}}}
	before := Facts{Subscriptions: []Subscription{{Namespace: "two", Package: "p", Source: "s", SourceNamespace: "olm"}},
		CatalogSources: []CatalogSource{{"olm", "s", "quay.io/a/b@sha256:" + strings.Repeat("1", 64)}}}
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
		name           string
		options        Options
		sources, plans []string // namespaces in which they are refused
	}{
		{"everywhere", Options{}, []string{"one", "two", "olm", "three"}, []string{"one", "two", "olm", "three"}},
		{"some namespaces", Options{Namespaces: []string{"one", "three"}}, []string{"one", "three"}, []string{"one", "three"}},
		{"not all of some", Options{Namespaces: []string{"one", "three"}, ExemptNamespaces: []string{"one"}}, []string{"three"}, []string{"three"}},
		{"CatalogSources where they matter", Options{OtherCatalogSources: true, Previous: &before}, []string{"one", "two", "olm"},
			[]string{"one", "two", "olm", "three"}},
		{"CatalogSources where Subscriptions are and take them", Options{OtherCatalogSources: true}, []string{"one", "olm"},
			[]string{"one", "two", "olm", "three"}},
		{"CatalogSources where they matter in some", Options{OtherCatalogSources: true, Previous: &before, Namespaces: []string{"two", "three"}},
			[]string{"two"}, []string{"two", "three"}},
		{"CatalogSources matter nowhere", Options{OtherCatalogSources: true, Namespaces: []string{"three"}}, nil, []string{"three"}},
	} {
		c.options.File = "f"
		s := newServer(t, f, c.options)
		for _, ns := range []string{"one", "two", "olm", "three"} {
			if got := s.ask(t, &user.DefaultInfo{}, source(ns), nil); got.refused != slices.Contains(c.sources, ns) {
				t.Errorf("%s: CatalogSource in %s: refused %v", c.name, ns, got.refused)
			}
			if got := s.ask(t, &user.DefaultInfo{}, plan(ns), nil); got.refused != slices.Contains(c.plans, ns) {
				t.Errorf("%s: InstallPlan in %s: refused %v", c.name, ns, got.refused)
			}
		}
		if got := s.ask(t, &user.DefaultInfo{}, extension, nil); !got.refused { // it has no namespace
			t.Errorf("%s: a ClusterExtension passes", c.name)
		}
	}
}

// A message shows no more names than the API server takes.
func TestLongMessage(t *testing.T) {
	s := newServer(t, Facts{}, Options{File: "clusters/prod"})
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
		s := newServer(t, Facts{}, Options{File: file})
		o := parse(t, "{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: x}, spec: {source: {catalog: {packageName: p}}}}")
		if got := s.ask(t, &user.DefaultInfo{}, o, nil); got.message != "package p is not pinned; change "+file {
			t.Errorf("%q: %s", file, got.message)
		}
	}
}

// olm knows each kind; pin.kind does not look whether it does.
func TestKinds(t *testing.T) {
	p := pin{options: Options{File: "f"}}
	for _, y := range []policy{p.installPlans(), p.subscriptions(), p.catalogSources(), p.clusterExtensions(), p.clusterCatalogs()} {
		if y.kind.Plural == "" || y.kind.Namespaced != (y.kind.Group == olm.Group) {
			t.Errorf("%+v", y.kind)
		}
	}
}
