package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// ByTheWay are kinds that Kubernetes itself and the harness make.
var ByTheWay = []string{"ControllerRevision", "EndpointSlice", "Endpoints", "Event", "IPAddress", "Lease", "Namespace"}

// Objects lists every object of the cluster but those of some kinds and the APIServices that the API server makes for
// CRDs.
func (c *Cluster) Objects(ctx context.Context, except []string) (all []unstructured.Unstructured, err error) {
	lists, err := c.Discovery.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains(except, r.Kind) ||
				!slices.Contains(r.Verbs, "delete") {
				continue
			}
			items, err := c.Dynamic.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // just gone
			}
			all = append(all, items.Items...)
		}
	}
	return slices.DeleteFunc(all, func(u unstructured.Unstructured) bool {
		return u.GetLabels()["kube-aggregator.kubernetes.io/automanaged"] != ""
	}), nil
}

// Namespace makes a namespace, if there is none of that name, and waits for its default ServiceAccount: it would count
// as someone's otherwise.
func (c *Cluster) Namespace(ctx context.Context, name string, labels map[string]string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := c.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); Exists(err) != nil {
		return err
	}
	return c.Wait(ctx, "namespace "+name, func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// ResourceOf returns the client of an object's kind as discovery names it. The error of an unknown kind is a NoMatch.
func (c *Cluster) ResourceOf(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.Dynamic.Resource(mapping.Resource), nil
}

// Apply applies an object server-side. The error of an unknown kind is a NoMatch.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured,
	options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	client, err := c.ResourceOf(o)
	if err != nil {
		return nil, err
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, o.GetName(), types.ApplyPatchType, data, options)
}

// Delete deletes an object, and in the background what it owns. The error of an unknown kind is a NoMatch.
func (c *Cluster) Delete(ctx context.Context, o *unstructured.Unstructured) error {
	client, err := c.ResourceOf(o)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	return client.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
}

// Namespaced reports whether the API server knows an object's kind, and it has a namespace.
func (c *Cluster) Namespaced(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// Rediscover has ResourceOf know the kinds that are new.
func (c *Cluster) Rediscover() { c.mapper.Reset() }

// ClientOf returns the client of an object's kind, in the object's namespace.
func (c *Cluster) ClientOf(o *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	client := c.Dynamic.Resource(resource)
	if o.GetNamespace() == "" {
		return client
	}
	return client.Namespace(o.GetNamespace())
}
