package upgrade

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/permissions"
	"github.com/olmgen/olmgen/review/upgrade/workload"
)

// State is one of the two releases: what is applied to a cluster, and the operators in it.
type State struct {
	Name        string // what a person gave
	Objects     []*manifest.Object
	Operators   []Operator
	Permissions *permissions.Report // of these objects
}

// Operator is an operator of a State.
type Operator struct {
	permissions.CSV
	Package      string            // empty for a tree
	Dependencies []bundle.Property // of the bundle; none for a tree
	Properties   []bundle.Property // of the bundle or its catalog; none for a tree
	Replaces     *string           // the catalog's; nil for other sources

	// InstallMode is what its OperatorGroup asks for; empty if that is not known. Unsupported says that the operator
	// does not support it.
	InstallMode v1alpha1.InstallModeType
	Unsupported bool
}

// stem returns the name of an operator without its version, by which two releases of it are found.
func (o Operator) stem() string {
	name := o.ClusterServiceVersion.Name
	if v := o.Spec.Version.String(); v != "0.0.0" {
		for _, sep := range []string{".v", "-v", ".", "-"} {
			if before, ok := strings.CutSuffix(name, sep+v); ok {
				return before
			}
		}
	}
	if before, _, ok := strings.Cut(name, ".v"); ok {
		return before
	}
	return workload.Versionless(name)
}

// version returns the version of an operator as text.
func (o Operator) version() string { return o.Spec.Version.String() }

// replaces returns what an operator replaces. A catalog's word counts more than the CSV's.
func (o Operator) replaces() string {
	if o.Replaces != nil {
		return *o.Replaces
	}
	return o.Spec.Replaces
}

// pair is an operator of both releases, of which one may be nil.
type pair struct{ old, now *Operator }

// pairsOf matches the operators of two states: by their names without version and their namespaces, then by names
// alone. Where each state has one operator, they are two releases of it.
func pairsOf(old, now State) []pair {
	if len(old.Operators) == 1 && len(now.Operators) == 1 {
		return []pair{{&old.Operators[0], &now.Operators[0]}}
	}
	var out []pair
	used := map[int]bool{}
	find := func(o Operator, same func(a, b Operator) bool) int {
		for i, before := range old.Operators {
			if !used[i] && same(before, o) {
				return i
			}
		}
		return -1
	}
	byStem := func(a, b Operator) bool { return a.stem() == b.stem() }
	inPlace := func(a, b Operator) bool { return byStem(a, b) && a.Namespace == b.Namespace }
	matched := make([]int, len(now.Operators))
	for i := range now.Operators {
		if matched[i] = find(now.Operators[i], inPlace); matched[i] >= 0 {
			used[matched[i]] = true
		}
	}
	for i := range now.Operators {
		if matched[i] < 0 {
			if matched[i] = find(now.Operators[i], byStem); matched[i] >= 0 {
				used[matched[i]] = true
			}
		}
		p := pair{now: &now.Operators[i]}
		if matched[i] >= 0 {
			p.old = &old.Operators[matched[i]]
		}
		out = append(out, p)
	}
	for i := range old.Operators {
		if !used[i] {
			out = append(out, pair{old: &old.Operators[i]})
		}
	}
	return out
}
