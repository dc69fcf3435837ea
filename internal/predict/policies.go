package predict

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// World returns the world of some objects, with what their OperatorPolicies make and what their distribution has
// without Git, and without what their OperatorPolicies delete. namespace is that of objects that name none.
func World(ctx context.Context, objects []*manifest.Object, namespace string, catalogs Catalogs) *world.World {
	w := world.Read(objects, namespace)
	known := sync.OnceValue(func() Catalogs { return catalogs.with(resolve.Of(w).CatalogSources) })
	w.Complete(catalogs.openShift(objects), func(p *olm.OperatorPolicy) (olm.Defaults, error) {
		d, err := known().defaults(ctx, p)
		d.Namespace = cmp.Or(d.Namespace, namespace)
		if err != nil && p.Channel != "" && p.Source != "" && p.SourceNamespace != "" {
			err = nil // only the namespace is missing
		}
		return d, err
	})
	return w
}

// defaults returns what the PackageManifest of a policy's package says (config-policy-controller:
// controllers/operatorpolicy_controller.go, applySubscriptionDefaults).
func (c Catalogs) defaults(ctx context.Context, p *olm.OperatorPolicy) (d olm.Defaults, err error) {
	known := slices.Clone(c.Sources)
	if c.Others != nil {
		known = append(known, resolve.Source{Name: cmp.Or(p.Source, "catalog"),
			Namespace: cmp.Or(p.SourceNamespace, c.Global, GlobalNamespace(c.Sources)), Catalog: c.Others})
	}
	found := lists.Filter(known, func(s resolve.Source) bool {
		return s.Catalog != nil && s.Catalog.Packages[p.Package] != nil && (p.Source == "" || p.Source == s.Name) &&
			(p.SourceNamespace == "" || p.SourceNamespace == s.Namespace)
	})
	switch {
	case len(known) == 0:
		return d, errors.New("no catalog is given")
	case len(found) == 0:
		return d, fmt.Errorf("no catalog that is known has package %s", p.Package)
	case len(found) > 1 && found[0].Catalog != c.Others:
		names := lists.Map(found, func(s resolve.Source) string { return s.Namespace + "/" + s.Name })
		return d, fmt.Errorf("package %s is in %s", p.Package, text.And(names))
	}
	pkg := found[0].Catalog.Packages[p.Package]
	d = olm.Defaults{Channel: pkg.DefaultChannel, Source: found[0].Name, SourceNamespace: found[0].Namespace}
	ch := pkg.Channel(cmp.Or(p.Channel, d.Channel))
	if p.Namespace != "" || ch == nil {
		return d, nil
	}
	for _, head := range ch.Heads() { // one of them suggests a namespace
		if b := pkg.Bundle(head.Name); b != nil && b.HasCSV() {
			var csv v1alpha1.ClusterServiceVersion
			if data, err := b.CSV(ctx); err == nil && json.Unmarshal(data, &csv) == nil {
				d.Namespace = csv.Annotations[olm.AnnotationSuggestedNamespace]
				break
			}
		}
	}
	return d, nil
}

// judgePolicies reports OperatorPolicies that install nothing, and those of which nobody can say what they do.
func (c *prediction) judgePolicies() {
	for i, p := range c.Policies {
		for _, e := range p.Faults {
			refused := *e
			refused.Msg += ": it is refused, and installs nothing"
			c.report(rulePolicy, findings.Error, &refused, p.Object.Identity())
		}
		if why := p.Idle(); why != "" {
			c.note(rulePolicyIdle, findings.Note, p.Object, "spec", "installs nothing: "+why, "")
		}
		if p.Unknown != "" {
			c.judgeUnknown(p)
		}
		if !p.Acts() && !p.Installs() || p.Namespace == "" {
			continue
		}
		if j := slices.IndexFunc(c.Policies[:i], func(o *olm.OperatorPolicy) bool {
			return (o.Acts() || o.Installs()) && p.Overlaps(o)
		}); j >= 0 {
			first := c.Policies[j].Object
			c.note(rulePolicy, findings.Warning, p.Object, "spec.subscription", fmt.Sprintf(
				"manages Subscription %s/%s, which %s (%s:%d) manages too: in one cluster, neither has an effect",
				p.Namespace, p.Package, first.Identity(), first.File, first.Line),
				"check one environment at a time, or delete one of them")
		}
		if p.Mismatch != "" {
			c.judgeMismatch(p)
		}
	}
}

// judgeUnknown reports a policy of which nobody can say what it does.
func (c *prediction) judgeUnknown(p *olm.OperatorPolicy) {
	c.unknown = append(c.unknown, Unknown{Object: p.Stands(), Why: p.Object.Identity() + ": " + p.Unknown})
	if len(p.Faults) > 0 {
		return // these are findings
	}
	what, hint := "what it installs is not checked: ", "write into spec.subscription what it lacks, or pass the "+
		"content of its catalog"
	if p.Template != "" {
		hint = "check a copy with the value in place of the template"
	}
	if p.Idle() != "" {
		what = "what it deletes is not known: "
	}
	c.note(resolve.RuleUnknown, findings.Note, p.Object, p.Template, what+p.Unknown, hint)
}

// judgeMismatch reports a policy that does not get along with the OperatorGroups of its namespace.
func (c *prediction) judgeMismatch(p *olm.OperatorPolicy) {
	level, what := findings.Warning, "its Subscription stays as it is"
	if p.Held {
		level, what = findings.Error, "it makes no OperatorGroup and no Subscription"
		c.unknown = append(c.unknown, installsNothing(p.Stands(), p.Object.Identity()+": "+p.Mismatch))
	}
	c.note(rulePolicy, level, p.Object, "spec.operatorGroup", p.Mismatch+": "+what,
		"keep one OperatorGroup, and name it in spec.operatorGroup, or leave that out")
}

// defaultChannels sets the channel of each Subscription of an OperatorPolicy that names none to that of the catalogs.
func (c *prediction) defaultChannels(ctx context.Context, state *resolve.State, catalogs Catalogs) {
	for _, p := range c.Policies {
		if !p.Installs() || p.Channel != "" {
			continue
		}
		for i := range state.Subscriptions {
			s := &state.Subscriptions[i]
			if s.Name == p.Package && (p.Namespace == "" || p.Namespace == state.Namespace) {
				if d, err := catalogs.defaults(ctx, p); err == nil {
					s.Channel = cmp.Or(d.Channel, s.Channel)
				}
			}
		}
	}
}
