package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

const (
	fluxNamespace = "flux-system"
	fluxAPIs      = "toolkit.fluxcd.io" // and the groups below it
	ofFlux        = "a bundle with Flux's own CRDs"
)

var (
	fluxSources = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	fluxKinds   = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
)

// flux is kustomize-controller beside a cluster. The harness stands in for source-controller.
type flux struct {
	cluster *cluster.Cluster
	applier *apply.Applier
	address string
	mu      sync.Mutex
	files   map[string][]byte // archives by URL path
}

func (o options) startFlux(ctx context.Context) (*flux, error) {
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return nil, err
	}
	var f *flux
	if err = c.InstallOLMCRDs(ctx); err == nil {
		f, err = o.fluxIn(ctx, c)
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	return f, nil
}

// fluxIn starts kustomize-controller in a cluster.
func (o options) fluxIn(ctx context.Context, c *cluster.Cluster) (*flux, error) {
	f := &flux{cluster: c, applier: apply.New(c), files: map[string][]byte{}}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.address = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(f.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // until stop
	context.AfterFunc(ctx, func() { server.Close() })
	if err = c.InstallCRDs(ctx, filepath.Join(o.bin(), "flux")); err == nil {
		err = f.sourceCRDs(ctx)
	}
	if err == nil {
		err = c.Namespace(ctx, fluxNamespace, nil)
	}
	if err == nil {
		err = c.Run("flux/kustomize-controller", []string{"KUBECONFIG=" + c.File("kubeconfig"),
			"RUNTIME_NAMESPACE=" + fluxNamespace, "TMPDIR=" + filepath.Dir(c.File("kubeconfig"))},
			"--metrics-addr=0", "--health-addr=0", "--requeue-dependency=1s", "--http-retry=1",
			"--kube-api-qps=500", "--kube-api-burst=1000")
	}
	return f, err
}

// sourceCRDs makes CRDs without schema for the sources that kustomize-controller watches: their own are in
// source-controller, which does not build here.
func (f *flux) sourceCRDs(ctx context.Context) error {
	for _, kind := range []string{"GitRepository", "OCIRepository", "Bucket"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(fluxSources.GroupVersion().WithKind(kind))
		o.SetNamespace(fluxNamespace)
		if err := stubCRD(ctx, f.cluster, o); err != nil {
			return err
		}
	}
	return nil
}

func (f *flux) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	data, ok := f.files[r.URL.Path]
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data) // nobody is there to be told
}

// client is the client of Flux's objects of a kind.
func (f *flux) client(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(fluxNamespace)
	return f.cluster.ClientOf(o)
}

// publish makes the files below a directory a revision of a GitRepository, and returns its name.
func (f *flux) publish(ctx context.Context, name, dir string) (revision string, err error) {
	data, err := archive(dir)
	if err != nil {
		return "", err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	revision = "main@sha1:" + sum[:40]
	path := "/" + name + "-" + sum + ".tar.gz"
	f.mu.Lock()
	f.files[path] = data
	f.mu.Unlock()
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"artifact": map[string]any{"digest": "sha256:" + sum, "path": path[1:],
		"url": "http://" + f.address + path, "revision": revision, "size": int64(len(data)),
		"lastUpdateTime": now},
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded",
			"message": "stored", "lastTransitionTime": now}}}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"interval": "1h",
		"url": "https://git.example.com/" + name}, "status": status}}
	o.SetGroupVersionKind(fluxSources)
	o.SetName(name)
	o.SetNamespace(fluxNamespace)
	_, err = f.client(fluxSources).Apply(ctx, name, o, metav1.ApplyOptions{FieldManager: "source", Force: true})
	return revision, err
}

// archive packs the files below a directory.
func archive(dir string) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), compressed.Close())
	return out.Bytes(), err
}

// kustomization is what Flux is told about a directory of a tree.
type kustomization struct {
	name, source, path string
	prune, wait        bool
	dependsOn          string
	more               map[string]any // of the spec
}

func (f *flux) apply(ctx context.Context, k kustomization) error {
	spec := map[string]any{"interval": "1h", "retryInterval": "1h", "timeout": "1m", "prune": k.prune, "wait": k.wait,
		"path": k.path, "sourceRef": map[string]any{"kind": fluxSources.Kind, "name": k.source}}
	if k.dependsOn != "" {
		spec["dependsOn"] = []any{map[string]any{"name": k.dependsOn}}
	}
	maps.Copy(spec, k.more)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(fluxKinds)
	o.SetName(k.name)
	o.SetNamespace(fluxNamespace)
	_, err := f.client(fluxKinds).Apply(ctx, k.name, o, metav1.ApplyOptions{FieldManager: "harness", Force: true})
	return err
}

// ready waits until a Kustomization is ready at a revision. It tries only once, so what is not ready never becomes so.
func (f *flux) ready(ctx context.Context, name, revision string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		o, err := f.client(fluxKinds).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return errors.Join(err, f.cluster.Check())
		}
		attempted, _, _ := unstructured.NestedString(o.Object, "status", "lastAttemptedRevision")
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		c := condition(o, "Ready")
		if attempted == revision && c["observedGeneration"] == o.GetGeneration() &&
			handled == o.GetAnnotations()["reconcile.fluxcd.io/requestedAt"] {
			switch {
			case c["status"] == "True" && applied == revision:
				return nil
			case c["status"] == "False" && c["reason"] != "DependencyNotReady":
				return fmt.Errorf("%s: %v: %v", name, c["reason"], c["message"])
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %v: %v", name, c["reason"], c["message"])
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// condition is a condition of an object; empty if it has none of the type.
func condition(o *unstructured.Unstructured, name string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, x := range conditions {
		if c, ok := x.(map[string]any); ok && c["type"] == name {
			return c
		}
	}
	return nil
}

// again has Flux reconcile once more, and returns what it says about it.
func (f *flux) again(ctx context.Context, name, revision string) (said string, err error) {
	const program = "kustomize-controller"
	before := len(f.cluster.Log(program))
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`,
		time.Now().Format(time.RFC3339Nano))
	if _, err := f.client(fluxKinds).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return "", err
	}
	if err := f.ready(ctx, name, revision); err != nil {
		return "", err
	}
	err = f.cluster.Wait(ctx, "the log of "+name, func() error { // it comes after the status
		if said = f.cluster.Log(program)[before:]; !strings.Contains(said, "Reconciliation finished") {
			return errors.New("it does not say that it has finished")
		}
		return nil
	})
	return said, err
}

// flux has Flux apply what olmgen renders: from nothing, again, and away, with and without prune, wait and health
// checks.
func (o options) flux(ctx context.Context, m material) error {
	f, err := o.startFlux(ctx)
	if err != nil {
		return err
	}
	defer f.cluster.Stop()
	s := newSummary("flux")
	for n, dir := range o.gitopsBundles(m) {
		if ctx.Err() != nil {
			break
		}
		files := f.cluster.File(fmt.Sprintf("tree-%d", n))
		t, err := o.renderGitOps(ctx, files, dir, "flux", n)
		if unrenderable(s, err) {
			continue
		}
		if t.defines(fluxAPIs) {
			s.count(ofFlux)
			continue
		}
		if err == nil {
			err = f.life(ctx, s, t, n)
		}
		if refusedByServer(s, t, err) {
			err = nil
		}
		_ = s.add(t.name, apply.Result{Applied: len(t.objects)}, joined(err)) // s.err reports it
		os.RemoveAll(files)
		if err := f.cluster.Check(); err != nil {
			return err
		}
	}
	o.gitopsUpgrades(ctx, s, m, "flux", f.cluster, f.upgrade)
	scripts, err := o.scripts("flux")
	if err == nil {
		err = o.play(ctx, "flux", scripts, nil)
	}
	return errors.Join(err, ctx.Err(), s.err(), f.cluster.Check(), o.adoptBy(ctx, "flux", o.fluxAdopts))
}

// upgrade applies a tree and its successor with prune.
func (f *flux) upgrade(ctx context.Context, s *summary, from, to gitopsTree, n int) error {
	if from.defines(fluxAPIs) || to.defines(fluxAPIs) {
		s.count(ofFlux)
		return nil
	}
	if err := errors.Join(foreignCRDs(ctx, f.cluster, from), foreignCRDs(ctx, f.cluster, to)); err != nil {
		return err
	}
	defer removeTree(ctx, f.applier, from)
	defer removeTree(ctx, f.applier, to)
	source := fmt.Sprintf("upgrade-%d", n)
	k := kustomization{name: source, source: source, path: "./", prune: true, wait: true}
	if err := f.apply(ctx, k); err != nil {
		return err
	}
	defer f.forget(ctx, k)
	for _, t := range []gitopsTree{from, to} {
		revision, err := f.publish(ctx, source, t.dir)
		if err == nil {
			err = f.ready(ctx, k.name, revision)
		}
		if refusedByServer(s, t, err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return replaced(ctx, f.applier, from, to, isKept)
}

// life applies a tree, applies it again, and replaces it by an empty one.
func (f *flux) life(ctx context.Context, s *summary, t gitopsTree, n int) error {
	if err := foreignCRDs(ctx, f.cluster, t); err != nil {
		return err
	}
	defer removeTree(ctx, f.applier, t)
	source := fmt.Sprintf("tree-%d", n)
	revision, err := f.publish(ctx, source, t.dir)
	if err != nil {
		return err
	}
	all, err := f.kustomizations(t, source, n)
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := f.apply(ctx, k); err != nil {
			return err
		}
	}
	for _, k := range all {
		defer f.forget(ctx, k)
		if err := f.ready(ctx, k.name, revision); err != nil {
			return fmt.Errorf("the first time: %w", err)
		}
	}
	before, err := f.applier.Contents(ctx, t.objects)
	if err == nil {
		err = lacking(t, before)
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range all {
		said, err := f.again(ctx, k.name, revision)
		if err != nil {
			return fmt.Errorf("the second time: %w", err)
		}
		for _, match := range configured.FindAllStringSubmatch(said, -1) {
			if class := fluxRewrites(t, match[1]); class != "" {
				s.count(class)
			} else {
				errs = append(errs, fmt.Errorf("the second time changes %s", match[1]))
			}
		}
	}
	after, err := f.applier.Contents(ctx, t.objects)
	if err != nil {
		return err
	}
	for name, text := range before {
		if after[name] != text {
			errs = append(errs, fmt.Errorf("the second time changes %s", name))
		}
	}
	return errors.Join(append(errs, f.prune(ctx, t, all))...)
}

// configured finds what kustomize-controller logs of an object that it has changed: kind, namespace, name.
var configured = regexp.MustCompile(`"([^"]+)":"configured"`)

// fluxRewrites is why Flux writes an unchanged object at every reconciliation, if the bundle is to blame.
func fluxRewrites(t gitopsTree, name string) (class string) {
	for _, o := range t.objects {
		if !strings.HasPrefix(name, o.GetKind()+"/") || !strings.HasSuffix(name, "/"+o.GetName()) {
			continue
		}
		switch {
		case o.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "":
			return "last-applied-configuration, which Flux removes each time"
		case hasAggregatedRules(o):
			return "aggregated rules, which Flux and the cluster write in turns"
		}
	}
	return ""
}

// kustomizations are those of a tree, one for each directory, which wait for each other. Every third has no prune. In
// turns they wait for all objects, for the Deployments by name, or for nothing.
func (f *flux) kustomizations(t gitopsTree, source string, n int) (all []kustomization, err error) {
	for i, root := range t.roots {
		path, err := filepath.Rel(t.dir, root)
		if err != nil {
			return nil, err
		}
		k := kustomization{name: fmt.Sprintf("%s-%d", source, i), source: source, path: "./" + filepath.ToSlash(path),
			prune: n%3 != 2, wait: n%3 == 0}
		if i > 0 {
			k.dependsOn = all[i-1].name
		}
		if n%3 == 1 && i == len(t.roots)-1 {
			checks := []any{}
			for _, o := range t.objects {
				if o.GetKind() == "Deployment" {
					checks = append(checks, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
						"name": o.GetName(), "namespace": o.GetNamespace()})
				}
			}
			k.more = map[string]any{"healthChecks": checks}
		}
		all = append(all, k)
	}
	return all, nil
}

// prune empties the directories of a tree. With prune only what is protected is left, without it everything.
func (f *flux) prune(ctx context.Context, t gitopsTree, all []kustomization) error {
	const marker = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: empty, namespace: " + fluxNamespace + "}\n"
	want := t.objects
	if all[0].prune {
		want = only(t.objects, isKept)
	}
	for _, k := range slices.Backward(all) {
		root := filepath.Join(t.dir, filepath.FromSlash(k.path))
		if err := errors.Join(
			os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte("resources: [empty.yaml]\n"), 0o600),
			os.WriteFile(filepath.Join(root, "empty.yaml"), []byte(marker), 0o600)); err != nil {
			return err
		}
	}
	for _, k := range all {
		k.more = nil // a health check of an object that has left Git fails
		if err := f.apply(ctx, k); err != nil {
			return err
		}
	}
	revision, err := f.publish(ctx, all[0].source, t.dir)
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := f.ready(ctx, k.name, revision); err != nil {
			return fmt.Errorf("the empty tree: %w", err)
		}
	}
	left, err := there(ctx, f.applier, t.objects)
	if err == nil && len(left) != len(want) {
		err = fmt.Errorf("prune %v: after the objects have left Git %d of %d are there, want %d: %q", all[0].prune,
			len(left), len(t.objects), len(want), left)
	}
	return err
}

// forget deletes a Kustomization, and waits until its finalizer is done.
func (f *flux) forget(ctx context.Context, k kustomization) {
	_ = f.client(fluxKinds).Delete(ctx, k.name, metav1.DeleteOptions{})
	_ = f.cluster.Wait(ctx, k.name, func() error {
		if _, err := f.client(fluxKinds).Get(ctx, k.name, metav1.GetOptions{}); err == nil {
			return errors.New("it is still there")
		}
		return nil
	})
}
