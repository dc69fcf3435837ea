package audit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/cmd/internal/audit"
)

// List what the newest release of each operator asks for.
func ExampleSet_Run() {
	ctx := context.Background()
	set, err := audit.Load(ctx, []string{"../../../examples/memcached-operator"}, audit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	report, err := set.Run(ctx, audit.Head)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range report.Rows {
		fmt.Println(row.Name, row.InstallModes)
		for _, reach := range row.Reaches {
			fmt.Println(reach.Text)
		}
	}
	// Output:
	// memcached-operator.v0.1.0 [AllNamespaces OwnNamespace SingleNamespace]
	// starts pods in the cluster -> ServiceAccount kube-system/clusterrole-aggregation-controller: changes every ClusterRole, by escalate -> every right
	// reads all Secrets of the cluster
	// runs in pods of the cluster (workloads)
}
