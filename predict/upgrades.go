package predict

import (
	"context"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/predict/upgrade"
)

// upgradeRules are the rules of package upgrade that no reason of a CSV stands for.
var upgradeRules = []string{upgrade.RuleImmutable.ID, upgrade.RuleStored.ID, upgrade.RuleConversion.ID}

// judgeUpgrades reports what keeps OLM from replacing a CSV of the tree by another, and CRDs that nothing converts.
func (c *prediction) judgeUpgrades(ctx context.Context) error {
	u := upgrade.Upgrade{New: slices.Clone(c.Others)}
	for _, name := range slices.Sorted(maps.Keys(c.CRDs)) {
		u.New = append(u.New, c.CRDs[name])
	}
	u.Old = u.New
	at, named := map[string]*csv{}, c.named()
	for _, v := range c.csvs {
		if v.Copied {
			continue
		}
		old := named[[2]string{v.Namespace, v.Replaces}]
		if old == nil && !c.converts(v) {
			continue
		}
		if now := v.release(); now != nil {
			u.Pairs, at[v.Name] = append(u.Pairs, upgrade.Pair{Old: old.release(), New: now}), v
		}
	}
	if len(u.Pairs) == 0 {
		return nil
	}
	found, err := u.Findings(ctx)
	for _, f := range found {
		if v := at[f.Operator]; v != nil && slices.Contains(upgradeRules, f.Rule) {
			c.findings = append(c.findings, findings.Finding{Rule: f.Rule, Level: f.Severity, File: f.File,
				Line: f.Line, Object: v.where().Identity(), Message: f.Operator + " " + f.Message})
		}
	}
	return err
}

// named returns the CSVs that are no copies, by namespace and name.
func (c *prediction) named() map[[2]string]*csv {
	out := map[[2]string]*csv{}
	for _, v := range slices.Backward(c.csvs) { // of two with the same name, the first counts
		if !v.Copied {
			out[[2]string{v.Namespace, v.Name}] = v
		}
	}
	return out
}

// converts reports whether a CSV owns a CRD of the tree that is converted by a webhook.
func (c *prediction) converts(v *csv) bool {
	return slices.ContainsFunc(v.CRDs.Owned, func(a v1alpha1.CRDDescription) bool {
		crd := c.CRDs[a.Name]
		if crd == nil {
			return false
		}
		strategy, _ := crd.Get("spec", "conversion", "strategy")
		return strategy == "Webhook"
	})
}

// release returns a CSV as package upgrade looks at it, or nil if it cannot be read, which is a finding of its own.
func (v *csv) release() *upgrade.Operator {
	if v == nil {
		return nil
	}
	typed := &v1alpha1.ClusterServiceVersion{}
	if _, err := v.Into(typed); err != nil {
		return nil
	}
	return &upgrade.Operator{CSV: olm.CSV{ClusterServiceVersion: typed, Object: v.Object,
		Namespace: v.Namespace}}
}
