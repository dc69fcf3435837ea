package installer_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/olmgen/olmgen/internal/installer"
	"github.com/olmgen/olmgen/internal/tree"
)

// Derive the RBAC that an account needs in order to apply a ConfigMap.
func ExampleDerive() {
	t, err := tree.Read(context.Background(), []string{"-"}, tree.Options{Stdin: strings.NewReader(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
`)})
	if err != nil {
		log.Fatal(err)
	}
	p, err := installer.Derive(t.Objects, installer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range p.Namespaces["shop"] {
		fmt.Println(r.Verbs, r.Resources, r.ResourceNames)
	}
	// Output:
	// [create] [configmaps] []
	// [delete get patch update] [configmaps] [settings]
}
