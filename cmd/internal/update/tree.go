package update

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/inplace"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// TreeOptions say what to update in a tree.
type TreeOptions struct {
	predict.PinOptions
	ToHead bool // take all steps, not one

	Read func(file string) ([]byte, error) // a file of the tree
}

// NewTreePlan plans the update of the ClusterExtensions, OperatorPolicies and Subscriptions of a tree: what OLM would
// install next becomes what the files ask for. startingCSV is changed only where the catalog of a
// Subscription is a pin: elsewhere OLM does not look at it once something is installed.
func NewTreePlan(ctx context.Context, t *tree.Tree, o TreeOptions) (*Plan, error) {
	if err := checkChannels(t.Objects, o.Channels); err != nil {
		return nil, err
	}
	u := &treeUpdater{options: o, plan: &Plan{}, at: map[string][]int{}, edits: map[string][]edit{},
		filling: map[string][]byte{}}
	for i, c := range t.Clusters(nil) {
		u.cluster = c.Name
		if err := u.update(ctx, t.Of(c, i == 0)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(u.plan.Operators, func(a, b Operator) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for _, name := range u.files {
		before, err := o.Read(name)
		if err != nil {
			return nil, err
		}
		var edits []inplace.Edit
		for _, e := range u.edits[name] {
			edits = append(edits, e.Edit)
			if len(e.clusters) > 1 {
				u.note(fmt.Sprintf("%s:%d is for %s: %s", name, e.line,
					text.Count(len(e.clusters), "cluster"), text.FirstOf(mostClusters, e.clusters)))
			}
		}
		if !t.Below(name) {
			u.note(name + " is outside of what was read: what else is built of it changes too")
		}
		after, err := inplace.Apply(name, before, edits)
		if err != nil {
			return nil, err
		}
		u.plan.Files = append(u.plan.Files, File{name, before, after})
	}
	return u.plan, nil
}

// checkChannels refuses a channel for a package that no Subscription of the tree has, and one for several packages.
func checkChannels(objects []*manifest.Object, channels map[string]string) error {
	var packages []string
	for _, o := range objects {
		if o.Kind == v1alpha1.SubscriptionKind && o.Group() == olm.Group {
			if name, _ := o.Get("spec", "name"); name != nil {
				packages = append(packages, fmt.Sprint(name))
			}
		}
	}
	packages = lists.SortedUnique(packages)
	for _, name := range lists.Keys(channels) {
		channel := channels[name]
		switch {
		case name == "" && len(packages) > 1:
			return manifest.WithHint(fmt.Errorf("channel %s is for one package, and there are Subscriptions of %s",
				channel, text.And(packages)), fmt.Sprintf("name the package: %s=%s", packages[0], channel))
		case name == "" && len(packages) == 0:
			return fmt.Errorf("channel %s is for a Subscription, and there is none", channel)
		case name != "" && !slices.Contains(packages, name):
			return fmt.Errorf("no Subscription is of package %s", name)
		}
	}
	return nil
}

const mostClusters = 5 // that a note names

// edit is an edit of a file, for the clusters that get the value from there.
type edit struct {
	inplace.Edit
	line     int
	clusters []string
}

type treeUpdater struct {
	options TreeOptions
	at      map[string][]int // operators of the plan, by their place
	plan    *Plan
	cluster string // that is looked at
	files   []string
	edits   map[string][]edit // by file
	filling map[string][]byte // files with templates, nil for others
}

// filled reports whether another program fills in the value of an edit.
func (u *treeUpdater) filled(file string, e inplace.Edit) bool {
	data, known := u.filling[file]
	if !known {
		if data, _ = u.options.Read(file); !bytes.Contains(data, []byte("{{")) { // that it cannot be read is said later
			data = nil
		}
		u.filling[file] = data
	}
	if data == nil {
		return false
	}
	_, err := inplace.Apply(file, data, []inplace.Edit{e})
	return err != nil
}

func (u *treeUpdater) update(ctx context.Context, t *tree.Tree) error {
	pins, unknown, err := predict.Pins(ctx, t, u.options.PinOptions)
	if err != nil {
		return err
	}
	for i := range pins {
		if err := u.pin(&pins[i]); err != nil {
			return err
		}
	}
	for _, x := range unknown {
		op := operatorOf(x.Object)
		op.Status, op.Reason = Left, "not known: "+x.Why
		if u.add(op) {
			u.plan.Unknown++
		}
	}
	return nil
}

func (u *treeUpdater) note(text string) {
	u.plan.Notes = lists.Add(u.plan.Notes, text)
}

// add adds an operator, unless another cluster has it from the same place. It reports whether it did.
func (u *treeUpdater) add(o Operator) bool {
	at := fmt.Sprint(o.Name, o.File, o.Line)
	if slices.ContainsFunc(u.at[at], func(i int) bool { return reflect.DeepEqual(u.plan.Operators[i], o) }) {
		return false
	}
	u.at[at] = append(u.at[at], len(u.plan.Operators))
	u.plan.Operators = append(u.plan.Operators, o)
	return true
}

func operatorOf(o *manifest.Object) Operator {
	return Operator{Name: o.Identity(), Object: o.Identity(), File: o.File, Line: o.Line, Status: Current}
}

func (u *treeUpdater) pin(p *predict.Pin) error {
	o := operatorOf(p.Object)
	o.Channel, o.NewChannel, o.From = p.Channel, p.NewChannel, p.From
	// To a new channel all: OLM goes to its head. OLM v1 goes to a version in one step, or not at all.
	taken := o.take(p.Steps, p.NewChannel != "" || u.options.ToHead && (p.Policy != nil || p.Starting))
	o.place.Withdrawn = p.Withdrawn
	switch {
	case p.From == "" && !p.Held:
		o.Status, o.Reason = Left, p.Reason
	case p.Withdrawn:
		o.sayWithdrawn()
	case len(taken) < len(p.Steps):
	case p.Held:
		o.stays(p.Reason, u.options.ToHead || p.NewChannel != "")
	case o.NewChannel != "":
		o.Status = Updated
	}
	if o.Status == Updated {
		if err := u.change(p, &o, taken); err != nil {
			return err
		}
	}
	u.add(o)
	return nil
}

// edit returns what the file of an operator is to say.
func (u *treeUpdater) edit(p *predict.Pin, o *Operator, taken []resolve.PathStep) (e inplace.Edit, err error) {
	e.Object = p.Object
	switch {
	case p.Policy != nil:
		e.Object, e.Field = p.Policy.Within, strings.TrimPrefix(p.Policy.Path+".spec.versions", ".")
		e.Add = o.Steps
	case p.NewChannel != "":
		e.Field, e.Value = "spec.channel", p.NewChannel
		if p.Manual {
			o.Reason = "somebody approves each InstallPlan in the cluster"
		}
		if p.Assumed {
			u.note(fmt.Sprintf("%s: the files do not say what is installed: %s is what "+
				"channel %s leads to", p.Object.Identity(), p.From, p.Channel))
		}
		starting, _ := p.Object.Get("spec", "startingCSV")
		if name, _ := starting.(string); name != "" && !p.InNewChannel(name) {
			u.note(fmt.Sprintf("%s:%d: %s: its startingCSV %s is not in channel %s: a new "+
				"cluster could not install it. OLM does not look at it where the operator is installed", p.Object.File,
				p.Object.LineOf("spec.startingCSV"), p.Object.Identity(), name, p.NewChannel))
		}
	case p.Starting:
		e.Field, e.Value = "spec.startingCSV", taken[len(taken)-1].To
		o.Reason = "then olmgen catalog pin moves the pin"
	default:
		e.Field = "spec.source.catalog.version"
		old, err := p.Object.Get("spec", "source", "catalog", "version")
		if err != nil {
			return e, err
		}
		versions, _ := old.(string)
		version, _ := extension.ExactVersion(versions)
		e.Value = strings.Replace(versions, version, taken[0].Version, 1)
		if u.options.ToHead && len(p.Steps) > 1 {
			o.Reason = fmt.Sprintf("OLM v1 goes to %s only from there: update it again", p.Steps[1].To)
		}
	}
	return e, nil
}

func (u *treeUpdater) change(p *predict.Pin, o *Operator, taken []resolve.PathStep) error {
	e, err := u.edit(p, o, taken)
	if err != nil {
		return err
	}
	at := e.Object.SetBy(e.Field)
	if at.Patch != nil {
		e.Patch, o.File, o.Line = at.Patch, at.File, at.Line
	}
	i := slices.IndexFunc(u.edits[at.File], func(x edit) bool {
		return x.line == at.Line && x.Field == e.Field && x.Object.Doc == e.Object.Doc && x.Object.Line == e.Object.Line
	})
	if i >= 0 {
		x := &u.edits[at.File][i]
		if x.Value == e.Value && slices.Equal(x.Add, e.Add) {
			x.clusters = append(x.clusters, u.cluster)
		} else {
			o.Status, o.Reason = Held, fmt.Sprintf("%s gets its value from here too, and is to have %s",
				x.clusters[0], cmp.Or(x.Value, strings.Join(x.Add, ", ")))
		}
		return nil
	}
	if u.filled(at.File, e) {
		o.Status, o.Reason = Left, fmt.Sprintf("%s has a template for %s: change what fills it", at.File, e.Field)
		return nil
	}
	if e.Patch != nil && e.Patch.Doc == manifest.Nowhere {
		data, _ := u.options.Read(at.File) // that it cannot be read is said of its other values
		lines := strings.Split(string(data), "\n")
		o.Status, o.Reason = Left, fmt.Sprintf("a variable or several texts make %s: change it by hand: %s",
			e.Field, strings.TrimSpace(lines[min(max(at.Line, 1), len(lines))-1]))
		return nil
	}
	if len(taken) > 0 {
		u.plan.Moves = append(u.plan.Moves, p.MoveBy(len(taken)))
	}
	u.files = lists.Add(u.files, at.File)
	u.edits[at.File] = append(u.edits[at.File], edit{e, at.Line, []string{u.cluster}})
	return nil
}
