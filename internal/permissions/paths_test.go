package permissions_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/permissions"
)

// ids returns the rules of the findings with their levels.
func ids(list []findings.Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, string(f.Level)+" "+f.Rule)
	}
	return strings.Join(out, ", ")
}

// cases are for each consequence rules that have it in the cluster, what they have in a namespace, and near misses.
var cases = map[string]struct{ rules, cluster, namespace, without string }{
	"everything": {`[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`, "error everything", "warning everything",
		`[{apiGroups: ["*"], resources: ["*"], verbs: [deletecollection]}]`},
	"secrets-read":  {`[{apiGroups: [""], resources: [secrets], verbs: [watch]}]`, "error secrets-read", "warning secrets-read", `[{apiGroups: [x.io], resources: [secrets], verbs: [get]}, {apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]}]`},
	"secrets-write": {`[{apiGroups: [""], resources: [secrets], verbs: [create]}]`, "warning secrets-write", "note secrets-write", `[{apiGroups: [""], resources: [secrets], verbs: [delete]}]`},
	"pods-create":   {`[{apiGroups: [apps], resources: ["*"], verbs: [update]}]`, "error pods-create", "warning pods-create", `[{apiGroups: [apps], resources: [deployments/status, deployments/scale], verbs: [update]}]`},
	"pods-exec":     {`[{apiGroups: [""], resources: ["*/exec"], verbs: [create]}]`, "error pods-exec", "warning pods-exec", `[{apiGroups: [""], resources: [pods/exec], verbs: [update]}]`},
	"pods-debug":    {`[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [patch]}]`, "error pods-debug", "warning pods-debug", `[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [get]}]`},
	"nodes-proxy":   {`[{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}]`, "error nodes-proxy", "", `[{apiGroups: [""], resources: [nodes/metrics], verbs: [get]}]`},
	"rbac-escalate": {`[{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate, update]}]`, "error rbac-escalate", "warning rbac-escalate",
		`[{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate]}]`},
	"rbac-bind": {`[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}, {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`,
		"error rbac-bind", "warning rbac-bind", `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}]`},
	"rbac-write":           {`[{apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`, "warning rbac-write", "note rbac-write", `[{apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [get, delete]}]`},
	"impersonate":          {`[{apiGroups: [""], resources: [users], verbs: [impersonate]}]`, "error impersonate", "", `[{apiGroups: [user.openshift.io], resources: [groups], verbs: ["*"]}]`},
	"impersonate-accounts": {`[{apiGroups: [""], resources: [serviceaccounts], verbs: ["*"]}]`, "error impersonate-accounts", "warning impersonate-accounts", `[{apiGroups: [""], resources: [serviceaccounts], verbs: [create, update]}]`},
	"token-create":         {`[{apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}]`, "error token-create", "warning token-create", `[{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [own], verbs: [create]}]`},
	"csr-approve": {`[{apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update]}, {apiGroups: [certificates.k8s.io], resources: [signers], verbs: [approve]}]`,
		"error csr-approve", "", `[{apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update]}]`},
	"webhooks-write":    {`[{apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], verbs: [patch]}]`, "error webhooks-write", "", `[{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [list]}]`},
	"policies-write":    {`[{apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies], verbs: [create]}]`, "warning policies-write", "", `[]`},
	"crds-write":        {`[{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [delete]}]`, "warning crds-write", "", `[{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create]}]`},
	"apiservices-write": {`[{apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [create]}]`, "warning apiservices-write", "", `[]`},
	"namespaces-write":  {`[{apiGroups: [""], resources: [namespaces], verbs: [patch]}]`, "warning namespaces-write", "note namespaces-write", `[{apiGroups: [""], resources: [namespaces/finalize, namespaces/status], verbs: [patch]}]`},
	"volumes-create":    {`[{apiGroups: [""], resources: [persistentvolumes], verbs: [create]}]`, "warning volumes-create", "", `[{apiGroups: [""], resources: [persistentvolumeclaims], verbs: [create]}]`},
	"nodes-write":       {`[{apiGroups: [""], resources: [nodes], verbs: [update]}]`, "warning nodes-write", "", `[{apiGroups: [""], resources: [nodes], verbs: [list]}]`},
	"operators-install": {`[{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [create]}]`, "error operators-install", "warning operators-install", `[{apiGroups: [operators.coreos.com], resources: [operatorconditions], verbs: [create]}]`},
	"operators-own": {`[{apiGroups: [operators.coreos.com], resources: [subscriptions, catalogsources], verbs: [create]}]`, "error operators-own", "error operators-own",
		`[{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [create]}, {apiGroups: [olm.operatorframework.io], resources: [clustercatalogs], verbs: [create]}]`},
	"extensions-own": {`[{apiGroups: [olm.operatorframework.io], resources: [clusterextensions, clustercatalogs], verbs: [patch]}]`, "error extensions-own, error operators-install", "",
		`[{apiGroups: [olm.operatorframework.io], resources: [clusterextensions], verbs: [create]}]`},
	"installplans-status": {`[{apiGroups: [operators.coreos.com], resources: [installplans/status], verbs: [update]}]`, "error installplans-status", "error installplans-status",
		`[{apiGroups: [operators.coreos.com], resources: [installplans], verbs: [create, update]}]`},
	"csvs-write": {`[{apiGroups: [operators.coreos.com], resources: [clusterserviceversions], verbs: [patch]}]`, "error csvs-write", "warning csvs-write",
		`[{apiGroups: [operators.coreos.com], resources: [clusterserviceversions, clusterserviceversions/status], verbs: [get, delete]}]`},
	"scc-privileged": {`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [privileged], verbs: [use]}]`, "warning scc-privileged", "warning scc-privileged",
		`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [anyuid], verbs: [use]}]`},
	"scc-use": {`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [anyuid], verbs: [use]}]`, "warning scc-use", "warning scc-use", `[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [restricted], verbs: [use]}]`},
	"secrets-change": {`[{apiGroups: [""], resources: [secrets], verbs: [patch]}]`, "error secrets-read, warning secrets-change", "warning secrets-read, note secrets-change",
		`[{apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [patch]}]`},
	"secrets-remove": {`[{apiGroups: [""], resources: [secrets], verbs: [deletecollection]}]`, "warning secrets-remove", "note secrets-remove", `[{apiGroups: [""], resources: [secrets], verbs: [delete]}]`},
	"pods-change":    {`[{apiGroups: [""], resources: [pods], verbs: [patch]}]`, "error pods-change", "warning pods-change", `[{apiGroups: [""], resources: [pods/status], verbs: [patch]}]`},
	"builds-create":  {`[{apiGroups: [build.openshift.io], resources: [buildconfigs/instantiate], verbs: [create]}]`, "warning builds-create", "warning builds-create", `[{apiGroups: [build.openshift.io], resources: [builds], verbs: [get]}]`},
	"rbac-bind-roles": {`[{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [bind]}, {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`,
		"warning rbac-bind-roles, warning rbac-write", "warning rbac-bind-roles, note rbac-write", `[{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [bind]}]`},
	"impersonate-groups": {`[{apiGroups: [""], resources: [groups], resourceNames: ["system:masters"], verbs: [impersonate]}, {apiGroups: [""], resources: [users], resourceNames: [nobody], verbs: [impersonate]}]`, "error impersonate-groups", "",
		`[{apiGroups: [""], resources: [groups], verbs: [impersonate]}]`},
	"users-write":               {`[{apiGroups: [user.openshift.io], resources: [groups], verbs: [update]}]`, "error users-write", "", `[{apiGroups: [user.openshift.io], resources: [groups], verbs: [list]}]`},
	"validating-webhooks-write": {`[{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [create]}]`, "error validating-webhooks-write", "", `[]`},
	"operators-steer":           {`[{apiGroups: [operators.coreos.com], resources: [installplans], verbs: [patch]}]`, "warning operators-steer", "warning operators-steer", `[{apiGroups: [operators.coreos.com], resources: [installplans], verbs: [get]}]`},
	"scc-write":                 {`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [update]}]`, "error scc-write", "", `[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [get]}]`},
	"machines-write":            {`[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [create]}]`, "error machines-write", "", `[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [get]}]`},
	"configmaps-write":          {`[{apiGroups: [""], resources: [configmaps], verbs: [update]}]`, "warning configmaps-write", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [mine], verbs: [update]}]`},
	"namespaces-remove":         {`[{apiGroups: [""], resources: [namespaces], verbs: [delete]}]`, "warning namespaces-remove", "warning namespaces-remove", `[{apiGroups: [""], resources: [namespaces], verbs: [get]}]`},
	"flux-write":                {`[{apiGroups: ["kustomize.toolkit.fluxcd.io"], resources: [kustomizations], verbs: [patch]}]`, "error flux-write", "error flux-write", `[{apiGroups: ["kustomize.toolkit.fluxcd.io"], resources: [kustomizations], verbs: [get]}]`},
	"argo-write":                {`[{apiGroups: ["argoproj.io"], resources: [applications], verbs: [patch]}]`, "error argo-write", "error argo-write", `[{apiGroups: ["argoproj.io"], resources: [applications], verbs: [get]}]`},
	"fleet-write":               {`[{apiGroups: ["fleet.cattle.io"], resources: [gitrepos], verbs: [patch]}]`, "error fleet-write", "error fleet-write", `[{apiGroups: ["fleet.cattle.io"], resources: [gitrepos], verbs: [get]}]`},
	"works-write":               {`[{apiGroups: ["work.open-cluster-management.io"], resources: [manifestworks], verbs: [patch]}]`, "error works-write", "warning works-write", `[{apiGroups: ["work.open-cluster-management.io"], resources: [manifestworks], verbs: [get]}]`},
	"placements-write":          {`[{apiGroups: ["cluster.open-cluster-management.io"], resources: [placements], verbs: [patch]}]`, "warning placements-write", "warning placements-write", `[{apiGroups: ["cluster.open-cluster-management.io"], resources: [placements], verbs: [get]}]`},
	"mutators-write":            {`[{apiGroups: ["kyverno.io"], resources: [clusterpolicies], verbs: [patch]}]`, "error mutators-write", "", `[{apiGroups: ["kyverno.io"], resources: [clusterpolicies], verbs: [get]}]`},
	"mutating-policies-write":   {`[{apiGroups: ["admissionregistration.k8s.io"], resources: [mutatingadmissionpolicies], verbs: [patch]}]`, "error mutating-policies-write", "", `[{apiGroups: ["admissionregistration.k8s.io"], resources: [mutatingadmissionpolicies], verbs: [get]}]`},
	"guards-write":              {`[{apiGroups: ["kyverno.io"], resources: [policyexceptions], verbs: [patch]}]`, "warning guards-write", "warning guards-write", `[{apiGroups: ["kyverno.io"], resources: [policyexceptions], verbs: [get]}]`},
	"crossplane-write":          {`[{apiGroups: ["pkg.crossplane.io"], resources: [providers], verbs: [patch]}]`, "error crossplane-write", "", `[{apiGroups: ["pkg.crossplane.io"], resources: [providers], verbs: [get]}]`},
	"restores-write":            {`[{apiGroups: ["velero.io"], resources: [restores], verbs: [patch]}]`, "error restores-write", "error restores-write", `[{apiGroups: ["velero.io"], resources: [restores], verbs: [get]}]`},
	"release-write":             {`[{apiGroups: ["config.openshift.io"], resources: [clusterversions], verbs: [patch]}]`, "error release-write", "", `[{apiGroups: ["config.openshift.io"], resources: [clusterversions], verbs: [get]}]`},
	"logins-write":              {`[{apiGroups: ["config.openshift.io"], resources: [authentications], verbs: [patch]}]`, "error logins-write", "", `[{apiGroups: ["config.openshift.io"], resources: [authentications], verbs: [get]}]`},
	"mirrors-write":             {`[{apiGroups: ["config.openshift.io"], resources: [imagetagmirrorsets], verbs: [patch]}]`, "error mirrors-write", "", `[{apiGroups: ["config.openshift.io"], resources: [imagetagmirrorsets], verbs: [get]}]`},
	"digest-mirrors-write":      {`[{apiGroups: ["config.openshift.io"], resources: [imagedigestmirrorsets], verbs: [patch]}]`, "warning digest-mirrors-write", "", `[{apiGroups: ["config.openshift.io"], resources: [imagedigestmirrorsets], verbs: [get]}]`},
	"platform-write":            {`[{apiGroups: ["config.openshift.io"], resources: [builds], verbs: [patch]}]`, "warning platform-write", "", `[{apiGroups: ["config.openshift.io"], resources: [builds], verbs: [get]}]`},
	"control-plane-write":       {`[{apiGroups: ["operator.openshift.io"], resources: [authentications], verbs: [patch]}]`, "error control-plane-write", "", `[{apiGroups: ["operator.openshift.io"], resources: [authentications], verbs: [get]}]`},
	"image-updates-write":       {`[{apiGroups: ["image.toolkit.fluxcd.io"], resources: [imagepolicies], verbs: [patch]}]`, "warning image-updates-write", "warning image-updates-write", `[{apiGroups: ["image.toolkit.fluxcd.io"], resources: [imagepolicies], verbs: [get]}]`},
	"k3s-charts-write":          {`[{apiGroups: ["helm.cattle.io"], resources: [helmcharts], verbs: [patch]}]`, "error k3s-charts-write", "error k3s-charts-write", `[{apiGroups: ["helm.cattle.io"], resources: [helmcharts], verbs: [get]}]`},
	"config-policies-write":     {`[{apiGroups: ["policy.open-cluster-management.io"], resources: [configurationpolicies], verbs: [patch]}]`, "error config-policies-write", "error config-policies-write", `[{apiGroups: ["policy.open-cluster-management.io"], resources: [configurationpolicies], verbs: [get]}]`},
	"klusterlets-write":         {`[{apiGroups: ["operator.open-cluster-management.io"], resources: [klusterlets], verbs: [patch]}]`, "error klusterlets-write", "", `[{apiGroups: ["operator.open-cluster-management.io"], resources: [klusterlets], verbs: [get]}]`},
	"managed-logins-write":      {`[{apiGroups: ["hive.openshift.io"], resources: [syncidentityproviders], verbs: [patch]}]`, "error managed-logins-write", "warning managed-logins-write", `[{apiGroups: ["hive.openshift.io"], resources: [syncidentityproviders], verbs: [get]}]`},
	"cleanups-write":            {`[{apiGroups: ["kyverno.io"], resources: [cleanuppolicies], verbs: [patch]}]`, "warning cleanups-write", "warning cleanups-write", `[{apiGroups: ["kyverno.io"], resources: [cleanuppolicies], verbs: [get]}]`},
	"backups-write":             {`[{apiGroups: ["velero.io"], resources: [schedules], verbs: [patch]}]`, "error backups-write", "warning backups-write", `[{apiGroups: ["velero.io"], resources: [schedules], verbs: [get]}]`},
	"backups-read":              {`[{apiGroups: ["velero.io"], resources: [downloadrequests], verbs: [patch]}]`, "warning backups-read", "warning backups-read", `[{apiGroups: ["velero.io"], resources: [downloadrequests], verbs: [get]}]`},
	"client-ca-bundles":         {`[{apiGroups: [""], resources: [configmaps], resourceNames: [node-system-admin-ca], verbs: [patch]}]`, "error client-ca-bundles", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [other], verbs: [patch]}]`},
	"namespace-mutators-write":  {`[{apiGroups: ["kyverno.io"], resources: [policies], verbs: [patch]}]`, "error namespace-mutators-write", "warning namespace-mutators-write", `[{apiGroups: ["kyverno.io"], resources: [policies], verbs: [get]}]`},
	"aws-auth":                  {`[{apiGroups: [""], resources: [configmaps], resourceNames: [aws-auth], verbs: [patch]}]`, "warning aws-auth", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [other], verbs: [patch]}]`},
	"extension-authentication":  {`[{apiGroups: [""], resources: [configmaps], resourceNames: [extension-apiserver-authentication], verbs: [patch]}]`, "warning extension-authentication", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [other], verbs: [patch]}]`},
	"nodes-config":              {`[{apiGroups: [""], resources: [configmaps], resourceNames: [kubeadm-config], verbs: [patch]}]`, "warning nodes-config", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [other], verbs: [patch]}]`},
	"kubeadmin":                 {`[{apiGroups: [""], resources: [secrets], resourceNames: [kubeadmin], verbs: [patch]}]`, "error kubeadmin", "", `[{apiGroups: [""], resources: [secrets], resourceNames: [other], verbs: [patch]}]`},
	"client-ca":                 {`[{apiGroups: [""], resources: [configmaps], resourceNames: [admin-kubeconfig-client-ca], verbs: [patch]}]`, "error client-ca", "", `[{apiGroups: [""], resources: [configmaps], resourceNames: [other], verbs: [patch]}]`},
	"pull-secret":               {`[{apiGroups: [""], resources: [secrets], resourceNames: [pull-secret], verbs: [list]}]`, "error pull-secret", "", `[{apiGroups: [""], resources: [secrets], resourceNames: [other], verbs: [patch]}]`},
	"system-admin":              {`[{apiGroups: [""], resources: [secrets], resourceNames: [node-system-admin-client], verbs: [patch]}]`, "error system-admin", "", `[{apiGroups: [""], resources: [secrets], resourceNames: [other], verbs: [patch]}]`},
	"rbac-bind-named": {`[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [edit], verbs: [bind]}, {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`,
		"error rbac-bind-named, warning rbac-write", "warning rbac-bind-named, note rbac-write", `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [system:discovery, nobody-knows], verbs: [bind]}, {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`},
	"services-status": {`[{apiGroups: [""], resources: [services/status], verbs: [patch]}]`, "note services-status", "", `[{apiGroups: [""], resources: [services], verbs: [patch]}]`},
}

func TestConsequences(t *testing.T) {
	others := []string{"role-unknown", "account-missing", "users-gain", "everyone-gains"}
	if got, want := len(cases)+len(others), len(permissions.Rules()); got != want {
		t.Errorf("%d rules have a test, there are %d", got, want)
	}
	for id, c := range cases {
		t.Run(id, func(t *testing.T) {
			for place, want := range map[string]string{"": c.cluster, "team": c.namespace} {
				if got := ids(evaluate(t, account+role("r", place, c.rules)).Findings); got != want {
					t.Errorf("in %q: got %q, want %q", place, got, want)
				}
			}
			if got := ids(evaluate(t, account+role("r", "", c.without)).Findings); strings.Contains(got, id) {
				t.Errorf("without it: got %q", got)
			}
		})
	}
}

// What follows by the code of OpenShift or OLM cites its lines: the API server of the tests does not have it.
func TestCode(t *testing.T) {
	theirs := regexp.MustCompile(`^\[\{apiGroups: \[(\w+\.openshift\.io|operators\.coreos\.com|olm\.operatorframework\.io)\]`)
	line := regexp.MustCompile(`https://github\.com/[a-z-]+/[a-z-]+/blob/[0-9a-f]{40}/\S+#L\d+\.`)
	cited := 0
	for _, r := range permissions.Rules() {
		if theirs.MatchString(cases[r.ID].rules) {
			cited++
			if !line.MatchString(r.Help) {
				t.Errorf("%s cites no line: %s", r.ID, r.Help)
			}
		}
	}
	if cited < 10 {
		t.Errorf("only %d rules are about OpenShift or OLM", cited)
	}
}

// Needs may be met by rules in the cluster and in a namespace together; what holds in the cluster is not said again.
func TestConsequencesTogether(t *testing.T) {
	bind := role("a", "", `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}]`)
	write := `[{apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create]}]`
	r := evaluate(t, account+bind+role("b", "team", write)+role("c", "op", write))
	if got, want := ids(r.Findings), "warning rbac-bind"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got := r.Findings[0].Message; !strings.Contains(got, "namespaces op, team") {
		t.Errorf("the namespaces are not said: %s", got)
	}
	secrets := `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`
	r = evaluate(t, account+role("a", "", secrets)+role("b", "team", secrets))
	if got, want := ids(r.Findings), "error secrets-read"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A role that nobody knows, an account that nobody makes and a group that everybody is in are said.
func TestStrangers(t *testing.T) {
	r := evaluate(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: nobody, namespace: system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts"}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccount:op:sa"}
`)
	got := ids(r.Findings)
	for _, want := range []string{"warning role-unknown", "warning account-missing", "error everyone-gains", "error everything"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s: %s", want, got)
		}
	}
	if got, want := r.Summary[0].Text, "every ServiceAccount may do everything in the cluster"; got != want || len(r.Summary) != 1 {
		t.Errorf("the summary is %q and %d more, want %q alone", got, len(r.Summary)-1, want)
	}
	if got := lines(r.Permissions); !strings.Contains(got, "has sa in *: * */* [everything]") {
		t.Errorf("an account is not known by its user's name:\n%s", got)
	}
}
