package generate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
)

func TestDescopedOptions(t *testing.T) {
	b := testBundle(t, globalOnly+ownsMemcached+oneDeployment, memcachedCRD)
	for _, c := range []struct {
		name    string
		options Options
		refused string
	}{
		{"nothing", Options{}, ""},
		{"tenants", Options{Descoped: Descoped{BindNamespaces: []string{"a", "b"}}}, ""},
		{"a group", Options{OperatorGroup: "g", TargetNamespaces: []string{"a"}}, ""},
		{"a global group", Options{OperatorGroup: "g"}, ""},
		{"another profile", Options{Profile: ProfilePlain, Descoped: Descoped{BindAll: true}}, "binding in namespaces, splitting and aggregating need the profile descoped"},
		{"names of OLM", Options{Names: NamesOLM}, "so it has no names for them"},
		{"install mode", Options{InstallMode: all}, "has no install mode"},
		{"selector", Options{OperatorGroup: "g", Selector: &metav1.LabelSelector{}}, "no OperatorGroup object"},
		{"static", Options{OperatorGroup: "g", Static: true}, "no OperatorGroup object"},
		{"account of the group", Options{OperatorGroup: "g", ServiceAccount: "x"}, "no OperatorGroup object"},
		{"copied CSVs", Options{CopiedCSVNamespaces: []string{"a"}}, "no copied CSVs"},
		{"targets without a group", Options{TargetNamespaces: []string{"a"}}, "none is given"},
		{"a group and tenants", Options{OperatorGroup: "g", Descoped: Descoped{BindNamespaces: []string{"a"}}}, `the namespaces of OperatorGroup "g" decide`},
		{"a group and all", Options{OperatorGroup: "g", Descoped: Descoped{BindAll: true}}, `the namespaces of OperatorGroup "g" decide`},
		{"none and some", Options{Descoped: Descoped{BindNone: true, BindNamespaces: []string{"a"}}}, "another option says where the operator is bound"},
		{"none and all", Options{Descoped: Descoped{BindNone: true, BindAll: true}}, "another option says where the operator is bound"},
		{"none and a group", Options{OperatorGroup: "g", Descoped: Descoped{BindNone: true}}, "another option says where the operator is bound"},
		{"none with another profile", Options{Profile: ProfilePlain, Descoped: Descoped{BindNone: true}}, "need the profile descoped"},
		{"all and the cluster", Options{Descoped: Descoped{BindAll: true, BindCluster: true}}, "includes what is cluster-scoped"},
		{"a global group and the cluster", Options{OperatorGroup: "g", Descoped: Descoped{BindCluster: true}}, "includes what is cluster-scoped"},
		{"a group and the cluster", Options{OperatorGroup: "g", TargetNamespaces: []string{"a"}, Descoped: Descoped{BindCluster: true}}, ""},
		{"the cluster with another profile", Options{Profile: ProfilePlain, Descoped: Descoped{BindCluster: true}}, "need the profile descoped"},
		{"all and some", Options{Descoped: Descoped{BindAll: true, BindNamespaces: []string{"a"}}}, "bound in all namespaces"},
		{"a bad namespace", Options{Descoped: Descoped{BindNamespaces: []string{"A"}}}, `namespace to bind in "A" is not a valid namespace name`},
		{"one twice", Options{Descoped: Descoped{BindNamespaces: []string{"a", "a"}}}, `"a" is given twice`},
		{"split", Options{Descoped: Descoped{Split: "half"}}, `unknown split "half"`},
		{"aggregate", Options{Descoped: Descoped{AggregateTo: []DefaultRole{"cluster-admin"}}}, `unknown default role "cluster-admin"`},
		{"none and some", Options{Descoped: Descoped{AggregateTo: []DefaultRole{"view", "none"}}}, "none cannot be given with other roles"},
		{"status", Options{Descoped: Descoped{Status: "all"}}, `unknown status "all"`},
		{"status of another profile", Options{Profile: ProfilePlain, Descoped: Descoped{Status: StatusPlan}}, "need the profile descoped"},
		{"group role", Options{OperatorGroup: "cluster"}, "would overwrite the default ClusterRole cluster-admin"},
	} {
		setDefault(&c.options.Profile, ProfileDescoped)
		_, err := Render(b, c.options)
		t.Run(c.name, func(t *testing.T) { checkRefused(t, err, c.refused) })
	}
}

// Completing options again, as RenderAll does, does not make a group of none.
func TestDescopedWithoutGroup(t *testing.T) {
	b := testBundle(t, globalOnly+oneDeployment)
	o := Options{Profile: ProfileDescoped}
	for range 2 {
		var err error
		if o, err = o.complete(b); err != nil {
			t.Fatal(err)
		}
	}
	if o.OperatorGroup != "" {
		t.Errorf("group %q", o.OperatorGroup)
	}
}

const descopedCSV = `
customresourcedefinitions:
  owned:
  - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached}
install:
  strategy: deployment
  spec:
    clusterPermissions:
    - serviceAccountName: manager
      rules:
`

func TestStatusRules(t *testing.T) {
	for _, c := range []struct{ name, asked, want string }{
		{"as asked for", `{verbs: [update, get], apiGroups: [cache.example.com], resources: [memcacheds/status]}`, `[{verbs: [get, update], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`},
		{"no more than three verbs", `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, `[{verbs: [get, update, patch], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`},
		{"any status", `{verbs: [patch, delete], apiGroups: ["*"], resources: ["*/status"]}`, `[{verbs: [patch], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`},
		{"by name", `{verbs: [patch], apiGroups: [cache.example.com], resources: [memcacheds/status], resourceNames: [main]}`, `[{verbs: [patch], apiGroups: [cache.example.com], resources: [memcacheds/status], resourceNames: [main]}]`},
		{"the API itself", `{verbs: ["*"], apiGroups: [cache.example.com], resources: [memcacheds]}`, `[]`},
		{"another group", `{verbs: ["*"], apiGroups: [example.com], resources: [memcacheds/status]}`, `[]`},
		{"other verbs", `{verbs: [list, watch], apiGroups: [cache.example.com], resources: [memcacheds/status]}`, `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, globalOnly+descopedCSV+"      - "+c.asked+"\n", memcachedCRD)
			r := rendering1(t, b, Options{Profile: ProfileDescoped})
			want := fromYAML[[]rbacv1.PolicyRule](t, c.want)
			if got := r.statusRules(r.accounts()[0].rules); len(got)+len(want) > 0 && !cmp.Equal(got, want) {
				t.Errorf("got %v", cmp.Diff(want, got))
			}
		})
	}
}

// The rules of an account by the end of the name of the ClusterRole that they go to. What only a ClusterRoleBinding
// grants is apart; required and optional stay what they are.
func TestSplit(t *testing.T) {
	type places map[string]string
	for _, c := range []struct {
		name  string
		split Split
		asked string
		want  places
	}{
		{"by resource", SplitResource, `{verbs: [get], apiGroups: ["", apps], resources: [pods, pods/log, secrets]}`, places{
			"optional-pods":    `[{verbs: [get], apiGroups: ["", apps], resources: [pods, pods/log]}]`,
			"optional-secrets": `[{verbs: [get], apiGroups: ["", apps], resources: [secrets]}]`}},
		{"owned APIs", SplitResource, `{verbs: [get], apiGroups: [cache.example.com, ""], resources: [memcacheds/status, pods]}`, places{
			"required":            `[{verbs: [get], apiGroups: [cache.example.com], resources: [memcacheds/status]}]`,
			"optional-memcacheds": `[{verbs: [get], apiGroups: [""], resources: [memcacheds/status]}]`,
			"optional-pods":       `[{verbs: [get], apiGroups: [cache.example.com, ""], resources: [pods]}]`}},
		{"wildcards", SplitResource, `{verbs: [get], apiGroups: [apps, "*"], resources: ["*"]}`, places{
			"required":         `[{verbs: [get], apiGroups: [apps, "*"], resources: ["*"]}]`,
			"required-cluster": `[{verbs: [get], apiGroups: ["*"], resources: ["*"]}]`}},
		{"wildcards, whole", "", `{verbs: [get], apiGroups: ["*"], resources: [pods, nodes]}`, places{
			"required":         `[{verbs: [get], apiGroups: ["*"], resources: [pods, nodes]}]`,
			"required-cluster": `[{verbs: [get], apiGroups: ["*"], resources: [pods, nodes]}]`}},
		{"any status", SplitResource, `{verbs: [get], apiGroups: [apps], resources: ["*/status"]}`, places{
			"required": `[{verbs: [get], apiGroups: [apps], resources: ["*/status"]}]`}},
		{"URLs", SplitResource, `{verbs: [get], nonResourceURLs: [/metrics]}`, places{
			"required-cluster": `[{verbs: [get], nonResourceURLs: [/metrics]}]`}},
		{"twice", SplitResource, `{verbs: [get], apiGroups: [apps, apps], resources: [deployments, deployments]}`, places{
			"optional-deployments": `[{verbs: [get], apiGroups: [apps], resources: [deployments]}]`}},
		{"whole", "", `{verbs: [get], apiGroups: [apps, apps], resources: [deployments, deployments]}`, places{
			"required": `[{verbs: [get], apiGroups: [apps, apps], resources: [deployments, deployments]}]`}},
		{"by feature", SplitFeature, `{verbs: [get], apiGroups: ["", route.openshift.io, cache.example.com, apps, "*"], resources: [routes], resourceNames: [a]}`, places{
			"required":                    `[{verbs: [get], apiGroups: ["", cache.example.com, apps, "*"], resources: [routes], resourceNames: [a]}]`,
			"required-cluster":            `[{verbs: [get], apiGroups: ["*"], resources: [routes], resourceNames: [a]}]`,
			"optional-route.openshift.io": `[{verbs: [get], apiGroups: [route.openshift.io], resources: [routes], resourceNames: [a]}]`}},
		{"an odd group", SplitFeature, `{verbs: [get], apiGroups: [apps/v1], resources: [deployments]}`, places{
			"optional-apps-v1": `[{verbs: [get], apiGroups: [apps/v1], resources: [deployments]}]`}},
		{"by scope", "", `{verbs: [get], apiGroups: ["", storage.k8s.io], resources: [nodes, pods, storageclasses], resourceNames: [a]}`, places{
			"required": `[{verbs: [get], apiGroups: [""], resources: [pods, storageclasses], resourceNames: [a]},
				{verbs: [get], apiGroups: [storage.k8s.io], resources: [nodes, pods], resourceNames: [a]}]`,
			"required-cluster": `[{verbs: [get], apiGroups: [""], resources: [nodes], resourceNames: [a]},
				{verbs: [get], apiGroups: [storage.k8s.io], resources: [storageclasses], resourceNames: [a]}]`}},
		{"an unknown API", "", `{verbs: [get], apiGroups: [unknown.example.com], resources: [things]}`, places{
			"required": `[{verbs: [get], apiGroups: [unknown.example.com], resources: [things]}]`}},
		{"a Namespace", "", `{verbs: [get], apiGroups: [""], resources: [namespaces]}`, places{
			"required": `[{verbs: [get], apiGroups: [""], resources: [namespaces]}]`}},
		{"Namespaces", "", `{verbs: [list], apiGroups: [""], resources: [namespaces]}`, places{
			"required-cluster": `[{verbs: [list], apiGroups: [""], resources: [namespaces]}]`}},
		{"both", "", `{verbs: [get, list], apiGroups: [""], resources: [namespaces]}`, places{
			"required":         `[{verbs: [get, list], apiGroups: [""], resources: [namespaces]}]`,
			"required-cluster": `[{verbs: [get, list], apiGroups: [""], resources: [namespaces]}]`}},
		{"use of SecurityContextConstraints", "", `{verbs: [get, use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [a]}`, places{
			"required":         `[{verbs: [use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [a]}]`,
			"required-cluster": `[{verbs: [get], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [a]}]`}},
		{"bind in a namespace", "", `{verbs: [bind, get], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, rolebindings]}`, places{
			"required": `[{verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, rolebindings]},
				{verbs: [get], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings]}]`,
			"required-cluster": `[{verbs: [get], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}]`}},
		{"bind everywhere", "", `{verbs: ["*"], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}`, places{
			"required":         `[{verbs: ["*"], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}]`,
			"required-cluster": `[{verbs: ["*"], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}]`}},
		{"by both", SplitFeature, `{verbs: [get], apiGroups: [operator.openshift.io, ""], resources: [consoles, nodes]}`, places{
			"required": `[{verbs: [get], apiGroups: [""], resources: [consoles]}]`, "required-cluster": `[{verbs: [get], apiGroups: [""], resources: [nodes]}]`,
			"optional-operator.openshift.io":         `[{verbs: [get], apiGroups: [operator.openshift.io], resources: [nodes]}]`,
			"optional-operator.openshift.io-cluster": `[{verbs: [get], apiGroups: [operator.openshift.io], resources: [consoles]}]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, globalOnly+descopedCSV+"      - "+c.asked+"\n", memcachedCRD)
			r := rendering1(t, b, Options{Profile: ProfileDescoped, Descoped: Descoped{Split: c.split}})
			got, want := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
			for at, rules := range r.split(r.accounts()[0].rules) {
				got[at.name()] = rules
			}
			for key, rules := range c.want {
				want[key] = fromYAML[[]rbacv1.PolicyRule](t, rules)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// What no RoleBinding grants is bound with the rest in all namespaces, or alone.
func TestBindCluster(t *testing.T) {
	const asked = `{verbs: [get], apiGroups: [""], resources: [nodes, pods]}`
	b := testBundle(t, descopedCSV+"      - "+asked+"\n", memcachedCRD)
	const role, cluster = "operators.memcached-operator-manager-required", "operators.memcached-operator-manager-required-cluster"
	for _, c := range []struct {
		name    string
		options Descoped
		want    []string
	}{
		{"nothing", Descoped{}, nil},
		{"a tenant", Descoped{BindNamespaces: []string{"a"}}, []string{"RoleBinding a/" + role}},
		{"the cluster", Descoped{BindCluster: true}, []string{"ClusterRoleBinding " + cluster}},
		{"both", Descoped{BindCluster: true, BindNamespaces: []string{"a"}}, []string{"ClusterRoleBinding " + cluster, "RoleBinding a/" + role}},
		{"all", Descoped{BindAll: true}, []string{"ClusterRoleBinding " + role, "ClusterRoleBinding " + cluster}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rendered(t, b, Options{Profile: ProfileDescoped, Descoped: c.options})
			var bindings []string
			for _, key := range slices.Sorted(maps.Keys(got)) {
				if strings.Contains(key, "Binding ") && !strings.HasSuffix(key, "-status") {
					bindings = append(bindings, key)
					if at(t, got[key], "metadata", "labels", "descoped.olmgen.dev/clusterrole") != "required" {
						t.Errorf("%s is not required", key)
					}
				}
			}
			if !slices.Equal(bindings, c.want) {
				t.Errorf("got %q, want %q", bindings, c.want)
			}
			checkYAML(t, "labels", at(t, got["ClusterRole "+cluster], "metadata", "labels"), `
app.kubernetes.io/managed-by: olmgen
app.kubernetes.io/part-of: memcached
descoped.olmgen.dev/clusterrole: required
descoped.olmgen.dev/scope: cluster
`)
		})
	}
	result, err := Render(testBundle(t, oneDeployment), Options{Profile: ProfileDescoped, Descoped: Descoped{BindCluster: true}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(noteTexts(result), "\n"); !strings.Contains(notes, "asks for nothing that is cluster-scoped") {
		t.Errorf("notes %q", notes)
	}
}

// Whoever serves webhooks gets no rights for it; an extension API server has to ask who its caller is.
func TestDescopedServing(t *testing.T) {
	const webhook = `
webhookdefinitions:
- {type: ValidatingAdmissionWebhook, generateName: v.example.com, deploymentName: my.dep, admissionReviewVersions: [v1], sideEffects: None}
`
	const service = `
apiservicedefinitions:
  owned:
  - {name: things, group: api.example.com, version: v1, kind: Thing, deploymentName: my.dep}
`
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"webhook", webhook, nil},
		{"APIService", service, []string{"ClusterRoleBinding operators.my-dep-service-auth-delegator", "RoleBinding kube-system/operators.my-dep-service-auth-reader"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rendered(t, testBundle(t, globalOnly+oneDeployment+c.spec), Options{Profile: ProfileDescoped, Certs: CertsManager})
			var rbac []string
			for _, key := range slices.Sorted(maps.Keys(got)) {
				if strings.Contains(key, "Binding ") || strings.HasPrefix(key, "Role ") {
					rbac = append(rbac, key)
				}
			}
			if !slices.Equal(rbac, c.want) {
				t.Errorf("got %q, want %q", rbac, c.want)
			}
			if _, ok := got["Service operators/my-dep-service"]; !ok {
				t.Error("no Service")
			}
		})
	}
}

// A CSV that says it owns Secrets makes no role that views them.
func TestViewWithoutSecrets(t *testing.T) {
	const spec = `
apiservicedefinitions:
  owned:
  - {name: "*", group: "*", version: v1, kind: Anything, deploymentName: my.dep}
`
	b := testBundle(t, globalOnly+oneDeployment+spec)
	r := rendering1(t, b, Options{Profile: ProfileDescoped, Certs: CertsManager, Descoped: Descoped{AggregateTo: DefaultRoles}})
	if userClusterRoles(r); r.err != nil {
		t.Fatal(r.err)
	}
	for _, o := range r.objects {
		if strings.HasSuffix(o.Name, "-view") {
			t.Errorf("%s:\n%s", o.Name, o.Data)
		}
	}
	if len(r.objects) != 2 {
		t.Errorf("%d roles, want admin and edit", len(r.objects))
	}
}

func TestClusterRuleWarnings(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"namespaced", `{verbs: ["*"], apiGroups: ["", apps, rbac.authorization.k8s.io], resources: [pods, deployments, roles]}`, ""}, {"owned", `{verbs: [get], apiGroups: [cache.example.com], resources: [memcacheds, memcacheds/status]}`, ""},
		{"one namespace", `{verbs: [get, update, patch, delete], apiGroups: [""], resources: [namespaces]}`, ""},
		{"many namespaces", `{verbs: [get, watch], apiGroups: [""], resources: [namespaces]}`, "what is cluster-scoped, namespaces (watch):"},
		{"SecurityContextConstraints", `{verbs: [use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [anyuid]}`, ""},
		{"SecurityContextConstraints, more", `{verbs: [use, get], apiGroups: [security.openshift.io], resources: [securitycontextconstraints]}`, "what is cluster-scoped, securitycontextconstraints.security.openshift.io (get):"},
		{"bind", `{verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [view]}`, ""},
		{"bind everywhere", `{verbs: [bind, create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings]}`, "what is cluster-scoped, clusterroles.rbac.authorization.k8s.io (bind, create), clusterrolebindings.rbac.authorization.k8s.io (bind, create):"},
		{"escalate", `{verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}`, "what is cluster-scoped, clusterroles.rbac.authorization.k8s.io (escalate):"},
		{"PodSecurityPolicies", `{verbs: [use], apiGroups: [policy], resources: [podsecuritypolicies]}`, ""},
		{"cluster-scoped", `{verbs: [get], apiGroups: ["", storage.k8s.io], resources: [nodes/proxy, storageclasses, pods]}`, "what is cluster-scoped, nodes/proxy (get), storageclasses.storage.k8s.io (get):"},
		{"URL", `{verbs: [get], nonResourceURLs: [/healthz]}`, "what is cluster-scoped, the URL /healthz (get):"},
		{"unknown", `{verbs: [get], apiGroups: [unknown.example.com], resources: [things]}`, "what may be cluster-scoped, things.unknown.example.com (get): if so,"},
		{"wildcard", `{verbs: [get], apiGroups: ["*"], resources: ["*"]}`, "what may be cluster-scoped, *.* (get): if so,"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, descopedCSV+"      - "+c.rule+"\n", memcachedCRD)
			for _, everywhere := range []bool{false, true} {
				result, err := Render(b, Options{Profile: ProfileDescoped, Descoped: Descoped{BindAll: everywhere}})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, w := range result.Warnings {
					if w.Class == bundle.WarnClusterRules {
						got += w.Error.Error()
					}
				}
				switch {
				case everywhere || c.want == "":
					if got != "" {
						t.Errorf("bound everywhere %v: %q", everywhere, got)
					}
				case !strings.Contains(got, "manifests/0csv.yaml:18: spec.install.spec.clusterPermissions[0].rules[0]: account manager asks for "+c.want):
					t.Errorf("got %q, want %q in it", got, c.want)
				}
			}
		})
	}
}
