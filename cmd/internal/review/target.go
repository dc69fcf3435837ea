package review

import (
	"cmp"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
)

// Unfit returns a function to what keeps an operator from working in a cluster; nil if nothing is known of it. An empty
// form is that which the releases say.
func Unfit(c fit.Cluster, form fit.Form) func(*compare.Operator) []findings.Finding {
	if !c.Known() {
		return nil
	}
	if form == "" {
		form = c.Form()
	}
	return func(o *compare.Operator) []findings.Finding {
		operator := fit.Installed(o.ClusterServiceVersion, o.Object)
		if o.Package != "" {
			b := &bundle.Bundle{CSV: o.ClusterServiceVersion, Properties: o.Properties, Dependencies: o.Dependencies}
			operator = fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object, Properties: b.CatalogProperties(),
				Shipped: o.Shipped}
		}
		return fit.Findings(operator, form, c)
	}
}

// Moves returns a function to what a form does with the namespace of an operator; nil if it does nothing with it.
func Moves(c fit.Cluster, form fit.Form) func(old, now *compare.Operator) []findings.Finding {
	if form == "" && c.Known() {
		form = c.Form()
	}
	if form != fit.OLMv1 {
		return nil
	}
	return func(old, now *compare.Operator) []findings.Finding {
		of := func(o *compare.Operator) fit.Operator {
			return fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object,
				Bundle: &bundle.Bundle{Package: cmp.Or(o.Package, old.Package)}}
		}
		return fit.Moved(of(old), of(now), c)
	}
}
