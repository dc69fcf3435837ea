package output

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/generate"
)

// The application that holds what concerns the whole cluster, and the overlay that has all of it (operate-first/apps: cluster-scope/README.md).
const (
	clusterApp     = "cluster-scope"
	clusterOverlay = clusterApp + "/overlays/prod/common/"
)

// place is where the decision record "Managing Operators" (operate-first/blueprint, ADR 0011) puts an object.
type place int

const (
	nowhere       place = iota // it is not deployed by hand
	inApplication              // with the operator's own application
	inCluster                  // with cluster-scope
)

// placeOf decides by the record. Whatever is not namespaced concerns the cluster: CRDs, ClusterRoles, bindings, Namespaces.
func (t Tree) placeOf(x generate.Shared) place {
	switch {
	case isOLM(x.Object, v1alpha1.ClusterServiceVersionKind), isOLM(x.Object, v1alpha1.InstallPlanKind):
		return nowhere
	case x.Namespace == "", isOLM(x.Object, "OperatorGroup"), isOLM(x.Object, v1alpha1.CatalogSourceKind):
		return inCluster
	case isOLM(x.Object, v1alpha1.SubscriptionKind) && !t.Operators[x.Operators[0]].singleNamespace():
		return inCluster
	}
	return inApplication
}

// singleNamespace reports whether the operator sees one namespace only.
func (o Operator) singleNamespace() bool {
	return o.InstallMode == v1alpha1.InstallModeTypeOwnNamespace || o.InstallMode == v1alpha1.InstallModeTypeSingleNamespace
}

// clusterScope divides the objects as operate-first/apps does: cluster-scope/base/<api group>/<plural>/<name>/ has one object and its
// kustomization.yaml, cluster-scope/bundles/<operator> lists what an operator needs of them, cluster-scope/overlays/prod/common has all,
// and <operator>/base is the application with what is namespaced. A namespaced object that several operators share stands in each application.
func (t Tree) clusterScope() (Files, error) {
	var cluster []generate.Shared
	for _, x := range t.Objects {
		if t.placeOf(x) == inCluster {
			cluster = append(cluster, x)
		}
	}
	files, bases, err := t.clusterBase(cluster)
	if err != nil {
		return nil, err
	}
	more, err := t.clusterLists(cluster, bases)
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	more, err = t.applications()
	return append(files, more...), err
}

// clusterBase gives each object a directory below cluster-scope/, and the names of the directories.
func (t Tree) clusterBase(objects []generate.Shared) (Files, []string, error) {
	plurals, err := t.plurals(objects)
	if err != nil {
		return nil, nil, err
	}
	bases := unique(objects, func(x generate.Object) string {
		group := x.Group()
		if group == "" {
			group = "core"
		}
		return "base/" + segment(escape(group)) + "/" + segment(escape(plurals[kindOf(x)])) + "/" + segment(ownName(x, t.Namespace))
	})
	var files Files
	for i, x := range objects {
		more, err := t.directory(clusterApp+"/"+bases[i]+"/", objects[i:i+1], []string{segment(escape(strings.ToLower(x.Kind)))})
		if err != nil {
			return nil, nil, err
		}
		if len(x.Operators) == 1 {
			for n := range more {
				more[n].Lock = t.LockOf(LayoutClusterScope, x.Operators[0])
			}
		}
		files = append(files, more...)
	}
	return files, bases, nil
}

// ownName is the name of an object's directory. A namespace of the same name would say it twice.
func ownName(x generate.Object, operatorNamespace string) string {
	if x.Namespace == x.Name {
		return escape(x.Name)
	}
	return namePart(x, operatorNamespace)
}

// clusterLists gives the bundle of each operator, and the overlay with all of them. kustomize takes no object twice: those of
// operators that share some are listed one by one in the overlay, before the bundles of the others.
func (t Tree) clusterLists(objects []generate.Shared, bases []string) (Files, error) {
	lists := make([][]string, len(t.Operators))
	sharing := make([]bool, len(t.Operators))
	for n, x := range objects {
		for _, i := range x.Operators {
			lists[i] = append(lists[i], "../../"+bases[n])
			sharing[i] = sharing[i] || len(x.Operators) > 1
		}
	}
	var resources []string
	for n, x := range objects {
		if sharing[x.Operators[0]] {
			resources = append(resources, "../../../"+bases[n])
		}
	}
	var files Files
	for _, i := range t.byName() {
		if len(lists[i]) == 0 {
			continue
		}
		bundle := "bundles/" + segment(escape(t.Operators[i].Name))
		if !sharing[i] {
			resources = append(resources, "../../../"+bundle)
		}
		kustomization, err := t.kustomization(lists[i])
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: clusterApp + "/" + bundle + "/" + kustomizationName, Data: kustomization, Lock: t.LockOf(LayoutClusterScope, i)})
	}
	kustomization, err := t.kustomization(resources)
	return append(files, File{Path: clusterOverlay + kustomizationName, Data: kustomization}), err
}

// byName gives the operators in the order of their names.
func (t Tree) byName() []int {
	order := make([]int, len(t.Operators))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.Operators[a].Name, t.Operators[b].Name) })
	return order
}

// applications gives each operator its own folder with what is namespaced.
func (t Tree) applications() (Files, error) {
	var files Files
	taken := map[string]string{clusterApp: "the layout itself"}
	for i, objects := range t.perOperator() {
		o := t.Operators[i]
		dir := segment(escape(o.Name))
		if other, ok := taken[fold(dir)]; ok {
			return nil, refuse("give the operator another name", "%s and %s would both be in the directory %s", o.Name, other, dir)
		}
		taken[fold(dir)] = o.Name
		objects = slices.DeleteFunc(objects, func(x generate.Shared) bool { return t.placeOf(x) != inApplication })
		if len(objects) == 0 {
			continue
		}
		more, err := t.directory(dir+"/base/", objects, unique(objects, func(x generate.Object) string { return stem(x, o.Namespace) }))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}
