package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

//go:embed packageserver.yaml
var packageServer string

// installPackageServer creates what OLM's chart has of its own API server, and waits until OLM has installed it.
func installPackageServer(ctx context.Context, c *cluster.Cluster) error {
	for text := range strings.SplitSeq(packageServer, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), o); err != nil {
			return err
		}
		if _, err := c.ClientOf(o).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("packageserver: %s: %w", o.GetKind(), err)
		}
	}
	return c.Wait(ctx, "packageserver", func() error {
		csv, err := c.Dynamic.Resource(cluster.CSVs).Namespace("olm").Get(ctx, "packageserver", metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(csv.Object, "status", "phase")
		if phase != "Succeeded" {
			message, _, _ := unstructured.NestedString(csv.Object, "status", "message")
			return fmt.Errorf("it is %s: %s", phase, message)
		}
		return nil
	})
}
