package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/e2e/harness/cluster"
	"github.com/olmgen/olmgen/e2e/harness/live"
	recordings "github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/compare"
)

// adoptCases are the recordings that are adopted: several operators, webhooks, an APIService, a selector, a Subscription
// with config, a static group.
var adoptCases = []string{"gates-multi", "group-with-selector", "group-with-static-apis", "meters-own",
	"subscription-config-own", "two-operators-in-a-global-group", "two-operators-in-one-group"}

// adopt installs cases with OLM and takes them over into a RenderConfig.
func (o options) adopt(ctx context.Context, _ material) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	failed := 0
	for _, c := range cases {
		if !slices.Contains(adoptCases, c.Name) || !o.only.MatchString(c.Name) {
			continue
		}
		started := time.Now()
		if err := o.adoptOne(ctx, c); err != nil {
			failed++
			fmt.Printf("adopt: %-40s FAILED %v\n", c.Name, err)
			continue
		}
		fmt.Printf("adopt: %-40s %3.0fs\n", c.Name, time.Since(started).Seconds())
	}
	if failed > 0 {
		return fmt.Errorf("adopt: %d cases failed", failed)
	}
	return nil
}

func (o options) adoptOne(ctx context.Context, what compare.Case) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.StartOLM(ctx); err != nil {
		return err
	}
	if _, err := live.Record(ctx, c, o.golden(), what); err != nil {
		return err
	}
	dump, err := clusterDump(ctx, c)
	if err != nil {
		return err
	}
	if o.update {
		return os.WriteFile(filepath.Join(o.root, "config", "adopt", "testdata", what.Name+".yaml"), dump, 0o644)
	}
	return nil
}

// dumpKinds are what "olmgen adopt --print-kubectl" asks for.
var dumpKinds = []string{"Namespace", "OperatorGroup", "ClusterServiceVersion", "Subscription", "InstallPlan", "CatalogSource",
	"OperatorCondition", "Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Service",
	"ConfigMap", "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	"NetworkPolicy", "PodDisruptionBudget", "PriorityClass"}

// clusterDump returns what kubectl prints of these kinds. It leaves out what the API server and OLM themselves bring.
func clusterDump(ctx context.Context, c *cluster.Cluster) ([]byte, error) {
	all, err := c.Objects(ctx, []string{"Event", "Secret"})
	if err != nil {
		return nil, err
	}
	var items []any
	for _, u := range all {
		system := strings.HasPrefix(u.GetName(), "system:") || strings.HasSuffix(u.GetName(), ".operators.coreos.com") ||
			u.GetName() == "kube-root-ca.crt"
		if system || !slices.Contains(dumpKinds, u.GetKind()) {
			continue
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields") // kubectl hides it
		items = append(items, u.Object)
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items,
		"metadata": map[string]any{"resourceVersion": ""}})
}
