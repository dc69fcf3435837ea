package reviewtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	rbac "k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/manifest"
)

// Rewritten returns the objects in another order, with every role broken into atoms and dealt to two roles with
// bindings of their own.
func Rewritten(tb testing.TB, list []*manifest.Object, random *rand.Rand) []*manifest.Object {
	tb.Helper()
	var docs []string
	add := func(v any) {
		data, err := yaml.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		docs = append(docs, string(data))
	}
	var out []*manifest.Object
	for _, o := range list {
		roleOrBinding := strings.HasSuffix(o.Kind, "Role") || strings.HasSuffix(o.Kind, "RoleBinding")
		if o.Group() != rbacv1.GroupName || !roleOrBinding {
			out = append(out, o)
			continue
		}
		v, err := o.Value()
		if err != nil {
			tb.Fatal(err)
		}
		deal(tb, list, o, v, random, add)
	}
	out = append(out, Objects(tb, "rewritten", strings.Join(docs, "---\n"))...)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// deal makes two roles, or two bindings, of one.
func deal(tb testing.TB, list []*manifest.Object, o *manifest.Object, v map[string]any, random *rand.Rand,
	add func(any)) {
	tb.Helper()
	meta := v["metadata"].(map[string]any)
	var r rbacv1.ClusterRole
	if strings.HasSuffix(o.Kind, "Role") {
		if _, err := o.Into(&r); err != nil {
			tb.Fatal(err)
		}
	}
	var atoms []rbacv1.PolicyRule
	for _, rule := range r.Rules {
		atoms = append(atoms, rbac.BreakdownRule(rule)...)
	}
	random.Shuffle(len(atoms), func(i, j int) { atoms[i], atoms[j] = atoms[j], atoms[i] })
	ref, bound := v["roleRef"].(map[string]any)
	refers := func(b *manifest.Object) bool { return refersTo(tb, b, o) }
	if !bound && !slices.ContainsFunc(list, refers) { // it is known by its name
		v["rules"] = atoms
		add(v)
		return
	}
	for n := range 2 {
		meta["name"] = fmt.Sprintf("%s-%d", o.Name, n)
		if !bound {
			v["rules"] = atoms[n*len(atoms)/2 : (n+1)*len(atoms)/2]
			add(v)
			continue
		}
		own := maps.Clone(ref)
		is := func(r *manifest.Object) bool { return r.Name == ref["name"] && r.Kind == ref["kind"] }
		if slices.ContainsFunc(list, is) {
			own["name"] = fmt.Sprintf("%s-%d", ref["name"], n)
		}
		v["roleRef"] = own
		add(v)
	}
}

// refersTo reports whether an object is a binding of a role.
func refersTo(tb testing.TB, binding, role *manifest.Object) bool {
	tb.Helper()
	if binding.Group() != rbacv1.GroupName || !strings.HasSuffix(binding.Kind, "Binding") {
		return false
	}
	name, err := binding.Get("roleRef", "name")
	if err != nil {
		tb.Fatal(err)
	}
	kind, err := binding.Get("roleRef", "kind")
	if err != nil {
		tb.Fatal(err)
	}
	return name == role.Name && kind == role.Kind && (kind == "ClusterRole" || binding.Namespace == role.Namespace)
}
