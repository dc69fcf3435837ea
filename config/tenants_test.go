package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file of tenants has the same effect as a list, and chooses optional ClusterRoles.
func TestReadTenants(t *testing.T) {
	for _, c := range []struct{ name, text, want, refused string }{
		{"two", "tenants:\n- namespace: a\n- namespace: b\n  optional: [x, z]\n", "a b[x z]", ""},
		{"the cluster", "tenants: []\ncluster: true\n", "cluster", ""},
		{"none chosen", "tenants: [{namespace: a, optional: []}]\n", "a[]", ""},
		{"empty", "", "", "t.yaml: is empty"},
		{"two documents", "tenants: []\n---\ntenants: []\n", "", "t.yaml:2: a second YAML document"},
		{"another file", "{}\n", "", "t.yaml:1: tenants: is missing"},
		{"a misspelled field", "tenants:\n- namespace: a\n  optionl: [x]\n", "", "t.yaml:3: tenants[0].optionl: no such field"},
		{"a list of names", "tenants: [a]\n", "", "t.yaml:1: tenants"},
		{"a bad name", "tenants:\n- namespace: a\n- namespace: B\n", "", `t.yaml:3: tenants[1].namespace: "B" is not a valid namespace name`},
		{"no name", "tenants:\n- optional: [x]\n", "", `t.yaml:2: tenants[0].namespace: "" is not a valid namespace name`},
		{"twice", "tenants:\n- namespace: a\n- namespace: a\n", "", "t.yaml:3: tenants[1].namespace: a is a tenant twice"},
		{"a key twice", "tenants: []\ntenants: []\n", "", "t.yaml:2: tenants: is given twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := readTenants("t.yaml", []byte(c.text))
			if err != nil || c.refused != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.refused) || c.refused == "" {
					t.Fatalf("got %v, want %q", err, c.refused)
				}
				return
			}
			var got []string
			for _, x := range list.Tenants {
				text := x.Namespace
				if x.Optional != nil {
					text += "[" + strings.Join(*x.Optional, " ") + "]"
				}
				got = append(got, text)
			}
			if list.Cluster {
				got = append(got, "cluster")
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

// Bad files are errors at the field that names them, and nothing else may bind the operator beside one.
func TestTenantsOfAConfig(t *testing.T) {
	dir := testDir(t)
	for name, text := range map[string]string{"good.yaml": "tenants: [{namespace: north}]\n", "bad.yaml": "tenants: [{namespace: UP}]\n", "nobody.yaml": "tenants: []\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ descoped, want, refused string }{
		{"{tenants: good.yaml}", "north", ""},
		{"{tenants: nobody.yaml}", "", ""},
		{"{tenants: bad.yaml}", "", `olmgen.yaml:8: groups[0].bundles[0].descoped.tenants: bad.yaml:1: tenants[0].namespace: "UP" is not a valid namespace name`},
		{"{tenants: none.yaml}", "", "olmgen.yaml:8: groups[0].bundles[0].descoped.tenants: none.yaml: no such file or directory"},
		{"{tenants: good.yaml, bindNamespaces: [a]}", "", "olmgen.yaml:8: groups[0].bundles[0].descoped.tenants: the file says where the operator is bound, and so does another option"},
		{"{tenants: good.yaml, bindNone: true}", "", "olmgen.yaml:8: groups[0].bundles[0].descoped.tenants: the file says where"},
	} {
		t.Run(c.descoped, func(t *testing.T) {
			parsed, err := Read("olmgen.yaml", []byte(group("profile: descoped", "descoped: "+c.descoped)))
			if err != nil {
				t.Fatal(err)
			}
			r, err := parsed.Render(t.Context(), Options{Dir: dir})
			if err != nil || c.refused != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.refused) || c.refused == "" {
					t.Fatalf("got %v, want %q", err, c.refused)
				}
				return
			}
			var tenants []string
			for name := range content(r.Files) {
				if rest, ok := strings.CutPrefix(name, "tenants/"); ok && strings.HasSuffix(rest, "kustomization.yaml") {
					tenants = append(tenants, filepath.Dir(rest))
				}
			}
			if got := strings.Join(tenants, " "); got != c.want {
				t.Errorf("tenants %q, want %q", got, c.want)
			}
		})
	}
}
