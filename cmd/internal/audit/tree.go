package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// cluster is one of the clusters of a tree.
type cluster struct {
	name    string // empty if there is one
	objects []*manifest.Object
	csvs    []permissions.CSV
	granted *permissions.Report

	rights map[string]*permissions.Report // granted, by namespace
	crds   map[string][]*manifest.Object  // by name
	beside map[string][]*manifest.Object  // what bundles may have, by namespace
	shared map[string]bool                // namespaces of several operators
	states map[string]predict.CSV         // what becomes of each CSV, by namespace and name
}

// index fills in what is looked up for each operator.
func (c *cluster) index() {
	c.rights = c.granted.ByNamespace()
	c.crds = lists.Group(lists.Filter(c.objects, func(o *manifest.Object) bool { return olm.IsCRD(o.Group(), o.Kind) }),
		func(o *manifest.Object) string { return o.Name })
	c.beside = lists.Group(lists.Filter(c.objects, func(o *manifest.Object) bool {
		_, known := install.KindOf(o.Kind)
		return known && !permissions.Relevant(o.Group(), o.Kind) && o.Group() != olm.Group // which OLM makes
	}), func(o *manifest.Object) string { return o.Namespace })
	one := map[string]bool{}
	c.shared = map[string]bool{}
	for _, csv := range c.csvs {
		c.shared[csv.Namespace], one[csv.Namespace] = one[csv.Namespace], true
	}
}

// crdsOf returns the CRDs that an operator owns.
func (c *cluster) crdsOf(csv *v1alpha1.ClusterServiceVersion) (list []*manifest.Object) {
	for _, name := range lists.Keys(owned(csv)) {
		list = append(list, c.crds[name]...)
	}
	return list
}

// shipped returns what stands for the objects of an installed operator's bundle: its CRDs, and what bundles may have of
// its namespace. It returns nil where that is not known: CRDs are missing, or several operators share the namespace.
func (c *cluster) shipped(csv *permissions.CSV) []*manifest.Object {
	list := c.crdsOf(csv.ClusterServiceVersion)
	if len(list) < len(owned(csv.ClusterServiceVersion)) || c.shared[csv.Namespace] {
		return nil
	}
	return append(list, c.beside[csv.Namespace]...)
}

// others returns a note on the accounts with rights that belong to no ClusterServiceVersion, or "".
func (c *cluster) others(path string) string {
	known := map[permissions.Subject]bool{}
	for _, csv := range c.csvs {
		maps.Copy(known, permissions.Accounts(csv, true))
	}
	of := c.granted.Of(func(s permissions.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && !known[s]
	})
	bound := append(lists.Map(of.Permissions, func(i permissions.Item) permissions.Subject { return i.Subject }),
		lists.Map(of.Unknown, func(u permissions.Unknown) permissions.Subject { return u.Subject })...)
	names := lists.SortedUnique(lists.Map(bound, func(s permissions.Subject) string {
		return s.Namespace + "/" + s.Name
	}))
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("not in the table: %s with rights and without a ClusterServiceVersion (%s), reaches: %s; "+
		"olmgen permissions %s looks at them", text.Count(len(names), "account"), text.FirstOf(3, names),
		Row{Reaches: reachesOf(of)}.reaches(), text.Shell(path))
}

// addInstalled adds an operator that a cluster has, with its OperatorCondition, which may be nil.
func (s *Set) addInstalled(c *cluster, path string, csv *permissions.CSV, condition *manifest.Object) error {
	held := ""
	if condition != nil {
		var fault *manifest.Error
		if held, fault = world.NotUpgradeable(condition); fault != nil {
			return fault
		}
	}
	pkg := PackageOf(*csv)
	b := &catalog.Bundle{Name: csv.Name, Properties: []catalog.Property{
		catalog.PropertyOf(catalog.PackageProperty{PackageName: pkg, Version: csv.Spec.Version.String()})}}
	at := s.packageAt(pkg, path)
	at.Releases = append(at.Releases, &Release{Name: csv.Name, bundle: b, place: csv.Object.File,
		location: catalog.Place{File: csv.Object.File, Line: csv.Object.Line}, installed: csv, held: held != "",
		cluster: c})
	at.Bundles = append(at.Bundles, b)
	return nil
}

// OfTree returns the operators that the clusters of a tree have, and those that OLM installs for their Subscriptions
// and ClusterExtensions. What is not known is unread. The error is about objects that cannot be read, or that of ctx.
func OfTree(ctx context.Context, t *tree.Tree, of review.TreeOptions, o Options) (*Set, error) {
	s := &Set{options: o, at: map[[2]string]*Package{}}
	parts := review.ClustersOf(t)
	if len(parts) > 1 {
		s.Notes = append(s.Notes, t.ClustersText())
	}
	for _, part := range parts {
		in := &cluster{}
		if len(parts) > 1 {
			in.name = part.Roots[0].Cluster
		}
		if err := s.addCluster(ctx, in, part, of); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Concat(t.Unknown(), t.Faults) {
		s.unread(e.File, e)
	}
	s.Notes = lists.Unique(s.Notes)
	s.finish()
	return s, nil
}

func (s *Set) addCluster(ctx context.Context, in *cluster, t *tree.Tree, of review.TreeOptions) (err error) {
	path := cmp.Or(in.name, of.Name)
	w := predict.World(ctx, t.Objects, cmp.Or(of.Namespace, metav1.NamespaceDefault), of.Catalogs)
	s.metrics.InstallPlans += len(w.InstallPlans)
	for _, x := range w.OLM {
		switch x.Kind {
		case v1alpha1.SubscriptionKind:
			s.metrics.Subscriptions++
		case v1alpha1.CatalogSourceKind:
			s.metrics.CatalogSources++
		}
	}
	in.objects = slices.Collect(w.All())
	if in.csvs, err = permissions.InstalledCSVs(in.objects); err != nil {
		return err
	}
	in.granted, err = permissions.Evaluate(permissions.Input{Objects: in.objects, CSVs: in.csvs,
		Namespace: of.Namespace})
	if err != nil {
		return err
	}
	in.index()
	for i := range in.csvs {
		csv := &in.csvs[i]
		if err := s.addInstalled(in, path, csv, w.Conditions[csv.Namespace+"/"+csv.Name]); err != nil {
			return err
		}
	}
	predicted, err := predict.Check(ctx, t, predict.Options{Namespace: of.Namespace, Catalogs: of.Catalogs, API: of.API,
		Target: of.Target})
	if err != nil {
		return err
	}
	in.states = lists.By(predicted.CSVs, func(v predict.CSV) string { return v.Namespace + "/" + v.Name })
	plan, unknown := review.PlanOf(predicted, of.Target)
	for _, p := range plan {
		at := s.packageAt(p.Choice.Package.Name, p.Catalog)
		at.Package = p.Choice.Package
		documents, err := at.DocumentsOf(ctx, fit.SchemaLifecycle)
		if err != nil {
			return err
		}
		at.life = fit.ReadLifecycle(documents)
		at.Releases = append(at.Releases, &Release{Name: p.Name, bundle: p.Choice.Bundle, place: p.Object.File,
			location:   catalog.Place{File: p.Object.File, Line: p.Object.Line},
			Deprecated: deprecation(p.Choice.Package, p.Choice.Bundle), planned: &p, cluster: in})
		s.Notes = append(s.Notes, p.String())
	}
	if note := in.others(path); note != "" {
		s.Notes = append(s.Notes, note)
	}
	for _, u := range unknown {
		s.unread(fmt.Sprintf("%s:%d", u.Object.File, u.Object.Line), errors.New(u.String()))
	}
	return nil
}

func (s *Set) packageAt(name, path string) *Package {
	key := [2]string{name, path}
	if s.at[key] == nil {
		s.at[key] = &Package{Package: &catalog.Package{Name: name}, Source: path}
		s.Packages = append(s.Packages, s.at[key])
	}
	return s.at[key]
}

// PackageOf returns the package that OLM wrote into the properties of an operator, or the name without its version.
func PackageOf(csv permissions.CSV) string {
	properties, _ := bundle.ParseProperties(csv.Annotations[olm.AnnotationProperties]) // none if they cannot be read
	for _, p := range properties {
		var v catalog.PackageProperty
		if p.Type == olm.PropertyPackage && json.Unmarshal(p.Value, &v) == nil && v.PackageName != "" {
			return v.PackageName
		}
	}
	return olm.BaseName(csv.Name, csv.Spec.Version.String())
}
