package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
)

// The rules about what OLM would do.
const (
	ruleAPIRequired = "api-required" // a removed API that another operator requires
	ruleInstallMode = "install-mode" // the OperatorGroup asks for a mode that is not supported any more
	ruleCRDOwner    = "crd-owner"    // a CRD that another operator owns, too
	ruleUpgradePath = "no-upgrade"   // the newer release does not replace the older one
)

// consequences finds what OLM would do about the upgrade.
func consequences(pairs []pair, now State, o Options) []Consequence {
	var out []Consequence
	add := func(of *Operator, rule string, s findings.Severity, field, format string, args ...any) {
		c := Consequence{Rule: rule, Operator: of.Name, Severity: s,
			Message: fmt.Sprintf(format, args...)}
		if of.Object != nil {
			c.File, c.Line = of.Object.File, of.Object.LineOf(field)
		}
		out = append(out, c)
	}
	all := slices.Concat(now.Operators, o.Others)
	for _, p := range pairs {
		for _, lost := range lostAPIs(p, all) {
			for i := range all {
				if requires(all[i], lost) {
					add(&all[i], ruleAPIRequired, findings.Error, requiredField,
						"requires %s, which %s does not provide any more: OLM refuses the upgrade, or the "+
							"ClusterServiceVersion fails with RequirementsNotMet", lost, nameOf(p))
				}
			}
		}
		if p.now == nil {
			continue
		}
		if p.now.Unsupported && (p.old == nil || !p.old.Unsupported) {
			add(p.now, ruleInstallMode, findings.Error, "spec.installModes",
				"does not support %s, which its OperatorGroup asks for: it fails with UnsupportedOperatorGroup",
				p.now.InstallMode)
		}
		for _, crd := range freshCRDs(p) {
			for i := range all {
				if all[i].Name != p.now.Name &&
					all[i].stem() != p.now.stem() &&
					slices.Contains(owned(&all[i]), crd) {
					add(p.now, ruleCRDOwner, findings.Error, ownedField,
						"owns CRD %s, and so does %s: OLM refuses to install both in one set of namespaces", crd,
						all[i].Name)
				}
			}
		}
		if severity, why := noUpgrade(p); why != "" && !o.PathKnown {
			add(p.now, ruleUpgradePath, severity, "spec.replaces", "%s", why)
		}
	}
	slices.SortStableFunc(out, func(a, b Consequence) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Operator, b.Operator),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return out
}

const (
	ownedField    = "spec.customresourcedefinitions.owned"
	requiredField = "spec.customresourcedefinitions.required"
)

func nameOf(p pair) string {
	if p.now != nil {
		return p.now.Name
	}
	return p.old.Name
}

// provided returns the APIs that an operator provides.
func provided(o *Operator) []string { return fieldsOf(o, change.Provided) }

func fieldsOf(o *Operator, part change.Part) (out []string) {
	for f := range factsOf(*o) {
		if f.part == part {
			out = append(out, f.field)
		}
	}
	slices.Sort(out)
	return out
}

func requires(o Operator, api string) bool {
	return slices.Contains(fieldsOf(&o, change.Required), api)
}

// lostAPIs returns the APIs that a pair loses and that nobody else provides.
func lostAPIs(p pair, all []Operator) []string {
	if p.old == nil {
		return nil
	}
	return slices.DeleteFunc(provided(p.old), func(api string) bool {
		return slices.ContainsFunc(all, func(o Operator) bool { return slices.Contains(provided(&o), api) })
	})
}

// owned returns the CRDs that an operator owns.
func owned(o *Operator) (out []string) {
	if o == nil {
		return nil
	}
	for _, d := range o.Spec.CustomResourceDefinitions.Owned {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// freshCRDs returns the CRDs that the newer release owns and the older one does not.
func freshCRDs(p pair) []string {
	before := owned(p.old)
	return slices.DeleteFunc(owned(p.now), func(crd string) bool { return slices.Contains(before, crd) })
}

// noUpgrade returns why OLM does not upgrade from the older release to the newer one, if both are of one package and
// the newer one says what it replaces (docs/spec/olm-v0.md, section 11).
func noUpgrade(p pair) (findings.Severity, string) {
	if p.old == nil || p.old.stem() != p.now.stem() ||
		p.old.Name == p.now.Name {
		return "", ""
	}
	old := p.old.Name
	entry := p.now.entry()
	if entry.Updates(old, &p.old.Spec.Version.Version) != catalog.NoEdge {
		return "", ""
	}
	switch {
	case entry.Replaces != "":
		return findings.Warning,
			fmt.Sprintf("replaces %s and not %s: OLM does not upgrade in one step", entry.Replaces, old)
	case entry.SkipRange != "" || len(entry.Skips) > 0:
		return findings.Warning, fmt.Sprintf("does not skip %s: OLM does not upgrade in one step", old)
	}
	return findings.Info,
		fmt.Sprintf("has no replaces, skips or skipRange: its catalog has to say that it follows %s", old)
}
