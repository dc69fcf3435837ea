// Package bundle reads an operator bundle in the registry+v1 format from any fs.FS.
//
// [Read] returns a [Bundle]: its ClusterServiceVersion, its CRDs, and the other objects that it ships. It refuses what
// OLM or the API server would refuse, with file, line and field. What they accept although it is a mistake becomes a
// [Warning]. [ScopeOf] says by the install modes whether an operator is descoped.
//
// Package [github.com/olmgen/olmgen/source] opens the fs.FS of an image, an archive or a directory. Package
// [github.com/olmgen/olmgen/generate] renders the bundle, package [github.com/olmgen/olmgen/bundle/images] lists its
// images.
package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Bundle is one version of an operator.
type Bundle struct {
	Package        string   // operators.operatorframework.io.bundle.package.v1
	Channels       []string // operators.operatorframework.io.bundle.channels.v1
	DefaultChannel string   // operators.operatorframework.io.bundle.channel.default.v1
	Annotations    map[string]string

	CSV       *v1alpha1.ClusterServiceVersion // as written, without the API server's defaults
	CSVObject *manifest.Object
	CRDs      []*CRD             // in file order
	Others    []*manifest.Object // every other object, in file order

	Properties   []Property // metadata/properties.yaml
	Dependencies []Property // metadata/dependencies.yaml

	// Partial says that nothing is known but what a catalog says of the bundle: the CSV has no permissions and no
	// Deployments, and the objects are missing.
	Partial bool

	Warnings []Warning         // in file order
	Notes    []*manifest.Error // what is superfluous and harmless, in file order
	Bytes    int               // of all files that were read

	files       map[string][]byte  // that it was read from
	annotations *manifest.Document // that has them; nil if none
	literal     bool
}

// Literal reports whether CSV has all fields of CSVObject, and each by the name that it has there, letter for letter:
// the decoder of OLM v0 does not mind upper and lower case.
func (b *Bundle) Literal() bool { return b.literal }

// Property is an entry of properties.yaml or dependencies.yaml.
type Property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`

	File string `json:"-"` // where it stands, if it is in a file of a bundle
	Line int    `json:"-"`
}

// Requires reports whether the property names what others have to bring, as those of dependencies.yaml do.
func (p Property) Requires() bool {
	return strings.HasSuffix(p.Type, ".required") || p.Type == olm.PropertyConstraint
}

// ParseProperties reads the annotation of a ClusterServiceVersion in a cluster that has the properties of its bundle,
// operatorframework.io/properties. The list is nil if the text names none. The error is about invalid JSON.
func ParseProperties(annotation string) ([]Property, error) {
	var list struct {
		Properties []Property `json:"properties"`
	}
	err := json.Unmarshal([]byte(annotation), &list)
	return list.Properties, err
}

// CRD is a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1, of which only what others depend on is
// decoded.
type CRD struct {
	*manifest.Object
	Group, Plural, ResourceKind   string // ResourceKind is spec.names.kind
	Scope                         string // Namespaced or Cluster
	Versions                      []CRDVersion
	PreserveUnknownFields, V1Beta bool
}

// CRDVersion is one version of a CRD.
type CRDVersion struct {
	Name            string
	Served, Storage bool
}

// Warning is something that OLM accepts and that is probably a mistake. Class is a short stable id, such as
// duplicate-key.
type Warning struct {
	Class string
	*manifest.Error
	// Fails says that what is rendered does not work: whoever renders it has to accept the class.
	Fails bool
}

// Warning classes.
const (
	WarnAggregatedRules  = "aggregated-rules"   // a shipped ClusterRole with an aggregationRule and rules
	WarnAPIVersion       = "api-version"        // an object without apiVersion, or a CSV of another one than v1alpha1
	WarnConversion       = "conversion-webhook" // a CRD that nothing converts
	WarnDuplicateKey     = "duplicate-key"      // the last one counts
	WarnForeignSubject   = "foreign-subject"    // a shipped binding whose subject is in another namespace
	WarnInstallMode      = "install-mode"       // an unknown install mode
	WarnLayout           = "layout"             // no annotations, or files that are not read
	WarnNotAnObject      = "not-an-object"      // a document without kind
	WarnOldAPI           = "old-api"            // an API version that current clusters do not serve
	WarnOldCRD           = "old-crd"            // a v1beta1 CRD
	WarnProperty         = "property"           // a property without type or value, or a number for a text
	WarnSelector         = "selector"           // a Deployment whose selector the API server refuses
	WarnSeveralDocuments = "several-documents"  // OLM reads only the first
	WarnShadowed         = "shadowed"           // a shipped object with the name of a generated one
	WarnStrategy         = "install-strategy"   // none is given
	WarnUnknownField     = "unknown-field"      // OLM drops it, and so does olmgen
	WarnUnknownAccount   = "unknown-account"    // a Deployment whose ServiceAccount nobody creates
	WarnUnsupportedKind  = "unsupported-kind"   // let through by AllowUnsupported
	WarnCertificates     = "certificates"       // left to whoever makes and rotates them
	WarnInstallation     = "installation"       // OLM in the cluster may not do what is asked of it
	WarnMetadataObject   = "object-in-metadata" // a Kubernetes object in metadata/: OLM installs it
	WarnUnreadMetadata   = "unread-metadata"    // a file in metadata/ that is not YAML, or properties that are not JSON
	WarnMirrorMap        = "mirror-map"         // an entry of a mirror map that no image is in
	WarnUnmirrored       = "unmirrored-image"   // an image that a mirror map has no mirror for
	WarnClusterObjects   = "cluster-objects"    // left out, and the one of another group is not the same
	WarnReplacedObject   = "replaced-object"    // a later one has the same kind and name and other content
	WarnScope            = "scope"              // descoped: an operator that was not made for it
	WarnDescoped         = "descoped"           // descoped: left out of what the bundle ships
	WarnClusterRules     = "cluster-rules"      // descoped: a rule that a binding in a namespace does not grant
	WarnWatchNamespace   = "watch-namespace"    // descoped: an operator that is told what to watch
	WarnOLMAPIs          = "olm-apis"           // an operator with rights on APIs of OLM, which its form does not have
	WarnStatus           = "status"             // descoped: an owned API whose status the operator may not update
	WarnDescriptorValue  = "descriptor-value"   // a CSV that server-side apply refuses, and OLM does not
	WarnOwnNamespace     = "own-namespace"      // descoped: an operator without rights in its own namespace
)

// WarningClasses are all classes of warnings.
var WarningClasses = []string{WarnAggregatedRules, WarnAPIVersion, WarnConversion, WarnDuplicateKey,
	WarnForeignSubject, WarnInstallMode, WarnLayout, WarnNotAnObject, WarnOldAPI, WarnOldCRD, WarnProperty,
	WarnSelector, WarnSeveralDocuments, WarnShadowed, WarnStrategy, WarnUnknownField, WarnUnknownAccount,
	WarnUnsupportedKind, WarnCertificates, WarnInstallation, WarnMetadataObject, WarnUnreadMetadata,
	WarnReplacedObject, WarnMirrorMap, WarnUnmirrored, WarnScope, WarnDescoped, WarnClusterObjects, WarnClusterRules,
	WarnWatchNamespace, WarnOLMAPIs, WarnStatus, WarnOwnNamespace, WarnDescriptorValue}

// Shipped returns what the bundle has beside its ClusterServiceVersion.
func (b *Bundle) Shipped() []*manifest.Object {
	return slices.Concat(b.Others, lists.Map(b.CRDs, func(crd *CRD) *manifest.Object { return crd.Object }))
}

// Owns reports whether the CSV owns the CRD.
func (b *Bundle) Owns(crd string) bool {
	return slices.ContainsFunc(b.CSV.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) bool { return d.Name == crd })
}

// CRD returns the bundle's CRD of that name, or nil.
func (b *Bundle) CRD(name string) *CRD {
	return lists.Find(b.CRDs, func(c *CRD) bool { return c.Name == name })
}

// Channel returns the channel that a bundle is rendered for: the one asked for, else the package's default, else the
// bundle's first; it may be empty.
func (b *Bundle) Channel(asked string) string {
	channel := cmp.Or(asked, b.DefaultChannel)
	if channel == "" && len(b.Channels) > 0 {
		return b.Channels[0]
	}
	return channel
}

// DeclaredProperties returns the properties that the author of the bundle wrote: those of metadata/properties.yaml, and
// those of the annotation olm.properties of the CSV. An annotation that is not JSON has none.
func (b *Bundle) DeclaredProperties() []Property {
	var annotated []Property
	if json.Unmarshal([]byte(b.CSV.Annotations[olm.AnnotationBundleProperties]), &annotated) != nil {
		annotated = nil
	}
	return slices.Concat(b.Properties, annotated)
}

// CatalogProperties returns the properties that a catalog has for the bundle, as opm render makes them: what the bundle
// is, provides and requires (spec 5.1 and 12.2).
func (b *Bundle) CatalogProperties() []Property {
	list := b.DeclaredProperties()
	add := func(kind string, value any) {
		raw, err := json.Marshal(value)
		if err == nil {
			list = append(list, Property{Type: kind, Value: raw})
		}
	}
	add(olm.PropertyPackage, map[string]string{"packageName": b.Package, "version": b.CSV.Spec.Version.String()})
	var shipped []olm.API
	for _, c := range b.CRDs {
		for _, v := range c.Versions {
			shipped = append(shipped,
				olm.API{Kind: c.ResourceKind, Version: v.Name, Group: c.Group, Plural: c.Plural, CRD: c.Name})
		}
	}
	for _, a := range olm.CatalogAPIs(&b.CSV.Spec, shipped) {
		add(olm.PropertyGVK, gvk(a))
	}
	for _, a := range olm.RequiredAPIs(&b.CSV.Spec) {
		add(olm.PropertyGVKRequired, gvk(a))
	}
	list = append(list, lists.Map(b.Dependencies, requirement)...)
	slices.SortStableFunc(list, func(a, b Property) int {
		return strings.Compare(a.Type+"\x00"+string(a.Value), b.Type+"\x00"+string(b.Value))
	})
	return slices.CompactFunc(list, Property.Equal)
}

// Equal reports whether two properties say the same, wherever they stand.
func (p Property) Equal(o Property) bool {
	return p.Type == o.Type && string(p.Value) == string(o.Value)
}

func gvk(a olm.API) map[string]string {
	return map[string]string{"group": a.Group, "version": a.Version, "kind": a.Kind}
}

// requirement turns an entry of dependencies.yaml into the property that a catalog has for it.
func requirement(d Property) Property {
	switch d.Type {
	case olm.PropertyGVK, olm.PropertyLabel:
		d.Type += ".required"
	case olm.PropertyPackage:
		var v struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}
		if json.Unmarshal(d.Value, &v) == nil {
			if raw, err := json.Marshal(map[string]string{"packageName": v.PackageName,
				"versionRange": v.Version}); err == nil {
				return Property{Type: olm.PropertyPackageRequired, Value: raw}
			}
		}
	}
	return d
}

// Digest returns the digest of the files that were read: what "sha256sum FILE... | sha256sum" prints for their sorted
// paths, behind "sha256:". Line ends of Windows count as those of Unix, so the digest does not depend on the checkout.
func (b *Bundle) Digest() string {
	h := sha256.New()
	for _, name := range lists.Keys(b.files) {
		sum := sha256.Sum256(text.LF(b.files[name]))
		h.Write([]byte(hex.EncodeToString(sum[:]) + "  " + name + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Directories returns the directories that files were read from, relative to the root of the bundle, sorted.
func (b *Bundle) Directories() []string {
	return lists.SortedUnique(lists.Map(lists.Keys(b.files), path.Dir))
}

// Choice is what was asked for of a source: a package, a channel and a version, which is a version or the name of a
// ClusterServiceVersion. What is empty was not asked for.
type Choice struct{ Package, Channel, Version string }

// ChoiceError is a choice that a source of one bundle can't fulfil.
type ChoiceError struct {
	Option manifest.Option // Package, Channel or Version
	Msg    string
}

func (e *ChoiceError) Error() string { return e.Msg }

// Hint returns what to do about the error.
func (e *ChoiceError) Hint() string {
	return "name another source, or leave out the package, channel and version"
}

// About returns the option that asks for something else than the source has.
func (e *ChoiceError) About() []manifest.Option { return []manifest.Option{e.Option} }

// Check refuses a bundle that is not the one asked for, with a *ChoiceError.
func (c Choice) Check(b *Bundle) error {
	name, version := b.CSV.Name, b.CSV.Spec.Version.String()
	switch {
	case c.Package != "" && c.Package != b.Package:
		return &ChoiceError{option.Package, fmt.Sprintf("the bundle is of package %q, not %q", b.Package, c.Package)}
	case c.Version != "" && c.Version != name && strings.TrimPrefix(c.Version, "v") != version:
		return &ChoiceError{option.Version,
			fmt.Sprintf("the bundle is %s of version %s, not %q", name, version, c.Version)}
	case c.Channel == "" || slices.Contains(b.Channels, c.Channel):
		return nil
	case len(b.Channels) == 0:
		return &ChoiceError{option.Channel, fmt.Sprintf("the bundle is in no channel, so not in %q", c.Channel)}
	}
	return &ChoiceError{option.Channel,
		fmt.Sprintf("the bundle is in %s, not in channel %q", strings.Join(b.Channels, ", "), c.Channel)}
}
