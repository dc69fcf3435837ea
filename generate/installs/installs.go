package installs

import (
	"cmp"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Install is one installation of the operator.
type Install struct {
	CSV       string // name, with the version; empty if unknown
	Namespace string
	Targets   []string // namespaces that it watches, [""] for all; nil if unknown
}

// Find returns the installations of the bundle's operator, in any version, in a tree of manifests. It looks at
// ClusterServiceVersions (not copies), Deployments with the labels of their CSV or rendered by olmgen without one, and
// Subscriptions, those of OperatorPolicies too, with the OperatorGroups of their namespaces. A descoped operator
// watches all namespaces and works where it is bound: those are its targets. Each namespace is one installation. The
// list is sorted by namespace; an empty list is not nil. The errors are about unreadable objects of these kinds, in the
// tree's order.
func Find(t *tree.Tree, b *bundle.Bundle) ([]Install, []error) {
	f := finder{bundle: b, installs: map[string]*Install{}, groups: map[string][]string{}, bound: map[string][]string{}}
	var unreadable []error
	objects, _ := olm.WithPolicies(t.Objects, nil)
	for _, o := range objects {
		if err := f.object(o); err != nil {
			unreadable = append(unreadable, err)
		}
	}
	out := make([]Install, 0, len(f.installs))
	for _, i := range f.installs {
		if i.Targets == nil {
			i.Targets = f.groups[i.Namespace]
		}
		if bound, ok := f.bound[i.Namespace]; ok {
			slices.Sort(bound)
			i.Targets = slices.Compact(bound)
		}
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b Install) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return out, unreadable
}

type finder struct {
	bundle   *bundle.Bundle
	installs map[string]*Install // by namespace
	groups   map[string][]string // target namespaces by the OperatorGroup's namespace
	bound    map[string][]string // where a descoped operator is bound, by the operator's namespace
}

func (f *finder) object(o *manifest.Object) error {
	switch o.Group() + "/" + o.Kind {
	case "operators.coreos.com/ClusterServiceVersion":
		if _, copied := olm.CopiedObject(o); copied {
			return nil
		}
		annotations, err := o.Get("metadata", "annotations")
		if err != nil {
			return err
		}
		f.add(o.Name, o.Namespace, targets(olm.Texts(annotations)))
	case "apps/Deployment":
		var d appsv1.Deployment
		if _, err := o.Into(&d); err != nil {
			return err
		}
		switch at := d.Spec.Template.Annotations[olm.AnnotationNamespace]; {
		case d.Labels[olm.LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind:
			f.add(d.Labels[olm.LabelOwner], d.Labels[olm.LabelOwnerNamespace], targets(d.Spec.Template.Annotations))
		// rendered without OLM
		case at != "" && (d.Labels[rbac.LabelPartOf] == f.bundle.Package || f.deploys(d.Name)):
			f.install(at, "", targets(d.Spec.Template.Annotations))
		}
	case "operators.coreos.com/Subscription":
		var s v1alpha1.Subscription
		if _, err := o.Into(&s); err != nil {
			return err
		}
		if s.Spec != nil && s.Spec.Package == f.bundle.Package {
			f.install(s.Namespace, s.Spec.StartingCSV, nil)
		}
	case "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		var b rbacv1.RoleBinding
		if _, err := o.Into(&b); err != nil {
			return err
		}
		if b.Labels[rbac.LabelDescoped] == "required" && b.Labels[rbac.LabelScope] == "" &&
			b.Labels[rbac.LabelPartOf] == f.bundle.Package {
			for _, s := range b.Subjects {
				f.bound[s.Namespace] = append(f.bound[s.Namespace], o.Namespace)
			}
		}
	case "operators.coreos.com/OperatorGroup":
		var g operatorsv1.OperatorGroup
		if _, err := o.Into(&g); err != nil {
			return err
		}
		switch t := olm.TargetsOf(&g.Spec); {
		case t.Global():
			f.groups[o.Namespace] = []string{""}
		case len(t.Names) > 0:
			f.groups[o.Namespace] = t.Names
		}
	}
	return nil
}

// deploys reports whether the bundle has a Deployment of the name.
func (f *finder) deploys(name string) bool {
	return slices.ContainsFunc(f.bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == name })
}

// add notes an installation of a CSV, if that is of the operator.
func (f *finder) add(csv, namespace string, targets []string) {
	own := f.bundle.CSV.Name
	bases := []string{bundle.BaseName(own, f.bundle.CSV.Spec.Version.String()), bundle.BaseName(own, "")}
	if csv == own || slices.Contains(bases, bundle.BaseName(csv, "")) {
		f.install(namespace, csv, targets)
	}
}

func (f *finder) install(namespace, csv string, targets []string) {
	i := f.installs[namespace]
	if i == nil {
		i = &Install{Namespace: namespace}
		f.installs[namespace] = i
	}
	i.CSV = cmp.Or(i.CSV, csv)
	if i.Targets == nil {
		i.Targets = targets
	}
}

// targets returns the value of OLM's annotation, or nil if it is absent.
func targets(annotations map[string]string) []string {
	value, ok := annotations[olm.AnnotationTargets]
	if !ok {
		return nil
	}
	return strings.Split(value, ",")
}
