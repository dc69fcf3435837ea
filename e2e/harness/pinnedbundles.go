package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/operator-framework/operator-registry/pkg/api"

	"github.com/olmgen/olmgen/e2e/harness/catalog"
)

// release is a release of a package of a source catalog.
type release struct {
	Package, Version string
	Requires         string // a package, if any
}

func (r release) CSV() string   { return r.Package + ".v" + r.Version }
func (r release) Image() string { return "registry.test/" + r.Package + ":" + r.Version }

// bundleFiles are the files of a bundle.
var bundleFiles = map[string]*template.Template{
	"metadata/annotations.yaml": parsed(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: {{.Package}}
  operators.operatorframework.io.bundle.channels.v1: stable
`),
	"manifests/crd.yaml": parsed(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {{.Package}}s.example.com
spec:
  group: example.com
  names: {kind: {{.Package}}, plural: {{.Package}}s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`),
	"manifests/csv.yaml": parsed(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: {{.CSV}}
spec:
  displayName: {{.Package}}
  version: {{.Version}}
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: true}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: {{.Package}}s.example.com, kind: {{.Package}}, version: v1}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: {{.Package}}
        spec:
          replicas: 1
          selector: {matchLabels: {app: {{.Package}}}}
          template:
            metadata: {labels: {app: {{.Package}}}}
            spec:
              containers:
              - {name: operator, image: {{.Image}}}
`),
}

// catalogFile is a file-based catalog of releases, in the order of their updates.
var catalogFile = parsed(`{{range $package, $releases := .}}schema: olm.package
name: {{$package}}
defaultChannel: stable
---
schema: olm.channel
package: {{$package}}
name: stable
entries:
{{$before := ""}}{{range $releases}}- name: {{.CSV}}
{{if $before}}  replaces: {{$before}}
{{end}}{{$before = .CSV}}{{end}}{{range $releases}}---
schema: olm.bundle
package: {{.Package}}
name: {{.CSV}}
image: {{.Image}}
properties:
- type: olm.package
  value: {packageName: {{.Package}}, version: {{.Version}}}
- type: olm.gvk
  value: {group: example.com, kind: {{.Package}}, version: v1}
{{if .Requires}}- type: olm.package.required
  value: {packageName: {{.Requires}}, versionRange: ">=0.0.0"}
{{end}}{{end}}---
{{end}}`)

func parsed(text string) *template.Template { return template.Must(template.New("").Parse(text)) }

// write makes the bundle below a directory, and returns what a catalog sends when it has been unpacked.
func (r release) write(dir string) (*api.Bundle, error) {
	dir = filepath.Join(dir, r.CSV())
	for name, t := range bundleFiles {
		if err := writeTemplate(filepath.Join(dir, name), t, r); err != nil {
			return nil, err
		}
	}
	return catalog.Read(dir)
}

func writeTemplate(file string, t *template.Template, data any) error {
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.TrimSuffix(out.String(), "---\n")), 0o600)
}

// writeSource writes a file-based catalog of releases into a directory, which it makes.
func writeSource(dir string, releases []release) error {
	packages := map[string][]release{}
	for _, r := range releases {
		packages[r.Package] = append(packages[r.Package], r)
	}
	return writeTemplate(filepath.Join(dir, "catalog.yaml"), catalogFile, packages)
}
