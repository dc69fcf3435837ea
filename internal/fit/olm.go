package fit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// Ask is a rule by which an operator asks for rights on the APIs of OLM v0.
type Ask struct {
	Role      *manifest.Object // that its bundle ships and in which the rule stands; nil: the ClusterServiceVersion
	Field     string           // of the rule
	Cluster   bool             // in the whole cluster
	Resources []string         // without OperatorConditions; sorted
}

const operatorConditions = "operatorconditions"

// OLMAPIs returns the rules that ask for rights on the APIs of OLM v0, and whether another rule of the whole cluster
// asks for some on those of OLM v1. A rule for all API groups is none of them: it does not tell what the operator uses.
func (o Operator) OLMAPIs() (asks []Ask, v1 bool) { return olmAPIs(o.rights()) }

func olmAPIs(rights []right) (asks []Ask, v1 bool) {
	for _, r := range rights {
		v1 = v1 || r.cluster && slices.Contains(r.APIGroups, olm.GroupV1)
		if !slices.Contains(r.APIGroups, olm.Group) && !slices.Contains(r.APIGroups, olm.GroupPackages) {
			continue
		}
		resources := slices.DeleteFunc(lists.SortedUnique(r.Resources), ofConditions)
		if len(resources) > 0 {
			asks = append(asks, Ask{r.object, r.field(), r.cluster, resources})
		}
	}
	return asks, v1
}

func ofConditions(resource string) bool {
	return resource == operatorConditions || strings.HasPrefix(resource, operatorConditions+"/")
}

// apis reports that an operator has rights on the APIs of OLM v0. One that has rights on those of OLM v1 as well works
// with both.
func (q *question) apis() {
	if q.form == OLMv0 {
		return
	}
	asks, v1 := olmAPIs(q.held())
	if v1 && q.form == OLMv1 || len(asks) == 0 {
		return
	}
	resources := slices.Concat(lists.Map(asks, func(a Ask) []string { return a.Resources })...)
	q.at(q.holding(asks[0].Role), RuleAPIs, findings.Warning, asks[0].Field, fmt.Sprintf("the operator has rights "+
		"on %s of OLM v0 (%s), and %s has none", strings.Join(lists.SortedUnique(resources), ", "), olm.Group,
		q.form.has()),
		"ask the operator's vendor whether it works without them")
}

// holding returns the object in which a right stands: a role, or the ClusterServiceVersion.
func (q *question) holding(role *manifest.Object) *manifest.Object { return cmp.Or(role, q.Object) }

// has returns who does not have the APIs of OLM v0.
func (f Form) has() string {
	if f == Plain {
		return "a cluster without OLM"
	}
	return string(f)
}

func (q *question) conditions() {
	if q.form == OLMv0 {
		return
	}
	hint := "write " + envCondition + configured
	why := ", and may exit at its start: only OLM v0 sets " + envCondition
	if q.setsCondition() {
		why, hint = "", ""
	}
	for _, r := range q.held() {
		if slices.Contains(r.APIGroups, olm.Group) && slices.ContainsFunc(r.Resources, ofConditions) {
			q.at(q.holding(r.object), RuleConditions, findings.Warning, r.field(), fmt.Sprintf("the operator has "+
				"rights on OperatorConditions, and %s makes none: it cannot hold back its own upgrade%s", q.form.has(),
				why), hint)
		}
	}
}

// envCondition is what operator-lib reads at the start of an operator (operator-lib: conditions/factory.go).
const envCondition = "OPERATOR_CONDITION_NAME"

func (q *question) setsCondition() bool {
	for _, d := range q.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, c := range d.Spec.Template.Spec.Containers {
			if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == envCondition }) {
				return true
			}
		}
	}
	return false
}

// Services returns the APIs that an operator serves by APIServices, such as v1.example.com.
func Services(csv *v1alpha1.ClusterServiceVersion) (names []string) {
	return lists.Map(csv.Spec.APIServiceDefinitions.Owned,
		func(a v1alpha1.APIServiceDescription) string { return a.Version + "." + a.Group })
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
		q.add(RuleServices, findings.Error, "spec.apiservicedefinitions.owned", fmt.Sprintf("the operator serves APIs "+
			"itself, which %s refuses: %s (%s)", who, strings.Join(names, ", "), source), "")
	}
}

// Required returns the properties by which an operator depends on others, each once (operator-controller:
// resolve/validation.go; operator-registry: alpha/property).
func Required(properties []bundle.Property) (list []bundle.Property) {
	for _, p := range properties {
		switch p.Type {
		case olm.PropertyPackageRequired, olm.PropertyGVKRequired, olm.PropertyConstraint:
			if !slices.ContainsFunc(list, p.Equal) {
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
	list := lists.Map(Required(q.Properties),
		func(p bundle.Property) string { return text.Brief(p.Type + " " + unescaped(p.Value)) })
	if who, source := q.refusing(versions.RefusesDependencies); who != "" && len(list) > 0 {
		q.add(RuleDependencies, findings.Error, "", fmt.Sprintf("the operator depends on others, which %s refuses: "+
			"%s (%s)", who, strings.Join(list, ", "), source), "")
	}
}

// The feature gates of OLM v1.
const (
	gateNamespaces  = "SingleOwnNamespaceInstallSupport"
	gateConfig      = "DeploymentConfig"
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
		for i, set := range r.Sets() {
			state, _ := r.Gate(name, set)
			if better(&any, state); i == 0 {
				better(&standard, state)
			}
		}
	}
	return standard, any, versions.SourceOf(r.Product, names[0])
}

// narrow are the operators that a feature gate is for.
const narrow = "operators for their own or a single namespace"

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
		q.add(RuleModes, findings.Error, field, "the operator supports no install mode of OLM v1", "")
		return
	}
	for _, r := range q.Controllers() {
		q.behind(r, RuleModes, field, narrow, gateNamespaces)
	}
	q.add(RuleModes, findings.Note, field, "OLM v1 means to drop "+narrow+" (a draft of March 2026, single-tenant "+
		"simplification, not begun)", "")
}

func (q *question) webhooks() {
	if q.form != OLMv1 || len(q.CSV.Spec.WebhookDefinitions) == 0 {
		return
	}
	for _, r := range q.Controllers() {
		q.behind(r, RuleWebhooks, "spec.webhookdefinitions", "webhooks", gateCertManager, gateServiceCA)
	}
}

// kinds reports objects that a release of OLM refuses, and the newest one installs.
func (q *question) kinds() {
	var releases []versions.Release
	switch {
	case q.form == OLMv1:
		releases = q.Controllers()
	case q.form == OLMv0 && q.OLM != nil:
		releases = append(releases, *q.OLM)
	}
	for _, r := range releases {
		for _, o := range q.Shipped {
			if ok, source := r.Installs(o.Kind); !ok {
				q.at(o, RuleKinds, findings.Error, "kind",
					fmt.Sprintf("%s refuses bundles with a %s (%s)", r, o.Kind, source), "")
			}
		}
	}
}

// Refusing returns which known releases refuse an operator under OLM v1 that the newest release takes, a sentence for
// each reason.
func Refusing(o Operator) (list []string) {
	q := question{Operator: o, form: OLMv1}
	refuses := func(ask func(*question), release *versions.Release) bool {
		q.Cluster, q.list = Cluster{Controller: release}, q.list[:0]
		ask(&q)
		return slices.ContainsFunc(q.list, func(f findings.Finding) bool { return f.Level == findings.Error })
	}
	for _, reason := range []struct {
		text string
		ask  func(*question)
	}{{"it does not watch all namespaces", (*question).modes}, {"it has webhooks", (*question).webhooks},
		{"it has objects of a newer kind", (*question).kinds}} {
		if refuses(reason.ask, nil) {
			continue
		}
		who := versions.Where(func(r versions.Release) bool { return refuses(reason.ask, &r) },
			versions.OperatorController, versions.OpenShift)
		if who != "" {
			list = append(list, who+" refuse the operator: "+reason.text)
		}
	}
	return list
}

// behind reports that a release takes something only with a feature gate, or not at all.
func (q *question) behind(r versions.Release, rule findings.Rule, field, what string, gates ...string) {
	standard, any, source := gate(r, gates...)
	names := strings.Join(gates, " or ")
	switch {
	case standard == versions.Enabled:
	case any == versions.Absent:
		q.add(rule, findings.Error, field, fmt.Sprintf("%s does not take %s: it has no feature gate %s (%s)", r, what,
			names, source), "")
	default:
		q.off = append(q.off, gates[0])
		q.add(rule, findings.Warning, field, fmt.Sprintf("%s takes %s only with the feature gate %s%s", r, what,
			names, r.On(gates...)), q.enabling(r))
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

// Moved returns what OLM v1 does where a release takes the place of another one, and it resolves another namespace for
// it. Known releases require spec.namespace: then there is nothing to say. The bundles need no more than their package.
func Moved(old, now Operator, c Cluster) []findings.Finding {
	if c.Controller != nil || c.OpenShift != nil {
		return nil
	}
	unset := fmt.Sprintf("where spec.namespace is unset, which the experimental channel of OLM v1 takes after %s "+
		"(a draft, read and not run)", versions.Newest(versions.OperatorController).Number())
	q := &question{Operator: now}
	before, err := olmv1.ManagedNamespace(old.Bundle.Package, old.CSV.Annotations)
	if err != nil {
		return nil // it was never installed so
	}
	after, err := olmv1.ManagedNamespace(now.Bundle.Package, now.CSV.Annotations)
	switch {
	case err != nil:
		q.add(RuleNamespace, findings.Warning, "metadata.annotations",
			fmt.Sprintf("%s, it cannot be installed: %v", unset, err), "mend the annotation, or set spec.namespace")
	case before != after:
		q.add(RuleNamespace, findings.Warning, "metadata.annotations", fmt.Sprintf("%s, OLM v1 moves the operator "+
			"from namespace %s to %s, and deletes %s with all that is in it", unset, before, after, before),
			"set spec.namespace, or keep the annotations that name the namespace")
	}
	return q.list
}
