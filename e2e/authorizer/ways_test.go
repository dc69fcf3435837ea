package authorizer

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/permissions"
)

// abilities lead to the rights of others. Kubernetes asks for all of the requests, as "verb group resource namespace name";
// "-" is none. nearly lacks one.
var abilities = []struct {
	name, place, rules, nearly string
	requests                   []string
}{
	{"starts pods", "team", `[{apiGroups: [""], resources: [pods], verbs: [create]}]`, `[{apiGroups: [""], resources: [pods], verbs: [get]}]`, []string{"create - pods team -"}},
	{"starts pods by a workload", "team", `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`, `[{apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}]`,
		[]string{"patch apps deployments team d"}},
	{"changes pods", "team", `[{apiGroups: [""], resources: [pods], verbs: [patch]}]`, `[{apiGroups: [""], resources: [pods/status], verbs: [patch]}]`, []string{"patch - pods team p"}},
	{"runs commands", "team", `[{apiGroups: [""], resources: ["*/exec"], verbs: [create]}]`, `[{apiGroups: [""], resources: [pods/log], verbs: [create]}]`, []string{"create - pods/exec team p"}},
	{"debugs", "team", `[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [patch]}]`, `[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [get]}]`,
		[]string{"patch - pods/ephemeralcontainers team p"}},
	{"asks the kubelet", "", `[{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}]`, `[{apiGroups: [""], resources: [nodes/metrics], verbs: [get]}]`, []string{"get - nodes/proxy - n"}},
	{"makes tokens", "team", `[{apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}]`, `[{apiGroups: [""], resources: [serviceaccounts], verbs: [create]}]`,
		[]string{"create - serviceaccounts/token team admin"}},
	{"makes token Secrets", "team", `[{apiGroups: [""], resources: [secrets], verbs: [get, create]}]`, `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`,
		[]string{"create - secrets team -", "get - secrets team s"}},
	{"acts as accounts", "team", `[{apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}]`, `[{apiGroups: [""], resources: [serviceaccounts], verbs: [get]}]`,
		[]string{"impersonate - serviceaccounts team admin"}},
	{"acts as users", "", `[{apiGroups: [""], resources: [users], verbs: [impersonate]}]`, `[{apiGroups: [user.openshift.io], resources: [users], verbs: [impersonate]}]`,
		[]string{"impersonate - users - system:admin"}},
	{"acts as groups", "", `[{apiGroups: [""], resources: [groups, serviceaccounts], verbs: [impersonate]}]`, `[{apiGroups: [""], resources: [groups], verbs: [impersonate]}]`,
		[]string{"impersonate - groups - system:masters", "impersonate - serviceaccounts team admin"}},
	{"writes roles", "", `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate, update]}]`,
		`[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}]`,
		[]string{"update rbac.authorization.k8s.io clusterroles - r", "escalate rbac.authorization.k8s.io clusterroles - r"}},
	{"binds roles", "", `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], verbs: [bind, create]}]`,
		`[{apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterrolebindings], verbs: [bind, create]}]`,
		[]string{"bind rbac.authorization.k8s.io clusterroles - cluster-admin", "create rbac.authorization.k8s.io clusterrolebindings - -"}},
	{"approves certificates", "", `[{apiGroups: [certificates.k8s.io], resources: ["*"], verbs: [create, update, approve]}]`,
		`[{apiGroups: [certificates.k8s.io], resources: ["*"], verbs: [create, update]}]`,
		[]string{"create certificates.k8s.io certificatesigningrequests - -", "update certificates.k8s.io certificatesigningrequests/approval - c",
			"approve certificates.k8s.io signers - kubernetes.io/kube-apiserver-client"}},
	{"changes what is written", "", `[{apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], verbs: [create]}]`,
		`[{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [create]}]`,
		[]string{"create admissionregistration.k8s.io mutatingwebhookconfigurations - -"}},
	{"runs custom builds", "team", `[{apiGroups: [build.openshift.io], resources: [builds, builds/custom], verbs: [create]}]`, `[{apiGroups: [build.openshift.io], resources: [builds], verbs: [create]}]`,
		[]string{"create build.openshift.io builds team -", "create build.openshift.io builds/custom team -"}},
	{"runs privileged pods", "team", `[{apiGroups: [""], resources: [replicationcontrollers], verbs: [create]}, {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [use]}]`,
		`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [use]}]`,
		[]string{"create - replicationcontrollers team -", "use security.openshift.io securitycontextconstraints team privileged"}},
	{"writes constraints", "", `[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [patch]}, {apiGroups: [batch], resources: [jobs], verbs: [create]}]`,
		`[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [patch]}]`,
		[]string{"patch security.openshift.io securitycontextconstraints - restricted", "create batch jobs team -"}},
	{"configures machines", "", `[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [create]}]`,
		`[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfignodes], verbs: [create]}]`, []string{"create machineconfiguration.openshift.io machineconfigs - -"}},
	{"writes groups", "", `[{apiGroups: [user.openshift.io], resources: [groups], verbs: [update]}]`, `[{apiGroups: [user.openshift.io], resources: [groups], verbs: [delete]}]`,
		[]string{"update user.openshift.io groups - g"}},
	{"has catalogs", "team", `[{apiGroups: [operators.coreos.com], resources: [catalogsources, subscriptions], verbs: [create]}]`,
		`[{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [create]}]`,
		[]string{"create operators.coreos.com catalogsources team -", "create operators.coreos.com subscriptions team -"}},
	{"has cluster catalogs", "", `[{apiGroups: [olm.operatorframework.io], resources: [clustercatalogs, clusterextensions], verbs: [create]}]`,
		`[{apiGroups: [olm.operatorframework.io], resources: [clustercatalogs], verbs: [create]}]`,
		[]string{"create olm.operatorframework.io clustercatalogs - -", "create olm.operatorframework.io clusterextensions - -"}},
	{"writes steps", "team", `[{apiGroups: [operators.coreos.com], resources: [installplans/status], verbs: [patch]}]`, `[{apiGroups: [operators.coreos.com], resources: [installplans], verbs: [patch]}]`,
		[]string{"patch operators.coreos.com installplans/status team p"}},
	{"writes CSVs", "team", `[{apiGroups: [operators.coreos.com], resources: [clusterserviceversions], verbs: [create]}]`,
		`[{apiGroups: [operators.coreos.com], resources: [clusterserviceversions/status], verbs: [patch]}]`, []string{"create operators.coreos.com clusterserviceversions team -"}},
	{"mounts nodes", "", `[{apiGroups: [""], resources: [persistentvolumes, pods], verbs: [create]}]`, `[{apiGroups: [""], resources: [persistentvolumes], verbs: [create]}]`,
		[]string{"create - persistentvolumes - -", "create - pods team -"}},
}

// TestAbilities holds that a way begins where the authorizer allows what it takes, and that none does where it refuses a part.
func TestAbilities(t *testing.T) {
	for _, a := range abilities {
		t.Run(a.name, func(t *testing.T) {
			for rules, want := range map[string]bool{a.rules: true, a.nearly: false} {
				r := abilityOf(t, a.place, rules)
				allowed := !slices.ContainsFunc(a.requests, func(request string) bool {
					f := strings.Fields(strings.ReplaceAll(request, " -", " \x00"))
					for i := range f {
						f[i] = strings.Trim(f[i], "\x00")
					}
					resource, sub, _ := strings.Cut(f[2], "/")
					return !r.allows(t, attacker, authorizer.AttributesRecord{Verb: f[0], APIGroup: f[1], Resource: resource, Subresource: sub,
						Namespace: f[3], Name: f[4], ResourceRequest: true})
				})
				way := slices.ContainsFunc(r.report.Ways, func(w permissions.Way) bool { return w.Subject == attacker })
				if allowed != want || way != want {
					t.Errorf("%s: allowed %v, a way %v", rules, allowed, way)
				}
			}
		})
	}
}

var attacker = permissions.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "a", Name: "a"}

// abilityOf is a cluster in which an account has rules at a place, and another one may do everything.
func abilityOf(t *testing.T, place, rules string) release {
	t.Helper()
	grant := func(name, place, account, rules string) string {
		kind := "Cluster"
		if place != "" {
			kind = ""
		}
		return strings.NewReplacer("KIND", kind, "NAME", name, "PLACE", place, "ACCOUNT", account, "RULES", rules).Replace(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: KINDRole
metadata: {name: NAME, namespace: "PLACE"}
rules: RULES
---
apiVersion: rbac.authorization.k8s.io/v1
kind: KINDRoleBinding
metadata: {name: NAME, namespace: "PLACE"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: KINDRole, name: NAME}
subjects: [{kind: ServiceAccount, ACCOUNT}]
`)
	}
	in := permissions.Input{Objects: reviewtest.Objects(t, "tree.yaml", grant("r", place, "name: a, namespace: a", rules)+
		grant("admin", "", "name: admin, namespace: team", `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`))}
	r := release{name: rules}
	var err error
	if r.report, err = permissions.Evaluate(in); err != nil {
		t.Fatal(err)
	}
	var ok bool
	if r.cluster, ok = newCluster(t, in); !ok {
		t.Fatal("an aggregating role is bound")
	}
	return r
}
