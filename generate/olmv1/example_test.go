package olmv1_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate/olmv1"
)

// Render a bundle as OLM v1 does for a ClusterExtension.
func ExampleRender() {
	b, err := bundle.Read(os.DirFS("../../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	objects, err := olmv1.Render(b, olmv1.Options{Namespace: "operators"})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range objects {
		fmt.Println(o.Kind, o.Name)
	}
	// Output:
	// ServiceAccount memcached-operator-controller-manager
	// ClusterRole memcached-operator-14ps0zcefuqoouc97aclg6grt9dqepoci1gq03grnjxw
	// ClusterRoleBinding memcached-operator-14ps0zcefuqoouc97aclg6grt9dqepoci1gq03grnjxw
	// ClusterRole memcached-operator-13hg5uns9z3vhvjye2y5ghji2l5pdwuc3sk31hy4nlyy
	// ClusterRoleBinding memcached-operator-13hg5uns9z3vhvjye2y5ghji2l5pdwuc3sk31hy4nlyy
	// CustomResourceDefinition memcacheds.cache.example.com
	// Service memcached-operator-controller-manager-metrics-service
	// ClusterRole memcached-operator-memcached-viewer-role
	// Deployment memcached-operator-controller-manager
}
