package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

// consequences returns what OLM would do about the upgrade.
func consequences(ctx context.Context, pairs []pair, old, now State, o Options) ([]Consequence, error) {
	u := upgrade.Upgrade{Old: old.Objects, New: now.Objects, Cluster: together(o.Cluster, o.CRDs.Objects),
		PathKnown: o.PathKnown, Phases: o.Phases, Checker: apiserver.Checker{}, API: o.API}
	u.Pairs = lists.Map(lists.Filter(pairs, pair.byOLM), func(p pair) upgrade.Pair {
		return upgrade.Pair{Old: p.old.release(), New: p.now.release()}
	})
	u.Others = lists.Map(o.Others, func(other Operator) upgrade.Release { return *other.release() })
	found, err := u.Findings(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if !o.PathKnown && p.byOLM() {
			found = append(found, p.sameVersion()...)
		}
		if p.now == nil || p.now.Unannotated == nil || p.old == nil || p.old.Metadata == nil {
			continue // opm refuses no release, or the older one, too
		}
		found = append(found, Consequence{Rule: fit.RuleCatalog.ID, Operator: p.now.Name, Severity: findings.Error,
			Message: "has " + p.now.Unannotated.Msg, File: p.now.Unannotated.File})
	}
	return append(found, o.unfit(pairs)...), nil
}

// sameVersion returns why no catalog can have both releases.
func (p pair) sameVersion() (out []Consequence) {
	if p.old == nil || p.now == nil || p.now.Package == "" || p.old.Package != p.now.Package {
		return nil
	}
	f := p.old.offered().SameVersion(p.now.offered())
	if f == nil {
		return nil
	}
	return []Consequence{{Rule: ruleSameVersion, Operator: p.now.Name, Severity: findings.Error,
		Message: f.Text + ": opm serves no catalog that has both", File: f.File, Line: f.Line}}
}

// offered returns an operator as a bundle of a catalog.
func (o *Operator) offered() *catalog.Bundle {
	b := &catalog.Bundle{Name: o.Name, Properties: append(slices.Clone(o.Properties), // the first one counts
		catalog.PropertyOf(catalog.PackageProperty{Version: o.version(), Release: o.Spec.Release.String()}))}
	if o.Object != nil {
		b.File, b.Line = o.Object.PlaceOf("spec.version")
	}
	return b
}

// byOLM reports whether OLM has something to do with a pair, as far as that is known.
func (p pair) byOLM() bool { return p.now == nil || !p.now.WithoutOLM }

// together returns the objects of both lists, each once: a path may be that of the cluster and of custom resources.
func together(a, b []*manifest.Object) []*manifest.Object {
	places := lists.Groups(slices.Concat(a, b), func(o *manifest.Object) string {
		return fmt.Sprintf("%s:%d %s %s", o.File, o.Line, o.Group(), o.Identity())
	})
	return lists.Map(places, func(same []*manifest.Object) *manifest.Object { return same[0] })
}

// ruleUnresolved is about an operator that the newer release asks for in another way, and that is not known.
const ruleUnresolved = "operator-unknown"

// refuses reports whether OLM refuses the upgrade, or an operator fails. An unknown operator is no word of OLM's.
func refuses(c Consequence) bool {
	return c.Severity == findings.Error && c.Rule != ruleUnresolved && !ofTarget(c.Rule)
}

// unresolved returns an error for each object that changed and whose operator is not known.
func unresolved(list []Unresolved) (out []Consequence) {
	for _, u := range list {
		if u.Changed {
			out = append(out, Consequence{Rule: ruleUnresolved, Operator: u.Object, Severity: findings.Error,
				Message: "asks for an operator that is not known: " + u.Message, File: u.File, Line: u.Line})
		}
	}
	return out
}

// resolverConsequences returns what OLM's resolver says.
func resolverConsequences(list []findings.Finding) []Consequence {
	return lists.Map(list, func(f findings.Finding) Consequence {
		said := findings.Finding{Field: f.Field, Message: f.Message}
		return Consequence{Rule: f.Rule, Operator: f.Object, Severity: f.Level, Message: said.Description(),
			File: f.File, Line: f.Line}
	})
}

// release returns an operator as package upgrade looks at it.
func (o *Operator) release() *upgrade.Release {
	if o == nil {
		return nil
	}
	r := &upgrade.Release{CSV: o.CSV, Entry: o.entry(), Bundle: o.Shipped, InstallMode: o.InstallMode,
		Unsupported: o.Unsupported, ByOLMv1: o.ByOLMv1, CRDSafety: o.CRDSafety}
	if o.Entry == nil {
		r.Channels = o.Channels
	}
	return r
}

// unfit returns what keeps the operators of the newer release from working in the cluster, and not those of the older
// one, and what nobody knows of another release: the older one may have been in order.
func (o Options) unfit(pairs []pair) (out []Consequence) {
	for _, p := range pairs {
		if p.now == nil {
			continue
		}
		var before, after []findings.Finding
		if o.Unfit != nil {
			after = o.Unfit(p.now)
		}
		if p.old != nil && o.Unfit != nil {
			before = o.Unfit(p.old)
		}
		if p.old != nil && o.Moves != nil {
			after = append(after, o.Moves(p.old, p.now)...)
		}
		for _, f := range after {
			if slices.ContainsFunc(before, func(b findings.Finding) bool {
				return b.Rule == f.Rule && b.Message == f.Message && b.Level == f.Level &&
					(p.old.Name == p.now.Name || !fit.SaysNothing(f))
			}) {
				continue
			}
			c := Consequence{Rule: f.Rule, Operator: p.now.Name, Severity: f.Level, Message: f.Message,
				File: f.File, Line: f.Line}
			if f.Level == findings.Note {
				c.Severity = findings.Info
			}
			out = lists.Add(out, c)
		}
	}
	return out
}

// ofTarget reports whether a rule is about the cluster, and not about what OLM does with the upgrade.
func ofTarget(rule string) bool { return strings.HasPrefix(rule, fit.Prefix) }
