package olmv1

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

type Config = v1alpha1.SubscriptionConfig

const testNamespace = "install-ns"

// readBundle reads a bundle of package demo with these manifests.
func readBundle(t *testing.T, manifests ...string) *bundle.Bundle {
	t.Helper()
	fsys := fstest.MapFS{"metadata/annotations.yaml": {Data: []byte("annotations:\n  " + olm.BundlePackage + ": demo\n")}}
	for i, m := range manifests {
		fsys["manifests/"+string(rune('a'+i))+".yaml"] = &fstest.MapFile{Data: []byte(m)}
	}
	b, err := bundle.Read(fsys, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// csv returns a CSV that supports the modes (a letter each: A, O, S, M) with this content of spec, indented by two.
func csv(modes, spec string) string {
	var b strings.Builder
	b.WriteString("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: demo.v1.2.3\n" +
		"  annotations: {note: from-csv, both: from-csv}\nspec:\n  version: 1.2.3\n  installModes:\n")
	for _, mode := range bundle.InstallModes {
		fmt.Fprintf(&b, "  - {type: %s, supported: %t}\n", mode, strings.Contains(modes, string(mode[:1])))
	}
	return b.String() + spec
}

func render(t *testing.T, b *bundle.Bundle, o Options) []Object {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = testNamespace
	}
	objects, err := Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		if objects[i].Value, err = objects[i].Content(); err != nil {
			t.Fatal(err)
		}
		objects[i].Carried = nil
		manifest.Encode(objects[i].Value) // panics at what it can't print
	}
	return objects
}

// list returns "Kind namespace/name" of each object.
func list(objects []Object) (out []string) {
	for _, o := range objects {
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		out = append(out, o.Kind+" "+name)
	}
	return out
}

// find returns the one object of a kind and name.
func find(t *testing.T, objects []Object, kind, name string) map[string]any {
	t.Helper()
	var found []Object
	for _, o := range objects {
		if o.Kind == kind && o.Name == name {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d of %s %s in %q", len(found), kind, name, list(objects))
	}
	return found[0].Value
}

// wantYAML compares a value with YAML.
func wantYAML(t *testing.T, got any, want string) {
	t.Helper()
	var w, g map[string]any
	if err := yaml.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	b, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("(- want, + got)\n%s", d)
	}
}

func wantList(t *testing.T, got []Object, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, list(got)); d != "" {
		t.Errorf("(- want, + got)\n%s", d)
	}
}
