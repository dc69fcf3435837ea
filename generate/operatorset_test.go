package generate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
)

const ownsRedis = `
customresourcedefinitions:
  owned:
  - {name: redises.cache.example.com, version: v1, kind: Redis}
`

// redisBundle is a second operator, of the package redis.
func redisBundle(t *testing.T) *bundle.Bundle {
	t.Helper()
	csv := "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: redis-operator.v1.0.0\nspec:" +
		strings.ReplaceAll("\ndisplayName: Redis"+allModes+ownsRedis, "\n", "\n  ") + "\n"
	crd := strings.NewReplacer("memcacheds", "redises", "memcached", "redis", "Memcached", "Redis", "v1alpha1", "v1").Replace(memcachedCRD)
	b := csvBundle(t, csv, crd)
	b.Package = "redis"
	return b
}

// together renders operators as one set, by "Kind namespace/name" with the operators that an object belongs to.
func together(t *testing.T, operators ...Operator) (*Set, map[string][]int) {
	t.Helper()
	set, err := RenderAll(operators)
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string][]int{}
	for _, o := range set.Objects {
		owners[strings.TrimSuffix(o.Kind+" "+o.Namespace+"/"+o.Name, "/")] = o.Operators
	}
	return set, owners
}

func TestOneOperatorGroupForSeveralOperators(t *testing.T) {
	for _, names := range []Names{NamesStable, NamesOLM} {
		o := Options{Namespace: "operators", OperatorGroup: "shared", Names: names, TargetNamespaces: []string{"a"}}
		set, owners := together(t,
			Operator{Bundle: testBundle(t, allModes+ownsMemcached, memcachedCRD), Options: o},
			Operator{Bundle: redisBundle(t), Options: o})
		if diff := cmp.Diff([]int{0, 1}, owners["OperatorGroup operators/shared"]); diff != "" {
			t.Errorf("%s: who owns the OperatorGroup: %s", names, diff)
		}
		if diff := cmp.Diff([]int{1}, owners["CustomResourceDefinition /redises.cache.example.com"]); diff != "" {
			t.Errorf("%s: who owns the CRD of redis: %s", names, diff)
		}
		selectors := 0
		for _, x := range set.Objects {
			data := string(x.Data)
			if x.Kind == "OperatorGroup" && !strings.Contains(data, "olm.providedAPIs: Memcached.v1alpha1.cache.example.com,Redis.v1.cache.example.com") {
				t.Errorf("%s: not the union of APIs:\n%s", names, data)
			}
			if strings.Contains(data, "clusterRoleSelectors") {
				selectors += strings.Count(data, "matchLabels")
			}
		}
		if want := map[Names]int{NamesStable: 3, NamesOLM: 6}[names]; selectors != want {
			t.Errorf("%s: the group's ClusterRoles select %d labels, want %d", names, selectors, want)
		}
	}
}

// A group without targets has the install mode that all its operators support.
func TestInstallModeOfAGroup(t *testing.T) {
	const ownOnly = "\ninstallModes: [{type: OwnNamespace, supported: true}, {type: AllNamespaces, supported: false}]"
	const noneOpen = "\ninstallModes: [{type: SingleNamespace, supported: true}]"
	o := Options{Namespace: "operators", OperatorGroup: "shared"}
	set, owners := together(t, Operator{Bundle: testBundle(t, ownOnly+ownsMemcached, memcachedCRD), Options: o},
		Operator{Bundle: redisBundle(t), Options: o})
	for _, r := range set.Results {
		if r.InstallMode != v1alpha1.InstallModeTypeOwnNamespace {
			t.Errorf("%s is rendered for %s", r.Package, r.InstallMode)
		}
	}
	if got := owners["OperatorGroup operators/shared"]; len(got) != 2 {
		t.Errorf("the OperatorGroup belongs to %v", got)
	}
	_, err := RenderAll([]Operator{{Bundle: testBundle(t, noneOpen+ownsMemcached, memcachedCRD), Options: o}, {Bundle: redisBundle(t), Options: o}})
	if err == nil || !strings.Contains(err.Error(), "neither AllNamespaces nor OwnNamespace") {
		t.Error(err)
	}
}

// What OLM makes of an operator does not depend on the others but for the OperatorGroup and its ClusterRoles.
func TestTogetherEqualsAlone(t *testing.T) {
	o := Options{Namespace: "operators", OperatorGroup: "shared"}
	b := testBundle(t, allModes+ownsMemcached+oneDeployment, memcachedCRD)
	set, _ := together(t, Operator{Bundle: b, Options: o}, Operator{Bundle: redisBundle(t), Options: o})
	alone, err := Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for _, x := range set.Objects {
		data[x.key()] = string(x.Data)
	}
	for _, x := range alone.Objects {
		if diff := cmp.Diff(string(x.Data), data[x.key()]); diff != "" && x.Kind != "OperatorGroup" {
			t.Errorf("%s: %s", x.key(), diff)
		}
	}
}

func TestWhatCannotBeTogether(t *testing.T) {
	memcached := func() *bundle.Bundle { return testBundle(t, allModes+ownsMemcached, memcachedCRD) }
	changed := testBundle(t, allModes+ownsMemcached, strings.Replace(memcachedCRD, "type: object", "type: object, description: other", 1))
	for name, c := range map[string]struct {
		a, b Operator
		want string
	}{
		"two groups in a namespace": {
			Operator{Bundle: memcached(), Options: Options{Namespace: "operators", OperatorGroup: "one"}},
			Operator{Bundle: redisBundle(t), Options: Options{Namespace: "operators", OperatorGroup: "two"}},
			"TooManyOperatorGroups: memcached and redis have different OperatorGroups, one and two, in namespace operators"},
		"two owners in a namespace": {
			Operator{Name: "m1", Bundle: memcached(), Options: Options{Namespace: "operators"}},
			Operator{Name: "m2", Bundle: memcached(), Options: Options{Namespace: "operators"}},
			"OwnerConflict: m1 and m2 both own memcacheds.cache.example.com in namespace operators"},
		"global and own namespace": {
			Operator{Name: "m1", Bundle: memcached(), Options: Options{Namespace: "operators"}},
			Operator{Name: "m2", Bundle: memcached(), Options: Options{Namespace: "other", TargetNamespaces: []string{"other"}}},
			"InterOperatorGroupOwnerConflict: OperatorGroups operators/memcached (m1) and other/memcached (m2) watch the same namespaces and both provide Memcached.v1alpha1.cache.example.com"},
		"a target that is the other's own namespace": {
			Operator{Name: "m1", Bundle: memcached(), Options: Options{Namespace: "one", TargetNamespaces: []string{"two"}}},
			Operator{Name: "m2", Bundle: memcached(), Options: Options{Namespace: "two", TargetNamespaces: []string{"three"}}},
			"InterOperatorGroupOwnerConflict"},
		"another version of the CRD": {
			Operator{Name: "m1", Bundle: memcached(), Options: Options{Namespace: "one", TargetNamespaces: []string{"one"}}},
			Operator{Name: "m2", Bundle: changed, Options: Options{Namespace: "two", TargetNamespaces: []string{"two"}}},
			"m1 and m2 both make CustomResourceDefinition memcacheds.cache.example.com, with different content"},
		"one group with two scopes": {
			Operator{Bundle: memcached(), Options: Options{Namespace: "one", OperatorGroup: "g", TargetNamespaces: []string{"one"}}},
			Operator{Bundle: redisBundle(t), Options: Options{Namespace: "one", OperatorGroup: "g"}},
			"memcached and redis both make OperatorGroup one/g, with different content"},
	} {
		_, err := RenderAll([]Operator{c.a, c.b})
		var refused *Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Hint() == "" {
			t.Errorf("%s: %v, want %q and a hint", name, err, c.want)
		}
	}
}

// Two groups that do not meet may hold the same operator: they share its CRD and API roles.
func TestTwoInstallsOfOneOperator(t *testing.T) {
	b := testBundle(t, allModes+ownsMemcached, memcachedCRD)
	one, two := Options{Namespace: "one", TargetNamespaces: []string{"one"}}, Options{Namespace: "two", TargetNamespaces: []string{"two"}}
	if _, err := RenderAll([]Operator{{Name: "m1", Bundle: b, Options: one}, {Name: "m2", Bundle: b, Options: two}}); err == nil {
		t.Error("no error although the ClusterRoles have stable names")
	}
	one.Names, two.Names = NamesOLM, NamesOLM
	_, owners := together(t, Operator{Name: "m1", Bundle: b, Options: one}, Operator{Name: "m2", Bundle: b, Options: two})
	if diff := cmp.Diff([]int{0, 1}, owners["CustomResourceDefinition /memcacheds.cache.example.com"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1}, owners["OperatorGroup two/memcached"]); diff != "" {
		t.Error(diff)
	}
}
