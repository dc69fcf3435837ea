package rehearse

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// engine is the field manager of the tree.
const engine = "olmgen-rehearse"

// Player plays states in one cluster, one after another.
type Player struct {
	cluster  *cluster.Cluster
	dir      string // for files
	served   []*catalog.Served
	registry *catalog.Registry // of OLM v1; nil if that does not run
	address  map[string]string // of the CatalogSources, by namespace/name
	content  map[string][]byte // that is served there

	applied []*unstructured.Unstructured // of the last state
	waiting []*unstructured.Unstructured // what the API server does not take yet
	why     map[*unstructured.Unstructured]error
	notPut  []cluster.Refused
	first   []*manifest.Object // what was there before OLM ran
	whole   bool               // the cluster is that of a dump
}

// Start starts a cluster with the programs in bin. It has what the state says is in the cluster, and OLM runs.
func Start(ctx context.Context, bin, dir string, s *State) (_ *Player, err error) {
	c, err := cluster.Start(ctx, bin, dir, cluster.WithWebhooks)
	if err != nil {
		return nil, err
	}
	c.Memory = s.request.Memory
	c.StandIns = !slices.ContainsFunc(s.before, func(o *manifest.Object) bool { return o.Kind == "Service" })
	p := &Player{cluster: c, dir: dir, address: map[string]string{}, content: map[string][]byte{},
		whole: len(s.before) > 0}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	c.Global = s.global()
	if err := c.PrepareOLM(ctx); err != nil {
		return nil, err
	}
	if s.request.OLMv1 {
		if p.registry, err = catalog.NewRegistry(); err == nil {
			err = c.StartOLMv1(ctx, rehearsed, p.registry.Address)
		}
		if err != nil {
			return nil, err
		}
	}
	before, err := unstructuredOf(s.before)
	if err != nil {
		return nil, err
	}
	if before, err = p.serve(ctx, s, before); err != nil {
		return nil, err
	}
	if p.notPut, err = c.Put(ctx, before); err != nil {
		return nil, err
	}
	if p.first, err = p.objects(ctx); err != nil {
		return nil, err
	}
	return p, c.RunOLM(ctx)
}

// Stop ends the cluster and its catalogs.
func (p *Player) Stop() {
	p.cluster.Stop()
	if p.registry != nil {
		p.registry.Stop()
	}
	for _, served := range p.served {
		served.Stop()
	}
}

// Apply applies what a state has as an engine does, server-side and with force, and removes what only the state before
// had. What the API server does not take is tried again while the cluster settles.
func (p *Player) Apply(ctx context.Context, s *State) error {
	objects, err := unstructuredOf(s.applied)
	if err != nil {
		return err
	}
	if objects, err = p.serve(ctx, s, objects); err != nil {
		return err
	}
	objects = append(objects, p.lacking(s, objects)...)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(turn(a), turn(b)) })
	old := p.applied
	p.applied, p.waiting, p.why = objects, nil, map[*unstructured.Unstructured]error{}
	for _, o := range objects {
		if o.GetNamespace() == "" && s.request.Namespace != "" && p.cluster.Namespaced(o) {
			o.SetNamespace(s.request.Namespace)
		}
		if p.apply(ctx, o) != nil {
			p.waiting = append(p.waiting, o)
		}
	}
	stays := lists.Set(objects, name)
	for _, o := range slices.Backward(old) {
		if !stays[name(o)] {
			err := p.cluster.Delete(ctx, o)
			if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return ctx.Err()
}

// lacking returns CatalogSources that are given or in the cluster and that the tree does not declare and, of a cluster
// without a dump, namespaces.
func (p *Player) lacking(s *State, objects []*unstructured.Unstructured) (list []*unstructured.Unstructured) {
	declared := lists.Set(objects, name)
	for _, source := range s.sources() {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": p.spec(source)}}
		o.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.CatalogSourceKind))
		o.SetNamespace(source.Namespace)
		o.SetName(source.Name)
		if !declared[name(o)] {
			list = append(list, o)
		}
	}
	known := map[string]bool{"": true}
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			known[o.GetName()] = true
		}
	}
	for _, o := range slices.Concat(objects, list) {
		if namespace := o.GetNamespace(); !known[namespace] && !p.whole {
			known[namespace] = true
			list = append(list, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1",
				"kind": "Namespace", "metadata": map[string]any{"name": namespace}}})
		}
	}
	return list
}

// turn orders what is applied as engines do.
func turn(o *unstructured.Unstructured) int {
	first := []string{"Namespace", "CustomResourceDefinition", v1alpha1.CatalogSourceKind, olm.KindClusterCatalog}
	if i := slices.Index(first, o.GetKind()); i >= 0 {
		return i
	}
	if strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
		return len(first) + 1
	}
	return len(first)
}

// apply applies an object. Fields that a dump shows are the engine's own if the tree has them: it can remove them.
func (p *Player) apply(ctx context.Context, o *unstructured.Unstructured) (err error) {
	defer func() { p.why[o] = err }()
	p.cluster.Trust(o)
	force := true
	live, err := p.cluster.Apply(ctx, o, metav1.PatchOptions{FieldManager: engine, Force: &force})
	if err != nil {
		return err
	}
	fields := live.GetManagedFields()
	if kept := slices.DeleteFunc(slices.Clone(fields), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == cluster.Putter && f.Subresource == ""
	}); len(kept) < len(fields) {
		live.SetManagedFields(kept)
		client, err := p.cluster.ResourceOf(o)
		if err != nil {
			return err
		}
		_, _ = client.Update(ctx, live, metav1.UpdateOptions{}) // in a conflict the fields stay
	}
	if o.GetKind() == "CustomResourceDefinition" {
		err = p.cluster.Established(ctx, o.GetName())
		p.cluster.Rediscover()
	}
	return err
}

// again tries what waits once more.
func (p *Player) again(ctx context.Context) {
	p.cluster.Rediscover()
	p.waiting = slices.DeleteFunc(p.waiting, func(o *unstructured.Unstructured) bool { return p.apply(ctx, o) == nil })
}

// objects returns all objects of the cluster that somebody may ask for.
func (p *Player) objects(ctx context.Context) (list []*manifest.Object, err error) {
	except := slices.DeleteFunc(slices.Clone(cluster.ByTheWay), func(kind string) bool { return kind == "Namespace" })
	all, err := p.cluster.Objects(ctx, append(except, "PackageManifest", "FlowSchema", "PriorityLevelConfiguration"))
	for _, o := range all {
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		if labels := o.GetLabels(); labels["kubernetes.io/bootstrapping"]+labels[cluster.StandIn] == "" {
			list = append(list, objectOf(&o))
		}
	}
	return list, err
}

func objectOf(o *unstructured.Unstructured) *manifest.Object { return manifest.New(o.Object) }

// name identifies an object whatever its version.
func name(o *unstructured.Unstructured) string { return world.Key(objectOf(o), "") }
