package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/jsontype"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// values are those of fields for which text or one of the words will not do.
var values = map[string]string{
	"selector": "{matchLabels: {a: b}}", "staticProvidedAPIs": "[]", "copiedCSVNamespaces": "[]", "targetNamespaces": "[a]",
	"issuer": "{kind: Issuer, name: a}", "mirrors": "[{source: a, mirror: b}]", "provider": "none",
}

// providers are those that a default of certs belongs to.
var providers = map[string]string{"issuer": "cert-manager", "secret": "user", "caBundleFile": "user"}

// A file that gives an option is refused with the profiles that do not use it, and with no other. The error has the line and the field, and
// the hint the profiles that use it.
func TestFieldsOfProfiles(t *testing.T) {
	checked := 0
	for o := range all(declared) {
		if o.Profiles == nil || inObject(o) {
			continue
		}
		checked++
		for _, p := range generate.Profiles {
			field := strings.NewReplacer("groups[].", "groups[0].", "bundles[].", "bundles[0].").Replace(strings.TrimSuffix(o.Path, "[]"))
			_, err := Read("olmgen.yaml", []byte(fileWith(o, p)))
			var e *manifest.Error
			refused := errors.As(err, &e) && e.Field == field && e.Line > 0 && e.Msg == "has no effect with profile "+string(p) &&
				e.Tip == "leave it out: it is for profile "+text.Or(o.Profiles)
			if refused == o.Uses(p) || !refused && err != nil {
				t.Errorf("profile %s, %s: %v", p, o.Path, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d options are for some profiles", checked)
	}
}

// inObject reports whether an option is refused with the object that it is in.
func inObject(o OptionAt) bool {
	for _, object := range []string{"descoped", "subscription", "clusterExtension", "installed", "mirrors[]", "issuer"} {
		if strings.Contains(o.Path, object+".") {
			return true
		}
	}
	return false
}

// fileWith returns a RenderConfig that gives an option and a profile.
func fileWith(o OptionAt, p generate.Profile) string {
	text := o.Name + ": " + valueOf(o)
	if strings.Contains(o.Path, ".certs.") {
		text = "certs: {" + text + "}"
		if provider := providers[o.Name]; strings.HasPrefix(o.Path, "defaults.") && provider != "" && p.TakesCerts("") {
			text = strings.Replace(text, "{", "{provider: "+provider+", ", 1)
		}
	}
	profile := "profile: " + string(p)
	switch {
	case strings.HasPrefix(o.Path, "defaults."):
		return strings.Replace(group(), "groups:", "defaults:\n  "+profile+"\n  "+text+"\ngroups:", 1)
	case strings.HasPrefix(o.Path, bundleField+"."):
		return group(profile, text)
	case strings.HasPrefix(o.Path, "groups[]."):
		return strings.Replace(group(profile), "  bundles:", "  "+text+"\n  bundles:", 1)
	}
	return group(profile) + text + "\n"
}

func valueOf(o OptionAt) string {
	switch {
	case values[o.Name] != "":
		return values[o.Name]
	case o.Words != nil:
		return o.Words[0]
	case o.Type == Bool:
		return "true"
	case o.Type == Object:
		return "{}"
	case o.Type == List:
		return "[]"
	}
	return "a"
}

// Every field of the types is declared, with the type that it has in Go, and every declared option is a field.
func TestTypesAreDeclared(t *testing.T) {
	var want []string
	fieldsOf(reflect.TypeFor[RenderConfig](), "", &want)
	var got []string
	for o := range all(declared) {
		line := o.Path + " " + typeNames[o.Type]
		if o.Required {
			line += " required"
		}
		got = append(got, line)
		if o.Text == "" || strings.HasSuffix(o.Text, ".") || strings.Contains(o.Text, "--") {
			t.Errorf("%s: %q is no text for a page and a flag", o.Path, o.Text)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields of the types (-) and declared options (+):\n%s", d)
	}
}

var typeNames = map[Type]string{Text: "text", Bool: "bool", List: "list", Mapping: "mapping", Anything: "anything", Object: "object",
	Objects: "objects", LabelSelector: "selector", SubscriptionConfig: "config"}

// fieldsOf adds a line for each field of a struct: its path, its type and whether it is required.
func fieldsOf(t reflect.Type, place string, out *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue // of the library alone
		}
		if name == "" {
			fieldsOf(f.Type, place, out)
			continue
		}
		typ, path := jsontype.Pointed(f.Type), strings.TrimPrefix(place+"."+name, ".")
		line := ""
		switch typ.Kind() {
		case reflect.String:
			line = "text"
		case reflect.Bool:
			line = "bool"
		case reflect.Map:
			line = "mapping"
			if typ.Elem().Kind() == reflect.Interface {
				line = "anything"
			}
		case reflect.Slice:
			line = "list"
			if typ.Elem().Kind() == reflect.Struct {
				path += "[]"
				line = "objects"
				fieldsOf(typ.Elem(), path, out)
			}
		case reflect.Struct:
			switch typ.Name() {
			case "LabelSelector":
				line = "selector"
			case "SubscriptionConfig":
				line = "config"
			default:
				line = "object"
				fieldsOf(typ, path, out)
			}
		}
		line = path + " " + line
		if !strings.Contains(options, "omitempty") {
			line += " required"
		}
		*out = append(*out, line)
	}
}

// Every option that messages of generate are about is a field of its Options.
func TestOptionsAreFieldsOfGenerate(t *testing.T) {
	for o := range all(declared) {
		typ := reflect.TypeFor[generate.Options]()
		for part := range strings.SplitSeq(string(o.ID), ".") {
			if o.ID == "" || slices.Contains(notOfGenerate, o.ID) {
				continue
			}
			f, ok := typ.FieldByName(part)
			if !ok {
				t.Errorf("%s: generate.Options has no field %s", o.Path, o.ID)
				break
			}
			typ = f.Type
		}
	}
}

// A default is for the bundles whose profile, and whose provider of certificates, has a use for it; the others do not see it.
func TestDefaultsOfOtherProfiles(t *testing.T) {
	files := content(rendered(t, testDir(t), head+`
defaults: {names: olm, copiedCSVs: none, convertCRDs: true, certs: {provider: cert-manager, issuer: {kind: Issuer, name: x}}}
groups:
- namespace: one
  bundles: [{source: memcached, profile: descoped}]
- namespace: two
  targetNamespaces: [two]
  bundles: [{source: redis, certs: {provider: service-ca}}]
`, Options{}).Files)
	for _, name := range []string{"clusterrole_one.memcached-required.yaml", "role_two_redis.v1.0.0.yaml", "operatorgroup_two_two.yaml"} {
		if files[name] == "" {
			t.Errorf("no %s in %q", name, slices.Sorted(maps.Keys(files)))
		}
	}
}

// Parts of certs are those of the provider that is chosen in the end, wherever each is written.
func TestDefaultsOfCerts(t *testing.T) {
	issuer := &generate.Issuer{Kind: "Issuer", Name: "x"}
	for name, c := range map[string]struct {
		profile              generate.Profile
		bundle, defaults, is Certs
	}{
		"parts only":           {"", Certs{Provider: "cert-manager"}, Certs{Issuer: issuer}, Certs{Provider: "cert-manager", Issuer: issuer}},
		"parts of the user":    {"", Certs{Provider: "user"}, Certs{Secret: "a", CABundleFile: "b"}, Certs{Provider: "user", Secret: "a", CABundleFile: "b"}},
		"all":                  {"", Certs{}, Certs{Provider: "cert-manager", Issuer: issuer}, Certs{Provider: "cert-manager", Issuer: issuer}},
		"one part":             {"", Certs{Provider: "user", Secret: "c"}, Certs{Provider: "user", Secret: "a", CABundleFile: "b"}, Certs{Provider: "user", Secret: "c", CABundleFile: "b"}},
		"no provider":          {"", Certs{}, Certs{Issuer: issuer}, Certs{}},
		"another provider":     {"", Certs{Provider: "service-ca"}, Certs{Issuer: issuer}, Certs{Provider: "service-ca"}},
		"another one by name":  {"", Certs{Provider: "service-ca"}, Certs{Provider: "cert-manager", Issuer: issuer}, Certs{Provider: "service-ca"}},
		"OLM v1, user":         {generate.ProfileOLMv1, Certs{}, Certs{Provider: "user", Secret: "a", CABundleFile: "b"}, Certs{}},
		"OLM v1, cert-manager": {generate.ProfileOLMv1, Certs{}, Certs{Provider: "cert-manager", Issuer: issuer}, Certs{Provider: "cert-manager"}},
		"subscription":         {generate.ProfileSubscription, Certs{}, Certs{Provider: "cert-manager", Issuer: issuer}, Certs{}},
	} {
		got := Settings{Profile: c.profile, Certs: c.bundle}.withDefaults(Settings{Certs: c.defaults})
		if d := cmp.Diff(c.is, got.Certs); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
