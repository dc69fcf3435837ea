package extension_test

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
)

const exampleCatalog = `
schema: olm.package
name: a
---
schema: olm.channel
package: a
name: stable
entries: [{name: a.v1.0.0}, {name: a.v1.1.0, replaces: a.v1.0.0}, {name: a.v2.0.0}]
---
schema: olm.bundle
package: a
name: a.v1.0.0
image: example.com/a:1.0.0
properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]
---
schema: olm.bundle
package: a
name: a.v1.1.0
image: example.com/a:1.1.0
properties: [{type: olm.package, value: {packageName: a, version: 1.1.0}}]
---
schema: olm.bundle
package: a
name: a.v2.0.0
image: example.com/a:2.0.0
properties: [{type: olm.package, value: {packageName: a, version: 2.0.0}}]
`

// What OLM v1 installs first, what it updates to, and what it refuses.
func ExampleResolve() {
	c, err := catalog.ReadFS(context.Background(), fstest.MapFS{"a.yaml": {Data: []byte(exampleCatalog)}}, catalog.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sources := []extension.Source{{Name: "example", Catalog: c}}
	for _, q := range []struct {
		versions  string
		installed *extension.Installed
	}{
		{"1.x", nil},
		{"", &extension.Installed{Name: "a.v1.0.0", Version: "1.0.0"}},
		{"2.x", &extension.Installed{Name: "a.v1.0.0", Version: "1.0.0"}},
	} {
		r, err := extension.Resolve(sources, extension.Request{Package: "a", Versions: q.versions}, q.installed)
		if refusal, ok := errors.AsType[*extension.Refusal](err); ok {
			fmt.Println("refused:", refusal.Text)
			continue
		}
		fmt.Println(r.Bundle.Name)
	}
	// Output:
	// a.v1.1.0
	// a.v1.1.0
	// refused: error upgrading from currently installed version "1.0.0": no bundles found for package "a" matching version "2.x"
}
