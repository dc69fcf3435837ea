package installs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
)

// Install is one installation of the operator.
type Install struct {
	CSV       string // name, which has the version in it; empty if it is not known
	Namespace string
	Targets   []string // namespaces it watches, [""] for all; nil if they are not known
}

// Find finds the installations of an operator, that of the bundle in any version, in a tree of manifests: its CSVs (not the copies), the
// Deployments that say which CSV they are of, or that olmgen rendered without one, and Subscriptions, with the OperatorGroups of their namespaces. Each namespace is one
// installation; they are sorted by it, and an empty list is not nil. Of an object of these kinds that is not readable, the second result says
// why, in the tree's order.
func Find(t *tree.Tree, b *bundle.Bundle) ([]Install, []error) {
	f := finder{bundle: b, installs: map[string]*Install{}, groups: map[string][]string{}}
	var unreadable []error
	for _, o := range t.Objects {
		if err := f.object(o); err != nil {
			unreadable = append(unreadable, err)
		}
	}
	out := make([]Install, 0, len(f.installs))
	for _, i := range f.installs {
		if i.Targets == nil {
			i.Targets = f.groups[i.Namespace]
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
}

func (f *finder) object(o *manifest.Object) error {
	switch o.Group() + "/" + o.Kind {
	case "operators.coreos.com/ClusterServiceVersion":
		labels, err := texts(o, "metadata", "labels")
		if err != nil || labels["olm.copiedFrom"] != "" {
			return err
		}
		annotations, err := texts(o, "metadata", "annotations")
		if err != nil {
			return err
		}
		f.add(o.Name, o.Namespace, targets(annotations))
	case "apps/Deployment":
		var d appsv1.Deployment
		if _, err := o.Into(&d); err != nil {
			return err
		}
		switch at := d.Spec.Template.Annotations["olm.operatorNamespace"]; {
		case d.Labels["olm.owner.kind"] == v1alpha1.ClusterServiceVersionKind:
			f.add(d.Labels["olm.owner"], d.Labels["olm.owner.namespace"], targets(d.Spec.Template.Annotations))
		case at != "" && (d.Labels["app.kubernetes.io/part-of"] == f.bundle.Package || f.deploys(d.Name)): // rendered without OLM
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
	case "operators.coreos.com/OperatorGroup":
		list, err := o.Get("spec", "targetNamespaces")
		if err != nil {
			return err
		}
		selector, err := o.Get("spec", "selector")
		if err != nil {
			return err
		}
		if names, ok := list.([]any); ok && len(names) > 0 {
			for _, n := range names {
				if s, ok := n.(string); ok {
					f.groups[o.Namespace] = append(f.groups[o.Namespace], s)
				}
			}
		} else if selector == nil {
			f.groups[o.Namespace] = []string{""}
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
	if i.CSV == "" {
		i.CSV = csv
	}
	if i.Targets == nil {
		i.Targets = targets
	}
}

// targets gives what OLM's annotation says; nil if it is not there.
func targets(annotations map[string]string) []string {
	value, ok := annotations["olm.targetNamespaces"]
	if !ok {
		return nil
	}
	return strings.Split(value, ",")
}

// texts gives a map of strings in an object.
func texts(o *manifest.Object, path ...string) (map[string]string, error) {
	v, err := o.Get(path...)
	m, _ := v.(map[string]any)
	out := map[string]string{}
	for k, x := range m {
		if s, ok := x.(string); ok {
			out[k] = s
		}
	}
	return out, err
}
