package olmv1

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// ownership are the labels and annotations with which OLM v1 and Helm, which it uses, mark what they install. A
// manifest has none of them, but the bundle can have the label of Helm, with another value, which Helm replaces.
var ownership = map[string][]string{
	"labels":      {"olm.operatorframework.io/owner-kind", "olm.operatorframework.io/owner-name", managedBy},
	"annotations": {"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"},
}

const managedBy = "app.kubernetes.io/managed-by"

// uncompared are kinds that are not installed: they install, or Kubernetes and the harness make them on the way.
var uncompared = append([]string{"ClusterCatalog", "ClusterExtension"}, cluster.ByTheWay...)

// Objects are those of the cluster, by what identifies them.
type Objects map[string]*unstructured.Unstructured

// Key identifies an object of any kind.
func Key(o *unstructured.Unstructured) string { return equal.Object(o.Object).Key() }

// Look lists the cluster. OLM v1's own Secrets with what it has installed are left out, and what Kubernetes makes.
func (s *Server) Look(ctx context.Context) (Objects, error) {
	all, err := s.Objects(ctx, uncompared)
	objects := Objects{}
	for _, o := range all {
		if !cluster.OfOLMv1(o.GetNamespace()) && (o.GetKind() != "ServiceAccount" || o.GetName() != "default") {
			objects[Key(&o)] = &o
		}
	}
	return objects, err
}

// Without returns the objects that are not among others.
func (o Objects) Without(others Objects) Objects {
	left := maps.Clone(o)
	maps.DeleteFunc(left, func(key string, _ *unstructured.Unstructured) bool { return others[key] != nil })
	return left
}

// Compare compares what OLM v1 made with what olmgen renders. The text is empty if both are the same.
func Compare(made Objects, rendered []*unstructured.Unstructured) string {
	var want, got []equal.Object
	var other []string
	for _, key := range slices.Sorted(maps.Keys(made)) {
		o := made[key]
		if n, ok := normalize.Comparable(disowned(o)); ok {
			want = append(want, n)
		} else {
			other = append(other, key)
		}
	}
	for _, o := range rendered {
		if n, ok := normalize.Comparable(disowned(o)); ok {
			got = append(got, n)
		} else {
			key := Key(o)
			if i := slices.Index(other, key); i >= 0 {
				other = slices.Delete(other, i, i+1)
			} else {
				other = append(other, key)
			}
		}
	}
	text := equal.Diff(want, got, equal.Options{})
	if len(other) > 0 {
		text += "only on one side: " + strings.Join(other, ", ") + "\n"
	}
	return text
}

// disowned is an object without the marks of its owner.
func disowned(o *unstructured.Unstructured) equal.Object {
	c := o.DeepCopy()
	for field, names := range ownership {
		m, _, _ := unstructured.NestedStringMap(c.Object, "metadata", field)
		for _, name := range names {
			delete(m, name)
		}
		_ = unstructured.SetNestedStringMap(c.Object, m, "metadata", field) // metadata is there
	}
	return c.Object
}

// With adds objects that are applied.
func (o Objects) With(applied []*unstructured.Unstructured) Objects {
	all := maps.Clone(o)
	for _, a := range applied {
		all[Key(a)] = a
	}
	return all
}

// removal is how long Kubernetes' garbage collector may take, which stops while it learns of a kind that comes or goes.
const removal = 3 * time.Minute

// Left waits until nothing is there besides what was there before, and names what is. OLM v1 leaves the removal to
// Kubernetes' garbage collector.
func (s *Server) Left(ctx context.Context, before Objects) (left []string, err error) {
	for started := time.Now(); time.Since(started) < removal; {
		now, err := s.Look(ctx)
		if err != nil {
			return nil, err
		}
		if left = slices.Sorted(maps.Keys(now.Without(before))); len(left) == 0 {
			return nil, nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return left, nil
}
