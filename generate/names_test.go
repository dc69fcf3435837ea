package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/olm"
)

// stableNames names the objects of memcached-operator in operators, whose permissions are for the accounts.
func stableNames(accounts ...string) (names, []v1alpha1.StrategyDeploymentPermissions) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Name = "memcached-operator.v0.0.1"
	var list []v1alpha1.StrategyDeploymentPermissions
	for _, a := range accounts {
		list = append(list, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: a})
	}
	csv.Spec.InstallStrategy.StrategySpec.Permissions = list
	return names{mode: NamesStable, csv: csv, namespace: "operators", base: "memcached-operator", group: "memcached",
		roles: map[string]bool{}, clusterRoles: map[string]bool{}}, list
}

func TestStableGrantNames(t *testing.T) {
	const base = "memcached-operator"
	for _, c := range []struct {
		name     string
		accounts []string
		want     []string
	}{
		{"with the operator's prefix", []string{base + "-controller-manager"}, []string{base + "-controller-manager"}},
		{"called like the operator", []string{base}, []string{base}},
		{"without the prefix", []string{"default"}, []string{base + "-default"}},
		{"the prefix without a dash is none", []string{base + "s"}, []string{base + "-" + base + "s"}},
		{"two that would collide", []string{"manager", base + "-manager"}, []string{base + "-manager", base + "-" + base + "-manager"}},
		{"the same in the other order", []string{base + "-manager", "manager"}, []string{base + "-" + base + "-manager", base + "-manager"}},
		{"the operator's name as an account's end", []string{base, base + "-" + base}, []string{base, base + "-" + base + "-" + base}},
		{"further entries are numbered", []string{"x", "y", "x", "x"}, []string{base + "-x", base + "-y", base + "-x-2", base + "-x-3"}},
		{"an account called like a numbered one", []string{"x", "x", "x-2"}, []string{base + "-x", base + "-x-2", base + "-x-2-2"}},
		{"and before it", []string{"x-2", "x", "x"}, []string{base + "-x-2", base + "-x", base + "-x-3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, list := stableNames(c.accounts...)
			var got []string
			for _, g := range n.grants(list, false) {
				got = append(got, g.name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, g := range n.grants(list, true) {
				if g.name != "operators."+c.want[i] {
					t.Errorf("cluster-wide: %s, want operators.%s", g.name, c.want[i])
				}
			}
		})
	}
}

// An account of clusterPermissions only makes another's name ambiguous as well.
func TestAccountCollidesWithClusterPermissions(t *testing.T) {
	n, list := stableNames("memcached-operator-manager")
	n.csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "manager"}}
	if got, want := n.grants(list, false)[0].name, "memcached-operator-memcached-operator-manager"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A permission's name gives way to what the bundle ships and to other generated objects, so that neither is lost.
func TestStableNamesThatAreTaken(t *testing.T) {
	const kinds = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
	spec := func(account, cluster string) string {
		return allModes + strings.Replace(oneDeployment, "  spec:\n    deployments:", "  spec:\n    permissions:\n    - {serviceAccountName: "+account+", rules: [{verbs: [get], apiGroups: [\"\"], resources: [pods]}]}\n"+
			"    clusterPermissions:\n    - {serviceAccountName: "+cluster+", rules: [{verbs: [list], apiGroups: [\"\"], resources: [nodes]}]}\n    deployments:", 1) + validating
	}
	for _, c := range []struct {
		name, account, cluster string
		shipped                []string
		want                   []string // all Roles and ClusterRoles but the group's
	}{
		{"nothing is taken", "x", "z", nil, []string{"ClusterRole operators.memcached-operator-x-promoted", "ClusterRole operators.memcached-operator-z",
			"Role operators/memcached-operator-operatorcondition", "Role operators/memcached-operator-x", "Role operators/my-dep-service-cert"}},
		{"by the condition's Role", "operatorcondition", "z", nil, []string{"ClusterRole operators.memcached-operator-operatorcondition-2-promoted", "ClusterRole operators.memcached-operator-z",
			"Role operators/memcached-operator-operatorcondition", "Role operators/memcached-operator-operatorcondition-2", "Role operators/my-dep-service-cert"}},
		{"by a promoted Role", "x", "x-promoted", nil, []string{"ClusterRole operators.memcached-operator-x-promoted", "ClusterRole operators.memcached-operator-x-promoted-2",
			"Role operators/memcached-operator-operatorcondition", "Role operators/memcached-operator-x", "Role operators/my-dep-service-cert"}},
		{"by the bundle's", "x", "z", []string{kinds + "Role\nmetadata: {name: memcached-operator-x}\n", kinds + "ClusterRoleBinding\nmetadata: {name: operators.memcached-operator-z}\n"},
			[]string{"ClusterRole operators.memcached-operator-x-2-promoted", "ClusterRole operators.memcached-operator-z-2", "Role operators/memcached-operator-operatorcondition",
				"Role operators/memcached-operator-x", "Role operators/memcached-operator-x-2", "Role operators/my-dep-service-cert"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for key, o := range rendered(t, testBundle(t, spec(c.account, c.cluster), c.shipped...), Options{Certs: CertsOLM, OperatorGroup: "g"}) {
				if kind := o["kind"]; (kind == "Role" || kind == "ClusterRole") && !strings.HasPrefix(key, "ClusterRole g-") {
					got = append(got, key)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where the bundle ships a ClusterRole of the group's, the group gets another name, or a chosen one is refused.
func TestGroupRoleThatIsTaken(t *testing.T) {
	b := testBundle(t, allModes, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: memcached-admin}\n")
	if rendered(t, b, Options{})["OperatorGroup operators/memcached-group"] == nil {
		t.Error("the group is not called memcached-group")
	}
	if rendered(t, b, Options{Names: NamesOLM})["OperatorGroup operators/memcached"] == nil {
		t.Error("with OLM's names the group is not called memcached")
	}
	_, err := Render(b, Options{OperatorGroup: "memcached"})
	checkRefused(t, err, `OperatorGroup name "memcached" would overwrite the bundle's own ClusterRole memcached-admin`)
	for _, group := range []string{"memcached", "cluster"} { // of the bundle, and of Kubernetes
		o := Options{Profile: ProfileOLM, Namespace: "operators", OperatorGroup: group, Shown: true}
		if rendered(t, b, o)["ClusterRole "+GroupRoleName("operators", group, "admin")] == nil {
			t.Errorf("what is shown of group %s has no role with OLM's name", group)
		}
	}
}

// Stable names are those of any other version of the operator; OLM's are not.
func TestNamesAcrossVersions(t *testing.T) {
	spec := func(version string) string {
		return "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: m.v" + version + "}\nspec: {version: " + version +
			", installModes: [{type: AllNamespaces, supported: true}], install: {strategy: deployment, spec: {permissions: [{serviceAccountName: x, rules: []}], clusterPermissions: [{serviceAccountName: x, rules: []}]}}}\n"
	}
	keys := func(version string, mode Names) map[string]bool {
		out := map[string]bool{}
		for k, o := range rendered(t, csvBundle(t, spec(version)), Options{Names: mode}) {
			if kind := o["kind"]; kind != "ClusterServiceVersion" && kind != "OperatorCondition" {
				out[k] = true
			}
		}
		return out
	}
	if diff := cmp.Diff(keys("1.0.0", NamesStable), keys("2.0.0-rc1", NamesStable)); diff != "" {
		t.Errorf("stable names differ from version to version:\n%s", diff)
	}
	if cmp.Equal(keys("1.0.0", NamesOLM), keys("2.0.0-rc1", NamesOLM)) {
		t.Error("OLM's names do not differ")
	}
}

func TestFit(t *testing.T) {
	long := func(n int) string { return strings.Repeat("n", n) }
	for _, n := range []int{1, 252, 253} {
		if got := shortName(long(n)); got != long(n) {
			t.Errorf("%d characters: changed to %s", n, got)
		}
	}
	seen := map[string]bool{}
	for _, name := range []string{long(254), long(255), long(253) + "a", long(1000), long(241) + "." + long(20), long(242) + "." + long(20)} {
		got := shortName(name)
		if len(got) > 253 || len(got) < 252 {
			t.Errorf("%d characters fit as %d", len(name), len(got))
		}
		if seen[got] {
			t.Errorf("%s stands for two names", got)
		}
		seen[got] = true
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
			t.Errorf("%s is no name: %s", got, problems[0])
		}
	}
	n, _ := stableNames()
	if got := n.clusterName("a"); got != "operators.a" {
		t.Errorf("clusterName: %s", got)
	}
	if got := n.clusterName(long(253)); len(got) > 253 || !strings.HasPrefix(got, "operators.nnn") {
		t.Errorf("a long clusterName: %s (%d)", got, len(got))
	}
}

func TestNameTable(t *testing.T) {
	crd := olm.API{Kind: "Memcached", Version: "v1", Group: "cache.example.com", Plural: "memcacheds", CRD: "memcacheds.cache.example.com"}
	service := olm.API{Kind: "NodeMetrics", Version: "v1", Group: "metrics.example.com", Plural: "nodes"}
	stable, _ := stableNames()
	olm := stable
	olm.mode = NamesOLM
	aggregate := func(n names) string {
		label := n.aggregate("Memcached.v1alpha1.cache.example.com", "edit")
		return "olm.opgroup.permissions/aggregate-to-" + label.To + "=" + label.Value
	}
	for _, c := range []struct{ what, stable, wantStable, olm, wantOLM string }{
		{"a CRD's admin", stable.apiRole(crd, "admin"), "memcacheds.cache.example.com-v1-admin", olm.apiRole(crd, "admin"), "memcacheds.cache.example.com-v1-admin"},
		{"a CRD's crdview", stable.apiRole(crd, suffixCRDView), "memcacheds.cache.example.com-v1-view-crd", olm.apiRole(crd, suffixCRDView), "memcacheds.cache.example.com-v1-crdview"},
		{"an APIService's view", stable.apiRole(service, "view"), "nodes.metrics.example.com-v1-view", olm.apiRole(service, "view"), "nodes-v1-view"},
		{"the group's role", stable.groupRole("view"), "memcached-view", olm.groupRole("view"), GroupRoleName("operators", "memcached", "view")},
		{"aggregation", aggregate(stable), "olm.opgroup.permissions/aggregate-to-edit=memcached", aggregate(olm), "olm.opgroup.permissions/aggregate-to-7d4be2dfad49a2af-edit=true"},
		{"the condition", stable.condition(), "memcached-operator-operatorcondition", olm.condition(), "memcached-operator.v0.0.1"},
		{"promoted", stable.promoted(grant{name: "memcached-operator-x"}), "operators.memcached-operator-x-promoted", olm.promoted(grant{name: "N1"}), "N1"},
		{"a webhook", stable.webhook("v.kb.io"), "operators.v.kb.io", olm.webhook("v.kb.io")[:8], "v.kb.io-"},
	} {
		if c.stable != c.wantStable {
			t.Errorf("%s, stable: %s, want %s", c.what, c.stable, c.wantStable)
		}
		if c.olm != c.wantOLM {
			t.Errorf("%s, olm: %s, want %s", c.what, c.olm, c.wantOLM)
		}
	}
}

// A version is taken out of a name only where it stands by itself.
func TestWithoutVersion(t *testing.T) {
	for name, want := range map[string]string{
		"strimzi-cluster-operator-v1.2.0": "strimzi-cluster-operator", "a.v1.2.0": "a", "a-1.2.0": "a", "a.1.2.0": "a",
		"ns.a-v1.2.0-service": "ns.a-service", "a-v1.2.0.example.com": "a.example.com",
		"a-v1.2.01": "a", "a-v1.2.0.1": "a-v1.2.0.1", "a-11.2.0": "a", "a-v1.2.0rc1": "a-v1.2.0rc1", "a": "a", "v1.2.0": "v1.2.0",
		"a-1.2.0.1-1.2.0": "a-1.2.0.1", "a-v3.4.5": "a", "a-v2": "a-v2", "memcacheds.example.com-v1-admin": "memcacheds.example.com-v1-admin",
	} {
		if got := withoutVersion(name, "1.2.0"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// No file is renamed because the name of an object has the version in it.
func TestVersionInNames(t *testing.T) {
	spec := strings.ReplaceAll(allModes+oneDeployment, "name: my.dep", "name: my-v0.0.1") + "version: 0.0.1\n"
	result, err := Render(testBundle(t, spec), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range result.Objects {
		if o.Kind == "Deployment" && (o.Name != "my-v0.0.1" || o.Label != "my") {
			t.Errorf("Deployment %s is labelled %q", o.Name, o.Label)
		}
	}
}
