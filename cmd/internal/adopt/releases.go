package adopt

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// OpenShift returns the release of OpenShift that a dump says, such as 4.20.3: the newest one that the ClusterVersion
// has completed, or the one that it wants (openshift/api: config/v1, ClusterVersionStatus). It is empty if the dump has
// no ClusterVersion.
func OpenShift(d *dump.Dump) string {
	for _, o := range d.OfKind(dump.ClusterVersion.Kind) {
		status := normalize.At(o.Value(), "status")
		for _, update := range normalize.List(status, "history") { // the newest first
			if version, _ := update["version"].(string); update["state"] == "Completed" && version != "" {
				return version
			}
		}
		if version, _ := normalize.At(status, "desired")["version"].(string); version != "" {
			return version
		}
	}
	return ""
}

// unfit returns the worst of the findings of a rule about an operator under OLM v1, in the releases that are known of
// the cluster; nil if there is none, or if no release is known.
func (s *State) unfit(o *Operator, rule string) *findings.Finding {
	if !s.Target.Known() {
		return nil
	}
	operator := fit.Installed(o.CSV, nil)
	operator.Mode = v1alpha1.InstallModeTypeAllNamespaces // after the migration
	for _, f := range fit.Findings(operator, fit.OLMv1, s.Target) {
		if f.Rule == rule {
			return &f
		}
	}
	return nil
}

// underV1 returns whether an operator works with OLM v1. Of what its bundle ships, the CRDs and their Services count.
func (s *State) underV1(o *Operator) fit.Verdict {
	operator := fit.Operator{CSV: o.CSV, Properties: o.properties(), Namespace: o.Group.Namespace}
	for _, d := range o.CSV.Spec.CustomResourceDefinitions.Owned {
		if crd := s.Dump.Get("CustomResourceDefinition", "", d.Name); crd != nil {
			operator.Shipped = append(operator.Shipped, manifest.New(crd.Value()))
		}
	}
	for _, x := range s.Dump.OfKind("Service") {
		if x.Namespace == o.Group.Namespace && len(operator.Shipped) > 0 {
			operator.Shipped = append(operator.Shipped, manifest.New(x.Value()))
		}
	}
	verdict, _ := fit.Judge(operator, fit.OLMv1, s.Target)
	return verdict
}

// release is a check beside those of the migration: of what its releases of OLM v1 take, where no other check asks.
func (s *State) release(o *Operator) Check {
	c := check("release", "Release of OLM v1", o.Object, "spec.webhookdefinitions")
	switch f := s.unfit(o, fit.RuleWebhooks.ID); {
	case f == nil:
		return c.result(Passed, "", "%s takes the operator", s.Target)
	case f.Level == findings.Error:
		return c.result(Refused, "", "%s", f.Message)
	default:
		return c.result(Unknown, "", "%s; the dump does not show the gates", f.Message)
	}
}

// releases returns the releases that the file names, as a RenderConfig has them. Without a wish of the user only the
// profiles of OLM v1 are for those of the dump.
func (s *State) releases(to generate.Profile) (olm, openshift string) {
	r := s.Target.Controller
	if to.Installer() == string(fit.OLMv0) {
		r = s.Target.OLM
	}
	if r != nil && to.Installer() != string(fit.Plain) {
		olm = r.Number()
	}
	if r := s.Target.OpenShift; r != nil && (s.Asked || to.Installer() == string(fit.OLMv1)) {
		openshift = fmt.Sprintf("%q", r.Number())
	}
	return olm, openshift
}
