package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
)

// No plan deletes what its own file renders.
func TestPlanKeepsWhatItRenders(t *testing.T) {
	for _, dump := range dumps(t) {
		for _, to := range []generate.Profile{generate.ProfilePlain, generate.ProfileDescoped, generate.ProfileOLMv1} {
			o := adopt.Options{To: to}
			s, out := adopted(t, dump, o)
			list := rowsOf(planOf(t, s, out, o), "deleted")
			for _, x := range asMaps(t, out) {
				meta := in(x, "metadata")
				for _, d := range list {
					words := strings.Fields(d)
					if words[1] == fmt.Sprint(meta["name"]) && strings.HasPrefix(d, strings.ToLower(fmt.Sprint(x["kind"]))) &&
						(meta["namespace"] == nil || words[len(words)-1] == meta["namespace"]) {
						t.Errorf("%s to %s deletes %s", dump, to, d)
					}
				}
			}
		}
	}
}

// The ClusterRoles for users of an API stay while an operator that stays owns it.
func TestSharedAPI(t *testing.T) {
	const role = "clusterroles.rbac.authorization.k8s.io porters.porter.example.com-v1-view"
	for _, shared := range []bool{false, true} {
		s := edited(t, twoOperators, change("ClusterServiceVersion", func(o object) {
			if shared && strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), "memcached") {
				crds := in(o, "spec", "customresourcedefinitions")
				crds["owned"] = append(crds["owned"].([]any), object{"name": "porters.porter.example.com", "version": "v1", "kind": "Porter"})
			}
		}))
		s = chosen(t, s, adopt.Selection{Packages: []string{"porter-operator"}})
		o := adopt.Options{To: generate.ProfileOLMv1}
		if gone := slices.Contains(rowsOf(planOf(t, s, declared(t, s, o), o), "deleted"), role); gone == shared {
			t.Errorf("shared: %t, deleted: %t", shared, gone)
		}
	}
}
