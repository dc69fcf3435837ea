package permissions_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/permissions"
)

// What users gain is what the aggregation controller of a live cluster gave to its default roles, rule by rule and in order.
func TestUsersGainWhatAClusterGave(t *testing.T) {
	corpus, oracle := corpustest.Oracle(t)
	for _, file := range corpustest.Glob(t, oracle, "olm-v0", "*", "*", "effective.yaml") {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			var effective struct {
				DefaultRolesGained map[string][]rbacv1.PolicyRule `json:"defaultRolesGained"`
			}
			var c struct {
				Bundle           string   `json:"bundle"`
				InstallMode      string   `json:"installMode"`
				Incomplete       any      `json:"incomplete"`
				TargetNamespaces []string `json:"targetNamespaces"`
			}
			decode(t, file, &effective)
			decode(t, filepath.Join(dir, "case.yaml"), &c)
			b := reviewtest.Bundle(t, filepath.Join(corpus, "bundles", c.Bundle))
			in, err := input(t, b, generate.Options{Namespace: "operator-ns", OperatorGroup: "my-og", Names: generate.NamesOLM,
				InstallMode: v1alpha1.InstallModeType(c.InstallMode), TargetNamespaces: c.TargetNamespaces})
			if err != nil {
				t.Fatal(err)
			}
			got, err := permissions.UsersGain(in.Objects)
			if err != nil {
				t.Fatal(err)
			}
			for _, role := range []string{"admin", "edit", "view"} {
				if d := cmp.Diff(effective.DefaultRolesGained[role], got[role]); d != "" {
					t.Errorf("%s (-cluster +olmgen):\n%s", role, d)
				}
			}
		})
	}
}

func decode(tb testing.TB, file string, into any) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// A chain of aggregation ends at the default roles, OpenShift's cluster-reader takes view's, and rules of one's own in
// an aggregating role count for nothing.
func TestAggregation(t *testing.T) {
	r := evaluate(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leaf, labels: {mine: "yes"}}
rules: [{apiGroups: [x.example], resources: [things], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: middle, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {mine: "yes"}}]}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader, labels: {rbac.authorization.k8s.io/aggregate-to-cluster-reader: "true"}}
rules: [{apiGroups: [y.example], resources: [others], verbs: [list]}]
`)
	want := `has admin in *: get x.example/things [other]
has cluster-reader in *: get x.example/things [other]
has cluster-reader in *: list y.example/others [other]
has edit in *: get x.example/things [other]
has view in *: get x.example/things [other]
`
	got := strings.Split(strings.TrimSuffix(lines(r.Users), "\n"), "\n")
	slices.Sort(got)
	if d := cmp.Diff(want, strings.Join(got, "\n")+"\n"); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What the roles of every cluster have is no gain, of a dump that has them.
func TestUsersGainNoDefaults(t *testing.T) {
	const gained = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leaf, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [x.example], resources: [things], verbs: [get]}]
`
	alone, inDump := evaluate(t, gained), evaluate(t, gained+`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: edit, labels: {kubernetes.io/bootstrapping: rbac-defaults, rbac.authorization.k8s.io/aggregate-to-admin: "true"}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}]}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: system:aggregate-to-edit, labels: {kubernetes.io/bootstrapping: rbac-defaults, rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view, labels: {kubernetes.io/bootstrapping: rbac-defaults, rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}]}
`)
	if d := cmp.Diff(lines(alone.Users), lines(inDump.Users)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A role for users that gains Secrets is a finding.
func TestUsersFinding(t *testing.T) {
	r := evaluate(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leaf, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [list]}
- {apiGroups: [x.example], resources: [things], verbs: [list]}
`)
	var got []string
	for _, f := range r.Findings {
		got = append(got, string(f.Level)+" "+f.Rule+" "+f.Object+" "+f.Message)
	}
	want := []string{}
	for _, role := range []string{"error users-gain ClusterRole view", "error users-gain ClusterRole cluster-reader", // admin and edit read Secrets by default
		"warning users-gain ClusterRole admin", "warning users-gain ClusterRole edit"} {
		want = append(want, role+" users who are bound to this role gain: list secrets; who has it by a ClusterRoleBinding reads every Secret")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// By a RoleBinding, nobody impersonates users, and ServiceAccounts only in the namespace of the binding.
func TestUsersImpersonate(t *testing.T) {
	for resources, want := range map[string]string{"users": ", by a RoleBinding nobody", "users, serviceaccounts": ", by a RoleBinding every ServiceAccount of its namespace"} {
		r := evaluate(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leaf, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
- {apiGroups: [""], resources: [`+resources+`], verbs: [impersonate]}
`)
		if len(r.Findings) == 0 || !strings.HasSuffix(r.Findings[0].Message, want) {
			t.Errorf("%s: %+v", resources, r.Findings)
		}
	}
}

// What users gain is shown in one line whose parentheses close, however many groups and resources there are.
func TestUsersGainIsWhole(t *testing.T) {
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
- {apiGroups: [one.with-a-long-name.example.com, two.with-a-long-name.example.com, three.with-a-long-name.example.com], resources: ["*"], verbs: [get]}
- {apiGroups: [x.io], resources: [as, bs, cs, ds], verbs: [get]}
`
	got := evaluate(t, role).Document().Sections[0].Remarks
	want := "admin, edit, view, cluster-reader: all resources of one.with-a-long-name.example.com, three.with-a-long-name.example.com and 1 more, 4 resources of x.io"
	if len(got) == 0 || got[len(got)-1].Text != want {
		t.Errorf("%v, want %q", got, want)
	}
}
