package review

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/manifest/tree"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
	"github.com/olmgen/olmgen/source"
)

// TreeOptions say how a tree is reviewed.
type TreeOptions struct {
	Name      string           // of the tree, for a person
	Namespace string           // of objects that name none
	Catalogs  predict.Catalogs // what Subscriptions install from
	Source    source.Options   // how bundles are fetched that a catalog only names
}

// FromTree returns the objects of a tree as a Subject, with what OLM makes of the operators that it installs for the
// Subscriptions of the tree. An operator is unknown if no catalog says what it is, if OLM installs none, or if its
// bundle cannot be read or rendered. Other errors are about objects that cannot be read, and those of ctx.
func FromTree(ctx context.Context, t *tree.Tree, o TreeOptions) (*Subject, error) {
	s, err := FromObjects(t.Objects, permissions.Operator{Name: o.Name}, o.Namespace)
	if err != nil {
		return nil, err
	}
	for _, e := range t.Faults {
		s.Unread = append(s.Unread, e.Error())
	}
	if !slices.ContainsFunc(t.Objects, handsOver) {
		return s, nil
	}
	predicted, err := predict.Check(ctx, t, predict.Options{Namespace: o.Namespace, Catalogs: o.Catalogs})
	if err != nil {
		return nil, err
	}
	for _, u := range predicted.Unknown {
		s.unknown(Unknown{Object: u.Object, Why: u.Why})
	}
	for _, i := range predicted.Installs {
		installed, err := installedBy(ctx, i, o.Source)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.unknown(Unknown{Object: i.Subscription, Name: i.Name, Why: err.Error()})
			continue
		}
		s.add(installed)
		s.Notes = append(s.Notes, standsFor(i))
	}
	return s, nil
}

// handsOver reports whether an object has OLM choose what it installs.
func handsOver(o *manifest.Object) bool {
	return o.Kind == v1alpha1.SubscriptionKind && o.Group() == olm.Group
}

// installedBy renders what OLM makes of an operator in its namespace.
func installedBy(ctx context.Context, i predict.Install, so source.Options) (*Subject, error) {
	if i.Group.Unknown != "" {
		return nil, fmt.Errorf("the target namespaces of OperatorGroup %s/%s are not known: %s", i.Group.Namespace,
			i.Group.Name, i.Group.Unknown)
	}
	bundle := map[string]any{"source": installSource}
	if settings, err := i.Subscription.Get("spec", "config"); err == nil && settings != nil && !i.Dependency {
		bundle["config"] = settings
	}
	group := map[string]any{"namespace": i.Namespace, "name": i.Group.Name, "bundles": []any{bundle}}
	if slices.Equal(i.Group.Namespaces, []string{""}) {
		group["installMode"] = string(v1alpha1.InstallModeTypeAllNamespaces)
	} else {
		var targets []any
		for _, ns := range i.Group.Namespaces {
			targets = append(targets, ns)
		}
		group["targetNamespaces"] = targets
	}
	if i.Group.Account != "" {
		group["serviceAccount"] = i.Group.Account
	}
	c, err := config.Read(i.Subscription.File, manifest.Encode(map[string]any{
		"apiVersion": config.APIVersion, "kind": config.Kind,
		// An operator that serves must have certificates. They have no part in a review.
		"defaults": map[string]any{"certs": map[string]any{"provider": string(generate.CertsManager)}},
		"groups":   []any{group},
	}))
	if err != nil {
		return nil, err
	}
	rendered, err := c.Render(ctx, config.Options{Source: so, Chosen: map[string]catalog.Choice{installSource: i.Choice}})
	if err != nil {
		return nil, err
	}
	s, err := FromRendered(rendered)
	if err != nil {
		return nil, err
	}
	ref := cmp.Or(rendered.Opened[0].Ref, i.Name)
	s.MovePaths(func(_ int, file string) string { return PathIn(ref, file) })
	return s, nil
}

// installSource stands for the bundle that OLM installs.
const installSource = "subscribed"

// add adds the objects and operators of another subject. Of two objects of one name, that of s stays.
func (s *Subject) add(other *Subject) {
	have := map[string]bool{}
	for _, o := range s.All {
		have[o.Group()+" "+o.Identity()] = true
	}
	added := map[*manifest.Object]bool{}
	for _, o := range other.All {
		if !have[o.Group()+" "+o.Identity()] {
			s.All = append(s.All, o)
			added[o] = true
		}
	}
	for _, o := range other.Objects {
		if added[o] {
			s.Objects = append(s.Objects, o)
		}
	}
	s.CSVs = append(s.CSVs, other.CSVs...)
	s.Shipped = append(s.Shipped, other.Shipped...)
	s.Operators = append(s.Operators, other.Operators...)
	s.opened = append(s.opened, other.opened...)
	s.locate = func(o *manifest.Object, field string) (string, int) { return permissions.Place(s.CSVs, o, field) }
}

// Unknown is an object that hands an operator over to OLM, and why its operator is not in the review.
type Unknown struct {
	Object *manifest.Object
	Name   string // of the ClusterServiceVersion, as far as it is known
	Why    string
}

// String says it in a sentence.
func (u Unknown) String() string {
	name := u.Object.Identity()
	if u.Name != "" {
		name += " (" + u.Name + ")"
	}
	return fmt.Sprintf("%s: %s", name, strings.TrimSuffix(u.Why, "."))
}

// standsFor says what a Subscription stands for.
func standsFor(i predict.Install) string {
	out := fmt.Sprintf("%s (%s:%d): %s from catalog %s", i.Subscription.Identity(), i.Subscription.File,
		i.Subscription.Line, i.Name, i.Catalog)
	if i.Choice.Channel != nil {
		out += ", channel " + i.Choice.Channel.Name
	}
	if i.Dependency {
		out += ", as a dependency"
	}
	return out
}

// unknown adds an object whose operator is not known.
func (s *Subject) unknown(u Unknown) {
	s.Unknown = append(s.Unknown, u)
	s.Unresolved = append(s.Unresolved, u.String())
}

func (u Unknown) sameObject(other Unknown) bool {
	return u.Object.Identity() == other.Object.Identity() && u.Name == other.Name
}

// unresolved returns what is unknown of a subject that is compared with an older one.
func (s *Subject) unresolved(old *Subject) []compare.Unresolved {
	var out []compare.Unresolved
	for _, u := range s.Unknown {
		changed := !slices.ContainsFunc(old.Unknown, u.sameObject) || !slices.EqualFunc(old.deciding(u), s.deciding(u), sameContent)
		message := u.Why
		if u.Name != "" {
			message = u.Name + ": " + u.Why
		}
		out = append(out, compare.Unresolved{Object: u.Object.Identity(), Message: message, Changed: changed,
			File: u.Object.File, Line: u.Object.Line})
	}
	return out
}

// deciding returns the objects that decide which operator is installed: the object itself, OperatorGroups and other
// Subscriptions of its namespace, and catalogs.
func (s *Subject) deciding(u Unknown) []*manifest.Object {
	var out []*manifest.Object
	for _, o := range s.All {
		switch {
		case o.Group() != olm.Group && o.Group() != olm.GroupV1:
		case o.Identity() == u.Object.Identity(), o.Kind == v1alpha1.CatalogSourceKind, o.Kind == "ClusterCatalog",
			o.Kind == operatorsv1.OperatorGroupKind && o.Namespace == u.Object.Namespace,
			o.Kind == v1alpha1.SubscriptionKind && o.Namespace == u.Object.Namespace:
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *manifest.Object) int { return cmp.Compare(a.Identity(), b.Identity()) })
	return out
}

func sameContent(a, b *manifest.Object) bool {
	x, err := a.Value()
	if err != nil {
		return false
	}
	y, err := b.Value()
	return err == nil && reflect.DeepEqual(x, y)
}
