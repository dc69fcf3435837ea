// Package olmv1 renders a bundle as OLM v1's own renderer does: the same objects, names and hashes, in the same order.
//
// [Render] takes [Options], which say what a ClusterExtension says: the namespaces and the configuration. An [Object]
// is one that OLM v1 makes, or one that the bundle ships. Package [github.com/olmgen/olmgen/generate] renders the same
// bundle as OLM v0 does.
//
// Sections in comments are those of docs/reference/spec/olm-v1.md. Where the renderer has a defect, deviations says
// what is rendered instead.
package olmv1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// The certificate providers.
const (
	CertManager = "cert-manager" // Issuer and Certificate of cert-manager.io
	ServiceCA   = "service-ca"   // annotations for OpenShift's service-ca operator
	NoCerts     = "none"         // no certificates and no CA, the same as ""
)

// Options say where and how a bundle is installed.
type Options struct {
	Namespace        string   // install namespace
	TargetNamespaces []string // none: all namespaces if the bundle supports that; [""]: all namespaces
	Certs            string   // CertManager, ServiceCA, NoCerts or ""
	// OLM v1's deploymentConfig: OLM v0's config, whose selector means nothing; may be nil
	Config *v1alpha1.SubscriptionConfig
	// the release of OLM v1 that renders, such as v1.8, or 4.20 of OpenShift; default: the newest one of OLM v1
	Release string

	Image images.Visitor // gives what takes the place of an image; may be nil
}

// Object is a rendered object: Carried if it is a CRD, a View if OLM v1 makes it, a Value if the bundle ships it.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	Carried                           *manifest.Object // its text is carried
	Template                          string           // of package templates
	View                              any              // of the template
	Value                             map[string]any   // what JSON knows; the caller's own
}

// Content returns the value of the object, which is the caller's own. For a carried object it is decoded, and for one
// that OLM v1 makes it is what olmgen's own template prints.
func (o Object) Content() (map[string]any, error) {
	if o.View != nil {
		text, err := (*templates.Set)(nil).Execute(o.Template, o.View)
		if err != nil {
			return nil, err
		}
		if o.Carried, err = manifest.ReadOne(o.Kind+" "+o.Name, text); err != nil {
			return nil, err
		}
	}
	if o.Carried == nil {
		return o.Value, nil
	}
	v, err := o.Carried.Value()
	if err != nil {
		return nil, err
	}
	return object(v).Value, nil
}

// Render returns the objects that OLM v1 makes of the bundle, in OLM v1's order (section 4); where that is random, by
// name: of ServiceAccounts their own, of certificates their Deployment's. The CSV is taken from b.CSVObject if b is
// not Literal, because OLM v1 takes field names literally where b.CSV's decoder does not mind upper and lower case.
//
// Errors have the text of OLM v1's: of its loader (section 2), all of its validators joined by newlines (section 13),
// of its options (section 3, "invalid option(s): ..."), or of its generators. What an older release refuses by a crash,
// or by other words, has a text of olmgen's. The bundle is not changed.
func Render(b *bundle.Bundle, o Options) ([]Object, error) {
	release, err := versions.Newest(versions.OperatorController), error(nil)
	if o.Release != "" {
		release, err = versions.ParseController(o.Release)
	}
	if err != nil {
		return nil, err
	}
	csv, err := loadCSV(b, release)
	if err != nil {
		return nil, err
	}
	if o.Image != nil {
		images.InCSV(csv, o.Image)
	}
	// not b.Package, which bundle.Read guesses where OLM v1 refuses
	r := &renderer{Options: o, release: release, csv: csv, pkg: b.Annotations[olm.BundlePackage]}
	r.takeManifests(b)
	if err := r.validate(); err != nil {
		return nil, err
	}
	if err := r.checkOptions(); err != nil {
		return nil, fmt.Errorf("invalid option(s): %w", err)
	}
	for _, generate := range []func(){
		r.serviceAccounts, r.roles, r.customResources, r.manifests, r.deployments,
		func() { r.webhooks(v1alpha1.ValidatingAdmissionWebhook) },
		func() { r.webhooks(v1alpha1.MutatingAdmissionWebhook) }, r.services, r.certificates,
	} {
		if generate(); r.err != nil {
			return nil, r.err
		}
	}
	return lastOfEach(r.objects), r.checkTemplates()
}

// renderer holds what the generators read, and what they make.
type renderer struct {
	Options
	release versions.Release
	pkg     string
	csv     *v1alpha1.ClusterServiceVersion
	crds    []*bundle.CRD
	shipped []*manifest.Object

	objects []Object
	faults  []error // of the bundle
	err     error   // the first one
}

func (r *renderer) fail(err error) { r.err = cmp.Or(r.err, err) }

// checkOptions also fills in the default targets and takes each only once.
func (r *renderer) checkOptions() error {
	if len(r.TargetNamespaces) == 0 && r.supports(v1alpha1.InstallModeTypeAllNamespaces) {
		r.TargetNamespaces = []string{metav1.NamespaceAll}
	}
	if len(r.TargetNamespaces) == 0 && r.does(versions.DefaultsToOwn) &&
		r.supports(v1alpha1.InstallModeTypeOwnNamespace) {
		r.TargetNamespaces = []string{r.Namespace}
	}
	var errs []error
	if r.Namespace == "" {
		errs = append(errs, errors.New("the install namespace is missing"))
	}
	switch r.Certs {
	case CertManager, ServiceCA, NoCerts, "":
	default:
		errs = append(errs,
			fmt.Errorf("unknown certificate provider %q, want %s, %s or %s", r.Certs, CertManager, ServiceCA, NoCerts))
	}
	if r.Config != nil && !reflect.ValueOf(*r.Config).IsZero() && !r.does(versions.TakesConfig) {
		errs = append(errs, fmt.Errorf("%s takes no deploymentConfig (%s)", r.release,
			versions.SourceOf(r.release.Product, versions.TakesConfig)))
	}
	if err := r.checkTargets(); err != nil {
		errs = append(errs, fmt.Errorf("invalid target namespaces %v: %w", r.TargetNamespaces, err))
	}
	targets := r.TargetNamespaces
	r.TargetNamespaces = nil
	for _, ns := range targets { // deviation DuplicateTarget
		r.TargetNamespaces = lists.Add(r.TargetNamespaces, ns)
	}
	return errors.Join(errs...)
}

func (r *renderer) allNamespaces() bool {
	return len(r.TargetNamespaces) == 1 && r.TargetNamespaces[0] == metav1.NamespaceAll
}

func (r *renderer) install() *v1alpha1.StrategyDetailsDeployment {
	return &r.csv.Spec.InstallStrategy.StrategySpec
}

// ReleaseError reports that a release fails at a bundle that newer ones render, whatever the options are.
type ReleaseError struct{ text string }

func (e *ReleaseError) Error() string { return e.text }

// does reports whether the release does what the newest one of OLM v1 does, or what only some did.
func (r *renderer) does(behavior string) bool {
	_, ok := r.release.Does(behavior)
	return ok
}

// checkTemplates refuses what a release reads as a template of Helm: it fails, or changes the object.
func (r *renderer) checkTemplates() error {
	if r.does(versions.WritesAsIs) {
		return nil
	}
	for _, o := range r.objects {
		value, err := o.Content()
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("{{")) {
			return &ReleaseError{fmt.Sprintf("%s reads objects as templates of Helm, and %s %s has {{ (%s)", r.release,
				o.Kind, o.Name, versions.SourceOf(r.release.Product, versions.WritesAsIs))}
		}
	}
	return nil
}
