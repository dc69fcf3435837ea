package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

const ownedField = "spec.customresourcedefinitions.owned"

func describe(a olm.API) string { return fmt.Sprintf("%s (%s/%s)", a.Kind, a.Group, a.Version) }

// lost finds the operators that need an API that the newer release does not provide any more.
func (j *judge) lost(p Pair) {
	if p.Old == nil {
		return
	}
	by := cmp.Or(p.New, p.Old)
	for _, a := range olm.ServedAPIs(&p.Old.Spec, j.before) {
		if slices.ContainsFunc(j.operators, func(o Operator) bool {
			return slices.Contains(olm.ServedAPIs(&o.Spec, j.after), a)
		}) {
			continue
		}
		for i := range j.operators {
			o := &j.operators[i]
			if slices.Contains(olm.RequiredAPIs(&o.Spec), a) {
				j.add(o, RuleAPIRequired, findings.Error, "spec.customresourcedefinitions.required",
					"requires %s, which %s does not provide any more: OLM refuses the upgrade, or the "+
						"ClusterServiceVersion fails with RequirementsNotMet", describe(a), by.Name)
			}
		}
	}
}

// owners finds the operators that own a CRD of the newer release, too. OLM installs no two of them in one set of
// namespaces (docs/spec/olm-v0-installs.md, section 9). Elsewhere they have to live with the newer CRD.
func (j *judge) owners(p Pair) {
	for _, name := range owned(p.New) {
		for i := range j.operators {
			o := &j.operators[i]
			if o.Name == p.New.Name || o.base() == p.New.base() || !slices.Contains(owned(o), name) {
				continue
			}
			if p.Old == nil || !slices.Contains(owned(p.Old), name) {
				j.add(p.New, RuleCRDOwner, findings.Error, ownedField,
					"owns CRD %s, and so does %s: OLM refuses to install both in one set of namespaces", name, o.Name)
				continue
			}
			j.coOwner(p.New, o, name)
		}
	}
}

// coOwner finds what becomes of another owner of a CRD: OLM writes the newer one for all.
func (j *judge) coOwner(by, o *Operator, name string) {
	now, before := j.after[name], j.inCluster(name)
	if now == nil || before == nil || same(before, now) {
		return
	}
	if v := unserved(o, now); v != "" && slices.Contains(olm.ServedVersions(before), v) {
		j.add(o, RuleCRDOwner, findings.Error, ownedField,
			"owns CRD %s, too, and %s does not serve %s any more: it fails with RequirementsNotMet", name, by.Name, v)
		return
	}
	j.add(o, RuleCRDOwner, findings.Warning, ownedField, "owns CRD %s, too, and gets the one of %s", name, by.Name)
}

func owned(o *Operator) []string {
	return lists.Keys(lists.Set(o.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) string { return d.Name }))
}

// unserved returns the version of a CRD that an operator owns or requires and that the CRD does not serve; empty if
// there is none. Of two descriptions of a CRD OLM takes the last (OLM: pkg/controller/operators/olm/requirements.go,
// requirementStatus; api: GetAllCRDDescriptions).
func unserved(o *Operator, crd *manifest.Object) (version string) {
	for _, a := range slices.Concat(olm.OwnedAPIs(&o.Spec), olm.RequiredAPIs(&o.Spec)) {
		if a.CRD == crd.Name {
			version = a.Version
		}
	}
	if slices.Contains(olm.ServedVersions(crd), version) {
		return ""
	}
	return version
}

// notServed finds a version that the newer release owns and that its CRD does not serve.
func (j *judge) notServed(p Pair) {
	for _, a := range olm.OwnedAPIs(&p.New.Spec) {
		now, before := j.after[a.CRD], j.before[a.CRD]
		if now == nil || unserved(p.New, now) != a.Version ||
			p.Old != nil && before != nil && unserved(p.Old, before) != "" {
			continue
		}
		j.add(p.New, RuleNotServed, findings.Error, ownedField,
			"owns %s, which its CRD does not serve: it stays Pending with RequirementsNotMet", describe(a))
	}
}

// path finds that OLM does not upgrade from the older release to the newer one, if both are of one package and the
// newer one says what it replaces.
func (j *judge) path(p Pair) {
	if p.Old != nil && p.Old.Name == p.New.Name && len(p.Old.Bundle)*len(p.New.Bundle) > 0 &&
		!equality.Semantic.DeepEqual(p.Old.Spec, p.New.Spec) {
		j.add(p.New, RuleSameName, findings.Warning, "metadata.name",
			"has the name of the older release, and is another one: OLM installs nothing of it where that is installed")
	}
	if j.PathKnown || p.Old == nil || p.Old.Name == p.New.Name {
		return
	}
	old, entry := p.Old.Name, p.New.Entry
	if entry.Updates(old, &p.Old.Spec.Version.Version) != catalog.NoEdge {
		return
	}
	severity := findings.Warning
	why := "has no replaces, skips or skipRange: its catalog has to say that it follows " + old
	if p.Old.base() != p.New.base() {
		severity = findings.Error // nothing but its own fields could say that it follows
	}
	switch {
	case entry.Replaces != "":
		why = "replaces " + entry.Replaces + " and not " + old + ": OLM does not upgrade in one step"
	case entry.SkipRange != "" || len(entry.Skips) > 0:
		why = "does not skip " + old + ": OLM does not upgrade in one step"
	case severity == findings.Error:
		why = "has another name and no replaces, skips or skipRange: OLM does not upgrade " + old + " to it"
	default:
		severity = findings.Info
	}
	j.add(p.New, RulePath, severity, "spec.replaces", "%s", why)
}
