package predict

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/predict/upgrade"
)

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
		at, owner, field, what := crd, o.ownerOf(crd.Name), "spec.conversion", "converts"
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

// ownerOf returns a CSV that owns a CRD, or nil.
func (o *simulation) ownerOf(crd string) *csv {
	return lists.Find(o.csvs, func(v *csv) bool { return !v.Copied && !v.deleted && v.owns(crd) })
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
