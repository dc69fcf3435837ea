package compare

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// Render renders a bundle in the first mode that it supports, for a review: an operator that serves must have
// certificates, and these have no part in one.
func Render(b *bundle.Bundle) (*generate.Result, error) {
	o := generate.Options{Certs: generate.CertsManager}
	if _, err := generate.Namespace(b); err != nil { // a person must name one
		o.Namespace = olm.NamespaceOperators
	}
	supports := func(m v1alpha1.InstallModeType) bool { return olm.Supports(b.CSV.Spec.InstallModes, m) }
	switch {
	case supports(v1alpha1.InstallModeTypeAllNamespaces), supports(v1alpha1.InstallModeTypeOwnNamespace):
	case supports(v1alpha1.InstallModeTypeSingleNamespace):
		o.TargetNamespaces = []string{"target"}
	case supports(v1alpha1.InstallModeTypeMultiNamespace):
		o.TargetNamespaces = []string{"target", "target-2"}
	}
	return generate.Render(b, o)
}

// StateOf returns the state of a cluster with what a bundle was rendered to.
func StateOf(b *bundle.Bundle, result *generate.Result) (State, error) {
	in := permissions.Input{Shipped: b.Others, Namespace: result.Namespace}
	in.Operator = permissions.Operator{Name: result.CSV, Package: result.Package, Version: result.Version,
		InstallMode: string(result.InstallMode), Namespace: result.Namespace}
	in.CSVs = []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}
	s := State{Name: result.CSV, Operators: []Operator{{CSV: in.CSVs[0], Package: b.Package, Properties: b.Properties,
		Dependencies: b.Dependencies, InstallMode: result.InstallMode, Shipped: b.Shipped()}}}
	s.Locate = func(o *manifest.Object, field string) (string, int) { return permissions.Place(in.CSVs, o, field) }
	for _, o := range result.Objects {
		read, err := o.Manifest()
		if err != nil {
			return s, err
		}
		s.Objects = append(s.Objects, in.AddRendered(read, o.Namespace))
	}
	var err error
	s.Permissions, s.Roles, err = permissions.EvaluateWithRoles(in)
	return s, err
}
