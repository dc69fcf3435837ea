package danger_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
)

// platform.yaml says of a kind what the tables of kinds say of it. In a group that they have, a name that is not there
// is not the plural of a kind.
func TestPlatformKinds(t *testing.T) {
	type row struct {
		ID                  string
		Kinds, ClusterKinds map[string][]string
	}
	var table struct{ Agents, Objects []row }
	data, err := os.ReadFile("platform.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	check := func(id string, kinds map[string][]string, want bool) {
		for group, list := range kinds {
			for _, plural := range list {
				namespaced, found := olm.NamespacedResource(group, plural)
				if plural == "namespaces" {
					namespaced = true // a request for one is one in it
				}
				if found && namespaced != want {
					t.Errorf("%s: %s.%s: namespaced is %t", id, plural, group, namespaced)
				}
				if found {
					known++
				}
			}
		}
	}
	for _, r := range append(table.Agents, table.Objects...) {
		if len(r.Kinds)+len(r.ClusterKinds) == 0 {
			t.Errorf("%s has no kinds", r.ID)
		}
		check(r.ID, r.Kinds, true)
		check(r.ID, r.ClusterKinds, false)
	}
	if known < 40 {
		t.Errorf("%d kinds are in the tables", known)
	}
}
