package authorizer

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/rbac"
)

var update = flag.Bool("update", false, "write the roles that clusters have by default")

const data = "../../internal/rbac/"

// Kubernetes' default roles, with what the controller aggregates, are those that olmgen knows.
func TestRolesOfKubernetes(t *testing.T) {
	roles := slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles())
	inNamespaces := bootstrappolicy.NamespaceRoles()
	for _, namespace := range slices.Sorted(maps.Keys(inNamespaces)) {
		for _, r := range inNamespaces[namespace] {
			r.Namespace = namespace
			roles = append(roles, rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{Kind: "Role"}, ObjectMeta: r.ObjectMeta, Rules: r.Rules})
		}
	}
	compare(t, "roles-kubernetes.jsonl", lines(t, roles, nil))
}

// The ways of permissions end at an account of kube-system that may give a ClusterRole any right.
func TestAggregationController(t *testing.T) {
	const name = "clusterrole-aggregation-controller"
	i := slices.IndexFunc(bootstrappolicy.ControllerRoleBindings(), func(b rbacv1.ClusterRoleBinding) bool {
		return b.RoleRef.Name == "system:controller:"+name && slices.Contains(b.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "kube-system", Name: name})
	})
	if i < 0 {
		t.Fatalf("no binding of the account %s", name)
	}
	for _, r := range bootstrappolicy.ControllerRoles() {
		if r.Name != "system:controller:"+name {
			continue
		}
		for _, verb := range []string{"escalate", "update"} {
			if !slices.ContainsFunc(r.Rules, func(p rbacv1.PolicyRule) bool {
				return slices.Contains(p.Verbs, verb) && slices.Contains(p.Resources, "clusterroles")
			}) {
				t.Errorf("it may not %s clusterroles", verb)
			}
		}
	}
}

// OLMGEN_OPENSHIFT_APISERVER is a checkout of openshift/openshift-apiserver, whose tests hold its default roles.
func TestRolesOfOpenShift(t *testing.T) {
	checkout := os.Getenv("OLMGEN_OPENSHIFT_APISERVER")
	if checkout == "" {
		t.Skip("OLMGEN_OPENSHIFT_APISERVER names no checkout of openshift/openshift-apiserver")
	}
	var list rbacv1.ClusterRoleList
	text, err := os.ReadFile(filepath.Join(checkout, "test/testdata/bootstrappolicy/bootstrap_cluster_roles.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	commit, err := exec.CommandContext(t.Context(), "git", "-C", checkout, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	from := "# openshift/openshift-apiserver " + strings.TrimSpace(string(commit)) + " test/testdata/bootstrappolicy/bootstrap_cluster_roles.yaml\n"
	compare(t, "roles-openshift.jsonl", from+lines(t, list.Items, bootstrappolicy.ClusterRoles()))
}

// rolesOfOpenShift are those that olmgen knows beside Kubernetes' own.
func rolesOfOpenShift(t *testing.T) (out []*rbacv1.ClusterRole) {
	t.Helper()
	text, err := os.ReadFile(data + "roles-openshift.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	ofKubernetes := map[string]bool{}
	for _, r := range bootstrappolicy.ClusterRoles() {
		ofKubernetes[r.Name] = true
	}
	for line := range bytes.Lines(text) {
		var d rbac.DefaultRole
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind == rbac.KindClusterRole && !ofKubernetes[d.Name] {
			out = append(out, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: d.Name}, Rules: d.Rules})
		}
	}
	return out
}

func compare(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(data+name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(data + name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: go test -run %s . -update", name, t.Name())
	}
}

// lines returns the roles, one a line, with the rules that those that aggregate others have of both lists.
func lines(t *testing.T, roles, others []rbacv1.ClusterRole) string {
	t.Helper()
	all := slices.Concat(roles, others)
	for range all { // a chain has one role more in each round
		for i := range all {
			if r := &all[i]; r.AggregationRule != nil {
				r.Rules = aggregated(t, r, all)
			}
		}
	}
	var out bytes.Buffer
	for _, r := range all[:len(roles)] {
		d := rbac.DefaultRole{Key: rbac.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, Labels: r.Labels, Rules: r.Rules, Aggregates: r.AggregationRule != nil}
		if d.Kind == "" {
			d.Kind = rbac.KindClusterRole
		}
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

func aggregated(t *testing.T, r *rbacv1.ClusterRole, all []rbacv1.ClusterRole) (rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, s := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.Name == r.Name || !selector.Matches(labels.Set(o.Labels)) {
				continue
			}
			for _, rule := range o.Rules {
				if !slices.ContainsFunc(rules, func(have rbacv1.PolicyRule) bool { return rbac.RuleKey(have) == rbac.RuleKey(rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}
