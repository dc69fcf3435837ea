package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
)

func packages(operators []*Operator) (names []string) {
	for _, o := range operators {
		names = append(names, o.Group.Namespace+"/"+o.Package)
	}
	return names
}

// fleet has ferry and tug in harbour, and tug in bay.
func fleet() []map[string]any {
	return slices.Concat(ferry(), tug("harbour"), tug("bay"), []map[string]any{item("OperatorGroup", "bay/og", `{}`)})
}

// Operators are chosen by package or CSV and by namespace; the others stay with OLM.
func TestSelection(t *testing.T) {
	all := []string{"bay/tug", "harbour/ferry", "harbour/tug"}
	for _, c := range []struct {
		choice Selection
		want   []string
		err    string
	}{
		{Selection{}, all, ""},
		{Selection{Packages: []string{"tug"}}, []string{"bay/tug", "harbour/tug"}, ""},
		{Selection{Packages: []string{"ferry.v1.0.0"}}, []string{"harbour/ferry"}, ""},
		{Selection{Except: []string{"tug"}}, []string{"harbour/ferry"}, ""},
		{Selection{Namespaces: []string{"harbour"}}, []string{"harbour/ferry", "harbour/tug"}, ""},
		{Selection{Namespaces: []string{"harbour"}, Packages: []string{"tug"}, Except: []string{"ferry"}}, []string{"harbour/tug"}, ""},
		{Selection{Packages: []string{"boat"}}, nil, `the cluster has no operator "boat"`},
		{Selection{Namespaces: []string{"pier"}}, nil, "namespace pier has no operator"},
	} {
		s := cluster(t, fleet())
		got, err := s.Select(c.choice)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%+v: %v", c.choice, err)
			}
			continue
		}
		if err != nil || !slices.Equal(packages(got.All()), c.want) || len(got.All())+len(got.notAdopted()) != len(all) {
			t.Errorf("%+v: %q and %q, %v", c.choice, packages(got.All()), packages(got.notAdopted()), err)
			continue
		}
		for _, o := range s.All() {
			if want := slices.Contains(c.want, o.Group.Namespace+"/"+o.Package); got.Adopts(o.Group.Namespace, o.CSV.Name) != want {
				t.Errorf("%+v: %s/%s is adopted: %t", c.choice, o.Group.Namespace, o.CSV.Name, !want)
			}
		}
		if len(got.All()) != len(got.Only(got.All()).All()) {
			t.Errorf("%+v: only these are %q", c.choice, packages(got.Only(got.All()).All()))
		}
	}
}

// A file that would have no operator is refused, unless it says why.
func TestCheckSome(t *testing.T) {
	failed := with(ferry(), "ClusterServiceVersion", `status: {phase: Failed, reason: NoOperatorGroup}`)
	for _, c := range []struct {
		what string
		s    *State
		want string
	}{
		{"one", cluster(t, ferry()), ""},
		{"none", cluster(t, ferry()[:1]), "the dump has no operator that OLM installed"},
		{"none is chosen", cluster(t, ferry()).Only(nil), "every operator of the dump is left out"},
		{"all are refused", cluster(t, failed), ""},
	} {
		got := ""
		if err := c.s.checkSome(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// An operator that is refused while it is rendered leaves the file, with an error; the others stay.
func TestRefuse(t *testing.T) {
	s := cluster(t, fleet())
	got := s.Refuse(only(s, "ferry")[0], "no bundle")
	if want := []string{"bay/tug", "harbour/tug"}; !slices.Equal(packages(got.All()), want) || findings.Count(got.Findings, findings.Error) != 1 {
		t.Errorf("%q, %v", packages(got.All()), got.Findings)
	}
}

// OLM does not run an operator whose group it refuses. While it has not run one, the install modes tell.
func TestRefusal(t *testing.T) {
	const own = `spec: {installModes: [{type: OwnNamespace, supported: true}]}, `
	for _, c := range []struct {
		what, csv, group string
		want             string
	}{
		{"it runs", own + `status: {phase: Succeeded}`, `{}`, ""},
		{"it has failed for its group", `status: {phase: Failed, reason: TooManyOperatorGroups, message: two}`, `{}`, "OLM does not run it (TooManyOperatorGroups): two"},
		{"it has failed", `status: {phase: Failed, reason: ComponentUnhealthy}`, `{}`, ""},
		{"it waits, and has failed for its group before", `status: {phase: Pending, reason: TooManyOperatorGroups}`, `{}`, ""},
		{"it does not support the group", own + `status: {phase: Pending}`, `{}`, "the CSV does not support its OperatorGroup: SingleNamespace"},
		{"nobody knows the targets", own + `status: {phase: Pending}`, `{spec: {targetNamespaces: null, selector: {matchLabels: {a: b}}}, status: {namespaces: null}}`, ""},
	} {
		list := with(with(ferry(), "ClusterServiceVersion", "{"+c.csv+"}"), "OperatorGroup", c.group)
		s := cluster(t, list)
		o := slices.Concat(s.All(), s.notAdopted())[0]
		if !strings.HasPrefix(o.Refused, c.want) || (o.Refused == "") != (c.want == "") || (len(s.All()) == 1) != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.what, o.Refused, c.want)
		}
	}
}

// Only the CSV that serves PackageManifests is OLM's own.
func TestIsPackageServer(t *testing.T) {
	for group, want := range map[string]bool{"packages.operators.coreos.com": true, "example.com": false} {
		s := cluster(t, with(ferry(), "ClusterServiceVersion", `spec: {apiservicedefinitions: {owned: [{group: `+group+`, version: v1}]}}`))
		if got := len(s.All()) == 0; got != want {
			t.Errorf("%s: OLM's own: %t", group, got)
		}
	}
}

// An operator needs another one for an API that it requires, or for a dependency that names its package or its API.
func TestDependsOn(t *testing.T) {
	property := func(kind, value string) string {
		return `metadata: {annotations: {operatorframework.io/properties: '{"properties":[{"type":"` + kind + `"` + value + `}]}'}}`
	}
	const api = `"group":"example.com","kind":"Ferry","version":"v9"`
	for _, c := range []struct {
		what, csv, want string
	}{
		{"nothing", `{}`, ""},
		{"an API", `spec: {customresourcedefinitions: {required: [{name: ferries.example.com, version: v1, kind: Ferry}]}}`, "ferries.example.com"},
		{"another API", `spec: {customresourcedefinitions: {required: [{name: boats.example.com, version: v1, kind: Boat}]}}`, ""},
		{"a package", property("olm.package.required", `,"value":{"packageName":"ferry"}`), `olm.package.required {"packageName":"ferry"}`},
		{"another package", property("olm.package.required", `,"value":{"packageName":"boat"}`), ""},
		{"an API by property", property("olm.gvk.required", `,"value":{`+api+`}`), `olm.gvk.required {` + api + `}`},
		{"an API of another group", property("olm.gvk.required", `,"value":{"group":"x","kind":"Ferry"}`), ""},
		{"another kind of the group", property("olm.gvk.required", `,"value":{"group":"example.com","kind":"Boat"}`), ""},
		{"a constraint", property("olm.constraint", `,"value":{"any":{"constraints":[{"cel":{}},{"gvk":{`+api+`}}]}}`),
			`olm.constraint {"any":{"constraints":[{"cel":{}},{"gvk":{` + api + `}}]}}`},
		{"a constraint about others", property("olm.constraint", `,"value":{"any":{"constraints":[{"cel":{}},"ferry"]}}`), ""},
		{"what it provides itself", property("olm.gvk", `,"value":{`+api+`}`), ""},
		{"no value", property("olm.gvk.required", ``), ""},
	} {
		s := cluster(t, ferry(), with(tug("harbour"), "ClusterServiceVersion", c.csv))
		needs, needed := only(s, "tug")[0], only(s, "ferry")[0]
		if got := needs.dependsOn(needed); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// OLM installs again what a Subscription of the same namespace needs: such an operator does not leave alone.
func TestCheckDependants(t *testing.T) {
	const needs = `spec: {customresourcedefinitions: {required: [{name: ferries.example.com, version: v1, kind: Ferry}]}}`
	needy := with(tug("harbour"), "ClusterServiceVersion", needs)
	bay := append(with(tug("bay"), "ClusterServiceVersion", needs), item("OperatorGroup", "bay/og", `{}`))
	for _, c := range []struct {
		what  string
		other []map[string]any
		want  bool
	}{
		{"one that needs it", needy, true},
		{"one that does not", tug("harbour"), false},
		{"one of another namespace", bay, false},
		{"a second Subscription for it", []map[string]any{item("Subscription", "harbour/x", `spec: {name: ferry}`)}, true},
		{"a Subscription for it in another namespace", []map[string]any{item("Subscription", "bay/x", `spec: {name: ferry}`)}, false},
		{"one without Subscription", dropped(slices.Clone(needy), "Subscription", "tug-sub"), false},
	} {
		s := mustSelect(t, cluster(t, ferry(), c.other), "ferry")
		err := newDeparture(s, s.All(), &Verification{}, &Verification{}).checkDependants()
		if (err != nil) != c.want {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
