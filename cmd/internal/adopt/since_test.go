package adopt

import (
	"slices"
	"strings"
	"testing"

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
		what string
		now  []map[string]any
		want []string
	}{
		{"nothing", was(), nil},
		{"the phase of the CSV", edited("ClusterServiceVersion", `{metadata: {resourceVersion: "2"}, status: {phase: Pending}}`),
			[]string{"ClusterServiceVersion harbour/ferry.v1.0.0: was Succeeded and is Pending since the dump"}},
		{"the state of the Subscription", edited("Subscription", `{metadata: {resourceVersion: "2"}, status: {state: UpgradePending}}`),
			[]string{"Subscription harbour/ferry-sub: was AtLatestKnown and is UpgradePending since the dump"}},
		{"a phase that is gone", edited("InstallPlan", `{metadata: {resourceVersion: "2"}, status: null}`), []string{"InstallPlan harbour/p: was Complete and is without a phase since the dump"}},
		{"a field of the group", edited("OperatorGroup", `{metadata: {resourceVersion: "2"}}`), []string{"OperatorGroup harbour/og: was changed: 1 is now 2 since the dump"}},
		{"a group that was made anew", edited("OperatorGroup", `{metadata: {uid: new, resourceVersion: "2"}}`), []string{"OperatorGroup harbour/og: was made anew since the dump"}},
		{"no InstallPlan", dropped(was(), "InstallPlan", "p"), []string{"InstallPlan harbour/p: is gone since the dump"}},
		{"a new InstallPlan", append(was(), item("InstallPlan", "harbour/q", `{}`)), []string{"InstallPlan harbour/q: is new since the dump"}},
		{"a copy, which follows its original", append(dropped(was(), "ClusterServiceVersion", "pier/ferry.v1.0.0"),
			item("ClusterServiceVersion", "bay/ferry.v1.0.0", `{metadata: {labels: {olm.copiedFrom: harbour}}}`)), nil},
		{"a copy of another operator", append(was(), item("ClusterServiceVersion", "harbour/tug.v1.0.0", `{metadata: {labels: {olm.copiedFrom: bay}}}`)), nil},
		{"a condition", dropped(was(), "OperatorCondition", "ferry.v1.0.0"), nil},
		{"what is not OLM's", dropped(was(), "ConfigMap", "c"), nil},
		{"the group of no operator", dropped(was(), "OperatorGroup", "dock/og"), nil},
	} {
		var got []string
		for _, f := range cluster(t, c.now).Since(cluster(t, was())) {
			got = append(got, f.Object+": "+f.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	all, now := cluster(t, fleet()), cluster(t, fleet(), []map[string]any{item("InstallPlan", "bay/p", `{}`)})
	if some := mustSelect(t, all, "ferry"); len(now.Since(all)) != 1 || len(now.Since(some)) != 0 {
		t.Errorf("an InstallPlan in bay: %+v of all operators, %+v of one in harbour", now.Since(all), now.Since(some))
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
			got = strings.TrimSuffix(strings.TrimPrefix(manifest.HintOf(err), "add the output of: kubectl get "), " -A -o yaml")
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

// Who applies a Subscription or an OperatorGroup from Git is named before OLM stops: it would bring back what is deleted.
func TestBringers(t *testing.T) {
	const title, sub, group = "Stop what would bring the Subscriptions back", " of Subscription harbour/ferry-sub", " of OperatorGroup harbour/og"
	manager := func(name string) string {
		return `{metadata: {managedFields: [{manager: kubectl, operation: Update}, {manager: ` + name + `, operation: Apply}]}}`
	}
	for _, c := range []struct{ what, kind, fields, want string }{
		{"nobody", "Subscription", `{}`, ""},
		{"Argo CD", "Subscription", `{metadata: {annotations: {argocd.argoproj.io/tracking-id: "ops:operators.coreos.com/Subscription:harbour/ferry-sub"}}}`, "Argo CD's Application ops" + sub},
		{"Argo CD, by a label", "OperatorGroup", `{metadata: {labels: {argocd.argoproj.io/instance: ops}}}`, "Argo CD's Application ops" + group},
		{"Argo CD, by a manager", "Subscription", manager("argocd-controller"), "Argo CD" + sub},
		{"Flux", "Subscription", `{metadata: {labels: {kustomize.toolkit.fluxcd.io/name: ops, kustomize.toolkit.fluxcd.io/namespace: flux-system}}}`, "Flux's Kustomization flux-system/ops" + sub},
		{"a HelmRelease of Flux", "OperatorGroup", `{metadata: {labels: {helm.toolkit.fluxcd.io/name: ops, helm.toolkit.fluxcd.io/namespace: flux-system}}}`, "Flux's HelmRelease flux-system/ops" + group},
		{"Flux, by a manager", "Subscription", manager("kustomize-controller"), "Flux" + sub},
		{"Helm of Flux, by a manager", "Subscription", manager("helm-controller"), "Flux" + sub},
		{"an OperatorPolicy", "Subscription", `{metadata: {labels: {operatorpolicy.policy.open-cluster-management.io/managed: ""}, annotations: {operatorpolicy.policy.open-cluster-management.io/managed: managed.ferry}}}`,
			"the OperatorPolicy managed.ferry" + sub},
		{"another manager", "Subscription", manager("kubectl-edit"), ""},
		{"the CSV, which OLM makes", "ClusterServiceVersion", `{metadata: {annotations: {argocd.argoproj.io/tracking-id: "ops:x"}}}`, ""},
	} {
		for _, way := range Meanwhiles {
			p, err := NewPlan(cluster(t, with(ferry(), c.kind, c.fields)), nil, nil, Options{To: generate.ProfilePlain, OLM: way})
			if err != nil {
				t.Fatal(err)
			}
			named := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Title == title })
			if c.want == "" && named >= 0 || c.want != "" && (named != 1 || !strings.Contains(p.Steps[1].Text[0], ": "+c.want+". Undo")) {
				t.Errorf("%s: %s by step %d of %+v", c.what, c.want, named, p.Steps)
			}
		}
	}
	two := slices.Concat(ferry(), tug("harbour"))
	s := cluster(t, with(two, "OperatorGroup", `{metadata: {labels: {argocd.argoproj.io/instance: ops}}}`))
	if got, want := s.bringers(s.All()), []string{"Argo CD's Application ops" + group}; !slices.Equal(got, want) {
		t.Errorf("the group of two operators: %q, want %q", got, want)
	}
	if got := s.bringers(cluster(t, dropped(ferry(), "Subscription", "ferry-sub")).All()); len(got) != 0 {
		t.Errorf("an operator without Subscription: %q", got)
	}
}
