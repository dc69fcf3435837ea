package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
	"github.com/olmgen/olmgen/predict"
)

// treeFacts is what a tree of manifests says of installed operators.
type treeFacts struct {
	csvs    []permissions.CSV
	held    map[string]bool // operators whose OperatorCondition holds back upgrades, by namespace/name
	metrics Metrics
}

// readTree reads the installed operators of a tree; nil if there are none.
func readTree(ctx context.Context, path string) (*treeFacts, error) {
	t, err := tree.Read(ctx, []string{path}, tree.Options{})
	if err != nil {
		return nil, err
	}
	f, err := factsOf(t.Objects)
	if err != nil {
		return nil, err
	}
	m := f.metrics
	if len(f.csvs)+m.Subscriptions+m.InstallPlans+m.CatalogSources == 0 {
		return nil, nil
	}
	return f, nil
}

func factsOf(objects []*manifest.Object) (f *treeFacts, err error) {
	c := cluster.Read(objects, metav1.NamespaceDefault)
	f = &treeFacts{held: map[string]bool{}, metrics: Metrics{InstallPlans: len(c.InstallPlans)}}
	for _, o := range c.OLM {
		switch o.Kind {
		case v1alpha1.SubscriptionKind:
			f.metrics.Subscriptions++
		case v1alpha1.CatalogSourceKind:
			f.metrics.CatalogSources++
		}
	}
	if f.csvs, err = permissions.InstalledCSVs(objects); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Conditions)) {
		why, fault := cluster.NotUpgradeable(c.Conditions[name])
		if fault != nil {
			return nil, fault
		}
		f.held[name] = why != ""
	}
	return f, nil
}

func (s *Set) addTree(path string, f *treeFacts) {
	s.trees = append(s.trees, f)
	for i, csv := range f.csvs {
		name, version := csv.Name, csv.Spec.Version.String()
		pkg := packageOf(csv)
		value, err := json.Marshal(catalog.PackageProperty{PackageName: pkg, Version: version})
		if err != nil {
			continue // two texts can be encoded
		}
		b := &catalog.Bundle{Name: name, Properties: []catalog.Property{{Type: catalog.TypePackage, Value: value}}}
		at := s.packageAt(pkg, path)
		at.Releases = append(at.Releases, &Release{Name: name, bundle: b, place: csv.Object.File,
			location: catalog.Place{File: csv.Object.File, Line: csv.Object.Line}, facts: f, treeCSV: i})
		at.Bundles = append(at.Bundles, b)
	}
}

// OfTree returns the operators that a tree has, and those that OLM installs for its Subscriptions and
// ClusterExtensions. What is not known counts as unread. The error is about objects that cannot be read, or that of
// ctx.
func OfTree(ctx context.Context, t *tree.Tree, of review.TreeOptions, o Options) (*Set, error) {
	objects, _ := predict.WithPolicies(ctx, t.Objects, of.Namespace, of.Catalogs)
	f, err := factsOf(objects)
	if err != nil {
		return nil, err
	}
	plan, unknown, err := review.Plan(ctx, t, of)
	if err != nil {
		return nil, err
	}
	s := &Set{options: o}
	s.addTree(of.Name, f)
	for _, p := range plan {
		if err := s.addPlanned(ctx, p); err != nil {
			return nil, err
		}
	}
	for _, u := range unknown {
		s.unread(fmt.Sprintf("%s:%d", u.Object.File, u.Object.Line), errors.New(u.String()))
	}
	for _, e := range slices.Concat(t.Unknown(), t.Faults) {
		s.unread(e.File, e)
	}
	s.finish()
	return s, nil
}

func (s *Set) addPlanned(ctx context.Context, p review.Planned) error {
	at := s.packageAt(p.Choice.Package.Name, p.Catalog)
	at.Package = p.Choice.Package
	documents, err := at.DocumentsOf(ctx, fit.SchemaLifecycle)
	at.life = fit.ReadLifecycle(documents)
	at.Releases = append(at.Releases, &Release{Name: p.Name, bundle: p.Choice.Bundle, place: p.Object.File,
		location:   catalog.Place{File: p.Object.File, Line: p.Object.Line},
		Deprecated: deprecation(p.Choice.Package, p.Choice.Bundle), planned: &p})
	s.installs = append(s.installs, p.String())
	return err
}

func (s *Set) packageAt(name, path string) *Package {
	p := lists.Find(s.Packages, func(p *Package) bool { return p.Name == name && p.Source == path })
	if p == nil {
		p = &Package{Package: &catalog.Package{Name: name}, Source: path}
		s.Packages = append(s.Packages, p)
	}
	return p
}

// packageOf returns the package that OLM wrote into the properties of an operator, or the name without its version.
func packageOf(csv permissions.CSV) string {
	properties, _ := bundle.ParseProperties(csv.Annotations[olm.AnnotationProperties]) // none if they cannot be read
	for _, p := range properties {
		var v catalog.PackageProperty
		if p.Type == catalog.TypePackage && json.Unmarshal(p.Value, &v) == nil && v.PackageName != "" {
			return v.PackageName
		}
	}
	return olm.BaseName(csv.Name, csv.Spec.Version.String())
}
