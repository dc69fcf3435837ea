package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/olmgen/olmgen/manifest"
)

var (
	crdType     = reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	crdBetaType = reflect.TypeFor[apiextensionsv1beta1.CustomResourceDefinition]()
)

// builtin are the Go types of the kinds of Kubernetes that OLM installs from a bundle. OLM decodes a shipped object
// into its type and creates what it has then (spec 10.2; OLM: pkg/controller/operators/catalog/step.go).
var builtin = map[string]reflect.Type{
	"apiextensions.k8s.io/v1 CustomResourceDefinition":      crdType,
	"apiextensions.k8s.io/v1beta1 CustomResourceDefinition": crdBetaType,
	"v1 ConfigMap":                                    reflect.TypeFor[corev1.ConfigMap](),
	"v1 Secret":                                       reflect.TypeFor[corev1.Secret](),
	"v1 Service":                                      reflect.TypeFor[corev1.Service](),
	"v1 ServiceAccount":                               reflect.TypeFor[corev1.ServiceAccount](),
	"networking.k8s.io/v1 NetworkPolicy":              reflect.TypeFor[networkingv1.NetworkPolicy](),
	"policy/v1 PodDisruptionBudget":                   reflect.TypeFor[policyv1.PodDisruptionBudget](),
	"scheduling.k8s.io/v1 PriorityClass":              reflect.TypeFor[schedulingv1.PriorityClass](),
	"rbac.authorization.k8s.io/v1 ClusterRole":        reflect.TypeFor[rbacv1.ClusterRole](),
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": reflect.TypeFor[rbacv1.ClusterRoleBinding](),
	"rbac.authorization.k8s.io/v1 Role":               reflect.TypeFor[rbacv1.Role](),
	"rbac.authorization.k8s.io/v1 RoleBinding":        reflect.TypeFor[rbacv1.RoleBinding](),
}

// checkDeclared drops from the shipped objects of built-in kinds the fields that their Go types do not declare.
func (r *reader) checkDeclared() error {
	for _, c := range r.bundle.CRDs {
		if err := r.dropUndeclared(&c.Object); err != nil {
			return err
		}
	}
	for i := range r.bundle.Others {
		if err := r.dropUndeclared(&r.bundle.Others[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropUndeclared replaces an object by one without the fields that its type does not declare, with a warning for each
// name of a field.
func (r *reader) dropUndeclared(o **manifest.Object) error {
	t := builtin[APIVersionOf(*o)+" "+(*o).Kind]
	if t == nil {
		return nil
	}
	if (*o).Kind != "CustomResourceDefinition" { // readCRD has looked at what it needs of one
		if _, err := (*o).Into(reflect.New(t).Interface()); err != nil {
			return err
		}
	}
	fields, err := (*o).Undeclared(t)
	if err != nil || len(fields) == 0 {
		return err
	}
	r.warnUndeclared(*o, fields)
	*o, err = (*o).Edit(manifest.Edit{Change: func(v map[string]any) { manifest.DropUndeclared(v, t) }})
	return err
}

// mostWarned is how many fields of an object are named.
const mostWarned = 100

// warnUndeclared warns of fields of an object, once for all of a name, at the first of them.
func (r *reader) warnUndeclared(o *manifest.Object, fields []string) {
	var order []string
	named := map[string][]string{}
	for _, f := range fields {
		segments := manifest.Segments(f)
		name := segments[len(segments)-1]
		if named[name] == nil {
			order = append(order, name)
		}
		named[name] = append(named[name], f)
	}
	for i, name := range order {
		if i == mostWarned {
			r.warn(WarnUnknownField, o.Errorf("", "%d other fields that a %s does not have: left out, as OLM does",
				len(order)-i, o.Kind))
			break
		}
		first, count := named[name][0], ""
		if n := len(named[name]); n > 1 {
			count = fmt.Sprintf(", %d times", n)
		}
		what := "not a field of a " + o.Kind
		if o.Kind == "CustomResourceDefinition" && slices.Contains(v1beta1Fields, strings.TrimPrefix(first, "spec.")) {
			what = "a field of v1beta1, which a v1 CRD does not have"
		}
		r.warn(WarnUnknownField, o.Errorf(first, "%s%s: left out, as OLM does", what, count))
	}
}
