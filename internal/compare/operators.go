package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// OperatorAnswer sums up what differs about one of several operators.
type OperatorAnswer struct {
	Operator string            `json:"operator"`      // without its version; empty for what belongs to none
	Old      string            `json:"old,omitempty"` // its version; empty if it is new
	New      string            `json:"new,omitempty"` // its version; empty if no OLM has it
	Severity findings.Severity `json:"severity"`      // the worst
	Verdict  string            `json:"verdict"`       // what a person decides

	stays bool // its Deployments do, without OLM
}

// deal has the part of each operator of the differences. The last one is of what belongs to none of them.
type deal struct {
	parts []Report
	owner map[string]int // by ClusterServiceVersion, CRD, group, and object of the bundle
	alone map[string]int // by namespace: the operator that it has, or none for several
}

// newDeal knows what belongs to operators, in both releases. Of two the first one has it.
func newDeal(pairs []pair) *deal {
	d := &deal{parts: make([]Report, len(pairs)+1), owner: map[string]int{}, alone: map[string]int{}}
	for i, p := range pairs {
		for _, o := range []*Operator{p.old, p.now} {
			if o == nil {
				continue
			}
			if of, ok := d.alone[o.Namespace]; ok && of != i {
				d.alone[o.Namespace] = len(pairs)
			} else {
				d.alone[o.Namespace] = i
			}
			for _, key := range o.belongings() {
				if of, ok := d.owner[key]; !ok {
					d.owner[key] = i
				} else if of != i && strings.HasPrefix(key, kindKey("")) {
					d.owner[key] = len(pairs) // of two groups: the name of an object does not have its group
				}
			}
		}
	}
	return d
}

// belongings returns the keys of what belongs to an operator: names, with a namespace where there is one, and groups.
func (o *Operator) belongings() []string {
	// a Subscription is called like its package
	out := []string{o.Name, o.Namespace + "/" + o.Name, o.Namespace + "/" + cmp.Or(o.Package, o.Name)}
	for _, c := range o.Spec.CustomResourceDefinitions.Owned {
		_, group, _ := strings.Cut(c.Name, ".")
		out = append(out, c.Name, groupKey(group), kindKey(c.Kind))
	}
	strategy := o.Spec.InstallStrategy.StrategySpec
	for _, d := range strategy.DeploymentSpecs {
		account := cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
		out = append(out, o.Namespace+"/"+d.Name, o.Namespace+"/"+account)
	}
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		out = append(out, o.Namespace+"/"+p.ServiceAccountName)
	}
	for _, w := range o.Spec.WebhookDefinitions {
		out = append(out, w.GenerateName, o.Namespace+"."+w.GenerateName) // OLM v1 has no namespace in it
	}
	for _, s := range o.Shipped {
		out = append(out, s.Name, cmp.Or(s.Namespace, o.Namespace)+"/"+s.Name)
	}
	return out
}

// moved returns what belongs to operators that move to another namespace: the identities there, by the older ones.
func moved(pairs []pair, objects []*manifest.Object) map[string]string {
	out := map[string]string{}
	for _, p := range pairs {
		if p.old == nil || p.now == nil || p.old.Namespace == p.now.Namespace || p.old.stem() != p.now.stem() {
			continue
		}
		own := lists.Set(p.old.belongings(), func(key string) string { return key })
		for _, o := range objects {
			if o.Namespace == p.old.Namespace && own[o.Namespace+"/"+o.Name] && !own[kindKey(o.Kind)] {
				out[o.Identity()] = o.Kind + " " + p.now.Namespace + "/" + o.Name
			}
		}
	}
	return out
}

// ownerOf returns what finds the operator of an account that it names, as a subject. Others are on their own.
func ownerOf(pairs []pair) func(permissions.Subject) permissions.Subject {
	d := newDeal(pairs)
	return func(s permissions.Subject) permissions.Subject {
		if i, ok := d.owner[s.Namespace+"/"+s.Name]; ok && s.Kind == accountKind {
			return permissions.Subject{Kind: "operator", Name: strconv.Itoa(i)}
		}
		return s
	}
}

// removedResources returns the custom resources that are gone and whose operators are not.
func removedResources(objects []workload.Pair, operators []Operator) map[string]bool {
	owned := map[string]bool{}
	for _, o := range operators {
		for _, c := range o.Spec.CustomResourceDefinitions.Owned {
			_, group, _ := strings.Cut(c.Name, ".")
			owned[group+"/"+c.Kind] = true
		}
	}
	return lists.Set(lists.Filter(objects, func(p workload.Pair) bool {
		return p.New == nil && owned[p.Old.Group()+"/"+p.Old.Kind]
	}), func(p workload.Pair) string { return p.Old.Identity() })
}

// runsIn reports whether all Deployments of an operator are among those of a state.
func (o *Operator) runsIn(applied map[string]bool) bool {
	specs := o.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	return len(specs) > 0 && !slices.ContainsFunc(specs, func(d v1alpha1.StrategyDeploymentSpec) bool {
		return !applied[o.Namespace+"/"+d.Name]
	})
}

func groupKey(group string) string { return "group " + group }
func kindKey(kind string) string   { return "kind " + kind }

// part returns the part of the operator that one of the keys belongs to, or that has a namespace alone.
func (d *deal) part(namespace string, keys ...string) *Report {
	for _, key := range keys {
		if i, ok := d.owner[key]; ok {
			return &d.parts[i]
		}
	}
	if i, ok := d.alone[namespace]; ok {
		return &d.parts[i]
	}
	return &d.parts[len(d.parts)-1]
}

// item returns the part of an account, or of the API that users gain.
func (d *deal) item(i permissions.Item) *Report {
	if i.Subject.Namespace != "" {
		return d.part(i.Subject.Namespace, i.Subject.Namespace+"/"+i.Subject.Name)
	}
	return d.part("", slices.Concat(i.ResourceNames, lists.Map(i.APIGroups, groupKey))...)
}

// object returns the part of an object, whose kind is before its name, or of a ClusterServiceVersion without one.
func (d *deal) object(identity string) *Report {
	kind, name, named := strings.Cut(identity, " ")
	namespace, _, inside := strings.Cut(name, "/")
	switch {
	case !named:
		return d.part("", identity)
	case kind == "Namespace":
		return d.part(name)
	case !inside:
		namespace = ""
	}
	return d.part(namespace, name, kindKey(kind))
}

// dealOut appends each difference to the list that it belongs to.
func dealOut[T any](list []T, to func(T) *[]T) {
	for _, x := range list {
		into := to(x)
		*into = append(*into, x)
	}
}

// operators sums up each of several operators.
func (r *Report) operators(pairs []pair, now State) (out []OperatorAnswer) {
	if len(pairs) < 2 {
		return nil
	}
	d := newDeal(pairs)
	dealOut(r.Permissions, func(i permissions.Item) *[]permissions.Item { return &d.item(i).Permissions })
	dealOut(r.Users, func(i permissions.Item) *[]permissions.Item { return &d.item(i).Users })
	for _, f := range r.facts {
		of := lists.Map(f.Subjects, func(s permissions.Subject) *Report {
			return d.part(s.Namespace, s.Namespace+"/"+s.Name)
		})
		for _, part := range lists.Unique(of) {
			part.facts = append(part.facts, f)
		}
	}
	dealOut(r.CRDs, func(c CRD) *[]CRD { return &d.part("", c.CRD).CRDs })
	dealOut(r.Workloads, func(c change.Change) *[]change.Change { return &d.object(c.Object).Workloads })
	dealOut(r.Identity, func(c change.Change) *[]change.Change { return &d.object(c.Object).Identity })
	dealOut(r.OLM, func(c Consequence) *[]Consequence { return &d.object(c.Operator).OLM })
	applied := deployments(now.Objects)
	for i := range d.parts {
		part := &d.parts[i]
		if part.Empty() {
			continue
		}
		part.checked, part.approval, part.installers = r.checked, r.approval, r.installers
		own := pairs[i:min(i+1, len(pairs))]
		a := OperatorAnswer{Severity: part.worst(), Verdict: part.verdict(own)}
		for _, p := range own {
			if p.old != nil {
				a.Operator, a.Old = p.old.stem(), p.old.version()
			}
			if p.now != nil {
				a.Operator, a.New = p.now.stem(), p.now.version()
			} else {
				a.stays = p.old.runsIn(applied)
			}
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b OperatorAnswer) int { return a.Severity.Rank() - b.Severity.Rank() })
	return out
}

// operatorsTable has a line for each operator that differs, or for those of which it says the same.
func operatorsTable(list []OperatorAnswer, folded bool) document.Table {
	t := document.Table{Columns: []document.Column{{Title: "Operator", Align: true}, {Title: "Severity", Width: 7},
		{Title: "Release", Align: true}, {Title: "Verdict"}}}
	groups := slices.Collect(slices.Chunk(list, 1))
	if folded {
		groups = lists.Groups(list, func(a OperatorAnswer) [2]string {
			return [2]string{string(a.Severity), a.Verdict}
		})
	}
	for _, alike := range groups {
		a, release := alike[0], alike[0].release()
		names := lists.Map(alike, func(a OperatorAnswer) string { return cmp.Or(a.Operator, "no operator") })
		if len(alike) > 1 {
			release = text.Count(len(named(alike)), "operator")
		}
		t.Rows = append(t.Rows, []document.Cell{{Text: text.FirstOf(2, names)}, document.SeverityCell(a.Severity),
			{Text: text.Brief(release)}, {Text: a.Verdict}})
	}
	return t
}

// named returns the answers without that of what belongs to no operator.
func named(list []OperatorAnswer) []OperatorAnswer {
	return lists.Filter(list, func(a OperatorAnswer) bool { return a.Operator != "" })
}

// release returns from which release to which an operator goes.
func (a *OperatorAnswer) release() string {
	switch {
	case a.Operator == "":
		return ""
	case a.stays:
		return a.Old + ", without OLM"
	case a.New == "":
		return "gone: " + a.Old
	case a.Old == a.New:
		return a.New
	case a.Old != "":
		return a.Old + arrowText + a.New
	}
	return "new: " + a.New
}

// table has a line for each group of clusters in which the same differs.
func (r *Reports) table() document.Table {
	t := document.Table{Columns: []document.Column{{Title: "Cluster", Align: true}, {Title: "Severity", Width: 7},
		{Title: "Release"}, {Title: "Verdict", Before: ": "}}}
	for _, c := range r.Clusters {
		release := titleOf(c.Report.Old, c.Report.New)
		if old, now, ok := strings.Cut(release, arrowText); ok { // the name stands once
			if stem, version, ok := strings.Cut(now, ".v"); ok && strings.HasPrefix(old, stem+".v") {
				release = old + arrowText + "v" + version
			}
		}
		switch changed := named(c.Report.Operators); {
		case max(len(c.Report.Old.Operators), len(c.Report.New.Operators)) == 1:
		case len(changed) == 1:
			release = changed[0].Operator + " " + changed[0].release()
		case len(changed) > 1:
			release = text.Count(len(changed), "operator")
		case len(c.Report.Unresolved) > 0:
			release = "not known"
		default:
			release = "no operator"
		}
		names := text.FirstOf(mostNamed, c.Names)
		if n := len(c.Names); n > 1 {
			names = fmt.Sprintf("%s (%s)", names, text.Count(n, "cluster"))
		}
		t.Rows = append(t.Rows, []document.Cell{{Text: names}, document.SeverityCell(c.Report.worst()), {Text: release},
			{Text: c.Report.Verdict}})
	}
	slices.SortStableFunc(t.Rows, func(a, b []document.Cell) int { return a[1].Order - b[1].Order })
	return t
}
