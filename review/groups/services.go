package groups

import (
	"fmt"
	"strconv"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

// missingServices says which of the APIServices that a CSV requires are not there, as far as the tree can tell (OLM:
// pkg/controller/operators/olm/requirements.go, requirementStatus). What a Subscription stands for is installed together with what it needs.
func (o *olm) missingServices(v *csv) (unmet []string) {
	if v.sub != nil {
		return nil
	}
	for _, d := range v.needed {
		if why := o.missingService(d); why != "" {
			unmet = append(unmet, fmt.Sprintf("APIService %s: %s", d.service(), why))
		}
	}
	return unmet
}

// missingService gives the reason why there is no such APIService, or "". One that a CSV of the tree owns is there once that CSV is
// installed. For API groups of Kubernetes and for CRDs the API server makes APIServices itself. Others may be in the cluster although the
// tree has none, unless it is a dump that has all: one with Kubernetes' own.
func (o *olm) missingService(d ownedAPI) string {
	owners, object := o.owning[d.service()], o.apis[d.service()]
	switch {
	case object != nil && unavailable(object):
		return "not available"
	case object != nil, o.serving[d.service()] != nil, bundle.BuiltinGroup(d.Group), o.defines(d):
		return ""
	case len(owners) > 0:
		return fmt.Sprintf("ClusterServiceVersion %s/%s, which owns it, is not installed", owners[0].namespace, owners[0].name)
	case o.apis["v1.apps"] != nil:
		return "not in the tree"
	}
	return ""
}

// unavailable reports whether the cluster has said so; a file says nothing (OLM: pkg/controller/install/apiservice.go,
// IsAPIServiceAvailable).
func unavailable(o *manifest.Object) bool {
	for i := range o.Len("status", "conditions") {
		at := []string{"status", "conditions", strconv.Itoa(i)}
		kind, _ := o.Get(append(at, "type")...)
		status, _ := o.Get(append(at, "status")...)
		if kind == "Available" {
			return status != "True"
		}
	}
	return false
}

// defines reports whether a CRD of the tree serves an API.
func (c *cluster) defines(d ownedAPI) bool {
	for _, crd := range c.crds {
		group, _ := crd.Get("spec", "group")
		kind, _ := crd.Get("spec", "names", "kind")
		if group == d.Group && kind == d.Kind && serves(crd, d.Version) {
			return true
		}
	}
	return false
}
