package adopt

import (
	"slices"
	"strings"
	"testing"
)

// What the cluster has and the file does not belongs to an operator by OLM's labels, owners and names. What only an
// earlier version had is an orphan: nothing of the installed version needs it.
func TestBelongs(t *testing.T) {
	const role, owner = "ClusterRole", `ownerReferences: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: `
	const csv = `olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour`
	const copied = `olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.copiedFrom: harbour`
	labels := func(s string) string { return "labels: {" + s + "}" }
	reference := func(api, kind, name string) string {
		return `{labels: {olm.managed: "true"}, ownerReferences: [{apiVersion: ` + api + `, kind: ` + kind + `, name: ` + name + `}]}`
	}
	const v0, v1, v2 = "operators.coreos.com/v1alpha1", "example.com/v1", "operators.coreos.com/v2"
	const users, earlier = "OLM made it for the users of ferries.example.com, which ferry.v1.0.0 owns",
		"orphan of an earlier version of ferry: it is for a version of ferries.example.com that the CSV does not have any more"
	const earlierCRD = "orphan of an earlier version, like CustomResourceDefinition boats.example.com and part of it"
	const marked = "it has OLM's labels of ferry.v1.0.0, which does not need it: another OLM made it, or a person"
	for _, c := range []struct {
		what, kind, name, meta string
		want                   string
		live                   bool
		withoutCSV             string // what is said if no CSV is rendered, if that is something else
	}{
		{"a Namespace", "Namespace", "harbour", labels(csv), "", false, ""},
		{"a CRD that the CSV owns", "CustomResourceDefinition", "ferries.example.com", labels(csv), "ferry.v1.0.0 owns it, and the file leaves it to OLM", true, ""},
		{"a CRD that another version had", "CustomResourceDefinition", "old.example.com", `annotations: {a: harbour/ferry.v0.8.0,
  operatorframework.io/installed-alongside-2: harbour/ferry.v0.9.0, operatorframework.io/installed-alongside-1: harbour/tug.v1.0.0,
  operatorframework.io/installed-alongside-3: harbour/ferry.v0.7.0}`, "orphan of ferry.v0.9.0: ferry.v1.0.0 does not have the CRD any more; its objects go with it", false, ""},
		{"a CRD of another namespace", "CustomResourceDefinition", "old.example.com", `annotations: {operatorframework.io/installed-alongside-1: pier/ferry.v0.9.0}`, "", false, ""},
		{"a CRD of nobody", "CustomResourceDefinition", "old.example.com", `annotations: {operatorframework.io/x: harbour/ferry.v0.9.0}`, "", false, ""},
		{"a role of the group", role, "x", labels(`olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`),
			"OLM made it for the OperatorGroup, with a name that is not rendered", true, "OLM made it for OperatorGroup harbour/og"},
		{"a role of a group elsewhere", role, "x", labels(`olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: pier`), "", false, ""},
		{"a role of another group", role, "x", labels(`olm.owner: x, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`), "", false, ""},
		{"a role of something of that name", role, "x", labels(`olm.owner: og, olm.owner.kind: x, olm.owner.namespace: harbour`), "", false, ""},
		{"a Role with the labels of a group", "Role", "pier/x", labels(`olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`), "", false, ""},
		{"a role of the group of an older OLM", role, "og-admin", labels(`olm.owner: og`), "older OLM: before v0.26 the ClusterRoles of the group had this name", false, ""},
		{"that name without a label", role, "og-admin", `{}`, "", false, ""},
		{"another name", role, "og-mine", labels(`olm.owner: og`), "", false, ""},
		{"a name that is only its end", role, "view", labels(`olm.owner: og`), "", false, ""},
		{"a role for users", role, "ferries.example.com-v1-view", owner + `ferries.example.com}]`, users, true, ""},
		{"a role for users of the CRD of an older OLM", role, "ferries.example.com-v1-view",
			`ownerReferences: [{kind: customresourcedefinition, name: ferries.example.com}]`, users, true, ""},
		{"a role for users of an APIService", role, "clocks-v1-edit", `ownerReferences: [{kind: APIService, name: v1.time.example.com}]`,
			"OLM made it for the users of v1.time.example.com, which ferry.v1.0.0 owns", true, ""},
		{"a role for users of another API", role, "ferries.example.com-v1-view", `ownerReferences: [{kind: APIService, name: v1.time.example.com}]`, "", false, ""},
		{"a role for users of something else", role, "ferries.example.com-v1-view", `ownerReferences: [{kind: ConfigMap, name: ferries.example.com}]`, "", false, ""},
		{"a role for users of an earlier version", role, "ferries.example.com-v1alpha1-view", owner + `ferries.example.com}]`, earlier, false, ""},
		{"a role that somebody made for the CRD", role, "ferries.example.com-v1-mine", owner + `ferries.example.com}]`, "", false, ""},
		{"a role whose name is only the end", role, "admin", owner + `ferries.example.com}]`, "", false, ""},
		{"a role whose name has the end", role, "x-admin", owner + `ferries.example.com}]`, "", false, ""},
		{"a role without a version", role, "ferries.example.com-admin", owner + `ferries.example.com}]`, "", false, ""},
		{"a role for users of a CRD that an earlier version had", role, "boats.example.com-v1-view", owner + `boats.example.com}]`, earlierCRD, false, ""},
		{"a role that somebody made for it", role, "boats.example.com-v1-mine", owner + `boats.example.com}]`, "", false, ""},
		{"a role for users of a CRD that is rendered", role, "shown.example.com-v1-view", owner + `shown.example.com}]`, "", false, ""},
		{"a role for users of a CRD of nobody", role, "other.example.com-v1-view", owner + `other.example.com}]`, "", false, ""},
		{"a role for users of a CRD that is gone", role, "gone.example.com-v1-view", owner + `gone.example.com}]`, "", false, ""},
		{"a Role with the labels of the CSV", "Role", "harbour/x", labels(csv), marked, false, "OLM's own, or of another name in the new form"},
		{"a Role with the labels of another namespace", "Role", "pier/x", labels(`olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: pier`), "", false, ""},
		{"a Role with the labels of another kind", "Role", "harbour/x", labels(`olm.owner: ferry.v1.0.0, olm.owner.kind: x, olm.owner.namespace: harbour`), "", false, ""},
		{"a copied Role", "Role", "pier/x", labels(copied), byChance, true, "OLM's own, or of another name in the new form"},
		{"a Service with the label of a copy", "Service", "pier/x", labels(copied), marked, false, "OLM's own, or of another name in the new form"},
		{"a promoted Role", role, "promoted", labels(csv), byChance, true, "OLM's own, or of another name in the new form"},
		{"a ClusterRole of no Role", role, "x", labels(csv), marked, false, "OLM's own, or of another name in the new form"},
		{"a ClusterRole of an older OLM", role, "x", labels(`olm.owner: ferry.v1.0.0`), marked, false, "OLM's own, or of another name in the new form"},
		{"a ClusterRole with the label of something else", role, "x", labels(`olm.owner: ferry.v1.0.0, olm.owner.kind: x`), "", false, ""},
		{"a ClusterRole of nobody", role, "x", `{}`, "", false, ""},
		{"an account with that label alone", "ServiceAccount", "harbour/x", labels(`olm.owner: ferry.v1.0.0`), "", false, ""},
		{"a Role of an earlier version", "Role", "harbour/x", labels(strings.ReplaceAll(csv, "v1.0.0", "v0.9.0")), "orphan of ferry.v0.9.0, an earlier version: OLM never removes it", false, ""},
		{"a Role of what the CSV replaced", "Role", "harbour/x", labels(strings.ReplaceAll(csv, "ferry.v1.0.0", "boat.v9")), "orphan of boat.v9, an earlier version: OLM never removes it", false, ""},
		{"a Role of another operator", "Role", "harbour/x", labels(strings.ReplaceAll(csv, "ferry.v1.0.0", "tug.v1.0.0")), "", false, ""},
		{"a Role of a CSV without a version", "Role", "harbour/x", labels(strings.ReplaceAll(csv, "ferry.v1.0.0", "ferry")), "", false, ""},
		{"a copied CSV", "ClusterServiceVersion", "pier/ferry.v1.0.0", labels(`olm.copiedFrom: harbour`), "a copied CSV of OLM's in a namespace that is not in the file", true, "OLM's own, or of another name in the new form"},
		{"a copied CSV of another namespace", "ClusterServiceVersion", "pier/ferry.v1.0.0", labels(`olm.copiedFrom: bay`), "", false, ""},
		{"an object with an owner", "ConfigMap", "harbour/x", reference(v0, "ClusterServiceVersion", "ferry.v1.0.0"), "it has an ownerReference to ferry.v1.0.0: Kubernetes deletes it with that", true, ""},
		{"an object of the condition", "ConfigMap", "harbour/x", reference(v2, "OperatorCondition", "ferry.v1.0.0"), "it has an ownerReference to ferry.v1.0.0: Kubernetes deletes it with that", true, ""},
		{"an object of a Subscription", "ConfigMap", "harbour/x", reference(v0, "Subscription", "ferry.v1.0.0"), "", false, ""},
		{"an object of another API", "ConfigMap", "harbour/x", reference(v1, "ClusterServiceVersion", "ferry.v1.0.0"), "", false, ""},
		{"an object with an owner in another namespace", "ConfigMap", "pier/x", reference(v0, "ClusterServiceVersion", "ferry.v1.0.0"), "", false, ""},
		{"a Role with an owner", "Role", "harbour/x", reference(v0, "ClusterServiceVersion", "ferry.v1.0.0"), marked, false, "OLM's own, or of another name in the new form"},
		{"a labelled ConfigMap", "ConfigMap", "harbour/x", labels(csv), marked, false, "OLM's own, or of another name in the new form"},
	} {
		list := with(ferry(), "ClusterServiceVersion", `spec: {replaces: boat.v9, apiservicedefinitions: {owned: [{group: time.example.com, version: v1, name: clocks, kind: Clock}]}}`)
		crd := func(name, csv string) map[string]any {
			return item("CustomResourceDefinition", name, `metadata: {annotations: {operatorframework.io/installed-alongside-1: `+csv+`}}`)
		}
		list = append(list, item("InstallPlan", "harbour/p", `{}`), item("Role", "harbour/promoted", `{}`), crd("boats.example.com", "harbour/ferry.v0.9.0"),
			crd("shown.example.com", "harbour/ferry.v0.9.0"), crd("other.example.com", "harbour/tug.v1.0.0"))
		if c.kind != "Namespace" || c.name != "harbour" {
			list = append(list, item("Namespace", "harbour", `{}`))
		}
		meta := c.meta
		if !strings.HasPrefix(meta, "{") {
			meta = "{" + meta + "}"
		}
		s := cluster(t, append(list, item(c.kind, c.name, "metadata: "+meta)))
		shown := item("CustomResourceDefinition", "shown.example.com", `{}`)
		for _, withoutCSV := range []bool{false, true} {
			want, live := c.want, c.live
			if withoutCSV && c.withoutCSV != "" {
				want, live = c.withoutCSV, true
			}
			v := &verifier{State: s, withoutCSV: withoutCSV, rendered: objectsByKey(shown), kept: newTies(s, nil)}
			if reason, got := v.belongs(get(t, s, c.kind, c.name)); reason != want || got != live {
				t.Errorf("%s (without CSV: %t): %q, %t; want %q, %t", c.what, withoutCSV, reason, got, want, live)
			}
		}
	}
}

// A CSV whose name has no version is the same operator under that name only.
func TestSameOperator(t *testing.T) {
	s := cluster(t, ferry()[:1], []map[string]any{item("ClusterServiceVersion", "harbour/boat", `status: {phase: Succeeded}`)})
	for name, want := range map[string]bool{"boat": true, "boats": false, "": false} {
		if got := sameOperator(name, s.All()[0]); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

// What belongs to operators that are not adopted, or to a group that they share, is neither compared nor deleted.
func TestLeftOut(t *testing.T) {
	labels := func(s string) string { return "metadata: {labels: {" + s + "}}" }
	owner := func(name string) string {
		return `metadata: {ownerReferences: [{kind: CustomResourceDefinition, name: ` + name + `}]}`
	}
	const ofGroup = `olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: `
	for _, c := range []struct {
		what, kind, name, fields string
		want                     bool
	}{
		{"the group", "OperatorGroup", "harbour/og", `{}`, true},
		{"a second group", "OperatorGroup", "harbour/og2", `{}`, false},
		{"a group elsewhere", "OperatorGroup", "bay/og", `{}`, false},
		{"something of that name", "Role", "harbour/og", `{}`, false},
		{"a role of the group", "ClusterRole", "x", labels(ofGroup + `harbour`), true},
		{"a role of a group elsewhere", "ClusterRole", "x", labels(ofGroup + `dock`), false},
		{"a role of a group that nobody shares", "ClusterRole", "x", labels(ofGroup + `bay`), false},
		{"a role of another group", "ClusterRole", "x", labels(`olm.owner: x, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`), false},
		{"a role of something else", "ClusterRole", "x", labels(`olm.owner: og, olm.owner.kind: x, olm.owner.namespace: harbour`), false},
		{"a component", "Service", "x/x", labels(`operators.coreos.com/tug.harbour: ""`), true},
		{"a component of what is adopted", "Service", "x/x", labels(`operators.coreos.com/ferry.harbour: ""`), false},
		{"the CSV", "ClusterServiceVersion", "harbour/tug.v1.0.0", "", true},
		{"the CSV of what is adopted", "ClusterServiceVersion", "harbour/ferry.v1.0.0", "", false},
		{"what its labels name", "ClusterRole", "x", labels(`olm.owner: tug.v1.0.0, olm.owner.namespace: harbour`), true},
		{"what the labels of the other one name", "ClusterRole", "x", labels(`olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour`), false},
		{"its CRD", "CustomResourceDefinition", "tugs.example.com", labels(`olm.managed: "true"`), true},
		{"a CRD of what is adopted", "CustomResourceDefinition", "ferries.example.com", labels(`olm.managed: "true"`), false},
		{"something of the name of the CRD", "ClusterRole", "tugs.example.com", `{}`, false},
		{"a role for the users of its CRD", "ClusterRole", "x", owner("tugs.example.com"), true},
		{"a role for the users of the other CRD", "ClusterRole", "x", owner("ferries.example.com"), false},
	} {
		list := append(slices.Concat(ferry(), tug("harbour")), item("OperatorGroup", "bay/og", `{}`), item("ClusterServiceVersion", "bay/barge.v1.0.0", `status: {phase: Succeeded}`))
		if c.fields != "" && c.name != "harbour/og" && c.name != "bay/og" || c.kind == "Role" {
			list = append(list, item(c.kind, c.name, c.fields))
		}
		all := cluster(t, list)
		s := mustSelect(t, all, "ferry", "barge")
		o := get(t, s, c.kind, c.name)
		v := &verifier{State: s, kept: newTies(s, s.notAdopted())}
		if got := v.leftOut(o); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
		if (&verifier{State: all, kept: newTies(all, nil)}).leftOut(o) {
			t.Errorf("%s is left out though all are adopted", c.what)
		}
	}
}
