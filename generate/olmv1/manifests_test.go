package olmv1

import "testing"

func TestManifests(t *testing.T) {
	b := readBundle(t, csv("A", `
  install:
    spec:
      permissions:
      - serviceAccountName: shipped
        rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
      - serviceAccountName: alone
        rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`), `
apiVersion: v1
kind: ServiceAccount
metadata: {name: shipped, namespace: elsewhere, annotations: {kept: "yes"}, creationTimestamp: null}
`, `
kind: Service
metadata: {name: no-version}
status: {loadBalancer: {}}
`, `
apiVersion: rbac.authorization.k8s.io/v1beta1
kind: ClusterRole
metadata: {name: wide, namespace: elsewhere}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`, `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: scaler}
`, `
apiVersion: iam.services.k8s.aws/v1alpha1
kind: Role
metadata: {name: foreign}
spec: {empty: null}
`)
	objects := render(t, b, Options{})
	wantList(t, objects,
		"ServiceAccount install-ns/alone", // the other one is shipped
		"ClusterRole demo.v1.2.3-shipped-"+promotedHash(t, "shipped"), "ClusterRoleBinding demo.v1.2.3-shipped-"+promotedHash(t, "shipped"),
		"ClusterRole demo.v1.2.3-alone-"+promotedHash(t, "alone"), "ClusterRoleBinding demo.v1.2.3-alone-"+promotedHash(t, "alone"),
		"ServiceAccount install-ns/shipped", "Service install-ns/no-version", "ClusterRole wide",
		"VerticalPodAutoscaler install-ns/scaler", "Role install-ns/foreign")
	wantYAML(t, find(t, objects, "ServiceAccount", "shipped"), `
apiVersion: v1
kind: ServiceAccount
metadata: {name: shipped, namespace: install-ns, annotations: {kept: "yes"}}
`)
	wantYAML(t, find(t, objects, "Service", "no-version"), `
apiVersion: v1
kind: Service
metadata: {name: no-version, namespace: install-ns}
`)
	wantYAML(t, find(t, objects, "ClusterRole", "wide"), `
apiVersion: rbac.authorization.k8s.io/v1beta1
kind: ClusterRole
metadata: {name: wide}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`)
	wantYAML(t, find(t, objects, "Role", "foreign"), `
apiVersion: iam.services.k8s.aws/v1alpha1
kind: Role
metadata: {name: foreign, namespace: install-ns}
spec: {empty: null}
`)
}

func promotedHash(t *testing.T, account string) string {
	t.Helper()
	p := permission(account, pods("get"), pods("get", "list", "watch"))
	p.Rules[1].Resources = []string{"namespaces"}
	return hash(p)
}
