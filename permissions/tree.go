package permissions

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// InstalledCSVs returns the ClusterServiceVersions among objects that are no copies.
func InstalledCSVs(objects []*manifest.Object) ([]CSV, error) {
	var out []CSV
	for _, o := range objects {
		if o.Kind != v1alpha1.ClusterServiceVersionKind || o.Group() != olm.Group {
			continue
		}
		var csv v1alpha1.ClusterServiceVersion
		if _, err := o.Into(&csv); err != nil {
			return nil, err
		}
		if _, copied := olm.Copied(csv.ObjectMeta, csv.Status.Reason); !copied {
			out = append(out, CSV{ClusterServiceVersion: &csv, Object: o, Namespace: o.Namespace})
		}
	}
	return out, nil
}

// Locate changes the paths of files to those that a person finds them by, in findings only: items keep the path inside
// their source.
func (r *Report) Locate(path func(file string) string) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.File != "" {
			f.Path = path(f.File)
		}
	}
}
