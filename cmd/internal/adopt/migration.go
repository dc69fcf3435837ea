package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Outcome is what a check of the migration to OLM v1 says.
type Outcome string

// The outcomes, best first.
const (
	Passed       Outcome = "passed"
	Acknowledged Outcome = "acknowledge" // the migration needs an acknowledgement
	Refused      Outcome = "refused"     // there is no way around it
	Unknown      Outcome = "unknown"     // the dump does not say
)

// Check is one check of operator-framework/library-olm, migration v0 to v1: C1 to C10 are those of its requirements R3.
type Check struct {
	ID      string  `json:"id"` // C1 to C10, unique
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Object  string  `json:"object,omitempty"` // that decides it
	Field   string  `json:"field,omitempty"`
	Message string  `json:"message"`
	Flag    string  `json:"acknowledge,omitempty"` // of the migration
}

// Migration is what the migration from OLM v0 to OLM v1 says about an operator.
type Migration struct {
	Operator  string `json:"operator"`
	Namespace string `json:"namespace"`
	Package   string `json:"package"`
	Version   string `json:"version"`
	Verdict   string `json:"verdict"`
	// OLMv1 is whether the operator works there, as far as the dump shows what its bundle has.
	OLMv1    fit.Verdict `json:"olmv1"`
	Checks   []Check     `json:"checks"`
	Plain    string      `json:"plain"`    // what the profile does with the operator
	Descoped string      `json:"descoped"` // the same
}

// Possible reports whether the migration would take the operator, acknowledged or not.
func (m *Migration) Possible() bool { return len(m.Refusals()) == 0 }

// Refusals returns the checks that refuse the operator.
func (m *Migration) Refusals() []string { return lists.Map(m.with(Refused), Check.title) }

// Acknowledgements returns what must be acknowledged.
func (m *Migration) Acknowledgements() []string {
	return lists.Map(m.with(Acknowledged), func(c Check) string { return c.Flag })
}

func (m *Migration) with(outcomes ...Outcome) []Check {
	return lists.Filter(m.Checks, func(c Check) bool { return slices.Contains(outcomes, c.Outcome) })
}

// Migration answers the checks for one operator. The rules are those of requirements.md, R3, of 2026.
func (s *State) Migration(o *Operator) *Migration {
	m := &Migration{Operator: o.CSV.Name, Namespace: o.Group.Namespace, Package: o.Package, Version: o.Version(),
		OLMv1: s.underV1(o)}
	m.Checks = []Check{o.watchScope(), o.allNamespaces(), s.dependencies(o), s.apiServices(o), s.conditions(o),
		o.olmAPIs(), o.scopedAccount(), s.catalog(o), o.steady(), o.dependency(), s.imageBacked(o), s.unique(o)}
	if s.Target.Known() {
		m.Checks = append(m.Checks, s.release(o))
	}
	switch {
	case !m.Possible():
		m.Verdict = "not eligible: " + strings.Join(m.Refusals(), ", ")
	case len(m.Acknowledgements()) > 0:
		m.Verdict = "eligible with " + strings.Join(m.Acknowledgements(), " ")
	default:
		m.Verdict = "eligible"
	}
	where := strings.Join(o.Group.Targets, ", ")
	m.Plain, m.Descoped = "watches "+where+" as now", "serves its APIs in the whole cluster, bound in "+where+" only"
	if o.Group.Global() {
		m.Plain = "watches all namespaces as now"
		m.Descoped = "serves its APIs in the whole cluster, bound in all namespaces"
	}
	if o.certified() {
		m.Plain += "; cert-manager makes the certificates"
	}
	if len(fit.Required(o.properties())) > 0 {
		m.Plain += "; what it depends on must be in Git too"
	}
	return m
}

// Migrations answers the checks for all operators.
func (s *State) Migrations() []*Migration { return lists.Map(s.All(), s.Migration) }

func check(id, name string, object *dump.Object, field string) Check {
	c := Check{ID: id, Name: name, Outcome: Passed, Field: field}
	if object != nil {
		c.Object = object.Identity()
	}
	return c
}

func (c Check) result(o Outcome, flag, format string, args ...any) Check {
	c.Outcome, c.Flag, c.Message = o, flag, fmt.Sprintf(format, args...)
	return c
}

func (o *Operator) watchScope() Check {
	const flag = "--acknowledge-watch-scope-change"
	g := o.Group
	c := check("C1", "AllNamespaces watch scope", g.Object, "spec.targetNamespaces")
	switch {
	case len(g.Spec.TargetNamespaces) > 0:
		return c.result(Acknowledged, flag, "the operator watches %s; after the migration it watches all namespaces",
			strings.Join(g.Targets, ", "))
	case !g.Global():
		c.Field = "spec.selector"
		return c.result(Acknowledged, flag, "a selector chooses the namespaces; after the migration the operator "+
			"watches all")
	}
	return c.result(Passed, "", "the operator watches all namespaces")
}

func (o *Operator) allNamespaces() Check {
	c := check("C1a", "AllNamespaces bundle support", o.Object, "spec.installModes")
	if olm.Supports(o.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeAllNamespaces) {
		return c.result(Passed, "", "the CSV supports AllNamespaces")
	}
	return c.result(Refused, "", "the CSV does not support AllNamespaces")
}

func (s *State) dependencies(o *Operator) Check {
	c := check("C2", "No dependency resolution", o.Object, `metadata.annotations["`+olm.AnnotationProperties+`"]`)
	needs := lists.Map(fit.Required(o.properties()), func(p bundle.Property) string {
		return p.Type + " " + string(p.Value)
	})
	f := s.unfit(o, fit.RuleDependencies.ID)
	switch {
	case f != nil:
		return c.result(Refused, "", "%s", f.Message)
	case len(needs) > 0:
		return c.result(Refused, "", "the bundle depends on others: %s", strings.Join(needs, ", "))
	case o.Properties != "" && !json.Valid([]byte(o.Properties)):
		return c.result(Refused, "", "the annotation is not JSON")
	}
	return c.result(Passed, "", "the bundle depends on no other")
}

func (s *State) apiServices(o *Operator) Check {
	c := check("C3", "No APIService definitions", o.Object, "spec.apiservicedefinitions.owned")
	if f := s.unfit(o, fit.RuleServices.ID); f != nil {
		return c.result(Refused, "", "%s", f.Message)
	}
	if names := fit.Services(o.CSV); len(names) > 0 {
		return c.result(Refused, "", "the operator serves APIs itself: %s", strings.Join(names, ", "))
	}
	return c.result(Passed, "", "the operator serves no API itself")
}

func (s *State) conditions(o *Operator) Check {
	object := s.Dump.Get("OperatorCondition", o.Group.Namespace, o.CSV.Name)
	c := check("C4", "No active OperatorCondition", object, "status.conditions")
	var condition operatorsv2.OperatorCondition
	switch {
	case len(s.Dump.OfKind("OperatorCondition")) == 0:
		return c.result(Unknown, "", "the dump has no OperatorConditions")
	case object == nil:
		return c.result(Passed, "", "there is no OperatorCondition")
	case object.Decode(&condition) != nil:
		return c.result(Unknown, "", "the OperatorCondition can't be read")
	case len(condition.Status.Conditions) > 0:
		return c.result(Acknowledged, "--acknowledge-operator-condition",
			"the operator reports %s, which OLM v1 does not look at", condition.Status.Conditions[0].Type)
	}
	return c.result(Passed, "", "the operator has reported no condition")
}

// migrated are what an operator asks for that works with OLM v0, as the migration counts it.
var migrated = []string{"subscriptions", "installplans", "clusterserviceversions", "catalogsources", "*"}

func (o *Operator) olmAPIs() Check {
	c := check("C5", "OLMv0-API RBAC without OLMv1 RBAC", o.Object, "")
	asks, v1 := fit.Operator{CSV: o.CSV}.OLMAPIs()
	asks = lists.Filter(asks, func(a fit.Ask) bool {
		return a.Cluster &&
			slices.ContainsFunc(a.Resources, func(x string) bool { return slices.Contains(migrated, x) })
	})
	if len(asks) == 0 {
		c.Field = "spec.install.spec.clusterPermissions"
		return c.result(Passed, "", "the operator has no rights on OLM v0's APIs")
	}
	if c.Field = asks[0].Field; v1 {
		return c.result(Passed, "", "the operator has rights on the APIs of both")
	}
	return c.result(Acknowledged, "--acknowledge-olmv0-api-access",
		"the operator has rights on OLM v0's APIs and none on OLM v1's")
}

func (o *Operator) scopedAccount() Check {
	c := check("C6", "No scoped ServiceAccount", o.Group.Object, "spec.serviceAccountName")
	if name := o.Group.Spec.ServiceAccountName; name != "" {
		return c.result(Acknowledged, "--acknowledge-scoped-serviceaccount",
			"ServiceAccount %s limits the installation; OLM v1 installs with rights of its own", name)
	}
	return c.result(Passed, "", "no ServiceAccount limits the installation")
}

func (s *State) catalog(o *Operator) Check {
	c := check("C7", "Catalog availability", nil, "")
	unusable, others := "", false
	for _, object := range s.Dump.OfKind(olm.KindClusterCatalog) {
		value := object.Value()
		others = others || unavailable(value) == ""
		ref, _ := normalize.At(value, "spec", "source", "image")["ref"].(string)
		if o.Catalog == nil || ref == "" || ref != o.Catalog.Spec.Image {
			continue
		}
		c.Object, c.Field = object.Identity(), "spec.source.image.ref"
		if unusable = unavailable(value); unusable == "" {
			return c.result(Passed, "", "a ClusterCatalog has the image of the CatalogSource")
		}
	}
	if unusable != "" && !others {
		return c.result(Refused, "", "the ClusterCatalog with the image of the CatalogSource %s", unusable)
	}
	return c.result(Unknown, "", "a ClusterCatalog must serve package %s; the dump does not show its content",
		o.Package)
}

// unavailable returns why OLM v1 does not use a ClusterCatalog; "" if it does (library-olm:
// migration/pkg/migration/catalog.go, ResolveClusterCatalog).
func unavailable(catalog map[string]any) string {
	if normalize.At(catalog, "spec")["availabilityMode"] == "Unavailable" {
		return "is Unavailable (spec.availabilityMode)"
	}
	for _, c := range normalize.List(normalize.At(catalog, "status"), "conditions") {
		if c["type"] == "Serving" && c["status"] == "True" {
			return ""
		}
	}
	return "is not serving (status.conditions)"
}

// unique is a check of the migration beside C1 to C10 (library-olm: migration/pkg/migration/readiness.go).
func (s *State) unique(o *Operator) Check {
	c := check("unique", "Package uniqueness", nil, "spec.name")
	if o.Subscription == nil {
		return c.result(Passed, "", "there is no Subscription")
	}
	c.Object = o.subscription()
	for _, other := range s.subscriptions {
		if other.Subscription != o.Subscription && other.Spec.Package == o.Subscription.Spec.Package {
			return c.result(Refused, "", "%s is for package %s too", other.object.Identity(), other.Spec.Package)
		}
	}
	return c.result(Passed, "", "no other Subscription is for the package")
}

func (o *Operator) steady() Check {
	const flag = "--acknowledge-not-steady-state"
	c := check("C8", "Steady state", o.Object, "status.phase")
	switch status := o.CSV.Status; {
	case status.Phase != v1alpha1.CSVPhaseSucceeded:
		return c.result(Acknowledged, flag, "the CSV is %s", status.Phase)
	case o.Subscription == nil:
		return c.result(Refused, "", "there is no Subscription, which is what the migration begins with")
	case o.Subscription.Status.InstalledCSV != o.CSV.Name:
		c.Object, c.Field = o.subscription(), "status.installedCSV"
		return c.result(Refused, "", "the Subscription has installed %q", o.Subscription.Status.InstalledCSV)
	case status.Reason != v1alpha1.CSVReasonInstallSuccessful:
		c.Field = "status.reason"
		return c.result(Acknowledged, flag, "the reason of the CSV's phase is %q", status.Reason)
	}
	c.Object, c.Field = o.subscription(), "status.state"
	if state := o.Subscription.Status.State; state != v1alpha1.SubscriptionStateAtLatest &&
		state != v1alpha1.SubscriptionStateUpgradePending {
		return c.result(Acknowledged, flag, "the Subscription is %s", state)
	}
	return c.result(Passed, "", "the CSV has succeeded, and the Subscription is %s", o.Subscription.Status.State)
}

func (o *Operator) subscription() string {
	return "Subscription " + o.Group.Namespace + "/" + o.Subscription.Name
}

func (o *Operator) dependency() Check {
	c := check("C9", "Not an OLMv0-managed dependency", nil, `metadata.annotations["`+olm.AnnotationGeneratedBy+`"]`)
	if o.Subscription == nil {
		return c.result(Passed, "", "there is no Subscription")
	}
	c.Object = o.subscription()
	if by, ok := o.Subscription.Annotations[olm.AnnotationGeneratedBy]; ok {
		return c.result(Refused, "", "OLM made the Subscription for another operator (%s)", by)
	}
	return c.result(Passed, "", "a person made the Subscription")
}

func (s *State) imageBacked(o *Operator) Check {
	c := check("C10", "Image-backed source CatalogSources", nil, "spec.image")
	if o.Subscription == nil {
		return c.result(Refused, "", "there is no Subscription, so there is no CatalogSource")
	}
	spec := o.Subscription.Spec
	c.Object = "CatalogSource " + spec.CatalogSourceNamespace + "/" + spec.CatalogSource
	withImage := func(c *v1alpha1.CatalogSource) bool {
		return c.Spec.SourceType == v1alpha1.SourceTypeGrpc && c.Spec.Image != ""
	}
	switch {
	case len(s.Dump.OfKind("CatalogSource")) == 0:
		return c.result(Unknown, "", "the dump has no CatalogSources")
	case o.Catalog == nil:
		return c.result(Refused, "", "the CatalogSource is gone")
	case !withImage(o.Catalog):
		return c.result(Refused, "", "the CatalogSource has no image")
	case o.LookedUp != "":
		c.Object = "CatalogSource " + o.LookedUp
		switch catalog := s.catalogs[o.LookedUp]; {
		case catalog == nil:
			return c.result(Refused, "", "the InstallPlan took the bundle from it, and it is gone")
		case !withImage(catalog):
			return c.result(Refused, "", "the InstallPlan took the bundle from it, and it has no image")
		}
	}
	return c.result(Passed, "", "the catalog is image %s", o.Catalog.Spec.Image)
}

// MigrationRules explain the checks of the migration.
var MigrationRules = []findings.Rule{
	{ID: "c1", Text: "AllNamespaces watch scope: OLM v1 would watch all namespaces", Help: requirements},
	{ID: "c10", Text: "Both CatalogSources of the operator must have an image", Help: requirements},
	{ID: "c1a", Text: "The bundle must support AllNamespaces", Help: requirements},
	{ID: "c2", Text: "OLM v1 resolves no dependencies", Help: requirements},
	{ID: "c3", Text: "OLM v1 makes no APIServices", Help: requirements},
	{ID: "c4", Text: "OLM v1 looks at no OperatorConditions", Help: requirements},
	{ID: "c5", Text: "The operator has rights on OLM v0's APIs and none on OLM v1's", Help: requirements},
	{ID: "c6", Text: "OLM v1 installs with rights of its own, not with a ServiceAccount's", Help: requirements},
	{ID: "c7", Text: "A ClusterCatalog must serve the package", Help: requirements},
	{ID: "c8", Text: "The installation must have come to rest", Help: requirements},
	{ID: "c9", Text: "OLM v0 made the Subscription for another operator", Help: requirements},
	{ID: "release", Text: "The release of OLM v1 in the cluster must take the operator",
		Help: "Source: operator-framework/operator-controller, internal/operator-controller/features/features.go."},
	{ID: "unique", Text: "OLM v1 takes no package that two Subscriptions are for", Help: readiness},
}

// requirements is the source of the checks C1 to C10.
const requirements = "Source: operator-framework/library-olm, specs/20260821-migration-v0-to-v1, requirements R3 " +
	"and R4."

// readiness is the source of the one check that the requirements do not have.
const readiness = "Source: operator-framework/library-olm, migration/pkg/migration/readiness.go."

// MigrationFindings returns the checks that have not passed.
func MigrationFindings(all []*Migration) (list []findings.Finding) {
	levels := map[Outcome]findings.Severity{Refused: findings.Error, Acknowledged: findings.Warning,
		Unknown: findings.Note}
	for _, m := range all {
		for _, c := range m.open() {
			f := findings.Finding{Rule: strings.ToLower(c.ID), Level: levels[c.Outcome], Field: c.Field,
				Object: c.Object, Message: m.Namespace + "/" + m.Operator + ": " + c.Name + ": " + c.Message}
			if c.Flag != "" {
				f.Hint = "the migration takes it with " + c.Flag
			}
			list = append(list, f)
		}
	}
	return list
}

// Migrations is what the migration to OLM v1 says about each operator.
type Migrations []*Migration

// JSON returns an object, so that more than the operators has room.
func (all Migrations) JSON() any { return map[string]any{"operators": append([]*Migration{}, all...)} }

// JSONKind returns the kind of the report.
func (Migrations) JSONKind() string { return "MigrationReport" }

// Explained returns the checks that have not passed.
func (all Migrations) Explained() ([]findings.Rule, []findings.Finding) {
	return MigrationRules, MigrationFindings(all)
}

// Document returns the migrations for people: in text a section for each operator, otherwise tables of both.
func (all Migrations) Document() *document.Document {
	d := &document.Document{Kind: "Migration"}
	operators := document.Table{Columns: []document.Column{{Title: "Operator"}, {Title: "Verdict"},
		{Title: "With OLM v1"}, {Title: "Profile plain"}, {Title: "Profile descoped"}}}
	checks := document.Table{Columns: []document.Column{{Title: "Operator"}, {Title: "Outcome"},
		{Title: "Check that has not passed"}}}
	for _, m := range all {
		name := m.Namespace + "/" + m.Operator
		operators.Rows = append(operators.Rows, document.Cells(name, m.Verdict, m.OLMv1.String(), m.Plain, m.Descoped))
		list := document.Table{Columns: []document.Column{{Title: "Outcome", Width: 11}, {Title: "Check", Before: " "}}}
		for _, c := range m.open() {
			list.Rows = append(list.Rows, document.Cells(string(c.Outcome), c.line()))
			checks.Rows = append(checks.Rows, document.Cells(name, string(c.Outcome), c.line()))
		}
		s := document.Section{Title: name + ": " + m.Verdict, Tables: []document.Table{list},
			Formats: []findings.Format{findings.Text}}
		s.Remarks = []document.Remark{{Label: "with OLM v1", Text: m.OLMv1.String()}}
		if m.OLMv1.Remedy != "" {
			s.Remarks = append(s.Remarks, document.Remark{Label: "remedy", Text: m.OLMv1.Remedy})
		}
		if !m.Possible() {
			s.Remarks = append(s.Remarks, document.Remark{Label: "profile plain", Text: m.Plain},
				document.Remark{Label: "profile descoped", Text: m.Descoped})
		}
		d.Sections = append(d.Sections, s)
	}
	filled := lists.Filter([]document.Table{operators, checks}, func(t document.Table) bool { return len(t.Rows) > 0 })
	d.Sections = append(d.Sections, document.Section{
		Formats: []findings.Format{findings.Markdown, findings.HTML}, Tables: filled})
	return d
}

func (m *Migration) open() []Check { return m.with(Refused, Acknowledged, Unknown) }

// title names the check as the migration does: C1 to C10 have a number.
func (c Check) title() string {
	if strings.HasPrefix(c.ID, "C") {
		return c.ID + " " + c.Name
	}
	return c.Name
}

func (c Check) line() string {
	out := c.title() + ": " + c.Message
	if c.Object != "" {
		out += " (" + strings.TrimSpace(c.Object+" "+c.Field) + ")"
	}
	if c.Flag != "" {
		out += ", " + c.Flag
	}
	return out
}

// OpenShift returns the release of OpenShift that a dump says, such as 4.20.3: the newest one that the ClusterVersion
// has completed, or the one that it wants (openshift/api: config/v1, ClusterVersionStatus). It is empty if the dump has
// no ClusterVersion.
func OpenShift(d *dump.Dump) string {
	for _, o := range d.OfKind(dump.ClusterVersion.Kind) {
		status := normalize.At(o.Value(), "status")
		for _, update := range normalize.List(status, "history") { // the newest first
			if version, _ := update["version"].(string); update["state"] == "Completed" && version != "" {
				return version
			}
		}
		if version, _ := normalize.At(status, "desired")["version"].(string); version != "" {
			return version
		}
	}
	return ""
}

// unfit returns the worst of the findings of a rule about an operator under OLM v1, in the releases that are known of
// the cluster; nil if there is none, or if no release is known.
func (s *State) unfit(o *Operator, rule string) *findings.Finding {
	if !s.Target.Known() {
		return nil
	}
	operator := fit.Installed(o.CSV, nil)
	operator.Mode = v1alpha1.InstallModeTypeAllNamespaces // after the migration
	for _, f := range fit.Findings(operator, fit.OLMv1, s.Target) {
		if f.Rule == rule {
			return &f
		}
	}
	return nil
}

// underV1 returns whether an operator works with OLM v1. Of what its bundle ships, the CRDs of the dump and their
// Services count, unless the bundle is given.
func (s *State) underV1(o *Operator) fit.Verdict {
	operator := fit.Operator{CSV: o.CSV, Properties: o.properties(), Namespace: o.Group.Namespace}
	if o.Bundle != nil && !o.Bundle.Partial {
		operator.Bundle, operator.Shipped = o.Bundle, o.Bundle.Shipped()
		verdict, _ := fit.Judge(operator, fit.OLMv1, s.Target)
		return verdict
	}
	for _, d := range o.CSV.Spec.CustomResourceDefinitions.Owned {
		if crd := s.Dump.Get("CustomResourceDefinition", "", d.Name); crd != nil {
			operator.Shipped = append(operator.Shipped, manifest.New(crd.Value()))
		}
	}
	for _, x := range s.Dump.OfKind("Service") {
		if x.Namespace == o.Group.Namespace && len(operator.Shipped) > 0 {
			operator.Shipped = append(operator.Shipped, manifest.New(x.Value()))
		}
	}
	verdict, _ := fit.Judge(operator, fit.OLMv1, s.Target)
	if verdict.Rule == fit.Unseen().Rule {
		verdict.Remedy = "name the bundle with --source " + o.CSV.Name + "=SOURCE"
	}
	return verdict
}

// release is a check beside those of the migration: of what its releases of OLM v1 take, where no other check asks.
func (s *State) release(o *Operator) Check {
	c := check("release", "Release of OLM v1", o.Object, "spec.webhookdefinitions")
	switch f := s.unfit(o, fit.RuleWebhooks.ID); {
	case f == nil:
		return c.result(Passed, "", "%s takes the operator", s.Target)
	case f.Level == findings.Error:
		return c.result(Refused, "", "%s", f.Message)
	default:
		return c.result(Unknown, "", "%s; the dump does not show the gates", f.Message)
	}
}

// releases returns the releases that the file names, as a RenderConfig has them. Without a wish of the user only the
// profiles of OLM v1 are for those of the dump.
func (s *State) releases(to generate.Profile) (olm, openshift string) {
	r := s.Target.Controller
	if to.Installer() == string(fit.OLMv0) {
		r = s.Target.OLM
	}
	if r != nil && to.Installer() != string(fit.Plain) {
		olm = r.Number()
	}
	if r := s.Target.OpenShift; r != nil && (s.Asked || to.Installer() == string(fit.OLMv1)) {
		openshift = fmt.Sprintf("%q", r.Number())
	}
	return olm, openshift
}
