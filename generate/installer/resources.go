package installer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// resource is where the API server keeps an object.
type resource struct{ group, plural, namespace string }

// apis are the APIs that the objects themselves define.
type apis map[string]olm.Kind

// resourceOf returns an object's resource: of a kind that olmgen knows, or of a CRD among the objects; else it is
// guessed, and that is a warning.
func (t apis) resourceOf(o *manifest.Object) (r resource, warning *manifest.Error, err error) {
	if o.Name == "" {
		return r, nil, o.Errorf("metadata.name", "missing")
	}
	if o.APIVersion == "" {
		return r, nil, o.Errorf("apiVersion", "missing")
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return r, nil, o.Errorf("apiVersion", "%v", err)
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: o.Kind}
	guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(o.Kind))
	r = resource{group: kind.Group, plural: guess.Resource}
	var namespaced bool
	if k, ok := t[kind.Group+"/"+kind.Kind]; ok && k.Plural != "" {
		r.plural, namespaced = k.Plural, k.Namespaced
	} else if k, ok := olm.KindOf(kind.Group, kind.Kind); ok {
		r.plural, namespaced = k.Plural, k.Namespaced
	} else {
		namespaced = o.Namespace != ""
		where := "cluster-wide"
		if namespaced {
			where = "namespaced"
		}
		warning = o.Errorf("kind", "%s is unknown: its resource is taken to be %s, %s", kind.String(),
			guess.GroupResource(), where)
		warning.Tip = "a CustomResourceDefinition among the objects says it"
	}
	if !namespaced {
		return r, warning, nil
	}
	if r.namespace = o.Namespace; r.namespace == "" {
		e := o.Errorf("metadata.namespace", "missing: where a %s without it goes depends on who applies it", o.Kind)
		e.Tip = fmt.Sprintf("give the %s a namespace", o.Kind)
		return r, nil, e
	}
	return r, warning, nil
}
