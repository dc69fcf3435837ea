package adopt

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/olm"
)

// plans finds the images of bundles, and earlier versions, in the InstallPlans.
func (s *State) plans() error {
	for _, object := range s.Dump.OfKind("InstallPlan") {
		plan := &v1alpha1.InstallPlan{}
		if err := object.Decode(plan); err != nil {
			return err
		}
		for _, g := range s.Groups {
			if g.Namespace != object.Namespace {
				continue
			}
			for _, lookup := range plan.Status.BundleLookups {
				g.bundle(lookup, object)
			}
			for _, o := range g.Operators {
				o.earlier(plan, s)
			}
		}
	}
	for _, o := range s.All() {
		slices.Sort(o.Earlier)
		o.Earlier = slices.Compact(o.Earlier)
	}
	return nil
}

// bundle notes where a bundle came from. An image by digest is better than one by tag.
func (g *Group) bundle(lookup v1alpha1.BundleLookup, plan *dump.Object) {
	for _, o := range g.Operators {
		if o.CSV.Name != lookup.Identifier || lookup.Path == "" {
			continue
		}
		if o.Image == "" || !strings.Contains(o.Image, "@") && strings.Contains(lookup.Path, "@") {
			o.Image, o.ImageFrom = lookup.Path, "status.bundleLookups of "+plan.Identity()
			if from := lookup.CatalogSourceRef; from != nil {
				o.LookedUp = from.Namespace + "/" + from.Name
			}
		}
	}
}

// earlier notes CSVs of the same name that a plan had installed and that are gone. OLM leaves objects of theirs behind.
func (o *Operator) earlier(plan *v1alpha1.InstallPlan, s *State) {
	base := olm.BaseName(o.CSV.Name, "")
	for _, name := range plan.Spec.ClusterServiceVersionNames {
		if olm.BaseName(name, "") == base && s.Dump.Get("ClusterServiceVersion", plan.Namespace, name) == nil {
			o.Earlier = append(o.Earlier, name)
		}
	}
	if r := o.CSV.Spec.Replaces; r != "" && s.Dump.Get("ClusterServiceVersion", plan.Namespace, r) == nil {
		o.Earlier = append(o.Earlier, r)
	}
}
