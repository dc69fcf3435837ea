package olmv1

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// deployments makes the CSV's Deployments (section 10).
func (r *renderer) deployments() ([]Object, error) {
	var out []Object
	for _, d := range r.install().DeploymentSpecs {
		o, err := r.deployment(d)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func (r *renderer) deployment(d v1alpha1.StrategyDeploymentSpec) (Object, error) {
	deployment := &appsv1.Deployment{
		TypeMeta:   kind("apps/v1", "Deployment"),
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: r.Namespace, Labels: d.Label},
		Spec:       *d.Spec.DeepCopy(),
	}
	if r.does(versions.KeepsOneReplicaSet) {
		revisions := int32(1)
		deployment.Spec.RevisionHistoryLimit = &revisions
	}
	template := &deployment.Spec.Template
	template.Annotations = r.podAnnotations(template.Annotations)
	if r.hasCerts() && r.servesWebhooks(d.Name) {
		mountCerts(&template.Spec, certName(d.Name), r.does(versions.ClearsMounts))
	}
	r.Config.apply(deployment, r.does(versions.MergesVolumes), r.does(versions.RemovesAffinity))
	o, err := typed(deployment)
	if err == nil {
		dropStubs(o.Value)
	}
	return o, err
}

// podAnnotations are the CSV's, those of the template, and OLM's own, the later ones winning.
func (r *renderer) podAnnotations(template map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, r.csv.Annotations)
	maps.Copy(out, template)
	out[olm.AnnotationTargets] = strings.Join(r.TargetNamespaces, ",")
	if r.does(versions.AnnotatesNamespace) {
		out[olm.AnnotationNamespace] = r.Namespace
	}
	return out
}

func (r *renderer) servesWebhooks(deployment string) bool {
	return slices.ContainsFunc(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) bool { return w.DeploymentName == deployment })
}

// dropStubs removes the empty mappings that Go's encoding adds to a Deployment (deviation EmptyStub).
func dropStubs(deployment map[string]any) {
	spec := child(deployment, "spec")
	dropEmpty(spec, "strategy")
	template := child(spec, "template")
	pod := child(template, "spec")
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, c := range containers {
			if c, ok := c.(map[string]any); ok {
				dropEmpty(c, "resources")
			}
		}
	}
}

func dropEmpty(m map[string]any, key string) {
	if v, ok := m[key].(map[string]any); ok && len(v) == 0 {
		delete(m, key)
	}
}
