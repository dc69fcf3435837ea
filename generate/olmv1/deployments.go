package olmv1

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/views"
)

// deployments makes the CSV's Deployments (section 10).
func (r *renderer) deployments() {
	for _, d := range r.install().DeploymentSpecs {
		r.deployment(d)
	}
}

func (r *renderer) deployment(d v1alpha1.StrategyDeploymentSpec) {
	deployment := &appsv1.Deployment{Spec: *d.Spec.DeepCopy()}
	if r.does(versions.KeepsOneReplicaSet) {
		deployment.Spec.RevisionHistoryLimit = new(int32(1))
	}
	template := &deployment.Spec.Template
	annotations := map[string]string{}
	maps.Copy(annotations, r.csv.Annotations)
	maps.Copy(annotations, template.Annotations)
	for key, value := range map[string]string{olm.AnnotationTargets: strings.Join(r.TargetNamespaces, ","),
		olm.AnnotationNamespace: r.Namespace} {
		if r.does(versions.Annotates + key) {
			annotations[key] = value
		}
	}
	template.Annotations = annotations
	serves := func(w v1alpha1.WebhookDescription) bool { return w.DeploymentName == d.Name }
	if r.ca(d.Name) != (views.CA{}) && slices.ContainsFunc(r.csv.Spec.WebhookDefinitions, serves) {
		mountCerts(&template.Spec, certName(d.Name), r.does(versions.ClearsMounts))
	}
	Configure(r.Config, deployment, r.does(versions.MergesVolumes), r.does(versions.RemovesAffinity))
	spec := r.value(&deployment.Spec)
	olm.TrimDeployment(spec) // deviation EmptyStub
	r.author("apps/v1", "Deployment", r.Namespace, d.Name, views.Deployment{Name: d.Name, Namespace: r.Namespace,
		Labels: d.Label, Annotations: deployment.Annotations, Spec: spec})
}

// Configure changes a Deployment as a deploymentConfig says, in OLM v1's order (section 11). Init containers are never
// touched. The first release that had it added volumes and mounts whatever their names, and took empty affinities as
// they are.
func Configure(c *v1alpha1.SubscriptionConfig, d *appsv1.Deployment, merge, remove bool) {
	if c == nil {
		return
	}
	pod := &d.Spec.Template.Spec
	for i := range pod.Containers {
		to := &pod.Containers[i]
		to.Env = replaceOrAdd(to.Env, c.Env, true, func(e corev1.EnvVar) string { return e.Name })
		to.EnvFrom = lists.Union(to.EnvFrom, c.EnvFrom)
		to.VolumeMounts = replaceOrAdd(to.VolumeMounts, c.VolumeMounts, merge,
			func(m corev1.VolumeMount) string { return m.Name })
		if c.Resources != nil {
			to.Resources = *c.Resources
		}
	}
	pod.Volumes = replaceOrAdd(pod.Volumes, c.Volumes, merge, func(v corev1.Volume) string { return v.Name })
	pod.Tolerations = lists.Union(pod.Tolerations, c.Tolerations)
	if c.NodeSelector != nil {
		pod.NodeSelector = c.NodeSelector
	}
	applyAffinity(c.Affinity, pod, remove)
	if len(c.Annotations) > 0 {
		d.Annotations = addMissing(d.Annotations, c.Annotations)
		d.Spec.Template.Annotations = addMissing(d.Spec.Template.Annotations, c.Annotations)
	}
}

func applyAffinity(a *corev1.Affinity, pod *corev1.PodSpec, remove bool) {
	if a == nil {
		return
	}
	to := cmp.Or(pod.Affinity, &corev1.Affinity{})
	to.NodeAffinity = part(to.NodeAffinity, a.NodeAffinity, remove)
	to.PodAffinity = part(to.PodAffinity, a.PodAffinity, remove)
	to.PodAntiAffinity = part(to.PodAntiAffinity, a.PodAntiAffinity, remove)
	if pod.Affinity = to; remove && (empty(to) || *a == corev1.Affinity{}) {
		pod.Affinity = nil
	}
}

// part returns a part of an affinity: the one that is set, unless that is empty and removes it.
func part[T any](have, set *T, remove bool) *T {
	switch {
	case set == nil:
		return have
	case remove && empty(set):
		return nil
	}
	return set
}

// empty reports whether a part of an affinity has no terms.
func empty(part any) bool {
	v, err := olm.Value(part)
	return err == nil && saysNothing(v)
}

// replaceOrAdd puts each added item in the place of the last one of that name that was there before, or at the end.
func replaceOrAdd[T any](list, added []T, replace bool, name func(T) string) []T {
	at := make(map[string]int, len(list))
	for i, x := range list {
		at[name(x)] = i
	}
	for _, x := range added {
		if i, ok := at[name(x)]; ok && replace {
			list[i] = x
		} else {
			list = append(list, x)
		}
	}
	return list
}

// addMissing returns the added entries overlaid by those that are there already.
func addMissing(there, added map[string]string) map[string]string {
	out := maps.Clone(added)
	maps.Copy(out, there)
	return out
}
