package upgrade

import (
	"context"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict/plan"
)

// gone finds objects that the newer release ships and that go with the older one, which is their only owner: it plays
// both InstallPlans. Package predict does so for a whole cluster.
func (j *judge) gone(ctx context.Context, p Pair) error {
	if j.Played || len(p.Old.Bundle)*len(p.New.Bundle) == 0 || p.Old.Namespace != p.New.Namespace ||
		p.Old.Name == p.New.Name {
		return nil
	}
	c := plan.NewCluster(nil, p.New.Namespace)
	var last *plan.Result
	for _, o := range []*Operator{p.Old, p.New} {
		release := plan.Release{CSV: o.ClusterServiceVersion, Object: o.Object}
		for _, x := range o.Bundle {
			if k, ok := install.KindOf(x.Kind); ok && k.Typed {
				release.Shipped = append(release.Shipped, x)
			}
		}
		var err error
		one := plan.Plan{Namespace: p.New.Namespace, Releases: []plan.Release{release}}
		if last, err = one.Run(ctx, c); err != nil {
			return err
		}
	}
	old := c.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, p.New.Namespace, p.Old.Name)
	if old == nil || last.Phase == v1alpha1.InstallPlanPhaseFailed { // the older release stays
		return nil
	}
	for _, x := range c.Delete(old) {
		if last.Ships(x) {
			j.addAt(p.New, RuleLost, findings.Warning, shippedAs(p.New, x), "", "needs %s %s, which is deleted with "+
				"%s, its only owner; by chance OLM makes it again, and its tokens die", x.Kind, x.Name, p.Old.Name)
		}
	}
	return nil
}

func shippedAs(o *Operator, x *manifest.Object) *manifest.Object {
	for _, s := range o.Bundle {
		if s.Kind == x.Kind && s.Name == x.Name {
			return s
		}
	}
	return o.Object
}
