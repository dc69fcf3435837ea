package generate

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/generate/installer"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// installedByV1 returns the options with which OLM v1 renders the bundle. OpenShift has no cert-manager.
func (r *rendering) installedByV1() (olmv1.Options, error) {
	release, err := r.options.renderer()
	o := olmv1.Options{Release: release, Namespace: r.options.Namespace, TargetNamespaces: r.targets,
		Certs: olmv1.CertManager, Config: r.options.Config}
	if r.options.OpenShiftVersion != "" {
		o.Certs = olmv1.ServiceCA
	}
	return o, err
}

// installer makes the ServiceAccount with which OLM v1 installs the operator, and the rights that it needs for that
// (operator-controller v1.10: internal/operator-controller/authorization/rbac.go). Releases from v1.11 on need none.
func (r *rendering) installer(extension string) {
	var objects []*manifest.Object
	for _, x := range r.byV1 {
		o, err := objectOLMv1(x, r.options)
		r.fail(err)
		object, err := o.Manifest()
		r.fail(err)
		objects = append(objects, object)
	}
	if r.err != nil {
		return
	}
	needs, err := installer.Derive(objects, installer.Options{Extension: extension})
	if err != nil {
		r.fail(err)
		return
	}
	ns := r.options.Namespace
	r.options.ServiceAccount = extension + "-installer"
	account := Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: ns, Name: r.options.ServiceAccount}
	r.author("serviceaccount.yaml", account, templates.ServiceAccount{Name: account.Name, Namespace: ns})
	r.grantsOf(Grants{ns, account.Name, account.Name, needs.Cluster, needs.Namespaces})
	r.note("%s is the ServiceAccount that installs the operator; its rights are those for this release of it: render "+
		"again before an update", account.Name)
}

// Grants are the rights of an account that installs, and how its roles are called.
type Grants struct {
	Namespace, ServiceAccount string
	// of the Roles and bindings; cluster-wide ones have the account's namespace in front
	Name       string
	Cluster    []rbacv1.PolicyRule
	Namespaces map[string][]rbacv1.PolicyRule // in one namespace
}

// Objects returns a ClusterRole and a Role for each namespace, with their bindings, in the order in which they can be
// applied. Where nothing is granted there is none. The error is that of a user's template.
func (g Grants) Objects(t *templates.Set) ([]Object, error) {
	r := &rendering{options: Options{Namespace: g.Namespace, Templates: t}, keys: map[string]int{}}
	r.grantsOf(g)
	return r.objects, r.err
}

func (r *rendering) grantsOf(g Grants) {
	add := func(namespace, name string, rules []rbacv1.PolicyRule) {
		if labels := (templates.Ownership{Olmgen: true}); len(rules) > 0 {
			r.roleAndBinding(namespace, name, rbac.Values(rules), labels, labels, r.subject(g.ServiceAccount))
		}
	}
	add("", g.Namespace+"."+g.Name, g.Cluster)
	for _, ns := range slices.Sorted(maps.Keys(g.Namespaces)) {
		add(ns, g.Name, g.Namespaces[ns])
	}
}
