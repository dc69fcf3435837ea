package config

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/generate"
)

// ProfileOf returns the profile of one of the bundles.
func (c *Config) ProfileOf(b Bundle) generate.Profile {
	return cmp.Or(b.withDefaults(c.Defaults).Profile, generate.ProfileOLM)
}

// HandsOver reports whether the profile of an operator leaves it to OLM.
func (c *Config) HandsOver() bool {
	return slices.ContainsFunc(c.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Bundles, func(b Bundle) bool {
			return b.withDefaults(c.Defaults).Profile.HandsOver()
		})
	})
}

// Shown returns the RenderConfig with each operator that is handed over to OLM in the profile that shows what OLM makes
// of it: olm for a Subscription, olmv1 for a ClusterExtension.
func (c *Config) Shown() *Config {
	shown := *c
	shown.Groups = slices.Clone(c.Groups)
	for i := range shown.Groups {
		list := slices.Clone(shown.Groups[i].Bundles)
		shown.Groups[i].Bundles = list
		for j := range list {
			b := &list[j]
			switch b.withDefaults(c.Defaults).Profile {
			case generate.ProfileSubscription:
				b.Profile = generate.ProfileOLM
			case generate.ProfileClusterExtension:
				b.Profile = generate.ProfileOLMv1
			default:
				continue
			}
			b.Subscription, b.ClusterExtension = nil, nil
			// An operator that serves must have certificates. They have no part in a review.
			b.Certs.Provider = cmp.Or(b.Certs.Provider, generate.CertsManager)
		}
	}
	return &shown
}
