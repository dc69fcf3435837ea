package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// What OLM installs by in the namespaces of the adopted operators must be as it was when the plan was made.
func TestSince(t *testing.T) {
	const version = `{metadata: {resourceVersion: "1"}}`
	was := func() []map[string]any {
		list := with(with(with(ferry(), "ClusterServiceVersion", version), "Subscription", version), "OperatorGroup", version)
		return append(list, item("OperatorCondition", "harbour/ferry.v1.0.0", `{metadata: {resourceVersion: "1"}}`),
			item("InstallPlan", "harbour/p", `{metadata: {resourceVersion: "1"}, status: {phase: Complete}}`),
			item("ClusterServiceVersion", "pier/ferry.v1.0.0", `{metadata: {resourceVersion: "1", labels: {olm.copiedFrom: harbour}}}`),
			item("OperatorGroup", "dock/og", `{metadata: {resourceVersion: "1"}}`), item("ConfigMap", "harbour/c", `{metadata: {resourceVersion: "1", labels: {olm.managed: "true"}}}`))
	}
	edited := func(kind, fields string) []map[string]any { return with(was(), kind, fields) }
	for _, c := range []struct {
		what     string
		now      []map[string]any
		rendered []map[string]any
		want     []string
	}{
		{"nothing", was(), nil, nil},
		{"the phase of the CSV", edited("ClusterServiceVersion", `{metadata: {resourceVersion: "2"}, status: {phase: Pending}}`), nil,
			[]string{"ClusterServiceVersion harbour/ferry.v1.0.0: was Succeeded and is Pending since the dump"}},
		{"the state of the Subscription", edited("Subscription", `{metadata: {resourceVersion: "2"}, status: {state: UpgradePending}}`), nil,
			[]string{"Subscription harbour/ferry-sub: was AtLatestKnown and is UpgradePending since the dump"}},
		{"a phase that is gone", edited("InstallPlan", `{metadata: {resourceVersion: "2"}, status: null}`), nil, []string{"InstallPlan harbour/p: was Complete and is without a phase since the dump"}},
		{"a field of the group", edited("OperatorGroup", `{metadata: {resourceVersion: "2"}, spec: {upgradeStrategy: TechPreviewUnsafeFailForward}}`), nil,
			[]string{"OperatorGroup harbour/og: was changed since the dump: spec.upgradeStrategy"}},
		{"what a group selects", edited("OperatorGroup", `{metadata: {resourceVersion: "2"}, status: {namespaces: [harbour, bay]}}`), nil,
			[]string{"OperatorGroup harbour/og: was changed since the dump: status.namespaces"}},
		{"a mark of an engine, and what is installed", edited("Subscription", `{metadata: {resourceVersion: "2", annotations: {a: b}}, status: {installedCSV: x}}`), nil,
			[]string{"Subscription harbour/ferry-sub: was changed since the dump: metadata.annotations.a, status.installedCSV"}},
		{"what OLM writes at each look", edited("Subscription", `{metadata: {resourceVersion: "2"}, status: {lastUpdated: "2026-03-03T03:03:03Z", catalogHealth: [{healthy: true}]}}`), nil, nil},
		{"a finalizer that the plan takes away", edited("ClusterServiceVersion", `{metadata: {resourceVersion: "2", finalizers: []}}`), nil, nil},
		{"a group that was made anew", edited("OperatorGroup", `{metadata: {uid: new, resourceVersion: "2"}}`), nil, []string{"OperatorGroup harbour/og: was made anew since the dump"}},
		{"no InstallPlan", dropped(was(), "InstallPlan", "p"), nil, []string{"InstallPlan harbour/p: is gone since the dump"}},
		{"a new InstallPlan", append(was(), item("InstallPlan", "harbour/q", `{}`)), nil, []string{"InstallPlan harbour/q: is new since the dump"}},
		{"a copy, which follows its original", append(dropped(was(), "ClusterServiceVersion", "pier/ferry.v1.0.0"),
			item("ClusterServiceVersion", "bay/ferry.v1.0.0", `{metadata: {labels: {olm.copiedFrom: harbour}}}`)), nil, nil},
		{"a copy of another operator", append(was(), item("ClusterServiceVersion", "harbour/tug.v1.0.0", `{metadata: {labels: {olm.copiedFrom: bay}}}`)), nil, nil},
		{"a condition", dropped(was(), "OperatorCondition", "ferry.v1.0.0"), nil, nil},
		{"what is not OLM's", dropped(was(), "ConfigMap", "c"), nil, nil},
		{"the group of no operator", dropped(was(), "OperatorGroup", "dock/og"), nil, nil},
	} {
		var got []string
		for _, f := range cluster(t, c.now).Since(cluster(t, was()), c.rendered) {
			got = append(got, f.Object+": "+f.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	all, now := cluster(t, fleet()), cluster(t, fleet(), []map[string]any{item("InstallPlan", "bay/p", `{}`)})
	if some := mustSelect(t, all, "ferry"); len(now.Since(all, nil)) != 1 || len(now.Since(some, nil)) != 0 {
		t.Errorf("an InstallPlan in bay: %+v of all operators, %+v of one in harbour", now.Since(all, nil), now.Since(some, nil))
	}
}

// A plan names the newest time that OLM's objects have.
func TestNewest(t *testing.T) {
	const old, now, later = `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:06Z"`, `"2027-01-01T00:00:00Z"`
	for _, c := range []struct{ what, fields, want string }{
		{"nothing", `{}`, ""},
		{"when it was made", `{metadata: {creationTimestamp: ` + now + `}}`, now},
		{"a condition", `{metadata: {creationTimestamp: ` + old + `}, status: {conditions: [{at: ` + now + `}, {at: ` + old + `}]}}`, now},
		{"what is not a time", `{status: {state: "3 o'clock", at: ` + now + `}}`, now},
		{"what somebody wants", `{metadata: {annotations: {a: ` + later + `}}, spec: {at: ` + later + `}, status: {at: ` + now + `}}`, now},
	} {
		s := cluster(t, ferry(), []map[string]any{item("InstallPlan", "harbour/p", c.fields), item("Role", "harbour/r", `{metadata: {creationTimestamp: `+later+`}}`)})
		if got := s.newest(); got != strings.Trim(c.want, `"`) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// A dump that lacks what a plan is about is refused, with the command that adds it. An operator without rights of its
// own, CRDs or Deployments needs none of those in the dump.
func TestComplete(t *testing.T) {
	const rights = `[{serviceAccountName: a, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]`
	whole := func(csv string) []map[string]any {
		return append(with(ferry(), "ClusterServiceVersion", csv), item("ClusterRole", "a", `{}`), item("Deployment", "harbour/a", `{}`), item("CustomResourceDefinition", "a", `{}`),
			item("ServiceAccount", "harbour/a", `{}`), item("Role", "harbour/a", `{}`), item("RoleBinding", "harbour/a", `{}`), item("ClusterRoleBinding", "a", `{}`))
	}
	all := `spec: {install: {spec: {permissions: ` + rights + `, clusterPermissions: ` + rights + `}}}`
	for _, c := range []struct {
		csv   string // an edit of it
		to    generate.Profile
		lacks string // kinds
		want  string // those that a plan is about
	}{
		{all, generate.ProfilePlain, "", ""},
		{all, generate.ProfilePlain, "Subscription", "subscriptions.operators.coreos.com"},
		{all, generate.ProfileOLM, "Subscription", "subscriptions.operators.coreos.com"},
		{all, generate.ProfileSubscription, "Subscription", "subscriptions.operators.coreos.com"},
		{all, generate.ProfilePlain, "OperatorGroup", "operatorgroups.operators.coreos.com"},
		{all, generate.ProfilePlain, "ClusterServiceVersion", "clusterserviceversions.operators.coreos.com"},
		{all, generate.ProfilePlain, "ClusterRole", "clusterroles.rbac.authorization.k8s.io"},
		{all, generate.ProfileOLM, "ClusterRole", ""},
		{all, generate.ProfileDescoped, "Deployment ClusterRoleBinding", "deployments.apps,clusterrolebindings.rbac.authorization.k8s.io"},
		{all, generate.ProfileOLMv1, "Role RoleBinding ServiceAccount", "serviceaccounts,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"},
		{all, generate.ProfilePlain, "CustomResourceDefinition", "customresourcedefinitions.apiextensions.k8s.io"},
		{`{}`, generate.ProfilePlain, "Role RoleBinding ServiceAccount ClusterRoleBinding", ""},
		{`spec: {install: {spec: {clusterPermissions: ` + rights + `}}}`, generate.ProfilePlain, "Role RoleBinding ServiceAccount", "serviceaccounts"},
		{`spec: {install: {spec: {permissions: ` + rights + `}}}`, generate.ProfilePlain, "ClusterRoleBinding ServiceAccount", "serviceaccounts"},
		{`spec: {customresourcedefinitions: null, install: {spec: {deployments: null}}}`, generate.ProfilePlain, "CustomResourceDefinition Deployment", ""},
	} {
		list := slices.DeleteFunc(whole(c.csv), func(o map[string]any) bool { return slices.Contains(strings.Fields(c.lacks), o["kind"].(string)) })
		got := ""
		if err := read(t, list).checkComplete(c.to); err != nil {
			hint, none, _ := strings.Cut(manifest.HintOf(err), "; if there is no Subscription, of: kubectl get --raw ")
			got = strings.TrimSuffix(strings.TrimPrefix(hint, "add the output of: kubectl get "), " -A -o yaml")
			if (none == noSubscription) != strings.Contains(c.want, "subscriptions.") {
				t.Errorf("%s without %s: %q says that there is none", c.to, c.lacks, none)
			}
		}
		if got != c.want {
			t.Errorf("%s to %s without %s: the dump lacks %q, want %q", c.csv, c.to, c.lacks, got, c.want)
		}
	}
}

// On OpenShift, a plan that stops OLM is about the ClusterVersion too.
func TestCompleteOnOpenShift(t *testing.T) {
	s := cluster(t, ferry(), []map[string]any{item("Deployment", openShift+"/olm-operator", `{}`)})
	for to, want := range map[generate.Profile]bool{generate.ProfilePlain: true, generate.ProfileOLM: false, generate.ProfileSubscription: false} {
		if err := s.checkComplete(to); (err != nil) != want {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// Who applies a Subscription or an OperatorGroup from Git is named before OLM stops: it would bring back what is
// deleted.
func TestBringers(t *testing.T) {
	const title, sub, group = "Stop what would bring the operators back", " (Subscription harbour/ferry-sub)", " (OperatorGroup harbour/og)"
	manager := func(name string) string {
		return `{metadata: {managedFields: [{manager: kubectl, operation: Update}, {manager: ` + name + `, operation: Apply}]}}`
	}
	for _, c := range []struct{ what, kind, fields, want string }{
		{"nobody", "Subscription", `{}`, ""},
		{"Argo CD", "Subscription", `{metadata: {annotations: {argocd.argoproj.io/tracking-id: "ops:operators.coreos.com/Subscription:harbour/ferry-sub"}}}`, "Argo CD's Application ops" + sub},
		{"Argo CD, by a label", "OperatorGroup", `{metadata: {labels: {argocd.argoproj.io/instance: ops}}}`, "Argo CD's Application ops" + group},
		{"Argo CD, by a manager", "Subscription", manager("argocd-controller"), "Argo CD's Application of field manager argocd-controller" + sub},
		{"Flux", "Subscription", `{metadata: {labels: {kustomize.toolkit.fluxcd.io/name: ops, kustomize.toolkit.fluxcd.io/namespace: flux-system}}}`, "Flux's Kustomization flux-system/ops" + sub},
		{"a HelmRelease of Flux", "OperatorGroup", `{metadata: {labels: {helm.toolkit.fluxcd.io/name: ops, helm.toolkit.fluxcd.io/namespace: flux-system}}}`, "Flux's HelmRelease flux-system/ops" + group},
		{"Flux, by a manager", "Subscription", manager("kustomize-controller"), "Flux's Kustomization of field manager kustomize-controller" + sub},
		{"Helm of Flux, by a manager", "Subscription", manager("helm-controller"), "Flux's HelmRelease of field manager helm-controller" + sub},
		{"an OperatorPolicy", "Subscription", `{metadata: {labels: {operatorpolicy.policy.open-cluster-management.io/managed: ""}, annotations: {operatorpolicy.policy.open-cluster-management.io/managed: managed.ferry}}}`,
			"the OperatorPolicy managed.ferry" + sub},
		{"another manager", "Subscription", manager("kubectl-edit"), ""},
		{"the CSV, which a self-healing engine makes anew", "ClusterServiceVersion", `{metadata: {annotations: {argocd.argoproj.io/tracking-id: "ops:x"}}}`, "Argo CD's Application ops (ClusterServiceVersion harbour/ferry.v1.0.0)"},
		{"a chart", "Subscription", `{metadata: {annotations: {meta.helm.sh/release-name: r, meta.helm.sh/release-namespace: charts}}}`, "the Helm release charts/r" + sub},
		{"the label of Argo CD 2", "Subscription", `{metadata: {labels: {app.kubernetes.io/instance: ops}}}`, "Argo CD's Application ops, if there is one: its label is on them" + sub},
		{"the same on what a bundle ships", "ClusterServiceVersion", `{metadata: {labels: {app.kubernetes.io/instance: ops}}}`, ""},
	} {
		p, err := NewPlan(t.Context(), cluster(t, with(ferry(), c.kind, c.fields)), nil, nil, Options{To: generate.ProfilePlain})
		if err != nil {
			t.Fatal(err)
		}
		named := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Title == title })
		if c.want == "" && named >= 0 || c.want != "" && (named != 1 || !strings.Contains(p.Steps[1].Text[0], "* "+c.want+": ")) {
			t.Errorf("%s: %s by step %d of %+v", c.what, c.want, named, p.Steps)
		}
	}
	two := slices.Concat(ferry(), tug("harbour"))
	s := cluster(t, with(two, "OperatorGroup", `{metadata: {labels: {argocd.argoproj.io/instance: ops}}}`))
	if got, want := s.bringers(s.All()), "Argo CD's Application ops"+group+": remove "; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("the group of two operators: %q, want %q", got, want)
	}
	if got := s.bringers(cluster(t, dropped(ferry(), "Subscription", "ferry-sub")).All()); len(got) != 0 {
		t.Errorf("an operator without Subscription: %q", got)
	}
}

// An Application, or a setting of Argo CD, says that the label counts on every object. A policy names a Subscription
// that has no mark of it.
func TestBringersOfTheDump(t *testing.T) {
	labelled := with(ferry(), "ClusterServiceVersion", `{metadata: {labels: {app.kubernetes.io/instance: ops}}}`)
	policy := func(spec string) []map[string]any { return []map[string]any{item("OperatorPolicy", "acm/keep", spec)} }
	for _, c := range []struct {
		what string
		list []map[string]any
		more []map[string]any
		want string
	}{
		{"an Application of the name", labelled, []map[string]any{item("Application", "argocd/ops", `{}`)}, "Argo CD's Application ops (ClusterServiceVersion"},
		{"another Application", labelled, []map[string]any{item("Application", "argocd/x", `{}`)}, ""},
		{"the setting", labelled, []map[string]any{item("ConfigMap", "argocd/argocd-cm", `data: {application.resourceTrackingMethod: annotation+label}`)}, "Argo CD's Application ops (ClusterServiceVersion"},
		{"the other setting", labelled, []map[string]any{item("ConfigMap", "argocd/argocd-cm", `data: {application.resourceTrackingMethod: annotation}`)}, ""},
		{"an enforced policy", ferry(), policy(`spec: {remediationAction: Enforce, subscription: {name: ferry, namespace: harbour}}`), "the OperatorPolicy acm/keep (package ferry): set spec.remediationAction to inform"},
		{"a policy that informs", ferry(), policy(`spec: {remediationAction: inform, subscription: {name: ferry, namespace: harbour}}`), ""},
		{"a policy for another namespace", ferry(), policy(`spec: {remediationAction: enforce, subscription: {name: ferry, namespace: x}}`), ""},
	} {
		s := cluster(t, c.list, c.more)
		if got := strings.Join(s.bringers(s.All()), "; "); (got != "") != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// What is being deleted is not settled: no plan is made, and its guard fails. What the plan itself deletes, with OLM
// down, is a note, so that its step can run again.
func TestGoing(t *testing.T) {
	deployment := func(meta string) map[string]any {
		return item("Deployment", "harbour/ferry", `{metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour, olm.managed: "true"}`+meta+`}, spec: {replicas: 1}}`)
	}
	olm := func(replicas string) map[string]any {
		return item("Deployment", "olm/olm-operator", `spec: {replicas: `+replicas+`}`)
	}
	const deleted = `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [operators.coreos.com/csv-cleanup]}}`
	const orphaned = `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [orphan, example.com/audit]}}`
	const audited = `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/audit]}}`
	const owned = `, ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}]`
	was := append(ferry(), deployment(""), olm("1"))
	for _, c := range []struct {
		what    string
		now     []map[string]any
		want    findings.Severity
		settled bool
	}{
		{"the CSV", append(with(ferry(), "ClusterServiceVersion", deleted), deployment(""), olm("1")), findings.Error, false},
		{"the CSV, and OLM is down", append(with(ferry(), "ClusterServiceVersion", deleted), deployment(""), olm("0")), findings.Error, false},
		{"the CSV, by the plan", append(with(ferry(), "ClusterServiceVersion", orphaned), deployment(""), olm("0")), findings.Note, false},
		{"the CSV, with orphan while OLM runs", append(with(ferry(), "ClusterServiceVersion", orphaned), deployment(""), olm("1")), findings.Error, false},
		{"the CSV, when the garbage collector is done", append(with(ferry(), "ClusterServiceVersion", audited), deployment(""), olm("0")), findings.Note, false},
		{"the CSV, which owns the Deployment", append(with(ferry(), "ClusterServiceVersion", audited), deployment(owned), olm("0")), findings.Error, false},
		{"the group", append(with(ferry(), "OperatorGroup", deleted), deployment(""), olm("1")), findings.Error, false},
		{"a Deployment", append(ferry(), deployment(`, deletionTimestamp: "2026-01-01T00:00:00Z"`), olm("1")), findings.Error, false},
		{"the namespace", append(ferry(), deployment(""), olm("1"), item("Namespace", "harbour", deleted)), findings.Error, false},
		{"another namespace", append(ferry(), deployment(""), olm("1"), item("Namespace", "bay", deleted)), "", true},
		{"a CSV that is gone", append(dropped(ferry(), "ClusterServiceVersion", "ferry.v1.0.0"), deployment(""), olm("1")), findings.Error, true},
		{"a CSV that is gone, and OLM is down", append(dropped(ferry(), "ClusterServiceVersion", "ferry.v1.0.0"), deployment(""), olm("0")), findings.Note, true},
	} {
		now := cluster(t, c.now)
		list := now.Since(cluster(t, was), nil)
		var got findings.Severity
		if len(list) > 0 {
			got = list[0].Level
		}
		if err := now.checkSettled(); got != c.want || len(list) > 1 || (err == nil) != c.settled {
			t.Errorf("%s: %+v, want %s; settled: %v", c.what, list, c.want, err)
		}
	}
}

// What was edited after the dump is found as long as applying would write over it; what is applied, what an autoscaler
// writes and what is not rendered is no edit.
func TestEdits(t *testing.T) {
	object := func(kind, name, fields string) map[string]any {
		return item(kind, name, `{metadata: {uid: u, labels: {olm.managed: "true"}}, `+fields+`}`)
	}
	deployment := func(fields string) map[string]any { return object("Deployment", "harbour/ferry", "spec: {"+fields+"}") }
	role := func(verbs string) map[string]any {
		return object("Role", "harbour/ferry", "rules: [{apiGroups: [a], resources: [b], verbs: ["+verbs+"]}]")
	}
	scaled := item("Deployment", "harbour/ferry", `{metadata: {uid: u, labels: {olm.managed: "true"}, managedFields: [{manager: hpa, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}, spec: {replicas: 4, paused: false}}`)
	for _, c := range []struct {
		what               string
		was, now, rendered map[string]any
		want               string
	}{
		{"nothing", deployment("replicas: 1"), deployment("replicas: 1"), deployment("replicas: 2"), ""},
		{"replicas", deployment("replicas: 1"), deployment("replicas: 0"), deployment("replicas: 2"), "spec.replicas: was 1 and is 0 since the dump"},
		{"replicas that were applied", deployment("replicas: 1"), deployment("replicas: 2"), deployment("replicas: 2"), ""},
		{"replicas of an autoscaler", deployment("replicas: 1"), scaled, deployment("paused: false"), ""},
		{"replicas of an autoscaler that applying would take back", deployment("replicas: 1"), scaled, deployment("replicas: 1"), "spec.replicas: was 1 and is 4 by hpa since the dump"},
		{"a rule", role("get"), role("get, list"), role("get"), `rules[0].verbs: was ["get"] and is ["get","list"] since the dump`},
		{"an object that is gone", role("get"), object("Role", "harbour/x", "rules: []"), role("get"), "is gone since the dump"},
		{"what is not rendered", role("get"), role("list"), deployment("replicas: 1"), ""},
	} {
		now := cluster(t, ferry(), []map[string]any{c.now})
		got := ""
		for _, f := range now.Since(cluster(t, ferry(), []map[string]any{c.was}), []map[string]any{c.rendered}) {
			got = strings.TrimPrefix(f.Field+": "+f.Message, ": ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
