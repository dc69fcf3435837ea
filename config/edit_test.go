package config

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// A value is changed where it stands, in its quotes. What cannot be changed so is refused.
func TestEdit(t *testing.T) {
	const head = "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: a\n  bundles:\n"
	for _, test := range []struct{ name, before, value, after string }{
		{"plain", "  - {source: s, version: 1.0.0} # c\n", "1.1.0", "  - {source: s, version: 1.1.0} # c\n"},
		{"a name that needs quotes", "  - source: s\n    version: 1.0.0\n", "a: b", "  - source: s\n    version: 'a: b'\n"},
		{"a number", "  - source: s\n    version: 1.0.0\n", "1.1", "  - source: s\n    version: '1.1'\n"},
		{"single quotes", "  - source: s\n    version: 'a''b'\n", "c'd", "  - source: s\n    version: 'c''d'\n"},
		{"double quotes", "  - source: s\n    version: \"1.0.0\" #\n", "1.1.0", "  - source: s\n    version: \"1.1.0\" #\n"},
		{"a quote in double quotes", "  - source: s\n    version: \"1.0.0\"\n", `a"b`, "  - source: s\n    version: 'a\"b'\n"},
		{"escapes", "  - source: s\n    version: \"1\\u002e0.0\"\n", "1.1.0", "cannot be changed in place"},
		{"several lines", "  - source: s\n    version: >-\n      1.0.0\n", "1.1.0", "cannot be changed in place"},
		{"an anchor", "  - source: s\n    version: &v 1.0.0\n", "1.1.0", "is an anchor or an alias"},
		{"an alias", "  - {source: s, channel: &v x}\n  - {source: t, version: *v}\n", "1.1.0", "is an anchor or an alias"},
		{"characters of several bytes", "  - {source: ä€, name: \"𝄞\", version: v1}\n", "v2", "  - {source: ä€, name: \"𝄞\", version: v2}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, before := range []string{head + test.before, "\ufeff---\n" + head + test.before + "...\n"} {
				c, err := Read("f.yaml", []byte(before))
				if err != nil {
					t.Fatal(err)
				}
				index := len(c.Groups[0].Bundles) - 1
				out, err := c.Edit([]byte(before), []Change{{Group: 0, Bundle: index, Field: "version", Value: test.value}})
				want := strings.Replace(before, test.before, test.after, 1)
				if err != nil {
					if !strings.Contains(err.Error(), test.after) {
						t.Error(err)
					}
				} else if string(out) != want {
					t.Errorf("got\n%s\nwant\n%s", out, want)
				}
			}
		})
	}
}

// Edit changes one value or nothing, whatever the file looks like.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: a\n  bundles:\n  - {source: s, version: 1.0.0}\n"), "1.1.0")
	f.Add([]byte("{\"apiVersion\": \"olmgen.dev/v1alpha1\", \"kind\": \"RenderConfig\", \"groups\":\r\n [{\"namespace\": \"a\", \"bundles\": [{\"source\": \"s\"}]}]}"), "a: 'b'")
	f.Add([]byte("# c\r---\napiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: a\n  bundles: &b\n  - source: >-\n      s\n    version: 'a''b'\n"), "\"x\"")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		fuzztest.Limit(t, len(data)+len(value))
		c, err := Read("f.yaml", data)
		if err != nil {
			return
		}
		for _, field := range []string{"source", "version"} {
			out, err := c.Edit(data, []Change{{Group: 0, Bundle: 0, Field: field, Value: value}})
			if err != nil {
				continue
			}
			after, err := Read("f.yaml", out)
			if err != nil {
				t.Fatal(err)
			}
			got := after.Groups[0].Bundles[0].Version
			if field == "source" {
				got = after.Groups[0].Bundles[0].Source
			}
			if got != value {
				t.Errorf("%s: %q, not %q", field, got, value)
			}
		}
	})
}
