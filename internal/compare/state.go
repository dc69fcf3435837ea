package compare

import (
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// State is one of the two releases: what is applied to a cluster, and the operators in it.
type State struct {
	Name        string // what a person gave
	Objects     []*manifest.Object
	Operators   []Operator
	Permissions *permissions.Report // of these objects
	Roles       permissions.Roles   // that nothing binds
	Left        []*manifest.Object  // those of the older release that the newer one does not ship, and OLM leaves

	// Locate returns the place of a field of an object for a person; nil: the object's own.
	Locate func(o *manifest.Object, field string) (file string, line int)
}

// Operator is an operator of a State.
type Operator struct {
	permissions.CSV
	Package      string             // empty for a tree
	Dependencies []catalog.Property // of the bundle; none for a tree
	Properties   []catalog.Property // of the bundle or its catalog; none for a tree
	Entry        *catalog.Entry     // of its catalog; nil for other sources
	Channels     []string           // that the bundle names; a catalog, if there is one, says which count
	Metadata     map[string]string  // the annotations of the bundle; none for a tree
	MetadataFile string             // that has them
	Unannotated  *manifest.Error    // why opm refuses a bundle that has none
	Deprecated   []string           // what the catalog says of the bundle, its channel or its package
	Lifecycles   [][]byte           // what its catalog says of the support of the package, as JSON documents
	Shipped      []*manifest.Object // what its bundle has beside the CSV, as it stands there; none for a tree

	// InstallMode is what its OperatorGroup asks for, if that is known. Unsupported: the operator does not support it.
	InstallMode v1alpha1.InstallModeType
	Unsupported bool

	WithoutOLM bool // it is rendered for a cluster where no OLM installs it
	ByOLMv1    bool // OLM v1 installs it
	CRDSafety  bool // and asks crdUpgradeSafety before it changes a CRD

	crds map[string]*manifest.Object // of its State, by name
}

// withCRDs returns the state with operators that know its CRDs.
func (s State) withCRDs() State {
	crds := olm.CRDs(s.Objects)
	s.Operators = slices.Clone(s.Operators)
	for i := range s.Operators {
		s.Operators[i].crds = crds
	}
	return s
}

// stem returns the name of an operator without its version, by which two releases of it are found.
func (o Operator) stem() string { return olm.BaseName(o.Name, "") }

func (o Operator) version() string { return o.Spec.Version.String() }

// entry returns what an operator updates. OLM takes it from the catalog, which may say something else than the CSV
// (OLM: pkg/controller/registry/resolver/source_registry.go, newOperatorFromBundle).
func (o Operator) entry() catalog.Entry {
	if o.Entry != nil {
		return *o.Entry
	}
	return catalog.EntryOf(o.ClusterServiceVersion)
}

// pair is an operator of both releases, of which one may be nil.
type pair struct{ old, now *Operator }

// pairsOf matches the operators of two states: by their names without version and their namespaces, then by names
// alone. Where each state has one operator, they are two releases of it.
func pairsOf(old, now State) []pair {
	if len(old.Operators) == 1 && len(now.Operators) == 1 {
		return []pair{{&old.Operators[0], &now.Operators[0]}}
	}
	out, used := make([]pair, len(now.Operators)), map[int]bool{}
	for _, anywhere := range []bool{false, true} {
		key := func(o *Operator) string {
			if anywhere {
				return o.stem()
			}
			return o.Namespace + "/" + o.stem()
		}
		free := map[string][]int{}
		for j := range old.Operators {
			if k := key(&old.Operators[j]); !used[j] {
				free[k] = append(free[k], j)
			}
		}
		for i := range now.Operators {
			out[i].now = &now.Operators[i]
			k := key(out[i].now)
			if out[i].old == nil && len(free[k]) > 0 {
				j := free[k][0]
				out[i].old, used[j], free[k] = &old.Operators[j], true, free[k][1:]
			}
		}
	}
	for i := range old.Operators {
		if !used[i] {
			out = append(out, pair{old: &old.Operators[i]})
		}
	}
	return out
}

// TreeOperators returns the operators of a tree of objects, with what their OperatorGroups ask for.
func TreeOperators(objects []*manifest.Object, csvs []permissions.CSV) ([]Operator, error) {
	var out []Operator
	groups := map[string][]*manifest.Object{}
	for _, o := range objects {
		if o.Kind == operatorsv1.OperatorGroupKind && o.Group() == olm.Group {
			groups[o.Namespace] = append(groups[o.Namespace], o)
		}
	}
	for _, csv := range csvs {
		o := Operator{CSV: csv}
		mode, err := modeOf(groups[csv.Namespace], csv.Namespace)
		if err != nil {
			return nil, err
		}
		if o.InstallMode = mode; mode != "" {
			o.Unsupported = !olm.Supports(o.Spec.InstallModes, mode)
		}
		out = append(out, o)
	}
	return out, nil
}

// modeOf returns the install mode that the OperatorGroups of a namespace ask for; empty if there is not one group, or
// if the cluster decides (docs/reference/spec/olm-v0-installs.md, section 8).
func modeOf(groups []*manifest.Object, namespace string) (v1alpha1.InstallModeType, error) {
	var g operatorsv1.OperatorGroup
	for _, o := range groups {
		if _, err := o.Into(&g); err != nil {
			return "", err
		}
	}
	if len(groups) != 1 {
		return "", nil
	}
	return olm.TargetsOf(&g.Spec).Mode(namespace), nil
}
