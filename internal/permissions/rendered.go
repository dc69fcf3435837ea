package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// AddRendered adds a rendered object, in its namespace, if it has a part in permissions, and returns it as reviewed.
func (in *Input) AddRendered(o *manifest.Object, namespace string) *manifest.Object {
	in.Rendered = true
	if Authored(o) {
		named := *o
		named.Namespace = namespace
		o = &named
	}
	if Relevant(o.Group(), o.Kind) {
		in.Objects = append(in.Objects, o)
	}
	return o
}

// Authored reports whether a rendered object is not from a file of the bundle.
func Authored(o *manifest.Object) bool { return o.File == "" || strings.HasPrefix(o.File, o.Kind+" ") }

// Place returns the file and line of a field of a rendered object in its bundle: in the file of the object, or in its
// part of the CSV. The file is empty if the bundle has no place for it.
func Place(csvs []CSV, o *manifest.Object, field string) (file string, line int) {
	if !Authored(o) {
		return o.PlaceOf(field)
	}
	for _, csv := range csvs {
		if at := fieldOf(csv, o, field); at != "" {
			return csv.Object.PlaceOf(at)
		}
	}
	return "", 0
}

// fieldOf returns the field of a CSV that a field of an object is made of; empty if the object is not made of the CSV.
func fieldOf(csv CSV, o *manifest.Object, field string) string {
	for i, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if o.Kind != "Deployment" || o.Name != d.Name || o.Namespace != csv.Namespace {
			continue
		}
		at := fmt.Sprintf("spec.install.spec.deployments[%d]", i)
		annotation, of := strings.CutPrefix(field, "spec.template.metadata.annotations")
		path := append(decoded.Segments(at+".spec.template.metadata.annotations"), decoded.Segments(annotation)...)
		switch labels, ok := strings.CutPrefix(field, "metadata.labels"); {
		case of && !csv.Object.Has(path...): // OLM: pkg/controller/install/deployment.go
			return "metadata.annotations" + annotation
		case ok:
			return at + ".label" + labels
		}
		return at + "." + field
	}
	if !strings.HasSuffix(o.Kind, "WebhookConfiguration") {
		return ""
	}
	of, rest, _ := strings.Cut(strings.TrimPrefix(field, "webhooks["), "]")
	name, err := o.Get("webhooks", of, "name")
	var list []struct{ Name string }
	_ = o.Field(&list, "webhooks") // what cannot be read is of no CSV
	made := ""
	for i, w := range csv.Spec.WebhookDefinitions {
		if slices.Contains(list, struct{ Name string }{w.GenerateName}) {
			made = "spec.webhookdefinitions"
		}
		if err == nil && name == w.GenerateName {
			below := olm.DefinitionField(strings.TrimPrefix(rest, "."))
			return strings.TrimSuffix(fmt.Sprintf("spec.webhookdefinitions[%d].%s", i, below), ".")
		}
	}
	return made
}

// InstalledCSVs returns the ClusterServiceVersions among objects that are no copies.
func InstalledCSVs(objects []*manifest.Object) ([]CSV, error) {
	var out []CSV
	for _, o := range objects {
		if o.Kind != v1alpha1.ClusterServiceVersionKind || o.Group() != olm.Group {
			continue
		}
		var csv v1alpha1.ClusterServiceVersion
		if _, err := o.Into(&csv); err != nil {
			return nil, err
		}
		if _, copied := olm.Copied(csv.ObjectMeta, csv.Status.Reason); !copied {
			out = append(out, CSV{ClusterServiceVersion: &csv, Object: o, Namespace: o.Namespace})
		}
	}
	return out, nil
}

// Accounts returns the accounts of an operator that run its pods, or all that it names.
func Accounts(csv CSV, all bool) map[Subject]bool {
	spec := csv.Spec.InstallStrategy.StrategySpec
	names := lists.Map(spec.DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) string {
		return d.Spec.Template.Spec.ServiceAccountName
	})
	if all {
		for _, p := range slices.Concat(spec.ClusterPermissions, spec.Permissions) {
			names = append(names, p.ServiceAccountName)
		}
	}
	return lists.Set(names, func(name string) Subject {
		return Subject{Kind: rbacv1.ServiceAccountKind, Namespace: csv.Namespace,
			Name: cmp.Or(name, "default")}
	})
}

// Locate changes the paths of files in findings, not in items, to those that a person finds them by.
func (r *Report) Locate(path func(file string) string) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.File != "" {
			f.Path = path(f.File)
		}
	}
}
