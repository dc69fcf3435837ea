package config

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// values are those of fields for which text will not do.
var values = map[string]string{
	"installMode": "OwnNamespace", "selector": "{matchLabels: {a: b}}", "staticProvidedAPIs": "[]", "copiedCSVNamespaces": "[]", "createNamespaces": "true",
	"targetNamespaces": "[a]", "names": "stable", "copiedCSVs": "stub", "certs.provider": "none", "certs.issuer": "{kind: Issuer, name: a}", "convertCRDs": "true",
	"allowUnsupported": "true", "mirrors": "[{source: a, mirror: b}]",
}

// providers are those that a default of certs belongs to.
var providers = map[string]string{"issuer": "cert-manager", "cert-secret": "user", "ca-bundle": "user"}

// A field is refused with the profiles that have no use for it, and with no other: its line, the field and the profiles that do are named.
func TestFieldsOfProfiles(t *testing.T) {
	seen := map[string]bool{}
	check := func(o option, place, text string, p generate.Profile) {
		t.Helper()
		seen[o.name] = true
		_, err := Read("olmgen.yaml", []byte(text))
		var e *manifest.Error
		refused := errors.As(err, &e) && e.Field == place+o.field && e.Line > 0 && e.Msg == "means nothing with profile "+string(p) &&
			e.Tip == "leave it out: it is for profile "+either(generate.ProfilesFor(o.name))
		if refused == p.Uses(o.name) || !refused && err != nil {
			t.Errorf("profile %s, %s: %v", p, o.field, err)
		}
	}
	for _, p := range generate.Profiles {
		for _, o := range settingOptions {
			if o.name == "profile" || o.name == "templates" {
				continue
			}
			check(o, "groups[0].bundles[0].", group("profile: "+string(p), nested(o.field)), p)
			text := nested(o.field)
			if provider := providers[o.name]; provider != "" && p.Uses("certs") {
				text = strings.Replace(text, "{", "{provider: "+provider+", ", 1)
			}
			check(o, "defaults.", strings.Replace(group(), "groups:", "defaults:\n  profile: "+string(p)+"\n  "+text+"\ngroups:", 1), p)
		}
		for _, o := range groupOptions[1:] {
			check(o, "groups[0].", strings.Replace(group("profile: "+string(p)), "  bundles:", "  "+nested(o.field)+"\n  bundles:", 1), p)
		}
		for _, o := range fileOptions {
			check(o, "", group("profile: "+string(p))+nested(o.field)+"\n", p)
		}
	}
	for _, o := range bundleOptions { // those that are not for all are in parts, which are refused as a whole
		seen[o.name] = true
		part, _, inPart := strings.Cut(o.field, ".")
		for _, p := range generate.Profiles {
			if !inPart {
				continue
			}
			_, err := Read("olmgen.yaml", []byte(group("profile: "+string(p), part+": {}")))
			if (err == nil) != p.Uses(o.name) {
				t.Errorf("profile %s, %s: %v", p, part, err)
			}
		}
	}
	for _, option := range generate.LimitedOptions() {
		if !seen[option] {
			t.Errorf("no field of a RenderConfig is the option %s", option)
		}
	}
}

// nested writes certs.provider as certs: {provider: value}.
func nested(field string) string {
	value := values[field]
	if value == "" {
		value = "a"
	}
	if part, rest, ok := strings.Cut(field, "."); ok {
		return part + ": {" + rest + ": " + value + "}"
	}
	return field + ": " + value
}

// forAll are the fields that are no option of a profile's: they are about the bundle, or hold such fields.
var forAll = []string{"bundles", "name", "source", "patches", "certs", "descoped", "subscription", "clusterExtension"}

// Every field of a group and of a bundle is known to be an option, or to be none.
func TestEveryFieldIsKnown(t *testing.T) {
	known := slices.Clone(forAll)
	for _, o := range slices.Concat(groupOptions, settingOptions, bundleOptions) {
		field, _, _ := strings.Cut(o.field, "[")
		known = append(known, field)
	}
	var walk func(t reflect.Type, at string) []string
	walk = func(t reflect.Type, at string) (unknown []string) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch parts := []any{Certs{}, &Descoped{}, &Subscription{}, &ClusterExtension{}}; {
			case f.Anonymous:
				unknown = append(unknown, walk(f.Type, at)...)
			case slices.ContainsFunc(parts, func(x any) bool { return reflect.TypeOf(x) == f.Type }):
				part := f.Type
				if part.Kind() == reflect.Pointer {
					part = part.Elem()
				}
				unknown = append(unknown, walk(part, name+".")...)
			case !slices.Contains(known, at+name):
				unknown = append(unknown, at+name)
			}
		}
		return unknown
	}
	if unknown := slices.Concat(walk(reflect.TypeFor[Group](), ""), walk(reflect.TypeFor[Bundle](), "")); len(unknown) > 0 {
		t.Errorf("say of which profiles these are, or that they are for all: %q", unknown)
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

// docs/profiles.md ends with the options that are not for all profiles. "make docs" writes it.
func TestPage(t *testing.T) {
	const head = "| option | field |"
	name := filepath.Join("..", "docs", "profiles.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(page), head)
	table := head
	for _, p := range generate.Profiles {
		table += " " + string(p) + " |"
	}
	table += "\n|---|---|" + strings.Repeat("---|", len(generate.Profiles)) + "\n"
	for _, o := range slices.Concat(fileOptions, groupOptions, settingOptions, bundleOptions) {
		if !slices.Contains(generate.LimitedOptions(), o.name) {
			continue
		}
		table += "| `--" + o.name + "` | `" + o.field + "` |"
		for _, p := range generate.Profiles {
			if p.Uses(o.name) {
				table += " yes"
			}
			table += " |"
		}
		table += "\n"
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+table), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != before+table {
		t.Errorf("%s is stale, run \"make docs\"", name)
	}
}

// flagName finds flags in a text.
var flagName = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)

// notInFiles are flags of render that go together with -f, and those of other commands.
var notInFiles = []string{"--force", "--tree"}

// No text that a rendering may say to who wrote a RenderConfig speaks of a flag that is a field of it.
func TestTextsSpeakOfFields(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{".", "../bundle", "../bundle/source", "../review/installs", "../generate", "../generate/olmv1", "../bundle/images", "../manifest", "../output", "../output/helm",
		"../templates", "../output/transform"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "fields.go" {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					for _, flag := range flagName.FindAllString(text, -1) {
						found[flag] = true
					}
					for _, flag := range flagName.FindAllString(inFields(text), -1) {
						if !slices.Contains(notInFiles, flag) {
							t.Errorf("%s: %q says %s to who wrote a RenderConfig", name, text, flag)
						}
					}
				}
				return true
			})
		}
	}
	for _, flag := range []string{"--bind-all", "--certs", "--install-mode", "--operator-group"} {
		if !found[flag] {
			t.Errorf("no text speaks of %s, and some do: %q", flag, slices.Sorted(maps.Keys(found)))
		}
	}
}

func TestInFields(t *testing.T) {
	for text, want := range map[string]string{
		"only a ClusterRoleBinding (--bind-all)":                                 "only a ClusterRoleBinding (descoped.bindAll)",
		"bind it there too (--bind-namespaces operators)":                        "bind it there too (descoped.bindNamespaces: [operators])",
		"bind it where it may work: --bind-namespaces A,B, or --bind-all":        "bind it where it may work: descoped.bindNamespaces: [A, B], or descoped.bindAll",
		"bound where it works today: --bind-namespaces team-a":                   "bound where it works today: descoped.bindNamespaces: [team-a]",
		"leave out --bind-namespaces and --bind-all, or --operator-group":        "leave out descoped.bindNamespaces and descoped.bindAll, or name of the group",
		"a single instance, olmgen render --target-namespaces a,b; then":         "a single instance, a group with targetNamespaces: [a, b]; then",
		"choose with --certs cert-manager, service-ca or none":                   "choose with certs.provider: cert-manager, service-ca or none",
		"give --cert-secret NAME and --ca-bundle FILE":                           "give certs.secret and certs.caBundleFile",
		"upgrades at once: with --approval Manual it waits":                      "upgrades at once: with subscription.approval: Manual it waits",
		"for the administrator to ask for (--aggregate-to)":                      "for the administrator to ask for (descoped.aggregateTo)",
		"with --bind-all, or --operator-group NAME, which also":                  "with descoped.bindAll, or a name of the group, which also",
		"use --install-mode OwnNamespace":                                        "use installMode: OwnNamespace",
		"say with --version-range or --version":                                  "say with clusterExtension.versionRange or version",
		`the argument "--namespace" of the container, see --namespace`:           `the argument "--namespace" of the container, see namespace`,
		"hand it to OLM v0 with --profile subscription, or --subscription":       "hand it to OLM v0 with profile: subscription, or subscription.name",
		"use --force to overwrite it":                                            "use --force to overwrite it",
		"give it with --catalog-source NAMESPACE/NAME":                           "give it with subscription.catalogSource",
		"render it all the same with --allow-unsupported, leave out --names now": "render it all the same with allowUnsupported: true, leave out names now",
	} {
		if got := inFields(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// Parts of certs are those of the provider that is chosen in the end, wherever each is written.
func TestDefaultsOfCerts(t *testing.T) {
	issuer := &Issuer{Kind: "Issuer", Name: "x"}
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
		got := Settings{Profile: c.profile, Certs: c.bundle}.over(Settings{Certs: c.defaults})
		if d := cmp.Diff(c.is, got.Certs); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
