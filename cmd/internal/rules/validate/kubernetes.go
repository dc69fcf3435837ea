package validate

import (
	"context"
	"fmt"
	"maps"
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

const ruleKubernetes = "api-server"

// refusedWrites returns what the API server refuses of a bundle: of what it ships, and of what OLM makes of its CSV, at
// the field of the CSV. What is known of a place already is left out.
func refusedWrites(ctx context.Context, o Options, b *bundle.Bundle, known []Finding) ([]Finding, error) {
	shipped := slices.Concat(lists.Map(b.CRDs, func(c *bundle.CRD) *manifest.Object { return c.Object }), b.Others)
	// Findings say already what has no name that a rendering can have.
	access, _ := generate.Access(b.CSV, "default")
	strategy, _ := generate.Strategy(b.CSV, "default", nil)
	made := slices.Concat(access, strategy)
	asked := make([]writes.Write, 0, len(shipped)+len(made))
	for _, o := range slices.Concat(shipped, made) {
		value, err := o.Value()
		if err != nil {
			return nil, err
		}
		value = maps.Clone(value)
		value["apiVersion"] = install.APIVersionOf(o.APIVersion, o.Kind)
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
	var list []Finding
	for i, a := range answers {
		for _, cause := range a.Causes {
			at, field := b.CSVObject, cause.Field
			if i < len(shipped) {
				at = shipped[i]
			} else {
				field = madeFrom(b.CSV, made[i-len(shipped)], cause.Field)
			}
			f := finding(ruleKubernetes, findings.Error, at.Errorf(field, "%s refuses %s: %s",
				writes.Who(o.Cluster.Kube),
				slices.Concat(shipped, made)[i].Identity(), cause.Message))
			if !slices.ContainsFunc(known, func(k Finding) bool {
				return k.Level == findings.Error && k.Field != "" && k.File == f.File && k.Line == f.Line &&
					k.Field == f.Field
			}) {
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
			return generate.ServesAt(csv, o.Name) == d.Name
		})
		return fmt.Sprintf("spec.install.spec.deployments[%d].name", i)
	case "ServiceAccount":
		for name, list := range map[string][]v1alpha1.StrategyDeploymentPermissions{"permissions": spec.Permissions,
			"clusterPermissions": spec.ClusterPermissions} {
			if i := slices.IndexFunc(list, func(p v1alpha1.StrategyDeploymentPermissions) bool {
				return p.ServiceAccountName == o.Name
			}); i >= 0 {
				return fmt.Sprintf("spec.install.spec.%s[%d].serviceAccountName", name, i)
			}
		}
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
