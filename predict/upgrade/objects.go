package upgrade

import (
	"context"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict/plan"
)

// unfit finds objects that do not fit the newer CRD. OLM lists them in each version that both CRDs serve, and checks
// the schema only (OLM: pkg/controller/operators/catalog/operator.go, validateV1CRDCompatibility, validateExistingCRs).
// A CRD of apiextensions.k8s.io/v1 that converts by a webhook is written all the same (step.go, NewCRDV1Step).
func (j *judge) unfit(ctx context.Context, p Pair) error {
	cluster := plan.NewCluster(j.Cluster, "")
	for _, now := range ownedCRDs(p.New, shipped(p.New, j.New)) {
		before := j.inCluster(now.Name)
		if before == nil || p.Old.Name == p.New.Name && same(before, now) {
			continue // OLM installs no release twice
		}
		faults, err := plan.Unfit(ctx, j.Checker, before, now, cluster)
		if err != nil {
			return err
		}
		j.reportUnfit(p.New, now, faults)
	}
	return nil
}

func (j *judge) reportUnfit(o *Operator, crd *manifest.Object, faults []plan.Fault) {
	if len(faults) == 0 {
		return
	}
	f := faults[0]
	name := f.Object.Kind + " " + strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/")
	why := fmt.Sprintf("%s (%s: %s)", name, f.Version, strings.TrimPrefix(f.Path+": "+f.Message, ": "))
	if n := len(faults) - 1; n > 0 {
		why += fmt.Sprintf(", and %s", text.Count(n, "other object"))
	}
	severity, end := findings.Error, "the InstallPlan fails"
	if plan.TrustsWebhook(crd) {
		severity, end = findings.Warning, "OLM trusts its conversion webhook, and only warns"
	}
	j.addAt(o, RuleObjectsUnfit, severity, f.Object, f.Path, "has a CRD %s that existing objects do not fit: %s: %s",
		crd.Name, why, end)
}
