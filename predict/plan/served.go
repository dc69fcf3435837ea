package plan

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// ofOpenShift are the API groups that every OpenShift cluster serves.
var ofOpenShift = []string{"monitoring.coreos.com", "console.openshift.io"}

// discover returns whether a kind is namespaced, and why OLM does not find it in the cluster (OLM:
// pkg/controller/operators/catalog/operator.go, apiresourceFromGVK; not_found.go). A cluster without CRDs does not say
// what it serves.
func (r *Result) discover(c *Cluster, apiVersion string, o *manifest.Object) (namespaced bool, message string) {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	group, version := gv.Group, gv.Version
	known, _ := olm.KindOf(group, o.Kind)
	if olm.BuiltinGroup(group) {
		if r.unserved(apiVersion, o.Kind) {
			return false, notFound(apiVersion, o)
		}
		return known.Namespaced, ""
	}
	crd, others := c.definition(group, version, o.Kind)
	switch {
	case crd != nil:
		k, _ := olm.DefinedKind(crd)
		return k.Namespaced, ""
	case r.Target.OpenShift != nil && slices.Contains(ofOpenShift, group),
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
