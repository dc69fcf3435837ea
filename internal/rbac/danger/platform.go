package danger

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
)

//go:embed platform.yaml
var platformData []byte

// row is what follows from a right to objects of some kinds or of some names. platform.yaml explains it.
type row struct {
	ID, Text, Source string
	Level            findings.Severity
	Yields           string
	Kinds            map[string][]string // namespaced resources, by group
	ClusterKinds     map[string][]string // cluster-scoped ones
	Verbs            []string            // empty: those that write
	Namespace        string              // where objects of the names are
	Names            []string            // empty: any
}

var yields = map[string]Yield{"": Nothing, "every": Every, "pods": Pods}

// platforms are the rows of platform.yaml.
var platforms = sync.OnceValue(func() []row {
	var table struct{ Agents, Objects []row }
	if err := yaml.UnmarshalStrict(platformData, &table); err != nil {
		panic("a table of the program itself: " + err.Error())
	}
	return slices.Concat(table.Agents, table.Objects)
})

func (r row) consequence() Consequence {
	c := Consequence{ID: r.ID, Text: r.Text, Message: r.Text + ", in %s", Cluster: r.Level, Namespace: findings.None,
		needs: [][]pattern{{}}, yields: yields[r.Yields], wide: true, Source: r.Source,
		named: func(_ int, name string) bool { return name != rbac.All }}
	if len(r.Verbs) == 0 {
		r.Verbs = writing
	}
	for _, kinds := range []map[string][]string{r.Kinds, r.ClusterKinds} {
		for _, group := range lists.Keys(kinds) {
			c.needs[0] = append(c.needs[0], resources(group, kinds[group], r.Verbs...))
		}
	}
	switch {
	case len(r.Names) > 0: // a rule without names has other consequences
		c.unless, c.only, c.within = []string{"secrets-read", "configmaps-write"}, true, r.Namespace
		c.named = oneOf(r.Names...)
	case len(r.Kinds) > 0:
		c.Namespace = findings.Warning
	}
	return c
}

// platform reports whether a namespace is one of Kubernetes or OpenShift, which keep these names for themselves.
func platform(_ int, name string) bool {
	return name == "default" || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift")
}

const ruleBinds = "rbac-bind-named"

// all returns the consequences that can hold, with those of ClusterRoles that somebody may bind by name, at places.
func (s Scopes) all(held Held, places ...string) (out []*Consequence) {
	list := Consequences()
	for i := range list {
		out = append(out, &list[i])
	}
	if s.Role == nil {
		return out
	}
	binding := resources(groupRBAC, []string{"clusterroles"}, "bind")
	var names []string
	for _, place := range append(slices.Clone(places), "") {
		for _, r := range held[place] {
			if len(r.ResourceNames) > 0 && s.allow(binding, r, place) {
				names = append(names, r.ResourceNames...)
			}
		}
	}
	for _, name := range lists.SortedUnique(names) {
		if c := s.binds(name, binding); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// binds returns what follows from the right to bind a ClusterRole: the worst that follows from what it allows. It is
// nil for one that is not known, or that is harmless.
func (s Scopes) binds(name string, binding pattern) *Consequence {
	known := Scopes{resources: s.resources} // without roles that the role binds: that may have no end
	level := func(place string) (worst Follows, at findings.Severity) {
		at = findings.None
		for _, f := range known.Follow(Held{place: s.Role(name)}) {
			if l := f.Level(place); l.Rank() < at.Rank() {
				worst, at = f, l
			}
		}
		return worst, at
	}
	worst, cluster := level("")
	_, namespace := level("a-namespace")
	if name == rbac.ClusterAdmin || cluster == findings.None && namespace == findings.None {
		return nil
	}
	text := "binds " + name + " to itself, which " + worst.Text
	return &Consequence{ID: ruleBinds, Text: text, Message: text + ", in %s", Cluster: cluster, Namespace: namespace,
		unless: []string{"rbac-bind"}, needs: [][]pattern{{binding}, {bindingsWrite}}, yields: worst.yields,
		also: worst.also, named: func(need int, n string) bool { return need == 0 && n == name }}
}
