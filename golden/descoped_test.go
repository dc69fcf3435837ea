package golden

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

const (
	ownNamespace = "operator-ns"
	tenant       = "tenant-a"
	stranger     = "tenant-m"
)

// The RBAC of the descoped profile, for every bundle of the corpus: without bindings the operator may do nothing but its status exception,
// which is the plan's or as the CSV asks, and, in its own namespace, what permissions ask for; bound to a namespace it may do there exactly what the CSV asks for, and in another
// one no more than before; however the ClusterRoles are split. A further tenant adds files and changes none.
func TestDescopedCorpus(t *testing.T) {
	warnings, checked := map[string]int{}, 0
	for _, dir := range corpustest.Bundles(t) {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
			if err != nil {
				t.Skipf("TestCorpus says whether that is explained: %v", err)
			}
			checkDescoped(t, b)
			r, err := renderBundle(b, descoped(generate.Descoped{}))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range r.result.Warnings {
				warnings[w.Class]++
			}
			checked++
		})
	}
	if checked == 0 {
		t.Error("no bundle was checked")
	}
	fmt.Printf("descoped: %d bundles, warnings %s\n", checked, counts(warnings))
}

// The same for the golden bundles, which anybody has.
func TestDescopedGolden(t *testing.T) {
	files, err := filepath.Glob("*/bundle/metadata")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Dir(dir), func(t *testing.T) {
			b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
			if err != nil {
				t.Fatal(err)
			}
			checkDescoped(t, b)
		})
	}
}

func descoped(d generate.Descoped) generate.Options {
	return generate.Options{Namespace: ownNamespace, Profile: generate.ProfileDescoped, Certs: generate.CertsManager, Descoped: d}
}

func checkDescoped(t *testing.T, b *bundle.Bundle) {
	d := decoder{}
	for _, split := range append([]generate.Split{""}, generate.Splits...) {
		free := d.rbac(t, b, generate.Descoped{Split: split, BindNone: true})
		bound := d.rbac(t, b, generate.Descoped{Split: split, BindNamespaces: []string{tenant}})
		all := d.rbac(t, b, generate.Descoped{Split: split, BindAll: true})
		cluster := d.rbac(t, b, generate.Descoped{Split: split, BindCluster: true})
		strict := d.rbac(t, b, generate.Descoped{Split: split, Status: generate.StatusAsked, BindNone: true})
		what := "split " + string(split)
		for _, account := range free.accounts() {
			asked := free.asked(account)
			own, status := free.allowed(account, ownNamespace, false), free.allowed(account, stranger, true)
			checkStatus(t, b, what+", "+account, status)
			covers(t, what+", "+account+": the CSV asks for all that is in its own namespace", slices.Concat(free.permissions(account), status), own)
			covers(t, what+", "+account+": its own namespace has all of permissions", own, free.permissions(account))

			covers(t, what+", "+account+": the CSV asks for the status, as asked", asked, strict.allowed(account, stranger, true))

			local, beyond := free.clusterRoles(account, false), free.clusterRoles(account, true)
			work := slices.Concat(local, beyond)
			checkScopes(t, b, what+", "+account, local, beyond)
			covers(t, what+", "+account+": the CSV asks for all that is in its ClusterRoles", asked, work)
			covers(t, what+", "+account+": its ClusterRoles have all that the CSV asks for", work, asked)
			checkPlan(t, free, what+", "+account, asked, status)

			equalRules(t, what+", "+account+": a tenant", bound.allowed(account, tenant, true), slices.Concat(local, status))
			equalRules(t, what+", "+account+": bound to what is cluster-scoped", cluster.allowed(account, stranger, true), slices.Concat(beyond, status))
			equalRules(t, what+", "+account+": a namespace that is not bound", bound.allowed(account, stranger, true), status)
			equalRules(t, what+", "+account+": its own namespace when a tenant is bound", bound.allowed(account, ownNamespace, false), own)
			equalRules(t, what+", "+account+": bound everywhere", all.allowed(account, stranger, false), slices.Concat(work, status))
		}
		free.checkBindings(t, what, ownNamespace)
		bound.checkBindings(t, what+", bound", ownNamespace, tenant)
		more, err := renderBundle(b, descoped(generate.Descoped{Split: split, BindNamespaces: []string{"another", tenant}}))
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range bound.tree {
			if !bytes.Equal(more.tree[name], data) {
				t.Errorf("%s: a further tenant changes %s", what, name)
			}
		}
	}
}

// checkScopes proves that no ClusterRole for single namespaces has a rule that no RoleBinding grants, and that the one for
// the cluster has no rule about what is namespaced alone. Some verbs on what is cluster-scoped are asked with a namespace.
func checkScopes(t *testing.T, b *bundle.Bundle, what string, local, beyond []rbacv1.PolicyRule) {
	t.Helper()
	is := func(p rbacv1.PolicyRule, scope bundle.Scope) (found string) {
		for _, group := range p.APIGroups {
			for _, resource := range p.Resources {
				asked := func(verb string) bool { return danger.AskedInNamespace(group, resource, verb) }
				if !slices.ContainsFunc(p.Verbs, asked) && b.ResourceScope(group, resource) == scope {
					found = resource + "." + group
				}
			}
		}
		return found
	}
	for _, p := range local {
		if name := is(p, bundle.ClusterScoped); name != "" || len(p.NonResourceURLs) > 0 {
			t.Errorf("%s: a RoleBinding does not grant %s %v", what, name, p.NonResourceURLs)
		}
	}
	for _, p := range beyond {
		if name := is(p, bundle.Namespaced); name != "" {
			t.Errorf("%s: %s is namespaced", what, name)
		}
	}
}

// checkStatus proves that rules are the plan's exception and nothing else.
func checkStatus(t *testing.T, b *bundle.Bundle, what string, rules []rbacv1.PolicyRule) {
	t.Helper()
	exception := []rbacv1.PolicyRule{}
	for _, d := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		plural, group, _ := strings.Cut(d.Name, ".")
		exception = append(exception, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural + "/status"}, Verbs: []string{"get", "update", "patch"}})
	}
	for _, d := range b.CSV.Spec.APIServiceDefinitions.Owned {
		exception = append(exception, rbacv1.PolicyRule{APIGroups: []string{d.Group}, Resources: []string{d.Name + "/status"}, Verbs: []string{"get", "update", "patch"}})
	}
	covers(t, what+": only the status of owned APIs is bound in all namespaces", exception, rules)
}

// checkPlan proves that status holds no more than what the CSV asks for and the plan's get and update of owned APIs, and
// that an account that runs the operator may get and update the status of all APIs of its CRDs that have one. The plan's
// rule is for accounts with a rule on the API's group, if there are any.
func checkPlan(t *testing.T, r *rbac, what string, asked, status []rbacv1.PolicyRule) {
	t.Helper()
	var plan, expected []rbacv1.PolicyRule
	b := r.bundle
	_, account, _ := strings.Cut(what, ", ")
	for _, d := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		plural, group, _ := strings.Cut(d.Name, ".")
		about := func(name string) bool {
			return slices.ContainsFunc(r.asked(name), func(p rbacv1.PolicyRule) bool {
				return slices.Contains(p.APIGroups, group) || slices.Contains(p.APIGroups, "*")
			})
		}
		if !about(account) && slices.ContainsFunc(r.accounts(), about) {
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural + "/status"}, Verbs: []string{"get", "update"}}
		plan = append(plan, rule)
		if hasStatus(t, b.CRD(d.Name), d.Version) {
			expected = append(expected, rule)
		}
	}
	for _, d := range b.CSV.Spec.APIServiceDefinitions.Owned {
		plan = append(plan, rbacv1.PolicyRule{APIGroups: []string{d.Group}, Resources: []string{d.Name + "/status"}, Verbs: []string{"get", "update"}})
	}
	covers(t, what+": the CSV or the plan asks for the status", slices.Concat(asked, plan), status)
	if slices.ContainsFunc(b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) bool {
		return install.Account(&d.Spec.Template.Spec) == account
	}) {
		covers(t, what+": the operator may update every status", status, expected)
	}
}

// hasStatus reports whether a version of a CRD has a status subresource.
func hasStatus(t *testing.T, c *bundle.CRD, version string) bool {
	t.Helper()
	v, err := c.Value()
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := v["spec"].(map[string]any)
	has := func(m map[string]any) bool {
		subresources, _ := m["subresources"].(map[string]any)
		return subresources["status"] != nil
	}
	versions, _ := spec["versions"].([]any)
	return has(spec) || slices.ContainsFunc(versions, func(x any) bool {
		m, _ := x.(map[string]any)
		return m["name"] == version && has(m)
	})
}

func covers(t *testing.T, what string, owner, servant []rbacv1.PolicyRule) {
	t.Helper()
	servant = slices.DeleteFunc(slices.Clone(servant), func(p rbacv1.PolicyRule) bool { // it covers itself, and Covers is slow
		return slices.ContainsFunc(owner, func(q rbacv1.PolicyRule) bool { return reflect.DeepEqual(p, q) })
	})
	if ok, missing := validation.Covers(owner, servant); !ok {
		t.Errorf("not so: %s: %v", what, missing[:min(len(missing), 5)])
	}
}

// equalRules compares rules by their text, in any order.
func equalRules(t *testing.T, what string, got, want []rbacv1.PolicyRule) {
	t.Helper()
	if d := cmp.Diff(ruleTexts(want), ruleTexts(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func ruleTexts(rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, p := range rules {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out
}

// rbac is what a rendering lets the operator's accounts do, as the API server would find it out.
type rbac struct {
	bundle  *bundle.Bundle
	tree    Tree
	roles   map[string][]rbacv1.PolicyRule
	purpose map[string]string // of ClusterRoles
	binding []binding
}

type binding struct {
	kind, namespace, name, role string
	accounts                    []string
	shipped                     bool
}

// decoder decodes RBAC objects, equal ones once.
type decoder map[string]*decoded

type decoded struct {
	rbacv1.ClusterRole
	RoleRef  rbacv1.RoleRef   `json:"roleRef"`
	Subjects []rbacv1.Subject `json:"subjects"`
}

func (d decoder) decode(t *testing.T, o generate.Object) *decoded {
	t.Helper()
	if v := d[string(o.Data)]; v != nil {
		return v
	}
	for _, problem := range invalid(o) {
		t.Error(problem)
	}
	v := &decoded{}
	if err := yaml.Unmarshal(o.Data, v); err != nil {
		t.Fatal(err)
	}
	d[string(o.Data)] = v
	return v
}

func (d decoder) rbac(t *testing.T, b *bundle.Bundle, options generate.Descoped) *rbac {
	t.Helper()
	r, err := renderBundle(b, descoped(options))
	if err != nil {
		t.Fatal(err)
	}
	out := &rbac{bundle: b, tree: r.tree, roles: map[string][]rbacv1.PolicyRule{}, purpose: map[string]string{}}
	for _, o := range r.result.Objects {
		if o.Group() != rbacv1.GroupName {
			continue
		}
		v := d.decode(t, o)
		if strings.HasSuffix(o.Kind, "Role") {
			out.roles[o.Kind+" "+o.Namespace+"/"+o.Name] = v.Rules
			out.purpose[o.Name] = v.Labels["descoped.olmgen.dev/clusterrole"]
			continue
		}
		role := v.RoleRef.Kind + " /" + v.RoleRef.Name
		if v.RoleRef.Kind == "Role" {
			role = "Role " + o.Namespace + "/" + v.RoleRef.Name
		}
		n := binding{kind: o.Kind, namespace: o.Namespace, name: o.Name, role: role, shipped: carried(r, o)}
		for _, s := range v.Subjects {
			name, isUser := strings.CutPrefix(s.Name, "system:serviceaccount:"+ownNamespace+":")
			if s.Kind == "ServiceAccount" && s.Namespace == ownNamespace || isUser && s.Kind == "User" {
				n.accounts = append(n.accounts, name)
			}
		}
		out.binding = append(out.binding, n)
	}
	return out
}

func (r *rbac) accounts() []string {
	set := map[string]bool{}
	spec := r.bundle.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		set[p.ServiceAccountName] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// asked returns the rules of permissions and of clusterPermissions for an account, permissions those of the first only.
func (r *rbac) asked(account string) []rbacv1.PolicyRule {
	out := r.permissions(account)
	for _, p := range r.bundle.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		if p.ServiceAccountName == account {
			out = append(out, p.Rules...)
		}
	}
	return out
}

func (r *rbac) permissions(account string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, p := range r.bundle.CSV.Spec.InstallStrategy.StrategySpec.Permissions {
		if p.ServiceAccountName == account {
			out = append(out, p.Rules...)
		}
	}
	return out
}

// allowed returns the rules of an account in a namespace. The rules of the bundle's own bindings are part of them on
// request.
func (r *rbac) allowed(account, namespace string, shipped bool) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, b := range r.binding {
		if slices.Contains(b.accounts, account) && (b.namespace == "" || b.namespace == namespace) && (shipped || !b.shipped) {
			out = append(out, r.roles[b.role]...)
		}
	}
	return out
}

// clusterRoles returns the rules of the ClusterRoles with which an account works, found by their names: those that a
// RoleBinding grants, or those that only a ClusterRoleBinding does.
func (r *rbac) clusterRoles(account string, beyond bool) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	base := olm.BaseName(r.bundle.CSV.Name, r.bundle.CSV.Spec.Version.String())
	for key, rules := range r.roles {
		_, name, _ := strings.Cut(key, "/")
		purpose := r.purpose[name]
		for _, prefix := range []string{account, base + "-" + account} {
			rest, ok := strings.CutPrefix(name, ownNamespace+"."+prefix+"-")
			rest, isCluster := strings.CutSuffix(rest, "-cluster")
			if ok && isCluster == beyond && (purpose == "required" && rest == "required" || purpose == "optional" && strings.HasPrefix(rest, "optional-")) {
				out = append(out, rules...)
			}
		}
	}
	return out
}

// checkBindings finds bindings to roles that nobody knows, or in a namespace where none belongs.
func (r *rbac) checkBindings(t *testing.T, what string, namespaces ...string) {
	t.Helper()
	serves := len(r.bundle.CSV.Spec.APIServiceDefinitions.Owned) > 0
	for _, b := range r.binding {
		_, known := r.roles[b.role]
		delegation := serves && (b.role == "ClusterRole /system:auth-delegator" || b.role == "Role kube-system/extension-apiserver-authentication-reader")
		switch {
		case delegation:
		case b.shipped && b.kind == "ClusterRoleBinding":
			t.Errorf("%s: the bundle's own ClusterRoleBinding %s is rendered", what, b.name)
		case !known && !b.shipped:
			t.Errorf("%s: binding %s/%s is to %s, which is not there", what, b.namespace, b.name, b.role)
		case b.namespace != "" && !slices.Contains(namespaces, b.namespace):
			t.Errorf("%s: binding %s is in namespace %s", what, b.name, b.namespace)
		}
	}
}
