package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
)

// besideOLMv1 are the recordings of which a real OLM v1 runs beside OLM v0: OLM v1 could install each of them.
var besideOLMv1 = []string{"memcached-operator-all"}

// adoptBesideOLMv1 has operators leave OLM v0 by a plan to profile clusterextension and come back, in clusters where
// OLM v1 runs too.
func (o options) adoptBesideOLMv1(ctx context.Context, release string) error {
	return o.adoptions(ctx, "olmv1: "+release, besideOLMv1, "refused while and after OLM v0 has it, left and back",
		func(c equal.Case) error { return o.adoptCaseBesideOLMv1(ctx, release, c) })
}

func (o options) adoptCaseBesideOLMv1(ctx context.Context, release string, c equal.Case) error {
	a, err := o.installed(ctx, c)
	if err != nil {
		return err
	}
	defer a.stop()
	return o.withOLMv1(ctx, a.cluster, release, []string{withServiceCA}, func(r *v1Run) error {
		dir := filepath.Join(o.golden(), c.Bundle)
		if err := r.serve(ctx, dir); err != nil {
			return err
		}
		if err := a.prepare(ctx); err != nil {
			return err
		}
		return r.leavesBeside(ctx, a, dir)
	})
}

// leavesBeside has an operator leave OLM v0 and come back. OLM v1 must refuse to take over what is there.
func (r *v1Run) leavesBeside(ctx context.Context, a *adoption, dir string) error {
	refused := func(when string) error {
		if err := r.refusesWhatIsThere(ctx, a, dir); err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		return nil
	}
	if err := refused("while OLM v0 has it"); err != nil {
		return err
	}
	p, err := a.plan(ctx, form{to: generate.ProfileClusterExtension})
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
