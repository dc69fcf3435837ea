// Package views holds the views of the templates: what each is given, from an [Ownership] to a [WebhookConfiguration].
// docs/reference/template-views.md lists their fields.
package views

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/internal/olm"
)

// Ownership are the labels by which OLM and olmgen find what belongs to an operator. A view that has them has their
// fields, and the labels themselves as .Labels.
type Ownership struct {
	Managed bool // olm.managed: with OLM's names
	// olm.owner, olm.owner.kind and olm.owner.namespace: the ClusterServiceVersion; nil with profiles plain and
	// descoped
	Owner      *Owner
	Hash       string // olm.permissions.hash: with OLM's names
	CopiedFrom string // olm.copiedFrom: the operator's namespace, on what is in another one
	Descoped   string // descoped.olmgen.dev/clusterrole: with profile descoped, what a role is for
	Scope      string // descoped.olmgen.dev/scope: cluster, if no RoleBinding grants what the role has
	Olmgen     bool   // app.kubernetes.io/managed-by: with profiles plain and descoped, and in "olmgen installer-rbac"
	PartOf     string // app.kubernetes.io/part-of: with profiles plain and descoped, the package
}

// Owner is what an object belongs to.
type Owner struct{ Name, Namespace string }

// Labelled reports whether there is any label.
func (o Ownership) Labelled() bool { return o != Ownership{} }

// Labels returns the labels as a mapping.
func (o Ownership) Labels() map[string]string {
	out := map[string]string{}
	add := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	if o.Managed {
		out[olm.LabelManaged] = "true"
	}
	if o.Owner != nil {
		out[olm.LabelOwner] = o.Owner.Name
		out[olm.LabelOwnerKind] = "ClusterServiceVersion"
		out[olm.LabelOwnerNamespace] = o.Owner.Namespace
	}
	add(olm.LabelPermissionsHash, o.Hash)
	add(olm.LabelCopiedFrom, o.CopiedFrom)
	add(olm.LabelDescoped, o.Descoped)
	add(olm.LabelScope, o.Scope)
	add(olm.LabelPartOf, o.PartOf)
	if o.Olmgen {
		out["app.kubernetes.io/managed-by"] = "olmgen"
	}
	return out
}

// CA are the annotations by which a certificate provider finds what needs its CA.
type CA struct {
	InjectCAFrom   string // cert-manager.io/inject-ca-from: the Certificate, as namespace/name
	InjectCABundle bool   // service.beta.openshift.io/inject-cabundle
}

// Annotations returns the annotations as a mapping.
func (c CA) Annotations() map[string]string {
	if c == (CA{}) {
		return nil
	}
	out := map[string]string{}
	if c.InjectCAFrom != "" {
		out["cert-manager.io/inject-ca-from"] = c.InjectCAFrom
	}
	if c.InjectCABundle {
		out["service.beta.openshift.io/inject-cabundle"] = "true"
	}
	return out
}

// GroupRole is the view of aggregated-clusterrole.yaml: one of the three ClusterRoles of an OperatorGroup.
type GroupRole struct {
	Ownership // its Owner is the OperatorGroup
	Name      string
	Selectors []Aggregate // the labels of the ClusterRoles that it is made of
}

// Labels returns the labels as a mapping.
func (v GroupRole) Labels() map[string]string {
	out := v.Ownership.Labels()
	if v.Owner != nil {
		out[olm.LabelOwnerKind] = "OperatorGroup"
	}
	return out
}

// Aggregate is the label olm.opgroup.permissions/aggregate-to-TO, by which the ClusterRoles of an OperatorGroup find
// those of an API.
type Aggregate struct {
	To    string // admin, edit or view; with OLM's names the hash of an API before it
	Value string // the OperatorGroup; with OLM's names true
}

// APIRole is the view of api-clusterrole.yaml: what users may do with a provided API.
type APIRole struct {
	Ownership
	Name         string
	Aggregate    *Aggregate
	DefaultRoles []string // rbac.authorization.k8s.io/aggregate-to-ROLE: admin, edit, view or cluster-reader
	Group        string   // of the API
	Resource     string   // the API's plural name
	Verbs        []string // what the role allows
	// the name of the CRD that the role lets users see; then there are no Group, Resource and Verbs
	CRD string
	// the package of the operator that owns the API, for an annotation; empty: there are none
	Operator    string
	Description string // of the role, for users; with Operator
	Shared      string // the API, if several operators may provide it, for an annotation
}

// Labels returns the labels as a mapping.
func (v APIRole) Labels() map[string]string {
	out := v.Ownership.Labels()
	if v.Aggregate != nil {
		out[olm.LabelAggregateTo+v.Aggregate.To] = v.Aggregate.Value
	}
	for _, role := range v.DefaultRoles {
		out["rbac.authorization.k8s.io/aggregate-to-"+role] = "true"
	}
	return out
}

// Role is the view of role.yaml and clusterrole.yaml.
type Role struct {
	Ownership
	Name      string
	Namespace string // empty in clusterrole.yaml
	Rules     []any  // as in the ClusterServiceVersion
	NoRules   bool   // with profile olmv1, where OLM v1 writes no rules at all
}

// Binding is the view of rolebinding.yaml, clusterrolebinding.yaml and tenant-rolebinding.yaml.
type Binding struct {
	Ownership
	Name      string
	Namespace string // empty in clusterrolebinding.yaml
	Role      string // the name of the Role or ClusterRole
	Subjects  []Subject
}

// Subject is a ServiceAccount that a binding is about.
type Subject struct{ Name, Namespace string }

// ServiceAccount is the view of serviceaccount.yaml.
type ServiceAccount struct {
	Ownership
	Name, Namespace string
	Annotations     map[string]string // with OLM's names, those of the account that the bundle ships
	Secrets         []any             // with OLM's names, those of the account that the bundle ships
}

// Namespace is the view of namespace.yaml.
type Namespace struct {
	Name                string
	Labels, Annotations map[string]string // what the ClusterServiceVersion suggests
}

// OperatorGroup is the view of operatorgroup.yaml.
type OperatorGroup struct {
	Name, Namespace  string
	ProvidedAPIs     string // olm.providedAPIs: Kind.version.group, with commas between them
	ServiceAccount   string
	Static           bool           // staticProvidedAPIs
	Selector         map[string]any // a label selector
	TargetNamespaces []string       // none for all namespaces
}

// OperatorCondition is the view of operatorcondition.yaml.
type OperatorCondition struct {
	Name, Namespace              string
	Deployments, ServiceAccounts []string
}

// Deployment is the view of deployment.yaml.
type Deployment struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
	Spec                map[string]any // as in the ClusterServiceVersion, with what OLM adds
}

// Service is the view of service.yaml: in front of a Deployment that serves webhooks or an APIService.
type Service struct {
	Ownership
	Name, Namespace string
	ServingCert     string // service.beta.openshift.io/serving-cert-secret-name: the Secret for the certificate
	Ports           []ServicePort
	Selector        map[string]string
	Shipped         *ShippedService // where the bundle ships a Service of that name, both together
}

// ServicePort is a port of a Service.
type ServicePort struct {
	Name       string
	Port       int32
	TargetPort any // a number or a name
}

// PortOf returns a port that is named by its number.
func PortOf(port int32, target intstr.IntOrString) ServicePort {
	p := ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: target.IntVal}
	if target.Type == intstr.String {
		p.TargetPort = target.StrVal
	}
	return p
}

// ShippedService is a Service of the bundle with what olmgen adds.
type ShippedService struct {
	Labels, Annotations map[string]string
	Spec                map[string]any
}

// NetworkPolicy is the view of networkpolicy.yaml: what the pods of a Deployment need of the network.
type NetworkPolicy struct {
	Ownership
	Name, Namespace string
	Selector        map[string]any // a label selector: that of the Deployment
	Ports           []NetworkPort  // that anybody may reach
}

// NetworkPort is a port of a pod.
type NetworkPort struct {
	Protocol string
	Port     any // a number or a name
}

// Issuer is the view of issuer.yaml: a self-signed Issuer of cert-manager.
type Issuer struct {
	Ownership
	Name, Namespace string
}

// Certificate is the view of certificate.yaml.
type Certificate struct {
	Ownership
	Name, Namespace string
	CommonName      string   // of a self-signed certificate
	Hosts           []string // the Service's names
	IssuerKind      string   // Issuer or ClusterIssuer; empty with profile olmv1
	IssuerName      string
	Secret          string
	LateRenewal     bool // cert-manager decides when it renews; with profile olmv1 of a release that says nothing of it
}

// APIService is the view of apiservice.yaml.
type APIService struct {
	Ownership
	Name string
	// those of a Subscription's config, and those by which a certificate provider finds what needs its CA
	Annotations    map[string]string
	CABundle       string // base64
	Group, Version string
	Service        string
	Namespace      string // the Service's
	Port           int32
}

// WebhookConfiguration is the view of webhookconfiguration.yaml: one webhook.
type WebhookConfiguration struct {
	Ownership
	CA
	Kind         string // ValidatingWebhookConfiguration or MutatingWebhookConfiguration
	Name         string
	GenerateName string // olm.webhook-description-generate-name: with OLM's names
	WebhookHash  string // olm.webhook-description-hash: with OLM's names
	Webhook      Webhook
}

// Webhook is the one webhook of a WebhookConfiguration. What is nil is left out; all but CABundle, Service and
// Namespace is as in the ClusterServiceVersion.
type Webhook struct {
	Name                              string
	AdmissionReviewVersions           any
	CABundle                          string // base64
	Service, Namespace                string
	Path, Port                        any
	FailurePolicy, MatchPolicy        any
	NamespaceSelector, ObjectSelector any // of a group with targets, NamespaceSelector is olmgen's
	ReinvocationPolicy                any
	Rules                             any
	SideEffects                       any
	TimeoutSeconds                    any
}

// WebhookOf returns the view of an entry of a webhook configuration's list.
func WebhookOf(entry map[string]any) Webhook {
	client, _ := entry["clientConfig"].(map[string]any)
	service, _ := client["service"].(map[string]any)
	return Webhook{
		Name:                    olm.Text(entry["name"]),
		AdmissionReviewVersions: entry["admissionReviewVersions"],
		CABundle:                olm.Text(client["caBundle"]),
		Service:                 olm.Text(service["name"]),
		Namespace:               olm.Text(service["namespace"]),
		Path:                    service["path"],
		Port:                    service["port"],
		FailurePolicy:           entry["failurePolicy"],
		MatchPolicy:             entry["matchPolicy"],
		NamespaceSelector:       entry["namespaceSelector"],
		ObjectSelector:          entry["objectSelector"],
		ReinvocationPolicy:      entry["reinvocationPolicy"],
		Rules:                   entry["rules"],
		SideEffects:             entry["sideEffects"],
		TimeoutSeconds:          entry["timeoutSeconds"],
	}
}

// Labels returns the labels as a mapping.
func (v WebhookConfiguration) Labels() map[string]string {
	out := v.Ownership.Labels()
	if v.GenerateName != "" {
		out[olm.LabelWebhookName], out[olm.LabelWebhookHash] = v.GenerateName,
			v.WebhookHash
	}
	return out
}

// ClusterServiceVersion is the view of clusterserviceversion.yaml.
type ClusterServiceVersion struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
	Spec                any // text that is printed already
}

// CopiedClusterServiceVersion is the view of copied-clusterserviceversion-stub.yaml.
type CopiedClusterServiceVersion struct {
	Name, Namespace   string
	Labels            map[string]string // the ClusterServiceVersion's, and olm.copiedFrom
	OperatorGroup     string            // olm.operatorGroup
	OperatorNamespace string            // olm.operatorNamespace
	Spec              any               // text that is printed already
}

// CatalogSource is the view of catalogsource.yaml.
type CatalogSource struct {
	Name, Namespace, Image string
	Publisher              string
	Priority               int
	Poll                   bool // the image has a tag, so there may be a newer one
}

// ClusterCatalog is the view of clustercatalog.yaml.
type ClusterCatalog struct {
	Name, Image string
	Priority    int
}

// Subscription is the view of subscription.yaml.
type Subscription struct {
	Name, Namespace         string
	Package, Channel        string
	Approval                string // Automatic or Manual
	StartingCSV             string
	Source, SourceNamespace string // the CatalogSource
	Config                  map[string]any
}

// ClusterExtension is the view of clusterextension.yaml.
type ClusterExtension struct {
	Name, Namespace         string
	Package                 string
	Version                 string // a range
	Channels                []string
	UpgradeConstraintPolicy string
	ServiceAccount          string
	Config                  map[string]any // spec.config.inline
}

// AdmissionPolicy is the view of validatingadmissionpolicy.yaml: what is created or updated of one resource.
type AdmissionPolicy struct {
	Name                     string
	Description              string // an annotation; empty: there is none
	Group, Version, Resource string
	MatchConditions          []NamedExpression // all must be true for the policy to look at a request
	Validations              []Validation
	Variables                []NamedExpression
}

// NamedExpression is an expression of CEL with a name.
type NamedExpression struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Validation is an expression of CEL that is false where a request is refused, with what the API server says then.
type Validation struct {
	Expression        string `json:"expression"`
	Message           string `json:"message"`                     // where MessageExpression has no result
	MessageExpression string `json:"messageExpression,omitempty"` // of CEL
	Reason            string `json:"reason,omitempty"`
}

// AdmissionBinding is the view of validatingadmissionpolicybinding.yaml. Both lists of namespaces hold together.
type AdmissionBinding struct {
	Name, Policy     string
	Namespaces       []string // the only ones; none: all
	ExemptNamespaces []string
}

// MirrorSet is the view of imagedigestmirrorset.yaml and imagetagmirrorset.yaml.
type MirrorSet struct {
	Name    string // the package
	Mirrors []Mirror
}

// Mirror is where the images of a repository are mirrored.
type Mirror struct{ Source, Mirror string }

// Kustomization is the view of kustomization.yaml.
type Kustomization struct {
	Resources []string // paths, in the order in which they can be applied
}

// ChannelKustomization is the view of kustomization-channel.yaml and patch-channel.yaml.
type ChannelKustomization struct {
	Resources       []string
	Channel         string
	Name, Namespace string // of the Subscription; empty without one
}

// Chart is the view of chart.yaml.
type Chart struct {
	Name, Version, AppVersion, Description string

	Home        string   // a URL; may be empty, like all that follows
	Icon        string   // a URL, or the image itself as a data URL
	Keywords    []string // unique
	KubeVersion string   // a range
	Maintainers []Maintainer
}

// Maintainer is a maintainer of a chart.
type Maintainer struct{ Name, Email string } // the email may be empty
