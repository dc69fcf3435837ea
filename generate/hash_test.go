package generate

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// The worked examples of the specification, sections 0.3 to 7.3.

func TestBase62(t *testing.T) {
	for in, want := range map[string]string{
		"operators/global-operators/admin": "5UD4U2IfBGbw51Qy2Jaefk1uawvkj2OJILlc3w",
		"operators/global-operators/edit":  "9ZbzBIwu1SlHO7KbWinNtOfyGaVjTWIYhNkNP", // 37 digits: not padded
		"operators/global-operators/view":  "6lzJtrbG08ne4wrZHGxP3h1MBUjq5e7nOF4gax",
		"local/my-group/admin":             "bLR66VAIo7AdKsXXUrRcBcI42Zw8aWMhX5j2aq",
		"local/my-group/edit":              "jKdVte1BOW5umF0cALxkACYjJNMY8Ff6osSKN",
		"local/my-group/view":              "84dd8ibAcTsBOPY9FwtbNorHy8VOIPyYFpLYlh",
	} {
		if got := base62([]byte(in)); got != want {
			t.Errorf("base62(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestFNVHex(t *testing.T) {
	for in, want := range map[string]string{
		"Memcached.v1alpha1.cache.example.com":             "7d4be2dfad49a2af",
		"EtcdCluster.v1beta2.etcd.database.coreos.com":     "c571d720f17289d3",
		"PackageManifest.v1.packages.operators.coreos.com": "4bca9f23e412d79d",
		"NodeMetrics.v1.metrics.example.com":               "e9624b414a877825",
		"Kind57.v1.g.example.com":                          "4d32c4ad07a0ede", // 15 digits: not padded
		"operators/memcached-operator.v0.0.1":              "6e379d7a89884a8",
	} {
		if got := fnvHex(in); got != want {
			t.Errorf("fnvHex(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestContentHash(t *testing.T) {
	if got, want := contentHash([]rbacv1.PolicyRule(nil)), "8svkgjrWNOjkQ01d1SG1sBJN8XPVhKn0GkNTVF"; got != want {
		t.Errorf("of no rules: %s, want %s", got, want)
	}
	if got, want := contentHash([]rbacv1.PolicyRule{}), "1OKVi3ybs4W8Y6M8q5uC9NGiaB4hseYuzcyLPA"; got != want {
		t.Errorf("of an empty list: %s, want %s", got, want)
	}
}

func TestGroupRoleName(t *testing.T) {
	for _, c := range []struct{ namespace, group, suffix, want string }{
		{"operators", "my-group", "admin", "olm.og.my-group.admin-jiYmyWCsxgKB0VgE1UDN6749fmH574W7qnbo5"},
		{"operators", "my-group", "edit", "olm.og.my-group.edit-10ZddEE48URKTxP4XrEjPRgmxKsFHo9ZcY9pcW"},
		{"operators", "my-group", "view", "olm.og.my-group.view-bLG8lz94mQZ4D7N5HvJFe4PeVFfBefELa6ZTl2"},
		{"operators", "global-operators", "admin", "olm.og.global-operators.admin-5UD4U2IfBGbw51Qy2Jaefk1uawvkj2OJILlc3w"},
	} {
		if got := GroupRoleName(c.namespace, c.group, c.suffix); got != c.want {
			t.Errorf("%s/%s %s: %s, want %s", c.namespace, c.group, c.suffix, got, c.want)
		}
	}
}

// The name has 253 characters at most: with admin and a hash of 38 digits, 201 are the group's.
func TestGroupRoleNameBudget(t *testing.T) {
	for _, c := range []struct{ length, kept, total int }{
		{200, 200, 252},
		{201, 201, 253},
		{202, 201, 253},
		{253, 201, 253},
	} {
		group, namespace := strings.Repeat("g", c.length), ""
		for _, ns := range []string{"a", "b", "c", "d", "e", "f"} { // one whose hash is not shorter by chance
			if len(base62([]byte(ns+"/"+group+"/admin"))) == 38 {
				namespace = ns
			}
		}
		got := GroupRoleName(namespace, group, "admin")
		if want := "olm.og." + strings.Repeat("g", c.kept) + ".admin-"; !strings.HasPrefix(got, want) || len(got) != c.total {
			t.Errorf("group of %d characters: %s (%d characters), want %s and %d", c.length, got, len(got), want, c.total)
		}
	}
}

// exampleGrants are the permissions of the worked example in section 4.1.
func exampleGrants(t *testing.T) (namespaced, cluster v1alpha1.StrategyDeploymentPermissions) {
	const account = "memcached-operator-controller-manager"
	namespaced = v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: fromYAML[[]rbacv1.PolicyRule](t,
		`[{verbs: [get, list, watch], apiGroups: [""], resources: [configmaps]}, {verbs: [get, create], apiGroups: [coordination.k8s.io], resources: [leases]}]`)}
	cluster = v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: fromYAML[[]rbacv1.PolicyRule](t,
		`[{verbs: ["*"], apiGroups: [cache.example.com], resources: [memcacheds]}, {verbs: [get], nonResourceURLs: [/metrics]}]`)}
	return namespaced, cluster
}

func TestPermissionNamesAndHashes(t *testing.T) {
	p, c := exampleGrants(t)
	namesIn := func(namespace string) names {
		csv := &v1alpha1.ClusterServiceVersion{}
		csv.Name = "memcached-operator.v0.0.1"
		csv.Spec.InstallStrategy.StrategySpec.Permissions = []v1alpha1.StrategyDeploymentPermissions{p}
		csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []v1alpha1.StrategyDeploymentPermissions{c}
		return names{mode: NamesOLM, csv: csv, namespace: namespace}
	}
	here, there := namesIn("operators"), namesIn("other-ns")
	role := here.grants([]v1alpha1.StrategyDeploymentPermissions{p}, false)[0]
	clusterRole := here.grants([]v1alpha1.StrategyDeploymentPermissions{c}, true)[0]
	for _, x := range []struct{ what, got, want string }{
		{"N1", role.name, "memcached-operator.v0.0.-4FRKjTuyv4SA0N0k09tGLeqGDCIQKiPAInEgVe"},
		{"N1 in another namespace", there.grants([]v1alpha1.StrategyDeploymentPermissions{p}, false)[0].name, "memcached-operator.v0.0.-4FRKjTuyv4SA0N0k09tGLeqGDCIQKiPAInEgVe"},
		{"N2", clusterRole.name, "memcached-operator.v0.0.1-7ooHByJ3oIHJa54SJfurSDbTV2Fm06xdyxioDk"},
		{"N2 in another namespace", there.grants([]v1alpha1.StrategyDeploymentPermissions{c}, true)[0].name, "memcached-operator.v0.0.1-5f4bX3msDX94ZeT9XjCxxq63XT74GHHtYnbom9"},
		{"Role", here.roleLabels(role).Hash, "30eVrpSr2iQi452CsqCciB4v6bdVo6HaNsn5qc"},
		{"RoleBinding", here.bindingLabels(role, "Role").Hash, "43utgdHwAqkSNMLmmt9vyOg7g0qIOrcmsHx7YV"},
		{"ClusterRole", here.roleLabels(clusterRole).Hash, "4YxKBBeagoRkgQN6Gze7Bcw8S4NWxM3SuDzQyY"},
		{"ClusterRoleBinding", here.bindingLabels(clusterRole, "ClusterRole").Hash, "c07OYYak30J1pgQWyzcb80blGGu9bEVmLpEzqt"},
	} {
		if x.got != x.want {
			t.Errorf("%s: %s, want %s", x.what, x.got, x.want)
		}
	}
}

// OLM cuts the base so that base, dash and hash have 63 characters, but leaves a base that makes them 64.
func TestPermissionNameLength(t *testing.T) {
	p, _ := exampleGrants(t)
	const hash = "4FRKjTuyv4SA0N0k09tGLeqGDCIQKiPAInEgVe" // 38 digits
	for _, c := range []struct {
		base, want string
		length     int
	}{
		{strings.Repeat("b", 23), strings.Repeat("b", 23) + "-" + hash, 62},
		{strings.Repeat("b", 24), strings.Repeat("b", 24) + "-" + hash, 63},
		{strings.Repeat("b", 25), strings.Repeat("b", 25) + "-" + hash, 64},
		{strings.Repeat("b", 26), strings.Repeat("b", 24) + "-" + hash, 63},
		{strings.Repeat("b", 23) + ".bb", strings.Repeat("b", 23) + ".-" + hash, 63}, // a cut may leave a dot
	} {
		got := permissionName(c.base, "memcached-operator.v0.0.1", "", p)
		if got != c.want || len(got) != c.length {
			t.Errorf("base %s: %s (%d characters), want %s (%d)", c.base, got, len(got), c.want, c.length)
		}
	}
}

// Section 6.1: the JSON that OLM hashes and the hash.
func TestDeploymentHash(t *testing.T) {
	labels := map[string]string{"control-plane": "controller-manager"}
	spec := appsv1.DeploymentSpec{
		Replicas:             new(int32(1)),
		Selector:             &metav1.LabelSelector{MatchLabels: labels},
		RevisionHistoryLimit: new(int32(1)),
	}
	spec.Template.Labels = labels
	spec.Template.Annotations = map[string]string{"capabilities": "Basic Install", "kubectl.kubernetes.io/default-container": "manager",
		"olm.operatorGroup": "my-group", "olm.operatorNamespace": "operators", "olm.targetNamespaces": "ns-a,ns-b"}
	spec.Template.Spec = corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init", Image: "busybox"}},
		Containers: []corev1.Container{{
			Name: "manager", Image: "quay.io/example/memcached-operator:v0.0.1",
			Ports: []corev1.ContainerPort{{Name: "webhook-server", ContainerPort: 9443, Protocol: corev1.ProtocolTCP}},
			Env:   []corev1.EnvVar{{Name: "OPERATOR_CONDITION_NAME", Value: "memcached-operator.v0.0.1"}},
		}},
		ServiceAccountName: "memcached-operator-controller-manager",
	}
	const wantJSON = `{"replicas":1,"selector":{"matchLabels":{"control-plane":"controller-manager"}},"template":{"metadata":{"labels":{"control-plane":"controller-manager"},"annotations":{"capabilities":"Basic Install","kubectl.kubernetes.io/default-container":"manager","olm.operatorGroup":"my-group","olm.operatorNamespace":"operators","olm.targetNamespaces":"ns-a,ns-b"}},"spec":{"initContainers":[{"name":"init","image":"busybox","resources":{}}],"containers":[{"name":"manager","image":"quay.io/example/memcached-operator:v0.0.1","ports":[{"name":"webhook-server","containerPort":9443,"protocol":"TCP"}],"env":[{"name":"OPERATOR_CONDITION_NAME","value":"memcached-operator.v0.0.1"}],"resources":{}}],"serviceAccountName":"memcached-operator-controller-manager"}},"strategy":{},"revisionHistoryLimit":1}`
	got, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != wantJSON {
		t.Errorf("the JSON is not OLM's:\n%s\nwant\n%s", got, wantJSON)
	}
	if got, want := deepHash(&spec), "arLkyKNGeW8M2A9cGYLXkC1RBhcOEQHQsY7E7s"; got != want {
		t.Errorf("deepHash = %s, want %s", got, want)
	}
}

// The label of a rendered Deployment is the hash of what section 6.1 puts into its spec: the CSV's annotations over the template's, the
// condition's name in each container in place or at the end, one old revision, the API server's defaults.
func TestRenderedDeployment(t *testing.T) {
	b := annotatedBundle(t, `{capabilities: Basic Install, both: of the CSV}`, allModes+`
install:
  strategy: deployment
  spec:
    deployments:
    - name: controller
      label: {tier: control, olm.owner: overridden}
      spec:
        replicas: 2
        revisionHistoryLimit: 7
        selector: {matchLabels: {app: memcached}}
        template:
          metadata: {labels: {app: memcached}, annotations: {own: kept, both: of the template}}
          spec:
            initContainers:
            - {name: init, image: busybox}
            containers:
            - {name: manager, image: m, ports: [{containerPort: 9443}]}
            - {name: proxy, image: p, env: [{name: OPERATOR_CONDITION_NAME, value: old}, {name: LAST, value: x}]}
`)
	d := rendered(t, b, Options{Names: NamesOLM, OperatorGroup: "my-group"})["Deployment operators/controller"]
	spec := at(t, d, "spec")
	properties := at(t, spec, "template", "metadata", "annotations", "operatorframework.io/properties")
	delete(at(t, spec, "template", "metadata", "annotations").(map[string]any), "operatorframework.io/properties")
	checkYAML(t, "spec", spec, `
replicas: 2
revisionHistoryLimit: 1
selector: {matchLabels: {app: memcached}}
template:
  metadata:
    labels: {app: memcached}
    annotations:
      own: kept
      both: of the CSV
      capabilities: Basic Install
      olm.operatorGroup: my-group
      olm.operatorNamespace: operators
      olm.targetNamespaces: ""
  spec:
    initContainers:
    - {name: init, image: busybox}
    containers:
    - {name: manager, image: m, ports: [{containerPort: 9443, protocol: TCP}], env: [{name: OPERATOR_CONDITION_NAME, value: memcached-operator.v0.0.1}]}
    - {name: proxy, image: p, env: [{name: OPERATOR_CONDITION_NAME, value: memcached-operator.v0.0.1}, {name: LAST, value: x}]}
`)
	at(t, spec, "template", "metadata", "annotations").(map[string]any)["operatorframework.io/properties"] = properties
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var typed appsv1.DeploymentSpec
	if err := json.Unmarshal(raw, &typed); err != nil {
		t.Fatal(err)
	}
	labels := at(t, d, "metadata", "labels").(map[string]any)
	if got, want := labels["olm.deployment-spec-hash"], deepHash(&typed); got != want {
		t.Errorf("label %s: %v, but the spec's hash is %s", "olm.deployment-spec-hash", got, want)
	}
	delete(labels, "olm.deployment-spec-hash")
	checkYAML(t, "labels", labels, `{tier: control, olm.managed: "true", olm.owner: memcached-operator.v0.0.1, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: operators}`)
}

func TestWebhookHash(t *testing.T) {
	w := v1alpha1.WebhookDescription{
		GenerateName: "vmemcached.kb.io", Type: v1alpha1.ValidatingAdmissionWebhook, DeploymentName: "my.dep", ContainerPort: 443,
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{"cache.example.com"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"memcacheds"}}}},
		FailurePolicy: new(admissionv1.Fail), SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		WebhookPath: new("/validate-x"),
	}
	if got, want := deepHash(&w), "7yTjsbSdvQ4O7UJ9jNjXrsYEQYb2As646yXffu"; got != want {
		t.Errorf("with port 443: %s, want %s", got, want)
	}
	w.ContainerPort = 0
	if got, want := deepHash(&w), "6HqDrwG7BPMuODuqSuryWoTGRUuvk5ksNXRYKt"; got != want {
		t.Errorf("without a port: %s, want %s", got, want)
	}
}

// A CSV without containerPort gets the API server's 443 before it is hashed.
func TestRenderedWebhookHash(t *testing.T) {
	for _, port := range []string{"", "containerPort: 443"} {
		b := testBundle(t, globalOnly+oneDeployment+`
webhookdefinitions:
- generateName: vmemcached.kb.io
  type: ValidatingAdmissionWebhook
  deploymentName: my.dep
  rules: [{operations: [CREATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds]}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  webhookPath: /validate-x
  `+port)
		r := rendering1(t, b, Options{Names: NamesOLM})
		if webhooks(r); r.err != nil {
			t.Fatal(r.err)
		}
		v := fromYAML[map[string]any](t, string(r.objects[0].Data))
		checkYAML(t, "labels", at(t, v, "metadata", "labels"), `
olm.managed: "true"
olm.owner: memcached-operator.v0.0.1
olm.owner.kind: ClusterServiceVersion
olm.owner.namespace: operators
olm.webhook-description-generate-name: vmemcached.kb.io
olm.webhook-description-hash: 7yTjsbSdvQ4O7UJ9jNjXrsYEQYb2As646yXffu
`)
	}
}
