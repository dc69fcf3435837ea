// Package admissioncase reads requests to an API server that has the policies of a pin. The tests of
// cmd/internal/pin/admission evaluate them, and e2e/harness sends them.
package admissioncase

import (
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
)

// Request is the creation of an object, or what is done to one if there is an old one.
type Request struct {
	Name, Kind            string
	Passes                []string // the states in which it passes
	Says                  string   // a part of the message in the others
	Namespace, ObjectName string
	User, Group           string // who asks; empty: somebody
	Subresource           string
	Delete                bool
	Labels                map[string]string
	Spec, Status          map[string]any
	Old                   *struct {
		Finalizers   []string
		Spec, Status map[string]any
	}
}

// Read reads a file of requests.
func Read(file string) (requests []Request, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return requests, yaml.UnmarshalStrict(data, &requests)
}

// Resource returns the resource of a kind of OLM.
func Resource(kind string) schema.GroupVersionResource {
	if k, ok := olm.KindOf(olm.Group, kind); ok {
		return schema.GroupVersionResource{Group: k.Group, Version: "v1alpha1", Resource: k.Plural}
	}
	k, _ := olm.KindOf(olm.GroupV1, kind)
	return schema.GroupVersionResource{Group: k.Group, Version: "v1", Resource: k.Plural}
}

// Objects returns the object of a request and the one before it, which is nil if there is none. A request about a
// subresource changes the status, any other one what is not the status.
func (r Request) Objects() (now, old *unstructured.Unstructured) {
	now = r.object(r.Spec, nil)
	if len(r.Labels) > 0 {
		now.SetLabels(r.Labels)
	}
	if r.Old == nil {
		return now, nil
	}
	old = r.object(r.Old.Spec, r.Old.Status)
	if len(r.Old.Finalizers) > 0 {
		old.SetFinalizers(r.Old.Finalizers)
	}
	status := r.Old.Status
	if r.Subresource != "" {
		status = r.Status
	}
	if status != nil {
		now.Object["status"] = status
	}
	return now.DeepCopy(), old
}

func (r Request) object(spec, status map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if status != nil {
		u.Object["status"] = status
	}
	u.SetGroupVersionKind(Resource(r.Kind).GroupVersion().WithKind(r.Kind))
	u.SetNamespace(r.Namespace)
	u.SetName("x")
	if r.ObjectName != "" {
		u.SetName(r.ObjectName)
	}
	return u.DeepCopy()
}
