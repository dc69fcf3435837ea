package predict

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// set changes the phase and requeues whatever depends on it.
func (sim *simulation) set(v *csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason,
	message string,
) {
	if v.phase == phase && v.reason == reason && v.message == message {
		return
	}
	v.phase, v.reason, v.message, v.moved = phase, reason, message, true
	sim.noteUnsettled(v)
	sim.wakeCSV(v)
	for _, g := range sim.groupsIn[v.Namespace] {
		sim.wakeGroup(g)
	}
	related := slices.Concat(sim.called[[2]string{v.Namespace, v.Replaces}], sim.heirs[[2]string{v.Namespace, v.Name}])
	slices.SortFunc(related, func(a, b *csv) int { return cmp.Compare(a.position, b.position) })
	for _, other := range related {
		sim.wakeCSV(other)
	}
}

// failFor fails a CSV for a problem of its own.
func (sim *simulation) failFor(v *csv, p install.Problem) {
	v.problem = p
	sim.fail(v, p.Reason, p.Said())
}

func (sim *simulation) fail(v *csv, reason v1alpha1.ConditionReason, message string) {
	sim.set(v, v1alpha1.CSVPhaseFailed, reason, message)
}

// syncCSV is OLM's reconcile loop for CSVs (pkg/controller/operators/olm/operator.go, transitionCSVState).
func (sim *simulation) syncCSV(v *csv) {
	if v.reason == v1alpha1.CSVReasonComponentFailedNoRetry || v.Unusable != nil {
		return
	}
	g := sim.groupFor(v)
	if g == nil {
		return
	}
	targets := v.ofGroup[olm.AnnotationTargets] // groupFor returns no group without it
	modes, err := v1alpha1.NewInstallModeSet(v.Modes)
	unsupported := modes.Supports(v.Namespace, strings.Split(targets, ","))
	switch {
	case err != nil:
		sim.fail(v, v1alpha1.CSVReasonInvalidInstallModes, err.Error())
	case unsupported != nil:
		sim.fail(v, v1alpha1.CSVReasonUnsupportedOperatorGroup, unsupported.Error())
	case sim.reconcileAPIs(v, g):
		sim.proceed(v, g)
	}
}

// groupFor returns the group of a CSV, or nil if it has not one or lacks its annotations (operatorGroupForCSV).
func (sim *simulation) groupFor(v *csv) *group {
	groups := sim.groupsIn[v.Namespace]
	switch {
	case len(groups) == 0:
		sim.fail(v, v1alpha1.CSVReasonNoOperatorGroup, "csv in namespace with no operatorgroups")
		return nil
	case len(groups) > 1:
		if v.reason != v1alpha1.CSVReasonTooManyOperatorGroups {
			sim.fail(v, v1alpha1.CSVReasonTooManyOperatorGroups,
				"csv created in namespace with multiple operatorgroups, can't pick one automatically")
		}
		return nil
	}
	g := groups[0]
	if !sim.annotate(v, g) {
		return g
	}
	switch {
	case g.refused == nil && len(g.targets) == 0 && !g.unknown:
		sim.fail(v, v1alpha1.CSVReasonNoTargetNamespaces,
			"no targetNamespaces are matched operatorgroups namespace selection")
	case g.untold() && v.reason == v1alpha1.CSVReasonNoOperatorGroup && !v.observed: // the group came later
		sim.set(v, v1alpha1.CSVPhaseNone, "", "")
	}
	return nil
}

// reconcileAPIs compares the APIs of a CSV with those of its group and of the intersecting groups, by subset and
// intersection (groups.go, ReconcileAPIIntersection). It reports whether the CSV may proceed.
func (sim *simulation) reconcileAPIs(v *csv, g *group) bool {
	// the groups that intersect with the one of the CSV and list some of its APIs
	disputed, groups := apiSet{}, map[*group]bool{}
	for a := range v.provided {
		maps.Copy(groups, sim.listing[a])
	}
	rivals := sim.intersecting(g, groups)
	for _, other := range rivals {
		disputed = disputed.Union(other.apis.Intersection(v.provided))
	}
	subset := g.apis.IsSuperset(v.provided)
	switch intersecting := len(rivals) > 0; {
	case g.Spec.StaticProvidedAPIs && subset == intersecting: // add or remove
		if v.reason != v1alpha1.CSVReasonInterOperatorGroupOwnerConflict {
			v.rivals, v.disputed = rivals, disputed
			sim.fail(v, v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
				"static provided api operatorgroup cannot be modified by these apis")
		}
		return false
	case intersecting && !subset:
		v.rivals, v.disputed = rivals, disputed
		sim.fail(v, v1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
			"intersecting operatorgroups provide the same apis")
		return false
	case intersecting:
		sim.provide(g, g.apis.Difference(v.provided))
	case subset || !sim.add(g, v.provided.Difference(g.apis)):
		return true
	}
	sim.wakeCSV(v)
	return false
}

// proceed moves a member of a group through the phases. It assumes that Deployments become available.
func (sim *simulation) proceed(v *csv, g *group) {
	switch v.phase {
	case v1alpha1.CSVPhaseNone:
		sim.set(v, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, "requirements not yet checked")
	case v1alpha1.CSVPhasePending:
		sim.pending(v)
	case v1alpha1.CSVPhaseInstallReady:
		sim.install(v, g)
	case v1alpha1.CSVPhaseSucceeded:
		if next := sim.replacing(v); next != nil {
			sim.set(v, v1alpha1.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced, "being replaced by csv: "+next.Name)
		} else if sim.lacks(v) && !sim.awaits(v) {
			sim.fail(v, v1alpha1.CSVReasonRequirementsNotMet, "requirements no longer met")
		}
	case v1alpha1.CSVPhaseFailed:
		sim.failed(v, g)
	case v1alpha1.CSVPhaseReplacing:
		if next := sim.replacing(v); sim.inNamespace(v.Namespace, v.Replaces) == nil && next != nil &&
			next.phase == v1alpha1.CSVPhaseSucceeded {
			sim.set(v, v1alpha1.CSVPhaseDeleting, v1alpha1.CSVReasonReplaced,
				"has been replaced by a newer ClusterServiceVersion that has successfully installed.")
		}
	case v1alpha1.CSVPhaseDeleting:
		v.deleted = true
		for _, g := range sim.groupsIn[v.Namespace] {
			g.pruned = false
		}
		sim.wakeBeside(v)
		for _, other := range sim.csvs {
			if other.exists && other.reason == v1alpha1.CSVReasonOwnerConflict {
				sim.wakeCSV(other)
			}
		}
	}
}

// notUpgradeable returns why OLM does not replace a CSV, or "". An unreadable OperatorCondition is a finding only.
func (c *prediction) notUpgradeable(v *csv) string {
	o := c.Conditions[v.Namespace+"/"+v.Name]
	if o == nil {
		return ""
	}
	why, err := world.NotUpgradeable(o)
	if err != nil {
		c.fault(err, o)
	}
	return why
}

// pending moves a CSV out of the phase Pending if nothing keeps it there. It asks in the order of OLM (operator.go,
// transitionCSVState).
func (sim *simulation) pending(v *csv) {
	if v.observed && !v.moved && v.reason != v1alpha1.CSVReasonRequirementsUnknown {
		return // the cluster knows what is missing
	}
	previous := sim.inNamespace(v.Namespace, v.Replaces)
	if previous != nil {
		if why := sim.notUpgradeable(previous); why != "" {
			sim.set(v, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonOperatorConditionNotUpgradeable,
				"operator is not upgradeable: "+why)
			return
		}
	}
	needs := sim.requirements(v)
	switch {
	case needs.err != nil:
		sim.fail(v, v1alpha1.CSVReasonInvalidStrategy, "install strategy invalid: "+needs.err.Error())
	case sim.lacks(v):
		sim.set(v, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet,
			"one or more requirements couldn't be found")
	case v.badWebhook() != nil:
		sim.failFor(v, *v.badWebhook())
	case sim.crdOwner(v) != nil:
		sim.fail(v, v1alpha1.CSVReasonOwnerConflict, "conflicting CRD owner in namespace")
	case sim.apiOwner(v) != nil || sim.apiTaken(v) != "":
		sim.fail(v, v1alpha1.CSVReasonOwnerConflict, "unable to adopt APIService")
	case previous == nil || previous.phase == v1alpha1.CSVPhaseReplacing:
		sim.set(v, v1alpha1.CSVPhaseInstallReady, v1alpha1.CSVReasonRequirementsMet,
			"all requirements found, attempting install")
	}
}

// install moves a CSV out of the phase InstallReady. Its strategy is played if it is known what it deploys; Deployments
// count as available then.
func (sim *simulation) install(v *csv, g *group) {
	if v.typed == nil && v.sub == nil {
		if operator := v.release(); operator != nil {
			v.typed = operator.ClusterServiceVersion
		}
	}
	if v.typed != nil && (v.sub == nil || v.whole()) { // what it deploys is known
		account, unknown := sim.account(g)
		config, err := sim.config(v)
		if err != nil {
			sim.fail(v, v1alpha1.CSVReasonComponentFailed, "install strategy failed: "+err.Error())
			return
		}
		made, err := plan.Strategy{CSV: v.typed, Namespace: v.Namespace, Config: config, Account: account,
			API: sim.options.API}.Install(sim.ctx, sim.World)
		sim.err = cmp.Or(sim.err, err)
		switch {
		case made.Waits != "":
			sim.set(v, v1alpha1.CSVPhaseInstallReady, v1alpha1.CSVReasonWaiting, made.Waits)
			return
		case made.Refusal != nil && made.Refusal.Forbidden: // OLM: pkg/controller/install/deployment.go, Install
			sim.fail(v, v1alpha1.CSVReasonComponentFailedNoRetry,
				"install strategy failed: install strategy failed: "+made.Refusal.Text)
			return
		case made.Refusal != nil:
			v.problem = made.Problem
			sim.fail(v, v1alpha1.CSVReasonComponentFailed, "install strategy failed: "+made.Refusal.Text)
			return
		default:
			v.unknown, v.without, v.unasked = append(made.Unknown, unknown...), made.Without, made.Unasked
		}
	}
	for _, p := range v.services() {
		if p.Reason == v1alpha1.CSVReasonInstallCheckFailed { // areAPIServicesAvailable
			sim.failFor(v, p)
			return
		}
	}
	if len(v.without) > 0 { // it may come from elsewhere, and until then nobody knows
		sim.set(v, v1alpha1.CSVPhaseInstalling, v1alpha1.CSVReasonWaiting, v.without[0].Said())
		return
	}
	sim.serve(v)
	sim.set(v, v1alpha1.CSVPhaseSucceeded, v1alpha1.CSVReasonInstallSuccessful,
		"install strategy completed with no errors")
}

// config returns the configuration of the Subscription that installs a CSV; nil if there is none.
func (sim *simulation) config(v *csv) (*v1alpha1.SubscriptionConfig, error) {
	sub := v.sub
	if sub == nil && v.observed { // OLM: pkg/controller/operators/olm/overrides/config.go, findOwner
		sub = sim.installing[[2]string{v.Namespace, v.Name}]
	}
	if sub == nil || v.dependency || !sub.Has("spec", "config") {
		return nil, nil
	}
	config := new(v1alpha1.SubscriptionConfig)
	if err := sub.Field(config, "spec", "config"); err != nil {
		return nil, err
	}
	return config, nil
}

// account returns the ServiceAccount as which OLM installs the operators of a group, and what is not known of it.
func (c *prediction) account(g *group) (account *rbac.Account, unknown []string) {
	a := rbac.Account{Namespace: g.Namespace, Name: g.Spec.ServiceAccountName}
	switch {
	case a.Name == "":
		return nil, nil
	case !c.RBAC.Exists(a):
		return nil, []string{"what ServiceAccount " + a.Name + " may do, as which OLM installs"}
	}
	return &a, nil
}

// serve marks the APIServices of a CSV as installed and requeues the CSVs that wait for them.
func (sim *simulation) serve(v *csv) {
	for _, d := range v.APIServices.Owned {
		sim.serving[d.GetName()] = v
		for _, other := range sim.waiting[d.GetName()] {
			sim.wakeCSV(other)
		}
	}
}

// failed retries a CSV whose failure had a cause that the tree can explain. Any other failure stays.
func (sim *simulation) failed(v *csv, g *group) {
	if g.Spec.UpgradeStrategy == operatorsv1.UpgradeStrategyUnsafeFailForward {
		if next := sim.replacing(v); next != nil {
			sim.set(v, v1alpha1.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced,
				"Fail Forward is enabled, allowing Failed csv to be replaced by csv: "+next.Name)
			return
		}
	}
	var message string
	switch v.reason {
	case v1alpha1.CSVReasonNoTargetNamespaces,
		v1alpha1.CSVReasonNoOperatorGroup,
		v1alpha1.CSVReasonTooManyOperatorGroups,
		v1alpha1.CSVReasonUnsupportedOperatorGroup:
		message = "InstallModes now support target namespaces"
	case v1alpha1.CSVReasonInterOperatorGroupOwnerConflict:
		message = "OperatorGroup no longer intersecting with conflicting owner"
	case v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs:
		message = "static OperatorGroup and intersecting groups now support providedAPIs"
	case v1alpha1.CSVReasonOwnerConflict:
		if v.observed || sim.crdOwner(v) != nil || sim.apiOwner(v) != nil || sim.apiTaken(v) != "" {
			return // OLM retries and fails forever
		}
		message = "installing"
	case v1alpha1.CSVReasonRequirementsNotMet:
		if sim.lacks(v) {
			sim.set(v, v1alpha1.CSVPhasePending, v.reason, "requirements not met")
		}
		return
	default:
		return
	}
	v.rivals, v.disputed = nil, nil
	sim.set(v, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, message)
}

func (sim *simulation) inNamespace(namespace, name string) *csv {
	return lists.Find(sim.called[[2]string{namespace, name}], func(v *csv) bool { return !v.deleted })
}

// awaits reports whether a CSV comes that replaces one of a cluster: OLM asks that before the requirements.
func (sim *simulation) awaits(v *csv) bool {
	return slices.ContainsFunc(sim.csvs, func(next *csv) bool {
		return !next.exists && next.Namespace == v.Namespace && next.Replaces == v.Name
	})
}

func (sim *simulation) replacing(v *csv) *csv {
	return lists.Find(sim.heirs[[2]string{v.Namespace, v.Name}], func(other *csv) bool { return !other.deleted })
}

// crdOwner returns another CSV in the namespace that owns one of v's CRDs and is outside of its replacement chain
// (crdOwnerConflicts, getReplacementChain).
func (sim *simulation) crdOwner(v *csv) *csv {
	var first *csv
	var chain map[string]bool
	for _, d := range v.CRDs.Owned {
		for _, other := range sim.owners[[2]string{v.Namespace, d.Name}] {
			if other == v || other.deleted || first != nil && first.position <= other.position {
				continue
			}
			if chain == nil {
				chain = sim.chain(v)
			}
			if !chain[other.Name] {
				first = other
			}
		}
	}
	return first
}

// chain returns the names of the CSVs that v replaces, and of those that replace it, one by one.
func (sim *simulation) chain(v *csv) map[string]bool {
	chain := map[string]bool{v.Name: true}
	for next := sim.replacing(v); next != nil && !chain[next.Name]; next = sim.replacing(next) {
		chain[next.Name] = true
	}
	for name := v.Replaces; name != "" && !chain[name]; {
		chain[name] = true
		previous := sim.inNamespace(v.Namespace, name)
		if previous == nil {
			break
		}
		name = previous.Replaces
	}
	sim.work(len(chain))
	return chain
}

// apiOwner returns another CSV, in any namespace, that owns one of v's APIServices and does not release it
// (apiServiceOwnerConflicts; pkg/controller/install/apiservice.go, IsAPIServiceAdoptable).
func (sim *simulation) apiOwner(v *csv) *csv {
	for _, d := range v.APIServices.Owned {
		owner := sim.serving[d.GetName()]
		switch {
		case owner == nil, owner == v, owner.deleted, owner.Namespace == v.Namespace && owner.Name == v.Replaces:
		case owner.phase == v1alpha1.CSVPhaseReplacing, owner.phase == v1alpha1.CSVPhaseDeleting:
		default:
			return owner
		}
	}
	return nil
}

// apiTaken returns an APIService of v that a person has made, or the API server for a CRD, and why OLM does not adopt
// it; "" if there is none (IsAPIServiceAdoptable).
func (sim *simulation) apiTaken(v *csv) string {
	crds := sync.OnceValue(func() map[string]*manifest.Object { // with those of InstallPlans
		return olm.CRDs(sim.Of("apiextensions.k8s.io", kindCRD))
	})
	for _, d := range v.APIServices.Owned {
		old := sim.APIServices[d.GetName()]
		switch {
		case old == nil && sim.serving[d.GetName()] == nil:
			if taken := install.Taken([]v1alpha1.APIServiceDescription{d}, crds()); len(taken) > 0 {
				return taken[0].Message
			}
			continue
		case old == nil:
			continue
		}
		labels := olm.Texts(olm.Get(old, "metadata", "labels"))
		namespace, name := labels[olm.LabelOwnerNamespace], labels[olm.LabelOwner]
		owner := sim.inNamespace(namespace, name)
		going := owner != nil && (owner.phase == v1alpha1.CSVPhaseReplacing || owner.phase == v1alpha1.CSVPhaseDeleting)
		mine := namespace == v.Namespace && (name == v.Name || owner != nil && name == v.Replaces)
		if labels[olm.LabelOwnerKind] != v1alpha1.ClusterServiceVersionKind || !mine && !going {
			return old.Name + " is not OLM's"
		}
	}
	return ""
}
