package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// RuleAPIServer is the id of the rule about what the API server refuses.
const RuleAPIServer = "api-server"

// refusedWrites returns what the API server refuses of a bundle: of what it ships, and of what OLM makes of its CSV, at
// the field of the CSV. What is known of a place already is left out.
func refusedWrites(ctx context.Context, o Options, b *bundle.Bundle, known []Finding) ([]Finding, error) {
	shipped := b.Shipped()
	// Findings say already what has no name that a rendering can have.
	access, _ := generate.Access(b.CSV, "default")
	strategy, _ := generate.Strategy(b.CSV, "default", nil)
	objects := slices.Concat(shipped, access, strategy)
	asked := make([]writes.Write, 0, len(objects))
	for _, o := range objects {
		value, err := o.Value()
		if err != nil {
			return nil, err
		}
		value["apiVersion"] = install.APIVersionOf(o)
		w, err := writes.Of(nil, manifest.New(value))
		if err != nil {
			return nil, err
		}
		asked = append(asked, w)
	}
	answers, err := o.API.Check(ctx, asked)
	if err != nil {
		return nil, err
	}
	place := func(f Finding) Finding { return Finding{File: f.File, Line: f.Line, Field: f.Field} }
	said := lists.Set(lists.Filter(known,
		func(f Finding) bool { return f.Level == findings.Error && f.Field != "" }), place)
	var list []Finding
	for i, a := range answers {
		for _, cause := range a.Causes {
			at, field := objects[i], cause.Field
			if i >= len(shipped) {
				at, field = b.CSVObject, madeFrom(b.CSV, objects[i], field)
			}
			f := finding(RuleAPIServer, findings.Error, at.Errorf(field, "%s refuses %s: %s",
				writes.Who(o.Cluster.Kube), objects[i].Identity(), cause.Message))
			if !said[place(f)] {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// madeFrom returns the field of a CSV from which OLM makes a field of an object.
func madeFrom(csv *v1alpha1.ClusterServiceVersion, o *manifest.Object, field string) string {
	spec := csv.Spec.InstallStrategy.StrategySpec
	switch o.Kind {
	case "Deployment":
		i := slices.IndexFunc(spec.DeploymentSpecs,
			func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == o.Name })
		at := fmt.Sprintf("spec.install.spec.deployments[%d]", i)
		switch {
		case strings.HasPrefix(field, "spec"):
			return at + "." + field
		case strings.HasPrefix(field, "metadata.labels"):
			return at + ".label" + strings.TrimPrefix(field, "metadata.labels")
		}
		return at + ".name"
	case "Service":
		i := slices.IndexFunc(spec.DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) bool {
			return olm.ServesAt(csv, o.Name) == d.Name
		})
		return fmt.Sprintf("spec.install.spec.deployments[%d].name", i)
	case "ServiceAccount":
		of := func(p v1alpha1.StrategyDeploymentPermissions) bool { return p.ServiceAccountName == o.Name }
		if i := slices.IndexFunc(spec.Permissions, of); i >= 0 {
			return fmt.Sprintf("spec.install.spec.permissions[%d].serviceAccountName", i)
		}
		return fmt.Sprintf("spec.install.spec.clusterPermissions[%d].serviceAccountName",
			slices.IndexFunc(spec.ClusterPermissions, of))
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		set, _ := o.Get("metadata", "labels")
		name := olm.Texts(set)[olm.LabelWebhookName]
		i := slices.IndexFunc(csv.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool {
			return w.GenerateName == name
		})
		at := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		if rest, ok := strings.CutPrefix(field, "webhooks[0]"); ok {
			if rest == ".name" {
				rest = ".generateName"
			}
			return at + rest
		}
		return at + ".generateName"
	case "APIService":
		return "spec.apiservicedefinitions.owned"
	}
	return "spec.install.spec"
}
