package predict

import (
	"context"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/permissions"
)

// upgradeRules are the rules of package upgrade that no reason of a CSV stands for.
var upgradeRules = []string{upgrade.RuleImmutable, upgrade.RuleStored, upgrade.RuleConversion}

// judgeUpgrades reports what keeps OLM from replacing a CSV of the tree by another, and CRDs that nothing converts.
func (o *simulation) judgeUpgrades(ctx context.Context) error {
	u := upgrade.Upgrade{New: slices.Clone(o.others)}
	for _, name := range slices.Sorted(maps.Keys(o.crds)) {
		u.New = append(u.New, o.crds[name])
	}
	u.Old = u.New
	at := map[string]*csv{}
	for _, v := range o.csvs {
		if v.copied || v.deleted {
			continue
		}
		if next := o.replacing(v); next != nil && !next.copied {
			u.Pairs, at[next.name] = append(u.Pairs, upgrade.Pair{Old: v.release(), New: next.release()}), next
		} else if o.converts(v) && o.inNamespace(v.namespace, v.replaces) == nil {
			u.Pairs, at[v.name] = append(u.Pairs, upgrade.Pair{New: v.release()}), v
		}
	}
	u.Pairs = slices.DeleteFunc(u.Pairs, func(p upgrade.Pair) bool { return p.New == nil })
	if len(u.Pairs) == 0 {
		return nil
	}
	found, err := u.Findings(ctx)
	for _, f := range found {
		if v := at[f.Operator]; v != nil && slices.Contains(upgradeRules, f.Rule) {
			o.findings = append(o.findings, findings.Finding{Rule: f.Rule, Level: f.Severity, File: f.File, Line: f.Line,
				Object: v.where().Identity(), Message: f.Operator + " " + f.Message})
		}
	}
	return err
}

// converts reports whether a CSV owns a CRD of the tree that is converted by a webhook.
func (o *simulation) converts(v *csv) bool {
	return slices.ContainsFunc(v.owned, func(a ownedAPI) bool {
		crd := o.crds[a.Name]
		if crd == nil {
			return false
		}
		strategy, _ := crd.Get("spec", "conversion", "strategy")
		return strategy == "Webhook"
	})
}

// release returns a CSV as package upgrade looks at it, or nil if it cannot be read, which is a finding of its own.
func (v *csv) release() *upgrade.Operator {
	typed := &v1alpha1.ClusterServiceVersion{}
	if _, err := v.Into(typed); err != nil {
		return nil
	}
	return &upgrade.Operator{CSV: permissions.CSV{ClusterServiceVersion: typed, Object: v.Object,
		Namespace: v.namespace}}
}
