package generate

import (
	"maps"
	"slices"
)

// The profiles by what they render: as OLM v0 does, or at least without OLM v1.
var (
	asOLMv0    = []Profile{ProfileOLM, ProfilePlain}
	asOperator = []Profile{ProfileOLM, ProfilePlain, ProfileDescoped}
)

// uses says which profiles take an option; one that is not listed is for all of them. Profile plain is profile olm without OLM's own objects, so it
// takes the same options, those about these objects too: one call can serve both.
var uses = map[string][]Profile{
	"names":                     asOLMv0,
	"issuer":                    asOperator,
	"cert-secret":               asOperator,
	"ca-bundle":                 asOperator,
	"convert-crds":              asOperator,
	"certs":                     slices.Concat(asOperator, []Profile{ProfileOLMv1}),
	"mirror-map":                slices.Concat(asOperator, []Profile{ProfileOLMv1}),
	"operator-group":            slices.Concat(asOperator, []Profile{ProfileSubscription}),
	"create-namespace":          slices.Concat(asOperator, []Profile{ProfileSubscription, ProfileClusterExtension}),
	"install-mode":              slices.Concat(asOLMv0, []Profile{ProfileOLMv1, ProfileSubscription, ProfileClusterExtension}),
	"copied-csvs":               asOLMv0,
	"copied-csv-namespaces":     asOLMv0,
	"selector":                  slices.Concat(asOLMv0, []Profile{ProfileSubscription}),
	"static-provided-apis":      slices.Concat(asOLMv0, []Profile{ProfileSubscription}),
	"service-account":           slices.Concat(asOLMv0, []Profile{ProfileSubscription, ProfileClusterExtension}),
	"subscription":              {ProfileSubscription},
	"approval":                  {ProfileSubscription},
	"starting-csv":              {ProfileSubscription},
	"catalog-source":            {ProfileSubscription},
	"catalog-image":             {ProfileSubscription},
	"cluster-extension":         {ProfileClusterExtension},
	"version-range":             {ProfileClusterExtension},
	"upgrade-constraint-policy": {ProfileClusterExtension},
	"bind-namespaces":           {ProfileDescoped},
	"bind-all":                  {ProfileDescoped},
	"aggregate-to":              {ProfileDescoped},
	"split":                     {ProfileDescoped},
}

// ProfilesFor gives the profiles that take an option, which is named as its flag of olmgen render is: all of them, unless something else is
// known. Whoever takes options from a person refuses one that would do nothing.
func ProfilesFor(option string) []Profile {
	if profiles, ok := uses[option]; ok {
		return slices.Clone(profiles)
	}
	return slices.Clone(Profiles)
}

// Uses reports whether a profile, the default one if it is empty, has a use for an option.
func (p Profile) Uses(option string) bool {
	setDefault(&p, ProfileOLM)
	return slices.Contains(ProfilesFor(option), p)
}

// TakesCerts reports whether a provider may make the certificates in a profile.
func (p Profile) TakesCerts(c Certs) bool {
	return p.Uses("certs") && (p != ProfileOLMv1 || c != CertsUser && c != CertsOLM)
}

// HandsOver reports whether a profile hands the operator to OLM, which then installs it.
func (p Profile) HandsOver() bool { return p == ProfileSubscription || p == ProfileClusterExtension }

// LimitedOptions lists the options that some profile has no use for, sorted.
func LimitedOptions() []string { return slices.Sorted(maps.Keys(uses)) }
