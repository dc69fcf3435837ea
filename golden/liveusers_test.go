package golden

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// TestLiveUsers compares what users gain with what the aggregation controller of a real cluster gave to its roles
// ("make live" recorded it): rule by rule, in the same order.
func TestLiveUsers(t *testing.T) {
	cases, err := live.Cases(".")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(live.UserRoles, permissions.UserRoles) {
		t.Errorf("recorded are %q, reported are %q", live.UserRoles, permissions.UserRoles)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := filepath.Join("live", c.Name)
			recorded, _, err := equal.ReadCase(dir)
			if err != nil {
				t.Fatal(err)
			}
			want, err := live.ReadUsers(dir)
			if err != nil {
				t.Fatalf("%v\n(make live UPDATE=1 CASES='^%s$' records it)", err, c.Name)
			}
			got, err := permissions.UsersGain(renderedManifests(t, c))
			if err != nil {
				t.Fatal(err)
			}
			for _, role := range live.UserRoles {
				if recorded.Options().Incomplete { // OLM stopped on the way, and olmgen renders everything
					for _, rule := range want[role] {
						if !slices.ContainsFunc(got[role], func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
							t.Errorf("%s: olmgen lacks %v", role, rule)
						}
					}
				} else if d := cmp.Diff(want[role], got[role]); d != "" {
					t.Errorf("%s (-cluster +olmgen):\n%s", role, d)
				}
			}
		})
	}
}

// renderedManifests returns the objects that olmgen renders for a case.
func renderedManifests(t *testing.T, c equal.Case) []*manifest.Object {
	t.Helper()
	var objects []*manifest.Object
	for _, o := range renderedLive(t, c) {
		m, err := o.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, m)
	}
	return objects
}
