package config

import (
	"slices"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// checkUses refuses options that have no effect: no profile uses them, of those of the bundle, the group or the file.
func (c *Config) checkUses() error {
	var everywhere []generate.Profile
	var certs []Certs
	groups, _ := c.document["groups"].([]any)
	for i, g := range c.Groups {
		var profiles []generate.Profile
		document, _ := groups[i].(map[string]any)
		bundles, _ := document["bundles"].([]any)
		for j, b := range g.Bundles {
			settings := b.withDefaults(c.Defaults)
			certs = append(certs, settings.Certs)
			profiles = append(profiles, settings.Profile)
			fields, _ := bundles[j].(map[string]any)
			if err := c.checkUsed(fields, bundleFields, at(i, j, ""), settings.Profile); err != nil {
				return err
			}
		}
		if err := c.checkUsed(document, without(groupFields, "bundles"), at(i, -1, ""), profiles...); err != nil {
			return err
		}
		everywhere = append(everywhere, profiles...)
	}
	if err := c.checkUsed(c.document, without(declared, "groups"), "", everywhere...); err != nil {
		return err
	}
	return c.checkDefaultCerts(everywhere, certs)
}

func without(options []Option, name string) []Option {
	return slices.DeleteFunc(slices.Clone(options), func(o Option) bool { return o.Name == name })
}

// checkUsed refuses an option that none of the profiles uses.
func (c *Config) checkUsed(document map[string]any, options []Option, place string,
	profiles ...generate.Profile) error {
	return visit(document, options, place, func(path string, o Option, value any) error {
		if slices.ContainsFunc(profiles, o.Uses) || !c.isSet(path, value) {
			return nil
		}
		return c.errorf(path, "leave it out: it is for profile "+text.Or(o.Profiles), "has no effect with profile %s",
			text.Or(eachOnce(profiles)))
	})
}

// isSet reports whether a value at a path was asked for. In a file, null and false count as not
// set; a flag that is given is always set.
func (c *Config) isSet(path string, value any) bool {
	if c.flags() {
		return c.given[path]
	}
	return value != nil && value != false
}

// checkDefaultCerts refuses certificate settings in the defaults that no bundle uses: its profile does not take the
// provider, or it has another one.
func (c *Config) checkDefaultCerts(profiles []generate.Profile, certs []Certs) error {
	const field = defaultsField + ".certs."
	takes := func(p generate.Profile) bool { return p.TakesCerts(c.Defaults.Certs.Provider) }
	if !slices.ContainsFunc(profiles, takes) && c.has(field+"provider") {
		return c.errorf(field+"provider", "choose cert-manager, service-ca or none",
			"OLM v1 has no certificate provider %q", c.Defaults.Certs.Provider)
	}
	for _, part := range []struct {
		name     string
		provider generate.Certs
	}{{"issuer", generate.CertsManager}, {"secret", generate.CertsUser}, {"caBundleFile", generate.CertsUser}} {
		other := c.Defaults.Certs.Provider != "" && c.Defaults.Certs.Provider != part.provider
		has := func(s Certs) bool { return s.Provider == part.provider }
		if c.has(field+part.name) && (other || !slices.ContainsFunc(certs, has)) {
			return c.errorf(field+part.name, "choose it with certs.provider, or leave this out",
				"is for certificates of %s only, and no bundle uses it", part.provider)
		}
	}
	return nil
}

// eachOnce returns profiles in their usual order.
func eachOnce(profiles []generate.Profile) []generate.Profile {
	return lists.Filter(generate.Profiles, func(p generate.Profile) bool { return slices.Contains(profiles, p) })
}

// has reports whether the RenderConfig has a field, such as groups[0].name; false is nothing.
func (c *Config) has(field string) bool {
	v, _ := manifest.ValueAt(c.document, manifest.Segments(field))
	return v != nil && v != false
}

// blamed returns the place of what is wrong with an operator: the field of the option that an error blames, else the
// bundle.
func (c *Config) blamed(group, index int, err *generate.Error) string {
	if path, has := c.pathOf(err.Option, group, index); has {
		return path
	}
	if err.Option == generate.OptionOperatorGroup { // it has the name of its namespace then
		return at(group, -1, "namespace")
	}
	return at(group, index, "")
}
