package generate

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
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
	hint, about := "render them to different clusters, or give one of them another namespace", []manifest.Option(nil)
	if o.Namespace == "" {
		hint = "render them to different clusters, or give one of them another name"
	}
	switch o.Kind {
	case "OperatorGroup":
		hint = "the operators of a group share an install mode: all must support it. Name target namespaces for " +
			"which they do, or give the operators groups in namespaces of their own"
		about = []manifest.Option{option.TargetNamespaces}
	case "CustomResourceDefinition":
		hint = "a cluster can have it only once: name the group to take it from, or render one version of the operator"
		about = []manifest.Option{option.ClusterObjectsFrom}
	case "ClusterRole":
		hint = "with stable names only one group can provide an API: name the group to take it from, or use OLM's names"
		about = []manifest.Option{option.ClusterObjectsFrom, option.Names}
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
		olmGroup := slices.ContainsFunc(out,
			func(m Operator) bool { return m.grouped() && m.group() == out[i].group() })
		out[i].Options.neighbors = neighbors{olmGroup: olmGroup, groupAPIs: apis[out[i].apiGroupKey()],
			alongside: alongside, apis: all, packages: packages, clusterObjectOwners: from[i],
			labels: apiOwnerGroups(out[i], from[i], out)}
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
	owned := lists.Map(operators, ownedCRDs)
	for i, a := range operators {
		for j, b := range operators[:i] {
			var err error
			switch {
			case a.grouped() && b.grouped():
				err = conflict(b, a, results[j], results[i], common(owned[j], owned[i]))
			case a.Options.Profile == ProfilePlain && b.Options.Profile == ProfilePlain:
				err = rivals(b, a, results[j], results[i], common(owned[j], owned[i]))
			}
			if err != nil {
				return &OperatorError{i, a.Name, err}
			}
		}
	}
	return nil
}

// conflict refuses two operators that OLM manages; crd is one that both own, or "".
func conflict(a, b Operator, ra, rb *Result, crd string) error {
	switch {
	case ra.Namespace == rb.Namespace && a.Options.Profile != b.Options.Profile:
		return refuse("give both one profile, or groups in namespaces of their own",
			"%s has the profile %s and %s the profile %s: either OLM or olmgen writes the provided APIs of an "+
				"OperatorGroup", a.Name, a.Options.Profile, b.Name, b.Options.Profile)
	case a.group() == b.group():
		if crd != "" {
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
					"both provide %s", a.group(), a.Name, b.group(), b.Name, api)
		}
	}
	return nil
}

// rivals refuses two operators that own a CRD, which may be "", and watch a common namespace without OLM: nobody else
// keeps both from changing the same objects.
func rivals(a, b Operator, ra, rb *Result, crd string) error {
	if crd == "" || !meet(ra.targets, rb.targets) || slices.Contains(a.Options.SharedAPIs, crd) {
		return nil
	}
	return refuse("give them different target namespaces, or declare that they share it (sharedAPIs)",
		"%s and %s both manage %s in the same namespaces", a.Name, b.Name, crd)
}

func ownedCRDs(m Operator) []string {
	return lists.Map(m.Bundle.CSV.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) string { return d.Name })
}

// overlap reports whether two groups watch a common namespace: all namespaces meet any, and a group's own namespace
// counts as watched (spec 9).
func overlap(a, b *Result) bool {
	return meet(append(slices.Clone(a.targets), a.Namespace), append(slices.Clone(b.targets), b.Namespace))
}

func meet(a, b []string) bool {
	return slices.Contains(a, allNamespaces) || slices.Contains(b, allNamespaces) || common(a, b) != ""
}

func common(a, b []string) string {
	return lists.Find(a, func(x string) bool { return slices.Contains(b, x) })
}

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
			return nil, &OperatorError{i, m.Name, refuseOption(option.ClusterObjectsFrom,
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
	return lists.SortedUnique(groups)
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
				Error: &manifest.Error{Msg: problem, Options: []manifest.Option{option.ClusterObjectsFrom}}})
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
		k := slices.IndexFunc(results[j].Objects, func(x Object) bool { return x.key() == o.key() })
		if k >= 0 {
			return j, &results[j].Objects[k]
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
	return "", refuseOption(option.ClusterObjectsFrom, "render them to different clusters",
		"%s %s differs from that of %s, which is rendered", o.Kind, o.Name, other.Name)
}

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
			return refuseOption(option.ClusterObjectsFrom, "let the group with the newer version bring it",
				"the operator owns version %s of %s, and the CRD that %s brings does not serve it",
				d.Version, crd, other.Name)
		}
	}
	return nil
}
