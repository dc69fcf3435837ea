package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/netpol"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// Options say what else is looked at. The zero value compares the two states.
type Options struct {
	// CRDs has the severities of findings about CRDs, and objects that exist and are checked against the newer CRDs.
	CRDs crds.Options
	// PathKnown says that a catalog leads from the older release to the newer one: what that replaces is no finding.
	PathKnown bool
	// Others are the operators that are in the cluster, too, and that neither state has.
	Others []Operator
	// Cluster is what else is in the cluster: CRDs with their status, and the custom resources that OLM checks.
	Cluster []*manifest.Object
	// API reports what the API server refuses; nil if nobody asks.
	API writes.Checker
	// Unfit returns what keeps an operator from working in the cluster. What it says of the operators of NEW, and not
	// of OLD, is a consequence. It may be nil.
	Unfit func(*Operator) []findings.Finding
	// Moves returns what the installer does with an operator that takes the place of another one. It may be nil.
	Moves func(old, now *Operator) []findings.Finding
	// Accounts are the accounts that are compared as one, by [NAMESPACE/]NAME: that of the older state first.
	Accounts [][2]string
	// Unread are files that could not be read, beside those of the two states.
	Unread []string
	// Said is what OLM's resolver says of the newer state, and not of the older one.
	Said []findings.Finding
	// Standing is what it says of both.
	Standing []findings.Finding
	// Phases reports that Said has what becomes of the ClusterServiceVersions of the newer state.
	Phases bool
	// Approval says that somebody approves the InstallPlan.
	Approval bool
	// Unresolved are the objects that hand an operator over to OLM, and whose operator is not known.
	Unresolved []Unresolved
	// Unbuilt are the kustomizations of the two states that could not be built, and why; Before those that are the same
	// in both, with files that cannot be read in either.
	Unbuilt, Before []string
	// Charts are those that changed, and that nothing applies.
	Charts []string
	// Ignored are the files that the newer state has, and leaves out as the older one does not.
	Ignored []string
	// Chosen says that nobody gave the install mode of a bundle: a report says which one was judged.
	Chosen bool
	// Undecided is how many kustomizations could be built for one of the states only.
	Undecided int
}

// Compare returns how two states differ. The error is about an object that cannot be read, about an account that is
// not there, or that of the Checker of the CRDs, which gets ctx.
func Compare(ctx context.Context, old, now State, o Options) (*Report, error) {
	r := &Report{APIVersion: apiVersion, Kind: kind, Old: sideOf(old), New: sideOf(now)}
	old, now = old.withCRDs(), now.withCRDs()
	made, err := old.withDeployments()
	if err != nil {
		return nil, err
	}
	makes, err := now.withDeployments()
	if err != nil {
		return nil, err
	}
	pairs := pairsOf(old, now)
	objects := workload.Joined(workload.Pairs(made, makes), moved(pairs, made))
	same, err := given(old, now, o.Accounts)
	if err != nil {
		return nil, err
	}
	r.Renamed = renames(old, now, objects, same)
	before := *old.Permissions
	before.Permissions = renamed(before.Permissions, r.Renamed, pairs)
	d := permissions.Compare(&before, now.Permissions, ownerOf(pairs))
	r.Permissions = slices.Concat(d.Permissions, permissions.CompareRoles(old.Roles, now.Roles,
		before.Permissions, now.Permissions.Permissions))
	r.Users = d.Users
	r.facts = d.Facts
	r.several = len(lists.Set(slices.Concat(before.Permissions, now.Permissions.Permissions),
		func(i permissions.Item) permissions.Subject { return i.Subject })) > 1
	if r.Workloads, err = r.workloads(old, now, objects); err != nil {
		return nil, err
	}
	if r.CRDs, err = crds.Compare(ctx, old.Objects, now.Objects, o.CRDs); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.CRDs, func(a, b CRD) int { return a.Severity.Rank() - b.Severity.Rank() })
	if r.Identity, err = r.identity(pairs, old, now); err != nil {
		return nil, err
	}
	r.withoutCopies()
	if r.OLM, err = consequences(ctx, pairs, old, now, o); err != nil {
		return nil, err
	}
	r.Unresolved, r.Unbuilt = append([]Unresolved{}, o.Unresolved...), o.Unbuilt
	r.Before, r.Charts, r.Ignored = o.Before, o.Charts, o.Ignored
	r.OLM = slices.Concat(unresolved(r.Unresolved), resolverConsequences(o.Said), r.OLM)
	slices.SortStableFunc(r.OLM, func(a, b Consequence) int { return a.Severity.Rank() - b.Severity.Rank() })
	r.Notes = append([]string{}, lists.Unique(slices.Concat(old.Permissions.Notes, now.Permissions.Notes,
		standing(o.Standing)))...)
	r.Unread = append([]string{}, slices.Concat(old.Permissions.Unread, now.Permissions.Unread, o.Unread)...)
	r.Workloads, r.Identity = append([]change.Change{}, r.Workloads...), append([]change.Change{}, r.Identity...)
	r.Permissions, r.Users = append([]permissions.Item{}, r.Permissions...), append([]permissions.Item{}, r.Users...)
	r.CRDs, r.OLM = append([]CRD{}, r.CRDs...), append([]Consequence{}, r.OLM...)
	r.checked = len(o.CRDs.Objects) > 0
	r.approval, r.chosen, r.undecided = o.Approval, o.Chosen, o.Undecided
	r.installers = installers(now.Objects)
	r.Summary, r.Verdict = r.answers(), r.verdict(pairs)
	r.Operators = r.operators(pairs, now)
	return r, nil
}

// standing returns a note about the errors of both states, of which nothing else is said.
func standing(list []findings.Finding) []string {
	errors := lists.Filter(list, func(f findings.Finding) bool { return f.Level == findings.Error })
	if len(errors) == 0 {
		return nil
	}
	more := ""
	if n := len(errors) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	first := text.Shorten(errors[0].Object+": "+errors[0].Message, 150)
	return []string{"before and after, there is an error: " + first + more}
}

// Differ reports whether two states of an object differ in more than what no report names. The error is about an object
// that cannot be read.
func Differ(old, now *manifest.Object) (bool, error) {
	var sides [2]fields.Values
	for i, o := range []*manifest.Object{old, now} {
		value, err := o.Value()
		if err != nil {
			return false, err
		}
		sides[i] = fields.WithoutNoise(o, value)
	}
	return len(fields.Differences(sides[0], sides[1])) > 0, nil
}

// workloads compares all objects that no other section is about.
func (r *Report) workloads(old, now State, objects []workload.Pair) ([]change.Change, error) {
	locate := place(old, now)
	accounts := map[string]string{}
	for _, n := range r.Renamed {
		accounts[n.Old.String()] = n.New.String()
	}
	removed := removedResources(objects, now.Operators)
	list, err := workload.Compare(workload.Joined(objects, accounts), now.Objects, locate)
	if err != nil {
		return nil, err
	}
	users := map[string]string{} // what has the pods of an account
	for _, o := range now.Objects {
		if images.HasPods(o.Group(), o.Kind) {
			users[PodUser(o).String()] = o.Identity()
		}
	}
	for i, c := range list {
		if removed[c.Object] && c.Change == change.Removed && c.Field == "" {
			list[i].Severity = findings.Warning
			list[i].Message = "where it is pruned, its operator deletes what it made for it"
		}
		if by := users[c.Object]; by != "" && c.Change == change.Removed && c.Field == "" {
			list[i].Severity = findings.Error
			list[i].Message = "pods of " + by + " run as it: where it is pruned, none of them starts any more"
		}
		if c.Part == change.Account && slices.ContainsFunc(r.Renamed, func(n Rename) bool {
			return n.Why == asSaid && n.Old.Name == c.Old && n.New.Name == c.New
		}) {
			list[i].Severity, list[i].Message = findings.Info, ""
		}
	}
	more, err := r.compareRBAC(old, now, locate)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	list = append(list, cutOff(old, now, locate)...)
	for _, o := range now.Left {
		c := change.Change{Object: o.Identity(), Part: change.Object, Change: change.Removed, Severity: findings.Info,
			Message: leaves}
		if boundBy(now.Objects, now.Left, o) {
			c.Severity, c.Message = findings.Warning, leavesBound
		}
		c.File, c.Line = locate(o, "")
		list = append(list, c)
	}
	change.Sort(list)
	return list, nil
}

// cutOff returns what the NetworkPolicies of the newer state cut off of its operators, and those of the older did not.
func cutOff(old, now State, locate func(*manifest.Object, string) (string, int)) (out []change.Change) {
	gaps := func(s State) (list []netpol.Gap) {
		namespaces := netpol.Namespaces(s.Objects, false)
		for _, o := range s.Operators {
			list = append(list, namespaces[o.Namespace].Gaps(o.ClusterServiceVersion)...)
		}
		return list
	}
	key := func(g netpol.Gap) string { return workload.Versionless(g.What) }
	was := lists.By(gaps(old), key)
	for _, g := range gaps(now) {
		if before, ok := was[key(g)]; !ok || before.Severity.Rank() > g.Severity.Rank() {
			c := change.Change{Object: g.Policy.Identity(), Part: change.NetworkPolicy, Field: g.Field,
				Change: change.Changed, Old: "sufficient", New: "insufficient", Severity: g.Severity,
				Message: g.Message}
			c.File, c.Line = locate(g.Policy, g.Field)
			out = append(out, c)
		}
	}
	return out
}

// leaves is why an object that is gone is in the cluster still.
const leaves = "OLM leaves it in the cluster"

// leavesBound is the same of a role that the release still binds.
const leavesBound = leaves + "; where the release is new, a binding of it grants nothing"

// boundBy reports whether one of the objects, but not of those that are left, binds a role.
func boundBy(objects, left []*manifest.Object, role *manifest.Object) bool {
	return role.Group() == rbacv1.GroupName && slices.ContainsFunc(objects, func(o *manifest.Object) bool {
		return o.Group() == rbacv1.GroupName && olm.Get(o, "roleRef", "kind") == role.Kind &&
			olm.Get(o, "roleRef", "name") == role.Name &&
			(role.Namespace == "" || o.Namespace == role.Namespace) && !slices.Contains(left, o)
	})
}

func sideOf(s State) Side {
	out := Side{Name: s.Name}
	out.Operators = append([]string{}, lists.Map(s.Operators, func(o Operator) string { return o.Name })...)
	if judged := s.Permissions.Operator; len(s.Operators) == 1 {
		o := s.Operators[0]
		out.InstallMode = cmp.Or(judged.InstallMode, string(o.InstallMode))
		out.Namespace = cmp.Or(judged.Namespace, o.Namespace)
	}
	return out
}

// place returns what finds the place of a field of an object of either state.
func place(old, now State) func(o *manifest.Object, field string) (string, int) {
	older := lists.Set(old.Objects, func(o *manifest.Object) *manifest.Object { return o })
	before, after := old.origins(), now.origins()
	return func(o *manifest.Object, field string) (string, int) {
		s, origins := now, after
		if older[o] {
			s, origins = old, before
		}
		switch {
		case s.Locate != nil:
			return s.Locate(o, field)
		case o.File != "":
			return o.PlaceOf(field)
		}
		return permissions.Place(origins(o), o, field)
	}
}

// origins returns the CSVs that an object can be made of.
func (s State) origins() func(o *manifest.Object) []permissions.CSV {
	var all []permissions.CSV
	deploying := map[[2]string][]permissions.CSV{}
	for _, o := range s.Operators {
		all = append(all, o.CSV)
		for _, d := range o.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			key := [2]string{o.Namespace, d.Name}
			deploying[key] = append(deploying[key], o.CSV)
		}
	}
	return func(o *manifest.Object) []permissions.CSV {
		if o.Kind == "Deployment" {
			return deploying[[2]string{o.Namespace, o.Name}]
		}
		return all
	}
}
