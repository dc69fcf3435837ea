package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/e2e/harness/apply"
	"github.com/olmgen/olmgen/e2e/harness/olmv1"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/config/adopt"
)

// besideOLMv1 are the recordings of which a real OLM v1 runs beside OLM v0: OLM v1 could install each of them.
var besideOLMv1 = []string{"memcached-operator-all"}

// adoptBesideOLMv1 has operators leave OLM v0 by a plan to profile clusterextension and come back, in clusters where
// OLM v1 runs too.
func (o options) adoptBesideOLMv1(ctx context.Context, release string) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	for _, c := range cases {
		if ctx.Err() != nil || !slices.Contains(besideOLMv1, c.Name) || !o.only.MatchString(adoptOfCase+c.Name) {
			continue
		}
		started, said := time.Now(), "refused while and after OLM v0 has it, left and back"
		if failed := o.adoptCaseBesideOLMv1(ctx, release, c); failed != nil {
			said = "FAILED: " + failed.Error()
			err = errors.Join(err, fmt.Errorf("%s: %s%s: %w", release, adoptOfCase, c.Name, failed))
		}
		fmt.Printf("olmv1: %s: %s%s: %s, %.0fs\n", release, adoptOfCase, c.Name, said, time.Since(started).Seconds())
	}
	return errors.Join(err, ctx.Err())
}

func (o options) adoptCaseBesideOLMv1(ctx context.Context, release string, c equal.Case) error {
	registry, err := olmv1.NewRegistry()
	if err != nil {
		return err
	}
	defer registry.Stop()
	a, err := o.installed(ctx, c)
	if err != nil {
		return err
	}
	defer a.stop()
	r := &v1Run{Server: &olmv1.Server{Cluster: a.cluster, Registry: registry}, options: o, release: release,
		applier: apply.New(a.cluster)}
	if err := a.cluster.StartOLMv1(ctx, release, registry.Address, withServiceCA); err != nil {
		return err
	}
	dir := filepath.Join(o.golden(), c.Bundle)
	catalog, err := olmv1.NewCatalog(registry, nil, dir)
	if err == nil {
		err = r.Serve(ctx, catalog)
	}
	if err == nil {
		err = a.prepare(ctx)
	}
	if err != nil {
		return err
	}
	refused := func(when string) error {
		if err := r.refusesWhatIsThere(ctx, a, dir); err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		return nil
	}
	if err := refused("while OLM v0 has it"); err != nil {
		return err
	}
	p, err := a.plan(ctx, form{to: generate.ProfileClusterExtension, olm: adopt.OLMStopped})
	if err == nil {
		err = a.leaveBy(ctx, p)
	}
	if err == nil {
		err = refused("after it has left OLM v0")
	}
	if err != nil {
		return err
	}
	return a.comeBack(ctx)
}

// refusesWhatIsThere applies the ClusterExtension of an operator whose objects are there. OLM v1 must refuse it, and
// neither that nor its removal may change anything.
func (r *v1Run) refusesWhatIsThere(ctx context.Context, a *adoption, dir string) error {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		return err
	}
	before, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	c := v1Case{dir: dir, name: a.Name, bundle: b, mode: v1alpha1.InstallModeTypeAllNamespaces}
	extension, result, err := r.render(c, generate.ProfileClusterExtension, a.Namespace)
	if err != nil {
		return err
	}
	extension.Objects = only(extension.Objects, func(o *unstructured.Unstructured) bool {
		return before.Dump.Get(o.GetKind(), o.GetNamespace(), o.GetName()) == nil
	})
	if _, errs := r.applier.Apply(ctx, extension); len(errs) > 0 {
		return errors.Join(errs...)
	}
	said, err := r.Complaint(ctx, result.Package)
	if err == nil && !strings.Contains(said, "already exists") && !strings.Contains(said, "cannot be imported") {
		err = fmt.Errorf("OLM v1 says %q", said)
	}
	if err == nil {
		err = r.Uninstall(ctx, result.Package)
	}
	if err == nil {
		err = r.applier.Remove(ctx, extension)
	}
	if err != nil {
		return err
	}
	// The aggregated roles of users follow a moment later.
	_, err = a.until(ctx, func(after *adopt.State) error { return allSame(before.Dump, after.Dump) })
	return errors.Join(err, a.resourcesKept(ctx))
}
