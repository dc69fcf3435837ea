package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

// shipped returns the bundle's own object of a core kind and name, or nil.
func (r *rendering) shipped(kind, name string) *manifest.Object {
	for _, o := range r.bundle.Others {
		if o.Kind == kind && bundle.GroupOf(o) == "" && o.Name == name {
			return o
		}
	}
	return nil
}

func (r *rendering) warn(class string, e *manifest.Error) {
	r.warnings = append(r.warnings, bundle.Warning{Class: class, Error: e})
}

// crds carries the bundle's CRDs, owned or not, with the marks OLM puts on them (spec 10.2).
func crds(r *rendering) error {
	conversions := r.conversions()
	for _, c := range r.bundle.CRDs {
		e := manifest.Edit{RemoveNamespace: true}
		v1beta1 := c.V1Beta && !r.options.ConvertCRDs
		if c.V1Beta && r.options.ConvertCRDs {
			e.APIVersion, e.Change = "apiextensions.k8s.io/v1", convertCRD
		}
		if w := conversions[c.Name]; w != nil {
			e.Spec = map[string]any{"conversion": r.conversion(w, v1beta1)}
			e.Annotations = r.injection(w.DeploymentName).Annotations()
		}
		if r.names.olm() {
			e.Labels = map[string]string{labelManaged: "true"}
			for _, owner := range slices.Concat(r.options.others.alongside[c.Name],
				[]string{r.options.Namespace + "/" + r.csv.Name}) {
				e.Annotations = underlay(e.Annotations,
					map[string]string{"operatorframework.io/installed-alongside-" + fnvHex(owner): owner})
			}
		}
		if err := r.carry(c.Object, "", e); err != nil {
			return err
		}
	}
	return nil
}

// shippedObjects carries every other object of the bundle into the operator's namespace. One with the identity of a
// generated object yields to it, as OLM makes the generated ones last.
func shippedObjects(r *rendering) error {
	for _, o := range r.bundle.Others {
		if r.merged[o] {
			continue
		}
		namespace, e := "", manifest.Edit{APIVersion: bundle.APIVersionOf(o)}
		switch r.bundle.ScopeOf(o) {
		case bundle.Namespaced:
			namespace = r.options.Namespace
			e.Namespace = namespace
		case bundle.ClusterScoped:
			e.RemoveNamespace = true
		default: // let through by --allow-unsupported: where it says it is
			namespace = o.Namespace
		}
		id := Object{APIVersion: e.APIVersion, Kind: o.Kind, Namespace: namespace, Name: o.Name}
		if _, taken := r.keys[id.key()]; taken {
			if !r.names.olm() && bundle.GroupOf(o) == "rbac.authorization.k8s.io" {
				return o.Errorf("metadata.name", "the bundle ships a %s %s, and one of that name is generated", o.Kind,
					o.Name)
			}
			r.warn(bundle.WarnShadowed,
				o.Errorf("metadata.name",
					"the bundle ships a %s %s, and one of that name is generated: the generated one is rendered", o.Kind,
					o.Name))
			continue
		}
		if r.names.olm() {
			e.Labels = map[string]string{labelManaged: "true"}
			// OLM: step.go, which has RBAC of its own
			if namespace == "" && bundle.GroupOf(o) != "rbac.authorization.k8s.io" {
				e.Labels = r.names.owned().Labels()
			}
		}
		if err := r.checkSubjects(o); err != nil {
			return err
		}
		var err error
		if e.Texts, err = mirroredTexts(o, r.mirrors); err != nil {
			return err
		}
		if err := r.carry(o, namespace, e); err != nil {
			return err
		}
	}
	return nil
}

// carry adds a shipped object, changed only as far as it must be.
func (r *rendering) carry(o *manifest.Object, namespace string, e manifest.Edit) error {
	edited, err := o.Edit(e)
	if err != nil {
		return err
	}
	x := Object{APIVersion: cmp.Or(e.APIVersion, o.APIVersion), Kind: o.Kind, Namespace: namespace, Name: o.Name}
	x.set(edited)
	r.add(x)
	return nil
}

// checkSubjects warns of a shipped binding whose account is in another namespace: neither OLM nor olmgen rewrites it.
func (r *rendering) checkSubjects(o *manifest.Object) error {
	if !strings.HasSuffix(o.Kind, "RoleBinding") || bundle.GroupOf(o) != "rbac.authorization.k8s.io" {
		return nil
	}
	for i := range o.Len("subjects") {
		index := fmt.Sprint(i)
		kind, err := o.Get("subjects", index, "kind")
		if err != nil {
			return err
		}
		ns, err := o.Get("subjects", index, "namespace")
		if err != nil {
			return err
		}
		field := "subjects[" + index + "].namespace"
		switch {
		case kind != "ServiceAccount" || ns == r.options.Namespace:
		case ns != nil && ns != "":
			r.warn(bundle.WarnForeignSubject,
				o.Errorf(field,
					"the subject is in namespace %q, the operator is in %q: it is left as it is, as OLM does",
					fmt.Sprint(ns), r.options.Namespace))
		case o.Kind == "ClusterRoleBinding": // a RoleBinding means its own namespace
			return o.Errorf(field, "missing: an account has a namespace")
		}
	}
	return nil
}
