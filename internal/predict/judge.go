package predict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// judgeGroup reports what is wrong with an OperatorGroup: its ServiceAccount, its targets and olm.providedAPIs.
func (sim *simulation) judgeGroup(g *group) {
	switch {
	case g.supposed:
		sim.note(ruleAccount, findings.Note, g.Object, "spec.serviceAccountName", sim.lacking[g.Namespace], "")
	case g.lacksAccount(sim.prediction) && (!g.resolved || len(g.status) == 0):
		sim.note(ruleAccount, findings.Error, g.Object, "spec.serviceAccountName",
			"ServiceAccount "+g.Spec.ServiceAccountName+" not found: OLM waits for it and installs nothing",
			"add it to the namespace")
	case g.lacksAccount(sim.prediction) && sim.dumped[rbacv1.ServiceAccountKind+"/"+g.Namespace]:
		sim.note(ruleAccount, findings.Error, g.Object, "spec.serviceAccountName", // OLM: pkg/lib/scoped/querier.go
			"ServiceAccount "+g.Spec.ServiceAccountName+" not found: every InstallPlan of the namespace fails",
			"add it to the namespace")
	case g.refused != nil:
		sim.note(ruleTargets, findings.Error, g.Object, "spec", g.refused.Error(), "")
	case g.untold():
		sim.note(ruleTargetUnknown, findings.Note, g.Object, "spec.selector",
			"cannot evaluate the selector, so the CSVs of this group are not checked",
			"add the Namespaces with their labels to the tree")
	}
	text := g.Annotations[olm.AnnotationProvidedAPIs]
	static, level := g.Spec.StaticProvidedAPIs, findings.Warning
	if static {
		level = findings.Error
	}
	bad := olm.MalformedAPIs(text)
	for _, item := range bad {
		sim.note(ruleMalformedAPIs, level, g.Object, providedAPIsField, strconv.Quote(item)+" does not name an API",
			"write <Kind>.<version>.<group>")
	}
	if static && len(bad) == 0 && len(parseAPIs(text)) == 0 {
		sim.note(ruleStaticAPIs, findings.Warning, g.Object, "spec.staticProvidedAPIs",
			"a static OperatorGroup without "+olm.AnnotationProvidedAPIs+" protects no API and allows none",
			"list the APIs in the annotation")
	}
	sim.judgeTargets(g)
	sim.judgeMissing(g)
	now := g.annotation()
	if now != nil && *now != text && !g.untold() && g.Has("metadata", "annotations", olm.AnnotationProvidedAPIs) {
		sim.note(ruleDrift, findings.Warning, g.Object, providedAPIsField,
			fmt.Sprintf("%s is %q, OLM changes it to %q", olm.AnnotationProvidedAPIs, text, *now),
			"remove the annotation, or set the value that OLM sets")
	}
}

const providedAPIsField = `metadata.annotations["` + olm.AnnotationProvidedAPIs + `"]`

// say reports something about a CSV.
func (sim *simulation) say(v *csv, rule findings.Rule, level findings.Severity, at, message, hint string) {
	if v.sub != nil {
		at, message = "spec.name", v.Name+": "+message
	}
	sim.note(rule, level, v.where(), at, message, hint)
}

// judgePhase reports what OLM says about the phase of a CSV.
func (sim *simulation) judgePhase(v *csv) {
	say := func(rule findings.Rule, level findings.Severity, at, message, hint string) {
		sim.say(v, rule, level, at, message, hint)
	}
	switch {
	case v.Unusable != nil:
		say(ruleIgnored, findings.Error, "spec.customresourcedefinitions", v.Unusable.Error()+": OLM ignores the CSV",
			"the name of a CRD is <plural>.<group>")
	case v.Copied:
		say(ruleIgnored, findings.Error, "metadata.annotations", fmt.Sprintf("its bundle says that it is a copy from "+
			"namespace %s: OLM installs nothing of it", v.Original), "remove the annotations olm.* from the bundle")
	case v.phase == v1alpha1.CSVPhaseFailed:
		message, at, hint := sim.explain(v)
		if v.problem.Reason == v.reason {
			at = v.problem.Field
			if v.sub != nil {
				message += " (" + at + ")"
			}
		}
		rule := findings.Rule{ID: string(v.reason)}
		if !sim.rules[rule.ID] {
			rule, message = ruleFailed, fmt.Sprintf("%s: %s", v.reason, message)
			if why, see := sim.unready(v); why != "" {
				message, hint = strings.TrimSuffix(message, ".")+": "+why, cmp.Or(hint, see)
			}
		}
		say(rule, findings.Error, at, message, hint)
	case v.reason == v1alpha1.CSVReasonRequirementsNotMet:
		level, hint := findings.Warning, "OLM waits until they are met"
		if sim.waitsForEver(v) {
			level, hint = findings.Error, "serve the version in the CRD: OLM waits for ever"
		} else if s := sim.failedFor(v.Namespace, v.Name); s != nil && v.observed {
			hint = "the InstallPlan that was to make them has failed: see Subscription " + s.Name
		}
		say(findings.Rule{ID: string(v.reason)}, level, "spec",
			strings.Join(slices.Concat([]string{v.message}, sim.requirements(v).unmet, sim.missingServices(v)), "; "),
			hint)
	case v.reason == v1alpha1.CSVReasonOperatorConditionNotUpgradeable && !v.observed:
		say(findings.Rule{ID: string(v.reason)}, findings.Warning, "spec.replaces", v.message,
			"OLM waits; spec.overrides of OperatorCondition "+v.Replaces+" can override it")
	case v.phase == v1alpha1.CSVPhaseInstallReady && !v.observed:
		say(ruleFailed, findings.Error, "spec.webhookdefinitions", fmt.Sprintf("%s: %s: OLM tries again and again",
			v.reason, v.message), "")
	case v.observed && v.phase == v1alpha1.CSVPhaseInstalling:
		why, hint := sim.unready(v)
		say(ruleInstalling, findings.Warning, "status.phase", strings.TrimSuffix(string(v.reason)+": "+
			strings.TrimSuffix(v.message, ".")+": "+why, ": "), hint)
	case len(v.without) > 0:
		level := findings.Warning
		if sim.dumped[rbacv1.ServiceAccountKind+"/"+v.Namespace] { // a cluster says what it has
			level = findings.Error
		}
		for _, p := range v.without {
			say(fit.RuleAccount, level, p.Field, p.Message+", and that is not in the tree: "+install.NoPods, "")
		}
	case v.phase == v1alpha1.CSVPhasePending && !v.observed:
		say(ruleWaiting, findings.Warning, "spec.replaces",
			"waits for "+v.Replaces+", which it replaces and which OLM does not remove",
			"see the findings about "+v.Replaces)
	case v.phase == v1alpha1.CSVPhaseDeleting:
		say(ruleReplaced, findings.Warning, "", v.message+" OLM deletes it", "remove it from the tree")
	}
}

// going returns what is being deleted in a cluster and takes a CSV along, or its API; nil if there is nothing.
func (sim *simulation) going(v *csv) *manifest.Object {
	list := []*manifest.Object{v.where(), sim.Get("", "Namespace", "", v.Namespace)}
	for _, g := range sim.groupsIn[v.Namespace] {
		list = append(list, g.Object)
	}
	for _, d := range v.CRDs.Owned {
		list = append(list, sim.CRD(d.Name))
	}
	return lists.Find(list, func(o *manifest.Object) bool { return o != nil && since(o) != "" })
}

// since returns since when an object of a cluster is being deleted; "" if it is not.
func since(o *manifest.Object) string { return olm.Text(olm.Get(o, "metadata", "deletionTimestamp")) }

// judgeGoing reports what is being deleted and takes a CSV along.
func (sim *simulation) judgeGoing(v *csv, o *manifest.Object) {
	message := "is being deleted since " + since(o)
	if o != v.where() {
		message += ", and ClusterServiceVersion " + v.Namespace + "/" + v.Name + " needs it"
	}
	sim.note(ruleGoing, findings.Error, o, "metadata.deletionTimestamp", message, "")
}

// judgeCSV reports what OLM says about a CSV.
func (sim *simulation) judgeCSV(v *csv) {
	sim.judgePhase(v)
	if v.sub == nil && v.phase == v1alpha1.CSVPhaseSucceeded && !v.observed && !sim.requirements(v).judged {
		sim.say(v, ruleRequirements, findings.Note, "spec",
			"the tree has neither its CRDs nor its ServiceAccounts: its requirements count as met", "")
	}
	if v.typed != nil && v.phase == v1alpha1.CSVPhaseSucceeded {
		for _, p := range install.Unserved(v.typed) {
			sim.say(v, upgrade.RuleDefinition, findings.Warning, p.Field, p.Message+": "+install.NotAsked, "")
		}
	}
	for _, what := range v.unknown {
		sim.note(ruleNotLookedAt, findings.Note, v.where(), "spec", "not looked at: "+what, "")
	}
	sim.judgeDeployments(v)
	for _, key := range groupAnnotations {
		given, ok := v.Annotations[key]
		if made, set := v.ofGroup[key]; ok && set && made != given && len(sim.groupsIn[v.Namespace]) == 1 {
			sim.note(ruleDrift, findings.Warning, v.Object, `metadata.annotations["`+key+`"]`,
				fmt.Sprintf("%s is %q, OLM changes it to %q", key, given, made), "remove the annotation")
		}
	}
	sim.judgeStatus(v)
}

// explain returns the message of a failed CSV with its cause in the tree, the field to look at, and a hint.
func (sim *simulation) explain(v *csv) (message, at, hint string) {
	groups := sim.groupsIn[v.Namespace]
	message = v.message
	switch v.reason {
	case v1alpha1.CSVReasonNoOperatorGroup:
		hint = "add an OperatorGroup to namespace " + v.Namespace
	case v1alpha1.CSVReasonTooManyOperatorGroups:
		message += ": " + names(groups)
		hint = "keep one of them"
	case v1alpha1.CSVReasonNoTargetNamespaces:
		message += ": " + names(groups)
		hint = "label a namespace, or list the target namespaces"
	case v1alpha1.CSVReasonUnsupportedOperatorGroup:
		list := lists.Filter(bundle.InstallModes, func(m v1alpha1.InstallModeType) bool {
			return slices.Contains(v.Modes, v1alpha1.InstallMode{Type: m, Supported: true})
		})
		message += ": " + names(groups)
		at, hint = "spec.installModes", "it supports "+cmp.Or(strings.Join(text.Words(list), ", "), "no install mode")
	case v1alpha1.CSVReasonInvalidInstallModes:
		at = "spec.installModes"
	case v1alpha1.CSVReasonInterOperatorGroupOwnerConflict:
		message += disputed(v)
		hint = "separate the targets of the groups, or keep one operator; until then OLM makes no ClusterRoles for " +
			"users of its APIs, and removes none"
	case v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs:
		if len(v.rivals) > 0 {
			message += disputed(v)
			hint = "separate the targets of the groups, or keep one operator"
			break
		}
		missing := apiSet{}
		for _, g := range groups {
			missing = v.provided.Difference(g.apis)
		}
		message += ": " + names(groups) + " does not list " + listed(missing)
		hint = "list them in " + olm.AnnotationProvidedAPIs
	case v1alpha1.CSVReasonOwnerConflict:
		if other := sim.crdOwner(v); other != nil {
			message += ": " + other.Name
			at, hint = "spec.customresourcedefinitions", "keep one of them, or set spec.replaces"
		} else if other := sim.apiOwner(v); other != nil {
			message += ": ClusterServiceVersion " + other.Namespace + "/" + other.Name + " owns it"
			at, hint = "spec.apiservicedefinitions", "keep one of them"
		} else if why := sim.apiTaken(v); why != "" {
			message += ": " + why
			at, hint = "spec.apiservicedefinitions", "delete the APIService, or serve its version by that or by a CRD"
		}
	}
	return message, at, hint
}

func disputed(v *csv) string {
	if len(v.rivals) == 0 {
		return ""
	}
	return ": " + names(v.rivals) + " has " + strings.Join(sets.List(v.disputed), ", ")
}

func names(groups []*group) string {
	return strings.Join(lists.Map(groups, (*group).Identity), ", ")
}

// judgeStatus compares the prediction with the status that the file has.
func (sim *simulation) judgeStatus(v *csv) {
	if !v.observed {
		return
	}
	phase, _ := v.Get("status", "phase")
	reason, _ := v.Get("status", "reason")
	if reason == nil {
		reason = ""
	}
	if phase != string(v.phase) || reason != string(v.reason) {
		sim.note(ruleStatus, findings.Note, v.Object, "status",
			fmt.Sprintf("the status is %v (%v), OLM would now set %s (%s)", phase, reason, v.phase, v.reason), "")
	}
}

// judgeNames reports groups whose stable role names collide with roles of Kubernetes, of other groups or of the tree.
func (sim *simulation) judgeNames() {
	if release := sim.options.Target.OLM; release != nil {
		if _, hashed := release.Does(versions.HashedRoles); hashed {
			return
		}
	}
	named := lists.Group(sim.groups, func(g *group) string { return g.Name })
	for _, g := range sim.groups {
		same, admin := named[g.Name], g.Name+"-admin"
		if g != same[0] {
			continue
		}
		role := sim.RBAC.Role(rbac.ClusterRole(admin))
		switch {
		case generate.IsDefaultRole(g.Name):
			sim.note(ruleRoleName, findings.Error, g.Object, "metadata.name",
				"its ClusterRole "+admin+" would overwrite a default ClusterRole", "rename the group")
		case role != nil && role.Labels[olm.LabelOwner] != g.Name:
			sim.note(ruleRoleName, findings.Warning, g.Object, "metadata.name",
				"its ClusterRole "+admin+" would overwrite another ClusterRole in the tree", "rename the group")
		}
		if len(same) > 1 {
			level := findings.Note // the OLM of today uses unique names
			if role != nil {
				level = findings.Warning
			}
			others := lists.Map(slices.Delete(slices.Clone(same), 1, 2), (*group).Identity)
			sim.note(ruleRoleName, level, same[1].Object, "metadata.name", "its ClusterRole "+admin+
				" has the same name as that of "+text.FirstOf(3, others), "give each group a unique name")
		}
	}
}

// judgeMissing reports targets that are no namespaces.
func (sim *simulation) judgeMissing(g *group) {
	for i, ns := range g.Spec.TargetNamespaces {
		at := fmt.Sprintf("spec.targetNamespaces[%d]", i)
		switch {
		case ns == allNamespaces: // OLM refuses it
		case ns == "*":
			sim.note(ruleMissing, findings.Error, g.Object, at, "OLM takes * for the name of a namespace",
				"leave the targets out: a group without targets is for all namespaces")
		case len(validation.IsDNS1123Label(ns)) > 0:
			sim.note(ruleMissing, findings.Error, g.Object, at, ns+" cannot be the name of a namespace", "")
		case sim.Declared && sim.Namespaces[ns] == nil:
			level := findings.Warning
			if sim.open {
				level = findings.Note
			}
			sim.note(ruleMissing, level, g.Object, at, "target namespace "+ns+" is not in the tree", "")
		}
	}
}

// judgeCopies reports copied CSVs that OLM deletes, or that show the target namespaces to the users of one of them. The
// copies of a CSV are one finding. Those of a release that OLM updates go with it, and a dump may lack the namespace of
// the original.
func (sim *simulation) judgeCopies() {
	gone, untargeted := map[[2]string][]*csv{}, map[[2]string][]*csv{} // by namespace and name of the original
	for _, v := range sim.copied {
		if targets, ok := v.Annotations[olm.AnnotationTargets]; ok { // OLM: operatorgroup.go, copyToNamespace
			sim.note(ruleLeak, findings.Warning, v.Object, `metadata.annotations["`+olm.AnnotationTargets+`"]`,
				fmt.Sprintf("a copied CSV shows the target namespaces %q to the users of namespace %s", targets,
					v.Namespace), "remove it from the tree")
		}
		original := [2]string{v.Original, v.Name}
		dumped := v.observed && len(sim.groupsIn[v.Original])+len(sim.csvsIn[v.Original]) == 0
		unknown := slices.ContainsFunc(sim.groupsIn[v.Original], (*group).untold)
		switch source := sim.inNamespace(v.Original, v.Name); {
		case source == nil && len(sim.called[original]) == 0 && !dumped:
			gone[original] = append(gone[original], v)
		case source != nil && source.phase != v1alpha1.CSVPhaseNone && !unknown &&
			!slices.Contains(sim.copies(source), v.Namespace):
			untargeted[original] = append(untargeted[original], v)
		}
	}
	say := func(list []*csv, why string) {
		if n := len(list) - 1; n > 0 {
			why += fmt.Sprintf(", and those of %s", text.FirstOf(3, lists.Map(list[1:],
				func(v *csv) string { return "namespace " + v.Namespace })))
		}
		sim.note(ruleCopied, findings.Warning, list[0].Object, "", why, "remove it from the tree")
	}
	for _, list := range gone {
		say(list, "a copy of a CSV that namespace "+cmp.Or(list[0].Original, `""`)+" does not have: OLM deletes it")
	}
	for _, list := range untargeted {
		say(list, "a copy of a CSV of namespace "+list[0].Original+", whose group does not target namespace "+
			list[0].Namespace+": OLM deletes it")
	}
}

// judgeOwners reports CRDs that have two owners and that OLM does not report.
func (sim *simulation) judgeOwners() {
	owners := map[string][]*csv{}
	for _, v := range sim.csvs {
		if v.deleted || v.reason == v1alpha1.CSVReasonOwnerConflict ||
			v.reason == v1alpha1.CSVReasonInterOperatorGroupOwnerConflict {
			continue
		}
		shared := map[*csv][]string{}
		mine := map[string]bool{}
		for _, d := range v.CRDs.Owned {
			if mine[d.Name] || sim.shared[d.Name] {
				continue
			}
			mine[d.Name] = true
			for _, other := range owners[d.Name] {
				if v.Namespace != other.Namespace || v.Replaces != other.Name && other.Replaces != v.Name {
					shared[other] = append(shared[other], d.Name)
					break // report the first owner only
				}
			}
			owners[d.Name] = append(owners[d.Name], v)
		}
		for _, other := range slices.SortedFunc(maps.Keys(shared),
			func(a, b *csv) int { return a.Order(b.Ordered) }) {
			level := findings.Warning
			if other.Name == v.Name {
				level = findings.Note // the same version of the same operator
			}
			sim.note(ruleOwners, level, v.where(), "spec.customresourcedefinitions", fmt.Sprintf(
				"owns %s, as does ClusterServiceVersion %s/%s", text.FirstOf(3, shared[other]), other.Namespace,
				other.Name), "")
		}
	}
}

// judgeNothing reports a tree in which there is nothing to predict, and what nothing reads any more.
func (c *prediction) judgeNothing() {
	for _, o := range c.objects {
		if o.Group() == olm.Group && o.Kind == "OperatorSource" {
			c.note(ruleOperatorSource, findings.Warning, o, "", "nothing reads OperatorSources since OpenShift 4.6",
				"write a CatalogSource")
		}
	}
	relevant := func(o *manifest.Object) bool {
		return o.Group() == olm.Group || o.Group() == olm.GroupV1 || o.Group() == "apiextensions.k8s.io"
	}
	if len(c.objects) > 0 && len(c.Policies) == 0 && !slices.ContainsFunc(c.objects, relevant) {
		c.report(ruleNothing, findings.Warning,
			&manifest.Error{Msg: "the tree has no objects of OLM", Tip: "check the paths"}, "")
	}
}

// judgeTargets reports a second group of a namespace, and targets that OLM ignores or plans to remove.
func (sim *simulation) judgeTargets(g *group) {
	if first := sim.groupsIn[g.Namespace][0]; first != g {
		sim.note(ruleSeveralGroups, findings.Error, g.Object, "metadata.name",
			fmt.Sprintf("namespace %s also has OperatorGroup %s: OLM installs nothing there", g.Namespace, first.Name),
			"keep one of them")
	}
	t := olm.TargetsOf(&g.Spec)
	if len(t.Names) > 0 && t.Selector != nil && len(t.Selector.MatchLabels)+len(t.Selector.MatchExpressions) > 0 {
		sim.note(ruleSelectorIgnored, findings.Warning, g.Object, "spec.selector",
			"OLM ignores the selector because of targetNamespaces", "remove one of them")
	}
	field := "spec.targetNamespaces"
	if t.BySelector() {
		field = "spec.selector"
	}
	switch {
	case t.BySelector() && !g.unknown && g.refused == nil && len(g.targets)+len(g.status) == 0:
		sim.note(ruleSelectsNone, findings.Note, g.Object, field, "no namespace has the labels of the selector",
			"label a namespace, or list the target namespaces")
	case t.BySelector(), len(t.Names) > 1:
		sim.note(ruleSeveralTargets, findings.Note, g.Object, field,
			"several target namespaces are not recommended: OLM may drop the support for them", "")
	}
}

// judgeSubscriptions reports Subscriptions that OLM installs nothing for.
func (sim *simulation) judgeSubscriptions() {
	judged := map[*world.Subscription]bool{} // by the update
	for _, p := range sim.plans {
		for _, u := range p.updates {
			judged[u.sub] = true
		}
	}
	for _, s := range sim.Subscriptions {
		// a CSV without group is an error of its own
		if len(sim.groupsIn[s.Namespace])+len(sim.csvsIn[s.Namespace]) == 0 && sim.lacking[s.Namespace] == "" {
			sim.note(ruleNoGroup, findings.Error, s.Object, "metadata.namespace",
				"namespace "+s.Namespace+" has no OperatorGroup: OLM installs nothing there",
				"add one, or check its path too")
		}
		phase := sim.PlanPhase(s)
		said := phase == v1alpha1.InstallPlanPhaseRequiresApproval || phase == v1alpha1.InstallPlanPhaseFailed &&
			sim.PlanSays(s) != ""
		if s.InstalledCSV != "" && s.CurrentCSV != "" && sim.inNamespace(s.Namespace, s.CurrentCSV) == nil &&
			s.CurrentCSV != s.InstalledCSV && !judged[s] && !said {
			sim.note(ruleNewer, findings.Note, s.Object, "status.currentCSV",
				"a newer version waits: "+s.CurrentCSV+" is to follow "+s.InstalledCSV,
				"approve its InstallPlan, or see why it fails")
		}
	}
}

// judgeDeployments reports Deployments that OLM deletes for a conflict of groups (operator.go, cleanupCSVDeployments).
func (sim *simulation) judgeDeployments(v *csv) {
	if v.reason != v1alpha1.CSVReasonInterOperatorGroupOwnerConflict &&
		v.reason != v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs {
		return
	}
	for _, name := range v.deployments() {
		if d := sim.Deployments[v.Namespace+"/"+name]; d != nil {
			sim.note(ruleDeployment, findings.Warning, d, "",
				"OLM deletes this Deployment, because ClusterServiceVersion "+v.Name+" has failed: "+string(v.reason),
				"")
		}
	}
}

// definition is what a CRD of the tree says about its API.
type definition struct {
	*manifest.Object
	of olm.Kind
}

// crds returns the CRDs of the tree, sorted by name.
func (c *prediction) crds() []*manifest.Object {
	return lists.Map(lists.Keys(c.CRDs), func(name string) *manifest.Object { return c.CRDs[name] })
}

// definitions returns the CRDs of the tree, and others, by group/kind of the objects that they define.
func (c *prediction) definitions(others ...*manifest.Object) map[string]definition {
	list := map[string]definition{}
	for _, crd := range append(others, c.crds()...) {
		k, _ := olm.DefinedKind(crd) // of another type than the API server takes: judgeFields says so
		list[k.Group+"/"+k.Name] = definition{crd, k}
	}
	return list
}
