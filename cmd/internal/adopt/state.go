package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// State is what OLM v0 runs in a cluster.
type State struct {
	Dump     *dump.Dump
	Groups   []*Group // sorted by namespace
	Findings []findings.Finding
	Waiting  []string // a comment about each Subscription that has installed nothing
	// the releases in the cluster, which the checks of the migration and the file are for; what is not known is nil
	Target fit.Cluster
	Asked  bool // Target is what somebody asked for, not what the dump says

	choice        Selection
	installed     []*Operator                  // of all groups
	replaced      map[string][]*dump.Object    // CSVs, by the name of the one that is about to replace them
	replacing     map[[2]string][]*dump.Object // CSVs by their namespace and what they replace; nil: not asked for yet
	subscriptions []*subscription
	installPlans  []installPlan
	catalogs      map[string]*v1alpha1.CatalogSource // by namespace/name
}

// Group is an OperatorGroup and the operators in its namespace.
type Group struct {
	*operatorsv1.OperatorGroup
	Object    *dump.Object
	Targets   []string // that OLM resolved, sorted; [""] are all namespaces
	Copies    []string // namespaces with copied CSVs, sorted
	Operators []*Operator
	Others    []*Operator // that stay with OLM whatever happens to Operators
	Waiting   []string    // Subscriptions that have installed none of them
}

// Global reports whether the group is for all namespaces.
func (g *Group) Global() bool { return len(g.Targets) == 1 && g.Targets[0] == "" }

// Operator is an installed operator.
type Operator struct {
	CSV          *v1alpha1.ClusterServiceVersion
	Object       *dump.Object
	Group        *Group
	Package      string
	Subscription *v1alpha1.Subscription  // nil if there is none
	Catalog      *v1alpha1.CatalogSource // nil if it is unknown
	Properties   string                  // the annotation; "" if there is none
	Image        string                  // of the bundle; "" if it is unknown
	ImageFrom    string                  // where Image is from
	LookedUp     string                  // namespace/name of the CatalogSource that Image is from
	Webhooks     map[string]any          // the names of its webhook configurations, by generateName
	Bundle       *bundle.Bundle          // of a given source; nil if there is none
	Earlier      []string                // CSVs that InstallPlans had installed before, as far as they are known
	Refused      string                  // why it is not adopted; "" if it is
}

// Version returns the version of the operator.
func (o *Operator) Version() string { return o.CSV.Spec.Version.String() }

type subscription struct {
	*v1alpha1.Subscription
	object *dump.Object
}

// Read finds the operators in a dump. State.Findings has what is odd. The error is about an object not of its API.
func Read(d *dump.Dump) (*State, error) {
	s := &State{Dump: d, catalogs: map[string]*v1alpha1.CatalogSource{}, replaced: map[string][]*dump.Object{}}
	s.checkDump()
	for _, o := range d.OfKind("Subscription") {
		sub := &v1alpha1.Subscription{}
		if err := o.Decode(sub); err != nil {
			return nil, err
		}
		if sub.Spec == nil {
			sub.Spec = &v1alpha1.SubscriptionSpec{}
		}
		s.subscriptions = append(s.subscriptions, &subscription{sub, o})
	}
	for _, o := range d.OfKind("CatalogSource") {
		c := &v1alpha1.CatalogSource{}
		if err := o.Decode(c); err != nil {
			return nil, err
		}
		s.catalogs[o.Namespace+"/"+o.Name] = c
	}
	groups := map[string]*Group{}
	for _, o := range d.OfKind("OperatorGroup") {
		g := &Group{OperatorGroup: &operatorsv1.OperatorGroup{}, Object: o}
		if err := o.Decode(g.OperatorGroup); err != nil {
			return nil, err
		}
		if first := groups[o.Namespace]; first != nil {
			s.report("several-groups", findings.Error, o, "",
				"namespace "+o.Namespace+" has OperatorGroup "+first.Name+" too: OLM installs nothing there",
				"remove one of them, then adopt")
			continue
		}
		g.Targets = g.targets()
		groups[o.Namespace] = g
	}
	if err := s.operators(groups); err != nil {
		return nil, err
	}
	if err := s.plans(); err != nil {
		return nil, err
	}
	for _, o := range s.All() {
		s.checkOperator(o)
	}
	s.checkTargets()
	s.checkCRDs()
	findings.Sort(s.Findings)
	return s, nil
}

// FindingsWith returns the findings without those that given sources of bundles answer, by package or by CSV. It leaves
// out those about operators that were not chosen and about other namespaces, unless all are chosen.
func (s *State) FindingsWith(sources map[string]string) []findings.Finding {
	known, left := map[string]bool{}, map[string]bool{}
	for _, o := range s.All() {
		known[o.Object.Identity()] = sources[o.SourceIn(sources)] != ""
	}
	if namespaces := s.choice.namespaces(s.every()); namespaces != nil {
		for _, o := range s.Dump.Objects {
			left[o.Identity()] = !namespaces[o.Namespace]
		}
	}
	for _, o := range s.notAdopted() {
		left[o.Object.Identity()] = o.Refused == "" || !s.choice.has(o)
	}
	return lists.Filter(s.Findings, func(f findings.Finding) bool {
		return !left[f.Object] && (!known[f.Object] || f.Rule != "unknown-source" && f.Rule != "tag")
	})
}

// FindingsBeside returns the findings that a comparison of the adopted operators needs, and those about all else, which
// the comparison lists as left out.
func (s *State) FindingsBeside() (own, others []findings.Finding) {
	about := map[string]bool{"": true} // the dump
	for _, o := range s.All() {
		about[o.Object.Identity()], about[o.Group.Object.Identity()] = true, true
	}
	for _, f := range s.Findings {
		switch answered := []string{"unknown-source", "tag", "no-subscription"}; {
		case slices.Contains(answered, f.Rule):
		case about[f.Object]:
			own = append(own, f)
		default:
			others = append(others, f)
		}
	}
	return own, others
}

// targets returns what OLM resolved; where it has not, what the spec names.
func (g *Group) targets() []string {
	targets := g.Status.Namespaces
	if len(targets) == 0 {
		targets = g.Spec.TargetNamespaces
	}
	if len(targets) == 0 && olm.TargetsOf(&g.Spec).Global() {
		return []string{""}
	}
	return slices.Sorted(slices.Values(targets))
}

func (s *State) operators(groups map[string]*Group) error {
	copies := map[string][]string{} // namespaces by source namespace and CSV
	own := map[string]bool{}        // namespaces with an operator of OLM itself
	for _, object := range s.Dump.OfKind("ClusterServiceVersion") {
		if from, copied := object.Copied(); copied {
			copies[from+"/"+object.Name] = append(copies[from+"/"+object.Name], object.Namespace)
			continue
		}
		csv := &v1alpha1.ClusterServiceVersion{}
		if err := object.Decode(csv); err != nil {
			return err
		}
		g := groups[object.Namespace]
		// OLM's own extension API server for PackageManifests, which OLM installs and repairs by itself (OLM:
		// pkg/package-server; deploy/chart/templates, 0000_50_olm_15-packageserver)
		packages := func(a v1alpha1.APIServiceDescription) bool { return a.Group == olm.GroupPackages }
		if slices.ContainsFunc(csv.Spec.APIServiceDefinitions.Owned, packages) {
			s.report("packageserver", findings.Note, object, "", "it is OLM's own, and stays with OLM", "")
			own[object.Namespace] = true
			continue
		}
		if g == nil {
			s.report("no-group", findings.Error, object, "",
				"namespace "+object.Namespace+" has no OperatorGroup in the dump, so the CSV is left out",
				"dump OperatorGroups too; OLM runs no operator without one")
			continue
		}
		o := &Operator{CSV: csv, Object: object, Group: g, Properties: object.Annotations[olm.AnnotationProperties]}
		o.Subscription = s.subscriptionOf(object)
		o.Package = s.packageOf(o)
		if by := s.replacedBy(object, csv); by != "" {
			s.report("replaced", findings.Warning, object, "",
				"ClusterServiceVersion "+by+" is about to replace it, so it is left out",
				"dump again when the upgrade is done")
			s.replaced[by] = append(s.replaced[by], object)
			continue
		}
		if sub := o.Subscription; sub != nil {
			o.Catalog = s.catalogs[sub.Spec.CatalogSourceNamespace+"/"+sub.Spec.CatalogSource]
		}
		o.Webhooks = s.webhooks(object)
		s.installed = append(s.installed, o)
		if o.Refused = o.refusal(); o.Refused != "" {
			s.reportRefused(o)
			g.Others = append(g.Others, o)
			continue
		}
		g.Operators = append(g.Operators, o)
	}
	s.waiting(groups)
	s.keepGroups(groups, copies, own)
	return nil
}

// keepGroups keeps groups with operators, with the namespaces of their copied CSVs; own are those of OLM itself.
func (s *State) keepGroups(groups map[string]*Group, copies map[string][]string, own map[string]bool) {
	for _, ns := range lists.Keys(groups) {
		g := groups[ns]
		switch {
		case len(g.Operators)+len(g.Others) > 0:
			for _, o := range g.Operators {
				g.Copies = append(g.Copies, copies[ns+"/"+o.CSV.Name]...)
			}
			g.Copies = lists.SortedUnique(g.Copies)
			s.Groups = append(s.Groups, g)
		case !own[ns] && len(g.Waiting) == 0:
			s.report("empty-group", findings.Note, g.Object, "", "has no operator, so it is left out", "")
		}
	}
}

// subscriptionOf returns the Subscription that installed a CSV, or that is about to.
func (s *State) subscriptionOf(csv *dump.Object) (next *v1alpha1.Subscription) {
	for _, sub := range s.subscriptions {
		switch {
		case sub.object.Namespace != csv.Namespace:
		case sub.Status.InstalledCSV == csv.Name:
			return sub.Subscription
		case sub.Status.CurrentCSV == csv.Name:
			next = cmp.Or(next, sub.Subscription)
		}
	}
	return next
}

// packageOf returns the package of an operator: that of its Subscription, of its properties, of the label that OLM
// gives the components of an operator, or what stands before the version in its name.
func (s *State) packageOf(o *Operator) string {
	if o.Subscription != nil {
		return o.Subscription.Spec.Package
	}
	for _, p := range o.properties() {
		var value struct {
			PackageName string `json:"packageName"`
		}
		if p.Type == olm.PropertyPackage && json.Unmarshal(p.Value, &value) == nil && value.PackageName != "" {
			return value.PackageName
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Object.Labels)) {
		name, ok := strings.CutPrefix(key, olm.LabelComponent)
		if name, found := strings.CutSuffix(name, "."+o.Object.Namespace); ok && found {
			return name
		}
	}
	return olm.BaseName(o.CSV.Name, "")
}

// properties returns the properties of an operator; none if the annotation is not readable.
func (o *Operator) properties() []bundle.Property {
	list, _ := bundle.ParseProperties(o.Properties)
	return list
}

func (s *State) replacedBy(object *dump.Object, csv *v1alpha1.ClusterServiceVersion) string {
	sub := s.subscriptionOf(object)
	if csv.Status.Phase == v1alpha1.CSVPhaseSucceeded && sub != nil && (sub.Status.CurrentCSV == object.Name ||
		s.Dump.Get("ClusterServiceVersion", object.Namespace, sub.Status.CurrentCSV) == nil) {
		return "" // the Subscription has installed no other one in the meantime
	}
	if s.replacing == nil {
		s.replacing = lists.Group(s.Dump.OfKind("ClusterServiceVersion"), func(other *dump.Object) [2]string {
			replaces, _ := normalize.At(other.Value(), "spec")["replaces"].(string)
			return [2]string{other.Namespace, replaces}
		})
	}
	for _, other := range s.replacing[[2]string{object.Namespace, object.Name}] {
		if _, copied := other.Copied(); !copied && other.Name != object.Name {
			return other.Name
		}
	}
	return ""
}

// webhooks returns the names of the webhook configurations that OLM made for a CSV.
func (s *State) webhooks(csv *dump.Object) map[string]any {
	names := map[string]any{}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		for _, o := range s.Dump.OfKind(kind) {
			generated := o.Labels[olm.LabelWebhookName]
			if generated != "" && o.Labels[olm.LabelOwner] == csv.Name &&
				o.Labels[olm.LabelOwnerNamespace] == csv.Namespace {
				names[generated] = o.Name
			}
		}
	}
	return names
}

func (s *State) report(rule string, level findings.Severity, o *dump.Object, field, message, hint string) {
	s.Findings = append(s.Findings, findings.Finding{Rule: rule, Level: level, File: o.File, Line: o.Line,
		Object: o.Identity(), Field: field, Message: message, Hint: hint})
}

func (s *State) checkDump() {
	if missing := s.Dump.Missing(); len(missing) > 0 {
		level := findings.Note
		if slices.ContainsFunc(missing, func(k dump.Kind) bool { return k.Needed }) {
			level = findings.Warning
		}
		kinds := lists.Map(missing, func(k dump.Kind) string { return k.Kind })
		s.Findings = append(s.Findings, findings.Finding{Rule: "missing-kinds", Level: level,
			Message: "the dump has no " + text.Or(kinds), Hint: "add the output of: " + dump.Command(missing...)})
	}
	if s.Dump.Secrets > 0 {
		s.Findings = append(s.Findings, findings.Finding{Rule: "secrets", Level: findings.Warning,
			Message: fmt.Sprintf("the dump has %s, of which nothing is read", text.Count(s.Dump.Secrets, "Secret")),
			Hint:    "do not commit it; a dump needs no Secrets"})
	}
}

// lacks reports whether the dump has namespaces, and not this one.
func (s *State) lacks(namespace string) bool {
	return namespace != "" && s.Dump.Has("Namespace") && s.Dump.Get("Namespace", "", namespace) == nil
}

func (s *State) checkTargets() {
	for _, g := range s.Groups {
		if gone := lists.Filter(g.Targets, s.lacks); len(gone) > 0 {
			s.report("no-namespace", findings.Warning, g.Object, "spec.targetNamespaces", "targets "+text.And(gone)+
				", which the dump does not have: the API server refuses what is rendered there",
				"make the namespace, or take it out of the group, and dump again")
		}
	}
}

func (s *State) checkOperator(o *Operator) {
	if o.CSV.Status.Phase != v1alpha1.CSVPhaseSucceeded {
		s.report("not-succeeded", findings.Warning, o.Object, "status.phase",
			"the CSV is "+o.state()+", so objects may be missing in the cluster",
			"repair the installation first, and dump again")
	}
	if o.Subscription == nil {
		s.report("no-subscription", findings.Note, o.Object, "",
			"no Subscription of the dump has installed it, so its channel and its catalog are unknown", "")
	}
	if gone := s.catalogGone(o); gone != "" {
		s.report("no-catalog", findings.Warning, o.Object, "", gone, "name the CatalogSource that has the package now")
	}
	switch {
	case o.Image == "":
		s.report("unknown-source", findings.Note, o.Object, "",
			"the dump does not say which image the bundle came from: no InstallPlan with a lookup of it is left",
			"name it on the command line, or edit the file that is written; that says how to find it")
	case !strings.Contains(o.Image, "@"):
		s.report("tag", findings.Note, o.Object, "", "the image of the bundle, "+o.Image+", is known by its tag only",
			"write its digest into the file: crane digest "+o.Image)
	}
}

// catalogGone returns why the CatalogSource of an operator counts as gone; "" if it is there or nothing is known of it.
func (s *State) catalogGone(o *Operator) string {
	if o.Subscription == nil || o.Catalog != nil || !s.Dump.Has(v1alpha1.CatalogSourceKind) {
		return ""
	}
	return oneLine("CatalogSource " + o.Subscription.Spec.CatalogSourceNamespace + "/" +
		o.Subscription.Spec.CatalogSource + ", which its Subscription names, is gone: OLM can't upgrade the operator")
}

// For returns the state in which the operators are refused that cannot be in a form: a Subscription in Git needs its
// catalog, without which OLM resolves nothing in the namespace, and must own its CSV (OLM:
// pkg/controller/registry/resolver/variable_types.go); what leaves OLM v0 must not be in OLM v1 already.
func (s *State) For(to generate.Profile) *State {
	for _, o := range s.All() {
		why := ""
		switch to {
		case generate.ProfileSubscription:
			if why = s.catalogGone(o); o.Subscription == nil {
				why = "no Subscription of the dump has installed it, and OLM refuses a new one for its package as " +
					"long as the CSV is there (ConstraintsNotSatisfiable)"
			}
		case generate.ProfileOLM:
		default:
			why = s.alreadyInV1(o, to)
		}
		if why != "" {
			s = s.Refuse(o, why)
		}
	}
	return s
}

// alreadyInV1 returns which object of OLM v1 in the dump is for the package of an operator, or has the name that its
// ClusterExtension would get; "" if there is none.
func (s *State) alreadyInV1(o *Operator, to generate.Profile) string {
	names := []string{o.Package}
	if o.Subscription != nil {
		names = append(names, o.Subscription.Name)
	}
	for _, x := range slices.Concat(s.Dump.OfKind(olm.KindClusterExtension), s.Dump.OfKind("ClusterObjectSet")) {
		pkg := normalize.At(x.Value(), "spec", "source", "catalog")["packageName"]
		named := slices.Contains(names, x.Name) || slices.Contains(names, x.Labels[olm.LabelOwnerV1])
		if pkg == o.Package || named && (pkg == nil || to == generate.ProfileClusterExtension) {
			return oneLine(x.Identity() + " is already there for the same package: OLM v1 has it, or somebody is " +
				"about to hand it over")
		}
	}
	return ""
}

// Rules explain the findings of Read.
var Rules = []findings.Rule{
	{ID: "empty-group", Text: "An OperatorGroup without operators is not adopted"},
	{ID: "missing-kinds", Text: "The dump lacks kinds that are needed to find or to compare operators"},
	{ID: "no-catalog", Text: "The CatalogSource of a Subscription is gone"},
	{ID: "no-csv", Text: "A Subscription that has installed nothing is not adopted"},
	{ID: "no-group", Text: "A CSV whose namespace has no OperatorGroup is not adopted"},
	{ID: "no-namespace", Text: "A namespace that an OperatorGroup targets is not in the dump"},
	{ID: "no-subscription", Text: "Nobody knows the channel and the catalog of a CSV without Subscription"},
	{ID: "not-succeeded", Text: "An installation that has not succeeded may be incomplete"},
	{ID: "orphaned-crd", Text: "A CRD of an operator that is gone is not adopted"},
	{ID: "packageserver", Text: "OLM's own packageserver stays with OLM"},
	{ID: "refused", Text: "OLM does not run the operator, or it cannot be rendered, so it is not adopted"},
	{ID: "replaced", Text: "A CSV that is about to be replaced is not adopted"},
	{ID: "second-subscription", Text: "Of two Subscriptions that are for the same operator, one is adopted"},
	{ID: "secrets", Text: "The dump has Secrets, which are not needed"},
	{ID: "several-groups", Text: "OLM installs nothing in a namespace with two OperatorGroups"},
	{ID: "tag", Text: "A tag can be moved to another image"},
	{ID: "unknown-source", Text: "The image of a bundle is not in the dump"},
}

// installPlan is what is kept of an InstallPlan.
type installPlan struct {
	*dump.Object
	names []string // of the CSVs that it installs
	phase v1alpha1.InstallPlanPhase
	said  string // the phase, and what OLM says about it
}

// plans reads the InstallPlans, and finds the images of bundles, and earlier versions, in them.
func (s *State) plans() error {
	for _, object := range s.Dump.OfKind("InstallPlan") {
		plan := &v1alpha1.InstallPlan{}
		if err := object.Decode(plan); err != nil {
			return err
		}
		s.installPlans = append(s.installPlans,
			installPlan{object, plan.Spec.ClusterServiceVersionNames, plan.Status.Phase, said(plan)})
		for _, o := range s.All() {
			if o.Group.Namespace == object.Namespace {
				for _, lookup := range plan.Status.BundleLookups {
					o.bundle(lookup, object)
				}
				o.earlier(plan, s)
			}
		}
	}
	for _, o := range s.All() {
		o.Earlier = lists.SortedUnique(o.Earlier)
	}
	return nil
}

// bundle notes where a bundle came from. An image by digest is better than one by tag.
func (o *Operator) bundle(lookup v1alpha1.BundleLookup, plan *dump.Object) {
	better := o.Image == "" || !strings.Contains(o.Image, "@") && strings.Contains(lookup.Path, "@")
	if o.CSV.Name == lookup.Identifier && lookup.Path != "" && better {
		o.Image, o.ImageFrom = lookup.Path, "status.bundleLookups of "+plan.Identity()
		if from := lookup.CatalogSourceRef; from != nil {
			o.LookedUp = from.Namespace + "/" + from.Name
		}
	}
}

// earlier notes CSVs of the same name that a plan had installed and that are gone. OLM leaves objects of theirs behind.
func (o *Operator) earlier(plan *v1alpha1.InstallPlan, s *State) {
	base := olm.BaseName(o.CSV.Name, "")
	for _, name := range plan.Spec.ClusterServiceVersionNames {
		if olm.BaseName(name, "") == base && s.Dump.Get("ClusterServiceVersion", plan.Namespace, name) == nil {
			o.Earlier = append(o.Earlier, name)
		}
	}
	if r := o.CSV.Spec.Replaces; r != "" && s.Dump.Get("ClusterServiceVersion", plan.Namespace, r) == nil {
		o.Earlier = append(o.Earlier, r)
	}
}
