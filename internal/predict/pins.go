package predict

import (
	"cmp"
	"context"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Pin is the release that an object of a tree keeps an operator at, and where OLM would take the operator from there.
type Pin struct {
	Object     *manifest.Object    // a ClusterExtension, OperatorPolicy or Subscription
	Policy     *olm.OperatorPolicy // if it is one
	Channel    string              // may be empty
	NewChannel string              // that a Subscription is to have; empty if it is to keep its own
	From       string              // the release; empty if the object keeps the operator at none

	Withdrawn bool               // no catalog has From
	Steps     []resolve.PathStep // the updates that OLM makes one after the other, if the object allows each
	Reason    string             // why there are none, or why there is no From
	Held      bool               // a catalog has an update, and OLM does not make it

	Assumed  bool // the tree does not say what is installed: From is what the channel leads to
	Starting bool // startingCSV is From: the catalog of the Subscription is a pin
	Manual   bool // somebody approves the InstallPlans of the Subscription in the cluster

	move    func(to string) Move
	channel *catalog.Channel // the new one
}

// InNewChannel reports whether the new channel has a release.
func (p *Pin) InNewChannel(name string) bool { return p.channel != nil && p.channel.Entry(name) != nil }

// namesOf returns the names of the bundles that updates install.
func namesOf(steps []resolve.PathStep) []string {
	return lists.Map(steps, func(s resolve.PathStep) string { return s.To })
}

// MoveBy returns what the first steps of a pin change. There is at least one.
func (p *Pin) MoveBy(steps int) Move {
	m := p.move(p.Steps[steps-1].To)
	m.Object, m.From, m.Steps = p.Object, p.From, namesOf(p.Steps[:steps])
	return m
}

// PinOptions say what is known of a tree, and what its Subscriptions are to have.
type PinOptions struct {
	Namespace string // of objects that name none
	Catalogs  Catalogs
	Channels  map[string]string // that Subscriptions are to have, by package; that of "" is for all
	// Starting reports whether startingCSV of a Subscription is what Git approves, because its catalog is a pin.
	Starting func(namespace, name string) bool
}

// Pins returns where the ClusterExtensions, OperatorPolicies and Subscriptions of a tree keep their operators, and
// those of which nobody can say it. An error is that of ctx, of a catalog that cannot be read again, or of a channel
// that a package does not have.
func Pins(ctx context.Context, t *tree.Tree, o PinOptions) (list []Pin, unknown []Unknown, err error) {
	list, unknown = ofExtensions(t.Objects, o.Catalogs, extensionPin)
	more, nobody, err := subscriptionPins(ctx, t, o)
	return append(list, more...), append(unknown, nobody...), err
}

// extensionPin returns the version at which a ClusterExtension keeps its operator, and the updates that OLM v1 would
// make if the file did not name it. A range, or no version, keeps it at none.
func extensionPin(o *manifest.Object, declared []declaredCatalog, catalogs Catalogs) (*Pin, error) {
	q, err := askedFor(o, declared, catalogs)
	if err != nil {
		return nil, err
	}
	p := &Pin{Object: o}
	if len(q.Channels) == 1 {
		p.Channel = q.Channels[0]
	}
	version, exact := extension.ExactVersion(q.Versions)
	switch {
	case q.Versions == "":
		p.Reason = "it names no version: OLM v1 updates it without a change of the file"
	case !exact:
		p.Reason = "its version is a range, " + q.Versions +
			": within it, OLM v1 updates it without a change of the file"
	}
	if p.Reason != "" {
		return p, nil
	}
	free := q.Request
	free.Versions = ""
	path, err := extension.PathOf(q.Sources, free, version, "")
	if err != nil {
		return nil, err
	}
	p.From, p.Withdrawn, p.Steps = path.From, q.bundle(path.From) == nil, path.Steps
	p.move = func(to string) Move {
		m := Move{NewV1: q.extension(q.bundle(to))}
		if old := q.bundle(p.From); old != nil {
			m.OldV1 = q.extension(old)
		}
		return m
	}
	if len(p.Steps) == 0 {
		p.Held, p.Reason = path.End != resolve.AtHead, path.Text
		return p, nil
	}
	// With the new version in the file, it is the only one that OLM looks at.
	q.Versions = p.Steps[0].Version
	next, err := extension.Resolve(q.Sources, q.Request, &extension.Installed{Name: p.From, Version: version})
	switch {
	case err != nil:
		p.Steps, p.Held, p.Reason = nil, true, err.Error()
	case next.Bundle.Name != p.Steps[0].To:
		p.Steps, p.Held, p.Reason = nil, true, "with version "+q.Versions+", OLM v1 takes "+next.Bundle.Name
	}
	return p, nil
}

// bundle returns a bundle as if OLM had chosen it, from the catalog with the highest priority that has it, or nil.
func (q *Asked) bundle(name string) (found *extension.Resolution) {
	priority := int32(0)
	for _, s := range q.Sources {
		if p := s.Catalog.Packages[q.Package]; p != nil && (found == nil || s.Priority > priority) {
			if b := p.Bundle(name); b != nil {
				found, priority = &extension.Resolution{Bundle: b, Source: s.Name}, s.Priority
			}
		}
	}
	return found
}

// kept returns what is installed, as any catalog has it; nil if nothing is, or none has it.
func (q *Asked) kept(known Catalogs) *Extension {
	all := *q
	all.Sources = append(slices.Concat(q.Sources, known.ClusterCatalogs),
		extension.Source{Name: "catalog", Catalog: cmp.Or(known.Others, &catalog.Catalog{})})
	if q.Installed == nil || all.bundle(q.Installed.Name) == nil {
		return nil
	}
	e := all.extension(all.bundle(q.Installed.Name))
	e.installed = q.Installed
	return e
}

// keep has what is installed stay where OLM v1 refuses what is asked for. Where no ClusterCatalog is selected any more,
// and no other version is asked for, that is in order (operator-controller:
// internal/operator-controller/controllers/clusterextension_reconcile_steps.go, handleResolutionError).
func (e *PlayedExtension) keep(declared []declaredCatalog, o Options) {
	q := e.asked
	if e.Refused == "" || q.Installed == nil {
		return
	}
	e.extension = q.kept(o.Catalogs)
	selects, _ := selectorOf(q.Selector)
	exist := slices.ContainsFunc(declared, func(c declaredCatalog) bool {
		c.Spec.AvailabilityMode = "" // one that is not available is there, too
		return c.selected(selects)
	})
	_, keeps := o.Target.Controllers()[0].Does(versions.KeepsInstalled)
	if keeps && e.untaken == "" && len(q.Sources) == 0 && !exist && q.Check() == nil &&
		(q.Versions == "" || q.Versions == q.Installed.Version) {
		e.Refused, e.Bundle = "", q.Installed.Name
	}
}
