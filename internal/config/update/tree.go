package update

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/internal/manifest/inplace"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/manifest/tree"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
)

// TreeOptions say what to update in a tree.
type TreeOptions struct {
	Namespace string // of objects that name none
	Catalogs  predict.Catalogs
	Channels  map[string]string // that Subscriptions are to have, by package; that of "" is for all
	ToHead    bool              // take all steps, not one
	// Pinned tells of a Subscription that its catalog is a pin, so that its startingCSV is what Git approves.
	Pinned func(namespace, name string) bool

	Read func(file string) ([]byte, error) // a file of the tree
}

// NewTreePlan plans the update of the ClusterExtensions, OperatorPolicies and Subscriptions of a tree: what OLM would
// install next becomes what the files ask for. startingCSV is changed only where the catalog of a
// Subscription is a pin: elsewhere OLM does not look at it once something is installed.
func NewTreePlan(ctx context.Context, t *tree.Tree, o TreeOptions) (*Plan, error) {
	if err := checkChannels(t.Objects, o.Channels); err != nil {
		return nil, err
	}
	pins, unknown := predict.ExtensionPins(t.Objects, o.Catalogs)
	more, nobody, err := predict.SubscriptionPins(ctx, t, o.Namespace, o.Catalogs, o.Channels, o.Pinned)
	if err != nil {
		return nil, err
	}
	pins, unknown = append(pins, more...), append(unknown, nobody...)
	u := &treeUpdater{options: o, plan: &Plan{Unknown: len(unknown)}, edits: map[string][]inplace.Edit{}}
	for i := range pins {
		if err := u.pin(&pins[i]); err != nil {
			return nil, err
		}
	}
	for _, x := range unknown {
		op := operatorOf(x.Object)
		op.Status, op.Reason = Left, "not known: "+x.Why
		u.plan.Operators = append(u.plan.Operators, op)
	}
	slices.SortStableFunc(u.plan.Operators, func(a, b Operator) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for _, name := range u.files {
		before, err := o.Read(name)
		if err != nil {
			return nil, err
		}
		after, err := inplace.Apply(name, before, u.edits[name])
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
	slices.Sort(packages)
	packages = slices.Compact(packages)
	for _, name := range slices.Sorted(maps.Keys(channels)) {
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

type treeUpdater struct {
	options TreeOptions
	plan    *Plan
	files   []string
	edits   map[string][]inplace.Edit // by file
}

func operatorOf(o *manifest.Object) Operator {
	return Operator{Name: o.Identity(), Object: o.Identity(), File: o.File, Line: o.Line, Status: Current}
}

// pin decides about an operator.
func (u *treeUpdater) pin(p *predict.Pin) error {
	o := operatorOf(p.Object)
	o.Channel, o.NewChannel, o.From = p.Channel, p.NewChannel, p.From
	taken := p.Steps
	if n := u.steps(p); n < len(taken) {
		taken = taken[:n]
	}
	for _, s := range taken {
		o.Steps = append(o.Steps, s.Name)
	}
	o.finish()
	switch {
	case p.From == "":
		o.Status, o.Reason = Left, p.Reason
	case len(taken) > 0 && p.Withdrawn:
		o.Reason = "the catalog no longer has " + p.From
	case len(taken) > 0:
	case p.Withdrawn:
		o.Status, o.Reason = Withdrawn, notThere(p.Channel)
	case p.Held:
		o.Status, o.Reason = Held, p.Reason
	case o.NewChannel != "":
		o.Status = Updated
	}
	if o.Status == Updated {
		if err := u.change(p, &o, taken); err != nil {
			return err
		}
	}
	u.plan.Operators = append(u.plan.Operators, o)
	return nil
}

// steps returns how many steps one change of the file makes. OLM v1 goes to the version of a file in one step or not at
// all, and a Subscription goes to the head of its channel.
func (u *treeUpdater) steps(p *predict.Pin) int {
	switch {
	case p.NewChannel != "":
		return len(p.Steps)
	case (p.Policy != nil || p.Starting) && u.options.ToHead:
		return len(p.Steps)
	}
	return 1
}

// change adds what changes in the file for an operator.
func (u *treeUpdater) change(p *predict.Pin, o *Operator, taken []predict.PinStep) error {
	e := inplace.Edit{Object: p.Object}
	switch {
	case p.Policy != nil:
		e.Object, e.Field = p.Policy.Within, strings.TrimPrefix(p.Policy.Path+".spec.versions", ".")
		for _, s := range taken {
			e.Add = append(e.Add, s.Name)
		}
	case p.NewChannel != "":
		e.Field, e.Value = "spec.channel", p.NewChannel
		if p.Manual {
			o.Reason = "somebody approves each InstallPlan in the cluster"
		}
		u.sayOfSubscription(p)
	case p.Starting:
		e.Field, e.Value = "spec.startingCSV", taken[len(taken)-1].Name
		o.Reason = "then olmgen catalog pin moves the pin"
	default:
		e.Field = "spec.source.catalog.version"
		old, err := p.Object.Get("spec", "source", "catalog", "version")
		if err != nil {
			return err
		}
		versions, _ := old.(string)
		version, _ := extension.ExactVersion(versions)
		e.Value = strings.Replace(versions, version, taken[0].Version, 1)
		if u.options.ToHead && len(p.Steps) > 1 {
			o.Reason = fmt.Sprintf("OLM v1 goes to %s only from there: update it again", p.Steps[1].Name)
		}
	}
	if len(taken) > 0 {
		u.plan.Moves = append(u.plan.Moves, p.MoveBy(len(taken)))
	}
	if u.edits[e.Object.File] == nil {
		u.files = append(u.files, e.Object.File)
	}
	u.edits[e.Object.File] = append(u.edits[e.Object.File], e)
	return nil
}

// sayOfSubscription notes what is assumed of a Subscription that gets a new channel, and a startingCSV that is not in
// that channel.
func (u *treeUpdater) sayOfSubscription(p *predict.Pin) {
	if p.Assumed {
		u.plan.Notes = append(u.plan.Notes, fmt.Sprintf("%s: the files do not say what is installed: %s is what "+
			"channel %s leads to", p.Object.Identity(), p.From, p.Channel))
	}
	starting, _ := p.Object.Get("spec", "startingCSV")
	if name, _ := starting.(string); name != "" && !p.InNewChannel(name) {
		u.plan.Notes = append(u.plan.Notes, fmt.Sprintf("%s:%d: %s: its startingCSV %s is not in channel %s: a new "+
			"cluster could not install it. OLM does not look at it where the operator is installed", p.Object.File,
			p.Object.LineOf("spec.startingCSV"), p.Object.Identity(), name, p.NewChannel))
	}
}
