package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/generate"
)

// option is a field that stands for an option of olmgen render. The option has the name of its flag.
type option struct{ name, field string }

// The options by where their fields are: in the file itself, a group, the settings of a bundle or of all, and a bundle.
var (
	fileOptions  = []option{{"mirror-map", "mirrors"}, {"mirror-map", "mirrorMap"}}
	groupOptions = []option{
		{"namespace", "namespace"},
		{"operator-group", "name"},
		{"install-mode", "installMode"},
		{"target-namespaces", "targetNamespaces"},
		{"selector", "selector"},
		{"static-provided-apis", "staticProvidedAPIs"},
		{"service-account", "serviceAccount"},
		{"copied-csv-namespaces", "copiedCSVNamespaces"},
		{"create-namespace", "createNamespaces"},
	}
	settingOptions = []option{
		{"profile", "profile"},
		{"names", "names"},
		{"copied-csvs", "copiedCSVs"},
		{"certs", "certs.provider"},
		{"issuer", "certs.issuer"},
		{"cert-secret", "certs.secret"},
		{"ca-bundle", "certs.caBundleFile"},
		{"convert-crds", "convertCRDs"},
		{"allow-unsupported", "allowUnsupported"},
		{"templates", "templates"},
	}
	bundleOptions = []option{
		{"package", "package"},
		{"channel", "channel"},
		{"version", "version"},
		{"bind-namespaces", "descoped.bindNamespaces"},
		{"bind-all", "descoped.bindAll"},
		{"aggregate-to", "descoped.aggregateTo"},
		{"split", "descoped.split"},
		{"subscription", "subscription.name"},
		{"approval", "subscription.approval"},
		{"starting-csv", "subscription.startingCSV"},
		{"catalog-source", "subscription.catalogSource"},
		{"catalog-image", "subscription.catalogSource.image"},
		{"cluster-extension", "clusterExtension.name"},
		{"version-range", "clusterExtension.versionRange"},
		{"upgrade-constraint-policy", "clusterExtension.upgradeConstraintPolicy"},
		{"config-subscription", "config"},
	}
)

// checkUses refuses fields that mean nothing with the profiles of the bundles that they are about, as the command line does with flags.
func (c *Config) checkUses() error {
	var all []generate.Profile
	var certs []Certs
	for i, g := range c.Groups {
		var profiles []generate.Profile
		for j, b := range g.Bundles {
			settings := b.over(c.Defaults)
			profile := settings.Profile
			certs = append(certs, settings.Certs)
			if err := c.checkUsed(at(i, j, ""), slices.Concat(settingOptions, bundleOptions), profile); err != nil {
				return err
			}
			if field := at(i, j, "templates"); profile == generate.ProfileOLMv1 && c.given(field) {
				return c.errorf(field, "leave it out; those of files that list others are templates of the defaults", "means nothing with profile %s", profile)
			}
			profiles = append(profiles, profile)
		}
		if err := c.checkUsed(at(i, -1, ""), groupOptions, profiles...); err != nil {
			return err
		}
		all = append(all, profiles...)
	}
	if err := c.checkUsed("defaults", settingOptions, all...); err != nil {
		return err
	}
	if err := c.checkDefaultCerts(all, certs); err != nil {
		return err
	}
	return c.checkUsed("", fileOptions, all...)
}

// checkDefaultCerts refuses defaults of certificates that no bundle takes: their provider is not for its profile, or it has another one.
func (c *Config) checkDefaultCerts(profiles []generate.Profile, certs []Certs) error {
	const field = "defaults.certs."
	takes := func(p generate.Profile) bool { return p.TakesCerts(c.Defaults.Certs.Provider) }
	if !slices.ContainsFunc(profiles, takes) && c.given(field+"provider") {
		return c.errorf(field+"provider", "choose with certs.provider: cert-manager, service-ca or none", "OLM v1 has no certificate provider %q", c.Defaults.Certs.Provider)
	}
	for _, part := range []struct {
		name     string
		provider generate.Certs
	}{{"issuer", generate.CertsManager}, {"secret", generate.CertsUser}, {"caBundleFile", generate.CertsUser}} {
		other := c.Defaults.Certs.Provider != "" && c.Defaults.Certs.Provider != part.provider
		has := func(s Certs) bool { return s.Provider == part.provider }
		if c.given(field+part.name) && (other || !slices.ContainsFunc(certs, has)) {
			return c.errorf(field+part.name, "choose it with certs.provider, or leave this out", "is for certificates of %s only, and no bundle takes it", part.provider)
		}
	}
	return nil
}

// eachOnce gives profiles in their usual order.
func eachOnce(profiles []generate.Profile) (once []generate.Profile) {
	for _, p := range generate.Profiles {
		if slices.Contains(profiles, p) {
			once = append(once, p)
		}
	}
	return once
}

// checkUsed refuses a field that none of the profiles has a use for.
func (c *Config) checkUsed(place string, options []option, profiles ...generate.Profile) error {
	for _, o := range options {
		field := strings.TrimPrefix(place+"."+o.field, ".")
		uses := func(p generate.Profile) bool { return p.Uses(o.name) }
		if slices.ContainsFunc(profiles, uses) || !c.given(field) {
			continue
		}
		return c.errorf(field, "leave it out: it is for profile "+either(generate.ProfilesFor(o.name)), "means nothing with profile %s", either(eachOnce(profiles)))
	}
	return nil
}

func either[T ~string](list []T) string {
	w := words(list)
	if n := len(w); n > 1 {
		return strings.Join(w[:n-1], ", ") + " or " + w[n-1]
	}
	return strings.Join(w, "")
}

// given reports whether the file says something at a place such as groups[0].name; false is nothing.
func (c *Config) given(field string) bool {
	if c.fields == nil {
		v, err := c.object.Value()
		if err != nil {
			return false
		}
		c.fields = v
	}
	var v any = c.fields
	for _, key := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return false
			}
			v = x[i]
		default:
			return false
		}
	}
	return v != nil && v != false
}

// blamed gives the place of what is wrong with an operator: the field of the option that an error blames, else the bundle.
func (c *Config) blamed(group, index int, err *generate.Error) string {
	places := map[string]string{}
	for _, o := range groupOptions {
		places[o.name] = at(group, -1, o.field)
	}
	for _, o := range slices.Concat(settingOptions, bundleOptions) {
		places[o.name] = at(group, index, o.field)
		if field := "defaults." + o.field; !c.given(places[o.name]) && c.given(field) {
			places[o.name] = field
		}
	}
	switch field := places[err.Option]; {
	case field != "" && c.given(field):
		return field
	case err.Option == "operator-group": // it has the name of its namespace then
		return places["namespace"]
	}
	return at(group, index, "")
}

// inFields gives a text that speaks of flags as it is for who writes a RenderConfig. What is quoted in it stays as it is.
func inFields(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range quoted.FindAllStringIndex(text, -1) {
		out.WriteString(unquotedInFields(text[last:at[0]]) + text[at[0]:at[1]])
		last = at[1]
	}
	return out.String() + unquotedInFields(text[last:])
}

func unquotedInFields(text string) string {
	text = strings.ReplaceAll(text, "olmgen render --target-namespaces", "a group with --target-namespaces")
	text = namespaceLists.ReplaceAllStringFunc(text, func(s string) string {
		flag, list, _ := strings.Cut(s, " ")
		list, closed := strings.CutSuffix(list, ")")
		end := ""
		if closed {
			end = ")"
		}
		return fmt.Sprintf("%s: [%s]%s", flag, strings.ReplaceAll(list, ",", ", "), end)
	})
	var out strings.Builder
	last := 0
	for _, at := range flags.FindAllStringSubmatchIndex(text, -1) {
		if begin := at[3]; begin >= last {
			old, field := fieldOfFlag(text[begin:])
			out.WriteString(text[last:begin] + field)
			last = begin + len(old)
		}
	}
	return out.String() + text[last:]
}

var (
	flags          = regexp.MustCompile(`(^|[ (,])--[a-z]`) // where a word begins: in others it is part of a path
	quoted         = regexp.MustCompile(`"[^"]*"`)
	namespaceLists = regexp.MustCompile(`--(bind|target)-namespaces ([A-Za-z0-9-]+(,[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(\)|$))`)
	flagsToFields  = newFlagsToFields()
)

// fieldOfFlag gives the flag that a text begins with, and the field that it is; nothing if it is none.
func fieldOfFlag(text string) (flag, field string) {
	for _, o := range flagsToFields {
		if strings.HasPrefix(text, o.name) {
			return o.name, o.field
		}
	}
	return "", ""
}

// newFlagsToFields begins with flags and their values, and ends with flags alone, the longest first.
func newFlagsToFields() (pairs []option) {
	pairs = []option{
		{"--certs ", "certs.provider: "},
		{"--names olm", "names: olm"},
		{"--profile ", "profile: "},
		{"--approval ", "subscription.approval: "},
		{"--install-mode Own", "installMode: Own"},
		{"--catalog-source NAMESPACE/NAME", "subscription.catalogSource"},
		{"--cert-secret NAME", "certs.secret"},
		{"--ca-bundle FILE", "certs.caBundleFile"},
		{"--operator-group NAME", "a name of the group"},
		{"--operator-group", "name of the group"},
		{"--convert-crds", "convertCRDs: true"},
		{"--allow-unsupported", "allowUnsupported: true"},
		{"--create-namespace", "createNamespaces: true"},
	}
	all := slices.Concat(fileOptions, groupOptions, settingOptions, bundleOptions)
	slices.SortStableFunc(all, func(a, b option) int { return len(b.name) - len(a.name) })
	for _, o := range all {
		pairs = append(pairs, option{"--" + o.name, o.field})
	}
	return pairs
}
