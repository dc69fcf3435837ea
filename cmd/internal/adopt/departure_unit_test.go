package adopt

import (
	"testing"
)

// An object is an operator's own if it is of OLM's kinds, has its name and is where the operator is: what has the same
// name elsewhere belongs to another operator, and no plan touches it.
func TestIsAbout(t *testing.T) {
	s := cluster(t, ferry(), tug("harbour"), []map[string]any{
		item("ClusterServiceVersion", "pier/ferry.v1.0.0", `metadata: {labels: {olm.copiedFrom: harbour}}`),
		item("ClusterServiceVersion", "dock/ferry.v1.0.0", `metadata: {labels: {olm.copiedFrom: elsewhere}}`),
		item("ClusterServiceVersion", "pier/tug.v1.0.0", `metadata: {labels: {olm.copiedFrom: harbour}}`),
		item("OperatorCondition", "harbour/ferry.v1.0.0", `{}`),
		item("OperatorCondition", "harbour/tug.v1.0.0", `{}`),
		item("OperatorCondition", "pier/ferry.v1.0.0", `{}`),
		item("Subscription", "pier/ferry-sub", `spec: {name: other}`),
		item("Role", "harbour/ferry.v1.0.0", `{}`),
	})
	op := only(s, "ferry")[0]
	for _, c := range []struct {
		kind, name string
		want       bool
	}{
		{"ClusterServiceVersion", "harbour/ferry.v1.0.0", true},
		{"ClusterServiceVersion", "pier/ferry.v1.0.0", true}, // its copy
		{"ClusterServiceVersion", "dock/ferry.v1.0.0", false},
		{"ClusterServiceVersion", "harbour/tug.v1.0.0", false},
		{"ClusterServiceVersion", "pier/tug.v1.0.0", false},
		{"OperatorCondition", "harbour/ferry.v1.0.0", true},
		{"OperatorCondition", "harbour/tug.v1.0.0", false},
		{"OperatorCondition", "pier/ferry.v1.0.0", false},
		{"Subscription", "harbour/ferry-sub", true},
		{"Subscription", "harbour/tug-sub", false},
		{"Subscription", "pier/ferry-sub", false},
		{"Role", "harbour/ferry.v1.0.0", false},
	} {
		if got := op.isAbout(get(t, s, c.kind, c.name)); got != c.want {
			t.Errorf("%s %s is the operator's: %t", c.kind, c.name, got)
		}
	}
	s = cluster(t, dropped(ferry(), "Subscription", "ferry-sub"), tug("harbour"))
	if only(s, "ferry")[0].isAbout(get(t, s, "Subscription", "harbour/tug-sub")) {
		t.Error("an operator without Subscription has that of another one")
	}
}

// A group leaves as a whole only if nothing of OLM stays in its namespace.
func TestTakesWhole(t *testing.T) {
	waiting := item("Subscription", "harbour/later", `spec: {name: later}`)
	for _, c := range []struct {
		what string
		s    *State
		want bool
	}{
		{"all operators leave", cluster(t, ferry()), true},
		{"one of two leaves", cluster(t, ferry(), tug("harbour")), false},
		{"a Subscription waits", cluster(t, ferry(), []map[string]any{waiting}), false},
		{"the others are not chosen", mustSelect(t, cluster(t, ferry(), tug("harbour")), "ferry"), false},
	} {
		if got := newTies(c.s, only(c.s, "ferry")).takesWhole(c.s.Groups[0]); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

func mustSelect(t testing.TB, s *State, packages ...string) *State {
	t.Helper()
	s, err := s.Select(Selection{Packages: packages})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An object is tied to an operator by an ownerReference to OLM's objects about it, or by OLM's labels. Kubernetes or
// OLM would delete it with the CSV, so a plan cuts it loose; what is tied to another operator is left alone.
func TestTied(t *testing.T) {
	const csvOf = `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, `
	for _, c := range []struct {
		what, kind, name, meta string
		one, all               bool // tied to ferry alone, to ferry and tug
	}{
		{"nothing", "Service", "harbour/x", `labels: {olm.managed: "true"}`, false, false},
		{"an owner by UID", "Service", "elsewhere/x", `ownerReferences: [` + csvOf + `name: other, uid: u-ferry}]`, true, true},
		{"an owner by UID that is a Subscription", "Service", "elsewhere/x",
			`ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, name: x, uid: u-sub}]`, true, true},
		{"an owner by name", "Service", "harbour/x", `ownerReferences: [` + csvOf + `name: ferry.v1.0.0, uid: old}]`, true, true},
		{"the condition by name", "Service", "harbour/x",
			`ownerReferences: [{apiVersion: operators.coreos.com/v2, kind: OperatorCondition, name: ferry.v1.0.0, uid: old}]`, true, true},
		{"an owner by name in another namespace", "Service", "elsewhere/x", `ownerReferences: [` + csvOf + `name: ferry.v1.0.0, uid: old}]`, false, false},
		{"an owner of another name", "Service", "harbour/x", `ownerReferences: [` + csvOf + `name: barge.v1.0.0, uid: old}]`, false, false},
		{"an owner of another kind of OLM", "Service", "harbour/x",
			`ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, name: ferry.v1.0.0, uid: old}]`, false, false},
		{"an owner of another API", "Service", "harbour/x",
			`labels: {olm.managed: "true"}, ownerReferences: [{apiVersion: example.com/v1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}]`, false, false},
		{"an owner without UID", "Service", "elsewhere/x", `ownerReferences: [` + csvOf + `name: other, uid: ""}]`, false, false},
		{"the group", "Service", "harbour/x",
			`ownerReferences: [{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, name: og, uid: u-og}]`, false, true},
		{"the labels of the CSV", "ClusterRole", "x", `labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour}`, true, true},
		{"the labels of a CSV of another namespace", "ClusterRole", "x", `labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: dock}`, false, false},
		{"the labels of a copied Role", "Role", "pier/x", `labels: {olm.owner: ferry.v1.0.0, olm.copiedFrom: harbour}`, true, true},
		{"the labels in the namespace", "Role", "harbour/x", `labels: {olm.owner: ferry.v1.0.0}`, true, true},
		{"the labels of the group", "ClusterRole", "x",
			`labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}`, false, true},
		{"the labels of a group of that name elsewhere", "ClusterRole", "x",
			`labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: dock}`, false, false},
		{"the labels of something else of that name", "ClusterRole", "x",
			`labels: {olm.owner: og, olm.owner.kind: Other, olm.owner.namespace: harbour}`, false, false},
		{"the labels of another owner", "ClusterRole", "x", `labels: {olm.owner: barge, olm.owner.namespace: harbour}`, false, false},
	} {
		// OLM's objects without UIDs come from a dump that was edited: they own nothing
		s := cluster(t, ferry(), tug("harbour"), []map[string]any{item("OperatorCondition", "harbour/ferry.v1.0.0", `{}`),
			item(c.kind, c.name, "metadata: {"+c.meta+"}")})
		o := get(t, s, c.kind, c.name)
		one, all := newTies(s, only(s, "ferry")).tied(o), newTies(s, s.All()).tied(o)
		if one != c.one || all != c.all {
			t.Errorf("%s: tied to the operator: %t, to both: %t", c.what, one, all)
		}
	}
	group := item("OperatorGroup", "harbour/og", `{spec: {targetNamespaces: [pier]}, status: {namespaces: [pier]}}`)
	s := cluster(t, append(dropped(ferry(), "OperatorGroup", "og"), group), []map[string]any{item("Service", "elsewhere/x",
		`metadata: {ownerReferences: [{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, name: og, uid: ""}]}`)})
	if newTies(s, s.All()).tied(get(t, s, "Service", "elsewhere/x")) {
		t.Error("a group without UID owns an object")
	}
}

// A plan deletes only what OLM made by its own rules, as the bundle explains it, and what nobody needs.
func TestDeletes(t *testing.T) {
	const role = `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`
	labels := func(more string) string {
		return `metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour` + more + `}}`
	}
	same := item("Role", "harbour/ferry", "{"+role+", "+labels("")+"}")
	differs := item("Role", "harbour/edited", "{"+role+", "+labels("")+"}")
	rendered := []map[string]any{same, item("Role", "harbour/filled", "{"+role+", "+labels("")+"}"), item("Role", "harbour/edited", "{rules: [], "+labels("")+"}"),
		item("Role", "pier/edited", "{rules: [], "+labels(", olm.copiedFrom: harbour")+"}"),
		item("ServiceAccount", "harbour/ferry", labels("")), item("Role", "harbour/missing", `{rules: []}`),
		item("ClusterServiceVersion", "harbour/ferry.v1.0.0", `{}`),
		item("OperatorCondition", "harbour/ferry.v1.0.0", `{}`)}
	filled := item("Role", "harbour/filled", "{"+role+", "+labels(", operators.coreos.com/ferry.harbour: ''")+"}")
	list := []map[string]any{same, differs, filled,
		item("Role", "pier/ferry", "{"+role+", "+labels(", olm.copiedFrom: harbour")+"}"),  // its copy
		item("Role", "pier/edited", "{"+role+", "+labels(", olm.copiedFrom: harbour")+"}"), // a copy of an edited one
		item("Role", "pier/more", "{"+role+", "+labels(", olm.copiedFrom: harbour")+"}"),   // the copy of nothing
		item("ServiceAccount", "harbour/ferry", labels("")),                                // shipped
		item("ClusterRole", "api", `{`+role+`, metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion,
  olm.owner.namespace: harbour}, ownerReferences: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: tugs.example.com, uid: x}]}}`),
		item("ClusterRole", "og", `{`+role+`, metadata: {labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}}}`),
		item("OperatorCondition", "harbour/ferry.v1.0.0", `{spec: {edited: true}}`),
		item("OperatorCondition", "harbour/tug.v1.0.0", `{}`),
		item("OperatorCondition", "dock/ferry.v1.0.0", `{}`)}
	for _, n := range []string{"api", "og"} {
		for _, o := range list {
			if o["kind"] == "ClusterRole" && o["metadata"].(map[string]any)["name"] == n {
				rendered = append(rendered, o)
			}
		}
	}
	s := cluster(t, ferry(), tug("harbour"), list)
	deletes := func(leaving []*Operator, kind, name string, keeps ...map[string]any) bool {
		d := newDeparture(s, leaving, s.Verify(keeps), s.Verify(rendered))
		return d.deletes(get(t, s, kind, name))
	}
	for _, c := range []struct {
		kind, name string
		one, all   bool // if ferry leaves alone, if both leave
	}{
		{"Role", "harbour/ferry", true, true},
		{"Role", "harbour/filled", true, true},   // OLM labels it later
		{"Role", "harbour/edited", false, false}, // by hand: nobody knows what for
		{"Role", "pier/ferry", true, true},
		{"Role", "pier/edited", false, false},
		{"Role", "pier/more", false, false},
		{"ServiceAccount", "harbour/ferry", false, false}, // the bundle ships it, or the new form has it
		{"ClusterRole", "api", false, true},               // of an API that tug owns
		{"ClusterRole", "og", false, true},
		{"OperatorCondition", "harbour/ferry.v1.0.0", true, true},
		{"OperatorCondition", "harbour/tug.v1.0.0", false, true},
		{"OperatorCondition", "dock/ferry.v1.0.0", false, false},
	} {
		one, all := deletes(only(s, "ferry"), c.kind, c.name), deletes(s.All(), c.kind, c.name)
		if one != c.one || all != c.all {
			t.Errorf("%s %s: deleted with one operator: %t, with both: %t", c.kind, c.name, one, all)
		}
	}
	if deletes(s.All(), "Role", "harbour/ferry", same) {
		t.Error("a Role that the new form has is deleted")
	}
}

// What OLM made for a group, or for the users of an API, is needed while an operator of the group stays, or one that
// owns the API.
func TestNeeded(t *testing.T) {
	group := func(kind, name, ns string) string {
		return `metadata: {labels: {olm.owner.kind: ` + kind + `, olm.owner: ` + name + `, olm.owner.namespace: ` + ns + `}}`
	}
	for _, c := range []struct {
		what, fields string
		stays        bool // needed if ferry leaves and tug stays
	}{
		{"of the group", group("OperatorGroup", "og", "harbour"), true},
		{"of a group elsewhere", group("OperatorGroup", "og", "dock"), false},
		{"of another group", group("OperatorGroup", "other", "harbour"), false},
		{"of another kind", group("Other", "og", "harbour"), false},
		{"of the users of its API", `metadata: {ownerReferences: [{kind: CustomResourceDefinition, name: tugs.example.com}]}`, true},
		{"of the users of the API that leaves", `metadata: {ownerReferences: [{kind: CustomResourceDefinition, name: ferries.example.com}]}`, false},
		{"nobody's", `{}`, false},
	} {
		s := cluster(t, ferry(), tug("harbour"), []map[string]any{item("ClusterRole", "x", c.fields)})
		needed := func(leaving []*Operator) bool {
			return newDeparture(s, leaving, &Verification{}, &Verification{}).needed(get(t, s, "ClusterRole", "x"))
		}
		if stays, gone := needed(only(s, "ferry")), needed(s.All()); stays != c.stays || gone {
			t.Errorf("%s: needed while the other operator stays: %t; after that: %t", c.what, stays, gone)
		}
		chosen := mustSelect(t, s, "ferry")
		d := newDeparture(chosen, chosen.All(), &Verification{}, &Verification{})
		if got := d.needed(get(t, chosen, "ClusterRole", "x")); got != c.stays {
			t.Errorf("%s: needed while the other operator is not adopted: %t", c.what, got)
		}
	}
}

// OLM copies the roles of an operator to its target namespaces, or makes ClusterRoles of them. Such a copy is OLM's as
// long as it grants what the original does; one that somebody has changed is not.
func TestCopiedRole(t *testing.T) {
	const (
		here   = `metadata: {labels: {olm.copiedFrom: harbour}}`
		wide   = `metadata: {labels: {olm.owner.namespace: harbour}}`
		rules  = `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`
		list   = `{apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}`
		alice  = `subjects: [{kind: User, name: alice}]`
		others = `subjects: [{kind: User, name: alice}, {kind: User, name: eve}]`
	)
	for _, c := range []struct {
		what, kind, name, fields, verdict string
		want                              bool
	}{
		{"a copy", "Role", "pier/a", here + ", " + rules, "", true},
		{"a copy of a Role that OLM completes", "Role", "pier/a", here + ", " + rules, "filled", true},
		{"a copy of an edited Role", "Role", "pier/a", here + ", " + rules, "differs", false},
		{"a copy with more rights", "Role", "pier/a", here + `, rules: [{apiGroups: [""], resources: [pods, secrets], verbs: [get]}]`, "", false},
		{"a copy with the right of ClusterRoles", "Role", "pier/a", here + `, rules: [` + list + `]`, "", false},
		{"a copy without label", "Role", "pier/a", rules, "", false},
		{"a copy of nothing", "Role", "pier/b", here + ", " + rules, "", false},
		{"a copy that aggregates", "Role", "pier/a", here + `, aggregationRule: {clusterRoleSelectors: []}`, "", false},
		{"a Role for the whole cluster", "ClusterRole", "a", wide + `, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}, ` + list + `]`, "", true},
		{"a Role for the whole cluster with more rights", "ClusterRole", "a", wide + `, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]`, "", false},
		{"a ClusterRole that aggregates", "ClusterRole", "a", wide + `, aggregationRule: {clusterRoleSelectors: []}`, "", false},
		{"a binding", "RoleBinding", "pier/a", here + `, roleRef: {kind: Role, name: a}, ` + alice, "", true},
		{"a binding of another role", "RoleBinding", "pier/a", here + `, roleRef: {kind: Role, name: b}, ` + alice, "", false},
		{"a binding of a ClusterRole", "RoleBinding", "pier/a", here + `, roleRef: {kind: ClusterRole, name: a}, ` + alice, "", false},
		{"a binding with more subjects", "RoleBinding", "pier/a", here + `, roleRef: {kind: Role, name: a}, ` + others, "", false},
		{"a binding for the whole cluster", "ClusterRoleBinding", "a", wide + `, roleRef: {kind: ClusterRole, name: a}, ` + alice, "", true},
		{"a Service", "Service", "pier/a", here, "", false},
	} {
		originals := []map[string]any{
			item("Role", "harbour/a", "{"+rules+`, metadata: {labels: {olm.managed: "true"}}}`),
			item("RoleBinding", "harbour/a", `{roleRef: {kind: Role, name: a}, `+alice+`}`),
			item("Service", "harbour/a", `metadata: {labels: {olm.managed: "true"}}`),
		}
		s := cluster(t, ferry(), originals, []map[string]any{item(c.kind, c.name, "{"+c.fields+"}")})
		asOLM := &Verification{}
		for _, o := range s.Dump.Objects {
			verdict := Equal
			switch {
			case o.Namespace != "harbour":
				verdict = ClusterOnly
			case c.verdict != "" && o.Kind == c.kind:
				verdict = Verdict(c.verdict)
			}
			asOLM.Objects = append(asOLM.Objects, Compared{Object: o.Identity(), Verdict: verdict, object: o})
		}
		if got := newTies(s, s.All()).copiedRole(get(t, s, c.kind, c.name), asOLM); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}
