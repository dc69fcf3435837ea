package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/olm"
)

// Putter is the field manager of Put.
const Putter = "olmgen-put"

// notPut are kinds of nodes and of what controllers make that do not run here.
var notPut = []string{"CSINode", "ControllerRevision", "EndpointSlice", "Endpoints", "Event", "IPAddress", "Lease",
	"Node", "PackageManifest", "Pod", "ReplicaSet", "ServiceCIDR"}

// Refused is an object that the API server did not take, and why.
type Refused struct {
	Object *unstructured.Unstructured
	Err    error
}

// Put makes the objects of another cluster, with their status: CustomResourceDefinitions and namespaces first, then
// owners before what they own, because the garbage collector removes what no owner is there for, and webhooks last.
// UIDs of owners and in status are those that the API server gives here. Nothing is put of nodes, pods and tokens. What
// is there is replaced, and of CustomResourceDefinitions only the status; those of OLM stay as they are. OLM must not
// run if owners matter.
func (c *Cluster) Put(ctx context.Context, objects []*unstructured.Unstructured) (refused []Refused, err error) {
	p := &putting{cluster: c, uids: map[types.UID]types.UID{}}
	var made []*unstructured.Unstructured
	c.Rediscover()
	for _, o := range inOrder(objects) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if slices.Contains(notPut, o.GetKind()) || o.Object["type"] == "kubernetes.io/service-account-token" ||
			o.GetLabels()["kube-aggregator.kubernetes.io/automanaged"] != "" {
			continue
		}
		if err := p.create(ctx, o); err != nil {
			refused = append(refused, Refused{o, err})
		} else if o.GetKind() != "CustomResourceDefinition" || !strings.HasSuffix(o.GetName(), "."+olm.Group) {
			made = append(made, o)
		}
	}
	for _, o := range made {
		if err := p.finish(ctx, o); err != nil {
			refused = append(refused, Refused{o, err})
		}
	}
	return refused, c.Check()
}

// Make is Put, and an error if the API server refuses something.
func (c *Cluster) Make(ctx context.Context, objects ...*unstructured.Unstructured) error {
	refused, err := c.Put(ctx, objects)
	for _, r := range refused {
		err = errors.Join(err, fmt.Errorf("%s %s: %w", r.Object.GetKind(), r.Object.GetName(), r.Err))
	}
	return err
}

type putting struct {
	cluster *Cluster
	uids    map[types.UID]types.UID // of the objects here, by those that they had
}

// create makes an object, or replaces the one that is there.
func (p *putting) create(ctx context.Context, o *unstructured.Unstructured) error {
	fresh := o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink", "ownerReferences"} {
		unstructured.RemoveNestedField(fresh.Object, "metadata", field)
	}
	delete(fresh.Object, "status")
	if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); o.GetKind() == "Service" && ip != "None" {
		for _, field := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			unstructured.RemoveNestedField(fresh.Object, "spec", field) // addresses of another network
		}
	}
	var owners []metav1.OwnerReference
	for _, owner := range o.GetOwnerReferences() {
		if owner.UID = p.uids[owner.UID]; owner.UID != "" {
			owners = append(owners, owner)
		}
	}
	if owners != nil {
		fresh.SetOwnerReferences(owners)
	}
	p.cluster.Trust(fresh)
	client, err := p.cluster.ResourceOf(fresh)
	if err != nil {
		return err
	}
	live, err := client.Create(ctx, fresh, metav1.CreateOptions{FieldManager: Putter})
	isNew := err == nil
	if apierrors.IsAlreadyExists(err) {
		live, err = client.Get(ctx, fresh.GetName(), metav1.GetOptions{})
		if err == nil && fresh.GetKind() != "CustomResourceDefinition" {
			fresh.SetResourceVersion(live.GetResourceVersion())
			// what Kubernetes and OLM keep as it is may stay
			_, _ = client.Update(ctx, fresh, metav1.UpdateOptions{FieldManager: Putter})
		}
	}
	if err != nil {
		return err
	}
	p.uids[o.GetUID()] = live.GetUID()
	if isNew && o.GetKind() == "CustomResourceDefinition" {
		defer p.cluster.Rediscover()
		return p.cluster.Established(ctx, o.GetName())
	}
	return nil
}

// finish puts the status of an object, and deletes one that was being deleted: its finalizers keep it.
func (p *putting) finish(ctx context.Context, o *unstructured.Unstructured) error {
	client, err := p.cluster.ResourceOf(o)
	if err != nil {
		return err
	}
	// the harness reports Deployments, and it is the API server that knows a namespace
	if status := o.Object["status"]; status != nil && o.GetKind() != "Deployment" && o.GetKind() != "Namespace" {
		patch, err := json.Marshal(map[string]any{"status": p.renamed(status)})
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Putter},
			"status")
		if err != nil && !apierrors.IsNotFound(err) { // a kind without the subresource
			return fmt.Errorf("status: %w", err)
		}
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) > 0 {
		return client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	return nil
}

// renamed returns a value with the UIDs that objects have here.
func (p *putting) renamed(v any) any {
	return decoded.Copy(v, func(leaf any) any {
		if text, ok := leaf.(string); ok {
			return cmp.Or(string(p.uids[types.UID(text)]), text)
		}
		return leaf
	})
}

// inOrder returns objects in the order in which Put makes them: of those that may be made at a time the oldest first.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	byUID := map[types.UID]*unstructured.Unstructured{}
	for _, o := range objects {
		byUID[o.GetUID()] = o
	}
	delete(byUID, "")
	ranks := map[*unstructured.Unstructured]int{}
	var rank func(o *unstructured.Unstructured) int
	rank = func(o *unstructured.Unstructured) int {
		if n, ok := ranks[o]; ok {
			return n
		}
		switch o.GetKind() {
		case "CustomResourceDefinition":
			return 0
		case "Namespace":
			return 1
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			return len(objects) + 2
		}
		ranks[o] = 2 // owners that own each other
		n := 2
		for _, owner := range o.GetOwnerReferences() {
			if of := byUID[owner.UID]; of != nil {
				n = max(n, rank(of)+1)
			}
		}
		ranks[o] = n
		return n
	}
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time))
	})
	return sorted
}
