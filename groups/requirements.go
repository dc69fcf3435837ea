package groups

import (
	"fmt"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/manifest"
)

// judged reports whether the tree can tell if a CSV's requirements are met: it holds one of the CRDs or accounts that the CSV needs. A
// dump of CSVs and OperatorGroups does not, and what a Subscription stands for is installed together with what it needs.
func (c *cluster) judged(v *csv, accounts []string) bool {
	if v.sub != nil {
		return false
	}
	for _, list := range [][]ownedAPI{v.owned, v.required} {
		for _, d := range list {
			if c.crds[d.Name] != nil {
				return true
			}
		}
	}
	for _, a := range accounts {
		if a != "default" && c.rbac.exists(v.namespace, a) {
			return true
		}
	}
	return len(v.owned)+len(v.required)+len(accounts) == 0
}

// requirements lists what a CSV needs and the tree lacks. The error is one that OLM finds in the CSV itself (OLM:
// pkg/controller/operators/olm/requirements.go). What only a cluster knows counts as met: its version, native APIs, APIServices.
func (c *cluster) requirements(v *csv) (unmet []string, judged bool, err error) {
	if s, err := v.strategy(); err != nil || s != "" && s != v1alpha1.InstallStrategyNameDeployment {
		return nil, true, fmt.Errorf("unrecognized install strategy")
	}
	var namespaced, clusterWide []v1alpha1.StrategyDeploymentPermissions
	if e := field(v.Object, &namespaced, "spec", "install", "spec", "permissions"); e != nil {
		return nil, true, e
	}
	if e := field(v.Object, &clusterWide, "spec", "install", "spec", "clusterPermissions"); e != nil {
		return nil, true, e
	}
	var accounts []string
	for _, p := range append(namespaced, clusterWide...) {
		accounts = append(accounts, p.ServiceAccountName)
		for _, rule := range p.Rules {
			if msg := invalidRule(rule); msg != "" {
				return nil, true, fmt.Errorf("%s", msg)
			}
		}
	}
	if judged = c.judged(v, accounts); !judged {
		return nil, false, nil
	}
	unmet = c.missingCRDs(v)
	for _, d := range v.services {
		if !v.deploys(d.DeploymentName) {
			unmet = append(unmet, fmt.Sprintf("APIService %s.%s: no Deployment %q", d.Version, d.Group, d.DeploymentName))
		}
	}
	for _, scope := range []struct {
		namespace   string
		permissions []v1alpha1.StrategyDeploymentPermissions
	}{{v.namespace, namespaced}, {"", clusterWide}} {
		for _, p := range scope.permissions {
			lacks, err := c.missingRights(v.namespace, scope.namespace, p)
			if err != nil {
				return nil, true, err
			}
			if lacks != "" {
				unmet = append(unmet, lacks)
			}
		}
	}
	return unmet, true, nil
}

func (v *csv) strategy() (string, error) {
	var s string
	if err := field(v.Object, &s, "spec", "install", "strategy"); err != nil {
		return "", err
	}
	return s, nil
}

func (c *cluster) missingCRDs(v *csv) (unmet []string) {
	seen := map[string]bool{}
	list := append(append([]ownedAPI{}, v.owned...), v.required...)
	for i := len(list) - 1; i >= 0; i-- { // of two entries for a CRD OLM looks at the last (GetAllCRDDescriptions)
		d := list[i]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		switch crd := c.crds[d.Name]; {
		case crd == nil:
			unmet = append(unmet, fmt.Sprintf("CustomResourceDefinition %s: not in the tree", d.Name))
		case !serves(crd, d.Version):
			unmet = append(unmet, fmt.Sprintf("CustomResourceDefinition %s: version %s is not served", d.Name, d.Version))
		}
	}
	return unmet
}

// serves reports whether a CRD serves a version; v1beta1 has a field of its own for the only one.
func serves(crd *manifest.Object, version string) bool {
	n := crd.Len("spec", "versions")
	for i := range n {
		name, _ := crd.Get("spec", "versions", strconv.Itoa(i), "name")
		served, _ := crd.Get("spec", "versions", strconv.Itoa(i), "served")
		if name == version {
			return served == true
		}
	}
	only, _ := crd.Get("spec", "version")
	return n == 0 && only == version
}

func (c *cluster) missingRights(home, namespace string, p v1alpha1.StrategyDeploymentPermissions) (string, error) {
	who := "ServiceAccount " + p.ServiceAccountName
	if !c.rbac.exists(home, p.ServiceAccountName) {
		return who + ": not in the tree", nil
	}
	for _, rule := range p.Rules {
		ok, err := c.rbac.may(asOLM(home, p.ServiceAccountName), namespace, rule)
		if err != nil {
			return "", err
		}
		if !ok {
			where := "in the namespace"
			if namespace == "" {
				where = "in the cluster"
			}
			return fmt.Sprintf("%s: policy rule not satisfied %s: %s", who, where, rule.String()), nil
		}
	}
	return "", nil
}

func (v *csv) deployments() []string {
	var names []string
	for i := range v.Len("spec", "install", "spec", "deployments") {
		name, _ := v.Get("spec", "install", "spec", "deployments", strconv.Itoa(i), "name")
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

func (v *csv) deploys(name string) bool {
	for _, d := range v.deployments() {
		if d == name {
			return true
		}
	}
	return false
}

// badWebhook gives OLM's complaint about the webhooks of a CSV, or "" (OLM: pkg/controller/operators/olm/operator.go, transitionCSVState;
// pkg/controller/install/webhook.go, ValidWebhookRules).
func (v *csv) badWebhook() string {
	names := map[any]bool{}
	for i := range v.Len("spec", "webhookdefinitions") {
		at := []string{"spec", "webhookdefinitions", strconv.Itoa(i)}
		name, _ := v.Get(append(at, "generateName")...)
		if names[name] {
			return "CSV contains repeated WebhookDescription name"
		}
		names[name] = true
		var rules []admissionv1.RuleWithOperations
		if err := field(v.Object, &rules, append(at, "rules")...); err != nil {
			continue
		}
		for _, r := range rules {
			if msg := forbiddenRule(r); msg != "" {
				return msg
			}
		}
	}
	return ""
}

func forbiddenRule(r admissionv1.RuleWithOperations) string {
	for _, g := range r.APIGroups {
		if g == "*" {
			return "webhook rules cannot include all groups"
		}
	}
	for _, g := range r.APIGroups {
		if g == olmGroup {
			return "webhook rules cannot include the OLM group"
		}
	}
	for _, g := range r.APIGroups {
		if g != "admissionregistration.k8s.io" {
			continue
		}
		for _, res := range r.Resources {
			if res == "*" || res == "MutatingWebhookConfiguration" || res == "ValidatingWebhookConfiguration" {
				return "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"
			}
		}
	}
	return ""
}

// forbidden gives the API server's answer where the group's account may not do what OLM does in its name first: get, then create a
// Deployment (OLM: pkg/api/wrappers/deployment_install_client.go, CreateOrUpdateDeployment).
func (c *cluster) forbidden(v *csv, account string) (string, error) {
	for _, name := range v.deployments() {
		for _, verb := range []string{"get", "create"} {
			rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}}
			of := ""
			if verb == "get" {
				rule.ResourceNames = []string{name}
				of = " " + strconv.Quote(name)
			}
			ok, err := c.rbac.may(asServer(v.namespace, account), v.namespace, rule)
			if err != nil {
				return "", err
			}
			if !ok {
				return fmt.Sprintf(`deployments.apps%s is forbidden: User %q cannot %s resource "deployments" in API group "apps" in the namespace %q`,
					of, user(v.namespace, account), verb, v.namespace), nil
			}
		}
	}
	return "", nil
}
