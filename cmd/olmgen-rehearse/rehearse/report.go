package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Simulated is what differs from a cluster in each rehearsal.
var Simulated = []string{
	"no pods run: a Deployment counts as available at once, and no operator acts on its custom resources",
	"no webhook, conversion or extension API server of an operator runs: what answers in their place lets every " +
		"object pass, changes only the version, and lists only the kinds",
	"no probes, quotas of nodes, network and storage; of Kubernetes' controllers only those of namespaces, " +
		"ServiceAccounts, aggregated ClusterRoles and the garbage collector",
	"OLM runs as administrator, and gives up an InstallPlan after 15 seconds in place of a minute",
	"catalogs send the objects of bundles themselves, and those of OLM v1 are served beside the cluster: no other " +
		"image is pulled",
}

// Report is what became of a cluster.
type Report struct {
	Programs   map[string]string `json:"programs"` // their versions
	Played     []Played          `json:"played"`   // in their order
	Created    []string          `json:"created"`  // by the last state
	Changed    []string          `json:"changed"`
	Deleted    []string          `json:"deleted"`
	Difference any               `json:"difference,omitempty"` // as olmgen diff has it
	Prediction []Deviation       `json:"prediction"`           // null if nobody compared
	Findings   findings.Summary  `json:"summary"`
	Simulated  []string          `json:"simulated"`

	compared bool
	before   []*manifest.Object // what was there before the last state
	list     []findings.Finding
}

// Played is one state, played.
type Played struct {
	Name string `json:"name"`
	*Course
}

// Options configure Run.
type Options struct {
	Bin, Dir string        // with the programs; for files
	Names    []string      // of the states
	Patience time.Duration // for each state to come to rest
	Compare  bool          // with what is predicted
	Programs map[string]string
	Progress func(string)
}

// Run plays states in one cluster, one after another. There is one, or the state before a change and that after it.
func Run(ctx context.Context, o Options, states ...*State) (*Report, error) {
	o.Progress("starting a cluster")
	p, err := Start(ctx, o.Bin, o.Dir, states[0])
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	r := &Report{Programs: o.Programs, Simulated: Simulated, compared: o.Compare}
	if o.Compare {
		r.Prediction = []Deviation{}
	}
	before, was := p.first, map[string]bool{}
	var predicted *predict.Report
	for i, s := range states {
		if i > 0 {
			if before, err = p.objects(ctx); err != nil {
				return nil, err
			}
			was = lists.Set(r.list, findings.Finding.Description)
		}
		o.Progress("applying " + o.Names[i])
		if err := p.Apply(ctx, s); err != nil {
			return nil, err
		}
		patient, cancel := context.WithTimeout(ctx, o.Patience)
		c, err := p.Settle(patient)
		cancel()
		if err != nil {
			return nil, err
		}
		r.Played = append(r.Played, Played{o.Names[i], c})
		r.list = p.findings(c, s)
		if o.Compare {
			if predicted, err = s.Check(ctx, predicted, states[max(0, i-1)]); err != nil {
				return nil, err
			}
			r.Prediction = append(r.Prediction, deviations(o.Names[i], *c, predicted, s.left)...)
		}
	}
	for i, f := range r.list {
		if was[f.Description()] {
			r.list[i].Level, r.list[i].Message = findings.Note, f.Message+" (as before)"
		}
	}
	for _, d := range r.Prediction {
		r.list = append(r.list, d.finding())
	}
	r.Findings = findings.Summarize(r.list)
	r.before = before
	after, err := p.objects(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.objects(before, after); err != nil {
		return nil, err
	}
	r.Difference, err = difference(ctx, before, after)
	return r, err
}

// objects notes which objects differ, without what only the API server, OLM and status have.
func (r *Report) objects(before, after []*manifest.Object) error {
	key := func(o *manifest.Object) string { return world.Key(o, "") }
	old, now := lists.By(before, key), lists.By(after, key)
	for _, k := range slices.Sorted(maps.Keys(now)) {
		if old[k] == nil {
			r.Created = append(r.Created, now[k].Identity())
			continue
		}
		differ, err := compare.Differ(old[k], now[k])
		if err != nil {
			return err
		}
		if differ {
			r.Changed = append(r.Changed, now[k].Identity())
		}
	}
	for _, k := range slices.Sorted(maps.Keys(old)) {
		if now[k] == nil {
			r.Deleted = append(r.Deleted, old[k].Identity())
		}
	}
	return nil
}

// difference compares two states of a cluster as olmgen diff does.
func difference(ctx context.Context, before, after []*manifest.Object) (*compare.Report, error) {
	var sides [2]*review.Subject
	names := [2]string{"before", "after"}
	for i, objects := range [][]*manifest.Object{before, after} {
		var err error
		if sides[i], err = review.FromObjects(objects, permissions.Operator{Name: names[i]}, ""); err != nil {
			return nil, err
		}
	}
	return review.Compare(ctx, sides[0], sides[1], names, compare.Options{})
}

// findings returns what a person must look at.
func (p *Player) findings(c *Course, s *State) (list []findings.Finding) {
	add := func(level findings.Severity, rule, object, format string, args ...any) {
		list = append(list, findings.Finding{Level: level, Rule: rule, Object: object,
			Message: text.OneLine(fmt.Sprintf(format, args...))})
	}
	for _, u := range s.unknown {
		add(findings.Note, "unknown", "", "%s", u)
	}
	for _, u := range s.left {
		level := findings.Note
		if u.Object.Kind == olm.KindClusterExtension {
			level = findings.Warning
		}
		add(level, notPlayed, u.Object.Identity(), "it is not played: %s", u.Why)
	}
	for _, x := range p.notPut {
		add(findings.Note, "not-put", objectOf(x.Object).Identity(), "%v", x.Err)
	}
	for _, o := range p.waiting {
		level := findings.Error
		if meta.IsNoMatchError(p.why[o]) && !p.whole {
			level = findings.Note // the cluster may have its CustomResourceDefinition
		}
		add(level, "not-applied", objectOf(o).Identity(), "%v", p.why[o])
	}
	for _, x := range c.Final {
		switch failed := x.Condition(v1alpha1.SubscriptionResolutionFailed); {
		case failed != nil:
			level := findings.Error
			if x.InstalledCSV != "" && x.Phase == v1alpha1.SubscriptionStateAtLatest {
				// an update leaves it for a while
				level = findings.Warning
			}
			add(level, failed.Type, x.Key(), "%s: %s", failed.Reason, failed.Message)
		case x.Condition(v1alpha1.SubscriptionBundleUnpacking) != nil:
			add(findings.Warning, "unknown", x.Key(), "OLM unpacks a bundle from its image, which is not played")
		case x.Kind == v1alpha1.InstallPlanKind && x.Phase == string(v1alpha1.InstallPlanPhaseRequiresApproval):
			add(findings.Note, x.Phase, x.Key(), "it waits for somebody to approve it")
		case !x.rests(), x.Phase == blocked, x.Phase == string(v1alpha1.InstallPlanPhaseFailed):
			add(findings.Error, cmp.Or(x.Reason, x.Phase, "no-status"), x.Key(), "%s: %s", cmp.Or(x.Phase, "no status"),
				cmp.Or(x.Message, "OLM gives no reason"))
		}
	}
	if c.TimeIsUp {
		add(findings.Error, "time-is-up", "", "OLM had no time to come to rest: %s", text.FirstOf(8, c.Restless))
	}
	return list
}

// notPlayed is the rule of what is left out.
const notPlayed = "not-played"

// Meets reports whether a person must look at the report: also at what is not played, unless that is allowed.
func (r *Report) Meets(allowUnknown bool) bool {
	return findings.Reaches(r.list, findings.Error) || len(r.Prediction) > 0 || !allowUnknown &&
		slices.ContainsFunc(r.list, func(f findings.Finding) bool {
			return f.Rule == notPlayed && f.Level != findings.Note
		})
}

// Document returns the course, the end and the objects.
func (r *Report) Document() *document.Document {
	d := &document.Document{Kind: "Rehearsal", Title: "Rehearsal", Fold: true}
	d.Lead = fmt.Sprintf("%s, %s, %s", text.Count(r.Findings.Errors, "error"),
		text.Count(r.Findings.Warnings, "warning"), text.Count(r.Findings.Notes, "note"))
	add := func(title string, rows [][]document.Cell, columns ...document.Column) {
		d.Sections = append(d.Sections, document.Section{Title: title,
			Tables: []document.Table{{Columns: columns, Rows: rows}}})
	}
	says := document.Column{Title: "OLM says"}
	for _, p := range r.Played {
		add("Course of "+p.Name, lists.Map(p.Course.Course, func(m Moment) []document.Cell {
			return document.Cells(fmt.Sprintf("%5.1f", m.Seconds), m.Line)
		}), document.Column{Title: "Seconds", Number: true}, says)
		add(fmt.Sprintf("End of %s, after %.0f seconds", p.Name, p.Seconds), lists.Map(p.Final,
			func(s Status) []document.Cell { return document.Cells(s.String()) }), says)
	}
	var objects [][]document.Cell
	for i, list := range [][]string{r.Created, r.Changed, r.Deleted} {
		for _, o := range list {
			objects = append(objects, document.Cells([]string{"+", "~", "-"}[i], o))
		}
	}
	add("Objects", objects, document.Columns("", "Object")...)
	if r.compared {
		says := "the same"
		if len(r.Prediction) > 0 {
			says = "something else: see the findings"
		}
		add("Prediction", [][]document.Cell{document.Cells("olmgen check predicts " + says)}, document.Column{})
	}
	add("What a person must look at", lists.Map(r.list, func(f findings.Finding) []document.Cell {
		return document.Cells(string(f.Level), f.Rule, f.Description())
	}), document.Columns("Level", "Rule", "Finding")...)
	add("What is simulated", lists.Map(append(slices.Clone(r.Simulated), text.And(r.versions())),
		func(s string) []document.Cell { return document.Cells(s) }), document.Column{})
	return d
}

// versions returns the programs with their versions.
func (r *Report) versions() []string {
	names := slices.Sorted(maps.Keys(r.Programs))
	return lists.Map(names, func(name string) string { return name + " " + r.Programs[name] })
}

// Following returns what olmgen diff says.
func (r *Report) Following(findings.Format) []any { return []any{r.Difference} }
