package adopt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
)

// change returns an edit of all objects of a kind; copies of CSVs are left alone.
func change(kind string, f func(object)) func([]object) []object {
	return func(items []object) []object {
		for _, o := range items {
			if o["kind"] == kind && in(o, "metadata", "labels")["olm.copiedFrom"] == nil {
				f(o)
			}
		}
		return items
	}
}

// The requirements of the migration have C1 to C10; one check beside them is in its code alone, one in that of OLM v1.
func TestMigrationRuleSources(t *testing.T) {
	for _, r := range adopt.MigrationRules {
		want := "requirements R3"
		switch r.ID {
		case "unique":
			want = "migration/pkg/migration/readiness.go"
		case "release":
			want = "operator-framework/operator-controller"
		}
		if !strings.Contains(r.Help, want) {
			t.Errorf("%s: the source is %q, want %s", r.ID, r.Help, want)
		}
	}
}

// What OLM v1 has already is in no form that leaves OLM v0: OLM v1 would take over what is applied. A ClusterExtension of
// another package only takes the name that an operator would get.
func TestAlreadyInV1(t *testing.T) {
	for pkg, forms := range map[string][]generate.Profile{
		"gatekeeping-operator": {generate.ProfilePlain, generate.ProfileDescoped, generate.ProfileOLMv1, generate.ProfileClusterExtension},
		"other":                {generate.ProfileClusterExtension},
	} {
		s := edited(t, "gates-multi.yaml", func(items []object) []object {
			return append(items, object{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": object{"name": "gatekeeping-operator"},
				"spec": object{"source": object{"catalog": object{"packageName": pkg}}}})
		})
		for _, to := range generate.Profiles {
			refused := slices.ContainsFunc(s.For(to).Findings, func(f findings.Finding) bool {
				return f.Rule == "refused" && strings.Contains(f.Message, "ClusterExtension gatekeeping-operator is already there")
			})
			if want := slices.Contains(forms, to); refused != want {
				t.Errorf("package %s, %s: refused: %t", pkg, to, refused)
			}
		}
	}
}

// A Subscription in Git needs its catalog, and must own its CSV. The other forms do not.
func TestForSubscription(t *testing.T) {
	for why, edit := range map[string]func([]object) []object{
		"CatalogSource operator-ns/catalog, which its Subscription names, is gone": change("CatalogSource", func(o object) { in(o, "metadata")["name"] = "other" }),
		"OLM refuses a new one for its package": func(items []object) []object {
			return slices.DeleteFunc(items, func(o object) bool { return o["kind"] == "Subscription" })
		},
	} {
		s := edited(t, "gates-multi.yaml", edit)
		for _, to := range generate.Profiles {
			refused := 0
			for _, f := range s.For(to).Findings {
				if f.Rule == "refused" && strings.Contains(f.Message, why) {
					refused++
				}
			}
			if want := to == generate.ProfileSubscription; want != (refused == 1) {
				t.Errorf("%s: %s: %d operators are refused", why, to, refused)
			}
		}
	}
}
