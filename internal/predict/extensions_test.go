package predict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// A play decodes each ClusterExtension and each ClusterCatalog once, however many there are of the other.
func TestExtensionsAreDecodedOnce(t *testing.T) {
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, "apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: c%d}\n---\n", i)
		fmt.Fprintf(&text, "apiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: {name: e%d}\n"+
			"spec: {namespace: a, serviceAccount: {name: a}, source: {catalog: {packageName: p%[1]d}}}\n---\n", i)
	}
	docs, err := manifest.ReadFile("objects.yaml", []byte(strings.TrimSuffix(text.String(), "---\n")), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []*manifest.Object
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	decoded := map[string]int{}
	predict.EachDecoding(t.Cleanup, func(o *manifest.Object) { decoded[o.Identity()]++ })
	catalogs := predict.Catalogs{Others: &catalog.Catalog{}}
	if _, err := predict.Check(t.Context(), &tree.Tree{Objects: objects}, predict.Options{Catalogs: catalogs}); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if n := decoded[o.Identity()]; n != 1 {
			t.Errorf("%s is decoded %d times", o.Identity(), n)
		}
	}
}
