package adopt

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// Plan is the way to another form, step by step.
type Plan struct {
	To    generate.Profile
	About string // what leaves, and what the plan is of
	Lists []List // that the commands read
	Steps []Step
	Back  []string // the commands of the way back from any moment after the point; none if there is no point
	Notes []string // about GitOps engines
	File  string   // its own name, from the directory in which its commands run

	// Warnings are about updates that wait, and deletes that will.
	Warnings []string
	Refused  []string // objects that the API server refuses to apply
	Lost     []string // rights that somebody loses, a line for each subject and place

	// Known are the restarts, lost rights and misfits that the report of the comparison names. The check of the step
	// about reviewing has them as its baseline, so that it fails for everything else.
	Known []findings.Finding
}

// Restarts returns the Deployments whose pods the plan restarts or starts.
func (p *Plan) Restarts() []string { return p.known(restartRule) }

// Misfits returns the CRDs that existing custom resources do not fit, as the plan applies them.
func (p *Plan) Misfits() []string { return p.known(misfitRule) }

// Losses returns how many findings of the comparison are about lost rights; "" if there is none.
func (p *Plan) Losses() string {
	n := lists.Count(p.Known, func(f findings.Finding) bool { return f.Rule == rightRule })
	if n == 0 {
		return ""
	}
	return text.Count(n, "finding") + " about lost rights"
}

func (p *Plan) known(rule string) []string {
	return valuesOf(p.Known, rule, func(f findings.Finding) string { return f.Object })
}

// List is a variable of the shell: a row of words for each object.
type List struct {
	Name, Columns string
	Rows          []string
}

// Step is one step. A person can undo every step before the one that is the point.
type Step struct {
	Title        string
	Text         []string // paragraphs
	Guard        []string // commands that fail if the cluster is not as the step needs it
	Run          []string // commands, each of which can run twice
	Undo         []string // commands
	Irreversible bool     // from here on there is no undo, but the way back
}

type planner struct {
	Options
	state     *State
	result    *Verification // the cluster and what the new file renders to
	rendered  []map[string]any
	departure *departure
	plan      *Plan
}

// NewPlan returns the steps to the form that is rendered. asOLM is what profile olm renders of the operators that leave
// OLM: it explains what OLM made. It is an error if OLM has not settled, if the dump lacks a kind that the plan is
// about, and if OLM would install one that leaves again.
func NewPlan(ctx context.Context, s *State, rendered, asOLM []map[string]any, o Options) (*Plan, error) {
	if o.To == "" {
		o.To = generate.ProfileOLM
	}
	v, err := s.VerifyLeaving(rendered, s.Leaving(o.To), asOLM)
	if err != nil {
		return nil, err
	}
	p := &planner{Options: o, state: s, result: v, departure: v.departure}
	if err := v.CheckCustomResources(ctx); err != nil {
		return nil, err
	}
	err = errors.Join(s.checkComplete(o.To), s.checkSettled(), p.departure.checkReturns())
	if err != nil {
		return nil, err
	}
	p.plan = &Plan{To: o.To, About: text.Count(len(s.All()), "operator"), Lost: v.Lost, Known: v.known(), File: o.Plan,
		Warnings: slices.Concat(s.approvals(p.departure.operators), p.departure.unknownNeeds(),
			s.held(p.departure.operators))}
	p.plan.Refused = v.named(func(c Compared) bool { return c.refused || len(c.Immutable) > 0 })
	p.rendered = rendered
	if at := s.newest(); at != "" {
		p.plan.About += ", as of " + at + ", the newest time in " + strings.Join(o.Dumps, " ")
	}
	p.lists()
	if err := p.steps(); err != nil {
		return nil, err
	}
	p.plan.About += ". " + p.down()
	for _, l := range p.plan.Lists {
		if err := l.check(); err != nil {
			return nil, err
		}
	}
	return p.plan, nil
}

// Leaving returns the operators that a plan to a profile takes away from OLM v0, but for those that OLM v1 takes over.
func (s *State) Leaving(to generate.Profile) []*Operator {
	if to == generate.ProfileOLM || to == generate.ProfileSubscription || to == "" {
		return nil
	}
	return lists.Filter(s.All(), func(o *Operator) bool {
		return to != generate.ProfileClusterExtension || !s.Migration(o).Possible()
	})
}

// PartDirectory has the operators that leave OLM, if OLM v1 takes others over.
const PartDirectory = "without-olm"

// word is what the API server takes as a name. A row of a list is words, and an option of kubectl is none.
var word = regexp.MustCompile(`^[A-Za-z0-9{][^\s'\\$` + "`" + `]*$`)

// check refuses a list with a name that the API server would not take: it would be read as something else.
func (l List) check() error {
	for _, row := range l.Rows {
		for w := range strings.SplitSeq(row, " ") {
			if !word.MatchString(w) && l.Name != "moved" && l.Name != "directories" {
				return manifest.WithHint(fmt.Errorf("%q in the dump is no name that an API server takes", w),
					"make the dump again with kubectl")
			}
		}
	}
	return nil
}

// each returns the loop that runs a command for each row of a list; "" for a list without rows.
func (p *planner) each(name, command string) string {
	l := p.list(name)
	if len(l.Rows) == 0 {
		return ""
	}
	return fmt.Sprintf(`echo "$%s" | while read -r %s; do %s; done`, name, l.Columns, command)
}

// list returns a list; it has no rows if it was left out.
func (p *planner) list(name string) List {
	return lists.Find(p.plan.Lists, func(l List) bool { return l.Name == name })
}

// lists fills the lists. Those without rows are left out.
func (p *planner) lists() {
	d := p.departure
	add := func(name, columns string, rows []string) {
		if len(rows) > 0 {
			p.plan.Lists = append(p.plan.Lists, List{name, columns, rows})
		}
	}
	var operators, subscriptions, selectors, deleted []string
	groups := map[*dump.Object]bool{}
	for _, o := range d.operators {
		selectors = append(selectors, ofOwner(o.CSV.Name, o.Group.Namespace, v1alpha1.ClusterServiceVersionKind),
			olm.LabelOwner+"="+o.CSV.Name+","+olm.LabelCopiedFrom+"="+o.Group.Namespace)
		row := o.CSV.Name + " " + o.Group.Namespace + " " + strings.TrimPrefix(olm.ComponentLabel(o.component()),
			olm.LabelComponent)
		operators = append(operators, row)
		if sub := o.Subscription; sub != nil {
			subscriptions = append(subscriptions, strings.Join([]string{sub.Name, sub.Namespace, o.CSV.Name,
				sub.Status.LastUpdated.UTC().Format(timeFormat)}, " "))
		}
	}
	for _, g := range p.state.Groups {
		if d.takesNamespace(g.Namespace) {
			groups[g.Object] = true
			selectors = append(selectors, ofOwner(g.Name, g.Namespace, operatorsv1.OperatorGroupKind))
		}
	}
	for _, o := range p.state.Dump.Objects {
		switch {
		case o.Kind == v1alpha1.SubscriptionKind && d.about(o),
			o.Kind == v1alpha1.InstallPlanKind && d.takesNamespace(o.Namespace),
			groups[o], d.deletes(o):
			deleted = append(deleted, row(o))
		}
	}
	// First InstallPlans, Subscriptions, which own them, and OperatorConditions.
	order := []string{"others", "operatorconditions", "subscriptions", "installplans"}
	rank := func(row string) int { return max(0, slices.Index(order, row[:strings.Index(row+".", ".")])) }
	slices.SortStableFunc(deleted, func(a, b string) int { return rank(b) - rank(a) })
	for _, o := range d.operators {
		deleted = append(deleted, "operators.operators.coreos.com "+o.component())
	}
	created := lists.Map(lists.Filter(p.result.Objects, func(c Compared) bool {
		made := !c.unknown || slices.Contains(certificateKinds, c.object.Kind)
		return c.Verdict == RenderedOnly && made && c.object.Kind != crdKind && c.object.Kind != "Namespace"
	}), func(c Compared) string { return row(c.object) })
	add("operators", "csv ns component", operators)
	add("subscriptions", "sub ns csv updated", subscriptions)
	add("selectors", "selector", selectors)
	add("deleted", "kind name ns", deleted)
	add("created", "kind name ns", created)
	add("directories", "dir", p.directories())
	certificates, injected := p.certificates()
	add("certificates", "name ns secret", certificates)
	add("injected", "kind name secret ns", injected)
	if len(d.operators) > 0 {
		add("labelled", "", []string{p.labelled()})
	}
	if p.To == generate.ProfileClusterExtension {
		add("moved", "sub ns flags", p.moved())
	}
}

const timeFormat = "2006-01-02T15:04:05Z"

const crdKind = "CustomResourceDefinition"

// row returns the words that name an object: its resource, its name and, if it has one, its namespace.
func row(o *dump.Object) string {
	return strings.TrimSpace(resourceOf(o.APIVersion, o.Kind) + " " + o.Name + " " + o.Namespace)
}

func resourceOf(apiVersion, kind string) string {
	group := manifest.GroupOf(apiVersion)
	if known, ok := olm.KindOf(group, kind); ok {
		return known.Resource()
	}
	return strings.TrimSuffix(strings.ToLower(kind)+"."+group, ".")
}

func (p *planner) harm() string {
	var out []string
	names := p.plan.Restarts()
	if len(names) > 0 {
		out = append(out, "the pods of "+text.FirstOf(mostNamed, names)+" restart")
	}
	if lost := p.plan.Losses(); lost != "" {
		out = append(out, "the comparison has "+lost)
	}
	if crds := p.plan.Misfits(); len(crds) > 0 {
		out = append(out, "custom resources do not fit "+text.FirstOf(mostNamed, crds))
	}
	if len(out) == 0 {
		return ""
	}
	return "If this plan is followed, " + text.And(out)
}

// directories are those of the rendered objects if there are several.
func (p *planner) directories() (list []string) {
	if len(p.Parts) == 0 {
		return nil
	}
	return append([]string{p.rendersTo()}, lists.Map(p.Parts, func(part string) string {
		return path.Join(p.rendersTo(), part)
	})...)
}

// rendersTo returns the directory that the file renders to, from the one in which the commands run.
func (o *Options) rendersTo() string { return path.Join(filepath.ToSlash(o.Dir), o.Directory) }

// eachDirectory returns a command for what is rendered. No kustomization.yaml lists the directory of a tenant.
func (p *planner) eachDirectory(command func(dir string) string) string {
	if len(p.Parts) == 0 {
		return command(text.Shell(p.rendersTo()))
	}
	return p.each("directories", command(`"$dir"`))
}

// kept returns the command that adds what applying a directory is about to replace to the backup: nothing can keep
// others from writing between the guard and the apply.
func kept(dir string) string {
	return "{ echo ---; kubectl get --ignore-not-found --show-managed-fields -o yaml -k " + dir +
		"; } >> before/replaced.yaml"
}

// applied returns the command that applies a directory, which is a word of the shell.
func applied(dir string) string {
	return "kubectl apply --server-side --force-conflicts --field-manager=olmgen -k " + dir
}

func tried(dir string) string { return applied(dir) + " --dry-run=server" }

// moved returns the rows of the operators that the migration of the OLM project takes.
func (p *planner) moved() (rows []string) {
	for _, o := range p.state.All() {
		if m := p.state.Migration(o); m.Possible() {
			rows = append(rows, strings.TrimSpace(o.Subscription.Name+" "+o.Group.Namespace+" "+
				strings.Join(m.Acknowledgements(), " ")))
		}
	}
	return rows
}

// forms are those in which a plan is printed.
//
//go:embed plan.tmpl
var forms string

// Markdown returns the plan for a person. script and back name the files with its commands and with the way back.
func (p *Plan) Markdown(script, back string) []byte { return p.print("plan.md", script, back) }

// Script returns the commands of the plan. plan is the name of the file that explains the steps.
func (p *Plan) Script(plan string) []byte { return p.print("plan.sh", plan, "") }

// WayBack returns the commands that lead back from any moment after the point of the plan; nothing if there is none.
func (p *Plan) WayBack(plan string) []byte {
	if len(p.Back) == 0 {
		return nil
	}
	return p.print("plan.back.sh", plan, "")
}

// print prints the plan in a form. other and back name the files beside it.
func (p *Plan) print(form, other, back string) []byte {
	var b bytes.Buffer
	commands := p.Back
	if form == "plan.sh" {
		commands = slices.Concat(lists.Map(p.Steps, func(s Step) []string {
			return slices.Concat(s.Guard, s.Run, s.Undo)
		})...)
	}
	read := strings.Join(commands, "\n")
	t := template.Must(template.New("").Delims("[[", "]]").Funcs(templates.Functions()).
		Funcs(template.FuncMap{"shell": text.Shell}).Parse(forms))
	_ = t.ExecuteTemplate(&b, form, struct { // no plan makes it fail
		*Plan
		Lists           []List // those that the commands of the form read
		Other, BackFile string
	}{p, lists.Filter(p.Lists, func(l List) bool { return strings.Contains(read, "$"+l.Name) }), other, back})
	return b.Bytes()
}
