package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/installer"
	"github.com/olmgen/olmgen/internal/netpol"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// dumpedKinds returns the kinds of which the objects of a cluster have one that the API server or a controller has
// written, as kind/namespace: ServiceAccounts and CustomResourceDefinitions. Of the others Git has objects, too.
func dumpedKinds(w *world.World) map[string]bool {
	kinds := map[string]bool{}
	for o := range w.All() {
		key := o.Kind + "/" + o.Namespace
		if !kinds[key] && (o.Kind == rbacv1.ServiceAccountKind || o.Kind == kindCRD) {
			written := func(field string) bool { return o.Has("metadata", field) }
			kinds[key] = o.Has("status") || slices.ContainsFunc([]string{"uid", "creationTimestamp", "ownerReferences"},
				written)
		}
	}
	return kinds
}

const kindCRD = "CustomResourceDefinition"

// visible says which requirements of a CSV the tree shows. What it does not show counts as met.
type visible struct{ crds, accounts, namespaced, clusterWide bool }

// shows returns what the tree shows of the requirements of a CSV. OLM installs the CSV of a Subscription together with
// what it needs, as far as its InstallPlan gets. A tree of Git has all of a CSV, or nothing: CRDs and ServiceAccounts.
// A dump has the kinds that somebody asked for: one that it lacks is not missing in the cluster. A CSV without
// Deployments is what a catalog says of it (olm.csv.metadata), after a play. Each namespace has a ServiceAccount. Where
// the group is global, OLM makes ClusterRoles for what a CSV may do in its namespace, too (OLM:
// pkg/controller/operators/olm/operatorgroup.go, ensureSingletonRBAC).
func (c *prediction) shows(v *csv, accounts []string) visible {
	if v.sub != nil {
		return visible{v.whole(), v.whole(), v.whole(), v.whole()}
	}
	crds := slices.Concat(v.CRDs.Owned, v.CRDs.Required)
	hasCRD := slices.ContainsFunc(crds, func(d v1alpha1.CRDDescription) bool { return c.CRD(d.Name) != nil })
	hasAccount := slices.ContainsFunc(accounts, func(a string) bool {
		return a != "default" && c.RBAC.Exists(rbac.Account{Namespace: v.Namespace, Name: a})
	})
	if !v.observed {
		all := hasCRD || hasAccount || len(crds)+len(accounts) == 0
		return visible{all, all, all, all}
	}
	if len(v.deployments()) == 0 {
		return visible{}
	}
	has := func(namespace string) bool {
		return slices.ContainsFunc(c.RBAC.Roles, func(r *rbac.Role) bool { return r.Namespace == namespace }) ||
			slices.ContainsFunc(c.RBAC.Bindings, func(b *rbac.Binding) bool { return b.Namespace == namespace })
	}
	wide := has("")
	return visible{
		crds:        hasCRD || c.dumped[kindCRD+"/"],
		accounts:    hasAccount || c.dumped[rbacv1.ServiceAccountKind+"/"+v.Namespace],
		namespaced:  has(v.Namespace) || wide && v.ofGroup[olm.AnnotationTargets] == allNamespaces,
		clusterWide: wide,
	}
}

// needs holds the requirements of a CSV.
type needs struct {
	unmet  []string // what the tree does not have
	judged bool     // the tree shows whether they are met
	err    error    // why OLM rejects the CSV
}

// requirements returns the requirements of a CSV and caches them (OLM: pkg/controller/operators/olm/requirements.go).
// Requirements that only a cluster knows count as met. Required APIServices change during the simulation: see
// missingServices.
func (c *prediction) requirements(v *csv) *needs {
	if v.needs == nil {
		v.needs = &needs{}
		v.needs.unmet, v.needs.judged, v.needs.err = c.require(v)
	}
	return v.needs
}

// require is requirements without the cache.
func (c *prediction) require(v *csv) (unmet []string, judged bool, err error) {
	var strategy string
	var namespaced, clusterWide []v1alpha1.StrategyDeploymentPermissions
	for _, e := range []*manifest.Error{
		v.Field(&strategy, "spec", "install", "strategy"),
		v.Field(&namespaced, "spec", "install", "spec", "permissions"),
		v.Field(&clusterWide, "spec", "install", "spec", "clusterPermissions"),
	} {
		if e != nil {
			return nil, false, e
		}
	}
	if strategy != "" && strategy != v1alpha1.InstallStrategyNameDeployment {
		return nil, false, errors.New("unrecognized install strategy")
	}
	var accounts []string
	for _, p := range slices.Concat(namespaced, clusterWide) {
		accounts = append(accounts, p.ServiceAccountName)
		for _, rule := range p.Rules {
			if msg := install.PermissionRule(rule); msg != "" {
				return nil, false, errors.New(msg)
			}
		}
	}
	switch why, err := c.options.Target.MinKube(olm.Text(olm.Get(v.Object, "spec", "minKubeVersion"))); {
	case err != nil:
		unmet = []string{"spec.minKubeVersion: " + err.Error()}
	case why != "":
		unmet = []string{"spec.minKubeVersion: " + why}
	}
	shows := c.shows(v, accounts)
	if shows == (visible{}) {
		return unmet, len(unmet) > 0, nil
	}
	if shows.crds {
		unmet = append(unmet, c.missingCRDs(v)...)
	}
	for _, p := range v.services() {
		if p.Reason == v1alpha1.CSVReasonRequirementsNotMet {
			unmet = append(unmet, p.Message)
		}
	}
	if !shows.namespaced {
		withoutRules(namespaced)
	}
	if !shows.clusterWide {
		withoutRules(clusterWide)
	}
	unmet = append(unmet, c.missingNatives(v)...)
	return append(unmet, c.missingAccounts(v, namespaced, clusterWide, shows.accounts)...), true, nil
}

// missingNatives returns the APIs of spec.nativeAPIs that the cluster does not serve.
func (c *prediction) missingNatives(v *csv) (unmet []string) {
	var native []metav1.GroupVersionKind
	_ = v.Field(&native, "spec", "nativeAPIs") // what cannot be read is refused already
	for _, k := range native {
		gv := schema.GroupVersion{Group: k.Group, Version: k.Version}.String()
		asked := manifest.New(map[string]any{"apiVersion": gv, "kind": k.Kind})
		if _, message, _ := (plan.Plan{Target: c.options.Target}).Discover(c.World, gv, asked); message != "" {
			unmet = append(unmet, fmt.Sprintf("native API %s of %s: not in the cluster", k.Kind, gv))
		}
	}
	return unmet
}

func withoutRules(list []v1alpha1.StrategyDeploymentPermissions) {
	for i := range list {
		list[i].Rules = nil
	}
}

// missingAccounts returns what the accounts of a CSV lack, each account once: it is not there, or the first rule that
// it is not granted and the number of the others. all says that an account that is not in the tree does not exist.
func (c *prediction) missingAccounts(v *csv, namespaced, clusterWide []v1alpha1.StrategyDeploymentPermissions,
	all bool) (unmet []string) {
	accountOf := func(p v1alpha1.StrategyDeploymentPermissions) string { return p.ServiceAccountName }
	own, wide := lists.Group(namespaced, accountOf), lists.Group(clusterWide, accountOf)
	for _, name := range lists.Unique(lists.Map(slices.Concat(namespaced, clusterWide), accountOf)) {
		who := "ServiceAccount " + name + ": "
		account := rbac.Account{Namespace: v.Namespace, Name: name}
		object, known := c.Get("", "ServiceAccount", v.Namespace, name), all || c.RBAC.Exists(account)
		binds := func(b *rbac.Binding) bool { return b.Binds(account) }
		switch missing := slices.Concat(c.missingRights(v.Namespace, v.Namespace, own[name]),
			c.missingRights(v.Namespace, "", wide[name])); {
		case !known && !slices.ContainsFunc(c.RBAC.Bindings, binds):
		case (known || v.whole()) && object == nil && name != "default" && (v.whole() || !c.RBAC.Exists(account)):
			unmet = append(unmet, who+"not in the tree")
		case known && object != nil && plan.OwnedByOther(object, v.Name): // requirements.go, permissionStatus
			unmet = append(unmet, who+"owned by another ClusterServiceVersion")
		case v.whole() && v.plan.result.Granted[v.Name]:
		case len(missing) == 1:
			unmet = append(unmet, who+missing[0])
		case len(missing) > 1:
			unmet = append(unmet, fmt.Sprintf("%s%s, and %s", who, missing[0], text.Count(len(missing)-1, "more rule")))
		}
	}
	return unmet
}

func (c *prediction) missingCRDs(v *csv) (unmet []string) {
	for _, d := range v.described() {
		// OLM installs an operator that owns the CRD, and that nobody looked into
		promised := func(v *csv) bool { return v.sub != nil && !v.whole() && v.owns(d.Name) }
		switch crd := c.CRD(d.Name); {
		case crd == nil && slices.ContainsFunc(c.csvs, promised):
		case crd == nil:
			unmet = append(unmet, fmt.Sprintf("CustomResourceDefinition %s: not in the tree", d.Name))
		case !serves(crd, d.Version):
			unmet = append(unmet,
				fmt.Sprintf("CustomResourceDefinition %s: version %s is not served", d.Name, d.Version))
		case c.unestablished(crd) != "":
			unmet = append(unmet, fmt.Sprintf("CustomResourceDefinition %s: %s", d.Name, c.unestablished(crd)))
		}
	}
	return unmet
}

// described returns the CRDs that a CSV owns or requires. Of two entries for one OLM uses the last (api:
// GetAllCRDDescriptions).
func (v *csv) described() []v1alpha1.CRDDescription {
	groups := lists.Groups(slices.Concat(v.CRDs.Owned, v.CRDs.Required),
		func(d v1alpha1.CRDDescription) string { return d.Name })
	return lists.Map(groups, func(same []v1alpha1.CRDDescription) v1alpha1.CRDDescription { return same[len(same)-1] })
}

// waitsForEver reports whether a CRD that is there does not serve the version that a CSV owns or requires.
func (c *prediction) waitsForEver(v *csv) bool {
	return slices.ContainsFunc(v.described(), func(d v1alpha1.CRDDescription) bool {
		crd := c.CRD(d.Name)
		return crd != nil && !serves(crd, d.Version)
	})
}

// unestablished returns why the API server does not serve a CRD, as far as its status or the tree says so (OLM:
// requirements.go, requirementStatus).
func (c *prediction) unestablished(crd *manifest.Object) string {
	var conditions []metav1.Condition
	_ = crd.Field(&conditions, "status", "conditions") // what cannot be read says nothing
	for _, kind := range []string{"NamesAccepted", "Established"} {
		if is := meta.FindStatusCondition(conditions, kind); is != nil && is.Status == metav1.ConditionFalse {
			return cmp.Or(is.Message, "not "+kind)
		}
	}
	if taken, ok := c.taken[crd.Name]; ok && len(conditions) == 0 {
		return "names are in use by " + taken.By.Name
	}
	return ""
}

// serves reports whether a CRD serves a version. A v1beta1 CRD may name its only version in spec.version.
func serves(crd *manifest.Object, version string) bool {
	return slices.Contains(olm.ServedVersions(crd), version)
}

// missingRights returns the rules that a ServiceAccount of namespace home is not granted in namespace, or in the whole
// cluster if namespace is empty. An unreadable role is a finding of its own and may allow anything.
func (c *prediction) missingRights(home, namespace string,
	list []v1alpha1.StrategyDeploymentPermissions) (missing []string) {
	where := "in namespace " + namespace
	if namespace == "" {
		where = "in the cluster"
	}
	for _, p := range list {
		for _, rule := range p.Rules {
			if !c.RBAC.OLMAllows(rbac.Account{Namespace: home, Name: p.ServiceAccountName}, namespace, rule) {
				missing = append(missing, fmt.Sprintf("may not, %s: %s", where, rbac.RuleText(rule)))
			}
		}
	}
	return missing
}

// judgeAccount finds what keeps OLM v1 from acting for an extension: its namespace or its account is not there, the
// account lacks rights, or Helm does not take its name for a release. Without a known release nothing is said of
// accounts, and what a dump lacks may be there.
func (c *prediction) judgeAccount(e *PlayedExtension) {
	o := c.options
	release := o.Target.Controllers()[0]
	state, _ := release.State(olm.KindClusterExtension, versions.FieldAccount, versions.Standard)
	account := rbac.Account{Namespace: e.extension.Namespace, Name: e.extension.Account}
	named := account.Name != "" && (o.Target.Controller != nil || o.Target.OpenShift != nil)
	missing := func(kind, namespace, name string, shown bool) bool {
		return c.Get("", kind, namespace, name) == nil && (shown && !c.open || o.Catalogs.isGone(kind, namespace, name))
	}
	dumped := !e.object.Has("metadata", "uid") || c.dumped[rbacv1.ServiceAccountKind+"/"+account.Namespace]
	homeless := missing("Namespace", "", account.Namespace, c.Declared)
	gone := account.Name != "default" && missing(rbacv1.ServiceAccountKind, account.Namespace, account.Name, dumped)
	switch uses := named && state == versions.Required; {
	case uses && (homeless || gone):
		// before it asks for a bundle (operator-controller: internal/operator-controller/authentication/tokengetter.go,
		// from v1.9 on controllers/clusterextension_reconcile_steps.go, ServiceAccountValidator)
		e.unfit, e.ours, e.noAccount, e.Unknown = false, false, true, ""
		e.Refused = fmt.Sprintf("service account %q not found in namespace %q", account.Name, account.Namespace)
	case e.Refused+e.Unknown != "":
	case len(e.Name) > 53 && !c.boxcutter(): // helm: pkg/chartutil/validate_name.go; pkg/action/action.go
		e.Refused = c.ofDryRun("releaseContent: Release name is invalid: " + e.Name)
	case homeless: // what the API server says to Helm
		e.Refused = fmt.Sprintf("failed to create resource: namespaces %q not found", account.Namespace)
	case uses && (!e.settled() || !o.Applied): // the cluster has asked about what is settled
		c.judgeRights(e, account)
	case named && state == versions.Ignored: // controllers/clusterextension_reconcile_steps.go
		c.note(ruleIgnoredField, findings.Warning, e.object, versions.FieldAccount, release.String()+": "+
			versions.FieldAccount+" is deprecated, ignored, and will be removed in a future release - "+
			"operator-controller's cluster-admin service account is used for all cluster interactions", "")
	}
}

// gone returns the bindings that are there no more.
func (c *prediction) gone() []*rbac.Binding {
	var had rbac.Objects
	for _, x := range c.options.Catalogs.Gone {
		if rbac.Relevant(x.Group(), x.Kind) {
			_ = had.Add(x, cmp.Or(x.Namespace, c.options.Namespace)) // what cannot be read binds nobody
		}
	}
	return had.Bindings
}

// judgeRights finds what an account lacks of the rights that installer-rbac grants, without those that only an update
// or a removal takes: it holds the rules of the roles that it makes, or may escalate and bind.
func (c *prediction) judgeRights(e *PlayedExtension, account rbac.Account) {
	binds := func(b *rbac.Binding) bool { return b.Binds(account) }
	if c.open && !slices.ContainsFunc(c.RBAC.Bindings, binds) && !slices.ContainsFunc(c.gone(), binds) {
		if e.fresh() {
			e.Unknown = fmt.Sprintf("the rights of ServiceAccount %s, as which OLM v1 acts, are not in the tree",
				account)
		}
		return
	}
	later := map[string]bool{} // what only an update or a removal takes
	for _, escalate := range []bool{true, false} {
		needs, err := installer.Derive(e.made, installer.Options{Extension: e.Name, Escalate: escalate})
		if err != nil {
			return
		}
		e.Refused = ""
		needs.Namespaces[""] = needs.Cluster
		for _, ns := range lists.Keys(needs.Namespaces) {
			atoms := slices.Concat(lists.Map(needs.Namespaces[ns], rbac.Atoms)...)
			lacks := lists.Filter(atoms, func(a rbac.Atom) bool {
				key := ns + ": " + fmt.Sprint(a)
				later[key] = later[key] || escalate && (a.Verb == "update" || a.Verb == "delete")
				return !later[key] && !c.RBAC.Allows(account, ns, rbac.Rules([]rbac.Atom{a})[0])
			})
			if len(lacks) > 0 && e.Refused == "" {
				e.ours, e.Refused = true, fmt.Sprintf("ServiceAccount %s may not, in %s: %s (see olmgen "+
					"installer-rbac)", account, cmp.Or(ns, "the cluster"),
					text.FirstOf(3, lists.Map(rbac.Rules(lacks), rbac.RuleText)))
			}
		}
		if e.Refused == "" { // it may escalate, or holds all rules
			e.ours = false
			return
		}
	}
}

func (v *csv) deployments() (names []string) {
	for i := range v.Len("spec", "install", "spec", "deployments") {
		if s, ok := olm.Get(v.Object, "spec", "install", "spec", "deployments", strconv.Itoa(i), "name").(string); ok {
			names = append(names, s)
		}
	}
	return names
}

// services returns what is wrong with the APIServices of a CSV.
func (v *csv) services() []install.Problem {
	return install.APIServices(v.APIServices, func(name string) bool { return slices.Contains(v.deployments(), name) })
}

// badWebhook returns why OLM rejects the webhooks of a CSV, or nil.
func (v *csv) badWebhook() *install.Problem {
	var definitions []v1alpha1.WebhookDescription
	_ = v.Field(&definitions, "spec", "webhookdefinitions") // what cannot be read the API server refuses
	if rejected := install.Rejected(definitions); len(rejected) > 0 {
		return &rejected[0]
	}
	return nil
}

// lacks reports whether a CSV does not have all that it requires, as far as the tree shows.
func (sim *simulation) lacks(v *csv) bool {
	return len(sim.requirements(v).unmet) > 0 || len(sim.missingServices(v)) > 0
}

// missingServices returns the required APIServices of a CSV that do not exist, as far as the tree shows (OLM:
// pkg/controller/operators/olm/requirements.go, requirementStatus). OLM installs the CSV of a Subscription together
// with what it needs.
func (sim *simulation) missingServices(v *csv) (unmet []string) {
	if v.sub != nil {
		return nil
	}
	for _, d := range v.APIServices.Required {
		if why, _ := sim.missingService(d); why != "" {
			unmet = append(unmet, fmt.Sprintf("APIService %s: %s", d.GetName(), why))
		}
	}
	return unmet
}

// judgeServices reports required APIServices of which the tree does not show whether they exist.
func (sim *simulation) judgeServices(v *csv) {
	if v.phase != v1alpha1.CSVPhaseSucceeded || v.observed {
		return
	}
	for i, d := range v.APIServices.Required {
		if _, known := sim.missingService(d); !known {
			sim.note(ruleRequirements, findings.Note, v.where(),
				fmt.Sprintf("spec.apiservicedefinitions.required[%d]", i),
				"APIService "+d.GetName()+" is not in the tree, and no CSV of it owns it: it counts as there",
				"add the operator that serves it, or check its path too")
		}
	}
}

// judgeNetwork reports what NetworkPolicies of the tree cut off of the pods of a CSV.
func (sim *simulation) judgeNetwork(v *csv) {
	operator := v.release()
	if v.Copied || v.deleted || operator == nil {
		return
	}
	if sim.network == nil {
		sim.network = netpol.Namespaces(slices.Collect(sim.All()), false)
	}
	for _, g := range sim.network[v.Namespace].Gaps(operator.ClusterServiceVersion) {
		sim.note(ruleNetwork, g.Severity, g.Policy, g.Field, g.Message, "add a rule that lets it through")
	}
}

// missingService returns why an APIService does not exist, or "", and whether the tree shows it. An APIService that a
// CSV of the tree owns exists once OLM has installed that CSV. The API server creates those of Kubernetes' own groups
// and of CRDs. Any other may exist outside of the tree, unless the tree is a dump that has all APIServices, Kubernetes'
// own among them.
func (sim *simulation) missingService(d v1alpha1.APIServiceDescription) (why string, known bool) {
	owners, object := sim.owning[d.GetName()], sim.APIServices[d.GetName()]
	var conditions []metav1.Condition
	if object != nil {
		_ = object.Field(&conditions, "status", "conditions") // what cannot be read says nothing
	}
	switch available := meta.FindStatusCondition(conditions, "Available"); {
	case available != nil && available.Status != metav1.ConditionTrue: // install/apiservice.go, IsAPIServiceAvailable
		return "not available", true
	case object != nil, sim.serving[d.GetName()] != nil, olm.BuiltinGroup(d.Group), sim.defines(d):
		return "", true
	case len(owners) > 0:
		return fmt.Sprintf("ClusterServiceVersion %s/%s, which owns it, is not installed", owners[0].Namespace,
			owners[0].Name), true
	case sim.APIServices["v1.apps"] != nil:
		return "not in the tree", true
	}
	return "", false
}

func (c *prediction) defines(d v1alpha1.APIServiceDescription) bool {
	for _, crd := range c.CRDs {
		if k, _ := olm.DefinedKind(crd); k.Group == d.Group && k.Name == d.Kind && serves(crd, d.Version) {
			return true
		}
	}
	return false
}
