package adopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/permissions"
)

// verdicts returns a line for each object of a comparison.
func verdicts(v *Verification) (list []string) {
	for _, c := range v.Objects {
		list = append(list, string(c.Verdict)+" "+c.Object)
	}
	return list
}

// Rules of equal rights, and the selector of an OperatorGroup that names its targets, are the same to Kubernetes and
// OLM.
func TestSameMeaning(t *testing.T) {
	const two, turned = `{rules: [{verbs: [get], apiGroups: [""], resources: [a]}, {verbs: [get], apiGroups: [""], resources: [b]}]}`,
		`{rules: [{verbs: [get], apiGroups: [""], resources: [b]}, {verbs: [get], apiGroups: [""], resources: [a]}]}`
	for _, c := range []struct{ kind, live, rendered, want string }{
		{"Role", two, turned, "rules"},
		{"ClusterRole", two, turned, "rules"},
		{"ClusterRole", two, `{rules: []}`, ""},
		{"Boat", two, turned, ""},
		{"OperatorGroup", `{spec: {targetNamespaces: [a], selector: {}}}`, `{spec: {targetNamespaces: [a]}}`, "spec.selector"},
		{"OperatorGroup", `{spec: {selector: {}}}`, `{spec: {}}`, ""},
		{"Boat", `{spec: {targetNamespaces: [a], selector: {}}}`, `{spec: {targetNamespaces: [a]}}`, ""},
	} {
		if got := sameMeaning(c.kind, item(c.kind, "harbour/a", c.live), item(c.kind, "harbour/a", c.rendered)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.live, got, c.want)
		}
	}
}

// Labels that are null are as good as none.
func TestWithoutStatus(t *testing.T) {
	got := withoutStatus(item("Boat", "harbour/a", `{metadata: {labels: null, uid: x}, status: {phase: Ready}}`))
	if d := cmp.Diff(item("Boat", "harbour/a", `{}`), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Each object is compared once, in the order of its name; what belongs to others is not.
func TestVerify(t *testing.T) {
	labels := func(csv string) string {
		return `metadata: {labels: {olm.owner: ` + csv + `, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour}}`
	}
	same, other := item("Role", "harbour/b", `{rules: [], `+labels("ferry.v1.0.0")+`}`), item("Role", "harbour/tug", `{rules: [], `+labels("tug.v1.0.0")+`}`)
	left := item("Role", "harbour/a", labels("ferry.v1.0.0"))
	shared := item("ClusterRole", "og", `metadata: {labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}}`)
	s := mustSelect(t, cluster(t, ferry(), tug("harbour"), []map[string]any{same, other, left, shared, item("ConfigMap", "harbour/mine", `metadata: {labels: {olm.managed: "true"}}`)}), "ferry")
	rendered := []map[string]any{ferry()[1], same, other, item("Role", "harbour/c", `{}`)}
	want := []string{"equal ClusterServiceVersion harbour/ferry.v1.0.0", "cluster only Role harbour/a", "equal Role harbour/b", "rendered only Role harbour/c"}
	for range 2 {
		v := s.Verify(rendered)
		if got := verdicts(v); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := v.Objects[1].Reason; !strings.HasPrefix(got, "it has OLM's labels") {
			t.Errorf("a CSV is rendered: %s", got)
		}
		slices.Reverse(rendered)
	}
	for _, c := range s.Verify(rendered[1:]).Objects {
		if c.Object == "Role harbour/a" && c.Reason != "OLM's own, or of another name in the new form" {
			t.Errorf("no CSV is rendered: %s", c.Reason)
		}
	}
	if n := s.Verify(rendered).Count(ClusterOnly); n != 1 {
		t.Errorf("%d objects are only in the cluster", n)
	}
}

// An operator is missing in a file if nothing there runs it, or has OLM run it.
func TestNotRendered(t *testing.T) {
	two := `spec: {install: {spec: {deployments: [{name: a}, {name: ferry}]}}}`
	for _, c := range []struct {
		what, csv string
		rendered  map[string]any
		want      bool
	}{
		{"nothing", `{}`, item("Role", "harbour/ferry", `{}`), true},
		{"its Deployment", `{}`, item("Deployment", "harbour/ferry", `{}`), false},
		{"one of its Deployments", two, item("Deployment", "harbour/ferry", `{}`), false},
		{"a Deployment of that name elsewhere", `{}`, item("Deployment", "pier/ferry", `{}`), true},
		{"a Subscription", `{}`, item("Subscription", "harbour/x", `spec: {name: ferry}`), false},
		{"a Subscription of another package", `{}`, item("Subscription", "harbour/x", `spec: {name: tug}`), true},
		{"a ClusterExtension", `{}`, item("ClusterExtension", "x", `spec: {source: {catalog: {packageName: ferry}}}`), false},
		{"an operator without Deployments", `spec: {install: {spec: {deployments: []}}}`, item("Role", "harbour/ferry", `{}`), false},
	} {
		s := cluster(t, with(ferry(), "ClusterServiceVersion", c.csv))
		found := s.Verify([]map[string]any{c.rendered}).Findings()
		if got := slices.ContainsFunc(found, func(f findings.Finding) bool { return f.Rule == "not-in-file" }); got != c.want {
			t.Errorf("%s: missing: %t", c.what, got)
		}
	}
}

// What Kubernetes and OLM fill in is no difference, and neither is what means the same to them.
func TestPair(t *testing.T) {
	const managed = `metadata: {labels: {olm.managed: "true"}}, `
	const pods, more = `{apiGroups: [""], resources: [pods], verbs: [get]}`, `{apiGroups: [""], resources: [secrets], verbs: [get]}`
	hook := func(selector string) string {
		return managed + `webhooks: [{name: a.example.com, namespaceSelector: {matchLabels: {` + selector + `}}}]`
	}
	crd := func(schema string) string {
		return managed + `spec: {group: example.com, names: {plural: as, kind: A}, scope: Namespaced, versions: [` + schema + `]}`
	}
	for _, c := range []struct {
		what, kind, cluster, rendered string
		want                          Verdict
		changes                       []string
	}{
		{"the same", "Deployment", managed + `spec: {replicas: 1}, status: {replicas: 1}`, managed + `spec: {replicas: 1}`, Equal, nil},
		{"another UID", "Deployment", `metadata: {uid: x, labels: {olm.managed: "true"}}`, managed, Equal, nil},
		{"a default", "Deployment", managed + `spec: {selector: {}, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}, revisionHistoryLimit: 10, progressDeadlineSeconds: 600}`, managed + `spec: {selector: {}, revisionHistoryLimit: 10}`, Filled, nil},
		{"a field", "Deployment", managed + `spec: {replicas: 2}`, managed + `spec: {replicas: 3}`, Differs, []string{"spec.replicas: 2 -> 3 *"}},
		{"a kind that olmgen does not render", "StatefulSet", managed + `spec: {replicas: 1}`, managed + `spec: {replicas: 2}`, Differs, []string{"spec.replicas: 1 -> 2 *"}},
		{"rules in another order", "Role", managed + `rules: [` + pods + `, ` + more + `]`, managed + `rules: [` + more + `, ` + pods + `]`, Filled, nil},
		{"another rule", "Role", managed + `rules: [` + pods + `, ` + more + `]`, managed + `rules: [` + pods + `]`, Differs, []string{`rules: [` + asText(pods) + `,` + asText(more) + `] -> [` + asText(pods) + `] *`}},
		{"a rule that is only rendered", "Role", managed + `rules: [` + pods + `]`, managed + `rules: [` + more + `, ` + pods + `]`, Differs, []string{`rules: [` + asText(pods) + `] -> [` + asText(more) + `,` + asText(pods) + `] *`}},
		{"a label of a Role", "Role", managed + `rules: [` + pods + `]`, `metadata: {labels: {olm.managed: "true", a: b}}, rules: [` + pods + `]`, Differs, []string{`metadata.labels.a:  -> "b" *`}},
		{"rules of an aggregated role", "ClusterRole", managed + `aggregationRule: {clusterRoleSelectors: []}, rules: [` + pods + `]`, managed + `rules: [` + pods + `]`, Differs,
			[]string{`aggregationRule: {"clusterRoleSelectors":[]} -> `, `rules:  -> [` + asText(pods) + `] *`}},
		{"an address of the cluster", "Service", managed + `spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: []}`, managed + `spec: {ports: []}`, Filled, nil},
		{"a headless Service", "Service", managed + `spec: {clusterIP: None, clusterIPs: [None], ports: []}`, managed + `spec: {clusterIP: None, ports: []}`, Filled, nil},
		{"a Service that was made headless", "Service", managed + `spec: {clusterIP: None, ports: []}`, managed + `spec: {ports: []}`, Differs, []string{`spec.clusterIP: "None" -> `}},
		{"a selector beside targets", "OperatorGroup", `spec: {targetNamespaces: [a], selector: {matchLabels: {a: b}}}`, `spec: {targetNamespaces: [a]}`, Filled, nil},
		{"a selector", "OperatorGroup", `spec: {selector: {matchLabels: {a: b}}}`, `spec: {}`, Differs, []string{`spec: {"selector":{"matchLabels":{"a":"b"}}} -> `}},
		{"a selector that is not rendered", "OperatorGroup", `spec: {serviceAccountName: a, selector: {matchLabels: {a: b}}}`, `spec: {serviceAccountName: a}`, Differs,
			[]string{`spec.selector: {"matchLabels":{"a":"b"}} -> `}},
		{"another field beside targets", "OperatorGroup", `spec: {targetNamespaces: [a], upgradeStrategy: x}`, `spec: {targetNamespaces: [a]}`, Differs, []string{`spec.upgradeStrategy: "x" -> `}},
		{"what a CSV replaces", "ClusterServiceVersion", `spec: {replaces: a}, status: {phase: Succeeded}`, `spec: {replaces: b}`, Differs, []string{`spec.replaces: "a" -> "b" *`}},
		{"that a CSV replaces one", "ClusterServiceVersion", `spec: {replaces: a}, status: {phase: Succeeded}`, `spec: {}`, Differs, []string{`spec.replaces: "a" -> `}},
		{"that a CSV is to replace one", "ClusterServiceVersion", `spec: {}, status: {phase: Succeeded}`, `spec: {replaces: b}`, Differs, []string{`spec.replaces:  -> "b" *`}},
		{"the UID of a group", "ValidatingWebhookConfiguration", hook(`olm.operatorgroup.uid/1: ""`), hook(`olm.operatorgroup.uid/2: ""`), Differs,
			[]string{`webhooks[a.example.com].namespaceSelector.matchLabels["olm.operatorgroup.uid/1"]: "" ->  *`, `webhooks[a.example.com].namespaceSelector.matchLabels["olm.operatorgroup.uid/2"]:  -> "" *`}},
		{"another label of a selector", "ValidatingWebhookConfiguration", hook(`a: x`), hook(`a: z`), Differs, []string{`webhooks[a.example.com].namespaceSelector.matchLabels.a: "x" -> "z" *`}},
		{"no selector by the UID", "ValidatingWebhookConfiguration", hook(`olm.operatorgroup.uid/1: ""`), hook(``), Differs,
			[]string{`webhooks[a.example.com].namespaceSelector.matchLabels["olm.operatorgroup.uid/1"]: "" ->  *`}},
		{"the schema of a CRD", "CustomResourceDefinition", crd(`{name: v1, schema: {a: 1}}`), crd(`{name: v1, schema: {a: 2}}`), Differs, []string{"spec.versions[v1].schema.a: 1 -> 2 *"}},
		{"empty categories", "CustomResourceDefinition", strings.Replace(crd(`{name: v1}`), "kind: A", "kind: A, categories: []", 1), crd(`{name: v1}`), Filled, nil},
		{"a null in the schema", "CustomResourceDefinition", crd(`{name: v1, schema: {b: [1]}}`), crd(`{name: v1, schema: {a: null, b: [1]}}`), Filled, nil},
		{"a schema that is only rendered", "CustomResourceDefinition", crd(`{name: v1}`), crd(`{name: v1, deprecated: true}`), Differs, []string{"spec.versions[v1].deprecated:  -> true *"}},
		{"a version that is only rendered", "CustomResourceDefinition", crd(`{name: v1}`), crd(`{name: v1}, {name: v2, schema: {a: 1}}`), Differs, []string{"spec.versions: "}},
	} {
		got := compared(t, item(c.kind, "harbour/a", "{"+strings.TrimSuffix(c.cluster, ", ")+"}"), item(c.kind, "harbour/a", "{"+strings.TrimSuffix(c.rendered, ", ")+"}"))
		words := inWords(got.Changes)
		fits := len(words) == len(c.changes)
		for i := range c.changes {
			fits = fits && (words[i] == c.changes[i] || strings.HasSuffix(c.changes[i], ": ") && strings.HasPrefix(words[i], c.changes[i]))
		}
		if got.Verdict != c.want || !fits {
			t.Errorf("%s: %s: %q, want %s: %q", c.what, got.Verdict, words, c.want, c.changes)
		}
	}
	v := cluster(t, ferry(), []map[string]any{item("Deployment", "harbour/a", `{`+managed+`spec: {replicas: 1}}`)})
	rendered := item("Deployment", "harbour/a", `{`+managed+`spec: {}}`)
	rendered["spec"] = map[string]any{"replicas": 1} // a number of Go
	if got := v.Verify([]map[string]any{rendered}).Objects[0]; got.Verdict != Equal {
		t.Errorf("a number: %s %v", got.Verdict, got.Changes)
	}
}

// asText returns YAML as JSON.
func asText(yaml string) string { return compactJSON(fromYAML(yaml)) }

// What only the file has is created by applying it, unless the dump does not have the kind: then nothing is known.
func TestOnlyRendered(t *testing.T) {
	const csv = `olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour`
	labels := func(s string) string { return "metadata: {labels: {" + s + "}}" }
	const creates = "applying creates it"
	pods := `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`
	account := `subjects: [{kind: ServiceAccount, namespace: harbour, name: a}], roleRef: {kind: Role, name: source, apiGroup: rbac.authorization.k8s.io}`
	for _, c := range []struct {
		what, kind, name, fields string
		want                     string
		level                    findings.Severity
		rule                     string
	}{
		{"a Secret", "Secret", "harbour/x", `{}`, "Secrets are not read, so it is not known", findings.Note, "not-in-dump"},
		{"a kind that no dump has", "Widget", "harbour/x", `{}`, "a dump has no Widget: " + creates + ", or changes the one that is there", findings.Note, "not-in-dump"},
		{"a kind that some dumps have", "ServiceMonitor", "harbour/x", `{}`, creates, findings.Warning, "only-rendered"},
		{"a kind that this dump has not", "Service", "harbour/x", `{}`, "the dump has no Service, so it is not known", findings.Note, "not-in-dump"},
		{"rights that this dump has not", "ClusterRoleBinding", "x", `{}`, "the dump has no ClusterRoleBinding, so it is not known", findings.Error, "not-in-dump"},
		{"a Deployment", "Deployment", "harbour/x", `{}`, creates, findings.Error, "restart"},
		{"a ConfigMap", "ConfigMap", "harbour/x", labels(`olm.copiedFrom: harbour`), creates, findings.Warning, "only-rendered"},
		{"a Role", "Role", "pier/source", labels(csv), creates, findings.Warning, "only-rendered"},
		{"a copied Role", "Role", "pier/x", labels(`olm.copiedFrom: harbour`), byChance, findings.Note, "chance"},
		{"a copied binding", "RoleBinding", "pier/x", labels(`olm.copiedFrom: harbour`), byChance, findings.Note, "chance"},
		{"a copied binding that gives rights", "RoleBinding", "pier/x", "{" + labels(`olm.copiedFrom: harbour`) + ", " + strings.ReplaceAll(account, "source", "pods") + "}",
			creates + ", and gives back: ServiceAccount harbour/a gains, in pier: core: get pods", findings.Warning, "only-rendered"},
		{"a promoted Role", "ClusterRole", "source", labels(csv), byChance, findings.Note, "chance"},
		{"a ClusterRole of no Role", "ClusterRole", "x", labels(csv), creates, findings.Warning, "only-rendered"},
		{"an object without its namespace", "Role", "nowhere/x", labels(`olm.copiedFrom: harbour`), "the cluster has no namespace nowhere: the API server refuses it", findings.Error, "no-namespace"},
		{"a ClusterRole of a group", "ClusterRole", "source", labels(`olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`), creates, findings.Warning, "only-rendered"},
	} {
		s := cluster(t, ferry(), []map[string]any{item("Namespace", "harbour", `{}`), item("Namespace", "pier", `{}`), item("Role", "harbour/source", `{}`), item("RoleBinding", "harbour/source", `{}`), item("ClusterRole", "other", `{}`),
			item("Role", "pier/pods", pods), item("Deployment", "harbour/ferry", `metadata: {labels: {a: b}}`), item("ConfigMap", "harbour/y", `{}`),
			{"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": map[string]any{"name": "y", "namespace": "x"}}})
		v := s.Verify([]map[string]any{item(c.kind, c.name, c.fields)})
		i := slices.IndexFunc(v.Objects, func(o Compared) bool { return o.Verdict == RenderedOnly })
		if i < 0 {
			t.Errorf("%s: %q", c.what, verdicts(v))
			continue
		}
		got := v.Objects[i]
		f := got.findings()
		if got.Reason != c.want || len(f) != 1 || f[0].Rule != c.rule || f[0].Level != c.level || slices.Equal(got.Restarts, []string{"spec"}) != (c.kind == "Deployment") {
			t.Errorf("%s: %q, want %q; %+v", c.what, got.Reason, c.want, f)
		}
	}
}

// The rights that missing roles give back are those of the missing ones alone, in their namespaces.
func TestGivenBack(t *testing.T) {
	role := func(kind, name, verbs string) map[string]any {
		return item(kind, name, `rules: [{apiGroups: [""], resources: [pods], verbs: [`+verbs+`]}]`)
	}
	binding := func(kind, name, role string) map[string]any {
		return item(kind, name, `{subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}], roleRef: {kind: `+role+`, apiGroup: rbac.authorization.k8s.io}}`)
	}
	for _, c := range []struct {
		what           string
		live, rendered []map[string]any
		want           map[string]string
	}{
		{"nothing", []map[string]any{role("Role", "pier/a", "get")}, []map[string]any{role("Role", "pier/a", "get")}, nil},
		{"a binding", []map[string]any{role("Role", "pier/a", "get")}, []map[string]any{binding("RoleBinding", "pier/a", "Role, name: a")}, map[string]string{"pier": "User eve gains, in pier: core: get pods"}},
		{"a binding and a changed role", []map[string]any{role("Role", "pier/a", "get")}, []map[string]any{role("Role", "pier/a", "get, list"), binding("RoleBinding", "pier/a", "Role, name: a")},
			map[string]string{"pier": "User eve gains, in pier: core: get pods"}},
		{"in the whole cluster", []map[string]any{role("ClusterRole", "a", "get")}, []map[string]any{binding("ClusterRoleBinding", "a", "ClusterRole, name: a")},
			map[string]string{"": "User eve gains, in cluster: core: get pods"}},
		{"an account of a group that has rights", []map[string]any{role("Role", "pier/a", "get"), item("RoleBinding", "pier/a",
			`{subjects: [{kind: Group, name: "system:serviceaccounts:pier", apiGroup: rbac.authorization.k8s.io}], roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}}`)},
			[]map[string]any{item("ServiceAccount", "pier/x", `{}`)}, nil},
	} {
		s := cluster(t, ferry(), c.live)
		got := map[string]string{}
		for ns, items := range (&verifier{State: s, rendered: objectsByKey(c.rendered...)}).givenBack() {
			got[ns] = strings.Join(lines("gains", items), "; ")
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// A plan names who loses a right by what is applied, and by what is deleted. The subjects are in their order.
func TestLines(t *testing.T) {
	role := func(verbs string) map[string]any {
		return item("Role", "harbour/a", `{rules: [{apiGroups: [""], resources: [pods], verbs: [`+verbs+`]}], metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour}}}`)
	}
	binding := item("RoleBinding", "harbour/b", `{subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}, {kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}],
  roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}}`)
	s := cluster(t, ferry(), []map[string]any{role("get, list"), binding})
	for _, c := range []struct {
		what            string
		rendered, asOLM []map[string]any
		want            []string
	}{
		{"the role stays", []map[string]any{role("get, list"), item("ServiceAccount", "harbour/x", `{}`)}, nil, nil},
		{"the role loses a verb", []map[string]any{role("get")}, nil, []string{"User bob loses, in harbour: core: list pods", "User eve loses, in harbour: core: list pods"}},
		{"the role is deleted", nil, []map[string]any{role("get, list")}, []string{"User bob loses, in harbour: core: get,list pods", "User eve loses, in harbour: core: get,list pods"}},
		{"the role is nobody's", nil, nil, nil},
	} {
		d := newDeparture(s, s.All(), s.Verify(c.rendered), s.Verify(c.asOLM))
		if got, err := d.lostRights(c.rendered); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.what, got, err, c.want)
		}
	}
}

// A right on OperatorConditions is OLM's bookkeeping, and no other one is.
func TestBookkeeping(t *testing.T) {
	for _, c := range []struct {
		group, resources string
		want             bool
	}{{"operators.coreos.com", "operatorconditions", true}, {"operators.coreos.com", "operatorconditions/status operatorconditions", true},
		{"operators.coreos.com", "operatorconditions subscriptions", false}, {"operators.coreos.com", "*", false}, {"example.com", "operatorconditions", false}} {
		if got := bookkeeping(permissions.Item{APIGroups: []string{c.group}, Resources: strings.Fields(c.resources)}); got != c.want {
			t.Errorf("%s: %s: %t", c.group, c.resources, got)
		}
	}
}

// An operator is left if a file runs it without OLM: neither its CSV nor what hands it to OLM is there.
func TestLeft(t *testing.T) {
	deployment := item("Deployment", "harbour/ferry", `{}`)
	for _, c := range []struct {
		what     string
		rendered []map[string]any
		want     int
	}{
		{"nothing, so it is in no file", nil, 0}, {"its Deployment", []map[string]any{deployment}, 1}, {"its Deployment and its CSV", []map[string]any{deployment, ferry()[1]}, 0},
		{"its Deployment and its Subscription", []map[string]any{deployment, ferry()[2]}, 0},
	} {
		if got := cluster(t, ferry()).Left(c.rendered); len(got) != c.want {
			t.Errorf("%s: %q", c.what, packages(got))
		}
	}
}

// Each finding says what applying does, and is an error only if that restarts a pod, takes a right away, or is refused.
func TestFindingsOf(t *testing.T) {
	o := cluster(t, ferry()).Groups[0].Object
	o.Line = 7
	for _, c := range []struct {
		what string
		of   Compared
		want []string // rule, level, message
	}{
		{"equal", Compared{Verdict: Equal}, nil},
		{"filled", Compared{Verdict: Filled}, nil},
		{"a certificate", Compared{Verdict: Filled, Reason: "rotated"}, []string{"certificate note: rotated"}},
		{"a right", Compared{Verdict: Differs, Reason: "x", Loses: []string{"get pods"}}, []string{"right error: applying takes away get pods (x)"}},
		{"fields", Compared{Verdict: Differs, Reason: "x", Restarts: []string{"b", "a"}, Immutable: []string{"a"}, Changes: []Change{
			{Field: "a", Cluster: "1", Rendered: "2", Applied: true, Reason: "x"}, {Field: "b", Rendered: "2", Applied: true, Reason: "y"}, {Field: "c", Cluster: "1", Reason: "x"}, {Field: "d", Cluster: "1", Rendered: "2", Applied: true, Reason: "x"}}},
			[]string{"immutable error: is 1 in the cluster, and rendered as 2: x", "restart error: is not in the cluster, and rendered as 2: y",
				"left-in-cluster warning: is 1 in the cluster, and not rendered: x", "differs warning: is 1 in the cluster, and rendered as 2: x"}},
		{"live", Compared{Verdict: ClusterOnly, Reason: "x", live: true, object: o}, []string{"only-in-cluster warning: x 7"}},
		{"an orphan", Compared{Verdict: ClusterOnly, Reason: "x", object: o}, []string{"only-in-cluster warning: x 7"}},
		{"by chance", Compared{Verdict: ClusterOnly, Reason: byChance, live: true, object: o}, []string{"chance note: cluster only: " + byChance + " 7"}},
		{"only rendered", Compared{Verdict: RenderedOnly, Reason: "x"}, []string{"only-rendered warning: x"}},
		{"a Deployment", Compared{Verdict: RenderedOnly, Reason: "x", harm: true}, []string{"restart error: the cluster has no such Deployment: applying starts its pods"}},
		{"an unknown Role", Compared{Verdict: RenderedOnly, Reason: "x", unknown: true, object: &dump.Object{Kind: "Role"}}, []string{"not-in-dump error: x"}},
		{"an unknown ConfigMap", Compared{Verdict: RenderedOnly, Reason: "x", unknown: true, object: &dump.Object{Kind: "ConfigMap"}}, []string{"not-in-dump note: x"}},
	} {
		if c.of.object == nil {
			c.of.object = &dump.Object{}
		}
		var got []string
		for _, f := range c.of.findings() {
			line := f.Rule + " " + string(f.Level) + ": " + f.Message
			if f.Line > 0 {
				line += fmt.Sprint(" ", f.Line)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	live := Compared{Verdict: ClusterOnly, live: true, object: &dump.Object{}}
	if got := live.oneSided().Hint; !strings.HasPrefix(got, "applying leaves it there; as long as OLM runs") {
		t.Errorf("an object that OLM needs: %s", got)
	}
	var out strings.Builder
	v := &Verification{state: cluster(t, ferry()), Objects: []Compared{{Object: "Role a/b", Verdict: Equal, object: &dump.Object{}}}}
	if err := v.Print(&out, findings.Text, nil, true); err != nil || !strings.Contains(out.String(), "equal         Role a/b") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := v.Print(&out, findings.Markdown, nil, false); err != nil || !strings.Contains(out.String(), "| equal | 1 |") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, verbose := range []bool{true, false} {
		if err := v.Print(full{}, findings.Text, nil, verbose); err == nil {
			t.Error("what cannot be written is no error")
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no room") }

// The backup has what can be applied again: the operators' objects without what the API server gives them anew.
func TestBackupOf(t *testing.T) {
	role := func(name, labels string) map[string]any {
		return item("ClusterRole", name, "metadata: {labels: {"+labels+"}}")
	}
	s := mustSelect(t, cluster(t, ferry(), tug("bay"), []map[string]any{item("OperatorGroup", "bay/og", `{}`), item("Namespace", "harbour", `metadata: {labels: {operators.coreos.com/ferry.harbour: ""}}`),
		item("InstallPlan", "harbour/p", `metadata: {labels: {operators.coreos.com/ferry.harbour: ""}}`), item("OperatorCondition", "harbour/ferry.v1.0.0", `{}`),
		item("Deployment", "harbour/edited", `{metadata: {uid: u, resourceVersion: "1", managedFields: [{manager: m}], ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}]},
  spec: {template: {spec: {containers: [{name: a, image: edited.io/x}]}}}, status: {replicas: 1}}`),
		role("tied", "olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour"), role("component", `operators.coreos.com/ferry.harbour: ""`), role("shipped", `a: b`),
		role("mine", `a: b`), role("other", "olm.owner: tug.v1.0.0, olm.owner.namespace: bay"),
		item("ClusterRole", "aggregated", `{metadata: {annotations: {deployment.kubernetes.io/revision: "1", a: b}, labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour}}, aggregationRule: {clusterRoleSelectors: []},
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`),
		item("ClusterRole", "rules", `{metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour}}, rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]}`)}), "ferry")
	b := s.Backup([]map[string]any{role("shipped", `a: b`), role("other", "")})
	for text, want := range map[string]int{"kind: OperatorGroup\n": 1, "name: ferry.v1.0.0\n": 2, "kind: OperatorCondition\n": 1, "name: tied\n": 1, "name: component\n": 1, "name: shipped\n": 1,
		"name: mine\n": 0, "name: other\n": 0, "kind: Namespace\n": 0, "kind: InstallPlan\n": 0, "kind: Subscription\n": 0, "name: tug": 0, "revision": 0, "    a: b\n": 2, "- pods\n": 0, "- nodes\n": 1,
		"annotations: {}": 0, "uid:": 0, "resourceVersion": 0, "managedFields": 0, "ownerReferences": 0, "status:": 0, "image: edited.io/x": 1} {
		if n := strings.Count(string(b.Objects)+string(b.OLM), text); n != want {
			t.Errorf("%q: %d times, want %d\n%s%s", text, n, want, b.Objects, b.OLM)
		}
	}
	if n := strings.Count(string(b.Subscriptions), "kind: Subscription\n"); n != 1 {
		t.Errorf("%d Subscriptions", n)
	}
	for _, c := range []struct{ what, name, owners, want string }{ // want: the UIDs of the owners that it gets again
		{"the CSV", "ConfigMap harbour/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}`, "u-ferry"},
		{"the CSV and a Secret", "ConfigMap harbour/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}, {apiVersion: v1, kind: Secret, name: s, uid: u-s}`, "u-ferry"},
		{"a Secret", "ConfigMap harbour/x", `{apiVersion: v1, kind: Secret, name: s, uid: u-s}`, ""},
		{"a CSV that is gone", "ConfigMap harbour/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: gone, uid: u-ferry}`, ""},
		{"the CSV without UID", "ConfigMap harbour/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: ""}`, ""},
		{"the Subscription, which is not there at first", "ConfigMap harbour/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, name: ferry-sub, uid: u-sub}`, ""},
		{"the CSV of another operator", "ConfigMap bay/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: tug.v1.0.0, uid: u-tug}`, ""},
		{"a CSV that no group runs", "ConfigMap dock/x", `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: loose.v1, uid: u-loose}`, ""},
		{"nobody", "ClusterRole x", ``, ""},
	} {
		kind, name, _ := strings.Cut(c.name, " ")
		shipped := item(kind, name, `{metadata: {labels: {operators.coreos.com/ferry.harbour: ""}, ownerReferences: [`+c.owners+`]}}`)
		b := mustSelect(t, cluster(t, ferry(), tug("bay"), []map[string]any{item("OperatorGroup", "bay/og", `{}`), item("ClusterServiceVersion", "dock/loose.v1", `{}`), shipped}), "ferry").Backup([]map[string]any{shipped})
		var uids []string
		for row := range strings.Lines(string(b.Owners)) {
			uids = append(uids, strings.Fields(row)[0])
		}
		if got := strings.Join(uids, " "); got != c.want || strings.Contains(string(b.Owned), "\n  namespace: harbour\n") != (c.want != "") {
			t.Errorf("an object of %s: owners %q, want %q\n%s", c.what, got, c.want, b.Owned)
		}
	}
}

// OLM takes the APIs that only leaving operators own from the ClusterRoles of a group that stays.
func TestPruned(t *testing.T) {
	const admin = "olm.opgroup.permissions/aggregate-to-"
	api := func(crd, letter string) map[string]any {
		return item("ClusterRole", crd+"-v1-admin", `metadata: {labels: {olm.managed: "true", `+admin+letter+`: og}, ownerReferences: [{kind: CustomResourceDefinition, name: `+crd+`}]}`)
	}
	barge := func(owns string) map[string]any {
		return item("ClusterServiceVersion", "harbour/barge.v1.0.0", `{spec: {customresourcedefinitions: {owned: [{name: barges.example.com, version: v1, kind: Barge}`+owns+`]}}, status: {phase: Succeeded}}`)
	}
	group := func(labels string) string {
		selectors := ""
		for _, letter := range []string{"F", "T", "B", "X"} {
			selectors += "{matchLabels: {" + admin + letter + ": og}}, "
		}
		return `{metadata: {labels: {` + labels + `}}, aggregationRule: {clusterRoleSelectors: [` + selectors + `{matchLabels: {olm.managed: "true"}}]}}`
	}
	const of = `olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`
	apis := []map[string]any{api("ferries.example.com", "F"), api("tugs.example.com", "T"), api("barges.example.com", "B"), api("xs.example.com", "X"), item("OperatorGroup", "bay/og", `{}`)}
	for _, c := range []struct {
		what, labels, edit, owns string
		leave                    []string
		want                     string // the selectors that stay; "" if nothing changes
	}{
		{"the API of the one that leaves", of, `{}`, "", []string{"ferry", "tug"}, "TBXolm.managed"},
		{"an API that another one owns too", of, `{}`, ", {name: ferries.example.com, version: v1, kind: Ferry}", []string{"ferry", "tug"}, ""},
		{"a group that goes", of, `{}`, "", []string{"ferry", "tug", "barge"}, ""},
		{"a group of which nothing goes", of, `{}`, "", []string{"tug"}, ""},
		{"a static group", of, `spec: {staticProvidedAPIs: true}`, "", []string{"ferry"}, ""},
		{"a role of another group", `olm.owner: x, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour`, `{}`, "", []string{"ferry"}, ""},
		{"a role of a group elsewhere", `olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: pier`, `{}`, "", []string{"ferry"}, ""},
		{"a role of something else", `olm.owner: og, olm.owner.kind: x, olm.owner.namespace: harbour`, `{}`, "", []string{"ferry"}, ""},
	} {
		list := append(with(ferry(), "OperatorGroup", c.edit), barge(c.owns), item("ClusterRole", "role", group(c.labels)))
		s := mustSelect(t, cluster(t, list, tug("bay"), apis), c.leave...)
		d := newDeparture(s, s.All(), &Verification{}, &Verification{})
		i := slices.IndexFunc(s.Groups, func(g *Group) bool { return g.Namespace == "harbour" })
		got := ""
		if pruned := d.pruned(s.Groups[i], get(t, s, "ClusterRole", "role")); pruned != nil {
			for _, x := range pruned["aggregationRule"].(map[string]any)["clusterRoleSelectors"].([]any) {
				got += strings.TrimPrefix(asKey(x), admin)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	// the plan counts with it
	eve := item("ClusterRoleBinding", "eve", `{subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}], roleRef: {kind: ClusterRole, name: role, apiGroup: rbac.authorization.k8s.io}}`)
	rules := api("ferries.example.com", "F")
	rules["rules"] = fromYAML(`rules: [{apiGroups: [example.com], resources: [ferries], verbs: [get]}]`)["rules"]
	s := mustSelect(t, cluster(t, append(ferry(), barge(""), rules, eve, item("ClusterRole", "role",
		`{metadata: {labels: {`+of+`}}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {`+admin+`F: og}}]}}`))), "ferry")
	lost, err := newDeparture(s, s.All(), &Verification{}, &Verification{}).lostRights(nil)
	if want := []string{"User eve loses, in cluster: example.com: get ferries"}; err != nil || !slices.Equal(lost, want) {
		t.Errorf("%q, %v; want %q", lost, err, want)
	}
}

// asKey returns the one label of a selector.
func asKey(selector any) string {
	for k := range selector.(map[string]any)["matchLabels"].(map[string]any) {
		return k
	}
	return ""
}

// A warning about one field is there once for all objects and items, whatever its values are. An error is there for
// each value, because each restarts something else.
func TestGrouped(t *testing.T) {
	of := func(level findings.Severity, object, field, message string) findings.Finding {
		return findings.Finding{Rule: "differs", Level: level, Object: object, Field: field, Message: message}
	}
	const selector = "].namespaceSelector"
	table := grouped([]findings.Finding{
		of(findings.Warning, "Webhook a", "webhooks[a"+selector, "is 1"), of(findings.Warning, "Webhook b", "webhooks[b"+selector, "is 2"),
		of(findings.Warning, "Role a", `metadata.labels["a"]`, "is 1"), of(findings.Warning, "Role b", `metadata.labels["b"]`, "is 1"),
		of(findings.Error, "Deployment a", "spec.image", "is 1"), of(findings.Error, "Deployment b", "spec.image", "is 2"),
		of(findings.Warning, "Role c", "", "orphan of x"), of(findings.Warning, "Role d", "", "orphan of y")})
	var got []string
	for _, row := range table.Rows {
		got = append(got, fmt.Sprint(row[1].Text))
	}
	want := []string{"Deployment a: spec.image is 1", "Deployment b: spec.image is 2", "2 objects, such as Webhook a: webhooks[a" + selector + " is 1",
		`Role a: metadata.labels["a"] is 1`, `Role b: metadata.labels["b"] is 1`, "Role c: orphan of x", "Role d: orphan of y"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	var ten []findings.Finding
	for i := range 10 {
		ten = append(ten, of(findings.Error, "Role a", "", fmt.Sprint("is ", i)))
	}
	if n := len(grouped(ten).Rows); n != 10 {
		t.Errorf("ten differences have %d lines", n)
	}
}

// An object is counted for the operator that it is of; one of several operators, or of none, is counted for nobody.
func TestOperatorOf(t *testing.T) {
	s := cluster(t, fleet(), []map[string]any{
		item("CustomResourceDefinition", "ferries.example.com", `metadata: {labels: {olm.managed: "true"}}`), item("CustomResourceDefinition", "tugs.example.com", `metadata: {labels: {olm.managed: "true"}}`),
		item("ClusterRole", "users", `metadata: {ownerReferences: [{kind: CustomResourceDefinition, name: ferries.example.com}]}`),
		item("Role", "harbour/labelled", `metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour}}`), item("Role", "bay/mine", `{}`),
		item("Service", "bay/component", `metadata: {labels: {operators.coreos.com/ferry.harbour: ""}}`)})
	for _, c := range []struct{ kind, name, want string }{
		{"CustomResourceDefinition", "ferries.example.com", "harbour/ferry"}, {"CustomResourceDefinition", "tugs.example.com", ""}, {"ClusterRole", "users", "harbour/ferry"},
		{"Role", "harbour/labelled", "harbour/ferry"}, {"Role", "bay/mine", ""}, {"Service", "bay/component", "harbour/ferry"}, {"ClusterServiceVersion", "bay/tug.v1.0.0", "bay/tug"},
		{"Service", "bay/new", "bay/tug"}, {"Service", "harbour/new", ""}, {"ClusterRole", "new", ""}, // that are only rendered
	} {
		ns, name, namespaced := strings.Cut(c.name, "/")
		if !namespaced {
			ns, name = "", c.name
		}
		got := ""
		compared := Compared{object: s.Dump.Get(c.kind, ns, name)}
		if compared.object == nil {
			compared = Compared{Verdict: RenderedOnly, object: &dump.Object{Kind: c.kind, Namespace: ns, Name: name}}
		}
		if op := (&Verification{state: s}).operatorOf(compared); op != nil {
			got = op.Group.Namespace + "/" + op.Package
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.name, got, c.want)
		}
	}
}
