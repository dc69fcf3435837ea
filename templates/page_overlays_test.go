package templates_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// render renders the example bundle with an overlay of examples/templates, none if it is empty.
func render(t *testing.T, overlay string, profile generate.Profile) (*generate.Result, *templates.Set) {
	t.Helper()
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if overlay != "" {
		overlay = filepath.Join("..", "examples", "templates", overlay)
	}
	set, err := templates.LoadDir(overlay)
	if err != nil {
		t.Fatal(err)
	}
	r, err := generate.Render(b, generate.Options{Profile: profile, Namespace: "operators", Templates: set})
	if err != nil {
		t.Fatal(err)
	}
	return r, set
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.UnmarshalStrict(data, &m); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return m
}

// kustomize puts the label of the overlay on every object, and changes nothing else of the metadata.
func TestLabelOverlay(t *testing.T) {
	r, set := render(t, "label", generate.ProfileOLM)
	files, err := output.SingleOperator(output.Operator{Name: "memcached-operator", Result: r}, set).Files(output.LayoutFlat)
	if err != nil {
		t.Fatal(err)
	}
	fsys := filesys.MakeFsInMemory()
	for _, f := range files {
		if err := fsys.WriteFile("/tree/"+f.Path, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, "/tree")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(built.Resources()); got != len(r.Objects) || got < 10 {
		t.Errorf("%d objects built, %d rendered", got, len(r.Objects))
	}
	for _, o := range built.Resources() {
		if got := o.GetLabels()["example.com/team"]; got != "data-platform" {
			t.Errorf("%s %s has the label %q", o.GetKind(), o.GetName(), got)
		}
	}
}

// checkChange compares what an overlay makes of the objects of some kinds, changed by hand, and that it leaves the others alone.
func checkChange(t *testing.T, overlay string, profile generate.Profile, change func(o map[string]any) bool) {
	t.Helper()
	want, _ := render(t, "", profile)
	got, _ := render(t, overlay, profile)
	if len(want.Objects) != len(got.Objects) {
		t.Fatalf("%d objects, want %d", len(got.Objects), len(want.Objects))
	}
	changed := 0
	for i, o := range want.Objects {
		m := decode(t, o.Data)
		if change(m) {
			changed++
		} else if string(o.Data) != string(got.Objects[i].Data) {
			t.Errorf("%s %s is another", o.Kind, o.Name)
		}
		if diff := cmp.Diff(m, decode(t, got.Objects[i].Data)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", o.Kind, o.Name, diff)
		}
	}
	if changed == 0 {
		t.Error("nothing is changed")
	}
}

func TestSecurityContextOverlay(t *testing.T) {
	for _, profile := range overlayProfiles {
		had := false
		checkChange(t, "security-context", profile, func(o map[string]any) bool {
			if o["kind"] != "Deployment" {
				return false
			}
			pod := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			if _, had = pod["securityContext"]; !had {
				pod["securityContext"] = map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}}
			}
			return true
		})
		t.Log(profile, "the bundle has a securityContext:", had)
	}
}

func TestBindingAnnotationOverlay(t *testing.T) {
	for _, profile := range overlayProfiles {
		checkChange(t, "binding-annotation", profile, func(o map[string]any) bool {
			meta := o["metadata"].(map[string]any)
			if kind, _ := o["kind"].(string); !strings.HasSuffix(kind, "RoleBinding") {
				return false
			}
			contact, _ := meta["namespace"].(string)
			if contact == "" {
				contact = "platform"
			}
			meta["annotations"] = map[string]any{"example.com/contact": contact + "@example.com"}
			return true
		})
	}
}

var overlayProfiles = []generate.Profile{generate.ProfileOLM, generate.ProfilePlain, generate.ProfileDescoped, generate.ProfileOLMv1}
