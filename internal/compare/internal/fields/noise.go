package fields

import (
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// Noise is a difference that no report names.
type Noise struct {
	Kinds  []string // of the objects; none: all
	Path   string   // as Of writes it, with [] for every item of a list; pod: begins at the pods of a workload
	Keys   []string // below Path, only these keys; a final * stands for the rest of a key
	Value  string   // only this value: a field that is missing has it; empty: every value
	Owned  bool     // only in objects that OLM owns; their value counts where the other object is not one
	Reason string
}

var csv = []string{"ClusterServiceVersion"}

// Sources of facts.
const (
	server  = "the API server fills it in (Kubernetes: pkg/apis/core/v1/defaults.go)"
	written = "the API server writes it (Kubernetes: pkg/apis/meta/v1, ObjectMeta)"
	missing = "it means the same as a missing field (Kubernetes: staging/src/k8s.io/api/core/v1/types.go)"
	owned   = "OLM writes it with every release (OLM: pkg/lib/ownerutil/util.go)"
)

// Ignored is the noise beside what normalize.Filled knows, with why nobody has to know. TestNoise has a case for each.
var Ignored = []Noise{
	{Path: "status", Reason: "controllers write it"},
	{Path: "metadata", Keys: []string{"creationTimestamp", "uid", "resourceVersion", "generation", "managedFields",
		"selfLink"}, Reason: written},
	{Path: "pod:metadata.creationTimestamp", Reason: written},
	{Kinds: []string{"DaemonSet"}, Path: "metadata.annotations", Keys: []string{
		"deprecated.daemonset.template.generation"}, Reason: "the API server writes it (Kubernetes: pkg/apis/apps/v1)"},
	{Path: "metadata.annotations", Keys: []string{"kubectl.kubernetes.io/last-applied-configuration"},
		Reason: "kubectl writes it, and it repeats the object"},

	{Path: "metadata.labels", Keys: []string{olm.LabelOwner + "*", olm.LabelManaged, olm.LabelSpecHash,
		olm.LabelWebhookName, olm.LabelWebhookHash, olm.LabelComponent + "*"}, Reason: owned},
	{Path: "pod:metadata.labels", Keys: []string{olm.LabelOwner + "*", olm.LabelManaged, olm.LabelSpecHash,
		olm.LabelComponent + "*"}, Reason: owned},
	{Kinds: []string{"ClusterRole"}, Path: "metadata.labels", Keys: []string{olm.LabelAggregateTo + "*"},
		Reason: "OLM aggregates by it, and the permissions of users are compared " +
			"(OLM: pkg/controller/operators/olm/operatorgroup.go)"},
	{Path: "metadata.annotations", Keys: []string{olm.AnnotationGroup, olm.AnnotationNamespace,
		olm.AnnotationTargets, olm.AnnotationProvidedAPIs},
		Reason: "OLM writes it; a ClusterServiceVersion that it makes a copy is no operator any more, and that is " +
			"reported (OLM: pkg/controller/operators/olm/operatorgroup.go)"},
	{Path: "pod:metadata.annotations", Keys: []string{olm.AnnotationGroup, olm.AnnotationNamespace,
		olm.AnnotationTargets, olm.AnnotationProvidedAPIs}, Owned: true,
		Reason: "OLM writes it to what it installs (OLM: pkg/controller/install/deployment.go)"},
	{Path: "pod:spec.containers[].env[OPERATOR_CONDITION_NAME]", Reason: "OLM writes the name of the " +
		"ClusterServiceVersion there (OLM: pkg/controller/operators/olm/overrides/inject/inject.go)"},
	{Path: "pod:spec.initContainers[].env[OPERATOR_CONDITION_NAME]", Reason: "OLM writes the name of the " +
		"ClusterServiceVersion there (OLM: pkg/controller/operators/olm/overrides/inject/inject.go)"},

	{Path: "pod:spec", Keys: []string{"affinity", "nodeSelector"}, Value: "{}", Reason: missing},
	{Path: "pod:CONTAINERS.securityContext", Keys: []string{"privileged", "readOnlyRootFilesystem"}, Value: "false",
		Reason: missing},
	{Path: "pod:CONTAINERS", Keys: []string{"securityContext", "resources"}, Value: "{}", Reason: missing},
	{Kinds: []string{"Namespace"}, Path: "metadata.labels", Keys: []string{"kubernetes.io/metadata.name"},
		Reason: server},
	{Kinds: []string{"ConfigMap"}, Path: "data", Value: "{}", Reason: server},
	{Kinds: csv, Path: "spec", Keys: []string{"apiservicedefinitions", "customresourcedefinitions", "provider"},
		Value: "{}", Reason: "the types always print it (api: pkg/operators/v1alpha1/clusterserviceversion_types.go)"},
	{Kinds: csv, Path: "spec", Keys: []string{"maturity", "minKubeVersion", "replaces"}, Value: `""`,
		Reason: "it means the same as a missing field (api: pkg/operators/v1alpha1/clusterserviceversion_types.go)"},

	{Path: "metadata", Keys: []string{"annotations", "labels"}, Value: "{}", Reason: missing},
	{Path: "pod:metadata", Keys: []string{"annotations", "labels"}, Value: "{}", Reason: missing},
	{Path: "pod:metadata", Value: "{}", Reason: missing},
}

// expand returns the paths of an entry for objects of a kind. CONTAINERS stands for each list of containers.
func (n Noise) expand(podPath string, hasPods bool) (paths []string) {
	path, ofPods := strings.CutPrefix(n.Path, "pod:")
	switch {
	case !ofPods:
		return []string{path}
	case !hasPods:
		return nil
	case !strings.Contains(path, "CONTAINERS"):
		return []string{podPath + path}
	}
	for _, list := range []string{"spec.containers[]", "spec.initContainers[]", "spec.ephemeralContainers[]"} {
		paths = append(paths, podPath+strings.Replace(path, "CONTAINERS", list, 1))
	}
	return paths
}
