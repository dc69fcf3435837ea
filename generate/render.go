// Package generate turns a bundle and options into the Kubernetes objects that OLM would create from them.
//
// [Render] renders one bundle, [RenderAll] several operators that share OperatorGroups. [Options] say where an operator
// is installed and what it watches; their [Profile] chooses between objects for OLM, objects for a cluster without OLM,
// and a Subscription or ClusterExtension. A [Result] holds the objects in their order, and warnings.
//
// The package is pure: it reads no file and no cluster, and the same input gives the same bytes. Package
// [github.com/olmgen/olmgen/output] lays the objects out as files.
//
// A comment with "spec 4.1" cites a section of docs/reference/spec/olm-v0.md, or from section 8 on of
// docs/reference/spec/olm-v0-installs.md, one with "spec v1 14" a section of docs/reference/spec/olm-v1.md.
package generate

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
)

// Result is what a bundle renders to.
type Result struct {
	Objects     []Object           // in the order in which they can be applied
	Warnings    []bundle.Warning   // the bundle's, then those of rendering it
	Notes       []manifest.Message // what is as asked for and worth knowing
	Namespace   string             // the operator's
	InstallMode v1alpha1.InstallModeType

	Package, Version, CSV string // of the bundle
	DisplayName           string // the CSV's; may be empty
	OperatorGroup         string // its name
	Bound                 Bound  // with ProfileDescoped
	PodSecurity           PodSecurity
	MetaOperator          string // by which right it can deploy other operators in the cluster; empty if by none

	targets []string // sorted; [""] for all namespaces; nil with ProfileOLMv1
	bundle  *bundle.Bundle
	options Options // complete
}

// generators add objects to a rendering, the order in which they run. What OLM makes comes first: a shipped object
// yields to a generated one.
var generators = []func(*rendering){
	namespaces,
	operatorGroup,
	aggregatedClusterRoles,
	apiClusterRoles,
	serviceAccounts,
	permissions,
	promotedPermissions,
	tenantPermissions,
	servingObjects,
	deployments,
	apiServices,
	webhooks,
	operatorCondition,
	clusterServiceVersion,
	copiedCSVs,
	crds,
	shippedObjects,
	networkPolicies,
}

// Render makes the objects of a bundle. Errors are *Error where the options do not fit the bundle, *manifest.Error
// where the bundle or a template is at fault.
func Render(b *bundle.Bundle, o Options) (*Result, error) {
	o, err := o.complete(b)
	if err != nil {
		return nil, err
	}
	if b.Partial && !o.Profile.HandsOver() {
		return nil, refuse("choose the profile subscription or clusterextension, or take the bundle's image",
			"%s is known from a catalog only, without its objects", b.CSV.Name).with(option.Profile)
	}
	pods, err := podSecurityOf(b, o)
	if err != nil {
		return nil, err
	}
	o.ownPods = &pods
	var result *Result
	switch o.Profile {
	case ProfileOLMv1:
		result, err = renderOLMv1(b, o)
	case ProfileSubscription:
		result, err = handOver(b, o, subscriptionGenerators)
	case ProfileClusterExtension:
		result, err = handOver(b, o, extensionGenerators)
	case ProfileDescoped:
		result, err = render(b, o, descopedGenerators)
	default:
		result, err = render(b, o, generators)
	}
	if err != nil {
		return nil, err
	}
	result.Namespace, result.Package, result.Version, result.CSV = o.Namespace, b.Package, b.CSV.Spec.Version.String(),
		b.CSV.Name
	result.MetaOperator = metaOperator(b, result.InstallMode, result.Namespace)
	result.DisplayName, result.bundle, result.options = b.CSV.Spec.DisplayName, b, o
	given := slices.DeleteFunc(slices.Clone(b.Warnings),
		func(w bundle.Warning) bool { return w.Class == bundle.WarnOldCRD && o.ConvertCRDs })
	result.Warnings = append(given, result.Warnings...)
	unfit, notes, err := o.fits(b, result)
	if err != nil {
		return nil, err
	}
	result.Warnings, result.Notes = append(result.Warnings, unfit...), append(result.Notes, notes...)
	for _, n := range b.Notes {
		result.Notes = append(result.Notes, manifest.Message{Msg: n.Error()})
	}
	result.Notes = append(result.Notes, needs(b, o)...)
	result.PodSecurity = pods
	return result, nil
}

func render(b *bundle.Bundle, o Options, generators []func(*rendering)) (*Result, error) {
	r, err := newRendering(b, o)
	if err != nil {
		return nil, err
	}
	return r.run(generators)
}

// run calls the generators and returns the objects in the order of application.
func (r *rendering) run(generators []func(*rendering)) (*Result, error) {
	for _, g := range generators {
		if g(r); r.err != nil {
			return nil, r.err
		}
	}
	slices.SortStableFunc(r.objects, func(a, b Object) int { return a.compare(b, r.options.Namespace) })
	r.labelVersions()
	r.warnings = append(r.warnings, mirrorWarnings(r.mirrors)...)
	result := &Result{Objects: r.objects, Warnings: r.warnings, Notes: r.notes, InstallMode: r.mode,
		OperatorGroup: r.options.OperatorGroup, targets: r.targets}
	if r.options.Profile == ProfileDescoped {
		result.Bound = Bound{r.bound(), r.boundText(), r.updatesStatus()}
	}
	return result, nil
}

// rendering is one bundle being rendered.
type rendering struct {
	bundle   *bundle.Bundle
	options  Options // complete
	mode     v1alpha1.InstallModeType
	targets  []string // sorted; [""] for all namespaces
	csv      *v1alpha1.ClusterServiceVersion
	mirrors  *images.Rewriter
	apis     []olm.API
	names    names
	grants   []grant // of the CSV's permissions
	cluster  []grant // of its clusterPermissions
	serving  []*serving
	certs    certificates
	merged   map[*manifest.Object]bool // shipped objects that are part of a generated one
	objects  []Object
	byV1     []olmv1.Object // what OLM v1 makes of a ClusterExtension; none if the bundle is partial
	keys     map[string]int // index of each object
	warnings []bundle.Warning
	notes    []manifest.Message
	err      error // the first one

	// with ProfileDescoped, once they are asked for
	accountList []*account
	workList    []workRole
}

func newRendering(b *bundle.Bundle, o Options) (*rendering, error) {
	mode, targets, err := o.targets(b)
	if err != nil {
		return nil, err
	}
	if err := checkStatic(o.StaticProvidedAPIs); err != nil {
		return nil, err
	}
	r := &rendering{bundle: b, options: o, mode: mode, targets: targets, keys: map[string]int{},
		merged: map[*manifest.Object]bool{}}
	r.mirrors = o.Mirrors.Rewriter()
	r.csv = installedCSV(b, o, targets)
	images.InCSV(r.csv, r.mirrors.Rewrite)
	r.options.Config = mirrored(o.Config, r.mirrors)
	r.apis = olm.OwnedAPIs(&r.csv.Spec)
	if err := checkDefinitions(b); err != nil {
		return nil, err
	}
	r.serving = servings(r.csv, o.Names)
	if err := checkServings(b, r.serving); err != nil {
		return nil, err
	}
	r.names = newNames(b, r.csv, o, r.serving)
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	r.grants = r.names.grants(spec.Permissions, false)
	r.cluster = r.names.grants(spec.ClusterPermissions, true)
	r.certs, err = newCertificates(o, b, r.serving)
	r.warnings = append(r.warnings, r.certs.unfinished(b, r.serving)...)
	return r, err
}

func (r *rendering) global() bool { return len(r.targets) == 1 && r.targets[0] == allNamespaces }

// olm reports whether objects that only OLM understands are wanted.
func (r *rendering) olm() bool { return r.options.Profile == ProfileOLM }

// fail keeps the first error. A generator need not ask for it before it adds more objects: then there is no result.
func (r *rendering) fail(err error) { r.err = cmp.Or(r.err, err) }

// author adds an object made by a template. A second object of the same identity comes from two equal entries in the
// CSV: it is left out, as OLM only updates the first. If it is not equal, something would be lost, and that is an
// error.
func (r *rendering) author(template string, id Object, view any) {
	data, err := r.options.Templates.Execute(template, view)
	if err != nil {
		r.fail(err)
		return
	}
	i, taken := r.keys[id.key()]
	switch {
	case !taken:
		id.setText(data)
		r.add(id)
	case string(r.objects[i].Data) != string(data):
		r.fail(r.bundle.CSVObject.Errorf("metadata.name", "two different objects would be %s %s", id.Kind,
			strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")))
	}
}

func (r *rendering) add(o Object) {
	r.keys[o.key()] = len(r.objects)
	r.objects = append(r.objects, o)
}

// ranks are the kinds in the order of application; what is not listed comes last.
var ranks = []string{"Namespace", "CustomResourceDefinition", "PriorityClass", "OperatorGroup", "ServiceAccount",
	"Secret", "ConfigMap", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "NetworkPolicy",
	"PodDisruptionBudget", "Issuer", "Certificate", "ClusterServiceVersion", "OperatorCondition", "Deployment",
	"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CatalogSource", "Subscription",
	olm.KindClusterExtension}

// compare orders by kind, then the operator's namespace before others, then namespace and name.
func (o Object) compare(p Object, operatorNamespace string) int {
	return cmp.Or(
		cmp.Compare(o.rank(), p.rank()), cmp.Compare(o.Kind, p.Kind), cmp.Compare(o.Group(), p.Group()),
		lists.TrueFirst(o.isIn(operatorNamespace), p.isIn(operatorNamespace)),
		cmp.Compare(o.Namespace, p.Namespace), cmp.Compare(o.Name, p.Name))
}

func (o Object) rank() int {
	if n := slices.Index(ranks, o.Kind); n >= 0 {
		return n
	}
	return len(ranks)
}

// isIn reports whether an object is in a namespace, or in none.
func (o Object) isIn(namespace string) bool { return o.Namespace == "" || o.Namespace == namespace }

// TargetNamespaces returns the namespaces that the operator watches, sorted, or none if it watches all.
func (r *Result) TargetNamespaces() []string {
	if slices.Contains(r.targets, allNamespaces) {
		return nil
	}
	return slices.Clone(r.targets)
}

// Manifests returns the objects as package manifest reads them. The error is about an object that it cannot read.
func (r *Result) Manifests() ([]*manifest.Object, error) {
	out := make([]*manifest.Object, len(r.Objects))
	for i, x := range r.Objects {
		var err error
		if out[i], err = x.Manifest(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Spec returns the spec of the bundle's CSV. It is for reading only.
func (r *Result) Spec() v1alpha1.ClusterServiceVersionSpec {
	if r.bundle == nil {
		return v1alpha1.ClusterServiceVersionSpec{} // not from Render
	}
	return r.bundle.CSV.Spec
}

// RenderIn renders the same bundle with the same options and in the same install mode, for another namespace of the
// operator and, in SingleNamespace and MultiNamespace, for other target namespaces. Errors are those of Render. It is
// what a layout with values (a Helm chart) asks to find out what depends on them.
func (r *Result) RenderIn(namespace string, targets []string) (*Result, error) {
	if r.bundle == nil {
		return nil, errors.New("nothing was rendered")
	}
	o := r.options
	o.Namespace = namespace
	if r.targets != nil {
		o.InstallMode, o.TargetNamespaces = r.InstallMode, nil
		if r.InstallMode == v1alpha1.InstallModeTypeSingleNamespace ||
			r.InstallMode == v1alpha1.InstallModeTypeMultiNamespace {
			o.TargetNamespaces = targets
		}
	}
	return Render(r.bundle, o)
}

// FixedNamespaces returns the namespaces that the bundle or the options mention, sorted. Rendered into one of these
// namespaces, an operator can have other objects than in any other namespace.
func (r *Result) FixedNamespaces() []string {
	b := r.bundle
	if b == nil {
		return nil // not from Render
	}
	found := slices.Concat(r.options.CopiedCSVNamespaces, r.options.TargetNamespaces,
		[]string{"kube-system", b.CSV.Annotations[olm.AnnotationSuggestedNamespace]})
	if t := namespaceTemplate(b); t != nil {
		found = append(found, t.Name)
	}
	for _, o := range b.Others {
		found = append(found, o.Namespace)
		if install.GroupOf(o) == rbacv1.GroupName {
			first, _, _ := strings.Cut(o.Name, ".") // what a stable name begins with
			found = append(found, first)
			var binding rbacv1.ClusterRoleBinding
			_, _ = o.Into(&binding) // what cannot be read names nobody
			for _, s := range binding.Subjects {
				user, _, _ := strings.Cut(strings.TrimPrefix(s.Name, "system:serviceaccount:"), ":")
				found = append(found, s.Namespace, user)
			}
		}
	}
	found = slices.DeleteFunc(found, func(s string) bool { return len(validation.IsDNS1123Label(s)) > 0 })
	slices.Sort(found)
	return slices.Compact(found)
}
