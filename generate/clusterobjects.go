package generate

import (
	"fmt"
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// clusterObjectOwners returns, for each operator, the operators whose cluster-scoped objects take the place of its own:
// those in the namespace that Options.ClusterObjectsFrom names.
func clusterObjectOwners(operators []Operator) ([][]int, error) {
	out := make([][]int, len(operators))
	for i, m := range operators {
		from := m.Options.ClusterObjectsFrom
		if from == "" {
			continue
		}
		for j, b := range operators {
			if j != i && b.Options.Namespace == from && b.Options.ClusterObjectsFrom == "" {
				out[i] = append(out[i], j)
			}
		}
		if out[i] == nil {
			return nil, &OperatorError{i, m.Name, refuseOption(OptionClusterObjectsFrom,
				"name the namespace of another group, one that brings its own cluster-scoped objects",
				"no other group in namespace %q brings cluster-scoped objects", from)}
		}
	}
	return out, nil
}

// apiOwnerGroups returns the OperatorGroups of owners that provide an API of the operator as well. The ClusterRoles
// of such an API have the label of that group.
func apiOwnerGroups(m Operator, owners []int, operators []Operator) (groups []string) {
	for _, j := range owners {
		b := operators[j]
		for _, a := range olm.OwnedAPIs(&m.Bundle.CSV.Spec) {
			shared := func(x olm.API) bool { return x.String() == a.String() }
			if slices.ContainsFunc(olm.OwnedAPIs(&b.Bundle.CSV.Spec), shared) &&
				b.Options.OperatorGroup != m.Options.OperatorGroup {
				groups = append(groups, b.Options.OperatorGroup)
			}
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// leaveOut takes the objects of an operator that its owners also make, and returns the rest. A difference that
// takes rights from the operator is a warning. One that may break it is an error.
func leaveOut(i int, operators []Operator, results []*Result) ([]Object, error) {
	owners := operators[i].Options.neighbors.clusterObjectOwners
	if owners == nil {
		return results[i].Objects, nil
	}
	var kept []Object
	for _, o := range results[i].Objects {
		j, theirs := ownedBy(o, owners, results)
		if theirs == nil {
			kept = append(kept, o)
			continue
		}
		problem, err := difference(o, *theirs, operators[i].Bundle, operators[j])
		if err != nil {
			return nil, &OperatorError{i, operators[i].Name, err}
		}
		if problem != "" {
			results[i].Warnings = append(results[i].Warnings, bundle.Warning{Class: bundle.WarnClusterObjects,
				Error: &manifest.Error{Msg: problem, Options: []Option{OptionClusterObjectsFrom}}})
		}
	}
	return kept, nil
}

// ownedBy returns the cluster-scoped object of an owner that takes the place of an object, nil if there is none.
func ownedBy(o Object, owners []int, results []*Result) (int, *Object) {
	if o.Namespace != "" {
		return 0, nil
	}
	for _, j := range owners {
		for k := range results[j].Objects {
			if x := &results[j].Objects[k]; x.key() == o.key() {
				return j, x
			}
		}
	}
	return 0, nil
}

// difference returns what an operator misses where an object of another one takes the place of its own.
func difference(o, theirs Object, own *bundle.Bundle, other Operator) (problem string, err error) {
	if o.Kind == "CustomResourceDefinition" {
		return "", unserved(o.Name, own, other)
	}
	a, err := withoutMetadata(o)
	if err != nil {
		return "", err
	}
	b, err := withoutMetadata(theirs)
	if err != nil || reflect.DeepEqual(a, b) {
		return "", err
	}
	if o.Group() == rbacv1.GroupName {
		what := "rules"
		if o.Kind == "ClusterRoleBinding" {
			what = "subjects or role"
		}
		return fmt.Sprintf("leaves out %s %s, and %s has one with other %s", o.Kind, o.Name, other.Name, what), nil
	}
	return "", refuseOption(OptionClusterObjectsFrom, "render them to different clusters",
		"%s %s differs from that of %s, which is rendered", o.Kind, o.Name, other.Name)
}

// withoutMetadata returns the decoded object without its metadata.
func withoutMetadata(o Object) (map[string]any, error) {
	v, err := o.Value()
	delete(v, "metadata")
	return v, err
}

// unserved refuses a CRD that does not serve a version that the operator owns.
func unserved(crd string, own *bundle.Bundle, other Operator) error {
	for _, d := range own.CSV.Spec.CustomResourceDefinitions.Owned {
		served := func(c *bundle.CRD) bool { return c.Name == crd && serves(c, d.Version) }
		if d.Name == crd && !slices.ContainsFunc(other.Bundle.CRDs, served) {
			return refuseOption(OptionClusterObjectsFrom, "let the group with the newer version bring it",
				"the operator owns version %s of %s, and the CRD that %s brings does not serve it",
				d.Version, crd, other.Name)
		}
	}
	return nil
}
