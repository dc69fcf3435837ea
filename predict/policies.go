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

// WithPolicies returns the objects with what the OperatorPolicies among them make and what their distribution has
// without Git. namespace is that of objects that name none. unknown are the policies of which nobody can say what they
// make.
func WithPolicies(ctx context.Context, objects []*manifest.Object, namespace string, catalogs Catalogs) (
	all []*manifest.Object, unknown []olm.UnknownPolicy) {
	given := objects
	known := sync.OnceValue(func() Catalogs {
		return catalogs.with(resolve.Of(world.Read(given, "")).CatalogSources)
	})
	objects = olm.WithDistribution(objects, namespace, catalogs.openShift(objects))
	return olm.WithPolicies(objects, func(p *olm.OperatorPolicy) (olm.Defaults, error) {
		d, err := known().defaults(ctx, p)
		d.Namespace = cmp.Or(d.Namespace, namespace)
		if err != nil && p.Channel != "" && p.Source != "" && p.SourceNamespace != "" {
			err = nil // only the namespace is missing
		}
		return d, err
	})
}

// defaults returns what the PackageManifest of a policy's package says (config-policy-controller:
// controllers/operatorpolicy_controller.go, applySubscriptionDefaults).
func (c Catalogs) defaults(ctx context.Context, p *olm.OperatorPolicy) (d olm.Defaults, err error) {
	known := slices.Clone(c.Sources)
	if c.Others != nil {
		known = append(known, resolve.Source{Name: cmp.Or(p.Source, "catalog"),
			Namespace: cmp.Or(p.SourceNamespace, c.Global, globalNamespace(c.Sources)), Catalog: c.Others})
	}
	found := lists.Filter(known, func(s resolve.Source) bool {
		return s.Catalog != nil && s.Catalog.Packages[p.Package] != nil && (p.Source == "" || p.Source == s.Name) &&
			(p.SourceNamespace == "" || p.SourceNamespace == s.Namespace)
	})
	switch {
	case len(known) == 0:
		return d, errors.New("there is no catalog")
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

// judgePolicies reports OperatorPolicies that install nothing, and those of which nobody can say what they install.
func (c *prediction) judgePolicies(unknown []olm.UnknownPolicy) {
	for _, u := range unknown {
		c.unknown = append(c.unknown, Unknown{Object: u.Stands(), Why: u.Object.Identity() + ": " + u.Why})
		if len(u.Faults) > 0 {
			continue // these are findings
		}
		hint := "write into spec.subscription what it lacks, or pass the content of its catalog"
		if u.Template != "" {
			hint = "check a copy with the value in place of the template"
		}
		c.note(resolve.RuleUnknown, findings.Note, u.Object, u.Template, "what it installs is not checked: "+u.Why,
			hint)
	}
	managed := map[string]*olm.OperatorPolicy{}
	for _, p := range olm.OperatorPolicies(c.Policies) {
		for _, e := range p.Faults {
			refused := *e
			refused.Msg += ": it is refused, and installs nothing"
			c.report(rulePolicy, findings.Error, &refused, p.Object.Identity())
		}
		if why := p.Idle(); why != "" {
			c.note(rulePolicyIdle, findings.Note, p.Object, "spec", "installs nothing: "+why, "")
		}
		if !p.Installs() || p.Namespace == "" {
			continue
		}
		name := p.Namespace + "/" + p.Package
		if first := managed[name]; first != nil {
			c.note(rulePolicy, findings.Warning, p.Object, "spec.subscription", fmt.Sprintf(
				"manages Subscription %s, which %s (%s:%d) manages too: in one cluster, neither has an effect", name,
				first.Object.Identity(), first.Object.File, first.Object.Line),
				"check one environment at a time, or delete one of them")
			continue
		}
		managed[name] = p
	}
}

// defaultChannels sets the channel of each Subscription of an OperatorPolicy that names none to that of the catalogs.
func (c *prediction) defaultChannels(ctx context.Context, state *resolve.State, catalogs Catalogs) {
	for _, p := range olm.OperatorPolicies(c.Policies) {
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
