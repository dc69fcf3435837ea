package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
)

// What the templates print of an object of OLM v1 is in olmgen's form, and every kind that it makes has a template.
func TestOLMv1Views(t *testing.T) {
	dirs, err := filepath.Glob("../golden/*/bundle")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no bundles", err)
	}
	checkOLMv1Views(t, append(dirs, "../examples/memcached-operator/bundle"))
}

func TestOLMv1ViewsCorpus(t *testing.T) { checkOLMv1Views(t, corpustest.Bundles(t)) }

func checkOLMv1Views(t *testing.T, dirs []string) {
	t.Helper()
	kinds := map[string]int{}
	for _, dir := range dirs {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
		if err != nil {
			continue
		}
		for _, o := range []olmv1.Options{{Certs: olmv1.CertManager}, {Certs: olmv1.ServiceCA}, {TargetNamespaces: []string{"team"}},
			{TargetNamespaces: []string{"operators"}}} {
			o.Namespace = "operators"
			objects, err := olmv1.Render(b, o)
			if err != nil {
				continue // OLM v1 refuses it
			}
			for _, x := range objects {
				if x.View == nil {
					continue
				}
				kinds[x.Kind]++
				got, err := objectOLMv1(x, Options{})
				if err != nil {
					t.Fatal(err)
				}
				value, err := x.Content()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(manifest.Encode(value)), string(got.Data)); diff != "" {
					t.Errorf("%s: %s %s (-want +got):\n%s", dir, x.Kind, x.Name, diff)
				}
			}
		}
	}
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Deployment", "Service", "Issuer", "Certificate",
		"ValidatingWebhookConfiguration"} {
		if kinds[kind] < corpustest.Least(t, 1) {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
}
