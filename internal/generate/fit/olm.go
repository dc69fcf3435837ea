package fit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// Ask is a rule by which a ClusterServiceVersion asks for rights on the APIs of OLM v0.
type Ask struct {
	Field     string // of the rule
	Account   string
	Cluster   bool     // in the whole cluster
	Resources []string // without OperatorConditions; sorted
}

const operatorConditions = "operatorconditions"

// OLMAPIs returns the rules that ask for rights on the APIs of OLM v0, and whether another rule of the whole cluster
// asks for some on those of OLM v1. A rule for all API groups is none of them: it does not tell what the operator uses.
func OLMAPIs(csv *v1alpha1.ClusterServiceVersion) (asks []Ask, v1 bool) {
	eachRule(csv, func(field, account string, cluster bool, r rbacv1.PolicyRule) {
		v1 = v1 || cluster && slices.Contains(r.APIGroups, olm.GroupV1)
		if !slices.Contains(r.APIGroups, olm.Group) && !slices.Contains(r.APIGroups, olm.GroupPackages) {
			return
		}
		resources := slices.DeleteFunc(slices.Clone(r.Resources), ofConditions)
		if slices.Sort(resources); len(resources) > 0 {
			asks = append(asks, Ask{field, account, cluster, slices.Compact(resources)})
		}
	})
	return asks, v1
}

// eachRule calls f for each rule of the permissions of a ClusterServiceVersion, those of the whole cluster first.
func eachRule(csv *v1alpha1.ClusterServiceVersion,
	f func(field, account string, cluster bool, r rbacv1.PolicyRule)) {
	spec := csv.Spec.InstallStrategy.StrategySpec
	for _, list := range []struct {
		name        string
		permissions []v1alpha1.StrategyDeploymentPermissions
	}{{"clusterPermissions", spec.ClusterPermissions}, {"permissions", spec.Permissions}} {
		for i, p := range list.permissions {
			for k, r := range p.Rules {
				f(fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", list.name, i, k), p.ServiceAccountName,
					list.name == "clusterPermissions", r)
			}
		}
	}
}

func ofConditions(resource string) bool {
	return resource == operatorConditions || strings.HasPrefix(resource, operatorConditions+"/")
}

// apis reports that an operator has rights on the APIs of OLM v0. One that has rights on those of OLM v1 as well works
// with both.
func (q *question) apis() {
	asks, v1 := OLMAPIs(q.CSV)
	if q.form == OLMv0 || v1 && q.form == OLMv1 || len(asks) == 0 {
		return
	}
	var resources []string
	for _, a := range asks {
		resources = append(resources, a.Resources...)
	}
	slices.Sort(resources)
	q.add(RuleAPIs, Warning, asks[0].Field, fmt.Sprintf("the operator has rights on %s of OLM v0 (%s), and "+
		"%s has none", strings.Join(slices.Compact(resources), ", "), olm.Group, q.form.has()),
		"ask the operator's vendor whether it works without them")
}

// has returns who does not have the APIs of OLM v0.
func (f Form) has() string {
	if f == Plain {
		return "a cluster without OLM"
	}
	return string(f)
}

// conditions reports that an operator has rights on OperatorConditions.
func (q *question) conditions() {
	if q.form == OLMv0 {
		return
	}
	eachRule(q.CSV, func(field, _ string, _ bool, r rbacv1.PolicyRule) {
		if slices.Contains(r.APIGroups, olm.Group) && slices.ContainsFunc(r.Resources, ofConditions) {
			q.add(RuleConditions, Warning, field, fmt.Sprintf("the operator has rights on "+
				"OperatorConditions, and %s makes none: it cannot hold back its own upgrade", q.form.has()), "")
		}
	})
}

// Services returns the APIs that an operator serves by APIServices, such as v1.example.com.
func Services(csv *v1alpha1.ClusterServiceVersion) (names []string) {
	for _, a := range csv.Spec.APIServiceDefinitions.Owned {
		names = append(names, a.Version+"."+a.Group)
	}
	return names
}

// refusing returns the releases of OLM v1 in the cluster that refuse something, with the source.
func (q *question) refusing(behavior string) (who, source string) {
	var list []string
	for _, r := range q.Controllers() {
		if fact, ok := r.Does(behavior); ok {
			list, source = append(list, r.String()), fact.Source
		}
	}
	return strings.Join(list, " and "), source
}

func (q *question) services() {
	names := Services(q.CSV)
	if q.form != OLMv1 || len(names) == 0 {
		return
	}
	if who, source := q.refusing(versions.RefusesServices); who != "" {
		q.add(RuleServices, Error, "spec.apiservicedefinitions.owned", fmt.Sprintf("the operator serves APIs "+
			"itself, which %s refuses: %s (%s)", who, strings.Join(names, ", "), source), "")
	}
}

// Required returns the properties by which an operator depends on others, each once (operator-controller:
// resolve/validation.go; operator-registry: alpha/property).
func Required(properties []bundle.Property) (list []bundle.Property) {
	for _, p := range properties {
		same := func(other bundle.Property) bool {
			return other.Type == p.Type && string(other.Value) == string(p.Value)
		}
		switch p.Type {
		case "olm.package.required", "olm.gvk.required", "olm.constraint":
			if !slices.ContainsFunc(list, same) {
				list = append(list, p)
			}
		}
	}
	return list
}

func (q *question) dependencies() {
	if q.form != OLMv1 {
		return
	}
	var list []string
	for _, p := range Required(q.Properties) {
		list = append(list, text.Brief(p.Type+" "+unescaped(p.Value)))
	}
	if who, source := q.refusing(versions.RefusesDependencies); who != "" && len(list) > 0 {
		q.add(RuleDependencies, Error, "", fmt.Sprintf("the operator depends on others, which %s refuses: "+
			"%s (%s)", who, strings.Join(list, ", "), source), "")
	}
}

// The feature gates of OLM v1.
const (
	gateNamespaces  = "SingleOwnNamespaceInstallSupport"
	gateCertManager = "WebhookProviderCertManager"
	gateServiceCA   = "WebhookProviderOpenshiftServiceCA"
)

// gate returns how a release has the best of some feature gates, by default and in any feature set, and the source.
func gate(r versions.Release, names ...string) (standard, any versions.State, source string) {
	better := func(a *versions.State, b versions.State) {
		if b == versions.Enabled || b == versions.Disabled && *a == versions.Absent {
			*a = b
		}
	}
	for _, name := range names {
		for _, set := range versions.Sets {
			state, _ := r.Gate(name, set)
			if better(&any, state); set == versions.Standard {
				better(&standard, state)
			}
		}
	}
	for _, f := range versions.Facts() {
		if f.Of == r.Product && f.Gate == names[0] {
			source = f.Source
		}
	}
	return standard, any, source
}

// modes reports that OLM v1 does not install the operator as it must be, or as it is asked to.
func (q *question) modes() {
	const field = "spec.installModes"
	supports := func(m v1alpha1.InstallModeType) bool { return olm.Supports(q.CSV.Spec.InstallModes, m) }
	everywhere := q.Mode == v1alpha1.InstallModeTypeAllNamespaces ||
		q.Mode == "" && supports(v1alpha1.InstallModeTypeAllNamespaces)
	if q.form != OLMv1 || everywhere {
		return
	}
	if !supports(v1alpha1.InstallModeTypeOwnNamespace) && !supports(v1alpha1.InstallModeTypeSingleNamespace) {
		q.add(RuleModes, Error, field, "the operator supports no install mode of OLM v1", "")
		return
	}
	for _, r := range q.Controllers() {
		q.behind(r, RuleModes, field, "operators for their own or a single namespace", gateNamespaces)
	}
}

// webhooks reports that OLM v1 does not take webhooks.
func (q *question) webhooks() {
	if q.form != OLMv1 || len(q.CSV.Spec.WebhookDefinitions) == 0 {
		return
	}
	for _, r := range q.Controllers() {
		q.behind(r, RuleWebhooks, "spec.webhookdefinitions", "webhooks", gateCertManager, gateServiceCA)
	}
}

// behind reports that a release takes something only with a feature gate, or not at all.
func (q *question) behind(r versions.Release, rule, field, what string, gates ...string) {
	standard, any, source := gate(r, gates...)
	names := strings.Join(gates, " or ")
	switch {
	case standard == versions.Enabled:
	case any == versions.Absent:
		q.add(rule, Error, field, fmt.Sprintf("%s does not take %s: it has no feature gate %s (%s)", r, what,
			names, source), "")
	default:
		q.add(rule, Warning, field, fmt.Sprintf("%s takes %s only with the feature gate %s", r, what,
			names), "")
	}
}

// unescaped returns a JSON value for a person: with <, > and & as such.
func unescaped(value json.RawMessage) string {
	return strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(value))
}

// textOf returns a JSON string's value, or the text of another value.
func textOf(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
