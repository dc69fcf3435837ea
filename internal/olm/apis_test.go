package olm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
)

var (
	boat   = v1alpha1.CRDDescription{Name: "boats.ferry.example.com", Version: "v1", Kind: "Boat"}
	pier   = v1alpha1.CRDDescription{Name: "piers.ferry.example.com", Version: "v2", Kind: "Pier"}
	noDot  = v1alpha1.CRDDescription{Name: "piers", Version: "v2", Kind: "Pier"}
	worse  = v1alpha1.CRDDescription{Name: "", Version: "v2", Kind: "Pier"}
	tide   = v1alpha1.APIServiceDescription{Name: "tides", Group: "sea.example.com", Version: "v1", Kind: "Tide"}
	wind   = v1alpha1.APIServiceDescription{Name: "winds", Group: "sea.example.com", Version: "v2", Kind: "Wind"}
	boatV1 = olm.API{Kind: "Boat", Version: "v1", Group: "ferry.example.com", Plural: "boats", CRD: boat.Name}
	boatV2 = olm.API{Kind: "Boat", Version: "v2", Group: "ferry.example.com", Plural: "boats", CRD: boat.Name}
	pierV2 = olm.API{Kind: "Pier", Version: "v2", Group: "ferry.example.com", Plural: "piers", CRD: pier.Name}
	tideV1 = olm.API{Kind: "Tide", Version: "v1", Group: "sea.example.com", Plural: "tides"}
	windV2 = olm.API{Kind: "Wind", Version: "v2", Group: "sea.example.com", Plural: "winds"}
)

func spec(owned, required []v1alpha1.CRDDescription) *v1alpha1.ClusterServiceVersionSpec {
	return &v1alpha1.ClusterServiceVersionSpec{
		CustomResourceDefinitions: v1alpha1.CustomResourceDefinitions{Owned: owned, Required: required},
		APIServiceDefinitions: v1alpha1.APIServiceDefinitions{
			Owned: []v1alpha1.APIServiceDescription{tide}, Required: []v1alpha1.APIServiceDescription{wind}},
	}
}

func TestAPIs(t *testing.T) {
	s := spec([]v1alpha1.CRDDescription{boat, boat}, []v1alpha1.CRDDescription{pier})
	for name, tc := range map[string]struct{ got, want []olm.API }{
		"owned":    {olm.OwnedAPIs(s), []olm.API{boatV1, tideV1}},
		"required": {olm.RequiredAPIs(s), []olm.API{pierV2, windV2}},
		"of a catalog, with each version of the CRD": {
			olm.CatalogAPIs(s, []olm.API{boatV1, boatV2}), []olm.API{boatV1, boatV2, tideV1}},
		"of a catalog, with a CRD that is not owned": {olm.CatalogAPIs(s, []olm.API{pierV2}), []olm.API{pierV2, tideV1}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for api, want := range map[olm.API][2]string{
		boatV2: {"Boat.v2.ferry.example.com", "boats.ferry.example.com"},
		tideV1: {"Tide.v1.sea.example.com", "v1.sea.example.com"},
	} {
		if got := [2]string{api.String(), api.Object()}; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// OLM names the first bad name, of the owned CRDs before the required ones.
func TestCheckCRDNames(t *testing.T) {
	for want, s := range map[string]*v1alpha1.ClusterServiceVersionSpec{
		"":                              spec([]v1alpha1.CRDDescription{boat}, []v1alpha1.CRDDescription{pier}),
		"error parsing crd name: piers": spec([]v1alpha1.CRDDescription{boat, noDot, worse}, []v1alpha1.CRDDescription{worse}),
		"error parsing crd name: ":      spec([]v1alpha1.CRDDescription{worse}, []v1alpha1.CRDDescription{noDot}),
	} {
		got := ""
		if err := olm.CheckCRDNames(s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
