package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// Config is a RenderConfig as it was read, with the positions of its fields.
type Config struct {
	RenderConfig
	object   *manifest.Object
	document map[string]any  // the same, as it was written
	embedded bool            // in another document, so that its lines mean nothing to a person
	given    map[string]bool // the paths that flags fill, if it comes from flags; else nil
}

// Read reads a RenderConfig from YAML or JSON, strictly: unknown fields, fields given twice and values of the wrong
// type are errors. name stands for the file in errors, which are *manifest.Error with line, field and hint.
func Read(name string, data []byte) (*Config, error) {
	c := &Config{}
	return c, c.read(name, data)
}

func (c *Config) read(name string, data []byte) (err error) {
	form := manifest.Form{APIVersion: APIVersion, Kind: Kind, What: "a " + Kind, Hint: elsewhere,
		Start: `"olmgen init" writes a RenderConfig to start from`, Second: "put all operators below groups"}
	c.object, err = form.Read(name, data, whole.Limits(budget.RenderConfig), &c.RenderConfig)
	if err != nil {
		return err
	}
	if c.document, err = c.object.Value(); err != nil {
		return err
	}
	return c.check()
}

// ReadFunctionConfig reads the RenderConfig of a KRM function. It is in another document, so errors name no line.
func ReadFunctionConfig(name string, data []byte) (*Config, error) {
	c, err := Read(name, data)
	if e := Place(err); e != nil {
		place := *e
		place.Line, err = 0, &place
	}
	c.embedded = true
	return c, err
}

// elsewhere returns a hint for a field of the file, defaults, group or bundle that stands in the wrong place, or "".
func elsewhere(field string) string {
	segments := decoded.Segments(field)
	name := segments[len(segments)-1]
	parents := []string{"", "output.", defaultsField + ".", "groups[].", bundleField + "."}
	var places []string
	for o := range all(declared) {
		place, ok := strings.CutSuffix(strings.TrimSuffix(o.Path, "[]"), name)
		if ok && slices.Contains(parents, place) {
			path := o.Path
			if place == "" {
				path += " at the top of the file"
			}
			places = append(places, path)
		}
	}
	if len(places) == 0 {
		return ""
	}
	return "write it as " + text.Or(places)
}

// flags reports whether the RenderConfig comes from flags. It is about one operator then, with a group of its own.
func (c *Config) flags() bool { return c.given != nil }

func (c *Config) errorf(field, hint, format string, args ...any) *manifest.Error {
	if c.flags() {
		return &manifest.Error{Field: flagAt(field), Msg: fmt.Sprintf(format, args...), Tip: hint}
	}
	e := c.object.Errorf(field, format, args...).With(hint)
	if c.embedded {
		e.Line = 0
	}
	return e
}

// at is a path such as groups[0].bundles[1], followed by a field.
func at(group, bundle int, field string) string {
	path := fmt.Sprintf("groups[%d]", group)
	if bundle >= 0 {
		path += fmt.Sprintf(".bundles[%d]", bundle)
	}
	return strings.TrimSuffix(path+"."+field, ".")
}

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

// Shown returns the RenderConfig in profiles that show what OLM makes of its operators: olm or olmv1.
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
				b.Profile, b.Certs.Provider = generate.ProfileOLM, cmp.Or(b.Certs.Provider, generate.CertsOLM)
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
