package predict

import (
	"maps"
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
		crdsOf(o, &v.crds.Owned, "owned"),
		crdsOf(o, &v.crds.Required, "required"),
		servicesOf(o, &v.services.Owned, "owned"),
		servicesOf(o, &v.services.Required, "required"),
	} {
		if err != nil {
			return err
		}
	}
	spec := &v1alpha1.ClusterServiceVersionSpec{CustomResourceDefinitions: v.crds, APIServiceDefinitions: v.services}
	if v.unusable = olm.CheckCRDNames(spec); v.unusable == nil {
		v.provided = apisOf(olm.OwnedAPIs(spec))
	}
	return nil
}

func crdsOf(o *manifest.Object, into *[]v1alpha1.CRDDescription, list string) *manifest.Error {
	at := []string{"spec", "customresourcedefinitions", list}
	for i := range o.Len(at...) {
		var d v1alpha1.CRDDescription
		err := fields(o, append(slices.Clip(at), strconv.Itoa(i)),
			map[string]*string{"name": &d.Name, "version": &d.Version, "kind": &d.Kind})
		if err != nil {
			return err
		}
		*into = append(*into, d)
	}
	return nil
}

func servicesOf(o *manifest.Object, into *[]v1alpha1.APIServiceDescription, list string) *manifest.Error {
	at := []string{"spec", "apiservicedefinitions", list}
	for i := range o.Len(at...) {
		var d v1alpha1.APIServiceDescription
		err := fields(o, append(slices.Clip(at), strconv.Itoa(i)), map[string]*string{"name": &d.Name,
			"group": &d.Group, "version": &d.Version, "kind": &d.Kind, "deploymentName": &d.DeploymentName})
		if err != nil {
			return err
		}
		*into = append(*into, d)
	}
	return nil
}

// fields reads texts of one map. The first wrong one, by name, is the error.
func fields(o *manifest.Object, at []string, texts map[string]*string) *manifest.Error {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if err := field(o, texts[key], append(slices.Clip(at), key)...); err != nil {
			return err
		}
	}
	return nil
}
