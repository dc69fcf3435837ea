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

// uses says which profiles have a use for an option; one that is not listed is for all of them. Profile plain has no object for what an
// OperatorGroup says beside its name and its targets.
var uses = map[string][]Profile{
	"names":                     asOLMv0,
	"issuer":                    asOperator,
	"cert-secret":               asOperator,
	"ca-bundle":                 asOperator,
	"convert-crds":              asOperator,
	"certs":                     slices.Concat(asOperator, []Profile{ProfileOLMv1}),
	"mirror-map":                slices.Concat(asOperator, []Profile{ProfileOLMv1}),
	"allow-unsupported":         slices.Concat(asOperator, []Profile{ProfileSubscription}),
	"operator-group":            slices.Concat(asOperator, []Profile{ProfileSubscription}),
	"create-namespace":          slices.Concat(asOperator, []Profile{ProfileSubscription, ProfileClusterExtension}),
	"install-mode":              slices.Concat(asOLMv0, []Profile{ProfileOLMv1, ProfileSubscription, ProfileClusterExtension}),
	"copied-csvs":               {ProfileOLM},
	"copied-csv-namespaces":     {ProfileOLM},
	"selector":                  {ProfileOLM, ProfileSubscription},
	"static-provided-apis":      {ProfileOLM, ProfileSubscription},
	"service-account":           {ProfileOLM, ProfileSubscription, ProfileClusterExtension},
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

// ProfilesFor gives the profiles that have a use for an option, which is named as its flag of olmgen render is: all of them, unless something else is
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

// HandsOver reports whether a profile hands the operator to OLM, which then installs it.
func (p Profile) HandsOver() bool { return p == ProfileSubscription || p == ProfileClusterExtension }

// LimitedOptions lists the options that some profile has no use for, sorted.
func LimitedOptions() []string { return slices.Sorted(maps.Keys(uses)) }
