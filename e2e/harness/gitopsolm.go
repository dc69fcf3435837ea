package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/e2e/harness/apply"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
)

// handover is a tree that asks OLM for an operator, in both ways, and a custom resource of this operator. The harness
// stands in for OLM.
type handover struct {
	profile    string
	flags      []string
	kind       string // that is asked for the operator
	expression string // is true when OLM has installed it (docs/engines/flux.md)
	status     string // that OLM gives it then
}

var handovers = []handover{
	{"subscription", []string{"--catalog-source", "olm/catalog"}, "Subscription",
		"has(status.state) && status.state == 'AtLatestKnown'",
		`{"status":{"state":"AtLatestKnown","lastUpdated":"2026-01-01T00:00:00Z","conditions":[{` +
			`"type":"CatalogSourcesUnhealthy","status":"False","reason":"AllCatalogSourcesHealthy"}]}}`},
	{"clusterextension", nil, "ClusterExtension",
		"has(status.conditions) && status.conditions.exists(c, c.type == 'Installed' && c.status == 'True')",
		`{"status":{"conditions":[{"type":"Installed","status":"True","reason":"Succeeded","message":"installed",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
}

// askedFor is a handover that is rendered.
type askedFor struct {
	handover
	tree     gitopsTree
	crd      *unstructured.Unstructured // that OLM would install
	instance *unstructured.Unstructured // the custom resource
	request  *unstructured.Unstructured // the Subscription or ClusterExtension
}

func (o options) renderHandover(ctx context.Context, c *cluster.Cluster, h handover,
	annotations string) (a askedFor, err error) {
	bundle := filepath.Join(o.root, "examples", "memcached-operator", "bundle")
	a.handover = h
	flags := append([]string{"--profile", h.profile}, h.flags...)
	if a.tree, err = o.renderGitOps(ctx, c.File("handover-"+h.profile), bundle, annotations, 0, flags...); err != nil {
		return a, err
	}
	for _, t := range a.tree.objects {
		if t.GetKind() == h.kind {
			a.request = t
		}
	}
	a.crd = &unstructured.Unstructured{}
	data, err := os.ReadFile(filepath.Join(bundle, "manifests", "cache.example.com_memcacheds.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, a.crd)
	}
	if err == nil && a.request == nil {
		err = fmt.Errorf("%s: no %s", a.tree.name, h.kind)
	}
	a.instance = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "spec": map[string]any{"size": int64(1)},
		"metadata": map[string]any{"name": "sample", "namespace": "default"}}}
	return a, errors.Join(err, foreignCRDs(ctx, c, a.tree))
}

// install does what OLM does: it installs the CRD, and says so.
func (h askedFor) install(ctx context.Context, c *cluster.Cluster) error {
	if _, err := c.Dynamic.Resource(cluster.CRDs).Create(ctx, h.crd,
		metav1.CreateOptions{}); cluster.Exists(err) != nil {
		return err
	}
	if err := c.Established(ctx, h.crd.GetName()); err != nil {
		return err
	}
	_, err := c.ClientOf(h.request).Patch(ctx, h.request.GetName(), "application/merge-patch+json", []byte(h.status),
		metav1.PatchOptions{}, h.subresource()...)
	return err
}

// subresource is where the status is written: the stub of a CRD has no subresource.
func (h askedFor) subresource() []string {
	if h.kind == "Subscription" {
		return []string{"status"}
	}
	return nil
}

// writeInstance puts the custom resource into a directory, alone or with what is there.
func writeInstance(dir string, o *unstructured.Unstructured, others []string) error {
	data, err := yaml.Marshal(o.Object)
	if err != nil {
		return err
	}
	list, err := yaml.Marshal(map[string]any{"resources": append([]string{"instance.yaml"}, others...)})
	return errors.Join(err, os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "instance.yaml"), data, 0o600),
		os.WriteFile(filepath.Join(dir, "kustomization.yaml"), list, 0o600))
}

// handovers syncs a request to OLM and a custom resource as one Application. Without SkipDryRunOnMissingResource
// nothing is synced. With it and a wave the custom resource waits until Argo CD's health check of the request says that
// OLM has installed the operator. Where Argo CD has no such check, retries end when OLM has installed the CRD, or a
// check of docs/engines/argocd.md is added.
func (a *argo) handovers(ctx context.Context, o options, s *summary) {
	checks, err := o.healthChecks()
	for n, h := range handovers {
		x, failed := o.renderHandover(ctx, a.cluster, h, "argocd")
		if failed == nil {
			_, ours := checks[x.request.GroupVersionKind().Group+"_"+h.kind]
			failed = a.handover(ctx, x, fmt.Sprintf("handover-%d", n), nil, !ours)
			if failed == nil && ours {
				failed = a.handover(ctx, x, fmt.Sprintf("handover-%d-checked", n), checks, true)
			}
		}
		_ = s.add(h.kind+" and a custom resource", apply.Result{Applied: len(x.tree.objects)},
			joined(errors.Join(err, failed)))
	}
}

// healthChecks are the health checks that docs/engines/argocd.md adds to Argo CD, by GROUP_KIND.
func (o options) healthChecks() (map[string]string, error) {
	const setting = "resource.customizations.health."
	data, err := os.ReadFile(filepath.Join(o.root, "docs", "engines", "argocd.md"))
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(data), "```yaml\n"+setting)
	text, _, found := strings.Cut(text, "```")
	if !found {
		return nil, fmt.Errorf("docs/engines/argocd.md has no %sGROUP_KIND", setting)
	}
	var checks map[string]string
	return checks, yaml.UnmarshalStrict([]byte(text), &checks)
}

func (a *argo) handover(ctx context.Context, h askedFor, name string, health map[string]string, waits bool) error {
	defer removeTree(ctx, a.applier, h.tree)
	defer removeTree(ctx, a.applier, gitopsTree{name: name, objects: []*unstructured.Unstructured{h.instance, h.crd}})
	dir := filepath.Join(h.tree.dir, "..", name)
	others := []string{"../" + filepath.Base(h.tree.dir)}
	app := argoRequest{App: name, Dirs: []string{dir}, Namespace: "default", ServerSideDiff: true, Health: health}
	h.instance = h.instance.DeepCopy()
	if err := writeInstance(dir, h.instance, others); err != nil {
		return err
	}
	if _, err := a.sync(ctx, app); err == nil {
		return errors.New("a custom resource whose CRD is not there is synced without SkipDryRunOnMissingResource")
	}
	if there, err := a.applier.Get(ctx, h.request); err != nil || there != nil {
		return fmt.Errorf("the sync fails, but the %s is there: %w", h.kind, err)
	}
	h.instance.SetAnnotations(map[string]string{"argocd.argoproj.io/sync-wave": "1",
		"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"})
	if err := writeInstance(dir, h.instance, others); err != nil {
		return err
	}
	if waits {
		return a.handoverWaits(ctx, h, app)
	}
	if _, err := a.sync(ctx, app); err == nil {
		return errors.New("a custom resource whose CRD is not there is synced")
	}
	if there, err := a.applier.Get(ctx, h.request); err != nil || there == nil {
		return fmt.Errorf("the %s is not there before the custom resource: %w", h.kind, err)
	}
	if err := h.install(ctx, a.cluster); err != nil {
		return err
	}
	var err error
	for range 20 { // Argo CD retries; the engine must first see the new API
		if _, err = a.sync(ctx, app); err == nil {
			return a.inSync(ctx, app, nil)
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("after OLM has installed the CRD: %w", err)
}

// handoverWaits has OLM install the operator while Argo CD syncs. The sync must not end before, and must succeed.
func (a *argo) handoverWaits(ctx context.Context, h askedFor, app argoRequest) error {
	synced := make(chan error, 1)
	go func() {
		_, err := a.sync(ctx, app)
		synced <- err
	}()
	for {
		there, err := a.applier.Get(ctx, h.request)
		if err != nil {
			return err
		}
		if there != nil {
			break
		}
		select {
		case err := <-synced:
			return fmt.Errorf("the sync ends before the %s is there: %w", h.kind, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	select {
	case err := <-synced:
		return fmt.Errorf("the sync ends before OLM has installed anything: %w", err)
	case <-time.After(3 * time.Second):
	}
	if err := h.install(ctx, a.cluster); err != nil {
		return err
	}
	if err := <-synced; err != nil {
		return fmt.Errorf("while OLM installs the operator: %w", err)
	}
	return a.inSync(ctx, app, nil)
}

// handovers applies a request to OLM as one Kustomization, and a custom resource as another one that depends on it.
// With "wait" alone the first is ready at once, and the second fails. With healthCheckExprs it waits for OLM.
func (f *flux) handovers(ctx context.Context, o options, s *summary) {
	for n, h := range handovers {
		x, err := o.renderHandover(ctx, f.cluster, h, "flux")
		for _, waits := range []bool{false, true} {
			if err == nil {
				err = f.handover(ctx, x, fmt.Sprintf("handover-%d-%t", n, waits), waits)
			}
		}
		_ = s.add(h.kind+" and a custom resource", apply.Result{Applied: len(x.tree.objects)}, joined(err))
	}
}

func (f *flux) handover(ctx context.Context, h askedFor, name string, waits bool) error {
	defer removeTree(ctx, f.applier, h.tree)
	defer removeTree(ctx, f.applier, gitopsTree{name: name, objects: []*unstructured.Unstructured{h.instance, h.crd}})
	operator := kustomization{name: name, source: name, path: "./", prune: true, wait: true}
	if waits {
		operator.more = map[string]any{"healthCheckExprs": []any{map[string]any{
			"apiVersion": h.request.GetAPIVersion(), "kind": h.kind, "current": h.expression}}}
	}
	instance := kustomization{name: name + "-instance", source: name + "-instance", path: "./", prune: true,
		wait: true, dependsOn: name}
	dir := filepath.Join(h.tree.dir, "..", name)
	if err := writeInstance(dir, h.instance, nil); err != nil {
		return err
	}
	first, err := f.publish(ctx, operator.source, h.tree.dir)
	if err != nil {
		return err
	}
	second, err := f.publish(ctx, instance.source, dir)
	if err != nil {
		return err
	}
	for _, k := range []kustomization{operator, instance} {
		if err := f.apply(ctx, k); err != nil {
			return err
		}
		defer f.forget(ctx, k)
	}
	if !waits {
		if err := f.ready(ctx, operator.name, first); err != nil {
			return fmt.Errorf("with wait alone: %w", err)
		}
		return f.fails(ctx, instance.name)
	}
	for {
		if there, err := f.applier.Get(ctx, h.request); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		} else if there != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	for _, k := range []kustomization{operator, instance} {
		o, err := f.client(fluxKinds).Get(ctx, k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if condition(o, "Ready")["status"] == "True" {
			return fmt.Errorf("%s is ready before OLM has installed anything", k.name)
		}
	}
	if err := h.install(ctx, f.cluster); err != nil {
		return err
	}
	return errors.Join(f.ready(ctx, operator.name, first), f.ready(ctx, instance.name, second))
}

// fails waits until Flux says that a Kustomization cannot be applied.
func (f *flux) fails(ctx context.Context, name string) error {
	return f.cluster.Wait(ctx, "the failure of "+name, func() error {
		o, err := f.client(fluxKinds).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := condition(o, "Ready"); c["reason"] != "ReconciliationFailed" {
			return fmt.Errorf("a custom resource whose CRD is not there: %v: %v", c["reason"], c["message"])
		}
		return nil
	})
}
