// Package upgrade predicts what OLM v0 does with releases of operators that take the place of older ones.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager).
// docs/reference/spec/olm-v0-installs.md, section 11, has them with their sources.
package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// Release is one release of an operator.
type Release struct {
	olm.CSV
	Entry    catalog.Entry      // what it updates
	Channels []string           // that it is in; none if that is not known
	Bundle   []*manifest.Object // what its bundle ships, as it stands there; nil if only the rendered objects are known

	InstallMode v1alpha1.InstallModeType // that its OperatorGroup asks for; empty if that is not known
	Unsupported bool                     // it does not support that mode

	ByOLMv1   bool // OLM v1 installs it
	CRDSafety bool // and asks crdUpgradeSafety before it changes a CRD
}

// Pair is an operator of both releases, of which one may be nil.
type Pair struct{ Old, New *Release }

// Upgrade is what takes the place of what.
type Upgrade struct {
	Pairs     []Pair
	Old, New  []*manifest.Object // what is rendered of both releases
	Others    []Release          // that are in the cluster, too
	Cluster   []*manifest.Object // what else is in the cluster: CRDs with their status, custom resources
	Checker   crs.Checker        // for the custom resources of the cluster; may be nil if there are none
	API       writes.Checker     // what the API server says to objects; nil if nobody asks
	Played    bool               // InstallPlans are played on the whole cluster, which finds what fails and is lost
	PathKnown bool               // a catalog leads from the older release to the newer one
	Phases    bool               // what becomes of the ClusterServiceVersions is known
}

// Consequence is one thing that OLM does about an upgrade. Its message says it of the operator.
type Consequence struct {
	Rule     string            `json:"rule"`
	Operator string            `json:"operator"` // the name of a ClusterServiceVersion, or an object that asks for one
	Severity findings.Severity `json:"severity"`
	Message  string            `json:"message"`
	File     string            `json:"file,omitempty"`
	Line     int               `json:"line,omitempty"`
	Later    bool              `json:"-"` // not this InstallPlan fails, but the next one
}

// Findings returns what OLM does about the upgrade, the worst first. The error is about a CRD or an object that cannot
// be read, or that of the Checker, which gets ctx.
func (u Upgrade) Findings(ctx context.Context) ([]Consequence, error) {
	j := &judge{Upgrade: u, before: olm.CRDs(u.Old), after: olm.CRDs(u.New), live: olm.CRDs(u.Cluster),
		cluster: sync.OnceValue(func() *world.World { return world.Read(u.Cluster, "") })}
	j.unowned = sync.OnceValue(func() map[string]*world.CSV {
		if u.Played || u.Phases { // who plays the whole cluster knows more
			return nil
		}
		return unowned(j.cluster())
	})
	j.ofGroup = sync.OnceValue(func() map[string][]*manifest.Object {
		return lists.Group(byName(j.live, j.before), func(crd *manifest.Object) string { return groupOf(crd.Name) })
	})
	j.rendered = [2]map[string]*manifest.Object{maps.Clone(j.before), maps.Clone(j.after)}
	for _, p := range u.Pairs {
		if p.New != nil {
			j.operators = append(j.operators, *p.New)
			addCRDs(j.after, p.New)
		}
		if p.Old != nil {
			addCRDs(j.before, p.Old)
		}
	}
	j.operators = append(j.operators, lists.Filter(u.Others, func(o Release) bool { // of neither release
		return !slices.ContainsFunc(u.Pairs, func(p Pair) bool { return p.Old.is(o) || p.New.is(o) })
	})...)
	for _, p := range u.Pairs {
		j.ofPair = len(j.found)
		j.lost(p)
		if p.New == nil {
			continue
		}
		if p.New.Unsupported && (p.Old == nil || !p.Old.Unsupported) {
			j.add(p.New, RuleInstallMode, findings.Error, "spec.installModes",
				"does not support %s, which its OperatorGroup asks for: it fails with UnsupportedOperatorGroup",
				p.New.InstallMode)
		}
		j.owners(p)
		j.notServed(p)
		j.path(p)
		j.conversions(p)
		j.shipped(p)
		j.refused(p)
		if err := j.objects(ctx, p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(j.found, func(a, b Consequence) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Operator, b.Operator),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(j.found), nil
}

// objects finds what is wrong with the objects of the newer release, and with those that its CRDs define.
func (j *judge) objects(ctx context.Context, p Pair) error {
	var err error
	switch {
	case p.Old == nil:
	case p.New.ByOLMv1: // it looks at no custom resource
		j.unsafe(p)
	default:
		j.stored(p)
		err = j.unfit(ctx, p)
	}
	return cmp.Or(err, j.plays(ctx, p))
}

// judge keeps what the rules look at.
type judge struct {
	Upgrade
	before, after map[string]*manifest.Object    // the CRDs of both releases by name
	live          map[string]*manifest.Object    // those of the cluster
	rendered      [2]map[string]*manifest.Object // before and after without those that only a bundle has
	operators     []Release                      // of the cluster after the upgrade
	found         []Consequence
	ofPair        int // where those of the pair begin

	cluster func() *world.World                  // what is in the cluster, read once
	unowned func() map[string]*world.CSV         // of it, by name
	ofGroup func() map[string][]*manifest.Object // CRDs of the cluster and the older release, by their API group
}

// addCRDs adds the CRDs that only the bundle of an operator has. Some profiles render none.
func addCRDs(to map[string]*manifest.Object, o *Release) {
	for name, crd := range olm.CRDs(o.Bundle) {
		to[name] = cmp.Or(to[name], crd)
	}
}

func (o *Release) is(other Release) bool { return o != nil && o.Name == other.Name }

// base returns the name of the operator without its version, by which two releases of it are found.
func (o *Release) base() string { return olm.BaseName(o.Name, "") }

func (j *judge) inCluster(name string) *manifest.Object {
	return cmp.Or(j.live[name], j.before[name])
}

func (j *judge) add(o *Release, rule findings.Rule, s findings.Severity, field, format string, args ...any) {
	j.addAt(o, rule, s, o.Object, field, format, args...)
}

// addAt adds a finding about a field of any object, which may be nil.
func (j *judge) addAt(o *Release, rule findings.Rule, s findings.Severity, at *manifest.Object, field, format string,
	args ...any,
) {
	f := Consequence{Rule: rule.ID, Operator: o.Name, Severity: s, Message: text.OneLine(fmt.Sprintf(format, args...))}
	if at != nil {
		f.File, f.Line = at.PlaceOf(field)
	}
	j.found = append(j.found, f)
}

// same reports whether two CRDs are the same but for what the cluster and OLM add.
func same(a, b *manifest.Object) bool {
	x, errX := a.Get("spec")
	y, errY := b.Get("spec")
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// The rules. Their findings are errors where OLM refuses the upgrade, or where an operator fails because of it.
var (
	RuleAPIRequired = findings.Rule{ID: "api-required", Text: "requires an API that the upgrade removes",
		Help: "Another operator requires an API that the upgrade removes. Operators that are not in NEW are " +
			"those of a tree beside it."}
	RuleInstallMode = findings.Rule{ID: "install-mode", Text: "does not support what its OperatorGroup asks for",
		Help: "The OperatorGroup needs an install mode that NEW does not support any more."}
	RuleCRDOwner = findings.Rule{ID: "crd-owner", Text: "owns a CRD that another operator owns, too",
		Help: "NEW owns a CRD that another operator owns already, or takes from it the version that it owns."}
	RulePath = findings.Rule{ID: "no-upgrade", Text: "does not replace the older release",
		Help: "replaces, skips and skipRange of NEW do not name OLD, or NEW is in no channel of OLD, so OLM does not " +
			"upgrade in one step. Or no Subscription in the cluster has installed OLD, so OLM does not upgrade it at " +
			"all."}
	RuleSameName = findings.Rule{ID: "same-name", Text: "has the name of the older release",
		Help: "OLM knows a release by the name of its ClusterServiceVersion. It installs nothing of NEW where OLD is " +
			"installed (OLM: pkg/controller/registry/resolver/resolver.go)."}
	RuleLost = findings.Rule{ID: "object-lost", Text: "needs an object that goes with the older release",
		Help: "OLM makes the ClusterServiceVersion the owner of the ServiceAccounts in its permissions. One that NEW " +
			"ships as a file keeps the older owner (OLM: pkg/controller/operators/catalog/step_ensurer.go, " +
			"EnsureServiceAccount)."}
	RuleStored = findings.Rule{ID: "stored-version", Text: "drops a version in which objects are stored",
		Help: "The InstallPlan fails: risk of data loss (OLM: pkg/lib/crd/storage.go). What is stored is in " +
			"status.storedVersions of live CRDs in a tree or directory of objects, or else the storage version of " +
			"OLD."}
	RuleCRDSafety = findings.Rule{ID: "crd-upgrade-safety", Text: "changes a CRD as OLM v1 does not",
		Help: "OLM v1 asks crdUpgradeSafety before it changes a CRD, and does not upgrade then (operator-controller: " +
			"internal/operator-controller/rukpak/preflights/crdupgradesafety). A ClusterExtension whose " +
			"spec.install.preflight.crdUpgradeSafety.enforcement is None is not asked about."}
	RuleRefused = findings.Rule{ID: "api-server-refuses", Text: "has an object that the API server refuses",
		Help: "The InstallPlan or the ClusterServiceVersion fails. Kubernetes' own code decides, which " +
			"olmgen-validate has. OLM updates what is there and deletes nothing (OLM: " +
			"pkg/api/wrappers/deployment_install_client.go; pkg/controller/operators/catalog/step_ensurer.go)."}
	RuleDefinition = findings.Rule{ID: "csv-refused",
		Text: "has a definition that OLM or the API server refuses, or that nothing serves",
		Help: "The CSV fails, or its requirements are never met (OLM: pkg/controller/install/webhook.go; " +
			"pkg/controller/operators/olm/requirements.go)."}
	RuleAccount      = fit.RuleAccount
	RuleNotServed    = fit.RuleNotServed
	RuleConversion   = fit.RuleConversion
	RuleObjectsUnfit = findings.Rule{ID: "objects-unfit", Text: "has a CRD that existing objects do not fit",
		Help: "The InstallPlan fails: error validating existing CRs against new CRD's schema (OLM: " +
			"pkg/controller/operators/catalog/step.go). OLM looks at the schema of each version that both CRDs " +
			"serve. It does not ratchet as the API server does. The objects are those of the directory or tree that " +
			"is given. Where NEW converts by a webhook, OLM only warns."}
)

// Rules explains the findings.
var Rules = []findings.Rule{RuleAPIRequired, RuleInstallMode, RuleCRDOwner, RulePath, RuleSameName, RuleLost,
	RuleNotServed, RuleStored, RuleCRDSafety, RuleRefused, RuleDefinition, RuleAccount, RuleConversion,
	RuleObjectsUnfit, fit.RuleNames, fit.RuleDefaultRole}
