package olmv1

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// configure changes a Deployment as a deploymentConfig says, in OLM v1's order (section 11). Init containers are never
// touched. The first release that had it added volumes and mounts whatever their names, and took empty affinities as
// they are.
func configure(c *v1alpha1.SubscriptionConfig, d *appsv1.Deployment, merge, remove bool) {
	if c == nil {
		return
	}
	pod := &d.Spec.Template.Spec
	for i := range pod.Containers {
		to := &pod.Containers[i]
		to.Env = replaceOrAdd(to.Env, c.Env, true, func(e corev1.EnvVar) string { return e.Name })
		to.EnvFrom = addNew(to.EnvFrom, c.EnvFrom)
		to.VolumeMounts = replaceOrAdd(to.VolumeMounts, c.VolumeMounts, merge,
			func(m corev1.VolumeMount) string { return m.Name })
		if c.Resources != nil {
			to.Resources = *c.Resources
		}
	}
	pod.Volumes = replaceOrAdd(pod.Volumes, c.Volumes, merge, func(v corev1.Volume) string { return v.Name })
	pod.Tolerations = addNew(pod.Tolerations, c.Tolerations)
	if c.NodeSelector != nil {
		pod.NodeSelector = c.NodeSelector
	}
	applyAffinity(c.Affinity, pod, remove)
	if len(c.Annotations) > 0 {
		d.Annotations = addMissing(d.Annotations, c.Annotations)
		d.Spec.Template.Annotations = addMissing(d.Spec.Template.Annotations, c.Annotations)
	}
}

// applyAffinity replaces or removes the parts that are set.
func applyAffinity(a *corev1.Affinity, pod *corev1.PodSpec, remove bool) {
	switch {
	case a == nil:
		return
	case !remove:
		pod.Affinity = cmp.Or(pod.Affinity, &corev1.Affinity{})
		setParts(pod.Affinity, a)
		return
	case a.NodeAffinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		pod.Affinity = nil
		return
	case pod.Affinity == nil:
		pod.Affinity = &corev1.Affinity{}
	}
	if a.NodeAffinity != nil {
		pod.Affinity.NodeAffinity = orNil(a.NodeAffinity, emptyNodeAffinity(a.NodeAffinity))
	}
	if p := a.PodAffinity; p != nil {
		pod.Affinity.PodAffinity = orNil(p, emptyPodAffinity(p))
	}
	if p := a.PodAntiAffinity; p != nil {
		pod.Affinity.PodAntiAffinity = orNil(p, emptyPodAntiAffinity(p))
	}
	if emptyNodeAffinity(pod.Affinity.NodeAffinity) && emptyPodAffinity(pod.Affinity.PodAffinity) &&
		emptyPodAntiAffinity(pod.Affinity.PodAntiAffinity) {
		pod.Affinity = nil
	}
}

// setParts replaces the parts that are set, empty ones too.
func setParts(to, parts *corev1.Affinity) {
	to.NodeAffinity = cmp.Or(parts.NodeAffinity, to.NodeAffinity)
	to.PodAffinity = cmp.Or(parts.PodAffinity, to.PodAffinity)
	to.PodAntiAffinity = cmp.Or(parts.PodAntiAffinity, to.PodAntiAffinity)
}

func orNil[T any](v *T, empty bool) *T {
	if empty {
		return nil
	}
	return v
}

func emptyNodeAffinity(a *corev1.NodeAffinity) bool {
	if a == nil {
		return true
	}
	required := a.RequiredDuringSchedulingIgnoredDuringExecution
	return (required == nil || len(required.NodeSelectorTerms) == 0) &&
		len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0
}

func emptyPodAffinity(a *corev1.PodAffinity) bool {
	return a == nil ||
		len(a.RequiredDuringSchedulingIgnoredDuringExecution)+
			len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0
}

func emptyPodAntiAffinity(a *corev1.PodAntiAffinity) bool {
	return a == nil ||
		len(a.RequiredDuringSchedulingIgnoredDuringExecution)+
			len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0
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

// addNew appends the items that are not in the list yet.
func addNew[T any](list, added []T) []T {
	for _, x := range added {
		if !slices.ContainsFunc(list, func(y T) bool { return reflect.DeepEqual(x, y) }) {
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
