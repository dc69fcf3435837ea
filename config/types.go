// Package config renders what a RenderConfig declares: many operators in one file.
//
// [Read] parses and checks the file. [Config.Render] opens the bundles, renders them and returns the files of a
// [Rendered], which package [github.com/olmgen/olmgen/output] writes, checks or prints. The types below [RenderConfig]
// are the fields of the file.
//
// Every option is declared once, in [Declared]: its field, flag, help text and schema. [NewFlags] returns the flags of
// a command line, which fills a RenderConfig in the same way as a file does. [Init] writes a new RenderConfig.
package config

import (
	_ "embed" // of the schema

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
)

// The identity of a RenderConfig.
const (
	APIVersion = "olmgen.dev/v1alpha1"
	Kind       = "RenderConfig"
)

// RenderConfig declares operators that go to one cluster, in their OperatorGroups, and the form in which they are
// written. Paths in it are relative to its file. Declared says what its fields are.
type RenderConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`

	Output   Output   `json:"output,omitempty"`
	Defaults Settings `json:"defaults,omitempty"`
	Groups   []Group  `json:"groups"`

	Annotations       transform.Engine  `json:"annotations,omitempty"`
	CommonLabels      map[string]string `json:"commonLabels,omitempty"`
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	Mirrors           []Mirror          `json:"mirrors,omitempty"`
	MirrorMap         string            `json:"mirrorMap,omitempty"`
	KubeVersion       string            `json:"kubeVersion,omitempty"`
	OLMVersion        string            `json:"olmVersion,omitempty"`
	OpenShiftVersion  string            `json:"openshiftVersion,omitempty"`
	Patches           []transform.Patch `json:"patches,omitempty"`
	Resolve           bool              `json:"resolve,omitempty"`
	SharedAPIs        []string          `json:"sharedAPIs,omitempty"`
}

// Mirror is where to take images from.
type Mirror struct {
	Source string `json:"source"`
	Mirror string `json:"mirror"`
}

// Output is where the files go, and in which layout.
type Output struct {
	Directory string        `json:"directory,omitempty"`
	Layout    output.Layout `json:"layout,omitempty"`
	HelmCRDs  helm.CRDs     `json:"helmCRDs,omitempty"`
}

// Group is an OperatorGroup and the operators in its namespace.
type Group struct {
	Namespace              string                   `json:"namespace"`
	Name                   string                   `json:"name,omitempty"`
	UID                    string                   `json:"uid,omitempty"`
	InstallMode            v1alpha1.InstallModeType `json:"installMode,omitempty"`
	TargetNamespaces       []string                 `json:"targetNamespaces,omitempty"`
	Selector               *metav1.LabelSelector    `json:"selector,omitempty"`
	StaticProvidedAPIs     *[]string                `json:"staticProvidedAPIs,omitempty"`
	ServiceAccount         string                   `json:"serviceAccount,omitempty"`
	CopiedCSVNamespaces    []string                 `json:"copiedCSVNamespaces,omitempty"`
	CreateNamespaces       bool                     `json:"createNamespaces,omitempty"`
	CreateTargetNamespaces bool                     `json:"createTargetNamespaces,omitempty"`
	ClusterObjectsFrom     string                   `json:"clusterObjectsFrom,omitempty"`
	Bundles                []Bundle                 `json:"bundles"`
}

// Bundle is an operator: where its bundle comes from and how it is rendered.
type Bundle struct {
	Name    string `json:"name,omitempty"`
	Source  string `json:"source"`
	Package string `json:"package,omitempty"`
	Channel string `json:"channel,omitempty"`
	Version string `json:"version,omitempty"`

	ChannelOfCatalog bool `json:"channelOfCatalog,omitempty"`

	Settings `json:",inline"`

	Descoped         *Descoped                    `json:"descoped,omitempty"`
	Subscription     *Subscription                `json:"subscription,omitempty"`
	ClusterExtension *generate.ExtensionOptions   `json:"clusterExtension,omitempty"`
	Config           *v1alpha1.SubscriptionConfig `json:"config,omitempty"`
	Installed        *Installed                   `json:"installed,omitempty"`
	Patches          []transform.Patch            `json:"patches,omitempty"`
}

// Descoped is the administrator's part of profile descoped.
type Descoped struct {
	generate.Descoped `json:",inline"`

	Tenants string `json:"tenants,omitempty"` // a file, which fills in those of generate
}

// Subscription is what profile subscription hands to OLM.
type Subscription struct {
	Name          string            `json:"name,omitempty"`
	Approval      v1alpha1.Approval `json:"approval,omitempty"`
	StartingCSV   bool              `json:"startingCSV,omitempty"`
	CatalogSource *CatalogSource    `json:"catalogSource,omitempty"`
}

// Installed is what OLM chose when it installed the operator, which the bundle does not say.
type Installed struct {
	Properties string            `json:"properties,omitempty"`
	Replaces   *string           `json:"replaces,omitempty"`
	Webhooks   map[string]string `json:"webhooks,omitempty"`
}

// CatalogSource is the catalog of a Subscription.
type CatalogSource struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Image     string `json:"image,omitempty"`
}

// Settings are how a bundle is rendered.
type Settings struct {
	Profile          generate.Profile    `json:"profile,omitempty"`
	Names            generate.Names      `json:"names,omitempty"`
	CopiedCSVs       generate.CopiedCSVs `json:"copiedCSVs,omitempty"`
	Certs            Certs               `json:"certs,omitempty"`
	ConvertCRDs      *bool               `json:"convertCRDs,omitempty"`
	NetworkPolicies  *bool               `json:"networkPolicies,omitempty"`
	AllowUnsupported *bool               `json:"allowUnsupported,omitempty"`
	Suppress         []string            `json:"suppress,omitempty"`
	Templates        string              `json:"templates,omitempty"`
}

// Certs is who makes the certificates of webhooks and APIs.
type Certs struct {
	Provider     generate.Certs   `json:"provider,omitempty"`
	Issuer       *generate.Issuer `json:"issuer,omitempty"`
	Secret       string           `json:"secret,omitempty"`
	CABundleFile string           `json:"caBundleFile,omitempty"`
}

// Schema is the JSON Schema of a RenderConfig.
//
//go:embed schema.json
var Schema []byte

// SchemaFile is the file beside a RenderConfig where editors look for its schema. olmgen help schema writes it.
const SchemaFile = "olmgen.schema.json"

// schemaURL is where the JSON Schema of a RenderConfig can be had: schema.json of this package.
const schemaURL = "https://raw.githubusercontent.com/olmgen/olmgen/main/config/schema.json"
