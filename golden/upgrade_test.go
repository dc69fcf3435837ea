package golden

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// No object that olmgen authors changes a field that the API server would not let change when the next version of an operator is applied over
// this one. ("make e2e" asks a real one, about fewer bundles.)
func TestUpgrade(t *testing.T) {
	var pairs [][2]string
	own, err := filepath.Glob("upgrades/*")
	if err != nil || len(own) == 0 {
		t.Fatalf("no pairs: %v", err)
	}
	for _, dir := range own {
		pairs = append(pairs, [2]string{filepath.Join(dir, "from"), filepath.Join(dir, "to")})
	}
	if corpustest.Set(t) {
		for _, p := range corpustest.Packages(t) {
			for i := 1; i < len(p.Bundles); i++ {
				pairs = append(pairs, [2]string{p.Bundles[i-1], p.Bundles[i]})
			}
		}
	}
	same := 0
	for _, pair := range pairs {
		from, to := readBundle(t, pair[0]), readBundle(t, pair[1])
		if from == nil || to == nil {
			continue
		}
		for _, o := range corpusOptions(to.CSV) {
			if o.Profile != generate.ProfileOLM {
				continue // the other one has the same bindings
			}
			before, err := generate.Render(from, o)
			if err != nil {
				continue // the older one does not support that mode
			}
			after, err := generate.Render(to, o)
			if err != nil {
				t.Fatalf("%s: %v", pair[1], err)
			}
			same += immutable(t, pair[1], references(t, from, before), references(t, to, after))
		}
	}
	if same == 0 {
		t.Error("no binding was in both versions")
	}
}

// readBundle returns nil for a bundle that is refused. TestCorpus checks the reason.
func readBundle(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err == nil {
		return b
	}
	if class, _ := corpus.Refusal(err); class == "" {
		t.Fatalf("%s: %v", dir, err)
	}
	return nil
}

// references are the roleRefs of the bindings that are not the bundle's own.
func references(t *testing.T, b *bundle.Bundle, result *generate.Result) map[string]rbacv1.RoleRef {
	t.Helper()
	shipped := map[string]bool{}
	for _, o := range b.Others {
		shipped[o.Kind+" "+o.Name] = true
	}
	refs := map[string]rbacv1.RoleRef{}
	for _, o := range result.Objects {
		if (o.Kind != "RoleBinding" && o.Kind != "ClusterRoleBinding") || shipped[o.Kind+" "+o.Name] {
			continue
		}
		var binding rbacv1.RoleBinding
		if err := yaml.Unmarshal(o.Data, &binding); err != nil {
			t.Fatal(err)
		}
		refs[identity(o.Group(), o.Kind, o.Namespace, o.Name)] = binding.RoleRef
	}
	return refs
}

// immutable counts the bindings of both versions and reports those that refer to another role.
func immutable(t *testing.T, what string, before, after map[string]rbacv1.RoleRef) (both int) {
	t.Helper()
	for key, ref := range after {
		if old, ok := before[key]; ok {
			both++
			if !reflect.DeepEqual(old, ref) {
				t.Errorf("%s: %s refers to %v and no longer to %v", what, key, ref, old)
			}
		}
	}
	return both
}
