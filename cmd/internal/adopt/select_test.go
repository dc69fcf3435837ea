package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
)

const twoOperators = "two-operators-in-one-group.yaml"

func chosen(t testing.TB, s *adopt.State, choice adopt.Selection) *adopt.State {
	t.Helper()
	s, err := s.Select(choice)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func same(items []object) []object { return items }

// A plan for one of two operators touches nothing of the other one, nor what both share but for its own label.
func TestPlanForOneOperator(t *testing.T) {
	for _, to := range generate.Profiles {
		whole := edited(t, twoOperators, same)
		s := chosen(t, whole, adopt.Selection{Packages: []string{"porter-operator"}})
		o := adopt.Options{To: to}
		file := declared(t, s, o)
		if missing := notInFile(whole.Verify(asMaps(t, file))); !slices.Equal(missing, []string{"ClusterServiceVersion operator-ns/memcached-operator.v0.0.1"}) {
			t.Errorf("%s: not in the file: %q", to, missing)
		}
		plan := planOf(t, s, file, o)
		for _, l := range plan.Lists {
			for _, kept := range []string{"memcached", " my-og ", "olm.og.my-og", "installplans.", "=my-og"} {
				if strings.Contains(strings.Join(l.Rows, "\n")+"\n", kept) {
					t.Errorf("%s: %s: %q", to, l.Name, l.Rows)
				}
			}
		}
		if leaves, rows := len(s.Leaving(to)) > 0, rowsOf(plan, "operators"); leaves && !slices.Equal(rows, []string{"porter-operator.v1.0.0 operator-ns porter-operator.operator-ns"}) || leaves != (rows != nil) {
			t.Errorf("%s: %q leaves", to, rows)
		}
	}
}

// What is declared for one of two operators in a group renders to nothing that they share, and is in the cluster.
func TestDeclareOneOperator(t *testing.T) {
	for _, name := range []string{"porter-operator", "memcached-operator"} {
		s := chosen(t, edited(t, twoOperators, same), adopt.Selection{Except: []string{name}})
		for _, to := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain} {
			objects := asMaps(t, declared(t, s, adopt.Options{To: to}))
			if len(objects) < 8 {
				t.Errorf("%d objects", len(objects))
			}
			for _, o := range objects {
				if strings.Contains(fmt.Sprint(in(o, "metadata")["name"]), "my-og") {
					t.Errorf("%s without %s: the file renders %s", to, name, in(o, "metadata")["name"])
				}
			}
			for _, c := range s.Verify(objects).Objects {
				unlike := c.Verdict == adopt.Differs && to == generate.ProfileOLM || c.Verdict == adopt.RenderedOnly
				if unlike || strings.Contains(c.Object, "my-og") || strings.Contains(c.Object, strings.TrimSuffix(name, "-operator")) {
					t.Errorf("%s without %s: %s %s: %s", to, name, c.Verdict, c.Object, c.Reason)
				}
			}
		}
	}
}
