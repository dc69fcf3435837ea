package output

import (
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
)

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

// severalNamespaces reports whether an OperatorGroup has a selector or more than one target namespace.
func severalNamespaces(x generate.Object) bool {
	selector, err := x.Get("spec", "selector")
	if err != nil || selector != nil {
		return true
	}
	v, err := x.Get("spec", "targetNamespaces")
	targets, _ := v.([]any)
	return err != nil || len(targets) > 1
}
