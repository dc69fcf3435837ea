// Package upgrade predicts what OLM v0 does with releases of operators that take the place of older ones.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager). docs/spec/olm-v0.md,
// section 11, has them with their sources.
package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
)

// The rules. Their findings are errors where OLM refuses the upgrade, or where an operator fails because of it.
const (
	RuleAPIRequired  = "api-required"       // another operator requires an API that goes
	RuleInstallMode  = "install-mode"       // the OperatorGroup asks for a mode that is not supported any more
	RuleCRDOwner     = "crd-owner"          // another operator owns a CRD, too
	RulePath         = "no-upgrade"         // the newer release does not replace the older one
	RuleNotServed    = "api-not-served"     // the CSV owns a version that its CRD does not serve
	RuleStored       = "stored-version"     // a CRD drops a version in which objects are stored
	RuleImmutable    = "immutable-field"    // the API server does not let a field change
	RuleConversion   = "conversion-webhook" // nothing converts the objects of a CRD
	RuleObjectsUnfit = "objects-unfit"      // existing objects do not fit the newer CRD
)

// Operator is one release of an operator.
type Operator struct {
	permissions.CSV
	Stem   string             // its name without its version
	Entry  catalog.Entry      // what it updates
	Bundle []*manifest.Object // what its bundle ships, as it stands there; nil if only the rendered objects are known

	InstallMode v1alpha1.InstallModeType // that its OperatorGroup asks for; empty if that is not known
	Unsupported bool                     // it does not support that mode
}

// Pair is an operator of both releases, of which one may be nil.
type Pair struct{ Old, New *Operator }

// Upgrade is what takes the place of what.
type Upgrade struct {
	Pairs     []Pair
	Old, New  []*manifest.Object // what is rendered of both releases
	Others    []Operator         // that are in the cluster, too
	Cluster   []*manifest.Object // what else is in the cluster: CRDs with their status, custom resources
	PathKnown bool               // a catalog leads from the older release to the newer one
}

// Finding is one thing that OLM does about an upgrade. Its message says it of the operator.
type Finding struct {
	Rule     string
	Operator string // the name of a ClusterServiceVersion
	Severity findings.Severity
	Message  string
	File     string
	Line     int
}

// Findings returns what OLM does about the upgrade, the worst first. Two releases that are the same have none.
func (u Upgrade) Findings() []Finding {
	j := &judge{Upgrade: u, before: crdsOf(u.Old), live: crdsOf(u.Cluster)}
	var operators []Operator
	for _, p := range u.Pairs {
		if p.New != nil {
			operators = append(operators, *p.New)
		}
	}
	j.after = crdsOf(u.New)
	for _, p := range u.Pairs {
		j.addBundle(p)
	}
	j.operators = slices.Concat(operators, j.others())
	for _, p := range u.Pairs {
		j.lost(p)
		if p.New == nil {
			continue
		}
		j.mode(p)
		j.owners(p)
		j.notServed(p)
		j.path(p)
		j.conversions(p)
		if p.Old != nil {
			j.stored(p)
			j.immutable(p)
		}
	}
	slices.SortStableFunc(j.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Operator, b.Operator),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(j.found)
}

// judge keeps what the rules look at.
type judge struct {
	Upgrade
	before, after map[string]*manifest.Object // the CRDs of both releases by name
	live          map[string]*manifest.Object // those of the cluster
	operators     []Operator                  // of the cluster after the upgrade
	found         []Finding
}

// addBundle adds the CRDs that only the bundles have. Some profiles render none.
func (j *judge) addBundle(p Pair) {
	for o, to := range map[*Operator]map[string]*manifest.Object{p.Old: j.before, p.New: j.after} {
		if o == nil {
			continue
		}
		for name, crd := range crdsOf(o.Bundle) {
			if to[name] == nil {
				to[name] = crd
			}
		}
	}
}

// others returns the operators of the cluster that are in neither release.
func (j *judge) others() []Operator {
	return slices.DeleteFunc(slices.Clone(j.Others), func(o Operator) bool {
		return slices.ContainsFunc(j.Pairs, func(p Pair) bool { return p.Old.is(o) || p.New.is(o) })
	})
}

func (o *Operator) is(other Operator) bool { return o != nil && o.Name == other.Name }

// inCluster returns a CRD of the cluster before the upgrade, or nil.
func (j *judge) inCluster(name string) *manifest.Object {
	if crd := j.live[name]; crd != nil {
		return crd
	}
	return j.before[name]
}

// add adds a finding about a field of a ClusterServiceVersion.
func (j *judge) add(o *Operator, rule string, s findings.Severity, field, format string, args ...any) {
	j.addAt(o, rule, s, o.Object, field, format, args...)
}

// addAt adds a finding about a field of any object, which may be nil.
func (j *judge) addAt(o *Operator, rule string, s findings.Severity, at *manifest.Object, field, format string,
	args ...any,
) {
	f := Finding{Rule: rule, Operator: o.Name, Severity: s, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		f.File, f.Line = at.File, at.LineOf(field)
	}
	j.found = append(j.found, f)
}

// crdsOf returns the CRDs among objects by their names. Of two with one name the last one counts, as it does when both
// are applied.
func crdsOf(objects []*manifest.Object) map[string]*manifest.Object {
	out := map[string]*manifest.Object{}
	for _, o := range objects {
		if o.Kind == "CustomResourceDefinition" {
			out[o.Name] = o
		}
	}
	return out
}
