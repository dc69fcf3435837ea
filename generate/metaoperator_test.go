package generate

import (
	"fmt"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// granting is an install strategy with permissions or clusterPermissions.
func granting(kind, rule string) string {
	return fmt.Sprintf(`
install:
  strategy: deployment
  spec:
    %s:
    - {serviceAccountName: sa, rules: [%s]}
`, kind, rule)
}

// Who can deploy other operators in the whole cluster.
func TestMetaOperator(t *testing.T) {
	const subscriptions = `{apiGroups: [operators.coreos.com], resources: [catalogsources, subscriptions], verbs: [get, create]}`
	binding := func(role string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\n"
	}
	const shipped = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [" + subscriptions + "]\n"
	halves := []string{"{apiGroups: [apiextensions.k8s.io, apps], resources: [customresourcedefinitions, deployments], verbs: [create]}",
		"{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], verbs: [create]}"}
	direct := halves[0] + ", " + halves[1]
	half := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [" + halves[1] + "]\n"
	for _, c := range []struct {
		what      string
		mode      v1alpha1.InstallModeType
		spec      string
		manifests []string
		want      string
	}{
		{"nothing", "AllNamespaces", "", nil, ""},
		{"subscriptions", "OwnNamespace", granting("clusterPermissions", subscriptions), nil, "ServiceAccount sa may create subscriptions of operators.coreos.com"},
		{"everything", "OwnNamespace", granting("clusterPermissions", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`), nil, "ServiceAccount sa may create subscriptions of operators.coreos.com"},
		{"CSVs", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [operators.coreos.com], resources: [clusterserviceversions], verbs: ["*"]}`), nil, "ServiceAccount sa may create clusterserviceversions of operators.coreos.com"},
		{"InstallPlans", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [operators.coreos.com], resources: [installplans], verbs: [create]}`), nil, "ServiceAccount sa may create installplans of operators.coreos.com"},
		{"extensions of OLM v1", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [olm.operatorframework.io], resources: [clusterextensions], verbs: [create]}`), nil, "ServiceAccount sa may create clusterextensions of olm.operatorframework.io"},
		{"without OLM", "OwnNamespace", granting("clusterPermissions", direct), nil, "ServiceAccount sa may create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"},
		{"without OLM, half by a shipped role", "OwnNamespace", granting("clusterPermissions", halves[0]), []string{half, binding("r") + "subjects: [{kind: ServiceAccount, name: sa, namespace: ns}]\n"},
			"ServiceAccount sa may create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"},
		{"without OLM, half of it", "OwnNamespace", granting("clusterPermissions", halves[0]), nil, ""},
		{"only to read", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [get, list, watch, update, delete]}`), nil, ""},
		{"named ones, which nobody can create", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [operators.coreos.com], resources: [subscriptions], resourceNames: [x], verbs: [create]}`), nil, ""},
		{"OperatorGroups", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [operators.coreos.com], resources: [operatorgroups, catalogsources], verbs: [create]}`), nil, ""},
		{"another group's subscriptions", "OwnNamespace", granting("clusterPermissions", `{apiGroups: [messaging.example.com], resources: [subscriptions], verbs: [create]}`), nil, ""},
		{"in its namespace", "OwnNamespace", granting("permissions", subscriptions), nil, ""},
		{"in every namespace", "AllNamespaces", granting("permissions", subscriptions), nil, "ServiceAccount sa may create subscriptions of operators.coreos.com"},
		{"a shipped role that is bound", "OwnNamespace", "", []string{shipped, binding("r")}, "ClusterRoleBinding b lets create subscriptions of operators.coreos.com"},
		{"a shipped role that is not", "OwnNamespace", "", []string{shipped, binding("other")}, ""},
		{"cluster-admin", "OwnNamespace", "", []string{binding("cluster-admin")}, "ClusterRoleBinding b lets create subscriptions of operators.coreos.com"},
	} {
		b := testBundle(t, allModes+c.spec, c.manifests...)
		for _, profile := range []Profile{ProfileOLM, ProfilePlain, ProfileOLMv1} {
			r, err := Render(b, Options{Namespace: "ns", Profile: profile, InstallMode: c.mode})
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if r.MetaOperator != c.want {
				t.Errorf("%s, profile %s: %q, want %q", c.what, profile, r.MetaOperator, c.want)
			}
		}
	}
}
