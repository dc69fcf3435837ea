package descope

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

// Install is one installation of the operator.
type Install struct {
	CSV       string // name, which has the version in it; empty if it is not known
	Namespace string
	Targets   []string // namespaces it watches, [""] for all; nil if they are not known
}

// ReadTree finds the installations of an operator, that of the bundle in any version, in a tree of manifests: its CSVs (not the copies), the
// Deployments that say which CSV they are of, and Subscriptions, with the OperatorGroups of their namespaces. Each namespace is one
// installation; they are sorted by it. A file that is no YAML, or too large, is skipped and said in the second result. Only the tree
// itself can't be read with an error.
func ReadTree(fsys fs.FS, b *bundle.Bundle) ([]Install, []error, error) {
	t := tree{bundle: b, installs: map[string]*Install{}, groups: map[string][]string{}}
	var skipped []error
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if ext := path.Ext(name); !d.Type().IsRegular() || ext != ".yaml" && ext != ".yml" {
			return nil
		}
		if err := t.file(fsys, name); err != nil {
			skipped = append(skipped, err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var out []Install
	for _, i := range t.installs {
		if i.Targets == nil {
			i.Targets = t.groups[i.Namespace]
		}
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b Install) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return out, skipped, nil
}

type tree struct {
	bundle   *bundle.Bundle
	installs map[string]*Install // by namespace
	groups   map[string][]string // target namespaces by the OperatorGroup's namespace
}

func (t *tree) file(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return err
	}
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := t.object(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tree) object(o *manifest.Object) error {
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
		t.add(o.Name, o.Namespace, targets(annotations))
	case "apps/Deployment":
		var d appsv1.Deployment
		if _, err := o.Into(&d); err != nil {
			return err
		}
		if d.Labels["olm.owner.kind"] == v1alpha1.ClusterServiceVersionKind {
			t.add(d.Labels["olm.owner"], d.Labels["olm.owner.namespace"], targets(d.Spec.Template.Annotations))
		}
	case "operators.coreos.com/Subscription":
		var s v1alpha1.Subscription
		if _, err := o.Into(&s); err != nil {
			return err
		}
		if s.Spec != nil && s.Spec.Package == t.bundle.Package {
			t.install(s.Namespace, s.Spec.StartingCSV, nil)
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
					t.groups[o.Namespace] = append(t.groups[o.Namespace], s)
				}
			}
		} else if selector == nil {
			t.groups[o.Namespace] = []string{""}
		}
	}
	return nil
}

// add notes an installation of a CSV, if that is of the operator.
func (t *tree) add(csv, namespace string, targets []string) {
	own := t.bundle.CSV.Name
	bases := []string{bundle.BaseName(own, t.bundle.CSV.Spec.Version.String()), bundle.BaseName(own, "")}
	if csv == own || slices.Contains(bases, bundle.BaseName(csv, "")) {
		t.install(namespace, csv, targets)
	}
}

func (t *tree) install(namespace, csv string, targets []string) {
	i := t.installs[namespace]
	if i == nil {
		i = &Install{Namespace: namespace}
		t.installs[namespace] = i
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
