package olm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// API is an API that an operator provides or requires: a version of a CRD, or an APIService.
type API struct {
	Kind, Version, Group, Plural string
	CRD                          string // its name; empty for an APIService
}

// String returns the form of olm.providedAPIs: Kind.version.group (OLM:
// pkg/controller/registry/resolver/cache/operators.go, APISet.String).
func (a API) String() string { return a.Kind + "." + a.Version + "." + a.Group }

// Object returns the name of the CRD or of the APIService.
func (a API) Object() string {
	return cmp.Or(a.CRD, a.Version+"."+a.Group)
}

// OwnedAPIs returns the APIs that a ClusterServiceVersion owns, in its order, each once, with the versions that it
// names. These are what its OperatorGroup provides, and what OLM's resolver takes of an installed operator that has no
// properties (OLM: pkg/controller/operators/olm/labeler.go, apiSurfaceOfCSV;
// pkg/controller/registry/resolver/source_csvs.go, newEntryFromV1Alpha1CSV).
func OwnedAPIs(spec *v1alpha1.ClusterServiceVersionSpec) []API {
	return apisOf(spec.CustomResourceDefinitions.Owned, spec.APIServiceDefinitions.Owned)
}

// RequiredAPIs returns the APIs that a ClusterServiceVersion requires, in its order, each once.
func RequiredAPIs(spec *v1alpha1.ClusterServiceVersionSpec) []API {
	return apisOf(spec.CustomResourceDefinitions.Required, spec.APIServiceDefinitions.Required)
}

// CatalogAPIs returns the APIs that a catalog says that a bundle provides: all versions of the CRDs that it ships,
// whatever the ClusterServiceVersion names, and the APIServices that this owns (operator-registry:
// pkg/registry/bundle.go, ProvidedAPIs).
func CatalogAPIs(spec *v1alpha1.ClusterServiceVersionSpec, shipped []API) []API {
	return append(slices.Clip(shipped), apisOf(nil, spec.APIServiceDefinitions.Owned)...)
}

var roleOfUsers = lazy.Regexp(`^(.+)-[^-]+-(admin|edit|view|crdview|view-crd)$`)

// APIOf returns the CRD or the plural of the APIService for whose users OLM gives a ClusterRole such a name, or olmgen
// one of its stable names; "" if it is for none (OLM: operatorgroup.go, ensureClusterRolesForCSV).
func APIOf(role string) string {
	if parts := roleOfUsers().FindStringSubmatch(role); parts != nil {
		return parts[1]
	}
	return ""
}

// ServedAPIs returns the APIs that an operator serves: each served version of the CRDs that are known, by name.
func ServedAPIs(spec *v1alpha1.ClusterServiceVersionSpec, crds map[string]*manifest.Object) (out []API) {
	for _, a := range OwnedAPIs(spec) {
		versions := []string{a.Version}
		if crd := crds[a.CRD]; crd != nil {
			versions = ServedVersions(crd)
		}
		for _, v := range versions {
			if a.Version = v; !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

func apisOf(crds []v1alpha1.CRDDescription, services []v1alpha1.APIServiceDescription) []API {
	var out []API
	for _, d := range crds {
		plural, group, _ := strings.Cut(d.Name, ".")
		out = append(out, API{Kind: d.Kind, Version: d.Version, Group: group, Plural: plural, CRD: d.Name})
	}
	for _, d := range services {
		out = append(out, API{Kind: d.Kind, Version: d.Version, Group: d.Group, Plural: d.Name})
	}
	return lists.Unique(out)
}

// CheckCRDNames returns OLM's error about the first CRD that a ClusterServiceVersion owns or requires and whose name is
// not PLURAL.GROUP. OLM ignores such a ClusterServiceVersion, and its resolver fails (the functions of OwnedAPIs).
func CheckCRDNames(spec *v1alpha1.ClusterServiceVersionSpec) error {
	for _, d := range slices.Concat(spec.CustomResourceDefinitions.Owned, spec.CustomResourceDefinitions.Required) {
		if !strings.Contains(d.Name, ".") {
			return fmt.Errorf("error parsing crd name: %s", d.Name)
		}
	}
	return nil
}
