package generate

import (
	"strings"
	"testing"
)

// Users get no internal API by a role that another one aggregates, whatever the options say. What equals OLM's objects
// has OLM's labels.
func TestInternalAPIsAreNotAggregated(t *testing.T) {
	crd := func(plural, kind string) string {
		return strings.NewReplacer("memcacheds", plural, "Memcached", kind, "memcached", strings.ToLower(kind)).Replace(memcachedCRD)
	}
	spec := globalOnly + ownsMemcached + "  - {name: settings.cache.example.com, version: v1alpha1, kind: Setting}\n" + oneDeployment
	const (
		names = `{operators.operatorframework.io/internal-objects: '["settings.cache.example.com"]'}`
		role  = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME, labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{verbs: [update], apiGroups: [cache.example.com], resources: [RESOURCE]}]
`
	)
	b := annotatedBundle(t, names, spec, memcachedCRD, crd("settings", "Setting"),
		strings.NewReplacer("NAME", "shipped-settings", "RESOURCE", `"*"`).Replace(role),
		strings.NewReplacer("NAME", "shipped-memcacheds", "RESOURCE", "memcacheds").Replace(role))
	everyone := []DefaultRole{"admin", "edit", "view", "cluster-reader"}
	for _, c := range []struct {
		name    string
		options Options
		exact   bool
		shipped bool // a rule of the profile is about what the bundle ships
	}{
		{"by default", Options{Profile: ProfileDescoped}, false, true},
		{"on request", Options{Profile: ProfileDescoped, Descoped: Descoped{AggregateTo: everyone}}, false, true},
		{"bound alone", Options{Profile: ProfileDescoped, Descoped: Descoped{BindInternal: true}}, false, true},
		{"in a group", Options{Profile: ProfileDescoped, OperatorGroup: "g", TargetNamespaces: []string{"a"},
			Descoped: Descoped{AggregateTo: everyone}}, false, true},
		{"without OLM", Options{Profile: ProfilePlain, Descoped: Descoped{AggregateTo: everyone}}, false, false},
		{"for OLM v1", Options{Profile: ProfileClusterExtension}, false, false},
		{"as OLM v0", Options{}, true, false},
		{"as OLM v0 without OLM", Options{Profile: ProfilePlain, Names: NamesOLM}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := Render(b, c.options)
			if err != nil {
				t.Fatal(err)
			}
			internal, other := 0, 0
			for _, x := range result.Objects {
				labels := strings.Contains(string(x.Data), "/aggregate-to-")
				switch {
				case x.Kind != "ClusterRole":
				case strings.HasPrefix(x.Name, "settings."):
					internal++
					if labels != c.exact {
						t.Errorf("%s is aggregated: %v", x.Name, labels)
					}
				case strings.HasPrefix(x.Name, "memcacheds.") && labels:
					other++
				case x.Name == "shipped-settings" && c.shipped && labels:
					t.Errorf("%s of the bundle is aggregated", x.Name)
				case x.Name == "shipped-memcacheds" && c.shipped && !labels:
					t.Errorf("%s of the bundle is not aggregated", x.Name)
				}
			}
			if internal < 3 || other < 3 {
				t.Errorf("%d roles for the internal API, %d aggregated for the other one", internal, other)
			}
			notes := strings.Join(noteTexts(result), "\n")
			if said := strings.Contains(notes, "users of settings.cache.example.com are aggregated to no other role"); said == c.exact {
				t.Errorf("a note names it: %v, in %s", said, notes)
			}
		})
	}
}
