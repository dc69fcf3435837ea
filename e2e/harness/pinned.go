package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/pkg/api"

	"github.com/olmgen/olmgen/e2e/harness/catalog"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
)

// The source catalog, before and after its publisher adds a release of each package.
var (
	published = []release{{"clock", "1.0.0", ""}, {"database", "2.0.0", ""}, {"queue", "1.0.0", "database"},
		{"storage", "1.0.0", ""}, {"storage", "1.1.0", ""}}
	publishedLater = append(slices.Clone(published), release{"clock", "1.1.0", ""}, release{"database", "2.1.0", ""},
		release{"queue", "1.1.0", "database"}, release{"storage", "1.2.0", ""})
)

// servesCatalogs is the user who says where catalogs are served. The policies do not ask it: the address of a server on
// this machine stands in the place of an image.
const servesCatalogs = "serves-catalogs"

// pinnedCluster has a real OLM that takes its operators from a pinned catalog, with automatic approval.
type pinnedCluster struct {
	*cluster.Cluster
	dir      string // of Git: clusters, pinned and the content of the source
	contents map[string]*api.Bundle
	served   map[string]*catalog.Served // by the name of the CatalogSource
}

// pinned installs from pin 1, has the source publish more, and moves to pin 2: only what Git moves may move.
func (o options) pinned(ctx context.Context, _ material) error {
	if path, _ := exec.LookPath("kubectl"); path == "" {
		fmt.Println("pinned: there is no kubectl to build the kustomization: nothing was checked")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	started := time.Now()
	dir, err := os.MkdirTemp("", "olmgen-e2e-pinned-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	c.Resync = 2 * time.Second
	p := &pinnedCluster{c, dir, map[string]*api.Bundle{}, map[string]*catalog.Served{}}
	defer p.stop()
	if err = p.prepare(ctx, filepath.Join(o.root, "e2e", "harness", "pinned")); err == nil {
		err = p.follow(ctx)
	}
	if err != nil {
		return fmt.Errorf("pinned: %w\n%s", err, complaints(c.Log("catalog")))
	}
	fmt.Printf("pinned: three operators at pin 1; four new releases moved none of them, in the source or, by the "+
		"policies, in the pinned catalog; pin 2 moved one, %.0fs\n", time.Since(started).Seconds())
	return nil
}

func (p *pinnedCluster) stop() {
	for _, s := range p.served {
		s.Stop()
	}
}

// prepare writes Git and the contents of the catalogs, and starts OLM.
func (p *pinnedCluster) prepare(ctx context.Context, from string) error {
	if err := os.CopyFS(filepath.Join(p.dir, "clusters"), os.DirFS(from)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(p.dir, "clusters", "control.yaml"),
		filepath.Join(p.dir, "control.yaml")); err != nil {
		return err
	}
	for _, r := range publishedLater {
		b, err := r.write(filepath.Join(p.dir, "bundles"))
		if err != nil {
			return err
		}
		p.contents[r.Image()] = b
	}
	if err := errors.Join(writeSource(filepath.Join(p.dir, "source"), published),
		writeSource(filepath.Join(p.dir, "later"), publishedLater)); err != nil {
		return err
	}
	if err := p.StartOLM(ctx); err != nil {
		return err
	}
	return errors.Join(p.Namespace(ctx, "operators", nil), p.Namespace(ctx, "control", nil))
}

func (p *pinnedCluster) follow(ctx context.Context) error {
	first := map[string]bool{"operators/database.v2.0.0": true, "operators/queue.v1.0.0": true,
		"operators/storage.v1.0.0": true, "control/clock.v1.0.0": true}
	if err := p.install(ctx); err != nil {
		return err
	}
	before, err := p.rest(ctx, first)
	if err != nil {
		return fmt.Errorf("pin 1: %w", err)
	}
	// The control takes its operator from the source: it shows that OLM has seen what is new there.
	later := maps.Clone(first)
	delete(later, "control/clock.v1.0.0")
	later["control/clock.v1.1.0"] = true
	if err := p.serve(ctx, "community", "later"); err != nil {
		return err
	}
	after, err := p.rest(ctx, later)
	if err != nil {
		return fmt.Errorf("the source has more releases: %w", err)
	}
	if moved := before.moved(after, "operators/"); len(moved) > 0 {
		return fmt.Errorf("the source has more releases, and these moved: %v", moved)
	}
	if err := p.refuse(ctx, after, later); err != nil {
		return err
	}
	if err := p.repin(ctx); err != nil {
		return err
	}
	delete(later, "operators/storage.v1.0.0")
	later["operators/storage.v1.1.0"] = true
	second, err := p.rest(ctx, later)
	if err != nil {
		return fmt.Errorf("pin 2: %w", err)
	}
	want := []string{"ClusterServiceVersion operators/storage.v1.0.0", "ClusterServiceVersion operators/storage.v1.1.0",
		"InstallPlan operators/storage.v1.1.0", "Subscription operators/storage"}
	if moved := after.moved(second, "operators/"); !slices.Equal(moved, want) {
		return fmt.Errorf("pin 2 moved %q instead of %q", moved, want)
	}
	return nil
}

// install pins what Git approves, and applies the policies and what Git has.
func (p *pinnedCluster) install(ctx context.Context) error {
	if err := errors.Join(p.pin(ctx, "source", 1, "--admission --exempt-namespaces control --exempt-users "+
		servesCatalogs), p.serve(ctx, "community", "source"),
		p.serve(ctx, "community-pinned", "pinned/catalogs/community-pinned")); err != nil {
		return err
	}
	if err := p.admit(ctx); err != nil {
		return err
	}
	// Without the policies, this would be the way round the pin.
	for {
		out, err := p.Shell(ctx, p.dir, "kubectl apply --dry-run=server -f clusters/subscriptions.yaml")
		if err != nil && strings.Contains(out, "is not pinned") {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the policies do not refuse Subscriptions of the source: %s", out)
		}
		time.Sleep(200 * time.Millisecond)
	}
	_, err := p.shell(ctx, "kubectl kustomize clusters --load-restrictor LoadRestrictionsNone >built.yaml && "+
		"kubectl apply -f control.yaml && kubectl apply --server-side -f built.yaml")
	return err
}

// refuse has the pinned CatalogSource serve all that the source has, as an image under the wrong tag would. OLM
// resolves it, and the policies refuse its InstallPlans.
func (p *pinnedCluster) refuse(ctx context.Context, before snapshot, want map[string]bool) error {
	if err := p.serve(ctx, "community-pinned", "later"); err != nil {
		return err
	}
	after, err := p.rest(ctx, want)
	if err != nil {
		return fmt.Errorf("the pinned catalog has more releases: %w", err)
	}
	if moved := before.moved(after, "operators/"); len(moved) > 0 {
		return fmt.Errorf("the pinned catalog has more releases, and these moved: %v", moved)
	}
	if !strings.Contains(p.Log("catalog"), "olmgen-pin-installplans") {
		return errors.New("the policies were not asked about an InstallPlan with releases that are not pinned")
	}
	return nil
}

// repin moves Git and the pin, and gives the cluster its new content.
func (p *pinnedCluster) repin(ctx context.Context) error {
	const update = "olmgen update clusters --pin pinned --catalog olm/community=later"
	if err := p.pin(ctx, "later", 1, "--check"); err != nil {
		return fmt.Errorf("new releases of the source change the pin: %w", err)
	}
	if out, err := p.shell(ctx, update+" && grep startingCSV clusters/subscriptions.yaml"); err != nil ||
		!strings.Contains(out, "storage.v1.1.0") {
		return fmt.Errorf("update does not move storage to 1.1.0: %w\n%s", err, out)
	}
	if err := p.pin(ctx, "later", 2, ""); err != nil {
		return err
	}
	return errors.Join(p.admit(ctx), p.serve(ctx, "community-pinned", "pinned/catalogs/community-pinned"))
}

func (p *pinnedCluster) pin(ctx context.Context, source string, digest int, flags string) error {
	_, err := p.shell(ctx, fmt.Sprintf("olmgen catalog pin clusters --catalog olm/community=%s -o pinned --image "+
		"registry.test/pinned@sha256:%064d %s", source, digest, flags))
	return err
}

func (p *pinnedCluster) admit(ctx context.Context) error {
	_, err := p.shell(ctx, "kubectl apply --server-side -f pinned/cluster/admission.yaml")
	return err
}

// shell is Shell, whose error has the output.
func (p *pinnedCluster) shell(ctx context.Context, line string) (string, error) {
	out, err := p.Shell(ctx, p.dir, line)
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return out, nil
}

// serve has opm's code serve a content for a CatalogSource, which is created if it is not there.
func (p *pinnedCluster) serve(ctx context.Context, name, content string) error {
	if s := p.served[name]; s != nil {
		s.Stop()
	}
	served, err := catalog.ServeFBC(ctx, filepath.Join(p.dir, content), p.contents)
	if err != nil {
		return err
	}
	p.served[name] = served
	source := fmt.Sprintf("{apiVersion: %q, kind: CatalogSource, metadata: {name: %q, namespace: olm}, spec: "+
		"{sourceType: grpc, address: %q}}", v1alpha1.SchemeGroupVersion, name, served.Address)
	file := filepath.Join(p.dir, name+".yaml")
	if err := os.WriteFile(file, []byte("---\n"+source), 0o600); err != nil {
		return err
	}
	_, err = p.shell(ctx, "kubectl apply --as "+servesCatalogs+" --as-group system:masters -f "+file)
	return err
}

// snapshot is what OLM has made: what an object says, by its kind and name. An InstallPlan is named by its releases.
type snapshot map[string]string

// moved names what differs, of a namespace.
func (s snapshot) moved(later snapshot, namespace string) (names []string) {
	for name := range later {
		s[name] += ""
	}
	for name, text := range s {
		if strings.Contains(name, " "+namespace) && text != later[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// look reads what OLM has made, and whether exactly some ClusterServiceVersions have succeeded.
func (p *pinnedCluster) look(ctx context.Context, want map[string]bool) (snapshot, error) {
	s := snapshot{}
	left := maps.Clone(want)
	for kind, resource := range map[string]string{"ClusterServiceVersion": "clusterserviceversions",
		"InstallPlan": "installplans", "Subscription": "subscriptions"} {
		client := p.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource))
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			name, text := facts(o)
			s[kind+" "+name] = text
			if kind == "ClusterServiceVersion" && o.GetLabels()["olm.copiedFrom"] == "" {
				if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); !want[name] ||
					phase != string(v1alpha1.CSVPhaseSucceeded) {
					return s, fmt.Errorf("%s is there and %s", name, phase)
				}
				delete(left, name)
			}
		}
	}
	if len(left) > 0 {
		return s, fmt.Errorf("there is no %v", slices.Sorted(maps.Keys(left)))
	}
	return s, nil
}

// facts returns the name of an object and what may not change by itself.
func facts(o unstructured.Unstructured) (name, text string) {
	name = o.GetName()
	releases, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "clusterServiceVersionNames")
	if len(releases) > 0 {
		name = strings.Join(releases, "+")
	}
	installed, _, _ := unstructured.NestedString(o.Object, "status", "installedCSV")
	return o.GetNamespace() + "/" + name, string(o.GetUID()) + " " + installed
}

// rest waits until exactly some ClusterServiceVersions are there and have succeeded, and for four resyncs after that.
func (p *pinnedCluster) rest(ctx context.Context, want map[string]bool) (snapshot, error) {
	var last snapshot
	since := time.Now()
	for {
		now, err := p.look(ctx, want)
		if err != nil || !maps.Equal(last, now) {
			since = time.Now()
		}
		last = now
		if err == nil && time.Since(since) > 4*p.Resync {
			return now, nil
		}
		if dead := p.Check(); dead != nil {
			return nil, dead
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("it does not come to rest: %w", err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
