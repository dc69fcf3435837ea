package predict

import (
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// ofSubscription returns the CSV of a Subscription, if it is one of these: the one that its status names, or one
// without a cluster's status that its spec names, that has OLM's label for the package, or the name of the package.
func ofSubscription(s *cluster.Subscription, csvs []*csv) *csv {
	label := olm.Group + "/" + s.Package + "." + s.Namespace
	for _, named := range []func(*csv) bool{
		func(v *csv) bool { return v.Name == s.InstalledCSV },
		func(v *csv) bool {
			if v.observed {
				return false
			}
			_, labelled := v.Labels[label]
			return labelled || v.Name == s.StartingCSV || bundle.BaseName(v.Name, "") == s.Package
		},
	} {
		if i := slices.IndexFunc(csvs, named); i >= 0 {
			return csvs[i]
		}
	}
	return nil
}

// where returns the object that findings about a CSV refer to.
func (v *csv) where() *manifest.Object {
	if v.sub != nil {
		return v.sub.Object
	}
	return v.Object
}
