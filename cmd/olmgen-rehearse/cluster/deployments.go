package cluster

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reportDeployments sets the status of every Deployment as if all its pods ran, because there are no nodes, and adds an
// endpoint for APIServices.
func (c *Cluster) reportDeployments(ctx context.Context) {
	c.network.cluster.Store(c)
	for ctx.Err() == nil {
		list, err := c.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, d := range list.Items {
				c.report(ctx, &d)
			}
		}
		_ = c.endpoints(ctx) // what fails is tried again
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c *Cluster) report(ctx context.Context, d *appsv1.Deployment) {
	if d.Status.ObservedGeneration == d.Generation {
		return
	}
	n := int32(1)
	if d.Spec.Replicas != nil {
		n = *d.Spec.Replicas
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	// a conflict is tried again
	_, _ = c.Client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
}
