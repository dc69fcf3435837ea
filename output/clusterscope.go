package output

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
)

// The application of the cluster-scoped objects, and the overlay of all (operate-first/apps: cluster-scope/README.md).
const (
	clusterApp     = "cluster-scope"
	clusterOverlay = clusterApp + "/overlays/prod/common/"
)

// argoScope is a place of the decision record "Managing Operators" (operate-first/blueprint, ADR 0011).
type argoScope int

const (
	nowhere       argoScope = iota // it is not deployed by hand
	inApplication                  // with the operator's own application
	inCluster                      // with cluster-scope
)

// placeOf returns the place of an object. An object without a namespace is cluster-scoped.
func (t Tree) placeOf(x generate.Shared) argoScope {
	switch {
	case isOLM(x.Object, v1alpha1.ClusterServiceVersionKind), isOLM(x.Object, v1alpha1.InstallPlanKind):
		return nowhere
	case x.Namespace == "", isOLM(x.Object, "OperatorGroup"), isOLM(x.Object, v1alpha1.CatalogSourceKind):
		return inCluster
	case isOLM(x.Object, v1alpha1.SubscriptionKind):
		mode := t.Operators[x.Operators[0]].InstallMode
		if mode != v1alpha1.InstallModeTypeOwnNamespace && mode != v1alpha1.InstallModeTypeSingleNamespace {
			return inCluster
		}
	}
	return inApplication
}

// clusterScope lays out objects as operate-first/apps does. cluster-scope/base/<api group>/<plural>/<name>/ has one
// object and its kustomization.yaml. cluster-scope/bundles/<operator> lists the objects of an operator,
// cluster-scope/overlays/prod/common all. <operator>/base has the namespaced objects, shared ones too.
func (t Tree) clusterScope() (Files, error) {
	var cluster []generate.Shared
	for _, x := range t.Objects {
		if t.placeOf(x) == inCluster {
			x.Data = blankSpec(x.Object)
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

// blankSpec returns the text of an object, of an OperatorGroup for all namespaces with the blank spec of the record:
// the API server fills in the rest.
func blankSpec(x generate.Object) []byte {
	head, global := bytes.CutSuffix(x.Data, []byte("\nspec:\n  upgradeStrategy: Default\n"))
	if !global || !isOLM(x, "OperatorGroup") {
		return x.Data
	}
	return append(slices.Clip(head), "\nspec: {}\n"...)
}

// clusterBase writes a directory below cluster-scope/ for each object, and returns the names of the directories.
func (t Tree) clusterBase(objects []generate.Shared) (Files, []string, error) {
	plurals, err := t.plurals(objects)
	if err != nil {
		return nil, nil, err
	}
	bases := unique(objects, func(x generate.Object) string {
		group := cmp.Or(x.Group(), "core")
		return "base/" + segment(escape(group)) + "/" + segment(escape(plurals[kindOf(x)])) + "/" +
			segment(ownName(x, t.Namespace))
	})
	var files Files
	for i, x := range objects {
		more, err := t.directory(clusterApp+"/"+bases[i]+"/", objects[i:i+1],
			[]string{segment(escape(strings.ToLower(x.Kind)))})
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

// ownName returns the name of an object's directory. It leaves out a namespace that equals the object's name.
func ownName(x generate.Object, operatorNamespace string) string {
	if x.Namespace == x.Name {
		return escape(x.Name)
	}
	return namePart(x, operatorNamespace)
}

// clusterLists writes the bundle of each operator, and the overlay. kustomize refuses an object that is listed twice.
// So the overlay lists the objects of operators that share some one by one, before the bundles of the others.
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
		files = append(files,
			File{Path: clusterApp + "/" + bundle + "/" + kustomizationName, Data: kustomization,
				Lock: t.LockOf(LayoutClusterScope, i)})
	}
	kustomization, err := t.kustomization(resources)
	return append(files, File{Path: clusterOverlay + kustomizationName, Data: kustomization}), err
}

func (t Tree) byName() []int {
	order := make([]int, len(t.Operators))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.Operators[a].Name, t.Operators[b].Name) })
	return order
}

func (t Tree) applications() (Files, error) {
	var files Files
	taken := map[string]string{clusterApp: "the layout itself"}
	for i, objects := range t.perOperator() {
		o := t.Operators[i]
		dir := segment(escape(o.Name))
		if other, ok := taken[fold(dir)]; ok {
			return nil,
				refuse("give the operator another name", "%s and %s would both be in the directory %s", o.Name, other,
					dir)
		}
		taken[fold(dir)] = o.Name
		objects = slices.DeleteFunc(objects, func(x generate.Shared) bool { return t.placeOf(x) != inApplication })
		if len(objects) == 0 {
			continue
		}
		more, err := t.directory(dir+"/base/", objects,
			unique(objects, func(x generate.Object) string { return stem(x, o.Namespace) }))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// clusterScopeWarnings returns what the decision record leaves out, and what it does not allow.
func (t Tree) clusterScopeWarnings() []string {
	var warnings []string
	for i, objects := range t.perOperator() {
		o := t.Operators[i]
		say := func(format string, args ...any) {
			warnings = append(warnings,
				fmt.Sprintf("%s: %s: %s", LayoutClusterScope, o.Name, fmt.Sprintf(format, args...)))
		}
		left := map[string]int{}
		for _, x := range objects {
			switch {
			case t.placeOf(x) == nowhere:
				left[x.Kind]++
			case isOLM(x.Object, v1alpha1.CatalogSourceKind) && x.Namespace != olm.NamespaceMarketplace:
				say("CatalogSource %s is in namespace %s, and belongs into openshift-marketplace", x.Name, x.Namespace)
			case isOLM(x.Object, "OperatorGroup") && x.Operators[0] == i && severalNamespaces(x.Object):
				say("OperatorGroup %s/%s is neither for all namespaces nor for a single one", x.Namespace, x.Name)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(left)) {
			say("left out of kind %s: %d (the layout's decision record has none deployed by hand)", kind, left[kind])
		}
		if warning := MetaOperatorWarning(o.Result); warning != "" {
			say("%s", warning)
		}
	}
	return warnings
}

// MetaOperatorWarning returns what to say of a meta-operator, "" for other operators.
func MetaOperatorWarning(r *generate.Result) string {
	if r.MetaOperator == "" {
		return ""
	}
	return fmt.Sprintf(
		"a meta-operator, because its %s: limit its permissions, or who may edit its APIs",
		r.MetaOperator,
	)
}

func severalNamespaces(x generate.Object) bool {
	selector, err := x.Get("spec", "selector")
	if err != nil || selector != nil {
		return true
	}
	v, err := x.Get("spec", "targetNamespaces")
	targets, _ := v.([]any)
	return err != nil || len(targets) > 1
}

func kindOf(x generate.Object) string { return x.Kind + "." + x.Group() }

// plurals returns the plurals of the objects' kinds. For a kind that is not known, the tree must contain its CRD.
func (t Tree) plurals(objects []generate.Shared) (map[string]string, error) {
	plurals := map[string]string{}
	for _, x := range t.Objects {
		if !olm.IsCRD(x.Group(), x.Kind) {
			continue
		}
		o, err := x.Manifest()
		if err != nil {
			return nil, err
		}
		k, _ := olm.DefinedKind(o)
		plurals[k.Name+"."+k.Group] = k.Plural
	}
	for _, x := range objects {
		kind := kindOf(x.Object)
		if k, ok := olm.KindOf(x.Group(), x.Kind); ok {
			plurals[kind] = k.Plural
		}
		if plurals[kind] == "" {
			return nil, refuse("its CRD, which has it, is not among the objects: use another layout",
				"the layout %s does not know the plural of kind %s of %s", LayoutClusterScope, x.Kind, x.APIVersion)
		}
	}
	return plurals, nil
}
