package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An object without apiVersion is taken for what OLM takes it for, in every decision about it.
func TestShippedWithoutAPIVersion(t *testing.T) {
	const rbac = "apiVersion: rbac.authorization.k8s.io/v1\n"
	shipped := []string{`
kind: ClusterRole
metadata: {name: shipped, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]
`, `
kind: ClusterRoleBinding
metadata: {name: shipped}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shipped}
subjects: [{kind: ServiceAccount, name: manager, namespace: memcached}]
`, `
kind: Role
metadata: {name: shipped}
rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
`}
	var with []string
	for _, text := range shipped {
		with = append(with, rbac+text)
	}
	for _, o := range []Options{
		{Names: NamesOLM},
		{},
		{Profile: ProfilePlain},
		{Profile: ProfileDescoped, Descoped: Descoped{AggregateTo: []DefaultRole{"view"}}},
		{Profile: ProfileDescoped, Descoped: Descoped{BindAll: true}},
	} {
		csv := globalOnly + oneDeployment + "    permissions:\n    - serviceAccountName: manager\n" +
			"      rules: [{verbs: [get], apiGroups: [\"\"], resources: [secrets]}]\n"
		want, err := Render(testBundle(t, csv, with...), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Render(testBundle(t, csv, shipped...), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*Result{want, got} {
			slices.SortFunc(r.Objects, func(a, b Object) int { return strings.Compare(a.key(), b.key()) })
		}
		if d := cmp.Diff(contents(t, want), contents(t, got)); d != "" {
			t.Errorf("%s, names %s: with apiVersion -, without +\n%s", o.Profile, o.Names, d)
		}
	}
}

// contents returns the values of all objects.
func contents(t *testing.T, r *Result) (all []map[string]any) {
	t.Helper()
	for _, x := range r.Objects {
		o, err := x.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		v, err := o.Value()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
