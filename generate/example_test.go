package generate_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
)

func example() *bundle.Bundle {
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return b
}

// Render a bundle for a cluster without OLM. The operator watches one namespace.
func ExampleRender() {
	result, err := generate.Render(example(), generate.Options{
		Namespace:        "operators",
		TargetNamespaces: []string{"team-a"},
		Profile:          generate.ProfilePlain,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.InstallMode)
	for _, o := range result.Objects {
		if o.Kind == "Role" || o.Kind == "Deployment" {
			fmt.Println(o.Kind, o.Namespace+"/"+o.Name)
		}
	}
	// Output:
	// SingleNamespace
	// Role operators/memcached-operator-controller-manager
	// Role team-a/memcached-operator-controller-manager
	// Deployment operators/memcached-operator-controller-manager
}

// Render two operators that share an OperatorGroup. Its ClusterRoles and its annotation olm.providedAPIs cover both.
func ExampleRenderAll() {
	other, err := bundle.Read(os.DirFS("../golden/live-bundles/regatta"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	options := generate.Options{Namespace: "operators", OperatorGroup: "shared", Certs: generate.CertsManager}
	set, err := generate.RenderAll([]generate.Operator{
		{Bundle: example(), Options: options},
		{Bundle: other, Options: options},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range set.Objects {
		if len(o.Operators) == 2 {
			fmt.Println(o.Kind, o.Name)
		}
	}
	// Output:
	// OperatorGroup shared
	// ClusterRole shared-admin
	// ClusterRole shared-edit
	// ClusterRole shared-view
}
