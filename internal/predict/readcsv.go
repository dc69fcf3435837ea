package predict

import (
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

func (c *cluster) addCSV(p ordered) *manifest.Error {
	v := &csv{ordered: p, name: p.Name, namespace: p.Namespace, annotations: map[string]string{}}
	if err := v.read(p.Object); err != nil {
		return err
	}
	var set map[string]string
	var status struct {
		Phase   v1alpha1.ClusterServiceVersionPhase `json:"phase"`
		Reason  v1alpha1.ConditionReason            `json:"reason"`
		Message string                              `json:"message"`
	}
	for _, err := range []*manifest.Error{
		field(p.Object, &set, "metadata", "labels"),
		field(p.Object, &status.Phase, "status", "phase"),
		field(p.Object, &status.Reason, "status", "reason"),
		field(p.Object, &status.Message, "status", "message"),
	} {
		if err != nil {
			return err
		}
	}
	v.phase, v.reason, v.message = status.Phase, status.Reason, status.Message
	v.observed = v.phase != v1alpha1.CSVPhaseNone
	v.exists = v.observed
	for _, key := range groupAnnotations {
		if text, ok := v.given[key]; ok {
			v.annotations[key] = text
		}
	}
	v.source, v.copied = olm.Copied(metav1.ObjectMeta{Namespace: v.namespace, Labels: set, Annotations: v.given},
		v.reason)
	c.csvs = append(c.csvs, v)
	return nil
}

// read reads the fields of a ClusterServiceVersion that the simulation needs. It decodes no more, because CSVs are
// large.
func (v *csv) read(o *manifest.Object) *manifest.Error {
	for _, err := range []*manifest.Error{
		field(o, &v.given, "metadata", "annotations"),
		field(o, &v.modes, "spec", "installModes"),
		field(o, &v.replaces, "spec", "replaces"),
		apisOf(o, &v.owned, "customresourcedefinitions", "owned"),
		apisOf(o, &v.required, "customresourcedefinitions", "required"),
		apisOf(o, &v.services, "apiservicedefinitions", "owned"),
		apisOf(o, &v.needed, "apiservicedefinitions", "required"),
	} {
		if err != nil {
			return err
		}
	}
	v.provided, v.unusable = surface(v.owned, v.required, v.services)
	return nil
}

func apisOf(o *manifest.Object, into *[]ownedAPI, definitions, list string) *manifest.Error {
	for i := range o.Len("spec", definitions, list) {
		at := []string{"spec", definitions, list, strconv.Itoa(i)}
		var a ownedAPI
		for _, f := range []struct {
			key string
			to  *string
		}{
			{"name", &a.Name}, {"group", &a.Group}, {"version", &a.Version}, {"kind", &a.Kind},
			{"deploymentName", &a.DeploymentName},
		} {
			if err := field(o, f.to, append(slices.Clip(at), f.key)...); err != nil {
				return err
			}
		}
		*into = append(*into, a)
	}
	return nil
}
