package generate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/option"
)

const shippedRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: memcached-metrics}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
`

// canary returns two versions of one operator, in groups of their own; the second one has a changed CRD.
func canary(t *testing.T, from [2]string) []Operator {
	t.Helper()
	changed := strings.Replace(memcachedCRD, "type: object", "type: object, description: other", 1)
	second := testBundle(t, allModes+ownsMemcached, changed, strings.Replace(shippedRole, "get", "list", 1))
	out := []Operator{
		{Name: "x1", Bundle: testBundle(t, allModes+ownsMemcached, memcachedCRD, shippedRole)},
		{Name: "x2", Bundle: second},
	}
	for i, ns := range []string{"one", "two"} {
		out[i].Options = Options{Namespace: ns, OperatorGroup: ns, TargetNamespaces: []string{ns},
			ClusterObjectsFrom: from[i]}
	}
	return out
}

// Two versions of one operator are there together if one group brings the cluster-scoped objects, in either order.
func TestClusterObjectsFrom(t *testing.T) {
	for i, from := range [][2]string{{"two", ""}, {"", "one"}} {
		brings := []int{1 - i}
		set, owners := together(t, canary(t, from)...)
		for _, o := range set.Objects {
			key := strings.TrimSuffix(o.Kind+" "+o.Namespace+"/"+o.Name, "/")
			switch {
			case o.Kind == "CustomResourceDefinition", o.Name == "memcached-metrics", strings.HasPrefix(o.Name, "memcacheds."):
				if diff := cmp.Diff(brings, owners[key]); diff != "" {
					t.Errorf("%v: %s: %s", from, key, diff)
				}
			}
			if o.Kind == "CustomResourceDefinition" && strings.Contains(string(o.Data), "description: other") != (i == 0) {
				t.Errorf("%v: not the CRD of the group that brings it:\n%s", from, o.Data)
			}
			if strings.HasSuffix(o.Name, "-admin") && owners[key][0] != brings[0] {
				for _, group := range []string{"one", "two"} {
					if want := "aggregate-to-admin: " + group; !strings.Contains(string(o.Data), want) {
						t.Errorf("%v: %s has no %s", from, key, want)
					}
				}
			}
		}
		for _, group := range []string{"one", "two"} {
			if owners["ClusterRole /"+group+"-admin"] == nil || owners["OperatorGroup "+group+"/"+group] == nil {
				t.Errorf("%v: group %s is not complete", from, group)
			}
		}
		var said []string
		for _, w := range set.Results[i].Warnings {
			if w.Class == bundle.WarnClusterObjects {
				said = append(said, w.Msg)
			}
		}
		other := []string{"x2", "x1"}[i]
		want := []string{"leaves out ClusterRole memcached-metrics, and " + other + " has one with other rules"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
	}
}

func TestClusterObjectsFromRefused(t *testing.T) {
	priority := "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: "
	unserved := strings.NewReplacer("v1alpha1", "v1").Replace
	for name, c := range map[string]struct {
		from   [2]string
		change func(operators []Operator)
		want   string
	}{
		"not said":         {want: "x1 and x2 both make CustomResourceDefinition"},
		"no such group":    {from: [2]string{"", "three"}, want: `no other group in namespace "three" brings`},
		"the group itself": {from: [2]string{"", "two"}, want: `no other group in namespace "two" brings`},
		"each the other":   {from: [2]string{"two", "one"}, want: `no other group in namespace "two" brings`},
		"a version is not served": {from: [2]string{"two", ""}, change: func(operators []Operator) {
			operators[1].Bundle = testBundle(t, unserved(allModes+ownsMemcached), unserved(memcachedCRD))
		}, want: "the operator owns version v1alpha1 of memcacheds.cache.example.com, and the CRD that x2 brings does not serve it"},
		"another object": {from: [2]string{"two", ""}, change: func(operators []Operator) {
			operators[0].Bundle = testBundle(t, allModes+ownsMemcached, memcachedCRD, priority+"1\n")
			operators[1].Bundle = testBundle(t, allModes+ownsMemcached, memcachedCRD, priority+"2\n")
		}, want: "PriorityClass high differs from that of x2, which is rendered"},
	} {
		operators := canary(t, c.from)
		if c.change != nil {
			c.change(operators)
		}
		_, err := RenderAll(operators)
		var refused *Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Hint() == "" {
			t.Errorf("%s: %v, want %q and a hint", name, err, c.want)
		} else if len(refused.About()) == 0 || refused.About()[0] != option.ClusterObjectsFrom {
			t.Errorf("%s: the hint does not name the option: %v", name, refused.About())
		}
	}
}

// Without OLM nobody keeps two releases of one operator from changing the same objects.
func TestRivals(t *testing.T) {
	for targets, want := range map[string]string{"two": "", "one": "x1 and x2 both manage memcacheds.cache.example.com in the same namespaces",
		allNamespaces: "x1 and x2 both manage"} {
		for _, shared := range [][]string{nil, {"memcacheds.cache.example.com"}} {
			operators := canary(t, [2]string{"two", ""})
			for i := range operators {
				operators[i].Options.Profile, operators[i].Options.SharedAPIs = ProfilePlain, shared
			}
			if operators[1].Options.TargetNamespaces = []string{targets}; targets == allNamespaces {
				operators[1].Options.TargetNamespaces = nil
			}
			_, err := RenderAll(operators)
			if refused := want != "" && shared == nil; refused != (err != nil) || refused && !strings.Contains(err.Error(), want) {
				t.Errorf("targets %q, shared %v: %v, want %q", targets, shared, err, want)
			}
		}
	}
}
