package plan

import (
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

type owner = metav1.OwnerReference

// ownersOf returns the ownerReferences of an object.
func ownersOf(o *manifest.Object) (out []owner) {
	_ = o.Field(&out, "metadata", "ownerReferences") // the API server refuses what cannot be read
	return out
}

// OwnedByOther reports whether only other ClusterServiceVersions own an object (OLM: pkg/lib/ownerutil/util.go).
func OwnedByOther(o *manifest.Object, csv string) bool {
	owners := slices.DeleteFunc(ownersOf(o), func(r owner) bool { return r.Kind != v1alpha1.ClusterServiceVersionKind })
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(r owner) bool { return r.Name == csv })
}

// ownedBy returns an object as OLM writes it: in its namespace, which is empty for one of the cluster, with OLM's
// label, and with the owners.
func ownedBy(o *manifest.Object, apiVersion, namespace string, owners []owner) *manifest.Object {
	value, err := o.Value()
	if err != nil {
		return o
	}
	value = maps.Clone(value)
	meta, _ := value["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	labels, _ := meta["labels"].(map[string]any)
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]any{}
	}
	labels[olm.LabelManaged] = "true"
	delete(meta, "namespace")
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if len(owners) > 0 && namespace == "" {
		labels[olm.LabelOwner] = owners[0].Name
	} else if len(owners) > 0 {
		var list []any
		for _, r := range owners {
			list = append(list, map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name,
				"blockOwnerDeletion": false, "controller": false})
		}
		meta["ownerReferences"] = list
	}
	meta["labels"], value["metadata"], value["apiVersion"] = labels, meta, apiVersion
	return o.Derive(value, func(field string) string { return field })
}

func csvOwner(name string) owner {
	return owner{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.ClusterServiceVersionKind, Name: name}
}
