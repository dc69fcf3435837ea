// Package authorizer compares what olmgen says of permissions with the authorizer of Kubernetes.
package authorizer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/source"
)

// release is an operator in both views.
type release struct {
	name    string
	report  *permissions.Report
	cluster *rbac.RBACAuthorizer
}

// releases reads the bundles of a package. Those that olmgen refuses, and those that bind an aggregating ClusterRole, which
// here nobody fills, are left out.
func releases(t *testing.T, p corpus.Package) (out []release) {
	t.Helper()
	for _, dir := range p.Bundles {
		src, err := source.Open(t.Context(), dir, source.Options{})
		if err != nil {
			continue
		}
		b, err := bundle.Read(src.FS, bundle.ReadOptions{AllowUnsupported: true})
		src.Close()
		if err != nil {
			continue
		}
		result, err := generate.Render(b, generate.Options{Certs: generate.CertsManager})
		if err != nil {
			continue
		}
		r := release{name: p.Name + "/" + filepath.Base(dir)}
		in := permissions.Input{Rendered: true, Shipped: b.Others, Namespace: result.Namespace,
			CSVs: []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}}
		for _, o := range result.Objects {
			if !permissions.Relevant(o.Group(), o.Kind) {
				continue
			}
			m, err := o.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			in.Objects = append(in.Objects, m)
		}
		if r.report, err = permissions.Evaluate(in); err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		var ok bool
		if r.cluster, ok = newCluster(t, in); ok {
			out = append(out, r)
		}
	}
	return out
}

// newCluster makes an authorizer with the roles that every cluster has and those of the objects. It reports false if an
// aggregating ClusterRole is bound.
func newCluster(t *testing.T, in permissions.Input) (*rbac.RBACAuthorizer, bool) {
	t.Helper()
	var roles []*rbacv1.Role
	var roleBindings []*rbacv1.RoleBinding
	var clusterRoles []*rbacv1.ClusterRole
	var clusterRoleBindings []*rbacv1.ClusterRoleBinding
	for _, r := range bootstrappolicy.ClusterRoles() {
		clusterRoles = append(clusterRoles, &r)
	}
	clusterRoles = append(clusterRoles, rolesOfOpenShift(t)...)
	for namespace, list := range bootstrappolicy.NamespaceRoles() {
		for _, r := range list {
			r.Namespace = namespace
			roles = append(roles, &r)
		}
	}
	bound, aggregating := map[string]bool{}, map[string]bool{}
	for _, m := range in.Objects {
		read := func(into any) {
			if _, err := m.Into(into); err != nil {
				t.Fatal(err)
			}
		}
		switch m.Kind {
		case "Role":
			roles = append(roles, &rbacv1.Role{})
			read(roles[len(roles)-1])
		case "RoleBinding":
			roleBindings = append(roleBindings, &rbacv1.RoleBinding{})
			b := roleBindings[len(roleBindings)-1]
			read(b)
			for i := range b.Subjects {
				if b.Subjects[i].Kind == rbacv1.ServiceAccountKind && b.Subjects[i].Namespace == "" {
					b.Subjects[i].Namespace = b.Namespace // as the API server's defaults do
				}
			}
			bound[b.RoleRef.Name] = true
		case "ClusterRole":
			clusterRoles = append(clusterRoles, &rbacv1.ClusterRole{})
			r := clusterRoles[len(clusterRoles)-1]
			read(r)
			aggregating[r.Name] = r.AggregationRule != nil
		case "ClusterRoleBinding":
			clusterRoleBindings = append(clusterRoleBindings, &rbacv1.ClusterRoleBinding{})
			b := clusterRoleBindings[len(clusterRoleBindings)-1]
			read(b)
			bound[b.RoleRef.Name] = true
		}
	}
	for name := range bound {
		if aggregating[name] {
			return nil, false
		}
		if scc, ok := strings.CutPrefix(name, "system:openshift:scc:"); ok { // OpenShift has one for each of its own
			clusterRoles = append(clusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"use"}, APIGroups: []string{"security.openshift.io"}, Resources: []string{"securitycontextconstraints"}, ResourceNames: []string{scc}}}})
		}
	}
	_, static := validation.NewTestRuleResolver(roles, roleBindings, clusterRoles, clusterRoleBindings)
	return rbac.New(static, static, static, static), true
}

// known reports whether all roles that a subject is bound to are among the objects, so that the report can know them.
func (r release) known(s permissions.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && !slices.ContainsFunc(r.report.Unknown, func(u permissions.Unknown) bool { return u.Subject == s })
}

func (r release) allows(t *testing.T, s permissions.Subject, a authorizer.AttributesRecord) bool {
	t.Helper()
	info := serviceaccount.UserInfo(s.Namespace, s.Name, "").(*user.DefaultInfo)
	info.Groups = append(info.Groups, user.AllAuthenticated)
	a.User = info
	decision, _, _ := r.cluster.Authorize(t.Context(), a)
	return decision == authorizer.DecisionAllow
}

// anything stands for what only a wildcard allows.
const anything = "anything-else"

// requests are those that an item allows and nothing narrower does: where it has a wildcard, is for all names or holds in the
// cluster, the request is for something that nobody names.
func requests(i permissions.Item) (out []authorizer.AttributesRecord) {
	concrete := func(s string) string { return strings.ReplaceAll(s, "*", anything) }
	for _, verb := range i.Verbs {
		for _, url := range i.NonResourceURLs {
			out = append(out, authorizer.AttributesRecord{Verb: concrete(verb), Path: concrete(url)})
		}
		for _, place := range i.Namespaces {
			for _, group := range i.APIGroups {
				for _, resource := range i.Resources {
					names := i.ResourceNames
					if len(names) == 0 {
						names = []string{anything}
					}
					for _, name := range names {
						main, sub, _ := strings.Cut(concrete(resource), "/")
						out = append(out, authorizer.AttributesRecord{ResourceRequest: true, Verb: concrete(verb), APIGroup: concrete(group),
							Resource: main, Subresource: sub, Name: name, Namespace: concrete(place)})
					}
				}
			}
		}
	}
	return out
}

// effective reports whether requests of the item can be made: a URL is in no namespace.
func effective(i permissions.Item) bool {
	return len(i.NonResourceURLs) == 0 || slices.Contains(i.Namespaces, permissions.Everywhere)
}

// allowed asks the report, as its schema explains it.
func allowed(items []permissions.Item, s permissions.Subject, a authorizer.AttributesRecord) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return slices.ContainsFunc(items, func(i permissions.Item) bool {
		switch {
		case i.Subject != s || !has(i.Verbs, a.Verb) || !has(i.Namespaces, a.Namespace):
			return false
		case !a.ResourceRequest:
			return slices.ContainsFunc(i.NonResourceURLs, func(u string) bool {
				return u == a.Path || strings.HasSuffix(u, "*") && strings.HasPrefix(a.Path, strings.TrimSuffix(u, "*"))
			})
		}
		return has(i.APIGroups, a.APIGroup) && (has(i.Resources, resource) || a.Subresource != "" && slices.Contains(i.Resources, "*/"+a.Subresource)) &&
			(len(i.ResourceNames) == 0 || slices.Contains(i.ResourceNames, a.Name))
	})
}

func text(a authorizer.AttributesRecord) string {
	return fmt.Sprintf("%s %s/%s/%s %q in %q %s", a.Verb, a.APIGroup, a.Resource, a.Subresource, a.Name, a.Namespace, a.Path)
}

func packages(t *testing.T) []corpus.Package {
	t.Helper()
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		t.Skip("OLMGEN_CORPUS is not set: it names a directory with real bundles")
	}
	list, err := corpus.Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What the report says is what the authorizer of Kubernetes allows, and of what other accounts of the corpus may do nothing more.
func TestReport(t *testing.T) {
	var all []release
	for _, p := range packages(t) {
		all = append(all, releases(t, p)...)
	}
	asked, denied := 0, 0
	for n, r := range all {
		stranger := all[(n+1)%len(all)] // whose permissions are asked for as well
		for _, s := range r.report.Accounts {
			if !r.known(s) {
				continue
			}
			for _, i := range slices.Concat(r.report.Permissions, stranger.report.Permissions) {
				if !effective(i) {
					continue
				}
				for _, a := range requests(i) {
					asked++
					want := r.allows(t, s, a)
					if !want {
						denied++
					}
					if got := allowed(r.report.Permissions, s, a); got != want {
						t.Fatalf("%s: %s: %s: the report says %t, Kubernetes %t", r.name, s, text(a), got, want)
					}
				}
			}
		}
	}
	t.Logf("%d releases, %d requests, %d of them denied", len(all), asked, denied)
	if len(all) < 150 || asked < 10000 || denied < 1000 {
		t.Error("too few were asked for")
	}
}

// What is gained is denied before and allowed after an upgrade, what is lost the reverse.
func TestUpgrades(t *testing.T) {
	pairs, gained, lost := 0, 0, 0
	for _, p := range packages(t) {
		list := releases(t, p)
		for n := 1; n < len(list); n++ {
			old, now := list[n-1], list[n]
			pairs++
			for _, i := range permissions.Compare(old.report, now.report, nil).Permissions {
				if !effective(i) || !old.known(i.Subject) || !now.known(i.Subject) {
					continue
				}
				for _, a := range requests(i) {
					before, after := old.allows(t, i.Subject, a), now.allows(t, i.Subject, a)
					switch {
					case i.Change == permissions.Gained && !before && after:
						gained++
					case i.Change == permissions.Lost && before && !after:
						lost++
					default:
						t.Fatalf("%s: %s is %s: %s: Kubernetes says %t before and %t after", now.name, i.Subject, i.Change, text(a), before, after)
					}
				}
			}
		}
	}
	t.Logf("%d pairs, %d requests gained, %d lost", pairs, gained, lost)
	if pairs < 30 || gained < 100 || lost < 100 {
		t.Error("too few were asked for")
	}
}
