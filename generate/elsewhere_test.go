package generate

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
)

// Elsewhere is Render with the other namespaces, in the same install mode.
func TestElsewhere(t *testing.T) {
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ here, there Options }{
		"all":      {Options{Namespace: "a"}, Options{Namespace: "b"}},
		"own":      {Options{Namespace: "a", TargetNamespaces: []string{"a"}}, Options{Namespace: "b", TargetNamespaces: []string{"b"}}},
		"single":   {Options{Namespace: "a", TargetNamespaces: []string{"x"}}, Options{Namespace: "b", TargetNamespaces: []string{"y"}}},
		"multiple": {Options{Namespace: "a", TargetNamespaces: []string{"x", "y"}}, Options{Namespace: "b", TargetNamespaces: []string{"z", "b", "y"}}},
		"olmv1": {Options{Namespace: "a", Profile: ProfileOLMv1, TargetNamespaces: []string{"x"}},
			Options{Namespace: "b", Profile: ProfileOLMv1, TargetNamespaces: []string{"x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			here, err := Render(b, c.here)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Render(b, c.there)
			if err != nil {
				t.Fatal(err)
			}
			got, err := here.RenderIn("b", c.there.TargetNamespaces)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Objects, got.Objects); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	single, err := Render(b, Options{Namespace: "a", TargetNamespaces: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := single.RenderIn("x", []string{"x"}); err == nil {
		t.Error("no error for a SingleNamespace operator in its target: Render takes that for OwnNamespace, Elsewhere keeps the mode")
	}
}

func TestSpecialNamespaces(t *testing.T) {
	for dir, want := range map[string][]string{
		"suggested-namespace":      {"clock-system", "copies", "kube-system"},
		"covered-by-shipped-roles": {"copies", "doors", "kube-system"},
	} {
		b, err := bundle.Read(os.DirFS("../golden/"+dir+"/bundle"), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Render(b, Options{CopiedCSVNamespaces: []string{"copies"}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, ns := range r.FixedNamespaces() {
			got[ns] = true
		}
		for _, ns := range want {
			if !got[ns] {
				t.Errorf("%s: %s is missing in %v", dir, ns, r.FixedNamespaces())
			}
		}
	}
}
