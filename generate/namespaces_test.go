package generate

import (
	"slices"
	"testing"
)

// A target namespace belongs to a tenant: no profile renders it unless it is asked for.
func TestNamespaces(t *testing.T) {
	b := inChannels(t, "", "alpha")
	for _, profile := range []Profile{ProfileOLM, ProfilePlain, ProfileSubscription} {
		for _, c := range []struct {
			name         string
			own, targets bool
			want         []string
		}{
			{"the operator's", true, false, []string{"cache"}},
			{"those of the targets too", true, true, []string{"cache", "team-a", "team-b"}},
			{"those of the targets alone", false, true, []string{"team-a", "team-b"}},
			{"none", false, false, nil},
		} {
			o := Options{Profile: profile, Namespace: "cache", TargetNamespaces: []string{"team-a", "team-b"},
				CreateNamespace: c.own, CreateTargetNamespaces: c.targets, Subscription: fromCommunity}
			result, err := Render(b, o)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if profile == ProfileSubscription && !c.own { // it installs into a namespace that is not there yet
				want = slices.Concat([]string{"cache"}, want)
			}
			var got []string
			for _, x := range result.Objects {
				if x.Kind == "Namespace" {
					got = append(got, x.Name)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", profile, c.name, got, want)
			}
		}
	}
}
