// Package installs finds the installations of an operator in a tree, and says what the descoping plan advises for them.
package installs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Advice is what the descoping plan recommends for an operator and its installations.
type Advice struct {
	State string             // how the operator is installed; empty if it makes no difference
	Steps []manifest.Message // what to do
}

// Advise returns the advice of the descoping plan (Installation-specific migrations steps) for an operator and its
// installations. nil means that the installations are unknown, an empty list that there are none.
func Advise(csv *v1alpha1.ClusterServiceVersion, installs []Install) Advice {
	switch scope, _ := bundle.ScopeOf(csv); scope {
	case bundle.Descoped:
		return Advice{"", steps(step("bind it where it may work", option.BindNamespaces,
			option.BindAll))}
	case bundle.AllUsers:
		everywhere := "it is bound in all namespaces by default: bind it only where it may work if that is too much"
		aggregated := step("all users get its APIs: their roles are aggregated to admin, edit and view; choose other "+
			"roles, or none, if that is too much", option.AggregateTo)
		if slices.ContainsFunc(installs, Install.global) {
			return Advice{"installed for all namespaces, " + describe(installs),
				steps(step("keep its bindings there, which it has by default", option.BindAll), aggregated)}
		}
		return Advice{"", steps(step(everywhere, option.BindNamespaces, option.BindNone), aggregated)}
	}
	return scoped(csv, installs)
}

// scoped returns the advice for an operator that is neither descoped nor for all users, by where, how often and in
// which versions it is installed.
func scoped(csv *v1alpha1.ClusterServiceVersion, installs []Install) Advice {
	global := slices.ContainsFunc(installs, Install.global)
	versions := lists.Set(installs, func(i Install) string { return i.CSV })
	switch {
	case installs == nil:
		return Advice{"olmgen does not know where it is installed", single(csv, nil)}
	case len(installs) == 0:
		return Advice{"it is not installed", steps(step("look for an alternative that is descoped, or bind it where "+
			"it may work", option.BindNamespaces))}
	case len(installs) == 1 && global:
		return Advice{fmt.Sprintf("installed in %s for all namespaces", installs[0].Namespace),
			steps(step("keep its bindings there", option.BindAll))}
	case len(installs) == 1:
		return Advice{"installed once, " + describe(installs), single(csv, installs)}
	case len(versions) > 1:
		return Advice{fmt.Sprintf("installed %d times in different versions: %s", len(installs), describe(installs)),
			steps(step("clean this up by hand: only one version can own an API in a cluster; choose one, or other " +
				"operators"))}
	case multi(csv) && !global:
		return Advice{fmt.Sprintf("installed %d times in one version: %s", len(installs), describe(installs)),
			steps(step("it supports MultiNamespace: move to a single "+
				"instance for "+namespaces(installs)+"; then descope that one", option.TargetNamespaces))}
	}
	return Advice{fmt.Sprintf("installed %d times in one version: %s", len(installs), describe(installs)),
		steps(step("clean this up by hand: keep one, and bind it where the others work",
			option.BindNamespaces))}
}

// single returns the advice for one installation that does not watch all namespaces.
func single(csv *v1alpha1.ClusterServiceVersion, installs []Install) []manifest.Message {
	list := steps(step("until a release is descoped, replace it with this output, bound where it works today",
		option.BindNamespaces))
	if names := watched(installs); len(names) > 0 {
		list = steps(step(fmt.Sprintf("until a release is descoped, replace it with this output in namespace %s, "+
			"bound in %s", installs[0].Namespace, strings.Join(names, ",")), option.Namespace, option.BindNamespaces))
	}
	if multi(csv) && len(watched(installs)) < 2 {
		list = append(list, step("it supports MultiNamespace: first move to one instance for "+namespaces(installs),
			option.TargetNamespaces))
	}
	return list
}

func step(msg string, options ...manifest.Option) manifest.Message {
	return manifest.Message{Msg: msg, Options: options}
}

func steps(list ...manifest.Message) []manifest.Message { return list }

func multi(csv *v1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(bundle.SupportedModes(csv), v1alpha1.InstallModeTypeMultiNamespace)
}

func (i Install) global() bool { return slices.Contains(i.Targets, "") }

func watched(installs []Install) []string {
	return lists.SortedUnique(slices.Concat(lists.Map(installs, func(i Install) []string { return i.Targets })...))
}

// namespaces names the namespaces of an instance that replaces all installations.
func namespaces(installs []Install) string {
	names := watched(installs)
	if len(names) < 2 {
		return "all namespaces that need it"
	}
	return "all their namespaces, " + strings.Join(names, ",")
}

func describe(installs []Install) string {
	parts := make([]string, len(installs))
	for n, i := range installs {
		parts[n] = cmp.Or(i.CSV, "an unknown version") + " in " + i.Namespace
		switch {
		case i.global():
			parts[n] += " for all namespaces"
		case len(i.Targets) > 0:
			parts[n] += " for " + strings.Join(i.Targets, ",")
		}
	}
	return strings.Join(parts, "; ")
}

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
	w := world.Read(t.Objects, "")
	w.Complete(false, nil)
	for _, o := range w.Settled(t.Objects) {
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
			i.Targets = lists.SortedUnique(bound)
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

// object notes what an object says: an installation, the targets of an OperatorGroup, or where a descoped operator is
// bound.
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
		case at != "" && (d.Labels[olm.LabelPartOf] == f.bundle.Package ||
			slices.ContainsFunc(f.bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
				func(x v1alpha1.StrategyDeploymentSpec) bool { return x.Name == d.Name })):
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
		if b.Labels[olm.LabelDescoped] == "required" && b.Labels[olm.LabelScope] == "" &&
			b.Labels[olm.LabelPartOf] == f.bundle.Package {
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

// add notes an installation of a CSV, if that is of the operator.
func (f *finder) add(csv, namespace string, targets []string) {
	own := f.bundle.CSV.Name
	bases := []string{olm.BaseName(own, f.bundle.CSV.Spec.Version.String()), olm.BaseName(own, "")}
	if csv == own || slices.Contains(bases, olm.BaseName(csv, "")) {
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

func targets(annotations map[string]string) []string {
	value, ok := annotations[olm.AnnotationTargets]
	if !ok {
		return nil
	}
	return strings.Split(value, ",")
}
