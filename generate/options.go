package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// Names is how generated objects are named.
type Names string

// Stable names do not change from one version of an operator to the next; OLM names are byte for byte those of OLM v0.
const (
	NamesStable Names = "stable"
	NamesOLM    Names = "olm"
)

// AllNames and AllCopiedCSVs list the choices.
var (
	AllNames      = []Names{NamesStable, NamesOLM}
	AllCopiedCSVs = []CopiedCSVs{CopiedStub, CopiedFull, CopiedNone}
)

// Profile is the kind of cluster that the objects are for.
type Profile string

// ProfileOLM is everything OLM v0 creates. ProfilePlain is for a cluster without OLM: no OperatorGroup, CSV or
// OperatorCondition. ProfileOLMv1 is what the renderer of OLM v1 creates. ProfileDescoped is for a cluster without OLM
// too, and leaves it to an administrator where the operator may work (docs/descoped.md). ProfileSubscription and
// ProfileClusterExtension are what a person applies for OLM v0 and v1 to install the operator.
const (
	ProfileOLM              Profile = "olm"
	ProfilePlain            Profile = "plain"
	ProfileDescoped         Profile = "descoped"
	ProfileOLMv1            Profile = "olmv1"
	ProfileSubscription     Profile = "subscription"
	ProfileClusterExtension Profile = "clusterextension"
)

// Profiles lists the profiles.
var Profiles = []Profile{ProfileOLM, ProfilePlain, ProfileDescoped, ProfileOLMv1, ProfileSubscription,
	ProfileClusterExtension}

// CopiedCSVs is what a target namespace gets of the CSV.
type CopiedCSVs string

// A stub keeps what tells a person which operator manages the namespace; full equals OLM's copy.
const (
	CopiedStub CopiedCSVs = "stub"
	CopiedFull CopiedCSVs = "full"
	CopiedNone CopiedCSVs = "none"
)

// Options say where a bundle goes and in what form. The zero value of each field is its default.
type Options struct {
	// the operator's; default: the CSV's suggested namespace, else for a global Subscription openshift-operators, else
	// the package name
	Namespace           string
	InstallMode         v1alpha1.InstallModeType // default: by the targets, else AllNamespaces, else OwnNamespace
	TargetNamespaces    []string
	CopiedCSVNamespaces []string // in AllNamespaces: the namespaces that get copied CSVs

	OperatorGroup      string                // name; default: the package name, or with ProfileDescoped none
	Selector           *metav1.LabelSelector // of the OperatorGroup; TargetNamespaces then says what it resolves to
	StaticProvidedAPIs []string              // Kind.version.group; with Static, in addition to the bundle's own
	Static             bool                  // spec.staticProvidedAPIs
	// spec.serviceAccountName of the OperatorGroup, or that of a ClusterExtension
	ServiceAccount string

	// ClusterObjectsFrom is the namespace of the operators whose cluster-scoped objects, such as CRDs and the
	// ClusterRoles of APIs, take the place of those that this operator makes as well. RenderAll uses it.
	ClusterObjectsFrom string

	Certs      Certs  // needed where the operator serves webhooks or APIs; default with OLM names: olm
	Issuer     Issuer // with cert-manager: an existing issuer
	CertSecret string // with user: the Secret; {deployment} in it is replaced
	CABundle   []byte // with user: PEM certificates

	Config          *v1alpha1.SubscriptionConfig // of the Subscription, applied to the Deployments or handed over
	ConvertCRDs     bool                         // v1beta1 CRDs become v1
	NetworkPolicies bool                         // with ProfilePlain: one for each Deployment denies by default
	// images in the CSV, the Deployments and shipped workloads are taken from there
	Mirrors *images.Map

	Descoped Descoped // with ProfileDescoped
	// the APIs that several operators may provide, as an administrator allows, by name such as ships.example.com
	SharedAPIs []string

	// of the Subscription or ClusterExtension; default: the bundle's default channel, else its only one
	Channel string
	// a catalog says the channel, whatever the bundle says; without one, a Subscription takes the catalog's default
	// channel, and a ClusterExtension all
	ChannelOfCatalog bool

	Subscription SubscriptionOptions
	Extension    ExtensionOptions

	// the releases of OLM and of OpenShift in the cluster, such as v1.10 and 4.19; default: the newest of OLM v1, and
	// nothing is known of OpenShift
	OLMVersion, OpenShiftVersion string

	Names                  Names
	Profile                Profile
	CopiedCSVs             CopiedCSVs
	CreateNamespace        bool              // the Namespace of the operator
	CreateTargetNamespaces bool              // those of its targets
	Templates              *templates.Set    // default: olmgen's own
	Properties             []bundle.Property // the catalog's; default: what the bundle itself tells
	Replaces               *string           // the catalog's; OLM writes it into the CSV
	// The operator is in a cluster already, where OLM has written its CSV.
	Installed bool
	// What OLM makes is shown and not applied: a ClusterRole of the group has OLM's name if the stable one is taken.
	Shown bool
	// of an OperatorGroup that exists: webhooks select its namespaces by the label that OLM gives them
	GroupUID string
	// names of existing webhook configurations, by generateName; default: a name like OLM's
	WebhookNames map[string]string

	neighbors neighbors // the operators rendered together with this one

	ownPods     *PodSecurity           // what the pods of the operator need; nil in options that are not complete
	podSecurity map[string]PodSecurity // what the namespaces of all operators rendered together need
}

func refuse(hint, format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Tip: hint}
}

func refuseOption(option manifest.Option, hint, format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Tip: hint, Option: option}
}

// checkWord refuses a value that an option does not have. An empty value is the default.
func checkWord[T ~string](option manifest.Option, what string, got T, allowed []T) error {
	if got == "" || slices.Contains(allowed, got) {
		return nil
	}
	unknown := text.Unknown(what, got, allowed)
	return refuseOption(option, unknown.Hint(), "%v", unknown)
}

// complete fills in the defaults and checks what does not depend on install modes.
func (o Options) complete(b *bundle.Bundle) (Options, error) {
	var err error
	setDefault(&o.Profile, ProfileOLM)
	if o.Namespace, err = o.namespace(b); err != nil {
		return o, err
	}
	setDefault(&o.Names, NamesStable)
	if err := o.CheckDescoped(); err != nil {
		return o, err
	}
	if o.OperatorGroup == "" && o.hasGroup() {
		if o.OperatorGroup = b.Package; o.Names == NamesStable {
			o.OperatorGroup = GroupName(b)
		}
	}
	setDefault(&o.CopiedCSVs, CopiedStub)
	if err := cmp.Or(
		o.checkGroupName(),
		checkName(option.ServiceAccount, "", "service account", cmp.Or(o.ServiceAccount, "default")),
		checkWord(option.Names, "naming", o.Names, AllNames),
		checkWord(option.Profile, "profile", o.Profile, Profiles),
		checkWord(option.CopiedCSVs, "form of copied CSVs", o.CopiedCSVs, AllCopiedCSVs),
		checkWord(option.Certs, "certificate provider", o.Certs, AllCerts),
		o.checkCerts(),
	); err != nil {
		return o, err
	}
	if role := shippedGroupRole(b, o.OperatorGroup); o.hasGroup() && o.Names == NamesStable && role != "" && !o.Shown {
		return o, refuseOption(option.OperatorGroup, "give another name",
			"OperatorGroup name %q would overwrite the bundle's own ClusterRole %s", o.OperatorGroup, role)
	}
	return o, cmp.Or(checkNamespaces(option.TargetNamespaces, "target namespace", o.TargetNamespaces),
		checkNamespaces(option.CopiedCSVNamespaces, "namespace for copied CSVs", o.CopiedCSVNamespaces))
}

func setDefault[T ~string](field *T, value T) {
	*field = cmp.Or(*field, value)
}

// GroupName returns the name of the OperatorGroup of a single operator: the package name, or a name near it if the
// bundle ships ClusterRoles that the ClusterRoles of the group would overwrite.
func GroupName(b *bundle.Bundle) string {
	if shippedGroupRole(b, b.Package) != "" {
		return b.Package + "-group"
	}
	return b.Package
}

// Namespace returns the namespace of an operator if Options name none: the namespace that the CSV suggests, else the
// package name. It returns an *Error if that is not a valid name.
func Namespace(b *bundle.Bundle) (string, error) { return Options{}.namespace(b) }

func (o Options) namespace(b *bundle.Bundle) (string, error) {
	if o.Namespace != "" {
		return o.Namespace, checkNamespaces(option.Namespace, "namespace", []string{o.Namespace})
	}
	ns, from := b.CSV.Annotations[olm.AnnotationSuggestedNamespace], "the annotation "+olm.AnnotationSuggestedNamespace
	if t := namespaceTemplate(b); ns == "" && t != nil {
		ns, from = t.Name, "the annotation "+olm.AnnotationNamespaceTemplate
	}
	if ns == "" && o.Profile == ProfileSubscription && !o.asksForGroup() && o.global(b.CSV) {
		return olm.NamespaceOperators, nil
	}
	if ns == "" {
		ns, from = b.Package, "the package name"
	}
	if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
		return "", refuseOption(option.Namespace, "name the operator's namespace",
			"%s, %q, is not a valid namespace name: %s", from, ns, text.Reason(problems))
	}
	return ns, nil
}

// namespaceTemplate decodes the whole Namespace that the CSV suggests. It returns nil if there is none or if it is not
// JSON.
func namespaceTemplate(b *bundle.Bundle) *metav1.ObjectMeta {
	var t struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if json.Unmarshal([]byte(b.CSV.Annotations[olm.AnnotationNamespaceTemplate]), &t) != nil || t.Metadata.Name == "" {
		return nil
	}
	return &t.Metadata
}

// defaultRoles are the ClusterRoles <prefix>-admin, -edit and -view of Kubernetes and OpenShift. A group of that name
// would overwrite them (openshift/cert-manager-operator#70 did).
var defaultRoles = []string{"cluster", "registry", "storage"}

// IsDefaultRole reports whether Kubernetes or OpenShift have ClusterRoles that the roles of an OperatorGroup of that
// name would overwrite.
func IsDefaultRole(group string) bool { return slices.Contains(defaultRoles, group) }

// shippedGroupRole returns the name of a shipped ClusterRole that a ClusterRole of the group would have too, or "".
func shippedGroupRole(b *bundle.Bundle, group string) string {
	for _, x := range b.Others {
		suffix, ok := strings.CutPrefix(x.Name, group+"-")
		if ok && x.Kind == "ClusterRole" && slices.Contains(suffixes, suffix) {
			return x.Name
		}
	}
	return ""
}

func (o Options) checkGroupName() error {
	if !o.hasGroup() {
		return nil
	}
	if err := checkName(option.OperatorGroup, "give another name", "OperatorGroup", o.OperatorGroup); err != nil {
		return err
	}
	if len(o.OperatorGroup) > validation.LabelValueMaxLength {
		return refuseOption(option.OperatorGroup, "give a shorter name",
			"OperatorGroup name %q is longer than %d characters: OLM then silently makes no roles", o.OperatorGroup,
			validation.LabelValueMaxLength)
	}
	if o.Names == NamesStable && IsDefaultRole(o.OperatorGroup) && !o.Shown {
		return refuseOption(option.OperatorGroup, "give another name",
			"OperatorGroup name %q would overwrite the default ClusterRole %[1]s-admin", o.OperatorGroup)
	}
	return nil
}

func checkName(option manifest.Option, hint, of, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return refuseOption(option, hint, "%s name %q is not a valid name: %s", of, name, text.Reason(problems))
	}
	return nil
}

func checkNamespaces(option manifest.Option, what string, names []string) error {
	for i, n := range names {
		if len(validation.IsDNS1123Label(n)) > 0 {
			return refuseOption(option, "use lower-case letters, digits and -", "%s %q is not a valid namespace name",
				what, n)
		}
		if slices.Contains(names[:i], n) {
			return refuseOption(option, "", "%s %q is given twice", what, n)
		}
	}
	return nil
}

// TakesCerts reports whether a provider can make the certificates in a profile.
func (p Profile) TakesCerts(c Certs) bool {
	switch p {
	case ProfileSubscription, ProfileClusterExtension:
		return false
	case ProfileOLMv1:
		return c != CertsUser && c != CertsOLM
	}
	return true
}

// HandsOver reports whether a profile hands the operator to OLM, which then installs it.
func (p Profile) HandsOver() bool { return p == ProfileSubscription || p == ProfileClusterExtension }

// Error is a combination of options and bundle that OLM would refuse, or that olmgen can't decide.
type Error struct {
	Msg     string
	Tip     string
	Option  manifest.Option   // the wrong option; empty if there is not exactly one
	Options []manifest.Option // the options that the tip is about; nil: Option alone
}

func (e *Error) Error() string { return e.Msg }

// Hint returns what to do about the error, or "".
func (e *Error) Hint() string { return e.Tip }

// About returns the options that the hint is about.
func (e *Error) About() []manifest.Option {
	if e.Options == nil && e.Option != "" {
		return []manifest.Option{e.Option}
	}
	return e.Options
}

func (e *Error) with(options ...manifest.Option) *Error {
	e.Options = options
	return e
}
