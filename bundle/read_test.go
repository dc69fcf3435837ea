package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
)

// Everything that a bundle says arrives where it belongs.
func TestRead(t *testing.T) {
	f := good()
	f["metadata/properties.yaml"] = "properties:\n- type: olm.maxOpenShiftVersion\n  value: \"4.18\"\n"
	f["metadata/dependencies.yaml"] = "dependencies:\n- type: olm.package\n  value: {packageName: p, version: '>1'}\n"
	f["metadata/config.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	b, err := Read(f.fs(), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Package, DefaultChannel, CSV, Version string
		Channels, CRDs, Others                []string
		Versions                              []CRDVersion
		Properties, Dependencies              []Property
	}
	got := summary{b.Package, b.DefaultChannel, b.CSV.Name, b.CSV.Spec.Version.String(), b.Channels, nil, nil, b.CRDs[0].Versions, b.Properties, b.Dependencies}
	for _, c := range b.CRDs {
		got.CRDs = append(got.CRDs, fmt.Sprint(c.Name, " ", c.Group, " ", c.Plural, " ", c.ResourceKind, " ", c.Scope))
	}
	for _, o := range b.Others {
		got.Others = append(got.Others, fmt.Sprintf("%s:%d %s", o.File, o.Line, o.Identity()))
	}
	want := summary{"memcached-operator", "stable", "memcached-operator.v0.0.1", "0.0.1", []string{"alpha", "stable"},
		[]string{"memcacheds.cache.example.com cache.example.com memcacheds Memcached Namespaced"},
		[]string{roleFile + ":1 ClusterRole metrics-reader", serviceFile + ":1 Service metrics", "metadata/config.yaml:1 ConfigMap a"},
		[]CRDVersion{{"v1", true, true}},
		[]Property{{Type: "olm.maxOpenShiftVersion", Value: json.RawMessage(`"4.18"`), File: "metadata/properties.yaml", Line: 2}},
		[]Property{{Type: "olm.package", Value: json.RawMessage(`{"packageName":"p","version":"\u003e1"}`), File: "metadata/dependencies.yaml", Line: 2}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !b.Owns("memcacheds.cache.example.com") || b.Owns("others.cache.example.com") || b.CRD("memcacheds.cache.example.com") == nil || b.CRD("x") != nil {
		t.Error("Owns or CRD is wrong")
	}
	size := 0
	for _, text := range f {
		size += len(text)
	}
	if b.Bytes != size {
		t.Errorf("%d bytes read, want %d", b.Bytes, size)
	}
}

// The number of workers changes nothing, nor does reading twice.
func TestReadIsTheSameForAnyWorkers(t *testing.T) {
	f := good()
	for i := range 50 {
		f[fmt.Sprintf("manifests/z%02d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n---\nb: c\n", i)
	}
	var first []string
	for _, workers := range []int{0, 1, 3, 16, 16} {
		b, err := Read(f.fs(), ReadOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		got := warnings(b)
		for _, o := range b.Others {
			got = append(got, o.File+" "+o.Identity())
		}
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
	f["manifests/z10.yaml"], f["manifests/z40.yaml"] = "a: [", "b: ["
	for range 20 {
		if _, err := Read(f.fs(), ReadOptions{Workers: 8}); err == nil || !strings.HasPrefix(err.Error(), "manifests/z10.yaml:") {
			t.Fatalf("of two broken files the first must be named: %v", err)
		}
	}
}

// A bundle is found where people keep it.
func TestLayout(t *testing.T) {
	const (
		pkg      = "operators.operatorframework.io.bundle.package.v1"
		unknown  = "no annotations: package and channels are unknown, manifests/ is taken for the manifests"
		flat     = "no manifests/ directory and no annotations: the files of this directory are taken for the bundle's manifests"
		fromName = `missing: the package is taken to be "memcached-operator", after the CSV's name`
	)
	labels := map[string]string{pkg: "labelled", "operators.operatorframework.io.bundle.channels.v1": "beta", "operators.operatorframework.io.bundle.manifests.v1": "manifests/"}
	without := func(f files, names ...string) files {
		for _, n := range names {
			delete(f, n)
		}
		return f
	}
	with := func(f files, name, text string) files {
		f[name] = text
		return f
	}
	for _, c := range []struct {
		name     string
		files    files
		labels   map[string]string
		pkg      string
		csv      string // file
		warnings []string
	}{
		{"root", good(), nil, "memcached-operator", csvFile, nil},
		{"parent", good().move("", "bundle/"), nil, "memcached-operator", "bundle/" + csvFile, nil},
		{"parent with a Dockerfile", with(good().move("", "bundle/"), "bundle.Dockerfile", "FROM scratch"), nil, "memcached-operator", "bundle/" + csvFile, nil},
		{"root without annotations", without(good(), annotationsFile), nil, "memcached-operator", csvFile, []string{"metadata/annotations.yaml: " + unknown, "metadata/annotations.yaml: " + pkg + ": " + fromName}},
		{"parent without annotations", without(good(), annotationsFile).move("", "bundle/"), nil, "memcached-operator", "bundle/" + csvFile, []string{"bundle/metadata/annotations.yaml: " + unknown, "metadata/annotations.yaml: " + pkg + ": " + fromName}},
		{"labels instead of annotations", without(good(), annotationsFile), labels, "labelled", csvFile, nil},
		{"annotations before labels", good(), labels, "memcached-operator", csvFile, nil},
		{"flat directory", without(good(), annotationsFile).move("manifests/", ""), nil, "memcached-operator", "memcached.clusterserviceversion.yaml", []string{".: " + flat, "metadata/annotations.yaml: " + pkg + ": " + fromName}},
		{"flat directory with tests", with(without(good(), annotationsFile).move("manifests/", ""), "tests/x/config.yaml", "a: b"), nil, "memcached-operator", "memcached.clusterserviceversion.yaml", []string{".: " + flat, "metadata/annotations.yaml: " + pkg + ": " + fromName}},
		{"other directories", with(without(good(), annotationsFile).move("manifests/", "deploy/objects/"), annotationsFile, strings.Replace(goodAnnotations, ": manifests/", ": ./deploy/objects", 1)), nil, "memcached-operator", "deploy/objects/memcached.clusterserviceversion.yaml", nil},
		{"annotations in another file", with(without(good(), annotationsFile), "metadata/bundle.yml", goodAnnotations), nil, "memcached-operator", csvFile, nil},
		{"the first file with annotations", with(good(), "metadata/z.yaml", "annotations:\n  "+pkg+": other\n"), nil, "memcached-operator", csvFile, nil},
		{"annotations that are no text", with(good(), annotationsFile, goodAnnotations+"  number: 1\n  empty:\n"), nil, "memcached-operator", csvFile, nil},
		{"JSON", with(without(good(), serviceFile), "manifests/service.json", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"metrics"}}`), nil, "memcached-operator", csvFile, nil},
		{"CRLF", with(good(), csvFile, strings.ReplaceAll(goodCSV, "\n", "\r\n")), nil, "memcached-operator", csvFile, nil},
		{"byte-order mark", with(good(), csvFile, "\ufeff"+goodCSV), nil, "memcached-operator", csvFile, nil},
	} {
		b, err := Read(c.files.fs(), ReadOptions{Labels: c.labels})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if b.Package != c.pkg || b.CSVObject.File != c.csv || len(b.CRDs) != 1 || len(b.Others) != 2 {
			t.Errorf("%s: package %s, CSV in %s, %d CRDs, %d others", c.name, b.Package, b.CSVObject.File, len(b.CRDs), len(b.Others))
		}
		var got []string
		for _, w := range b.Warnings {
			got = append(got, w.Error.Error())
		}
		slices.Sort(got)
		slices.Sort(c.warnings)
		if diff := cmp.Diff(c.warnings, got); diff != "" {
			t.Errorf("%s: warnings: -want +got\n%s", c.name, diff)
		}
	}
}

// An image's label at fault is named as a label.
func TestLabelErrors(t *testing.T) {
	f := good()
	delete(f, annotationsFile)
	_, err := Read(f.fs(), ReadOptions{Labels: map[string]string{olm.BundleMediaType: "plain"}})
	if want := `labels["operators.operatorframework.io.bundle.mediatype.v1"]: "plain" bundles can't be rendered, only registry+v1`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// v1beta1 CRDs have one version in a field of its own.
func TestOldCRD(t *testing.T) {
	for _, c := range []struct{ versions, want string }{
		{"  version: v1\n", "[{v1 true true}]"},
		{"  version: v1\n  versions:\n  - {name: v1, served: true, storage: false}\n  - {name: v2, served: false, storage: true}\n", "[{v1 true false} {v2 false true}]"},
	} {
		f := good()
		head, _, _ := strings.Cut(goodCRD, "  versions:")
		f[crdFile] = strings.Replace(head, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1) + "  preserveUnknownFields: true\n" + c.versions
		b, err := Read(f.fs(), ReadOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.versions, err)
			continue
		}
		if got := fmt.Sprint(b.CRDs[0].Versions); got != c.want || !b.CRDs[0].V1Beta || !b.CRDs[0].PreserveUnknownFields {
			t.Errorf("%q: got %s, %+v", c.versions, got, b.CRDs[0])
		}
	}
}

// The scope of an object is known by its kind, or by the bundle's own CRD.
func TestScopeAndVersion(t *testing.T) {
	f := good()
	f["manifests/y.yaml"] = "apiVersion: cache.example.com/v1\nkind: Memcached\nmetadata: {name: a}\n"
	f["manifests/z.yaml"] = "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\n"
	for i, s := range []string{"v1 Namespace", "apps/v1 Deployment", "rbac.authorization.k8s.io/v1beta1 Role", " ConfigMap", " PriorityClass", "policy/v1beta1 PodDisruptionBudget"} {
		version, kind, _ := strings.Cut(s, " ")
		f[fmt.Sprintf("manifests/x%d.yaml", i)] = fmt.Sprintf("apiVersion: %q\nkind: %s\nmetadata: {name: a}\n", version, kind)
	}
	b, err := Read(f.fs(), ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range b.Others {
		got[o.Kind] = fmt.Sprintf("%s, scope %d", install.APIVersionOf(o), b.ScopeOf(o))
	}
	want := map[string]string{
		"ClusterRole": "rbac.authorization.k8s.io/v1, scope 2", "ConfigMap": "v1, scope 1", "Deployment": "apps/v1, scope 1", "Memcached": "cache.example.com/v1, scope 1", "Namespace": "v1, scope 2",
		"PodDisruptionBudget": "policy/v1beta1, scope 1", "PriorityClass": "scheduling.k8s.io/v1, scope 2", "Role": "rbac.authorization.k8s.io/v1, scope 1", "Service": "v1, scope 1", "Unknown": "example.com/v1, scope 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Many files are too many.
func TestTooManyFiles(t *testing.T) {
	f := good().fs()
	for i := range int(budget.Of(budget.Bundle).Files) {
		f[fmt.Sprintf("manifests/z%d.txt", i)] = &fstest.MapFile{}
	}
	if _, err := Read(f, ReadOptions{}); err == nil || err.Error() != "manifests: more than 20000 files" {
		t.Errorf("got %v", err)
	}
}

// Whatever a CSV's file holds, reading does not panic: it gives a complete bundle or an error that names the file.
func FuzzBundle(f *testing.F) {
	f.Add([]byte(goodCSV))
	for _, pair := range [][2]string{
		{"memcached-operator.v0.0.1", "''"}, {"version: 0.0.1", "version: [1]"}, {"[configmaps]", "~"}, {"rules:", "rules: {}\n        x:"}, {"spec:\n  displayName", "spec: &a\n  x: *a\n  displayName"},
		{"replicas: 1", "replicas: 1e3"}, {"64Mi", "-1"}, {"installModes:", "installModes: ~\n  x:"}, {"owned:", "owned: {}\n    x:"}, {"kind: Cluster", "kind: List\nitems: []\nx: Cluster"}, {"strategy: deployment", "strategy: ~"},
	} {
		f.Add([]byte(strings.Replace(goodCSV, pair[0], pair[1], 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		m := good().fs()
		m[csvFile] = &fstest.MapFile{Data: data}
		b, err := Read(m, ReadOptions{})
		if err != nil {
			if e := (*manifest.Error)(nil); !errors.As(err, &e) || e.File == "" || e.Msg == "" {
				t.Errorf("an error that names no place: %#v", err)
			}
			return
		}
		if b.CSV == nil || b.CSV.Name == "" || b.CSVObject == nil || b.Package == "" {
			t.Errorf("half a bundle: %+v", b)
		}
		for _, w := range b.Warnings {
			if w.Class == "" || w.File == "" || w.Msg == "" {
				t.Errorf("a warning that names no place: %+v", w)
			}
		}
	})
}

// Each object of a bundle is the same after it is printed and read again, and is printed as before.
func FuzzPrinted(f *testing.F) {
	f.Add([]byte(goodCSV), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"1\", b: yes, c: |\n  x\n  y}\n"))
	f.Add([]byte(goodCSV), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: &a b\ndata:\n  a: *a\n  b: >\n    x\n\n     y\n  c: '0x1'\n"))
	f.Add([]byte(goodCSV), []byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1e3}]}}`))
	f.Fuzz(func(t *testing.T, csv, other []byte) {
		m := good().fs()
		m[csvFile] = &fstest.MapFile{Data: csv}
		m["manifests/other.yaml"] = &fstest.MapFile{Data: other}
		b, err := Read(m, ReadOptions{AllowUnsupported: true})
		if err != nil {
			return
		}
		for _, o := range append(b.Shipped(), b.CSVObject) {
			value, err := o.Value()
			if err != nil {
				continue
			}
			text := manifest.Encode(value)
			again, err := manifest.ReadOne("printed.yaml", text)
			if err != nil {
				t.Fatalf("%s is printed as what is not readable: %v\n%s", o.Identity(), err, text)
			}
			read, err := again.Value()
			if err != nil {
				t.Fatalf("%s is printed as what has no value: %v\n%s", o.Identity(), err, text)
			}
			if before, after := asJSON(t, value), asJSON(t, read); before != after {
				t.Errorf("%s is another object after it was printed (-before +after):\n%s", o.Identity(), cmp.Diff(before, after))
			}
			if printed := manifest.Encode(read); !bytes.Equal(printed, text) {
				t.Errorf("%s is printed in another way: %s", o.Identity(), cmp.Diff(string(text), string(printed)))
			}
		}
	})
}

// asJSON returns the value of an object as an API server gets it, where 1e3 and 1000 are the same.
func asJSON(t *testing.T, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every kind is listed once, and its group and version make an apiVersion.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range install.Kinds() {
		id := k.Name
		if seen[id] || k.Version == "" || ScopeOfKind(k.Group, k.Name) == ScopeUnknown {
			t.Errorf("%+v is listed twice or incompletely", k)
		}
		seen[id] = true
	}
	if !supported("Secret") || supported("Pod") {
		t.Error("supported is wrong")
	}
}
