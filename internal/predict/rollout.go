package predict

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/text"
)

// unready returns why the pods of a CSV do not run, as the objects of its cluster say: what their containers wait for,
// why they are not scheduled, and without pods the conditions of the Deployment. The hint says how to see more.
func (sim *simulation) unready(v *csv) (why, hint string) {
	if !v.observed {
		return "", ""
	}
	for _, name := range v.deployments() {
		d := sim.Deployments[v.Namespace+"/"+name]
		var has appsv1.Deployment
		if d == nil || d.Field(&has.Status, "status") != nil ||
			d.Field(&has.Spec.Selector, "spec", "selector") != nil ||
			has.Status.ReadyReplicas > 0 && has.Status.UnavailableReplicas == 0 {
			continue
		}
		said := sim.waitingPods(v.Namespace, has.Spec.Selector)
		if said == "" {
			said = badConditions(has.Status.Conditions)
		}
		if said != "" {
			return "Deployment " + name + ": " + said, fmt.Sprintf("see what its pods wait for: "+
				"kubectl -n %s describe pods -l %s", v.Namespace, metav1.FormatLabelSelector(has.Spec.Selector))
		}
	}
	return "", ""
}

// waitingPods returns what the first pod that does not run says; "" if there is none.
func (sim *simulation) waitingPods(namespace string, of *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return ""
	}
	for _, o := range sim.Of("", "Pod") {
		var pod corev1.Pod
		if o.Namespace != namespace || o.Field(&pod.Labels, "metadata", "labels") != nil ||
			!selector.Matches(labels.Set(pod.Labels)) || o.Field(&pod.Status, "status") != nil {
			continue
		}
		for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
				return fmt.Sprintf("container %s of pod %s: %s", c.Name, o.Name, saidBy(w.Reason, w.Message))
			}
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf("pod %s: %s", o.Name, saidBy(c.Reason, c.Message))
			}
		}
	}
	return ""
}

// badConditions returns the condition of a Deployment that says most about why it has no pods.
func badConditions(list []appsv1.DeploymentCondition) string {
	for _, bad := range []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse},
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse},
	} {
		for _, c := range list {
			if c.Type == bad.Type && c.Status == bad.Status {
				return saidBy(c.Reason, c.Message)
			}
		}
	}
	return ""
}

func saidBy(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + text.Shorten(text.OneLine(message), 200)
}
