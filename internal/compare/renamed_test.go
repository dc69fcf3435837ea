package compare_test

import "testing"

// TestRenamedDeployment compares the only Deployment of a namespace that is gone with the only one that is new if it runs the same containers.
func TestRenamedDeployment(t *testing.T) {
	of := func(namespace, name, container string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {selector: {matchLabels: {a: b}}, " +
			"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: " + container + ", image: 'x/y:1'}]}}}\n"
	}
	for name, c := range map[string]struct {
		old, now string
		one      bool
	}{
		"one":              {of("ns", "a", "manager"), of("ns", "b", "manager"), true},
		"other container":  {of("ns", "a", "manager"), of("ns", "b", "server"), false},
		"other namespace":  {of("ns", "a", "manager"), of("other", "b", "manager"), false},
		"two that are new": {of("ns", "a", "manager"), of("ns", "b", "manager") + of("ns", "c", "manager"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := compared(t, tree(t, c.old), tree(t, c.now))
			one := len(r.Workloads) == 1 && r.Workloads[0].Field == "metadata.name" && r.Workloads[0].Old == "a" && r.Workloads[0].New == "b"
			if one != c.one {
				t.Errorf("got\n%s", lines(r))
			}
		})
	}
}
