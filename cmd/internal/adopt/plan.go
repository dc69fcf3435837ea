package adopt

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Plan is the way to another form, step by step.
type Plan struct {
	To    generate.Profile
	Steps []Step
	Notes []string // about GitOps engines
	Lost  []string // rights that somebody loses, a line for each subject and place

	// Known are the restarts and lost rights that the step about reviewing names, as findings about backup.yaml. The
	// check of that step has them as its baseline, so that it fails for everything else.
	Known []findings.Finding
}

// Restarts returns the Deployments whose pods the plan restarts or starts.
func (p *Plan) Restarts() (names []string) {
	for _, f := range p.Known {
		if f.Rule == restartRule && !slices.Contains(names, f.Object) {
			names = append(names, f.Object)
		}
	}
	return names
}

// Step is one step. A person can undo every step before the one that is the point.
type Step struct {
	Title        string
	Who          string   // does it
	Text         []string // paragraphs
	Run          []string // commands
	Check        []string // commands that fail unless all of it has worked
	Retry        string   // what to do if it stopped in the middle
	Undo         []string // commands
	Irreversible bool     // from here on there is no undo, but the way back
	WayBack      []string // commands of the way back, of the step that is the point
}

// The people and programs of a plan.
const (
	byAdmin  = "an administrator of the cluster"
	byGit    = "who merges the pull request"
	byEngine = "the GitOps engine, or an administrator"
)

// manager is the field manager of the take-over.
const manager = "olmgen"

// planner makes a plan.
type planner struct {
	Options
	state     *State
	result    *Verification // the cluster and what the new file renders to
	departure *departure
	plan      *Plan
}

// NewPlan returns the steps to the form that is rendered. asOLM is what profile olm renders of the operators that leave
// OLM: it explains what OLM made. It is an error if OLM has not settled, if an operator that stays needs one that
// leaves, and if OLM cannot run on while an operator leaves.
func NewPlan(s *State, rendered, asOLM []map[string]any, o Options) (*Plan, error) {
	if o.To == "" {
		o.To = generate.ProfileOLM
	}
	p := &planner{Options: o, state: s, result: s.Verify(rendered),
		plan: &Plan{To: o.To, Notes: engineNotes(o.To, o.Directory, o.Parts)}}
	p.departure = newDeparture(s, s.Leaving(o.To), p.result, s.Verify(asOLM))
	err := errors.Join(s.checkSettled(), p.departure.checkDependants())
	if o.OLM == OLMRuns {
		err = errors.Join(err, p.departure.checkRunning())
	}
	if err != nil {
		return nil, err
	}
	if p.plan.Lost, err = p.departure.lostRights(rendered); err != nil {
		return nil, err
	}
	p.plan.Known = p.result.known()
	switch o.To {
	case generate.ProfileOLM, generate.ProfileSubscription:
		p.before()
		p.render()
		p.takeOver(p.directories(), "OLM goes on and keeps writing the same objects.", false)
	case generate.ProfileClusterExtension:
		p.before()
		p.render()
		if len(p.refused()) > 0 {
			p.withoutOLM(p.refused())
		}
		p.migrate()
	default:
		p.before()
		p.render()
		p.withoutOLM(p.state.All())
	}
	return p.plan, nil
}

// Leaving returns the operators that a plan to a profile takes away from OLM v0, but for those that OLM v1 takes over.
func (s *State) Leaving(to generate.Profile) (all []*Operator) {
	if to == generate.ProfileOLM || to == generate.ProfileSubscription || to == "" {
		return nil
	}
	for _, o := range s.All() {
		if to != generate.ProfileClusterExtension || !s.Migration(o).Possible() {
			all = append(all, o)
		}
	}
	return all
}

// PartDirectory has the operators that leave OLM, if OLM v1 takes others over.
const PartDirectory = "without-olm"

// retry is what to do with a step that stopped in the middle.
const retry = "If it stopped in the middle, run it again from its first command: each of them can run twice. " +
	"NotFound means that somebody has deleted the object since the dump: leave that command out. The check tells " +
	"whether all is done."

// add adds a step. One that changes the cluster says how to go on in the middle.
func (p *planner) add(s Step) {
	if slices.ContainsFunc(s.Run, func(c string) bool { return strings.HasPrefix(c, "kubectl ") }) {
		s.Retry = retry
	}
	p.plan.Steps = append(p.plan.Steps, s)
}

// refused returns the operators that OLM v1 does not take.
func (p *planner) refused() []*Operator { return p.state.Leaving(generate.ProfileClusterExtension) }

// before is the backup: the objects of the dump, without what the API server gives them anew.
func (p *planner) before() {
	p.add(Step{Title: "Check what is needed, and make a backup", Who: byAdmin,
		Text: []string{"Go on only if every command succeeds. A backup that is there is kept: run this step again " +
			"before " +
			"anything is changed, and not later.",
			"The dump says what the cluster has today. before/ has the operators' objects of it as manifests that " +
				"can " +
				"be applied again, and before-subscriptions/ what a user of OLM wrote."},
		Run:   append(p.needs(), p.Commands.Backup...),
		Check: []string{"test -s backup.yaml && test -s before/kustomization.yaml"}})
}

func (p *planner) render() {
	s := Step{Title: "Render, review and commit", Who: byGit,
		Text: []string{"The comparison lists every field that applying changes. Read what restarts pods and who " +
			"loses a " +
			"right before you go on."},
		Run:   []string{p.Commands.Render},
		Check: []string{p.Commands.Verify},
		Undo:  []string{"git revert HEAD"}}
	if len(p.plan.Known) > 0 {
		s.Check = []string{p.Commands.VerifyKnown}
		s.Text = append(s.Text, p.Commands.Known+" has the restarts and lost rights that this step names: the check "+
			"fails for every other one.")
	}
	if restarts := p.plan.Restarts(); len(restarts) > 0 {
		s.Text = append(s.Text, "Applying restarts the pods of "+text.And(restarts)+".")
	}
	for _, c := range p.result.Objects {
		for _, lost := range c.Loses {
			s.Text = append(s.Text, c.Object+": applying takes away "+lost+".")
		}
	}
	if len(p.plan.Lost) > 0 {
		s.Text = append(s.Text, "When the plan has been followed, these rights are gone:", "* "+
			strings.Join(p.plan.Lost, "\n* "))
	}
	if gone := p.objects(func(c Compared) bool { return len(c.Immutable) > 0 }); len(gone) > 0 {
		s.Text = append(s.Text, "The API server refuses to change "+text.And(gone)+": bring the file to what the "+
			"cluster has.")
	}
	p.add(s)
}

func (p *planner) objects(f func(Compared) bool) (names []string) {
	for _, c := range p.result.Objects {
		if f(c) {
			names = append(names, c.Object)
		}
	}
	return names
}

// directories are those of the rendered objects. No kustomization.yaml lists that of a part, such as the bindings of a
// tenant.
func (p *planner) directories() []string {
	list := []string{p.Directory}
	for _, part := range p.Parts {
		list = append(list, path.Join(p.Directory, part))
	}
	return list
}

// takeOver applies what is rendered. alone says that nobody else writes it from then on.
func (p *planner) takeOver(directories []string, why string, alone bool) {
	undo := append([]string{applied("before")}, p.uncreated()...)
	if p.OLM == OLMRuns { // before/ has the CSVs as they were, and an undo does not end what an earlier step has done
		undo = append(undo, p.departure.emptied()...)
	}
	if p.migrates() {
		undo = append([]string{"# " + migratedToo}, undo...)
	}
	var differ, apply, check []string
	for _, dir := range directories {
		differ = append(differ, onServer("diff", Quote(dir)))
		apply = append(apply, applied(Quote(dir)))
	}
	if directories[0] == p.Directory {
		check = append(check, p.Commands.Again)
	}
	if alone {
		check = append(check, differ...)
	}
	p.add(Step{Title: "Take the objects over", Who: byEngine,
		Text: []string{why, "Server-side apply changes only what is rendered. Fields that others wrote and Git " +
			"does not " +
			"have stay."},
		Run: append(differ, apply...), Check: check, Undo: undo})
}

// uncreated returns the commands that delete what the take-over created. CRDs and Namespaces stay: others may use them.
func (p *planner) uncreated() (commands []string) {
	for _, c := range p.result.Objects {
		if c.Verdict == RenderedOnly && !c.unknown && c.kind != crdKind && c.kind != "Namespace" {
			commands = append(commands, deletion(c.name))
		}
	}
	return commands
}

// migratedToo is what to know of the backup if the plan hands operators to OLM v1.
const migratedToo = "before/ and before-subscriptions/ have the operators too that OLM v1 runs now: take their files " +
	"out first."

// migrates reports whether the plan hands operators to OLM v1.
func (p *planner) migrates() bool {
	return p.To == generate.ProfileClusterExtension && len(p.refused()) < len(p.state.All())
}

// applied returns the command that applies a directory.
func applied(dir string) string { return onServer("apply", dir) }

// onServer returns the command that applies a directory on the server, or that prints what that would change.
func onServer(verb, dir string) string {
	return "kubectl " + verb + " --server-side --force-conflicts --field-manager=" + manager + " -k " + dir
}

// withoutOLM takes operators away from OLM.
func (p *planner) withoutOLM(operators []*Operator) {
	d := p.departure
	why := "OLM is down, so nobody else writes the objects."
	if p.OLM == OLMRuns {
		why = "OLM skips the operators, so nobody else writes their objects."
		p.subscriptions(d)
		p.skip(d)
	} else {
		p.scaleDown()
	}
	if p.To == generate.ProfileClusterExtension {
		p.add(Step{Title: "Render what OLM v1 refuses", Who: byAdmin,
			Text: []string{"The next step applies these operators only. " + Quote(p.Directory) +
				" has what OLM v1 takes, too: that is applied when OLM v1 has taken it."},
			Run:   p.Commands.Part,
			Check: []string{"test -s " + PartDirectory + "/kustomization.yaml"},
			Undo:  []string{"rm -rf " + PartDirectory}})
	}
	p.takeOver(p.applies(), why, true)
	p.cutLoose(d)
	if p.OLM != OLMRuns {
		p.subscriptions(d)
		p.finalizers(operators)
	}
	p.remove(d)
	p.olmObjects(d)
	if p.OLM != OLMRuns {
		p.scaleUp(operators)
	}
	p.later()
}

// scales returns the commands that scale OLM's Deployments: to zero, which waits until their pods are gone, or to what
// the dump has.
func (p *planner) scales(zero bool) (commands []string) {
	namespace := p.olmNamespace()
	for _, name := range olmDeployments {
		replicas := 0
		if !zero {
			replicas = 1
			if d := p.state.Dump.Get("Deployment", namespace, name); d != nil {
				spec, _ := d.Value()["spec"].(map[string]any)
				if n, ok := spec["replicas"].(float64); ok {
					replicas = int(n)
				}
			}
		}
		commands = append(commands, fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=%d", Quote(namespace),
			name, replicas))
	}
	if zero {
		commands = append(commands, "kubectl -n "+Quote(namespace)+" wait pods -l "+Quote(olmPods)+
			" --for=delete --timeout=5m")
	}
	return commands
}

// olmPods selects the pods of olmDeployments.
const olmPods = "app in (olm-operator,catalog-operator)"

func (p *planner) scaleDown() {
	s := Step{Title: "Scale OLM down", Who: byAdmin,
		Text: []string{"From here on OLM installs, repairs and removes nothing in the whole cluster, and renews no " +
			"certificate."},
		Run:   append(p.overrides(true), p.scales(true)...),
		Check: []string{nothing("kubectl get pods -A -l " + Quote(olmPods) + " -o name")},
		Undo:  append(p.scales(false), p.overrides(false)...)}
	if p.olmNamespace() == openShift {
		s.Text = append(s.Text, "The cluster version operator of OpenShift would scale it up again. The override "+
			"tells it "+
			"to leave both Deployments alone, until the step that starts OLM again ends it. If spec.overrides has "+
			"entries already, edit the list by hand instead.")
	}
	p.add(s)
}

func (p *planner) scaleUp(operators []*Operator) {
	s := Step{Title: "Start OLM again, or remove it", Who: byAdmin, Run: append(p.scales(false), p.overrides(false)...)}
	for _, name := range olmDeployments {
		s.Check = append(s.Check, "kubectl -n "+Quote(p.olmNamespace())+" rollout status deployment "+name+" "+
			"--timeout=5m")
	}
	if len(operators) == len(p.state.All()) && len(p.state.notAdopted()) == 0 {
		s.Text = []string{"No operator of the dump needs OLM any more. Keep it if others do that the dump does " +
			"not have."}
	} else {
		s.Text = []string{"The other operators need OLM v0 until they have moved."}
	}
	p.add(s)
}

// later lists what OLM left in the objects that stay.
func (p *planner) later() {
	s := Step{Title: "Later: drop what only the cluster has", Who: byAdmin,
		Text: []string{"Server-side apply leaves fields that Git does not have, such as OLM's annotations in pod " +
			"templates. " +
			"They do no harm. Removing one from a pod template restarts its pods: do it with the next upgrade, by " +
			"giving " +
			"up OLM's ownership of the fields.", "The comparison after the take-over lists them, each as " +
			"left-in-cluster."},
		Check: []string{p.Commands.Again}}
	for _, c := range p.result.Objects {
		var fields []string
		for _, x := range c.Changes {
			if !x.Applied {
				fields = append(fields, x.Field)
			}
		}
		if len(fields) > 0 {
			s.Text = append(s.Text, fmt.Sprintf("%s: %s.", c.Object, strings.Join(fields, ", ")))
		}
	}
	p.add(s)
}

// migrate hands operators to the migration of the OLM project.
func (p *planner) migrate() {
	s := Step{Title: "Migrate what OLM v1 takes", Who: byAdmin, Irreversible: true,
		Text: []string{"A ClusterExtension alone does not take over objects that exist: OLM v1 refuses objects that " +
			"are not its own. The migration of the OLM project (operator-framework/library-olm) hands them over, one " +
			"operator at a time. It makes ClusterObjectSets, for which OLM v1 needs its feature gate " +
			"BoxcutterRuntime. The tests of olmgen cannot run it: try it in a test cluster first. Its command " +
			"rollback takes the name of the ClusterExtension."}}
	for _, o := range p.state.All() {
		m := p.state.Migration(o)
		if !m.Possible() {
			continue
		}
		s.Run = append(s.Run, strings.TrimSpace(fmt.Sprintf("migrate-operators-v0-to-v1 convert %s -n %s %s",
			Quote(o.Subscription.Name), Quote(o.Group.Namespace), strings.Join(m.Acknowledgements(), " "))))
		s.Undo = append(s.Undo, "migrate-operators-v0-to-v1 rollback "+Quote(o.Subscription.Name))
	}
	if len(s.Run) == 0 {
		return
	}
	p.add(Step{Title: "Migrate the catalogs", Who: byAdmin, Run: []string{"migrate-catalogs-v0-to-v1 --dry-run",
		"migrate-catalogs-v0-to-v1"}, Check: []string{"kubectl get clustercatalogs"}})
	s.Check = []string{"kubectl get clusterextensions"}
	p.add(s)
	p.takeOver(p.directories(), "Git has the ClusterExtensions, and the ClusterRoles for users that OLM v1 does not "+
		"make. olmgen installer-rbac says which rights an installer needs at least.", false)
}

// Quote quotes a word for a shell.
func Quote(s string) string {
	const plainText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@="
	plain := s != "" && strings.Trim(s, plainText) == ""
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
