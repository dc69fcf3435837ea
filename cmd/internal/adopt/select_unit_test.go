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

// OLM installs again what something that stays is for or needs: such an operator does not leave alone.
func TestCheckReturns(t *testing.T) {
	const needs = `spec: {customresourcedefinitions: {required: [{name: ferries.example.com, version: v1, kind: Ferry}]}}`
	needy := with(tug("harbour"), "ClusterServiceVersion", needs)
	alone := dropped(slices.Clone(needy), "Subscription", "tug-sub")
	boat := item("Subscription", "harbour/boat", `spec: {name: boat}`)
	another := item("Subscription", "harbour/x", `{spec: {name: ferry}, status: {conditions: [{type: ResolutionFailed, status: "True"}]}}`)
	bay := append(with(tug("bay"), "ClusterServiceVersion", needs), item("OperatorGroup", "bay/og", `{}`))
	rival := func(reason, api string) []map[string]any {
		return append(with(tug("bay"), "ClusterServiceVersion", `{spec: {customresourcedefinitions: {owned: [{name: `+api+`, version: v1, kind: X}]}}, `+
			`status: {phase: Failed, reason: `+reason+`}}`), item("OperatorGroup", "bay/og", `{}`))
	}
	plan := func(names, phase string) []map[string]any {
		return []map[string]any{item("InstallPlan", "harbour/p", `{spec: {clusterServiceVersionNames: `+names+`}, status: {phase: `+phase+`}}`)}
	}
	unowned := dropped(ferry(), "Subscription", "ferry-sub")
	for _, c := range []struct {
		what         string
		ferry, other []map[string]any
		want         string
	}{
		{"one that needs it", ferry(), needy, "tug.v1.0.0 stays with OLM and needs ferries.example.com of ferry.v1.0.0: OLM would install that again"},
		{"one that does not", ferry(), tug("harbour"), ""},
		{"one of another namespace", ferry(), bay, ""},
		{"a second Subscription for it", ferry(), []map[string]any{another}, "Subscription harbour/x stays, and is for package ferry too: OLM would install ferry.v1.0.0 again"},
		{"a Subscription for one that no Subscription has installed", unowned, []map[string]any{another}, "Subscription harbour/x stays, and is for package ferry too"},
		{"a Subscription for another one", unowned, []map[string]any{boat}, ""},
		{"a Subscription for it in another namespace", ferry(), []map[string]any{item("Subscription", "bay/x", `spec: {name: ferry}`)}, ""},
		{"one without Subscription in a namespace without one", ferry(), alone, ""},
		{"one without Subscription beside another one", ferry(), append([]map[string]any{boat}, alone...), "tug.v1.0.0 stays with OLM and needs"},
		{"an InstallPlan for it that waits", ferry(), append(plan("[tug.v1.0.0, ferry.v1.0.0]", "RequiresApproval"), tug("harbour")...),
			"InstallPlan harbour/p stays, and installs tug.v1.0.0 and ferry.v1.0.0: OLM would install ferry again"},
		{"one that the plan deletes", ferry(), plan("[ferry.v1.0.0]", "RequiresApproval"), ""},
		{"one that is done", ferry(), append(plan("[ferry.v1.0.0]", "Complete"), tug("harbour")...), ""},
		{"one for another one", ferry(), append(plan("[tug.v1.0.0]", "RequiresApproval"), tug("harbour")...), ""},
		{"one that it keeps from running", ferry(), rival("InterOperatorGroupOwnerConflict", "ferries.example.com"),
			"ClusterServiceVersion bay/tug.v1.0.0 stays with OLM, which does not run it because of ferry.v1.0.0"},
		{"one that another one keeps from running", ferry(), rival("InterOperatorGroupOwnerConflict", "x.example.com"), ""},
		{"one that fails for another reason", ferry(), rival("UnsupportedOperatorGroup", "ferries.example.com"), ""},
	} {
		s := mustSelect(t, cluster(t, c.ferry, c.other), "ferry")
		err := newDeparture(s, s.All(), &Verification{}, &Verification{}).checkReturns()
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// A plan warns of a Subscription beside an operator that has installed nothing: nobody knows what its package needs.
func TestUnknownNeeds(t *testing.T) {
	boat := item("Subscription", "harbour/boat", `spec: {name: boat}`)
	for choice, want := range map[string][]string{"ferry": {"Subscription boat in namespace harbour has installed nothing: if it needs ferry.v1.0.0, OLM installs that again"}, "tug": nil} {
		s := mustSelect(t, cluster(t, ferry(), tug("bay"), []map[string]any{boat, item("OperatorGroup", "bay/og", `{}`)}), choice)
		if got := newDeparture(s, s.All(), &Verification{}, &Verification{}).unknownNeeds(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", choice, got, want)
		}
	}
}
