package installer_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/installer"
)

// plurals of the kinds that bundles render to, by hand; those of the second list are not namespaced.
var plurals = []map[string]string{{
	"Certificate": "certificates", "ClusterServiceVersion": "clusterserviceversions", "ConfigMap": "configmaps", "Deployment": "deployments",
	"Issuer": "issuers", "NetworkPolicy": "networkpolicies", "OperatorCondition": "operatorconditions", "OperatorGroup": "operatorgroups",
	"PodDisruptionBudget": "poddisruptionbudgets", "PrometheusRule": "prometheusrules", "Role": "roles", "RoleBinding": "rolebindings",
	"Secret": "secrets", "Service": "services", "ServiceAccount": "serviceaccounts", "ServiceMonitor": "servicemonitors",
	"VerticalPodAutoscaler": "verticalpodautoscalers",
}, {
	"APIService": "apiservices", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "ConsoleCLIDownload": "consoleclidownloads",
	"ConsolePlugin": "consoleplugins", "ConsoleQuickStart": "consolequickstarts", "ConsoleYAMLSample": "consoleyamlsamples",
	"CustomResourceDefinition":     "customresourcedefinitions",
	"MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "Namespace": "namespaces", "PriorityClass": "priorityclasses",
	"ValidatingWebhookConfiguration": "validatingwebhookconfigurations", "ConsoleLink": "consolelinks",
}}

// What is granted for a real bundle is what applying each object asks for and what the escalation check asks for, no more and no less, and
// no rule of it is granted by the others.
func TestCorpus(t *testing.T) {
	dirs := []string{filepath.Join("..", "..", "examples", "memcached-operator", "bundle")}
	cases, err := filepath.Glob(filepath.Join("..", "..", "golden", "*", "bundle"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	dirs = append(dirs, cases...)
	if corpustest.Set(t) {
		dirs = append(dirs, corpustest.Bundles(t)...)
	}
	for _, dir := range dirs {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // other tests say why
		}
		for _, o := range []generate.Options{
			{InstallMode: v1alpha1.InstallModeTypeAllNamespaces, CopiedCSVNamespaces: []string{"copy"}, CreateNamespace: true},
			{InstallMode: v1alpha1.InstallModeTypeMultiNamespace, TargetNamespaces: []string{"a", "b"}},
			{InstallMode: v1alpha1.InstallModeTypeOwnNamespace, Profile: generate.ProfilePlain, Names: generate.NamesOLM},
		} {
			o.Namespace, o.Certs = "operators", generate.CertsManager
			r, err := generate.Render(b, o)
			if err != nil {
				continue
			}
			checkCovers(t, dir+" "+string(o.InstallMode), r)
		}
	}
}

func checkCovers(t *testing.T, what string, r *generate.Result) {
	t.Helper()
	objects, err := r.Manifests()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	p, err := installer.Derive(objects, installer.Options{})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("%s: %v", what, p.Warnings)
	}
	want := demanded(t, what, r)
	checkRules(t, what+", cluster", want[""], p.Cluster, nil)
	delete(want, "")
	for _, ns := range slices.Concat(slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(p.Namespaces))) {
		checkRules(t, what+", "+ns, want[ns], p.Namespaces[ns], p.Cluster)
	}
}

// checkRules checks that the rules got and held grant want, and that none of got is too much.
func checkRules(t *testing.T, what string, want, got, held []rbacv1.PolicyRule) {
	t.Helper()
	if ok, missing := validation.Covers(slices.Concat(got, held), want); !ok {
		t.Errorf("%s: missing:\n%s", what, installer.Short(missing))
	}
	if ok, more := validation.Covers(want, got); !ok {
		t.Errorf("%s: more than is needed:\n%s", what, installer.Short(more))
	}
	for i := range got {
		if ok, _ := validation.Covers(slices.Concat(got[:i], got[i+1:], held), got[i:i+1]); ok {
			t.Errorf("%s: the other rules grant it too: %s", what, installer.Short(got[i:i+1]))
		}
	}
}

type anyRole struct {
	Rules           []rbacv1.PolicyRule     `json:"rules"`
	AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
	RoleRef         rbacv1.RoleRef          `json:"roleRef"`
}

// demanded lists, object by object, what the API server will ask for, by namespace.
func demanded(t *testing.T, what string, r *generate.Result) map[string][]rbacv1.PolicyRule {
	t.Helper()
	want := map[string][]rbacv1.PolicyRule{}
	roles := map[string]anyRole{}
	for _, o := range r.Objects {
		if o.Group() == rbacv1.GroupName {
			var x anyRole
			if err := yaml.Unmarshal(o.Data, &x); err != nil {
				t.Fatal(err)
			}
			roles[o.Kind+" "+o.Namespace+"/"+o.Name] = x
		}
	}
	for _, o := range r.Objects {
		plural := plurals[0][o.Kind]
		if o.Namespace == "" {
			plural = plurals[1][o.Kind]
		}
		if plural == "" {
			t.Errorf("%s: %s %s: add the kind to this test's list", what, o.Kind, o.Namespace)
		}
		named := func(group, plural, name string, verbs ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, ResourceNames: []string{name}, Verbs: verbs}
		}
		rules := []rbacv1.PolicyRule{{APIGroups: []string{o.Group()}, Resources: []string{plural}, Verbs: []string{"create"}}, named(o.Group(), plural, o.Name, "get", "update", "patch", "delete")}
		x, isRBAC := roles[o.Kind+" "+o.Namespace+"/"+o.Name]
		switch {
		case !isRBAC:
		case x.AggregationRule != nil:
			rules = append(rules, named(o.Group(), plural, o.Name, "escalate"))
		case x.RoleRef.Name != "":
			key := x.RoleRef.Kind + " /" + x.RoleRef.Name
			if x.RoleRef.Kind == "Role" {
				key = x.RoleRef.Kind + " " + o.Namespace + "/" + x.RoleRef.Name
			}
			if bound, ok := roles[key]; ok && bound.AggregationRule == nil {
				rules = append(rules, bound.Rules...)
			} else {
				rules = append(rules, named(o.Group(), map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[x.RoleRef.Kind], x.RoleRef.Name, "bind"))
			}
		default:
			rules = append(rules, x.Rules...)
		}
		want[o.Namespace] = append(want[o.Namespace], rules...)
	}
	return want
}
