package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
)

// check decodes the CSV and refuses what OLM or the API server would refuse.
func (r *reader) check() error {
	b := r.bundle
	for _, step := range []func() error{r.checkObjects, r.checkDeclared, r.decodeCSV, r.checkCSVName,
		r.checkInstallModes, r.checkOwned, r.checkPermissions, r.checkDeployments} {
		if err := step(); err != nil {
			return err
		}
	}
	if b.Package == "" {
		b.Package = olm.BaseName(b.CSV.Name, b.CSV.Spec.Version.String())
		r.warn(WarnLayout, &manifest.Error{File: "metadata/annotations.yaml", Field: olm.BundlePackage,
			Msg: fmt.Sprintf("missing: the package is taken to be %q, after the CSV's name", b.Package)})
	}
	return nil
}

func (r *reader) checkObjects() error {
	for _, o := range r.objects {
		if err := r.checkKind(o); err != nil {
			return err
		}
		if err := checkName(o); err != nil && (o.Name == "" || !r.options.Refused) {
			return err
		}
		// Kubernetes: pkg/controller/clusterroleaggregation applies the rules as a field manager of its own
		if o.Kind == "ClusterRole" && install.GroupOf(o) == rbacv1.GroupName && o.Has("aggregationRule") &&
			o.Has("rules") {
			r.warn(WarnAggregatedRules, o.Errorf("rules", "the cluster fills in the rules of a ClusterRole with an "+
				"aggregationRule: after that, server-side apply conflicts with it unless it is forced"))
		}
	}
	return nil
}

func (r *reader) checkKind(o *manifest.Object) error {
	if o.APIVersion == "" {
		if !supported(o.Kind) || o.Kind == "ClusterServiceVersion" || o.Kind == "CustomResourceDefinition" {
			return o.Errorf("apiVersion", "missing")
		}
		r.warn(WarnAPIVersion, o.Errorf("apiVersion", "missing: taken for %s", install.APIVersionOf(o)))
		return nil
	}
	if !supported(o.Kind) {
		e := o.Errorf("kind", "OLM does not install %s of %s from a bundle", o.Kind, o.APIVersion)
		if !r.options.AllowUnsupported && !r.options.Refused {
			e.Tip, e.Options = "remove it from the bundle, or allow it", []manifest.Option{option.AllowUnsupported}
			return e
		}
		r.warn(WarnUnsupportedKind, e)
	}
	switch as := install.APIVersionOf(o); {
	case as == o.APIVersion || o.Kind == v1alpha1.ClusterServiceVersionKind:
	case o.Group() == install.GroupOf(o):
		r.warn(WarnOldAPI, o.Errorf("apiVersion", "%s is not served any more: rendered as %s, as OLM does",
			o.APIVersion, as))
	default:
		r.warn(WarnAPIVersion, o.Errorf("apiVersion", "OLM v0 goes by the kind alone: it makes a %s of %s of it, "+
			"without the fields that this does not have", o.Kind, as))
	}
	if o.APIVersion == "apiextensions.k8s.io/v1beta1" {
		old := o.Errorf("apiVersion", "%s is not served by Kubernetes 1.22 and later, unless it is converted to v1",
			o.APIVersion)
		old.Options = []manifest.Option{option.ConvertCRDs}
		r.warn(WarnOldCRD, old)
	}
	return nil
}

// v1beta1Fields are those of spec that version v1 of CustomResourceDefinition has no more (Kubernetes:
// apiextensions-apiserver/pkg/apis/apiextensions, v1beta1/types.go, v1/types.go).
var v1beta1Fields = []string{"version", "validation", "subresources", "additionalPrinterColumns",
	"conversion.webhookClientConfig", "conversion.conversionReviewVersions"}

// checkName applies the API server's rule for the kind's names.
func checkName(o *manifest.Object) error {
	if o.Name == "" {
		return o.Errorf("metadata.name", "missing")
	}
	problems := install.NameProblems(o.Kind, o.Name)
	if len(problems) > 0 {
		return o.Errorf("metadata.name", "%q is not a valid name: %s", o.Name, text.Reason(problems))
	}
	return nil
}

func (r *reader) decodeCSV() error {
	o, csv := r.bundle.CSVObject, &v1alpha1.ClusterServiceVersion{}
	if want := v1alpha1.SchemeGroupVersion.String(); o.APIVersion != want {
		r.warn(WarnAPIVersion, o.Errorf("apiVersion", "%s: OLM takes the CSV for %s", o.APIVersion, want))
	}
	unknown, err := o.Into(csv)
	if err != nil {
		return err
	}
	for _, f := range unknown {
		t, does := reflect.TypeOf(csv), "OLM drops it"
		segments := decoded.Segments(f)
		name := segments[len(segments)-1]
		known := manifest.FieldsAt(t, strings.TrimSuffix(strings.TrimSuffix(f, name), "."))
		same := func(k string) bool { return strings.EqualFold(k, name) } // as encoding/json reads it
		if slices.ContainsFunc(known, same) {
			does = "OLM takes it for that, and others drop it"
		}
		r.warn(WarnUnknownField, o.Errorf(f, "not a field of a ClusterServiceVersion%s: %s", meant(t, f), does))
	}
	if annotated := csv.Annotations[olm.AnnotationBundleProperties]; annotated != "" {
		if err := json.Unmarshal([]byte(annotated), &[]Property{}); err != nil {
			r.warn(WarnUnreadMetadata, o.Errorf(`metadata.annotations["`+olm.AnnotationBundleProperties+`"]`,
				"left out: no list of properties in JSON: %v", err))
		}
	}
	r.bundle.CSV, r.bundle.literal = csv, len(unknown) == 0
	return nil
}

func (r *reader) checkCSVName() error {
	o, csv := r.bundle.CSVObject, r.bundle.CSV
	if len(csv.Name) > validation.LabelValueMaxLength && !r.options.Refused {
		return o.Errorf("metadata.name",
			"longer than %d characters: OLM writes it into labels, and the API server refuses those",
			validation.LabelValueMaxLength)
	}
	s := csv.Spec.InstallStrategy.StrategyName
	if s == "" && !r.bundle.Partial {
		r.warn(WarnStrategy, o.Errorf("spec.install.strategy", "missing: OLM installs only %q",
			v1alpha1.InstallStrategyNameDeployment))
	} else if s != "" && s != v1alpha1.InstallStrategyNameDeployment {
		return o.Errorf("spec.install.strategy", "unrecognized install strategy %q, want %q", s,
			v1alpha1.InstallStrategyNameDeployment)
	}
	return nil
}

// InstallModes are the install modes that OLM knows.
var InstallModes = []v1alpha1.InstallModeType{v1alpha1.InstallModeTypeOwnNamespace,
	v1alpha1.InstallModeTypeSingleNamespace,
	v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeAllNamespaces}

func (r *reader) checkInstallModes() error {
	o, seen := r.bundle.CSVObject, map[v1alpha1.InstallModeType]bool{}
	for i, m := range r.bundle.CSV.Spec.InstallModes {
		field := fmt.Sprintf("spec.installModes[%d].type", i)
		if seen[m.Type] && !r.options.Refused {
			return o.Errorf(field, "InstallMode list contains duplicates, cannot make set: %s occurs twice", m.Type)
		}
		seen[m.Type] = true
		if !slices.Contains(InstallModes, m.Type) {
			r.warn(WarnInstallMode,
				o.Errorf(field, "%q is not an install mode that OLM knows, so it supports nothing", m.Type).
					With(text.DidYouMean(string(m.Type), InstallModes)))
		}
	}
	return nil
}

// checkOwned finds the CRDs that the CSV says it owns (operator-registry: pkg/registry/parse.go).
func (r *reader) checkOwned() error {
	b := r.bundle
	if b.Partial || r.options.Refused {
		return nil
	}
	for i, d := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		field := fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", i)
		if !strings.Contains(d.Name, ".") {
			return b.CSVObject.Errorf(field+".name", "error parsing crd name: %q has no dot, want <plural>.<group>",
				d.Name)
		}
		c := b.CRD(d.Name)
		if c == nil {
			return b.CSVObject.Errorf(field+".name", "the bundle has no CustomResourceDefinition %s", d.Name)
		}
		if !slices.ContainsFunc(c.Versions, func(v CRDVersion) bool { return v.Name == d.Version }) {
			return b.CSVObject.Errorf(field+".version", "the CustomResourceDefinition %s (%s) has no version %q",
				d.Name, c.File, d.Version)
		}
		if c.ResourceKind != d.Kind {
			return b.CSVObject.Errorf(field+".kind", "the CustomResourceDefinition %s (%s) is for the kind %q, not %q",
				d.Name, c.File, c.ResourceKind, d.Kind)
		}
	}
	return nil
}

func (r *reader) checkPermissions() error {
	if r.options.Refused {
		return nil
	}
	spec := r.bundle.CSV.Spec.InstallStrategy.StrategySpec
	return cmp.Or(r.checkPermissionList("permissions", spec.Permissions, false),
		r.checkPermissionList("clusterPermissions", spec.ClusterPermissions, true), r.checkShippedRules())
}

func (r *reader) checkPermissionList(list string, permissions []v1alpha1.StrategyDeploymentPermissions,
	cluster bool) error {
	o := r.bundle.CSVObject
	for i, p := range permissions {
		field := fmt.Sprintf("spec.install.spec.%s[%d]", list, i)
		if p.ServiceAccountName == "" {
			return o.Errorf(field+".serviceAccountName", "empty: OLM can't make an account without a name")
		}
		if problems := validation.IsDNS1123Subdomain(p.ServiceAccountName); len(problems) > 0 {
			return o.Errorf(field+".serviceAccountName", "%q is not a valid name: %s", p.ServiceAccountName,
				text.Reason(problems))
		}
		for j, rule := range p.Rules {
			if msg := install.PolicyRule(rule, cluster); msg != "" {
				e := o.Errorf(fmt.Sprintf("%s.rules[%d]", field, j), "%s", msg)
				if len(rule.NonResourceURLs) > 0 {
					e.Tip = "rules for URLs belong in clusterPermissions, separate from rules for resources"
				}
				return e
			}
		}
	}
	return nil
}

func (r *reader) checkShippedRules() error {
	for _, o := range r.bundle.Others {
		if install.GroupOf(o) != rbacv1.GroupName || o.Kind != "Role" && o.Kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if _, err := o.Into(&role); err != nil {
			return err
		}
		for i, rule := range role.Rules {
			if len(rule.Verbs) == 0 {
				return o.Errorf(fmt.Sprintf("rules[%d].verbs", i), "verbs must contain at least one value")
			}
			if msg := install.PolicyRule(rule, o.Kind == "ClusterRole"); msg != "" {
				return o.Errorf(fmt.Sprintf("rules[%d]", i), "%s", msg)
			}
		}
	}
	return nil
}

func (r *reader) checkDeployments() error {
	b, seen := r.bundle, map[string]bool{}
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	for i, d := range spec.DeploymentSpecs {
		field := fmt.Sprintf("spec.install.spec.deployments[%d]", i)
		if problems := validation.IsDNS1123Subdomain(d.Name); len(problems) > 0 && !r.options.Refused {
			return b.CSVObject.Errorf(field+".name", "%q is not a valid name: %s", d.Name, text.Reason(problems))
		}
		if seen[d.Name] && !r.options.Refused {
			return b.CSVObject.Errorf(field+".name", "a second Deployment %s", d.Name)
		}
		seen[d.Name] = true
		if msg := install.Selector(&d.Spec); msg != "" {
			r.warn(WarnSelector,
				b.CSVObject.Errorf(field+".spec.selector", "%s: the API server refuses the Deployment", msg))
		}
	}
	for _, p := range install.Accounts(b.CSV, install.HasAccount(b.Others)) {
		r.warn(WarnUnknownAccount, b.CSVObject.Errorf(p.Field, "%s", p.Message))
	}
	return nil
}

// checkDeclared refuses values of shipped objects of built-in kinds that their Go types refuse, as OLM does before it
// creates an object (OLM: pkg/controller/operators/catalog/step.go, crdlib.UnmarshalV1), and drops the fields that the
// types do not declare.
func (r *reader) checkDeclared() error {
	for _, c := range r.bundle.CRDs {
		if err := r.dropUndeclared(&c.Object); err != nil {
			return err
		}
	}
	for i := range r.bundle.Others {
		if err := r.dropUndeclared(&r.bundle.Others[i]); err != nil && !r.options.Refused {
			return err
		}
	}
	return nil
}

// dropUndeclared replaces an object by one without the fields that its type does not declare, with a warning for each
// name of a field.
func (r *reader) dropUndeclared(o **manifest.Object) error {
	t := olm.TypeOf(install.APIVersionOf(*o), (*o).Kind)
	if foreign := (*o).APIVersion != "" && (*o).Group() != install.GroupOf(*o); t == nil || foreign {
		return nil
	}
	fields, err := (*o).Undeclared(t)
	if err != nil || len(fields) == 0 {
		return err
	}
	r.warnUndeclared(*o, t, fields)
	*o, err = (*o).Edit(manifest.Edit{Change: func(v map[string]any) { manifest.DropUndeclared(v, t) }})
	return err
}

// mostWarned is how many fields of an object are named.
const mostWarned = 100

// warnUndeclared warns of fields of an object, once for all of a name, at the first of them.
func (r *reader) warnUndeclared(o *manifest.Object, t reflect.Type, fields []string) {
	named := lists.Groups(fields, func(f string) string {
		segments := decoded.Segments(f)
		return segments[len(segments)-1]
	})
	for i, same := range named {
		if i == mostWarned {
			r.warn(WarnUnknownField, o.Errorf("", "%d other fields that a %s does not have: left out, as OLM does",
				len(named)-i, o.Kind))
			break
		}
		first, count := same[0], ""
		if len(same) > 1 {
			count = fmt.Sprintf(", %d times", len(same))
		}
		what := "not a field of a " + o.Kind + meant(t, first)
		if o.Kind == "CustomResourceDefinition" && slices.Contains(v1beta1Fields, strings.TrimPrefix(first, "spec.")) {
			what = "a field of v1beta1, which a v1 CRD does not have"
		}
		r.warn(WarnUnknownField, o.Errorf(first, "%s%s: left out, as OLM does", what, count))
	}
}

// meant returns the question for the field that was probably meant, to stand behind a text.
func meant(t reflect.Type, field string) string {
	if q := manifest.Meant(t, field); q != "" {
		return " (" + q + ")"
	}
	return ""
}
