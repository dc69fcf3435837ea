package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// argoRequest and argoAnswer are those of e2e/neighbours/argocd.
type argoRequest struct {
	Op                          string   `json:"op"`
	App                         string   `json:"app"`
	Dirs                        []string `json:"dirs"`
	Namespace                   string   `json:"namespace"`
	Prune                       bool     `json:"prune"`
	ServerSideApply             bool     `json:"serverSideApply"`
	SkipDryRunOnMissingResource bool     `json:"skipDryRunOnMissingResource"`
	ServerSideDiff              bool     `json:"serverSideDiff"`
	Seconds                     int      `json:"seconds"`

	Health map[string]string `json:"health"`
}

type argoAnswer struct {
	Error, Phase, Message string
	Resources, OutOfSync  []argoResource
}

type argoResource struct {
	Group, Kind, Namespace, Name string
	Wave, Order                  int
	Status, Message              string
	Fields                       []string
}

func (r argoResource) String() string {
	s := strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %s", r.Kind, r.Namespace, r.Name, r.Status, r.Message))
	return strings.Join(append([]string{s}, r.Fields...), "\n    ")
}

// argo is Argo CD's engine beside a cluster.
type argo struct {
	cluster *cluster.Cluster
	applier *apply.Applier
	client  http.Client
}

func (o options) startArgo(ctx context.Context) (*argo, error) {
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return nil, err
	}
	var a *argo
	if err = c.InstallOLMCRDs(ctx); err == nil {
		a, err = argoIn(ctx, c)
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	return a, nil
}

// argoIn starts the engine in a cluster.
func argoIn(ctx context.Context, c *cluster.Cluster) (*argo, error) {
	a := &argo{cluster: c, applier: apply.New(c)}
	socket := c.File("argocd.sock")
	a.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	if err := c.Run("argocd/argocd", nil, "-kubeconfig", c.File("kubeconfig"), "-socket", socket); err != nil {
		return nil, err
	}
	return a, c.Wait(ctx, "argocd", func() error { _, err := os.Stat(socket); return err })
}

// ask sends a request and returns the answer.
func (a *argo) ask(ctx context.Context, r argoRequest) (x argoAnswer, err error) {
	r.Seconds = 60
	body, err := json.Marshal(r)
	if err != nil {
		return x, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://argocd/", bytes.NewReader(body))
	if err != nil {
		return x, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return x, errors.Join(err, a.cluster.Check())
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&x); err != nil {
		return x, err
	}
	if x.Error != "" {
		return x, errors.New(x.Error)
	}
	return x, nil
}

// argocd has Argo CD's engine sync what olmgen renders: from nothing, again, to a successor, and away.
func (o options) argocd(ctx context.Context, m material) error {
	a, err := o.startArgo(ctx)
	if err != nil {
		return err
	}
	defer a.cluster.Stop()
	s := newSummary("argocd")
	for n, dir := range o.gitopsBundles(m) {
		if ctx.Err() != nil {
			break
		}
		files := a.cluster.File(fmt.Sprintf("tree-%d", n))
		t, err := o.renderGitOps(ctx, files, dir, "argocd", n)
		if unrenderable(s, err) {
			continue
		}
		// Applications of every other five trees apply server-side
		app := argoRequest{App: fmt.Sprintf("app-%d", n), Dirs: t.roots, Namespace: "default",
			ServerSideApply: n/len(gitopsLayouts("argocd"))%2 == 1,
			ServerSideDiff:  !slices.ContainsFunc(t.objects, notServerSide)}
		if err == nil {
			err = a.life(ctx, s, t, app)
		}
		if refusedByServer(s, t, err) {
			err = nil
		}
		_ = s.add(t.name, apply.Result{Applied: len(t.objects)}, joined(err)) // s.err reports it
		os.RemoveAll(files)
		if err := a.cluster.Check(); err != nil {
			return err
		}
	}
	o.gitopsUpgrades(ctx, s, m, "argocd", a.cluster, a.upgrade)
	scripts, err := o.scripts("argocd")
	if err == nil {
		err = o.play(ctx, "argocd", scripts, nil)
	}
	return errors.Join(err, ctx.Err(), s.err(), a.cluster.Check(), o.adoptBy(ctx, "argocd", argoAdopts))
}

// notServerSide reports whether an object is marked as one that server-side apply refuses: Argo CD then has no
// server-side diff of it either.
func notServerSide(o *unstructured.Unstructured) bool {
	return strings.Contains(o.GetAnnotations()["argocd.argoproj.io/sync-options"], "ServerSideApply=false")
}

// upgrade syncs a tree and its successor with pruning.
func (a *argo) upgrade(ctx context.Context, s *summary, from, to gitopsTree, n int) error {
	if err := errors.Join(foreignCRDs(ctx, a.cluster, from), foreignCRDs(ctx, a.cluster, to)); err != nil {
		return err
	}
	defer removeTree(ctx, a.applier, from)
	defer removeTree(ctx, a.applier, to)
	app := argoRequest{App: fmt.Sprintf("upgrade-%d", n), Namespace: "default", Prune: true,
		ServerSideApply: n%2 == 1, ServerSideDiff: true}
	defer a.standIn(ctx, from, to)()
	for _, t := range []gitopsTree{from, to} {
		app.Dirs = t.roots
		_, err := a.sync(ctx, app)
		if err == nil {
			err = a.inSync(ctx, app, t.objects)
		}
		if refusedByServer(s, t, err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return replaced(ctx, a.applier, from, to,
		func(o *unstructured.Unstructured) bool { return isKept(o) || isChild(o) })
}

// ofKubernetes reports whether an object is a CRD of a group that Kubernetes reserves. The API server says first that
// it conforms to the policy for these, and Argo CD takes a CRD with a condition and without Established for degraded
// (argo-cd: resource_customizations/apiextensions.k8s.io/CustomResourceDefinition/health.lua).
func ofKubernetes(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" && o.GetAnnotations()["api-approved.kubernetes.io"] != ""
}

// standsIn are the kinds whose controllers do not run, with what they say when all is well. Argo CD waits for that.
var standsIn = []struct {
	group, kind, status string
	subresource         []string // the stub of a CRD has none
}{
	{"cert-manager.io", "", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, nil},
	{"policy", "PodDisruptionBudget", `{"status":{"conditions":[{"type":"DisruptionAllowed","status":"True",` +
		`"reason":"SufficientPods","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, []string{"status"}},
}

// standIn does what the controllers of some kinds do for the objects of trees, until the returned function is called.
func (a *argo) standIn(ctx context.Context, trees ...gitopsTree) (stop func()) {
	type written struct {
		*unstructured.Unstructured
		status      []byte
		subresource []string
	}
	var objects []written
	for _, t := range trees {
		for _, o := range t.objects {
			for _, s := range standsIn {
				if o.GroupVersionKind().Group == s.group && (s.kind == "" || s.kind == o.GetKind()) {
					objects = append(objects, written{o, []byte(s.status), s.subresource})
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for len(objects) > 0 && ctx.Err() == nil {
			for _, o := range objects { // what is not there yet is tried again
				_, _ = a.cluster.ClientOf(o.Unstructured).Patch(ctx, o.GetName(), types.MergePatchType, o.status,
					metav1.PatchOptions{}, o.subresource...)
			}
			_ = sleep(ctx, 200*time.Millisecond) // the loop looks at ctx
		}
	}()
	return func() { cancel(); <-ended }
}

func joined(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// life syncs a tree from nothing, compares, syncs again, and prunes what may go.
func (a *argo) life(ctx context.Context, s *summary, t gitopsTree, app argoRequest) error {
	if err := foreignCRDs(ctx, a.cluster, t); err != nil {
		return err
	}
	defer removeTree(ctx, a.applier, t)
	defer a.standIn(ctx, t)()
	for range only(t.objects, hasAggregatedRules) {
		s.count("aggregated rules, to be ignored")
	}
	first, err := a.sync(ctx, app)
	if err != nil && strings.Contains(err.Error(), "Failed: CRD is not established") &&
		slices.ContainsFunc(t.objects, ofKubernetes) {
		s.count("a CRD of *.k8s.io that is degraded until it is established")
		_, err = a.sync(ctx, app)
		first.Resources = nil // in two parts
	}
	if err != nil {
		return fmt.Errorf("the first sync: %w", err)
	}
	var errs []error
	if first.Resources != nil {
		errs = inOrder(first.Resources, len(t.objects))
	}
	if err := a.inSync(ctx, app, t.objects); err != nil {
		errs = append(errs, fmt.Errorf("after the first sync: %w", err))
	}
	before, err := a.applier.Contents(ctx, t.objects)
	if err != nil {
		return err
	}
	if err := lacking(t, before); err != nil {
		errs = append(errs, err)
	}
	if _, err := a.sync(ctx, app); err != nil {
		return fmt.Errorf("the second sync: %w", err)
	}
	if err := a.inSync(ctx, app, t.objects); err != nil {
		errs = append(errs, fmt.Errorf("after the second sync: %w", err))
	}
	after, err := a.applier.Contents(ctx, t.objects)
	if err != nil {
		return err
	}
	for name, text := range before {
		if after[name] != text {
			errs = append(errs, fmt.Errorf("the second sync changes %s", name))
		}
	}
	errs = append(errs, a.prune(ctx, s, t, app))
	return errors.Join(errs...)
}

// sync asks for a sync that must succeed.
func (a *argo) sync(ctx context.Context, app argoRequest) (argoAnswer, error) {
	app.Op = "sync"
	x, err := a.ask(ctx, app)
	if err != nil || x.Phase == "Succeeded" {
		return x, err
	}
	var failed []string
	for _, r := range x.Resources {
		// "PHASE: " is before the message of what has not succeeded.
		if r.Status == "SyncFailed" || slices.ContainsFunc([]string{"Running", "Failed", "Error"},
			func(phase string) bool { return strings.HasPrefix(r.Message, phase+":") }) {
			failed = append(failed, r.String())
		}
	}
	return x, fmt.Errorf("%s: %s\n%s", x.Phase, x.Message, strings.Join(failed, "\n"))
}

// inSync checks that an Application is what the cluster has, but for the roles of its tree that docs/engines/argocd.md
// says to ignore the rules of.
func (a *argo) inSync(ctx context.Context, app argoRequest, tree []*unstructured.Unstructured) error {
	app.Op = "diff"
	ignored := func(r argoResource) bool {
		return slices.ContainsFunc(tree, func(o *unstructured.Unstructured) bool {
			return hasAggregatedRules(o) && r.Kind == o.GetKind() && r.Name == o.GetName() && len(r.Fields) == 1 &&
				strings.HasPrefix(r.Fields[0], ".rules:")
		})
	}
	return a.until(ctx, app, func(x argoAnswer) bool {
		return !slices.ContainsFunc(x.OutOfSync, func(r argoResource) bool { return !ignored(r) })
	})
}

// until asks until the answer is right, for ten seconds: the engine's cache follows the cluster.
func (a *argo) until(ctx context.Context, app argoRequest, right func(argoAnswer) bool) error {
	var last argoAnswer
	for range 40 {
		x, err := a.ask(ctx, app)
		if err != nil || right(x) {
			return err
		}
		last = x
		if err := sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("OutOfSync:\n%s", listed(last.OutOfSync))
}

func listed(resources []argoResource) string {
	var out []string
	for _, r := range resources {
		out = append(out, r.String())
	}
	return strings.Join(out, "\n")
}

// prune syncs an Application that has become empty: first without pruning, which leaves all, then with it.
func (a *argo) prune(ctx context.Context, s *summary, t gitopsTree, app argoRequest) error {
	app.Dirs = nil
	if _, err := a.sync(ctx, app); err != nil {
		return fmt.Errorf("the sync without pruning: %w", err)
	}
	left, err := there(ctx, a.applier, t.objects)
	if err == nil && len(left) != len(t.objects) {
		err = fmt.Errorf("without pruning %d of %d objects are left", len(left), len(t.objects))
	}
	if err != nil {
		return err
	}
	app.Prune = true
	if _, err := a.sync(ctx, app); err != nil {
		return fmt.Errorf("the sync with pruning: %w", err)
	}
	if left, err = there(ctx, a.applier, t.objects); err != nil {
		return err
	}
	if err := a.listsNamespaces(ctx, t, app); err != nil {
		return err
	}
	var want []string
	for _, o := range only(t.objects, isKept) {
		want = append(want, nameOf(o))
	}
	for _, o := range only(t.objects, isChild) {
		want = append(want, nameOf(o))
		s.count("a ClusterServiceVersion that Argo CD does not prune")
	}
	slices.Sort(want)
	slices.Sort(left)
	if !slices.Equal(left, want) {
		err = fmt.Errorf("after pruning there are %q, want %q", left, want)
	}
	return err
}

// listsNamespaces checks what Argo CD says of the objects that it keeps: it shows Namespaces as OutOfSync, and does not
// know whose the CRDs are, and the ClusterServiceVersions that are children.
func (a *argo) listsNamespaces(ctx context.Context, t gitopsTree, app argoRequest) error {
	namespaces := only(t.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	shows := func(x argoAnswer) bool {
		return len(x.OutOfSync) == len(namespaces) && !slices.ContainsFunc(x.OutOfSync, func(r argoResource) bool {
			return r.Kind != "Namespace" || r.Status != "extra"
		})
	}
	app.Op = "diff"
	return a.until(ctx, app, shows)
}

// isChild reports whether Argo CD takes an object for the child of another one, which it never prunes by itself: a
// ClusterServiceVersion that names its OperatorGroup (gitops-engine: pkg/cache/references.go).
func isChild(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ClusterServiceVersion" && o.GetAnnotations()["olm.operatorGroup"] != ""
}

// inOrder checks the order of a first sync: waves do not fall, Namespaces and CRDs come before everything else,
// accounts and their rights before Deployments, and what makes the API server call the operator after them.
func inOrder(done []argoResource, objects int) (errs []error) {
	if len(done) != objects {
		errs = append(errs, fmt.Errorf("%d of %d objects were synced", len(done), objects))
	}
	stage := func(r argoResource) int {
		switch {
		case r.Kind == "Namespace", r.Kind == "CustomResourceDefinition", r.Kind == "PriorityClass":
			return 0
		case r.Kind == "Deployment":
			return 2
		case r.Kind == "APIService", strings.HasSuffix(r.Kind, "WebhookConfiguration"):
			return 3
		case r.Group == "rbac.authorization.k8s.io", r.Kind == "ServiceAccount", r.Kind == "Service",
			r.Kind == "Secret", r.Kind == "ConfigMap":
			return 1
		}
		return -1 // anywhere
	}
	staged := slices.DeleteFunc(slices.Clone(done), func(r argoResource) bool { return stage(r) < 0 })
	for i := 1; i < len(staged); i++ {
		if x, y := staged[i-1], staged[i]; stage(x) > stage(y) || x.Wave > y.Wave {
			errs = append(errs, fmt.Errorf("%s is synced before %s", x, y))
		}
	}
	for _, r := range done {
		if r.Status != "Synced" {
			errs = append(errs, fmt.Errorf("%s", r))
		}
	}
	return errs
}
