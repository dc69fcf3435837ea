package generate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// Operator is a bundle and how to render it.
type Operator struct {
	Name    string // what errors call it; default: the package name
	Bundle  *bundle.Bundle
	Options Options
}

// Set is what several operators render to together.
type Set struct {
	Objects []Shared  // in the order in which they can be applied
	Results []*Result // one for each operator, in the order of the operators
}

// Shared is an object and the operators that it belongs to: indices, ascending.
type Shared struct {
	Object
	Operators []int
}

// OperatorError is an error of one of several operators, alone or together with an operator before it.
type OperatorError struct {
	Index int // of the operator
	Name  string
	Err   error
}

func (e *OperatorError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *OperatorError) Unwrap() error { return e.Err }

// RenderAll renders operators that go to one cluster. Those whose options name the same OperatorGroup in the same
// namespace share it: its olm.providedAPIs and its ClusterRoles are about the APIs of all of them (spec 1.5 and 2). An
// object that several operators make alike is there once. What cannot be in one cluster is refused: an object that two
// operators make differently, two OperatorGroups in one namespace, and groups whose namespaces and provided APIs both
// overlap (spec 9). Options.ClusterObjectsFrom says whose cluster-scoped objects are there where two operators make
// them differently. Errors are *OperatorError.
func RenderAll(operators []Operator) (*Set, error) {
	groups, err := members(operators)
	if err != nil {
		return nil, err
	}
	if err := podSecurityTogether(groups); err != nil {
		return nil, err
	}
	set := &Set{}
	for i, m := range groups {
		r, err := Render(m.Bundle, m.Options)
		if err != nil {
			return nil, &OperatorError{i, m.Name, err}
		}
		set.Results = append(set.Results, r)
	}
	if err := conflicts(groups, set.Results); err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := range set.Results {
		objects, err := leaveOut(i, groups, set.Results)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			n, ok := at[o.key()]
			if !ok {
				at[o.key()] = len(set.Objects)
				set.Objects = append(set.Objects, Shared{o, []int{i}})
				continue
			}
			first := &set.Objects[n]
			if !bytes.Equal(first.Data, o.Data) {
				err := refuseDifference(o, "%s and %s both make %s %s, with different content",
					groups[first.Operators[0]].Name, groups[i].Name, o.Kind,
					strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
				return nil, &OperatorError{i, groups[i].Name, err}
			}
			first.Operators = append(first.Operators, i)
		}
	}
	slices.SortStableFunc(set.Objects, func(a, b Shared) int { return a.compare(b.Object, "") })
	return set, nil
}

func refuseDifference(o Object, format string, args ...any) *Error {
	hint, about := "render them to different clusters, or give one of them another namespace", []Option(nil)
	switch o.Kind {
	case "OperatorGroup":
		hint = "the operators of a group share an install mode: all must support it. Name target namespaces for " +
			"which they do, or give the operators groups in namespaces of their own"
		about = []Option{OptionTargetNamespaces}
	case "CustomResourceDefinition":
		hint = "a cluster can have it only once: name the group to take it from, or render one version of the operator"
		about = []Option{OptionClusterObjectsFrom}
	case "ClusterRole":
		hint = "with stable names only one group can provide an API: name the group to take it from, or use OLM's names"
		about = []Option{OptionClusterObjectsFrom, OptionNames}
	}
	err := refuse(hint, format, args...)
	err.Options = about
	return err
}

// neighbors is what an operator needs to know of the operators that are rendered together with it.
type neighbors struct {
	groupAPIs           []string            // Kind.version.group of all operators of the OperatorGroup
	alongside           map[string][]string // namespace/name of the CSVs with a CRD, by the CRD's name
	apis                map[string]bool     // Kind.version.group that any of the operators provides
	packages            map[string][]semver.Version
	olmGroup            bool     // the OperatorGroup is there for another operator, which OLM manages
	clusterObjectOwners []int    // the operators whose cluster-scoped objects take the place of its own
	labels              []string // the other OperatorGroups whose label the ClusterRoles of its APIs have
}

// members completes the options of the operators and tells each of the others.
func members(operators []Operator) ([]Operator, error) {
	out := slices.Clone(operators)
	apis, alongside := map[string][]string{}, map[string][]string{}
	all, packages := map[string]bool{}, map[string][]semver.Version{}
	for i := range out {
		m := &out[i]
		setDefault(&m.Name, m.Bundle.Package)
		var err error
		if m.Options, err = m.Options.complete(m.Bundle); err != nil {
			return nil, &OperatorError{i, m.Name, err}
		}
		for _, a := range olm.OwnedAPIs(&m.Bundle.CSV.Spec) {
			apis[m.apiGroupKey()] = append(apis[m.apiGroupKey()], a.String())
			all[a.String()] = true
		}
		packages[m.Bundle.Package] = append(packages[m.Bundle.Package], m.Bundle.CSV.Spec.Version.Version)
		for _, c := range m.Bundle.CRDs {
			alongside[c.Name] = append(alongside[c.Name], m.Options.Namespace+"/"+m.Bundle.CSV.Name)
		}
	}
	shareInstallMode(out)
	from, err := clusterObjectOwners(out)
	if err != nil {
		return nil, err
	}
	for i := range out {
		labels := apiOwnerGroups(out[i], from[i], out)
		olmGroup := slices.ContainsFunc(out,
			func(m Operator) bool { return m.grouped() && m.group() == out[i].group() })
		out[i].Options.neighbors = neighbors{olmGroup: olmGroup, groupAPIs: apis[out[i].apiGroupKey()],
			alongside: alongside,
			apis:      all, packages: packages,
			clusterObjectOwners: from[i], labels: labels}
	}
	return out, nil
}

// shareInstallMode gives the operators of a group without targets the first install mode that all of them support: the
// targets are the group's, not an operator's (OLM: pkg/controller/operators/olm/operatorgroup.go).
func shareInstallMode(operators []Operator) {
	open := map[string][]int{}
	for i, m := range operators {
		o := m.Options
		if m.grouped() && o.hasGroup() && o.InstallMode == "" && len(o.TargetNamespaces) == 0 && o.Selector == nil {
			open[m.group()] = append(open[m.group()], i)
		}
	}
	for _, members := range open {
		for _, mode := range []v1alpha1.InstallModeType{v1alpha1.InstallModeTypeAllNamespaces,
			v1alpha1.InstallModeTypeOwnNamespace} {
			if slices.ContainsFunc(members, func(i int) bool { return !supported(operators[i].Bundle.CSV)[mode] }) {
				continue
			}
			if len(members) > 1 {
				for _, i := range members {
					operators[i].Options.InstallMode = mode
				}
			}
			break
		}
	}
}

// group identifies the OperatorGroup of completed options.
func (m Operator) group() string { return m.Options.Namespace + "/" + m.Options.OperatorGroup }

// apiGroupKey identifies the operators whose APIs are provided together: OLM knows of those only that it manages.
func (m Operator) apiGroupKey() string {
	if m.grouped() {
		return m.group()
	}
	return string(m.Options.Profile) + " " + m.group()
}

// grouped reports whether OLM v0 will look at the operator and its OperatorGroup.
func (m Operator) grouped() bool {
	return m.Options.Profile == ProfileOLM || m.Options.Profile == ProfileSubscription
}

// conflicts refuses what OLM would: see RenderAll.
func conflicts(operators []Operator, results []*Result) error {
	for i, a := range operators {
		for j, b := range operators[:i] {
			if !a.grouped() || !b.grouped() {
				continue
			}
			if err := conflict(b, a, results[j], results[i]); err != nil {
				return &OperatorError{i, a.Name, err}
			}
		}
	}
	return nil
}

func conflict(a, b Operator, ra, rb *Result) error {
	switch {
	case ra.Namespace == rb.Namespace && a.Options.Profile != b.Options.Profile:
		return refuse("give both one profile, or groups in namespaces of their own",
			"%s has the profile %s and %s the profile %s: either OLM or olmgen writes the provided APIs of an "+
				"OperatorGroup",
			a.Name, a.Options.Profile, b.Name, b.Options.Profile)
	case a.group() == b.group():
		if crd := common(ownedCRDs(a), ownedCRDs(b)); crd != "" {
			return refuse("leave out one of them", "OwnerConflict: %s and %s both own %s in namespace %s", a.Name,
				b.Name, crd, ra.Namespace)
		}
	case ra.Namespace == rb.Namespace:
		return refuse("a namespace has one group: use one for both, or another namespace",
			"TooManyOperatorGroups: %s and %s have different OperatorGroups, %s and %s, in namespace %s",
			a.Name, b.Name, ra.OperatorGroup, rb.OperatorGroup, ra.Namespace)
	case overlap(ra, rb):
		if api := common(a.Options.neighbors.groupAPIs, b.Options.neighbors.groupAPIs); api != "" {
			return refuse("give the groups different target namespaces, or one of the operators another cluster",
				"InterOperatorGroupOwnerConflict: OperatorGroups %s (%s) and %s (%s) watch the same namespaces and "+
					"both provide %s",
				a.group(), a.Name, b.group(), b.Name, api)
		}
	}
	return nil
}

func ownedCRDs(m Operator) []string {
	var names []string
	for _, d := range m.Bundle.CSV.Spec.CustomResourceDefinitions.Owned {
		names = append(names, d.Name)
	}
	return names
}

// overlap reports whether two groups watch a common namespace: all namespaces meet any, and a group's own namespace
// counts as watched (spec 9).
func overlap(a, b *Result) bool {
	if slices.Contains(a.targets, allNamespaces) || slices.Contains(b.targets, allNamespaces) {
		return true
	}
	return common(append(slices.Clone(a.targets), a.Namespace), append(slices.Clone(b.targets), b.Namespace)) != ""
}

func common(a, b []string) string {
	return lists.Find(a, func(x string) bool { return slices.Contains(b, x) })
}
