package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// shipped returns the object that the bundle ships with an API group, a kind and a name, or nil.
func (r *rendering) shipped(group, kind, name string) *manifest.Object {
	return lists.Find(r.bundle.Others, func(o *manifest.Object) bool {
		return o.Kind == kind && install.GroupOf(o) == group && o.Name == name
	})
}

func (r *rendering) warn(class string, e *manifest.Error) {
	r.warnings = append(r.warnings, bundle.Warning{Class: class, Error: e})
}

// crds adds the CRDs of the bundle, also those that the CSV does not own, with the labels and annotations of OLM
// (spec 10.2).
func crds(r *rendering) {
	conversions := r.conversions()
	for _, c := range r.bundle.CRDs {
		e := manifest.Edit{RemoveNamespace: true}
		v1beta1 := c.V1Beta && !r.options.ConvertCRDs
		if c.V1Beta && r.options.ConvertCRDs {
			e.APIVersion, e.Change = "apiextensions.k8s.io/v1", convertCRD
		}
		if w := conversions[c.Name]; w != nil {
			e.Spec = map[string]any{"conversion": olm.Conversion(w, r.options.Namespace, w.DomainName()+"-service",
				w.ContainerPort, r.certs.caBundle, v1beta1)}
			e.Annotations = r.injection(w.DeploymentName).Annotations()
		}
		if r.names.olm() {
			e.Labels = map[string]string{olm.LabelManaged: "true"}
			for _, owner := range slices.Concat(r.options.neighbors.alongside[c.Name],
				[]string{r.options.Namespace + "/" + r.csv.Name}) {
				e.Annotations = underlay(e.Annotations,
					map[string]string{olm.AnnotationAlongside + fnvHex(owner): owner})
			}
		}
		r.carry(c.Object, Object{}, e)
	}
}

// shippedObjects adds every other object of the bundle, in the operator's namespace if it has one. A generated object
// replaces a shipped object of the same kind and name, because OLM creates the generated objects last.
func shippedObjects(r *rendering) {
	for _, o := range r.bundle.Others {
		if r.merged[o] {
			continue
		}
		namespace, e := "", manifest.Edit{APIVersion: install.APIVersionOf(o)}
		switch r.bundle.ScopeOf(o) {
		case bundle.Namespaced:
			namespace = r.options.Namespace
			e.Namespace = namespace
		case bundle.ClusterScoped:
			e.RemoveNamespace = true
		default: // let through by AllowUnsupported: it stays in its own namespace
			namespace = o.Namespace
		}
		id := Object{APIVersion: e.APIVersion, Kind: o.Kind, Namespace: namespace, Name: o.Name}
		if _, taken := r.keys[id.key()]; taken {
			if !r.names.olm() && install.GroupOf(o) == "rbac.authorization.k8s.io" {
				r.fail(o.Errorf("metadata.name", "the bundle ships a %s %s, and one of that name is generated", o.Kind,
					o.Name))
			}
			r.warn(bundle.WarnShadowed, o.Errorf("metadata.name",
				"the bundle ships a %s %s, and one of that name is generated: the generated one is rendered", o.Kind,
				o.Name))
			continue
		}
		if r.names.olm() {
			e.Labels = map[string]string{olm.LabelManaged: "true"}
			// OLM: step.go, which has RBAC of its own
			if namespace == "" && install.GroupOf(o) != "rbac.authorization.k8s.io" {
				e.Labels = r.names.owned().Labels()
			}
		}
		r.checkSubjects(o)
		var err error
		e.Texts, err = mirroredTexts(o, r.mirrors)
		r.fail(err)
		r.carry(o, Object{Namespace: namespace}, e)
	}
}

// carry adds a shipped object with as few changes as possible, in the namespace and part of x.
func (r *rendering) carry(o *manifest.Object, x Object, e manifest.Edit) {
	edited, err := o.Edit(e)
	if err != nil {
		r.fail(err)
		return
	}
	x.APIVersion, x.Kind, x.Name = cmp.Or(e.APIVersion, o.APIVersion), o.Kind, o.Name
	x.set(edited)
	r.add(x)
}

// checkSubjects warns of a shipped binding whose ServiceAccounts are in another namespace, once for each namespace.
// Neither OLM nor olmgen changes it.
func (r *rendering) checkSubjects(o *manifest.Object) {
	if !strings.HasSuffix(o.Kind, "RoleBinding") || install.GroupOf(o) != "rbac.authorization.k8s.io" {
		return
	}
	var binding rbacv1.ClusterRoleBinding
	_, err := o.Into(&binding)
	r.fail(err)
	fields := map[string]string{} // of the first subject in a namespace
	var foreign []string
	for i, s := range binding.Subjects {
		field := fmt.Sprintf("subjects[%d].namespace", i)
		switch {
		case s.Kind != rbacv1.ServiceAccountKind || s.Namespace == r.options.Namespace:
		case s.Namespace != "":
			foreign, fields[s.Namespace] = append(foreign, s.Namespace), cmp.Or(fields[s.Namespace], field)
		case o.Kind == "ClusterRoleBinding": // without a namespace, a RoleBinding means its own
			r.fail(o.Errorf(field, "missing: a ServiceAccount needs a namespace"))
		}
	}
	for _, list := range lists.Groups(foreign, func(ns string) string { return ns }) {
		subjects, it := "the subject is", "it is left as it is"
		if len(list) > 1 {
			subjects, it = fmt.Sprintf("%d subjects are", len(list)), "they are left as they are"
		}
		r.warn(bundle.WarnForeignSubject, o.Errorf(fields[list[0]],
			"%s in namespace %q, the operator is in %q: %s, as OLM does", subjects, list[0], r.options.Namespace, it))
	}
}

// withoutBindings leaves out what a bundle ships and the administrator decides about: "a descoped operator will not be
// allowed to install any bindings" (plan). RoleBindings stay, because they are in the operator's own namespace. With
// BindAll, ClusterRoleBindings stay too.
func withoutBindings(r *rendering) {
	for _, o := range r.bundle.Others {
		id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: o.Kind, Name: o.Name}
		if _, taken := r.keys[id.key()]; taken || install.GroupOf(o) != rbacv1.GroupName {
			continue // shippedObjects refuses a name that is taken
		}
		switch o.Kind {
		case "ClusterRoleBinding":
			r.shippedClusterRoleBinding(o)
		case "ClusterRole":
			r.withoutAggregation(o)
		}
	}
}

func (r *rendering) shippedClusterRoleBinding(o *manifest.Object) {
	r.merged[o] = true
	if !r.boundEverywhere() {
		r.warn(bundle.WarnDescoped, o.Errorf("roleRef",
			"the bundle ships ClusterRoleBinding %s: it is left out, because a descoped operator installs no bindings",
			o.Name))
		return
	}
	r.checkSubjects(o)
	r.carry(o, Object{Part: partAllNamespaces},
		manifest.Edit{APIVersion: install.APIVersionOf(o), RemoveNamespace: true})
}

// withoutAggregation adds a ClusterRole of the bundle. It removes the labels that aggregate the role to a default role
// that the options do not name. A role with rules about Secrets is never aggregated to view or cluster-reader, and one
// with rules about an internal API to none.
func (r *rendering) withoutAggregation(o *manifest.Object) {
	var role rbacv1.ClusterRole
	if _, err := o.Into(&role); err != nil {
		r.fail(err)
		return
	}
	secrets := slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
		return rbac.Has(p.APIGroups, "") && rbac.HasResource(p.Resources, "secrets")
	})
	internal := slices.ContainsFunc(r.internalAPIs(), func(name string) bool {
		c := r.bundle.CRD(name)
		return c != nil && len(internalRules(role.Rules, c)) > 0
	})
	var drop []string
	for _, to := range DefaultRoles {
		label := labelAggregateRBAC + string(to)
		switch {
		case role.Labels[label] == "":
		case !slices.Contains(r.aggregateTo(), to):
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped, about(o.Errorf("metadata.labels",
				"ClusterRole %s would become part of the default role %s: its label is left out, because that is for "+
					"the administrator to ask for", o.Name, to), option.AggregateTo))
		case internal:
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped, o.Errorf("metadata.labels",
				"ClusterRole %s would open internal APIs to the default role %s: its label is left out", o.Name, to))
		case secrets && (to == "view" || to == "cluster-reader"):
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped, o.Errorf("metadata.labels",
				"ClusterRole %s would give Secrets to the default role %s: its label is left out", o.Name, to))
		}
	}
	if len(drop) == 0 {
		return
	}
	r.merged[o] = true
	r.carry(o, Object{},
		manifest.Edit{APIVersion: install.APIVersionOf(o), RemoveNamespace: true, Change: func(object map[string]any) {
			for _, label := range drop {
				delete(normalize.At(object, "metadata", "labels"), label)
			}
			olm.DropEmpty(normalize.At(object, "metadata"), "labels")
		}})
}

// mirrored returns a Subscription's config with the images in its environment variables replaced by their mirrors.
func mirrored(c *v1alpha1.SubscriptionConfig, mirrors *images.Rewriter) *v1alpha1.SubscriptionConfig {
	if c == nil {
		return nil
	}
	c = c.DeepCopy()
	images.InEnv(c.Env, "env", mirrors.Rewrite)
	return c
}

// mirroredTexts returns the images of a shipped workload that a mirror replaces, by field.
func mirroredTexts(o *manifest.Object, mirrors *images.Rewriter) (map[string]string, error) {
	if !images.HasImages(install.GroupOf(o), o.Kind) {
		return nil, nil
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	images.InObject(install.GroupOf(o), o.Kind, v, func(p images.Place, old string) string {
		ref := mirrors.Rewrite(p, old)
		if ref != old {
			texts[p.Field] = ""
		}
		return ref
	})
	for field := range texts {
		text, _ := decoded.At(v, decoded.Segments(field))
		texts[field] = olm.Text(text)
	}
	return texts, nil
}

// mirrorWarnings returns a warning for each entry of the map that was not used and one for images without a mirror.
func mirrorWarnings(mirrors *images.Rewriter) []bundle.Warning {
	if mirrors == nil { // a profile that renders no images
		return nil
	}
	var out []bundle.Warning
	if stay := mirrors.Unmapped(); len(stay) > 0 {
		out = append(out, bundle.Warning{Class: bundle.WarnUnmirrored,
			Error: &manifest.Error{Msg: "the mirror map has no mirror for " + text.FirstOf(10, stay)}})
	}
	if kept := mirrors.Kept(); len(kept) > 0 {
		out = append(out, bundle.Warning{Class: bundle.WarnUnmirrored,
			Error: &manifest.Error{Msg: "the mirror map does not change " + text.FirstOf(10, kept)}})
	}
	for _, e := range mirrors.Unused() {
		out = append(out, bundle.Warning{Class: bundle.WarnMirrorMap, Error: e})
	}
	return out
}
