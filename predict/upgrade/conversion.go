package upgrade

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// conversions finds CRDs of the newer release whose objects nothing converts. OLM writes a CRD as the bundle has it,
// and sets its conversion later, when it installs the Deployments (OLM: pkg/controller/install/webhook.go,
// createOrUpdateConversionWebhook).
func (j *judge) conversions(p Pair) {
	before := map[string]bool{}
	if p.Old != nil {
		objects := shipped(p.Old, j.Old)
		for _, crd := range ownedCRDs(p.Old, objects) {
			before[crd.Name] = unconverted(p.Old, crd, objects) != nil
		}
	}
	objects := shipped(p.New, j.New)
	for _, crd := range ownedCRDs(p.New, objects) {
		if gap := unconverted(p.New, crd, objects); gap != nil && !before[crd.Name] {
			level := gap.Level()
			if gap.Set { // again and again, which installs it once and fails when it is to be updated
				level = findings.Error
			}
			j.addAt(p.New, RuleConversion, level, crd, "spec.conversion", "%s", gap.Why)
		}
	}
}

// unconverted returns why nothing converts a CRD; nil too if nobody asks yet.
func unconverted(o *Operator, crd *manifest.Object, objects []*manifest.Object) *fit.Gap {
	operator := fit.Operator{CSV: o.ClusterServiceVersion, Shipped: objects}
	if len(o.Bundle) > 0 {
		operator.Namespace = o.Namespace
	}
	if gap := fit.Unconverted(operator, crd); gap != nil && !gap.Idle() {
		return gap
	}
	return nil
}

// shipped returns what an operator ships: what its bundle has, else what is rendered.
func shipped(o *Operator, rendered []*manifest.Object) []*manifest.Object {
	if len(o.Bundle) > 0 {
		return o.Bundle
	}
	return rendered
}

// ownedCRDs returns the CRDs that an operator owns.
func ownedCRDs(o *Operator, objects []*manifest.Object) (out []*manifest.Object) {
	crds := olm.CRDs(objects)
	for _, name := range owned(o) {
		if crd := crds[name]; crd != nil {
			out = append(out, crd)
		}
	}
	return out
}
