package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/predict/upgrade"
)

// upgradeRules are the rules of package upgrade that no reason of a CSV stands for.
var upgradeRules = []string{upgrade.RuleImmutable.ID, upgrade.RuleStored.ID, upgrade.RuleConversion.ID}

// judgeUpgrades reports what keeps OLM from replacing a CSV of the tree by another, and CRDs that nothing converts.
func (c *prediction) judgeUpgrades(ctx context.Context) error {
	u := upgrade.Upgrade{New: slices.Clone(c.Others)}
	for _, name := range lists.Keys(c.CRDs) {
		u.New = append(u.New, c.CRDs[name])
	}
	u.Old = u.New
	at, named := map[string]*csv{}, c.named()
	for _, v := range c.csvs {
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
		out[[2]string{v.Namespace, v.Name}] = v
	}
	return out
}

// converts reports whether a CSV owns a CRD of the tree that is converted by a webhook.
func (c *prediction) converts(v *csv) bool {
	return slices.ContainsFunc(v.CRDs.Owned, func(a v1alpha1.CRDDescription) bool {
		var strategy string
		return c.CRDs[a.Name] != nil && c.CRDs[a.Name].Field(&strategy, "spec", "conversion", "strategy") == nil &&
			strategy == "Webhook"
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

// judgeConversions reports CRDs of the cluster that OLM leaves whose conversion webhook has no Service. A
// ClusterServiceVersion of the tree that owns the CRD is judged with its release (judgeUpgrades). A Service that the
// tree does not have is missing only where the tree shows that: it is a dump with Services, OLM makes the CRD, or a
// Service of that name is in another namespace.
func (o *simulation) judgeConversions() {
	services := map[string]string{} // the namespace of a Service, by name
	for _, x := range o.live.Objects() {
		if x.Group() == "" && x.Kind == "Service" {
			services[x.Name] = x.Namespace
		}
	}
	dumped := o.live.Get("", "Service", "default", "kubernetes") != nil
	for _, crd := range o.live.Objects() {
		if crd.Kind != "CustomResourceDefinition" || len(olm.CRDVersions(crd)) < 2 {
			continue
		}
		namespace, name := fit.ConversionService(crd)
		if name == "" || o.live.Get("", "Service", namespace, name) != nil {
			continue
		}
		at, field, what := crd, "spec.conversion", "converts"
		owner := lists.Find(o.csvs, func(v *csv) bool { return !v.deleted && v.owns(crd.Name) })
		if owner != nil && (owner.sub == nil || owner.converts(crd.Name)) {
			continue
		}
		elsewhere, named := services[name]
		if owner != nil {
			at, field, what = owner.where(), "spec", crd.Kind+" "+crd.Name+" converts"
		} else if !named && !dumped {
			continue
		}
		hint := "name the Service that serves it"
		if named {
			hint = fmt.Sprintf("Service %s is in namespace %s", name, elsewhere)
		}
		o.note(upgrade.RuleConversion, findings.Warning, at, field, fmt.Sprintf("%s at Service %s/%s, which is not "+
			"there: requests for a version other than the stored one fail", what, namespace, name), hint)
	}
}

func (v *csv) owns(crd string) bool {
	return slices.ContainsFunc(v.CRDs.Owned, func(d v1alpha1.CRDDescription) bool { return d.Name == crd })
}

// converts reports whether OLM sets the conversion of a CRD to a webhook of the CSV.
func (v *csv) converts(crd string) bool {
	return v.typed == nil || slices.ContainsFunc(v.typed.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) bool {
			return w.Type == v1alpha1.ConversionWebhook && slices.Contains(w.ConversionCRDs, crd)
		})
}
