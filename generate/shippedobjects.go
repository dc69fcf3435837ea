package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// shipped returns the object that the bundle ships with an API group, a kind and a name, or nil.
func (r *rendering) shipped(group, kind, name string) *manifest.Object {
	for _, o := range r.bundle.Others {
		if o.Kind == kind && bundle.GroupOf(o) == group && o.Name == name {
			return o
		}
	}
	return nil
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
		namespace, e := "", manifest.Edit{APIVersion: bundle.APIVersionOf(o)}
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
			if !r.names.olm() && bundle.GroupOf(o) == "rbac.authorization.k8s.io" {
				r.fail(o.Errorf("metadata.name", "the bundle ships a %s %s, and one of that name is generated", o.Kind,
					o.Name))
			}
			r.warn(bundle.WarnShadowed,
				o.Errorf("metadata.name",
					"the bundle ships a %s %s, and one of that name is generated: the generated one is rendered",
					o.Kind, o.Name))
			continue
		}
		if r.names.olm() {
			e.Labels = map[string]string{olm.LabelManaged: "true"}
			// OLM: step.go, which has RBAC of its own
			if namespace == "" && bundle.GroupOf(o) != "rbac.authorization.k8s.io" {
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
	if !strings.HasSuffix(o.Kind, "RoleBinding") || bundle.GroupOf(o) != "rbac.authorization.k8s.io" {
		return
	}
	var order []string
	foreign := map[string][]string{} // the fields by namespace
	for i := range o.Len("subjects") {
		index := fmt.Sprint(i)
		kind, err := o.Get("subjects", index, "kind")
		r.fail(err)
		ns, err := o.Get("subjects", index, "namespace")
		r.fail(err)
		field := "subjects[" + index + "].namespace"
		switch {
		case kind != "ServiceAccount" || ns == r.options.Namespace:
		case ns != nil && ns != "":
			name := fmt.Sprint(ns)
			if foreign[name] == nil {
				order = append(order, name)
			}
			foreign[name] = append(foreign[name], field)
		case o.Kind == "ClusterRoleBinding": // without a namespace, a RoleBinding means its own
			r.fail(o.Errorf(field, "missing: a ServiceAccount needs a namespace"))
		}
	}
	for _, ns := range order {
		subjects, it := "the subject is", "it is left as it is"
		if n := len(foreign[ns]); n > 1 {
			subjects, it = fmt.Sprintf("%d subjects are", n), "they are left as they are"
		}
		r.warn(bundle.WarnForeignSubject, o.Errorf(foreign[ns][0],
			"%s in namespace %q, the operator is in %q: %s, as OLM does", subjects, ns, r.options.Namespace, it))
	}
}
