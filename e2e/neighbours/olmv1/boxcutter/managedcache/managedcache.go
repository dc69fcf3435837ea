// Package managedcache watches the objects that operator-controller has installed. See the package boxcutter.
package managedcache

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// TrackingCache watches kinds of objects.
type TrackingCache interface {
	client.Reader
	manager.Runnable
	// Source tells a controller what happens to the objects of all watched kinds.
	Source(handler handler.EventHandler, predicates ...predicate.Predicate) source.Source
	// Watch starts to watch kinds.
	Watch(ctx context.Context, user client.Object, gvks sets.Set[schema.GroupVersionKind]) error
	// Free is called when a user is gone. Its kinds stay watched.
	Free(ctx context.Context, user client.Object) error
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type tracking struct {
	cache.Cache
	log logr.Logger

	mu      sync.Mutex
	watched sets.Set[schema.GroupVersionKind]
	started []func(schema.GroupVersionKind) error // one for each source
}

// NewTrackingCache returns a cache that watches nothing yet.
func NewTrackingCache(log logr.Logger, config *rest.Config, options cache.Options) (TrackingCache, error) {
	c, err := cache.New(config, options)
	return &tracking{Cache: c, log: log, watched: sets.New[schema.GroupVersionKind]()}, err
}

func (t *tracking) Source(h handler.EventHandler, predicates ...predicate.Predicate) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		start := func(gvk schema.GroupVersionKind) error {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(gvk)
			kind := source.Kind(t.Cache, client.Object(o), h, predicates...)
			return kind.Start(ctx, q)
		}
		t.started = append(t.started, start)
		for gvk := range t.watched {
			if err := start(gvk); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tracking) Watch(_ context.Context, _ client.Object, gvks sets.Set[schema.GroupVersionKind]) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for gvk := range gvks.Difference(t.watched) {
		for _, start := range t.started {
			if err := start(gvk); err != nil {
				return fmt.Errorf("watch %s: %w", gvk, err)
			}
		}
		t.watched.Insert(gvk)
		t.log.Info("watching", "kind", gvk.String())
	}
	return nil
}

func (*tracking) Free(context.Context, client.Object) error { return nil }
