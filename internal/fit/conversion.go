package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// RuleConversion is that of Unconverted. It holds for every form, and Findings leaves it out.
var RuleConversion = findings.Rule{ID: bundle.WarnConversion,
	Text: "serves no conversion webhook for a CRD, or at another Service",
	Help: "The API server asks the Service that the CRD names, and trusts the CA that it has " +
		"(OLM: pkg/controller/install/webhook.go)."}

// RuleAccount is about pods that nobody makes. Findings leaves it out, too: it holds for every form.
var RuleAccount = findings.Rule{ID: bundle.WarnUnknownAccount,
	Text: "a Deployment uses a ServiceAccount that neither the bundle nor OLM creates",
	Help: "Source: Kubernetes, plugin/pkg/admission/serviceaccount/admission.go."}

// RuleNotServed is about an operator that OLM v0 never installs. Findings leaves it out: a bundle that has it is wrong.
var RuleNotServed = findings.Rule{ID: "api-not-served",
	Text: "owns a version that its CRD does not serve, or an APIService in a version that one does",
	Help: "The CSV stays Pending with RequirementsNotMet, or fails with OwnerConflict (OLM: " +
		"pkg/controller/operators/olm/requirements.go; pkg/controller/install/apiservice.go)."}

// RuleNames is about CRDs that no API server serves.
var RuleNames = findings.Rule{ID: "crd-names", Text: "has a CRD with a name that another CRD of its group has, too",
	Help: "The API server serves only one of them, and an InstallPlan of OLM v0 with the other one is never " +
		"complete (apiextensions-apiserver: pkg/controller/status/naming_controller.go)."}

// RuleCatalog is about bundles that no catalog offers.
var RuleCatalog = findings.Rule{ID: "catalog-refuses",
	Text: "opm, or the pipeline of a catalog, refuses what the bundle ships"}

// RuleDefaultRole is about ClusterRoles that are those of the cluster.
var RuleDefaultRole = findings.Rule{ID: "default-role",
	Text: "ships a ClusterRole with the name of one that clusters have by default",
	Help: "OLM writes it over that of the cluster (OLM: pkg/controller/operators/catalog/step_ensurer.go, " +
		"EnsureClusterRole)."}

// NamesTaken returns the CRDs among objects that no API server serves: of two with one name, the later one.
func NamesTaken(objects []*manifest.Object) []findings.Finding {
	return lists.Map(olm.TakenNames(objects), func(t olm.TakenName) findings.Finding {
		return of(t.CRD, RuleNames, findings.Error, "spec.names", fmt.Sprintf("%s is a name of "+
			"CustomResourceDefinition %s, too: the API server never serves %s", t.Name, t.By.Name, t.CRD.Name))
	})
}

// DefaultRoles returns the ClusterRoles of a bundle that OLM writes over those of the cluster.
func DefaultRoles(shipped []*manifest.Object) (list []findings.Finding) {
	for _, x := range shipped {
		if x.Kind == rbac.KindClusterRole && install.GroupOf(x) == rbacv1.GroupName && rbac.IsDefaultRole(x.Name) {
			list = append(list, of(x, RuleDefaultRole, findings.Error, "metadata.name", fmt.Sprintf("clusters have a "+
				"ClusterRole %s by default: OLM writes this one over it, and who is bound to it loses the rest of its "+
				"rules", x.Name)))
		}
	}
	return list
}

// of returns a finding about an object, with its place.
func of(o *manifest.Object, rule findings.Rule, level findings.Severity, field, message string) findings.Finding {
	f := findings.Finding{Rule: rule.ID, Level: level, Field: field, Message: message, Object: o.Identity()}
	f.File, f.Line = o.PlaceOf(field)
	return f
}

// NotServed returns the owned versions that the CRDs of a bundle do not serve, and those that OLM cannot serve beside
// them.
func NotServed(o Operator) (list []findings.Finding) {
	crds := olm.CRDs(o.Shipped)
	for _, p := range install.Taken(o.CSV.Spec.APIServiceDefinitions.Owned, crds) {
		f := findings.Finding{Rule: RuleNotServed.ID, Level: findings.Error, Field: p.Field,
			Message: fmt.Sprintf("%s (%s)", p.Message, p.Reason)}
		if o.Object != nil {
			f.File, f.Line = o.Object.PlaceOf(f.Field)
		}
		list = append(list, f)
	}
	for i, d := range o.CSV.Spec.CustomResourceDefinitions.Owned {
		crd := crds[d.Name]
		if crd == nil || slices.Contains(olm.ServedVersions(crd), d.Version) {
			continue
		}
		f := findings.Finding{Rule: RuleNotServed.ID, Level: findings.Error,
			Field: fmt.Sprintf("spec.customresourcedefinitions.owned[%d].version", i),
			Message: fmt.Sprintf("owns %s of %s, which the CRD does not serve: OLM v0 waits for ever "+
				"(RequirementsNotMet)", d.Version, d.Name)}
		if o.Object != nil {
			f.File, f.Line = o.Object.PlaceOf(f.Field)
		}
		list = append(list, f)
	}
	return list
}

// Unready returns what of a bundle does not work in any cluster: Conversions, NamesTaken, and the accounts that nobody
// creates.
func Unready(o Operator) []findings.Finding {
	list := append(Conversions(o), NamesTaken(o.Shipped)...)
	if o.Bundle != nil {
		for _, w := range o.Bundle.Warnings {
			if w.Class == RuleAccount.ID {
				list = append(list, findings.Finding{Rule: w.Class, Level: findings.Warning, File: w.File, Line: w.Line,
					Field: w.Field, Message: w.Msg, Hint: w.Tip})
			}
		}
	}
	return list
}

// Gap is why nothing converts the objects of a CRD.
type Gap struct {
	Why string // such as "does not serve the conversion webhook of its CRD boats.x.io, Service ops/w: ..."
	// Set is true if OLM, or who renders in its place, writes another Service into the CRD
	Set   bool
	idle  bool // the CRD has one version, so nobody asks
	mends bool // an account of the operator may change CRDs
}

// Level returns how bad a gap is in what is installed: an error, unless somebody else may close it.
func (g Gap) Level() findings.Severity {
	switch {
	case g.Set || g.idle:
		return findings.Note
	case g.mends:
		return findings.Warning
	}
	return findings.Error
}

// Idle reports whether nobody asks for the conversion yet.
func (g Gap) Idle() bool { return g.idle }

// Unconverted returns why no webhook converts the objects of a CRD; nil if one does, or if the CRD names none. What the
// operator ships is in its namespace, or else where the objects say.
func Unconverted(o Operator, crd *manifest.Object) *Gap {
	if !olm.ConvertsByWebhook(crd) {
		return nil
	}
	namespace, service := ConversionService(crd)
	g := Gap{idle: len(olm.CRDVersions(crd)) < 2}
	for _, w := range o.CSV.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook || !slices.Contains(w.ConversionCRDs, crd.Name) {
			continue
		}
		own := w.DomainName() + "-service"
		if service == "" || service == own || g.idle {
			return nil
		}
		g.Set, g.Why = true, fmt.Sprintf("ships CRD %s with Service %s for conversion, and serves it at %s: an "+
			"InstallPlan that OLM runs twice cannot list the objects", crd.Name, service, own)
		return &g
	}
	what := ""
	if there, elsewhere := o.ships("Service", namespace, service); !there {
		what = fmt.Sprintf("does not serve the conversion webhook of its CRD %s, Service %s%s", crd.Name,
			strings.TrimPrefix(namespace+"/"+service, "/"), elsewhere)
	} else if name := injected(crd); name != "" {
		of, certificate, _ := strings.Cut(name, "/")
		if there, elsewhere := o.ships("Certificate", of, certificate); !there {
			what = fmt.Sprintf("has no Certificate %s, of which its CRD %s gets the CA of its conversion webhook%s",
				name, crd.Name, elsewhere)
		}
	}
	if what == "" {
		return nil
	}
	g.mends = slices.ContainsFunc(o.rights(), func(r right) bool {
		return slices.ContainsFunc([]string{"update", "patch"}, func(verb string) bool {
			return rbac.Covers([]rbacv1.PolicyRule{*r.PolicyRule}, rbacv1.PolicyRule{Verbs: []string{verb},
				APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}})
		})
	})
	const fails = "requests for a version other than the stored one fail, and so does the next InstallPlan of OLM v0"
	switch {
	case g.idle:
		g.Why = what + ": nobody asks for it, because the CRD has one version"
	case g.mends:
		g.Why = what + ": unless it changes the CRD itself, as it may, " + fails
	default:
		g.Why = what + ": " + fails
	}
	return &g
}

// ships reports whether an operator has a namespaced object; elsewhere says where one of that name is. A URL, which
// names no Service, is outside.
func (o Operator) ships(kind, namespace, name string) (there bool, elsewhere string) {
	for _, x := range o.Shipped {
		if x.Kind != kind || x.Name != name {
			continue
		}
		at := cmp.Or(o.Namespace, x.Namespace, namespace)
		if namespace == "" || at == namespace {
			return true, ""
		}
		elsewhere = ", which is in " + at
	}
	return name == "", elsewhere
}

// injected returns the Certificate, as namespace/name, from which cert-manager is to write a CA into a CRD that has
// none.
func injected(crd *manifest.Object) string {
	ca := olm.Text(olm.Get(crd, "spec", "conversion", "webhook", "clientConfig", "caBundle"))
	if len(ca) > len("Cg==") { // which generators write for "none yet"
		return ""
	}
	return olm.Text(olm.Get(crd, "metadata", "annotations", "cert-manager.io/inject-ca-from"))
}

// Conversions returns the CRDs of an operator that nothing converts.
func Conversions(o Operator) (list []findings.Finding) {
	for _, x := range o.Shipped {
		if !olm.IsCRD(x.Group(), x.Kind) {
			continue
		}
		if gap := Unconverted(o, x); gap != nil {
			file, line := x.PlaceOf("spec.conversion")
			list = append(list, findings.Finding{Rule: RuleConversion.ID, Level: gap.Level(), File: file, Line: line,
				Field: "spec.conversion", Message: "the bundle " + gap.Why})
		}
	}
	return list
}

// ConversionService returns the Service at which a CRD is converted; its name is empty if there is none.
func ConversionService(crd *manifest.Object) (namespace, name string) {
	if !olm.ConvertsByWebhook(crd) {
		return "", ""
	}
	client := []string{"spec", "conversion", "webhook", "clientConfig", "service"}
	if !crd.Has(client[:4]...) {
		client = []string{"spec", "conversion", "webhookClientConfig", "service"} // of v1beta1
	}
	field := func(name string) string { return olm.Text(olm.Get(crd, append(slices.Clip(client), name)...)) }
	return field("namespace"), field("name")
}
