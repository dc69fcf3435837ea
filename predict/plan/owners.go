package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

type owner = metav1.OwnerReference

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
	value, labels := normalize.CopyAt(value, "metadata", "labels")
	meta, _ := value["metadata"].(map[string]any)
	labels[olm.LabelManaged] = "true"
	delete(meta, "namespace")
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if len(owners) > 0 && namespace == "" {
		labels[olm.LabelOwner] = owners[0].Name
	} else if len(owners) > 0 {
		meta["ownerReferences"] = lists.Map(owners, func(r owner) any {
			return map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name,
				"blockOwnerDeletion": false, "controller": false}
		})
	}
	value["apiVersion"] = apiVersion
	return o.Derive(value, func(field string) string { return field })
}

func csvOwner(name string) owner {
	return owner{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.ClusterServiceVersionKind, Name: name}
}

// ofOpenShift are the API groups that every OpenShift cluster serves.
var ofOpenShift = []string{"monitoring.coreos.com", "console.openshift.io"}

// discover returns whether a kind is namespaced, and why OLM does not find it in the cluster (OLM:
// pkg/controller/operators/catalog/operator.go, apiresourceFromGVK; not_found.go). A cluster without CRDs does not say
// what it serves.
func (r *Result) discover(c *Cluster, apiVersion string, o *manifest.Object) (namespaced bool, message string) {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	group, version := gv.Group, gv.Version
	known, _ := olm.KindOf(group, o.Kind)
	builtin := olm.BuiltinGroup(group)
	crd, others := c.definition(group, version, o.Kind)
	switch {
	case builtin && r.unserved(apiVersion, o.Kind):
		return false, notFound(apiVersion, o)
	case crd != nil && !builtin:
		k, _ := olm.DefinedKind(crd)
		return k.Namespaced, ""
	case builtin, r.Target.OpenShift != nil && slices.Contains(ofOpenShift, group),
		c.Get("apiregistration.k8s.io", "APIService", "", version+"."+group) != nil:
		return known.Namespaced, ""
	case !c.whole:
		r.Unknown = append(r.Unknown, fmt.Sprintf("whether the cluster serves %s of %s", o.Kind, apiVersion))
		return known.Namespaced, ""
	case others:
		return false, fmt.Sprintf("Unable to find GVK in discovery: %s %s %s", group, version, o.Kind)
	}
	return false, notFound(apiVersion, o)
}

// unserved reports whether Kubernetes does not serve a kind of its own. A release that is not known is the newest.
func (r *Result) unserved(apiVersion, kind string) bool {
	minor := uint64(math.MaxInt32)
	if r.Target.Kube != nil {
		minor = r.Target.Kube.Minor
	}
	return versions.Unserved(apiVersion, kind, minor) != ""
}

func notFound(apiVersion string, o *manifest.Object) string {
	return fmt.Sprintf("api-server resource not found installing %s %s: GroupVersionKind %s not found on the cluster. "+
		"This API may have been deprecated and removed, see "+
		"https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.", o.Kind, o.Name,
		schema.FromAPIVersionAndKind(apiVersion, o.Kind))
}
