package review

import (
	"cmp"
	"context"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
)

// Unfit returns a function to what keeps an operator from working in a cluster, and to what its catalog says of its
// support. If nothing is known of the cluster, there is only the latter. An empty form is that which the releases say.
func Unfit(c fit.Cluster, form fit.Form) func(*compare.Operator) []findings.Finding {
	if form == "" {
		form = c.Form()
	}
	return func(o *compare.Operator) []findings.Finding {
		var operator fit.Operator
		if o.Package == "" {
			operator = fit.Installed(o.ClusterServiceVersion, o.Object)
		} else {
			b := &bundle.Bundle{CSV: o.ClusterServiceVersion, Properties: o.Properties, Dependencies: o.Dependencies}
			operator = fit.Operator{CSV: o.ClusterServiceVersion, Object: o.Object, Properties: b.CatalogProperties(),
				Shipped: o.Shipped}
		}
		if len(o.Lifecycles) > 0 {
			operator.Lifecycle = fit.ReadLifecycle(o.Lifecycles)
		}
		if !c.Known() {
			return fit.Support(operator, c)
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

// said adds what a catalog says about a release that was chosen in it.
func said(ctx context.Context, o *compare.Operator, chosen catalog.Choice) (err error) {
	if chosen.Package == nil {
		return nil
	}
	o.Deprecated = append(o.Deprecated, chosen.Deprecations()...)
	o.Lifecycles, err = chosen.Package.DocumentsOf(ctx, fit.SchemaLifecycle)
	return err
}
