package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/olmv1"
	"github.com/olmgen/olmgen/generate"
)

// v1Upgrade is a chain of bundles of one package, oldest first. Those of the catalog are offered at once, or one more
// each time, so that what each of them makes is compared.
type v1Upgrade struct {
	name     string
	dirs     []string
	oneByOne bool
}

// v1Upgrades are the chains of testdata/updates, and the newest three bundles of some packages of the corpus.
func (o options) v1Upgrades(m material) (all []v1Upgrade, err error) {
	own, err := filepath.Glob(filepath.Join(o.root, "e2e", "harness", "testdata", "updates", "*"))
	for _, dir := range own {
		bundles, globErr := filepath.Glob(filepath.Join(dir, "*"))
		name := "update of " + filepath.Base(dir)
		all = append(all, v1Upgrade{name, bundles, false}, v1Upgrade{name + " one by one", bundles, true})
		err = errors.Join(err, globErr)
	}
	for _, p := range m.packages {
		if n := len(p.Bundles); n > 2 && len(all) < updatesByOLMv1 {
			all = append(all, v1Upgrade{"update of " + short(p.Bundles[n-3]), p.Bundles[n-3:], false})
		}
	}
	if len(own) == 0 {
		err = errors.Join(err, errors.New("no bundles in e2e/harness/testdata/updates"))
	}
	return all, err
}

// unsafe is what OLM v1 says of an update whose CRDs do not fit custom resources that could exist.
const unsafe = "validating upgrade for CRD"

// upgrades has OLM v1 update packages step by step. The steps must be those of "olmgen catalog path", and where OLM v1
// rests there must be what profile olmv1 renders of that version, and nothing else.
func (r *v1Run) upgrades(ctx context.Context, all []v1Upgrade) (err error) {
	for _, u := range all {
		if ctx.Err() != nil {
			break
		}
		started := time.Now()
		said, failed := r.update(ctx, u)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", u.name, failed))
			said = "FAILED: " + failed.Error()
		}
		fmt.Printf("olmv1: %s: %s: %s, %.0fs\n", r.release, u.name, said, time.Since(started).Seconds())
	}
	return err
}

// v1State is a version on the way: the ClusterExtension with what it needs, and what OLM v1 makes of it.
type v1State struct{ extension, want apply.Tree }

// states renders the versions on the way. The class says why there are none.
func (r *v1Run) states(u v1Upgrade) (all []v1State, first *generate.Result, class string, err error) {
	ns := ""
	for _, dir := range u.dirs {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			return nil, nil, "", err
		}
		c := v1Case{dir: dir, name: b.CSV.Name, bundle: b, mode: v1alpha1.InstallModeTypeAllNamespaces}
		extension, result, err := r.render(c, generate.ProfileClusterExtension, ns)
		if err != nil {
			return nil, nil, err.Error(), nil //nolint:nilerr // that OLM v1 refuses it as well is another check
		}
		if why := fails(result); why != "" {
			return nil, nil, why, nil
		}
		if first == nil {
			first, ns = result, result.Namespace
		}
		want, _, err := r.render(c, generate.ProfileOLMv1, ns)
		if err != nil {
			return nil, nil, "", err
		}
		all = append(all, v1State{extension, want})
	}
	return all, first, "", nil
}

func (r *v1Run) update(ctx context.Context, u v1Upgrade) (string, error) {
	states, first, class, err := r.states(u)
	if class != "" || err != nil {
		return "left out: " + class, err
	}
	all := withRightsOf(states)
	for _, s := range states {
		err = errors.Join(err, r.provide(ctx, all, s.want))
	}
	if err != nil {
		return "", err
	}
	before, err := r.Look(ctx)
	if err != nil {
		return "", err
	}
	before = before.With(all.Objects)
	versions, path, err := r.walk(ctx, u, states, first, before)
	held := err != nil && strings.Contains(err.Error(), unsafe)
	if held {
		err = nil
	}
	err = errors.Join(err, r.Uninstall(ctx, first.Package))
	left, lookErr := r.Left(ctx, before)
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("after its removal there is %s", strings.Join(left, ", ")))
	}
	err = errors.Join(err, lookErr, r.applier.Remove(ctx, all))
	if held && err == nil {
		return "OLM v1 holds it back after " + strings.Join(versions, ", ") + ": the next CRDs are not safe for it", nil
	}
	if err == nil && !slices.Equal(versions, path) {
		err = fmt.Errorf("OLM v1 installs %s, olmgen catalog path says %s", strings.Join(versions, ", "),
			strings.Join(path, ", "))
	}
	return strings.Join(versions, ", "), err
}

// walk installs the first version, offers the next ones, and returns what is installed one after the other, with what
// "olmgen catalog path" says of that.
func (r *v1Run) walk(ctx context.Context, u v1Upgrade, states []v1State, first *generate.Result,
	before olmv1.Objects) (versions, path []string, err error) {
	whole, err := olmv1.NewCatalog(r.Registry, nil, u.dirs...)
	if err != nil {
		return nil, nil, err
	}
	if path, err = r.path(ctx, whole, first); err != nil {
		return nil, nil, err
	}
	if len(path) != len(states) {
		return nil, path, fmt.Errorf("olmgen catalog path says %s", strings.Join(path, ", "))
	}
	offers := []int{1, len(states)}
	if u.oneByOne {
		offers = nil
		for i := range states {
			offers = append(offers, i+1)
		}
	}
	for _, n := range offers {
		offered, err := olmv1.NewCatalog(r.Registry, nil, u.dirs[:n]...)
		if err != nil {
			return versions, path, err
		}
		step, err := r.Versions(ctx, first.Package, path[n-1], func() error {
			if err := r.Serve(ctx, offered); err != nil || n > 1 {
				return err
			}
			_, errs := r.applier.Apply(ctx, withRightsOf(states))
			return errors.Join(errs...)
		})
		versions = slices.Compact(append(versions, step...))
		if err != nil {
			return versions, path, err
		}
		if err := r.compare(ctx, before, states[n-1].want); err != nil {
			return versions, path, fmt.Errorf("%s: %w", path[n-1], err)
		}
	}
	return versions, path, nil
}

// withRightsOf is the first version with the rights for all of them: to update, the ServiceAccount needs those for the
// objects that are there and those for the next ones.
func withRightsOf(states []v1State) apply.Tree {
	t := apply.Tree{Name: states[0].extension.Name}
	for i, s := range states {
		for _, o := range s.extension.Objects {
			switch {
			case i == 0:
				t.Objects = append(t.Objects, o)
			case ofInstaller(o) && o.GetKind() != "ServiceAccount":
				t.Objects = append(t.Objects, renamed(o, i))
			}
		}
	}
	last := slices.IndexFunc(t.Objects, ofExtension)
	extension := t.Objects[last]
	t.Objects = append(slices.Delete(t.Objects, last, last+1), extension) // it comes last
	return t
}

func ofExtension(o *unstructured.Unstructured) bool { return o.GetKind() == "ClusterExtension" }

// renamed is a role or a binding of the installer beside the one of the first version.
func renamed(o *unstructured.Unstructured, i int) *unstructured.Unstructured {
	c := o.DeepCopy()
	name := fmt.Sprintf("%s-%d", o.GetName(), i)
	c.SetName(name)
	if _, binding, _ := unstructured.NestedMap(c.Object, "roleRef"); binding {
		_ = unstructured.SetNestedField(c.Object, name, "roleRef", "name") // it is there
	}
	return c
}

// path is what "olmgen catalog path" says: the versions from the one that is installed to the last.
func (r *v1Run) path(ctx context.Context, c *olmv1.Catalog, result *generate.Result) ([]string, error) {
	dir, err := os.MkdirTemp(r.files(), "catalog-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "catalog.json"), c.Content, 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin(), "olmgen"), "catalog", "path", c.Package,
		"--profile", "clusterextension", "--catalog", dir, "--from", result.Version, "--format", "json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("olmgen catalog path: %w\n%s", err, stderr.String())
	}
	var said struct{ Steps []struct{ Version string } }
	versions := []string{result.Version}
	err = json.Unmarshal(out, &said)
	for _, s := range said.Steps {
		versions = append(versions, s.Version)
	}
	return versions, err
}
