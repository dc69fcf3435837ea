package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/manifest"
)

// opm's words for catalogs that are broken in one place. "make e2e CHECK=resolve" compares random ones with opm's code.
func TestRefusalWords(t *testing.T) {
	const first = "value: {packageName: a, version: 1.0.0}"
	for _, c := range []struct{ name, old, new, want, place string }{
		{"a document without schema", "schema: olm.channel\n", "",
			"invalid custom schema meta: invalid schema: must not be empty", "x/catalog.yaml:5"},
		{"a schema that is null", "schema: olm.channel", "schema:", "error unmarshaling JSON: while decoding JSON: " +
			`expected value for key "schema" to be a string, got %!t(<nil>): <nil>`, "x/catalog.yaml:5"},
		{"a schema that is no file name", "schema: someone.else", "schema: some one",
			`invalid custom schema meta: invalid schema "some one": must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$`, "x/catalog.yaml:36"},
		{"a release with another name", first, "value: {packageName: a, version: 1.0.0, release: rc.1}",
			`name "a.v1.0.0" does not match normalized name "a-v1.0.0-rc.1"`, "x/catalog.yaml:15"},
		{"a release that is none", first, `value: {packageName: a, version: 1.0.0, release: "01"}`,
			`error parsing bundle "a.v1.0.0" release version "01": invalid release "01": segment 0: Numeric PreRelease version must not contain leading zeroes "01"`,
			"x/catalog.yaml:15"},
		{"a long release", first, `value: {packageName: a, version: 1.0.0, release: a12345678901234567890}`,
			`error parsing bundle "a.v1.0.0" release version "a12345678901234567890": invalid release "a12345678901234567890": ` +
				"exceeds maximum length of 20 characters", "x/catalog.yaml:15"},
		{"a release with build metadata", first, `value: {packageName: a, version: 1.0.0+b, release: "1"}`,
			"cannot use build metadata in version with a release version", "x/catalog.yaml:15"},
		{"an icon that is not base64", "defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: <svg/>, mediatype: image/svg+xml}",
			"parse package: illegal base64 data at input byte 0", "x/catalog.yaml:1"},
		{"an icon that is a text", "defaultChannel: stable", "defaultChannel: stable\nicon: x",
			"parse package: json: cannot unmarshal string into Go struct field Package.icon of type declcfg.Icon", "x/catalog.yaml:1"},
		{"an object that is not base64", "data: e30=", "data: e30",
			`read bundle objects: package "a", bundle "a.v1.0.0": parse property at index 1 as bundle object: illegal base64 data at input byte 0`,
			"x/catalog.yaml:15"},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if text == small {
			t.Fatal(c.name)
		}
		got := read(t, text, catalog.Options{})
		if r := got.Refusal(); r == nil || !strings.HasSuffix(strings.Split(r.Text, "\n")[0], c.want) && !strings.Contains(r.Text, "── "+c.want) {
			t.Errorf("%s: %v, want %s", c.name, r, c.want)
		}
		found := false
		for _, f := range got.Faults() {
			found = found || strings.HasSuffix(f.Text, c.want) && f.String() == c.place && catalog.Rules[f.Rule] != ""
		}
		if !found {
			t.Errorf("%s: %+v", c.name, got.Faults())
		}
	}
}

// A circle names its members, in the order of the updates.
func TestCircle(t *testing.T) {
	for old, c := range map[string]string{
		"- name: a.v1.0.0\n": "- name: a.v1.0.0\n  replaces: a.v1.1.0\n",
		"skips: [a.v1.0.1]":  "skips: [a.v1.1.0]",
	} {
		want := "a.v1.1.0 replaces a.v1.0.0, a.v1.0.0 replaces a.v1.1.0"
		if strings.HasPrefix(old, "skips") {
			want = "a.v1.1.0 skips a.v1.1.0"
		}
		list := read(t, strings.Replace(small, old, c, 1), catalog.Options{}).Faults()
		if len(list) != 1 || list[0].Rule != "no-head" || !strings.Contains(list[0].Hint, ": "+want+"; remove") {
			t.Errorf("%+v", list)
		}
	}
}

// A schema that is nearly one of a catalog is named; one of somebody else is not. Neither is what opm keeps, or reads in
// another case.
func TestIgnored(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"schema: olm.deprecations", "schema: olm.deprecation",
			`31: unknown-schema: opm does not read a document of schema "olm.deprecation" (did you mean olm.deprecations?)`},
		{"schema: olm.deprecations", "schema: olm.other.thing", `31: unknown-schema: opm does not read a document of schema "olm.other.thing" ()`},
		{"schema: olm.deprecations", "schema: example.com", ""},
		{"- name: a.v1.0.0\n", "- name: a.v1.0.0\n  skip_range: <1.0.0\n",
			"11: unknown-field: olm.channel has no field entries[0].skip_range: opm drops it (did you mean skipRange?)"},
		{"- name: a.v1.0.0\n", "- name: a.v1.0.0\n  SkipRange: <1.0.0\n", ""},
	} {
		var got []string
		for _, f := range read(t, strings.Replace(small, c.old, c.new, 1), catalog.Options{}).Ignored() {
			got = append(got, fmt.Sprintf("%d: %s: %s (%s)", f.Line, f.Rule, f.Text, f.Hint))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.new, got, c.want)
		}
	}
}

// The icon of a package is read when somebody asks for it.
func TestIcon(t *testing.T) {
	c := read(t, strings.Replace(small, "defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: PHN2Zy8+, mediatype: image/svg+xml}", 1),
		catalog.Options{})
	icon, err := c.Packages["a"].Icon(t.Context())
	if err != nil || icon == nil || string(icon.Data) != "<svg/>" || icon.MediaType != "image/svg+xml" {
		t.Errorf("%+v, %v", icon, err)
	}
	if icon, err := read(t, small, catalog.Options{}).Packages["a"].Icon(t.Context()); icon != nil || err != nil {
		t.Errorf("%+v, %v", icon, err)
	}
}

// A file that is no catalog is called what it is, and a hint says what to do.
func TestMisread(t *testing.T) {
	for text, want := range map[string]string{
		"<<<<<<< HEAD\nschema\n":                 ":1: a Git conflict that is not resolved (edit the file",
		"{{ if x }}\na: b\n<<<<<<< HEAD\n":       ":3: a Git conflict that is not resolved (edit the file",
		"{{ if x }}\nschema: a\n":                ":1: value that starts in line 1: invalid character '{' at start of string (expecting '\"') (it looks like a template",
		"schema: {{ .x }}\n":                     ":1: document that starts in line 1: a mapping key must be a plain value (it looks like a template",
		"\xff\xfes\x00c\x00h\x00:\x00 \x00a\x00": ":1: not UTF-8 text, but UTF-16 (save it as UTF-8",
	} {
		name := t.TempDir() + "/catalog.yaml"
		writeFile(t, name, text)
		_, err := catalog.Read(t.Context(), name, catalog.Options{})
		if got := err.Error() + " (" + manifest.HintOf(err); !strings.HasPrefix(got, name+want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// A file that ends too early names the line at which it ends.
func TestTruncated(t *testing.T) {
	for text, want := range map[string]string{
		strings.TrimSuffix(small[:strings.Index(small, "properties:")], "ties:") + "prop":                       ":20",
		`{"schema": "olm.package",` + "\n" + `"name": "a"}` + "\n" + `{"schema": "olm.channel",` + "\n" + `"na`: ":4",
	} {
		name := t.TempDir() + "/catalog.yaml"
		writeFile(t, name, text)
		_, err := catalog.Read(t.Context(), name, catalog.Options{})
		hint, _ := err.(interface{ Hint() string })
		if e, ok := err.(*manifest.Error); !ok || !strings.HasPrefix(e.Error(), name+want+": ") || !strings.Contains(hint.Hint(), "incomplete") {
			t.Errorf("%v", err)
		}
	}
}
