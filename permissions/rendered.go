package permissions

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// AddRendered returns a rendered object as it is reviewed, and adds it to in if it has a part in permissions. An error
// is about YAML that cannot be read.
func (in *Input) AddRendered(o generate.Object) (*manifest.Object, error) {
	in.Rendered = true
	read, err := o.Manifest()
	if err != nil {
		return nil, err
	}
	if Authored(read) {
		named := *read
		named.Namespace = o.Namespace
		read = &named
	}
	if Relevant(o.Group(), o.Kind) {
		in.Objects = append(in.Objects, read)
	}
	return read, nil
}

// Authored reports whether a rendered object is not from a file of the bundle.
func Authored(o *manifest.Object) bool { return o.File == "" || strings.HasPrefix(o.File, o.Kind+" ") }

// Place returns the file and line of a rendered object in its bundle: its own, or its part of the CSV. The file is
// empty if the bundle has no place for it.
func Place(csvs []CSV, o *manifest.Object) (file string, line int) {
	if !Authored(o) {
		return o.File, o.LineOf("")
	}
	for _, csv := range csvs {
		for i, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			if o.Kind == "Deployment" && o.Name == d.Name && o.Namespace == csv.Namespace {
				return csv.Object.File, csv.Object.LineOf(fmt.Sprintf("spec.install.spec.deployments[%d]", i))
			}
		}
		if strings.HasSuffix(o.Kind, "WebhookConfiguration") {
			return csv.Object.File, csv.Object.LineOf("spec.webhookdefinitions")
		}
	}
	return "", 0
}
