package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/charts"
)

// asWritten is a renderer whose charts have no templates. One with the word broken cannot be rendered.
type asWritten struct{}

func (asWritten) Render(_ context.Context, r charts.Release) (charts.Rendered, error) {
	var out charts.Rendered
	for _, f := range r.Chart {
		if text := string(f.Data); strings.Contains(text, "broken") {
			return out, errors.New("broken")
		} else if strings.HasPrefix(f.Name, "templates/") {
			for one := range strings.SplitSeq(text, "---\n") {
				out.Manifests = append(out.Manifests, charts.Manifest{Template: f.Name, Text: one})
			}
		}
	}
	return out, nil
}

// The operator of examples/memcached-operator, as Kubebuilder writes it: its rules in another form, and the same.
const (
	workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: memcached-operator-controller-manager, namespace: memcached}
spec: {template: {spec: {serviceAccountName: manager, containers: [{name: manager, image: controller}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: memcached}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leader-election, namespace: memcached}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader-election}
subjects: [{kind: ServiceAccount, name: manager, namespace: memcached}]
`
	election = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader-election, namespace: memcached}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
`
	manager = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules:
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [cache.example.com]
  resources: [memcacheds/finalizers, memcacheds/status, memcacheds]
  verbs: [get, list, watch, update, patch]
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
`
	// users is for those who are bound to it later.
	users = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: memcached-editor}
rules:
- {apiGroups: [cache.example.com], resources: [memcacheds], verbs: ["*"]}
`
	all = "resources: [workload.yaml, role.yaml, election.yaml]\n"
)

// config is a kustomization with a role in place of that of the manager.
func config(role string) string {
	return "-- config/default/kustomization.yaml --\n" + all + "-- config/default/workload.yaml --" + workload +
		"-- config/default/role.yaml --" + role + "-- config/default/election.yaml --" + election
}

func chart(role string) string {
	return "-- charts/memcached/Chart.yaml --\nname: memcached\n-- charts/memcached/templates/all.yaml --" + workload +
		"---" + role + "---" + election
}

var cases = []struct{ name, files, want string }{
	{"nothing", "", "\nlooked: its rights are compared with nothing: the bundle stands beside no chart, kustomization or role.yaml\n"},
	{"equal", config(manager+"---"+users) + chart(manager+"---"+users), `
looked: compared with the rights of charts/memcached with its default values and the dependencies that are there
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"more in config", config(manager + `- {apiGroups: [""], resources: [nodes], verbs: [get, list]}` + "\n"), `
error release/rights-missing config/default/role.yaml:13: ClusterRole manager: the bundle grants nothing of this in the cluster: core: get,list nodes
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:158, or take it away here
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"a URL", config(manager + "- {nonResourceURLs: [/metrics], verbs: [create]}\n"), `
error release/rights-missing config/default/role.yaml:13: ClusterRole manager: the bundle grants nothing of this in the cluster: create URLs /metrics
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:52, or take it away here
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"a wildcard", config(strings.Replace(manager, "verbs: [get, list, watch, update, patch]", `verbs: ["*"]`, 1)), `
warning release/rights-missing config/default/role.yaml:8: ClusterRole manager: the bundle grants only a part of this in the cluster: cache.example.com: all verbs on memcacheds, memcacheds/finalizers, memcacheds/status; keeps get,list,watch,update,patch
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:64, or take it away here
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"a wildcard beside what is missing", config(strings.NewReplacer("verbs: [get, list, watch, update, patch]", `verbs: ["*"]`,
		", memcacheds]", ", memcacheds, others]").Replace(manager)), `
error release/rights-missing config/default/role.yaml:8: ClusterRole manager: the bundle grants nothing of this in the cluster: cache.example.com: all verbs on others
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:64, or take it away here
warning release/rights-missing config/default/role.yaml:8: ClusterRole manager: the bundle grants only a part of this in the cluster: cache.example.com: all verbs on memcacheds, memcacheds/finalizers, memcacheds/status; keeps get,list,watch,update,patch
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:64, or take it away here
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"less in a chart", chart(strings.Replace(manager, "update, patch, delete", "update", 1)), `
warning release/rights-more bundle/manifests/memcached-operator.clusterserviceversion.yaml:52: ClusterServiceVersion placeholder/memcached-operator.v0.0.1: charts/memcached with its default values and the dependencies that are there grants nothing of this in the cluster: patch deployments (apps); apps: delete deployments
  add it there, near charts/memcached/templates/all.yaml:19, or take it out of the bundle
looked: compared with the rights of charts/memcached with its default values and the dependencies that are there
`},
	// A role of markers is held by whoever holds it: what it shares with the bundle is neither lost nor gained.
	{"a role alone", "-- config/rbac/role.yaml --" + strings.Replace(manager, "deployments]", "deployments, daemonsets]", 1) +
		"-- config/rbac/election.yaml --" + election, `
error release/rights-missing config/rbac/role.yaml:5: ClusterRole manager: the bundle grants nothing of this in the cluster: create,update,patch daemonsets (apps); apps: get,list,watch,delete daemonsets
  add it to the bundle, near bundle/manifests/memcached-operator.clusterserviceversion.yaml:52, or take it away here
looked: compared with the rights of config/rbac/role.yaml
`},
	{"others", strings.ReplaceAll(config(manager)+chart(manager), "cache.example.com", "example.org") +
		"-- examples/Chart.yaml --\nbroken cache.example.com\n", `
looked: not compared with charts/memcached, config/default/kustomization.yaml, config/default/role.yaml: it grants no account of the operator a right on an API of the bundle
`},
	{"not rendered", "-- config/default/kustomization.yaml --\nresources: [https://example.com/a//b]\n" +
		"-- chart/Chart.yaml --\nbroken cache.example.com\n", `
error release/rights-unknown chart: the rights of chart are not compared with the bundle: its chart is not rendered: broken
  helm template has to render it without values
error release/rights-unknown config/default/kustomization.yaml:1: resources[0]: the rights of config/default/kustomization.yaml are not compared with the bundle: it is remote, and olmgen reads what is in the tree (https://example.com/a)
  olmgen has to read it, or kustomize to build it, from what is in the repository
`},
	// The samples of config/manifests may be empty, which kustomize refuses since 5.0.
	{"empty samples", "-- config/manifests/kustomization.yaml --\nresources: [../default, ../samples]\n" +
		"-- config/samples/kustomization.yaml --\nresources:\n" + config(manager), `
looked: config/default/kustomization.yaml counts instead of config/manifests/kustomization.yaml: config/samples/kustomization.yaml: the kustomization is empty
looked: compared with the rights of config/default/kustomization.yaml
`},
	{"files that are broken", "-- config/default/kustomization.yaml --\nresources: [gone]\n-- config/rbac/role.yaml --\na: b: c\n" +
		"-- a/role.yaml --" + manager + "{{ end }}\n-- b/role.yaml --\na: b: c\n" +
		"-- c/role.yaml --" + manager + "-- c/election.yaml --" + election + "-- c/other.yaml --\na: b: c\n" +
		"-- c/kustomization.yaml --\nresources: [gone]\n", `
error release/rights-unknown b/role.yaml:1: the rights of b/role.yaml are not compared with the bundle: not YAML: mapping values are not allowed in this context
  olmgen has to read it, or kustomize to build it, from what is in the repository
error release/rights-unknown config/default/kustomization.yaml:1: resources[0]: the rights of config/default/kustomization.yaml are not compared with the bundle: gone does not exist
  olmgen has to read it, or kustomize to build it, from what is in the repository
error release/rights-unknown config/rbac/role.yaml:1: the rights of config/rbac/role.yaml are not compared with the bundle: not YAML: mapping values are not allowed in this context
  olmgen has to read it, or kustomize to build it, from what is in the repository
looked: compared with the rights of c/role.yaml
looked: not compared with a/role.yaml: it is a template
`},
	{"a chart whose image has another name", "-- chart/Chart.yaml --\n-- chart/templates/all.yaml --" + strings.NewReplacer(
		"name: memcached-operator-controller-manager", "name: mine", "image: controller", "image: r.example.com/other:1").Replace(workload) +
		"---" + manager, `
looked: not compared with chart: its account manager has a right on an API of the bundle, and its workload and images (mine, other) have no name of those of the bundle (memcached-operator, memcached-operator-controller-manager): give one of them the same name
`},
	{"an unknown role", strings.Replace(config(manager), "kind: Role,", "kind: ClusterRole,", 1), `
looked: compared with the rights of config/default/kustomization.yaml
looked: what only the bundle grants is not known: config/default/kustomization.yaml binds ServiceAccount memcached/manager to ClusterRole leader-election, whose rules are not there
`},
}

func TestRights(t *testing.T) {
	const example = "../../../../examples/memcached-operator/bundle"
	b, err := bundle.Read(os.DirFS(example), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, f := range txtar.Parse([]byte(c.files)).Files {
				name := filepath.Join(root, f.Name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(root)
			r, err := look(t.Context(), ".")
			if err != nil {
				t.Fatal(err)
			}
			list, looked, err := rights(t.Context(), &opened{dir: "bundle", bundle: b}, nil, r, asWritten{})
			if err != nil {
				t.Fatal(err)
			}
			got := "\n"
			for _, f := range list {
				if !slices.ContainsFunc(rightsRules, func(r findings.Rule) bool { return r.ID == f.Rule }) {
					t.Errorf("nothing explains %s", f.Rule)
				}
				got += fmt.Sprintf("%s %s %s: %s\n  %s\n", f.Level, f.Rule, f.Where(), f.Description(), f.Hint)
			}
			for _, l := range looked {
				got += "looked: " + l + "\n"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of several operators in a repository, each is compared with what grants it rights on its own APIs, also where they are
// in one API group. An operator without an API is compared with what is of no other one.
func TestRightsOfSeveralOperators(t *testing.T) {
	t.Chdir(t.TempDir())
	role := func(resource string) string {
		return fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n"+
			"- {apiGroups: [cache.example.com], resources: [%s, %[1]s/status], verbs: [get]}\n", resource)
	}
	r := &repository{root: "."}
	for _, resource := range []string{"memcacheds", "redises", "others"} {
		if err := os.Mkdir(resource, 0o755); err != nil {
			t.Fatal(err)
		}
		r.roles = append(r.roles, filepath.Join(resource, roleFile))
		if err := os.WriteFile(filepath.Join(resource, roleFile), []byte(role(resource)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bundleOf := func(crds ...string) *opened {
		x := &opened{dir: "bundle", bundle: &bundle.Bundle{CSV: &v1alpha1.ClusterServiceVersion{}}}
		for _, plural := range crds {
			x.bundle.CRDs = append(x.bundle.CRDs, &bundle.CRD{Group: "cache.example.com", Plural: plural})
		}
		return x
	}
	memcached, redis, none := bundleOf("memcacheds"), bundleOf("redises"), bundleOf()
	for _, test := range []struct {
		of   *opened
		want []string
	}{{memcached, []string{"memcacheds"}}, {redis, []string{"redises"}}, {none, []string{"others"}}} {
		var compared []string
		for _, file := range r.roles {
			apis, wanted := apisOf(test.of, []*opened{memcached, redis, none})
			_, why, err := ofOther(t.Context(), apis, wanted, &side{}, ".", file, asWritten{})
			if err != nil {
				t.Fatal(err)
			}
			if why == "" {
				compared = append(compared, filepath.Dir(file))
			}
		}
		if !slices.Equal(compared, test.want) {
			t.Errorf("%d APIs: %v, not %v", len(test.of.bundle.CRDs), compared, test.want)
		}
	}
}

// A directory named operators may be that of a monorepo. The rules of a catalog's repository are for bundles that are
// named by versions, or for what has a ci.yaml.
func TestOperatorsOfMonorepo(t *testing.T) {
	for file, want := range map[string]string{"bundle/metadata/annotations.yaml": "operators/a",
		"v1.0.0/metadata/annotations.yaml": ".", "1.0.0/metadata/annotations.yaml": ".", "ci.yaml": "."} {
		t.Chdir(t.TempDir())
		file = filepath.Join("operators/a", file)
		for _, dir := range []string{filepath.Dir(file), filepath.Join(filepath.Dir(file), "../manifests")} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := look(t.Context(), "operators/a"); err != nil || r.top != want {
			t.Errorf("%s: %s, %v", file, r.top, err)
		}
	}
}

func TestLook(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"chart/Chart.yaml", "chart/templates/role.yaml", "chart/charts/sub/Chart.yaml",
		"config/default/kustomization.yaml", "config/manifests/kustomization.yml", "config/rbac/role.yaml",
		"vendor/x/Chart.yaml", ".git/role.yaml", "api/config/base/Kustomization"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := look(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"api/config/base/Kustomization", "chart", "config/manifests/kustomization.yml", "config/rbac/role.yaml"}
	if diff := cmp.Diff(want, slices.Concat(r.granting, r.roles)); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile("Chart.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = look(t.Context(), "."); err != nil || r.granting[0] != "." {
		t.Error("a chart in the root: ", err)
	}
}
