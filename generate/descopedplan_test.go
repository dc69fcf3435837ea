package generate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
)

const memcachedWithStatus = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  names: {kind: Memcached, plural: memcacheds}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
`

const manager = `
    deployments:
    - name: manager
      spec:
        selector: {matchLabels: {app: memcached}}
        template:
          metadata: {labels: {app: memcached}}
          spec: {serviceAccountName: manager, containers: [{name: manager, image: example.com/a}]}
    - name: clerk
      spec:
        selector: {matchLabels: {app: clerk}}
        template:
          metadata: {labels: {app: clerk}}
          spec: {serviceAccountName: ACCOUNT, containers: [{name: clerk, image: example.com/a}]}
`

// The plan always expects get and update of the status; patch, and more accounts, are for the CSV to ask for.
func TestStatusOfPlan(t *testing.T) {
	const (
		full     = `[{verbs: [get, update], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`
		patching = `[{verbs: [get, update, patch], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`
		read     = `{verbs: [get], apiGroups: [cache.example.com], resources: [memcacheds/status]}`
		pods     = `{verbs: [get], apiGroups: [""], resources: [pods]}`
		named    = `{verbs: [patch], apiGroups: [cache.example.com], resources: [memcacheds/status], resourceNames: [main]}`
	)
	for _, c := range []struct {
		name, asked, account, crd string
		status                    Status
		want                      string
	}{
		{"nothing asked", pods, "manager", memcachedWithStatus, "", full},
		{"less asked", read, "manager", memcachedWithStatus, StatusPlan, full},
		{"patch asked", strings.Replace(read, "get", "patch", 1), "manager", memcachedWithStatus, "", patching},
		{"asked by name", named, "manager", memcachedWithStatus, "", strings.Replace(full, "]}]", "]}, "+named+"]", 1)},
		{"nothing asked, as asked", pods, "manager", memcachedWithStatus, StatusAsked, `[]`},
		{"less asked, as asked", read, "manager", memcachedWithStatus, StatusAsked, "[" + read + "]"},
		{"the CRD has no status", pods, "manager", memcachedCRD, "", `[]`},
		{"no Deployment runs as the account", pods, "other", memcachedWithStatus, "", full},
	} {
		t.Run(c.name, func(t *testing.T) {
			deployments := manager
			if c.account == "other" {
				deployments = strings.ReplaceAll(manager, "manager,", "other,")
			}
			deployments = strings.ReplaceAll(deployments, "ACCOUNT", "nobody")
			b := testBundle(t, globalOnly+descopedCSV+"      - "+c.asked+"\n"+deployments, c.crd)
			r := rendering1(t, b, Options{Profile: ProfileDescoped, Descoped: Descoped{Status: c.status}})
			want := fromYAML[[]rbacv1.PolicyRule](t, c.want)
			got := r.statusOf(r.accounts()[0])
			if d := cmp.Diff(ruleSet(want), ruleSet(got)); d != "" {
				t.Error(d)
			}
			result, err := Render(b, Options{Profile: ProfileDescoped, Descoped: Descoped{Status: c.status}})
			if err != nil {
				t.Fatal(err)
			}
			more := strings.Contains(c.want, "update") && c.status != StatusAsked
			if said := strings.Contains(strings.Join(noteTexts(result), "\n"), "memcacheds.cache.example.com in all namespaces"); said != more {
				t.Errorf("a note of what the CSV does not ask for: %v, want %v", said, more)
			}
		})
	}
}

func ruleSet(list []rbacv1.PolicyRule) map[string]bool {
	set := map[string]bool{}
	for _, p := range list {
		set[p.String()] = true
	}
	return set
}

// The plan's rule is for accounts that have to do with the API: by a rule on its group, or by a Deployment.
func TestStatusOfOtherAccounts(t *testing.T) {
	const pods, api, everything = `{verbs: [get], apiGroups: [""], resources: [pods]}`,
		`{verbs: [get], apiGroups: [cache.example.com], resources: [others]}`, `{verbs: [get], apiGroups: ["*"], resources: [pods]}`
	for _, c := range []struct{ name, manager, clerk, idle, want string }{
		{"nobody has a rule", pods, pods, pods, "manager clerk"},
		{"one has", api, pods, pods, "manager"},
		{"by a wildcard", pods, everything, pods, "clerk"},
		{"the one that runs no Deployment too", api, pods, api, "manager"},
		{"only the one that runs none", pods, pods, api, "idle"},
		{"all", api, api, api, "manager clerk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			account := func(name, rule string) string {
				return "    - serviceAccountName: " + name + "\n      rules:\n      - " + rule + "\n"
			}
			spec := globalOnly + descopedCSV + "      - " + c.manager + "\n" + account("clerk", c.clerk) + account("idle", c.idle) +
				strings.ReplaceAll(manager, "ACCOUNT", "clerk")
			b := testBundle(t, spec, memcachedWithStatus)
			r := rendering1(t, b, Options{Profile: ProfileDescoped})
			result, err := Render(b, Options{Profile: ProfileDescoped})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range r.accounts() {
				has := len(r.statusOf(a)) > 0
				if has {
					got = append(got, a.name)
				}
				note := "account " + a.name + " may get and update the status of memcacheds.cache.example.com"
				if said := strings.Contains(strings.Join(noteTexts(result), "\n"), note); said != has {
					t.Errorf("a note names %s: %v", a.name, said)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A rule on the status of a CRD without the subresource grants nothing, so it does not keep a warning back.
func TestWarnStatus(t *testing.T) {
	const none = "no rule that is bound in all namespaces lets the operator update the status of memcacheds.cache.example.com: "
	rule := func(resources string) string {
		return `{verbs: [get, update], apiGroups: [cache.example.com], resources: [` + resources + `]}`
	}
	for _, c := range []struct {
		name, rule, crd string
		options         Descoped
		want            string
	}{
		{"a status", rule("memcacheds/status"), memcachedWithStatus, Descoped{}, ""},
		{"the plan's", rule("others"), memcachedWithStatus, Descoped{}, ""},
		{"not asked for", rule("others"), memcachedWithStatus, Descoped{Status: StatusAsked}, none + "the CSV asks for no update of it"},
		{"no subresource", rule("memcacheds/status"), memcachedCRD, Descoped{}, none + "its CRD has no status subresource, so a rule on it grants nothing, and the CSV asks for no update of the API itself"},
		{"no subresource, bound", rule("memcacheds/status, memcacheds"), memcachedCRD, Descoped{BindNamespaces: []string{"a"}},
			none + "its CRD has no status subresource, so a rule on it grants nothing, and the right to update the API itself is for bound namespaces"},
		{"no subresource, bound everywhere", rule("memcacheds"), memcachedCRD, Descoped{BindAll: true}, ""},
		{"no subresource, nothing to bind", rule("memcacheds/status"), memcachedCRD, Descoped{BindAll: true}, none + "its CRD has no status subresource"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, descopedCSV+"      - "+c.rule+"\n", c.crd)
			result, err := Render(b, Options{Profile: ProfileDescoped, Descoped: c.options})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range result.Warnings {
				if w.Class == bundle.WarnStatus {
					got = append(got, w.Error.Error())
				}
			}
			if len(got) > 1 || (len(got) == 1) != (c.want != "") || !strings.Contains(strings.Join(got, ""), c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A CSV that claims to own APIs of Kubernetes, or all, does not get their status.
func TestStatusOfClaimedAPIs(t *testing.T) {
	const spec = globalOnly + `
apiservicedefinitions:
  owned:
  - {name: leases, group: coordination.k8s.io, version: v1, kind: Lease, deploymentName: my.dep}
  - {name: "*", group: "*", version: v1, kind: Anything, deploymentName: my.dep}
install:
  strategy: deployment
  spec:
    clusterPermissions:
    - serviceAccountName: manager
      rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
    deployments:
    - name: my.dep
      spec:
        selector: {matchLabels: {app: memcached}}
        template:
          metadata: {labels: {app: memcached}}
          spec: {serviceAccountName: manager, containers: [{name: manager, image: example.com/a}]}
`
	r := rendering1(t, testBundle(t, spec), Options{Profile: ProfileDescoped, Certs: CertsManager})
	if got := r.statusOf(r.accounts()[0]); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// An operator that supports AllNamespaces only provides its APIs to all users, and is bound in all namespaces unless an
// option says otherwise. What it is bound to, and how many rights that gives, is said.
func TestDefaultOfThePlan(t *testing.T) {
	const label = "rbac.authorization.k8s.io/aggregate-to-view"
	const everywhere = "ClusterRoleBinding /operators.memcached-operator-manager-required, ClusterRoleBinding /operators.memcached-operator-manager-required-cluster"
	const tenant = "RoleBinding a/operators.memcached-operator-manager-required"
	for _, c := range []struct {
		name, modes string
		options     Options
		aggregated  bool
		bindings    string
		text        string
	}{
		{"AllNamespaces only", globalOnly, Options{}, true, everywhere, "bound in all namespaces by default, with 3 rights"},
		{"asked for", globalOnly, Options{Descoped: Descoped{BindAll: true}}, true, everywhere, "bound in all namespaces, with 3 rights"},
		{"a global group", globalOnly, Options{OperatorGroup: "g"}, true, everywhere, "bound in all namespaces, with 3 rights"},
		{"nothing", globalOnly, Options{Descoped: Descoped{BindNone: true}}, true, "", "bound nowhere"},
		{"tenants", globalOnly, Options{Descoped: Descoped{BindNamespaces: []string{"a"}}}, true, tenant, "bound in a, with 2 rights in such a namespace"},
		{"the cluster", globalOnly, Options{Descoped: Descoped{BindCluster: true}}, true, "ClusterRoleBinding /operators.memcached-operator-manager-required-cluster",
			"bound to what is cluster-scoped, with 1 right"},
		{"none asked for", globalOnly, Options{Descoped: Descoped{AggregateTo: []DefaultRole{NoRole}}}, false, everywhere, "bound in all namespaces by default, with 3 rights"},
		{"others asked for", globalOnly, Options{Descoped: Descoped{AggregateTo: []DefaultRole{"admin"}}}, false, everywhere, "bound in all namespaces by default, with 3 rights"},
		{"all modes", allModes, Options{}, false, "", "bound nowhere"},
		{"no modes", "", Options{}, false, "", "bound nowhere"},
		{"no modes, asked for", "", Options{Descoped: Descoped{BindNamespaces: []string{"a"}, BindCluster: true}}, false,
			"ClusterRoleBinding /operators.memcached-operator-manager-required-cluster, " + tenant, "bound in a, with 2 rights in such a namespace and to what is cluster-scoped, with 1 right"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, c.modes+descopedCSV+"      - {verbs: [get], apiGroups: [\"\"], resources: [nodes, pods, secrets]}\n", memcachedCRD)
			c.options.Profile, c.options.Namespace = ProfileDescoped, "operators"
			result, err := Render(b, c.options)
			if err != nil {
				t.Fatal(err)
			}
			aggregated, owners := false, 0
			var bindings []string
			for _, x := range result.Objects {
				aggregated = aggregated || strings.Contains(string(x.Data), label)
				if strings.Contains(string(x.Data), "kubernetes.io/description: view of memcacheds.cache.example.com, an API of the operator Memcached") {
					owners++
				}
				if strings.HasSuffix(x.Kind, "RoleBinding") {
					bindings = append(bindings, x.Kind+" "+x.Namespace+"/"+x.Name)
				}
			}
			if aggregated != c.aggregated {
				t.Errorf("aggregated %v, want %v", aggregated, c.aggregated)
			}
			if got := strings.Join(bindings, ", "); got != c.bindings {
				t.Errorf("bindings %s, want %s", got, c.bindings)
			}
			if owners != 1 {
				t.Errorf("%d roles to view name their owner", owners)
			}
			if result.Bound.Text != c.text {
				t.Errorf("said %q, want %q", result.Bound.Text, c.text)
			}
			notes := strings.Join(noteTexts(result), "\n")
			if said := strings.Contains(notes, "provides its APIs to all users by default"); said != (c.aggregated && c.options.OperatorGroup == "") {
				t.Errorf("a note: %v in %s", said, notes)
			}
		})
	}
}

// A tenant gets all optional ClusterRoles, or those that it chooses.
func TestTenantsChoose(t *testing.T) {
	b := testBundle(t, descopedCSV+"      - {verbs: [get], apiGroups: [\"\", route.openshift.io, x.example.com], resources: [routes]}\n", memcachedCRD)
	const role = "ops.memcached-operator-manager-"
	for _, c := range []struct {
		name    string
		options Descoped
		want    []string
		refused string
	}{
		{"all", Descoped{}, []string{"a/" + role + "optional-route.openshift.io", "a/" + role + "optional-x.example.com", "a/" + role + "required"}, ""},
		{"some", Descoped{Tenants: map[string][]string{"a": {"x.example.com"}}}, []string{"a/" + role + "optional-x.example.com", "a/" + role + "required"}, ""},
		{"none", Descoped{Tenants: map[string][]string{"a": {}}}, []string{"a/" + role + "required"}, ""},
		{"unknown", Descoped{Tenants: map[string][]string{"a": {"route"}}}, nil, `tenant a: unknown optional ClusterRole "route"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.BindNamespaces, c.options.Split = []string{"a"}, SplitFeature
			result, err := Render(b, Options{Profile: ProfileDescoped, Namespace: "ops", Descoped: c.options})
			checkRefused(t, err, c.refused)
			if err != nil {
				return
			}
			var got []string
			for _, x := range result.Objects {
				if x.Kind == "RoleBinding" {
					got = append(got, x.Namespace+"/"+x.Name)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Internal APIs are bound alone: the rest of what the CSV asks for is bound nowhere.
func TestBindInternal(t *testing.T) {
	crd := func(plural, kind, scope string) string {
		return strings.NewReplacer("memcacheds", plural, "Memcached", kind, "Namespaced", scope).Replace(memcachedWithStatus)
	}
	spec := globalOnly + `
customresourcedefinitions:
  owned:
  - {name: settings.cache.example.com, version: v1alpha1, kind: Setting}
  - {name: shards.cache.example.com, version: v1alpha1, kind: Shard}
  - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached}
install:
  strategy: deployment
  spec:
    clusterPermissions:
    - serviceAccountName: manager
      rules:
      - {verbs: [get, list, watch], apiGroups: [cache.example.com, ""], resources: [settings, memcacheds, shards/scale, secrets]}
      - {verbs: [update], apiGroups: [cache.example.com], resources: ["*"]}
`
	crds := []string{crd("settings", "Setting", "Cluster"), crd("shards", "Shard", "Namespaced"), memcachedWithStatus}
	const names = `{operators.operatorframework.io/internal-objects: '["settings.cache.example.com","shards.cache.example.com"]'}`
	got := rendered(t, annotatedBundle(t, names, spec, crds...), Options{Profile: ProfileDescoped, Namespace: "ops",
		Descoped: Descoped{BindInternal: true}})
	checkYAML(t, "cluster-scoped", at(t, got["ClusterRole ops.memcached-operator-manager-internal"], "rules"), `
- {verbs: [get, list, watch], apiGroups: [cache.example.com], resources: [settings]}
- {verbs: [update], apiGroups: [cache.example.com], resources: [settings, settings/finalizers, settings/scale, settings/status]}
`)
	checkYAML(t, "namespaced", at(t, got["ClusterRole ops.memcached-operator-manager-internal-namespaced"], "rules"), `
- {verbs: [get, list, watch], apiGroups: [cache.example.com], resources: [shards/scale]}
- {verbs: [update], apiGroups: [cache.example.com], resources: [shards, shards/finalizers, shards/scale, shards/status]}
`)
	var bindings []string
	for key := range got {
		if strings.Contains(key, "Binding ") && !strings.HasSuffix(key, "-status") {
			bindings = append(bindings, key)
		}
	}
	want := map[string]bool{"ClusterRoleBinding ops.memcached-operator-manager-internal": true,
		"RoleBinding ops/ops.memcached-operator-manager-internal-namespaced": true}
	if len(bindings) != 2 || !want[bindings[0]] || !want[bindings[1]] {
		t.Errorf("bindings %q", bindings)
	}

	_, err := Render(testBundle(t, spec, crds...), Options{Profile: ProfileDescoped, Descoped: Descoped{BindInternal: true}})
	checkRefused(t, err, "memcached-operator.v0.0.1 names no internal API of its own in the annotation operators.operatorframework.io/internal-objects")
}
