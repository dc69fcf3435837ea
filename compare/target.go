package compare

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/generate/fit"
)

// Target is a cluster with certain releases of OLM, OpenShift and Kubernetes, and who installs the operators in it.
type Target struct {
	Cluster fit.Cluster
	Form    fit.Form // empty: as the releases say
}

// fits returns what keeps the operators of the newer release from working in the cluster, and not those of the older
// one.
func (t Target) fits(pairs []pair) (out []Consequence) {
	if !t.Cluster.Known() {
		return nil
	}
	for _, p := range pairs {
		if p.now == nil {
			continue
		}
		var before []findings.Finding
		if p.old != nil {
			before = t.of(p.old)
		}
		for _, f := range t.of(p.now) {
			if slices.ContainsFunc(before, func(o findings.Finding) bool {
				return o.Rule == f.Rule && o.Message == f.Message && o.Level == f.Level
			}) {
				continue
			}
			severity := f.Level
			if severity == findings.Note {
				severity = findings.Info
			}
			c := Consequence{Rule: f.Rule, Operator: p.now.Name, Severity: severity, Message: f.Message, File: f.File,
				Line: f.Line}
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// of returns what keeps an operator from working in the cluster.
func (t Target) of(o *Operator) []findings.Finding {
	form := t.Form
	if form == "" {
		form = t.Cluster.Form()
	}
	operator := fit.Installed(o.ClusterServiceVersion, o.Object)
	if o.Package != "" {
		b := &bundle.Bundle{CSV: o.ClusterServiceVersion, Properties: o.Properties, Dependencies: o.Dependencies}
		operator = fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object, Properties: b.CatalogProperties(),
			Shipped: o.Shipped}
	}
	return fit.Findings(operator, form, t.Cluster)
}

// ofTarget reports whether a rule is about the cluster, and not about what OLM does with the upgrade.
func ofTarget(rule string) bool { return strings.HasPrefix(rule, fit.Prefix) }
