package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/olmv1"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/generate"
)

// olmv1Releases are what e2e/neighbours/olmv1 builds.
var olmv1Releases = []string{"v1.11.0", "v1.10.0"}

// withInstaller is the release that installs with the rights of a ServiceAccount.
const withInstaller = "v1.10.0"

// installedByOLMv1 is how many bundles each release installs for all namespaces, and for one.
const installedByOLMv1 = 20

// updatesByOLMv1 is how many chains of bundles are updated.
const updatesByOLMv1 = 7

// Of OLM v1, off by default: the first is on to install for single namespaces, the second off where webhooks have
// certificates of OpenShift's service CA, for which nothing else is needed. The third is on in the second cluster of a
// release that installs with the rights of a ServiceAccount.
const (
	singleNamespaces = "SingleOwnNamespaceInstallSupport=true"
	withServiceCA    = "WebhookProviderCertManager=false"
	asksForRights    = "PreflightPermissions=true" // before it installs
)

// v1Case is a bundle that OLM v1 installs.
type v1Case struct {
	dir, name string
	bundle    *bundle.Bundle
	mode      v1alpha1.InstallModeType
	targets   []string
}

// v1Run is what a release of OLM v1 is asked in one cluster.
type v1Run struct {
	*olmv1.Server
	options
	release string
	applier *apply.Applier

	objects, crds int
}

// olmv1 has OLM v1 install bundles with the ClusterExtension that olmgen writes.
func (o options) olmv1(ctx context.Context, m material) (err error) {
	upgrades, err := o.v1Upgrades(m)
	if err != nil {
		return err
	}
	words, err := o.v1Says()
	if err != nil {
		return err
	}
	for _, release := range olmv1Releases {
		for _, single := range []bool{false, true} {
			w := o.v1WorkOf(m, release, single, upgrades)
			for _, c := range words {
				if c.single == single && (c.release == "" || c.release == release) && o.only.MatchString(c.name) {
					w.words = append(w.words, c)
				}
			}
			if len(w.cases)+len(w.upgrades)+len(w.rights)+len(w.users)+len(w.words) > 0 {
				err = errors.Join(err, o.inOLMv1(ctx, release, w.gates, func(r *v1Run) error { return r.work(ctx, w) }))
			}
		}
		err = errors.Join(err, o.adoptBesideOLMv1(ctx, release))
	}
	return err
}

// v1Work is what a cluster is for.
type v1Work struct {
	gates         []string
	cases         []v1Case
	upgrades      []v1Upgrade
	rights, users []v1Case
	words         []v1Words
}

// v1WorkOf is the work in the cluster of a release for operators of all namespaces, or of single ones, as far as it is
// asked for.
func (o options) v1WorkOf(m material, release string, single bool, upgrades []v1Upgrade) v1Work {
	w := v1Work{gates: []string{withServiceCA}, cases: o.picked("", v1Cases(m, single))}
	all := v1Cases(m, false)
	if release == withInstaller {
		prefix := rightsOfCase
		if single {
			prefix = rightsAskedOfCase
		}
		w.rights = o.picked(prefix, slices.DeleteFunc(slices.Clone(all), hasWebhooks))
	}
	if single {
		w.gates = append(w.gates, singleNamespaces)
		if release == withInstaller {
			w.gates = append(w.gates, asksForRights)
		}
		return w
	}
	w.users = o.picked(usersOfCase, slices.DeleteFunc(slices.Clone(all), hasNoAPIs))
	for _, u := range upgrades {
		if o.only.MatchString(u.name) {
			w.upgrades = append(w.upgrades, u)
		}
	}
	return w
}

// picked are the cases that are asked for by a name with a prefix.
func (o options) picked(prefix string, cases []v1Case) (some []v1Case) {
	for _, c := range cases {
		c.name = prefix + c.name
		if o.only.MatchString(c.name) {
			some = append(some, c)
		}
	}
	return some
}

func (r *v1Run) work(ctx context.Context, w v1Work) error {
	return errors.Join(r.installations(ctx, w.cases), r.upgrades(ctx, w.upgrades),
		r.rights(ctx, w.rights, slices.Contains(w.gates, asksForRights)), r.users(ctx, w.users),
		r.words(ctx, w.words))
}

// inOLMv1 calls do with a cluster that runs a release of OLM v1.
func (o options) inOLMv1(ctx context.Context, release string, gates []string, do func(*v1Run) error) error {
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	return o.withOLMv1(ctx, c, release, gates, do)
}

// serve offers a bundle to OLM v1.
func (r *v1Run) serve(ctx context.Context, dir string) error {
	content, err := olmv1.NewCatalog(r.Registry, nil, dir)
	if err != nil {
		return err
	}
	return r.Serve(ctx, content)
}

// withOLMv1 calls do when a release of OLM v1 runs in a cluster.
func (o options) withOLMv1(ctx context.Context, c *cluster.Cluster, release string, gates []string,
	do func(*v1Run) error) error {
	registry, err := catalog.NewRegistry()
	if err != nil {
		return err
	}
	defer registry.Stop()
	if err := c.StartOLMv1(ctx, release, registry.Address, gates...); err != nil {
		return err
	}
	r := &v1Run{Server: &olmv1.Server{Cluster: c, Registry: registry}, options: o, release: release,
		applier: apply.New(c)}
	if err := do(r); err != nil {
		return fmt.Errorf("%s: %w", release, err)
	}
	return ctx.Err()
}

// v1Cases are the repository's bundles, and so many of the corpus that it is enough, each in the modes that are asked
// for.
func v1Cases(m material, single bool) (cases []v1Case) {
	dirs := slices.Clone(m.own)
	for _, p := range every(max(1, len(m.packages)/(2*installedByOLMv1)), m.packages) {
		dirs = append(dirs, p.Bundles[len(p.Bundles)-1])
	}
	modes := []generate.Options{{InstallMode: v1alpha1.InstallModeTypeAllNamespaces}}
	if single {
		modes = []generate.Options{{InstallMode: v1alpha1.InstallModeTypeOwnNamespace},
			{InstallMode: v1alpha1.InstallModeTypeSingleNamespace, TargetNamespaces: []string{"target-a"}}}
	}
	for _, dir := range dirs {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // other checks say so
		}
		for _, mode := range modes {
			if slices.Contains(b.CSV.Spec.InstallModes, v1alpha1.InstallMode{Type: mode.InstallMode, Supported: true}) {
				cases = append(cases, v1Case{dir, short(dir) + " " + string(mode.InstallMode), b, mode.InstallMode,
					mode.TargetNamespaces})
			}
		}
	}
	return cases
}

// installations has OLM v1 install cases, one after the other, until enough were installed.
func (r *v1Run) installations(ctx context.Context, cases []v1Case) (err error) {
	if len(cases) == 0 {
		return nil
	}
	started, installed, classes := time.Now(), 0, map[string]int{}
	for _, c := range cases {
		if installed == installedByOLMv1 || ctx.Err() != nil {
			break
		}
		class, failed := r.installation(ctx, c)
		switch {
		case failed != nil:
			fmt.Printf("olmv1: %s: %s FAILED: %v\n", r.release, c.name, failed)
			err = errors.Join(err, fmt.Errorf("%s: %w", c.name, failed))
		case class != "":
			classes[class]++
		default:
			installed++
		}
	}
	fmt.Printf("olmv1: %s: %d bundles installed, compared and removed, %d objects, %d CRDs among them, %.0fs; "+
		"left out: %s\n", r.release, installed, r.objects, r.crds, time.Since(started).Seconds(), counts(classes))
	return err
}

// render returns what a profile has of a case.
func (r *v1Run) render(c v1Case, profile generate.Profile, ns string) (apply.Tree, *generate.Result, error) {
	o := generate.Options{Profile: profile, InstallMode: c.mode, TargetNamespaces: c.targets, Namespace: ns,
		OLMVersion: r.release[:strings.LastIndex(r.release, ".")], ConvertCRDs: false}
	switch {
	case profile == generate.ProfileClusterExtension:
		o.CreateNamespace, o.CreateTargetNamespaces = true, true
	case len(c.bundle.CSV.Spec.WebhookDefinitions) > 0:
		o.Certs = generate.CertsServiceCA
	}
	result, err := generate.Render(c.bundle, o)
	if err != nil {
		return apply.Tree{}, nil, err
	}
	t, err := apply.TreeOf(c.name, result)
	return t, result, err
}

// installation has OLM v1 install a case, compares, and removes it again. The class says why a case is left out.
func (r *v1Run) installation(ctx context.Context, c v1Case) (class string, err error) {
	extension, result, err := r.render(c, generate.ProfileClusterExtension, "")
	if err != nil {
		return "refused by olmgen and by OLM v1", r.refuses(ctx, c, err)
	}
	want, _, err := r.render(c, generate.ProfileOLMv1, result.Namespace)
	if err != nil {
		return "", err
	}
	if err := r.provide(ctx, extension, want); err != nil {
		return "", err
	}
	if err := r.serve(ctx, c.dir); err != nil {
		return "", err
	}
	before, err := r.Look(ctx)
	if err != nil {
		return "", err
	}
	if _, errs := r.applier.Apply(ctx, extension); len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	name := result.Package
	said, err := r.Complaint(ctx, name)
	foretold := fails(result)
	switch {
	case err != nil:
	case said == "" && foretold != "":
		err = fmt.Errorf("OLM v1 installs it, and olmgen warns: %s", foretold)
	case said != "" && foretold == "":
		err = fmt.Errorf("OLM v1 does not install it, and olmgen does not warn: %s", said)
	case said != "":
		class = "not installed, as olmgen warns"
	default:
		err = r.compare(ctx, before.With(extension.Objects), want)
	}
	if gone := r.Uninstall(ctx, name); gone != nil {
		return "", errors.Join(err, gone)
	}
	left, lookErr := r.Left(ctx, before.With(extension.Objects))
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("after its removal there is %s", strings.Join(left, ", ")))
	}
	return class, errors.Join(err, lookErr, r.applier.Remove(ctx, extension))
}

// fails returns the warning of olmgen that OLM v1 cannot install a bundle.
func fails(result *generate.Result) string {
	for _, w := range result.Warnings {
		if strings.Contains(w.Msg, "OLM v1 does not install it") || strings.Contains(w.Msg, "OLM v1 takes 0") {
			return w.Msg
		}
	}
	return ""
}

// provide makes what must be there before an installation: namespaces, and the APIs of other projects.
func (r *v1Run) provide(ctx context.Context, extension, want apply.Tree) error {
	for _, o := range extension.Objects {
		if o.GetKind() == "Namespace" {
			if err := r.Namespace(ctx, o.GetName(), nil); err != nil {
				return err
			}
		}
	}
	lacking, err := r.applier.Lacking(want)
	if err != nil {
		return err
	}
	for _, o := range lacking {
		if err := stubCRD(ctx, r.Cluster, o); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what there is besides what was there before with what olmgen renders.
func (r *v1Run) compare(ctx context.Context, before olmv1.Objects, want apply.Tree) error {
	now, err := r.Look(ctx)
	if err != nil {
		return err
	}
	made := now.Without(before)
	if text := olmv1.Compare(made, want.Objects); text != "" {
		return fmt.Errorf("it makes something else than profile olmv1 (- OLM v1, + olmgen):\n%s", text)
	}
	r.objects += len(made)
	for _, o := range made {
		if o.GetKind() == "CustomResourceDefinition" {
			r.crds++
		}
	}
	return r.applier.Changes(ctx, want)
}
