package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/syncwaves"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
)

// manager is Argo CD's field manager (argo-cd: common/common.go).
const manager = "argocd-controller"

// waveDelay is the pause between two waves. Argo CD's is two seconds.
const waveDelay = 500 * time.Millisecond

// engine holds what Argo CD's controller holds of a cluster.
type engine struct {
	config  *rest.Config
	cache   cache.ClusterCache
	kubectl *kube.KubectlCmd
}

// tracked is what the cache keeps of an object.
type tracked struct{ id string }

func newEngine(config *rest.Config) (*engine, error) {
	e := &engine{config: config, kubectl: &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}}
	e.cache = cache.NewClusterCache(config, cache.SetLogr(logr.Discard()), cache.SetKubectl(e.kubectl),
		cache.SetClusterResources(true),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (any, bool) {
			id := o.GetAnnotations()[trackingID]
			return &tracked{id}, id != "" || kube.IsCRD(o)
		}))
	return e, e.cache.EnsureSynced()
}

// reconcile pairs what is wanted with what is in the cluster. An object whose mark is not its own, but was copied from
// another one, is not the Application's.
func (e *engine) reconcile(r request, target []*unstructured.Unstructured) (sync.ReconciliationResult, error) {
	if err := e.cache.EnsureSynced(); err != nil {
		return sync.ReconciliationResult{}, err
	}
	live, err := e.cache.GetManagedLiveObjs(target, func(o *cache.Resource) bool {
		t, ok := o.Info.(*tracked)
		return ok && strings.HasPrefix(t.id, r.App+":")
	})
	if err != nil {
		return sync.ReconciliationResult{}, err
	}
	wanted := map[kube.ResourceKey]bool{}
	for _, o := range target {
		wanted[kube.GetResourceKey(o)] = true
	}
	for key, o := range live {
		if !wanted[key] && o.GetAnnotations()[trackingID] != r.trackingID(o) {
			delete(live, key)
		}
	}
	return sync.Reconcile(target, live, r.Namespace, e.cache), nil
}

// sync takes the steps of an operation until it is complete. Each step starts with what the cluster has then (argo-cd:
// controller/sync.go, SyncAppState).
func (e *engine) sync(ctx context.Context, r request, target []*unstructured.Unstructured, a *answer) error {
	phase, message, started := common.OperationRunning, "", metav1.Now()
	var results []common.ResourceSyncResult
	for !phase.Completed() && ctx.Err() == nil {
		pairs, err := e.reconcile(r, target)
		if err != nil {
			return err
		}
		step, cleanup, err := sync.NewSyncContext("1", pairs, e.config, e.config, e.kubectl, r.Namespace,
			append(e.options(r), sync.WithInitialState(phase, message, results, started))...)
		if err != nil {
			return err
		}
		step.Sync()
		phase, message, results = step.GetState()
		cleanup()
		time.Sleep(100 * time.Millisecond)
	}
	a.Phase, a.Message = string(phase), message
	a.Resources = resources(results, target)
	return nil
}

func (e *engine) options(r request) []sync.SyncOpt {
	foreground := metav1.DeletePropagationForeground
	return []sync.SyncOpt{
		sync.WithLogr(logr.Discard()),
		sync.WithOperationSettings(false, r.Prune, false, false),
		sync.WithManifestValidation(true),
		sync.WithSyncWaveHook(func(_ common.SyncPhase, _ int, final bool) error {
			if !final {
				time.Sleep(waveDelay)
			}
			return nil
		}),
		sync.WithPrunePropagationPolicy(&foreground),
		sync.WithServerSideApply(r.ServerSideApply),
		sync.WithServerSideApplyManager(manager),
		sync.WithClientSideApplyMigration(true, common.DefaultClientSideApplyMigrationManager),
		sync.WithSkipDryRunOnMissingResource(r.SkipDryRunOnMissingResource),
		sync.WithHealthOverride(r.Health),
	}
}

func resources(results []common.ResourceSyncResult, target []*unstructured.Unstructured) (all []resource) {
	waves := map[kube.ResourceKey]int{}
	for _, o := range target {
		waves[kube.GetResourceKey(o)] = syncwaves.Wave(o)
	}
	for _, x := range results {
		k := x.ResourceKey
		message := x.Message
		if x.HookPhase != "" && x.HookPhase != common.OperationSucceeded {
			message = strings.TrimSpace(fmt.Sprintf("%s: %s", x.HookPhase, message))
		}
		all = append(all, resource{Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Wave: waves[k],
			Order: x.Order, Status: string(x.Status), Message: message})
	}
	slices.SortFunc(all, func(a, b resource) int { return a.Order - b.Order })
	return all
}
