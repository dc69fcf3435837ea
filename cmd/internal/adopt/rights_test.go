package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
)

// What a plan deletes is weighed: it names who loses which right, those that only a deleted object grants and those
// that a binding of the cluster reaches.
func TestLostRights(t *testing.T) {
	const dump, account = "two-operators-in-one-group.yaml", "ServiceAccount operator-ns/memcached-operator-controller-manager loses, "
	leases := account + "in operator-ns: coordination.k8s.io: get,list,watch,create,update,patch,delete leases"
	bob := func(items []object) []object {
		return append(items, object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
			"metadata": object{"name": "bob"}, "subjects": []any{object{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}},
			"roleRef": object{"kind": "ClusterRole", "name": "porters.porter.example.com-v1-view", "apiGroup": "rbac.authorization.k8s.io"}})
	}
	for _, c := range []struct {
		to     generate.Profile
		change func([]object) []object
		lost   string
		want   bool
	}{
		{generate.ProfileOLMv1, same, leases, true},
		{generate.ProfilePlain, same, leases, false},
		{generate.ProfileOLM, same, "loses", false},
		{generate.ProfileSubscription, same, "loses", false},
		{generate.ProfilePlain, same, account + "in operator-ns: operators.coreos.com: get,update,patch operatorconditions named memcached-operator.v0.0.1", false}, // OLM's own bookkeeping
		{generate.ProfileOLMv1, bob, "User bob loses, in cluster: porter.example.com: get,list,watch porters", true},
		{generate.ProfilePlain, bob, "User bob loses", false},
	} {
		s := edited(t, dump, c.change)
		o := adopt.Options{To: c.to}
		plan := planOf(t, s, declared(t, s, o), o)
		if slices.ContainsFunc(plan.Lost, func(l string) bool { return strings.HasPrefix(l, c.lost) || strings.Contains(l, " "+c.lost+",") }) != c.want {
			t.Errorf("%s: want %q to be %t in:\n%s", c.to, c.lost, c.want, strings.Join(plan.Lost, "\n"))
		}
		// the comparison says the same, and what a person has to decide is an error
		file := asMaps(t, declared(t, s, o))
		left := s.Left(file)
		var asOLM []object
		if len(left) > 0 {
			asOLM = asMaps(t, declared(t, s.Only(left), adopt.Options{}))
		}
		v, err := s.VerifyLeaving(file, left, asOLM)
		if err != nil || !slices.Equal(v.Lost, plan.Lost) {
			t.Errorf("%s: %v, the comparison says %q, and the plan %q", c.to, err, v.Lost, plan.Lost)
		}
		errors, known := 0, 0
		for _, f := range v.Findings() {
			if strings.HasPrefix(f.Message, "loses, ") && f.Level == findings.Error {
				errors++
			}
		}
		for _, f := range plan.Known {
			if strings.HasPrefix(f.Message, "loses, ") {
				known++
			}
		}
		if errors != len(plan.Lost) || known != len(plan.Lost) {
			t.Errorf("%s: %d errors, %d known, %d lost rights", c.to, errors, known, len(plan.Lost))
		}
	}
}

// OLM takes the API of an operator that leaves from the ClusterRoles of the group that stays. Who has its rights from
// them alone loses them.
func TestLostByTheGroup(t *testing.T) {
	const lost = "User eve loses, in cluster: porter.example.com: "
	for _, c := range []struct {
		choice adopt.Selection
		owner  string // of the API, beside porter
		want   bool
	}{
		{adopt.Selection{Packages: []string{"porter-operator"}}, "", true},
		{adopt.Selection{Packages: []string{"porter-operator"}}, "memcached", false},
		{adopt.Selection{Except: []string{"porter-operator"}}, "", false},
		{adopt.Selection{}, "", false},
	} {
		s := edited(t, twoOperators, func(items []object) []object {
			for _, o := range items {
				meta := in(o, "metadata")
				name := fmt.Sprint(meta["name"])
				crds := in(o, "spec", "customresourcedefinitions")
				switch {
				case o["kind"] == "ClusterServiceVersion" && c.owner != "" && strings.HasPrefix(name, c.owner):
					crds["owned"] = append(crds["owned"].([]any), object{"name": "porters.porter.example.com", "version": "v1", "kind": "Porter"})
				case strings.HasPrefix(name, "olm.og.my-og.admin-"):
					items = append(items, object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
						"metadata": object{"name": "eve"}, "subjects": []any{object{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}},
						"roleRef": object{"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}})
				}
			}
			return items
		})
		s = chosen(t, s, c.choice)
		o := adopt.Options{To: generate.ProfilePlain}
		plan := planOf(t, s, declared(t, s, o), o)
		if slices.ContainsFunc(plan.Lost, func(l string) bool { return strings.HasPrefix(l, lost) }) != c.want {
			t.Errorf("%+v: want %q to be %t in:\n%s", c, lost, c.want, strings.Join(plan.Lost, "\n"))
		}
	}
}
