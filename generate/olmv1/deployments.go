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
func (r *renderer) deployments() {
	for _, d := range r.install().DeploymentSpecs {
		r.deployment(d)
	}
}

func (r *renderer) deployment(d v1alpha1.StrategyDeploymentSpec) {
	deployment := &appsv1.Deployment{
		TypeMeta:   kind("apps/v1", "Deployment"),
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: r.Namespace, Labels: d.Label},
		Spec:       *d.Spec.DeepCopy(),
	}
	if r.does(versions.KeepsOneReplicaSet) {
		deployment.Spec.RevisionHistoryLimit = new(int32(1))
	}
	template := &deployment.Spec.Template
	template.Annotations = r.podAnnotations(template.Annotations)
	if r.hasCerts() && r.servesWebhooks(d.Name) {
		mountCerts(&template.Spec, certName(d.Name), r.does(versions.ClearsMounts))
	}
	configure(r.Config, deployment, r.does(versions.MergesVolumes), r.does(versions.RemovesAffinity))
	r.typed(deployment)
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
