// Package images lists the container images of operator bundles.
//
// [List] lists those of a bundle and [ListObjects] those of objects, each [Image] with its place and with whether a
// digest pins it. A [Rewriter] replaces images by those of a [Map] of mirrors. [MirrorSets] writes the objects that
// tell OpenShift about a mirror.
package images

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
)

// Kind is the kind of a place in a bundle that names an image.
type Kind string

// The kinds of places.
const (
	KindAnnotation    Kind = "annotation" // containerImage of the CSV, which no cluster pulls
	KindArgument      Kind = "argument"   // of a container
	KindBundle        Kind = "bundle"     // the image of the bundle itself
	KindConfigMap     Kind = "config-map"
	KindContainer     Kind = "container"
	KindEnv           Kind = "env"
	KindInitContainer Kind = "init-container"
	KindRelated       Kind = "related-image"
	KindVolume        Kind = "volume"
)

// Image is one place in a bundle that names an image.
type Image struct {
	Image      string `json:"image"`                // as written
	Normalized string `json:"normalized,omitempty"` // with registry and tag or digest; empty if it is not valid
	Pinned     bool   `json:"pinned"`               // by digest
	Kind       Kind   `json:"kind"`
	Guess      bool   `json:"guess,omitempty"`  // it stands among other text, of which olmgen does not know the use
	Name       string `json:"name,omitempty"`   // of the container, variable, related image, volume or annotation
	Source     string `json:"source,omitempty"` // of the bundle, as given by the user
	Package    string `json:"package,omitempty"`
	File       string `json:"file,omitempty"` // slash-separated path inside the bundle
	Line       int    `json:"line,omitempty"`
	Field      string `json:"field,omitempty"` // such as spec.relatedImages[0].image
}

// List returns every place in a bundle that names an image, sorted by file and line: related images and the annotation
// containerImage of the CSV, containers, init containers, arguments, environment and image volumes of its Deployments
// and of the bundle's other workloads, and texts of its ConfigMaps. It fails if an object cannot be decoded.
func List(b *bundle.Bundle) ([]Image, error) {
	var list []Image
	InCSV(b.CSV, into(&list, b.Package, b.CSVObject))
	shipped, err := inObjects(b.Others, b.Package)
	return sorted(append(list, shipped...)), err
}

// ListObjects returns every place in objects that names an image, sorted by file and line. ClusterServiceVersions and
// workloads have such places.
func ListObjects(objects []*manifest.Object) ([]Image, error) {
	list, err := inObjects(objects, "")
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.Kind != v1alpha1.ClusterServiceVersionKind || o.Group() != v1alpha1.GroupName {
			continue
		}
		var csv v1alpha1.ClusterServiceVersion
		if _, err := o.Into(&csv); err != nil {
			return nil, err
		}
		InCSV(&csv, into(&list, "", o))
	}
	return sorted(list), nil
}

// into returns a visitor that adds the images of an object to a list, and replaces none.
func into(list *[]Image, pkg string, o *manifest.Object) Visitor {
	return func(p Place, ref string) string {
		*list = append(*list, image(p, ref, pkg, o))
		return ref
	}
}

func inObjects(objects []*manifest.Object, pkg string) (list []Image, err error) {
	for _, o := range objects {
		if !HasImages(install.GroupOf(o), o.Kind) {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		InObject(install.GroupOf(o), o.Kind, v, into(&list, pkg, o))
	}
	return list, nil
}

func sorted(list []Image) []Image {
	slices.SortStableFunc(list, func(a, b Image) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return list
}

// OfBundle returns the image of the bundle itself.
func OfBundle(b *bundle.Bundle, ref string) Image {
	return image(Place{Kind: KindBundle}, ref, b.Package, nil)
}

// image describes an image at a place of an object, which is nil for that of a bundle itself.
func image(p Place, ref, pkg string, o *manifest.Object) Image {
	i := Image{Image: ref, Kind: p.Kind, Guess: p.Guess, Name: p.Name, Field: p.Field, Package: pkg}
	if o != nil {
		i.File, i.Line = o.PlaceOf(p.Field)
	}
	if r, err := parse(ref); err == nil {
		i.Normalized, i.Pinned = r.String(), r.digest != ""
	}
	return i
}

// Pulled reports whether a cluster pulls the image at this place.
func (i Image) Pulled() bool { return i.Kind != KindAnnotation }

// Reference returns the image with its registry and its tag or digest, or as it is written if that is not valid.
func (i Image) Reference() string { return cmp.Or(i.Normalized, i.Image) }

// At returns the source, file, line and field that name the image.
func (i Image) At() string {
	at := i.Source
	if i.File != "" {
		file := path.Join(i.Source, i.File)
		if strings.Contains(i.Source, "://") { // an image is not a path
			file = i.Source + "/" + i.File
		}
		at = fmt.Sprintf("%s:%d", file, i.Line)
	}
	if i.Field != "" {
		at += " " + i.Field
	}
	return at
}

// Names returns the images that a cluster pulls, normalized and sorted, each once.
func Names(list []Image) []string {
	return lists.SortedUnique(lists.Map(lists.Filter(list, Image.Pulled), Image.Reference))
}

// annotation names the operator's image for people who read the CSV (operator-sdk and OperatorHub.io).
const annotation = "containerImage"

// Place is a place in an object that names an image.
type Place struct {
	Kind  Kind
	Name  string // of the container, variable and so on
	Field string
	Guess bool // the image stands among other text
}

// Visitor is called with the image at a place. It returns the image that replaces it, or the same.
type Visitor func(p Place, ref string) string

// InCSV visits the images of a CSV in the order of its fields.
func InCSV(csv *v1alpha1.ClusterServiceVersion, visit Visitor) {
	if old, ok := csv.Annotations[annotation]; ok && old != "" {
		if ref := visit(Place{Kind: KindAnnotation, Name: annotation,
			Field: "metadata.annotations." + annotation}, old); ref != old {
			csv.Annotations[annotation] = ref
		}
	}
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		field := index("spec.install.spec.deployments", i) + ".spec.template.spec"
		inPod(&deployments[i].Spec.Template.Spec, field, visit)
	}
	for i := range csv.Spec.RelatedImages {
		r := &csv.Spec.RelatedImages[i]
		replace(&r.Image, Place{Kind: KindRelated, Name: r.Name,
			Field: index("spec.relatedImages", i) + ".image"}, visit)
	}
}

// reference is a parsed image reference.
type reference struct {
	scheme      string // oci:// or docker://, which some operators write
	repository  string // with the registry's host: docker.io/library/nginx
	tag, digest string // with both, only the digest is set
	suffix      string // tag and digest as written, with ":" and "@"
}

// The grammar of names (github.com/distribution/reference).
var (
	hostForm       = `(?:localhost|[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9.-]+(?::[0-9]+))(?::[0-9]+)?`
	pathForm       = `(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)`
	repositoryForm = lazy.Regexp(`^` + hostForm + pathForm + `+$`)
	prefixForm     = lazy.Regexp(`^` + hostForm + pathForm + `*$`)
)

func parse(ref string) (reference, error) {
	scheme, ref := cutScheme(ref)
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return reference{}, err
	}
	r := reference{scheme: scheme, repository: parsed.Context().Name(), suffix: ref[len(unsuffixed(ref)):]}
	if rest, ok := strings.CutPrefix(r.repository, name.DefaultRegistry+"/"); ok {
		r.repository = "docker.io/" + rest // only this library has another name for it
	}
	if !repositoryForm().MatchString(r.repository) {
		return reference{}, fmt.Errorf("%q is not an image", ref)
	}
	switch parsed := parsed.(type) {
	case name.Digest:
		r.digest = parsed.DigestStr()
	case name.Tag:
		r.tag = parsed.TagStr()
	}
	return r, nil
}

// Repository returns the repository of an image with the host of its registry, and whether a digest pins the image. It
// returns the whole reference if that is not an image.
func Repository(ref string) (repository string, pinned bool) {
	r, err := parse(ref)
	if err != nil {
		return ref, false
	}
	return r.repository, r.digest != ""
}

func cutScheme(ref string) (scheme, rest string) {
	for _, scheme := range []string{"oci://", "docker://"} {
		if rest, ok := strings.CutPrefix(ref, scheme); ok {
			return scheme, rest
		}
	}
	return "", ref
}

// unsuffixed returns ref without tag and digest.
func unsuffixed(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		ref = ref[:i]
	}
	return ref
}

// String returns the full reference, by digest if it has one.
func (r reference) String() string {
	if r.digest != "" {
		return r.repository + "@" + r.digest
	}
	return r.repository + ":" + r.tag
}

// longest is more than an image has: a name of 255 characters, a tag of 128 and a digest (distribution: reference).
const longest = 1024

// Qualified reports whether a text is an image with the host of a registry and a tag or digest.
func Qualified(s string) bool {
	_, s = cutScheme(s)
	if len(s) > longest || !repositoryForm().MatchString(unsuffixed(s)) {
		return false
	}
	r, err := parse(s)
	return err == nil && r.suffix != ""
}
