package predict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Extension is an operator that OLM v1 installs for a ClusterExtension.
type Extension struct {
	Object         *manifest.Object // the ClusterExtension
	Name           string           // of the bundle
	Catalog        string           // of the ClusterCatalog
	Choice         catalog.Choice
	Namespace      string         // spec.namespace
	WatchNamespace string         // spec.config.inline.watchNamespace; may be empty
	Deployments    map[string]any // spec.config.inline.deploymentConfig; may be empty
	Account        string         // spec.serviceAccount.name, which OLM v1 ignores since version 1.11; may be empty

	installed *extension.Installed
}

// clusterExtension has the fields of a ClusterExtension that decide what is installed (operator-controller:
// api/v1/clusterextension_types.go).
type clusterExtension struct {
	Spec struct {
		Namespace      string                      `json:"namespace"`
		ServiceAccount corev1.LocalObjectReference `json:"serviceAccount"`
		Source         struct {
			Catalog *struct {
				PackageName             string                `json:"packageName"`
				Version                 string                `json:"version"`
				Channels                []string              `json:"channels"`
				Selector                *metav1.LabelSelector `json:"selector"`
				UpgradeConstraintPolicy string                `json:"upgradeConstraintPolicy"`
			} `json:"catalog"`
		} `json:"source"`
		Config *struct {
			Inline struct {
				WatchNamespace   string         `json:"watchNamespace"`
				DeploymentConfig map[string]any `json:"deploymentConfig"`
			} `json:"inline"`
		} `json:"config"`
	} `json:"spec"`
	Status struct {
		Install *struct {
			Bundle extension.Installed `json:"bundle"`
		} `json:"install"`
	} `json:"status"`
}

// clusterCatalog has the fields of a ClusterCatalog that decide whether OLM v1 uses it (operator-controller:
// api/v1/clustercatalog_types.go).
type clusterCatalog struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Priority         int32  `json:"priority"`
		AvailabilityMode string `json:"availabilityMode"`
		Source           struct {
			Image struct {
				Ref string `json:"ref"`
			} `json:"image"`
		} `json:"source"`
	} `json:"spec"`
}

// SelectsByName reports whether a selector takes a ClusterCatalog that has no label but the one with its name. A nil
// selector takes each, and one that cannot be read none.
func SelectsByName(selector *metav1.LabelSelector, name string) bool {
	selects, err := selectorOf(selector)
	return err == nil && selects.Matches(labels.Set{LabelCatalogName: name})
}

// selected reports whether OLM v1 uses the catalog for a ClusterExtension with a selector.
func (c *clusterCatalog) selected(by labels.Selector) bool {
	set := labels.Merge(c.Metadata.Labels, labels.Set{LabelCatalogName: c.Metadata.Name})
	return c.Spec.AvailabilityMode != "Unavailable" && by.Matches(set)
}

// CatalogImages returns the images of the ClusterCatalogs among objects that a ClusterExtension among them uses, by the
// name of the ClusterCatalog. What cannot be read has none.
func CatalogImages(objects []*manifest.Object) map[string]string {
	selectors := map[string]labels.Selector{}
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		var e clusterExtension
		if _, err := o.Into(&e); err == nil && e.Spec.Source.Catalog != nil {
			if s, err := selectorOf(e.Spec.Source.Catalog.Selector); err == nil {
				selectors[s.String()] = s
			}
		}
	}
	images := map[string]string{}
	for _, o := range ofOLMv1(objects, olm.KindClusterCatalog) {
		var c clusterCatalog
		if _, err := o.Into(&c); err == nil && c.Spec.Source.Image.Ref != "" &&
			lists.Any(maps.Values(selectors), c.selected) {
			images[o.Name] = c.Spec.Source.Image.Ref
		}
	}
	return images
}

func selectorOf(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// LabelCatalogName is a label of every ClusterCatalog (operator-controller: api/v1, MetadataNameLabel).
const LabelCatalogName = "olm.operatorframework.io/metadata.name"

// Extensions returns what OLM v1 installs for the ClusterExtensions among objects, in their order, and those of which
// nobody can say it. One that has installed a bundle, by its status, goes on from there. The content of ClusterCatalogs
// is that of catalogs.ClusterCatalogs, else catalogs.Others.
func Extensions(objects []*manifest.Object, catalogs Catalogs) (list []Extension, unknown []Unknown) {
	return ofExtensions(objects, catalogs, extensionOf)
}

// ofExtensions returns what of says of each ClusterExtension, and those of which it says nothing.
func ofExtensions[T any](objects []*manifest.Object, catalogs Catalogs,
	of func(*manifest.Object, []*manifest.Object, Catalogs) (*T, error)) (list []T, unknown []Unknown) {
	served := ofOLMv1(objects, olm.KindClusterCatalog)
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		if x, err := of(o, served, catalogs); err == nil {
			list = append(list, *x)
		} else {
			_, ofCatalog := errors.AsType[contentError](err)
			unknown = append(unknown, Unknown{o, err.Error(), ofCatalog})
		}
	}
	return list, unknown
}

// ofOLMv1 returns the objects of a kind of OLM v1.
func ofOLMv1(objects []*manifest.Object, kind string) []*manifest.Object {
	return lists.Filter(objects, func(o *manifest.Object) bool { return o.Kind == kind && o.Group() == olm.GroupV1 })
}

func extensionOf(o *manifest.Object, objects []*manifest.Object, catalogs Catalogs) (*Extension, error) {
	q, err := askedFor(o, objects, catalogs)
	if err != nil {
		return nil, err
	}
	chosen, _, err := q.rest(q.Installed)
	if err != nil {
		return nil, fmt.Errorf("OLM v1 installs nothing: %w", err)
	}
	return q.extension(chosen), nil
}

// Asked is what a ClusterExtension asks for.
type Asked struct {
	extension.Request
	Object    *manifest.Object
	Sources   []extension.Source
	Selector  *metav1.LabelSelector // of ClusterCatalogs; nil if it names none
	Installed *extension.Installed  // by its status; nil if the tree does not say it

	typed clusterExtension
}

// AskedExtensions returns what the ClusterExtensions among objects ask for, and those of which nobody can say it.
func AskedExtensions(objects []*manifest.Object, catalogs Catalogs) (list []Asked, unknown []Unknown) {
	return ofExtensions(objects, catalogs, askedFor)
}

func askedFor(o *manifest.Object, objects []*manifest.Object, catalogs Catalogs) (*Asked, error) {
	q := &Asked{Object: o}
	if _, err := o.Into(&q.typed); err != nil {
		return nil, err
	}
	from := q.typed.Spec.Source.Catalog
	if from == nil {
		return nil, errors.New("it names no catalog")
	}
	q.Request = extension.Request{Package: from.PackageName, Versions: from.Version, Channels: from.Channels,
		SelfCertified: from.UpgradeConstraintPolicy == "SelfCertified"}
	if q.typed.Status.Install != nil {
		q.Installed = &q.typed.Status.Install.Bundle
	}
	q.Selector = from.Selector
	var err error
	q.Sources, err = servedTo(from.Selector, objects, catalogs)
	return q, err
}

// rest returns the bundle at which OLM v1 comes to rest from an installed one, which may be nil, and the bundles that
// it installs on the way. The error is that of the first step.
func (q *Asked) rest(installed *extension.Installed) (last *extension.Resolution, steps []string, err error) {
	for seen := map[string]bool{}; ; {
		next, err := extension.Resolve(q.Sources, q.Request, installed)
		if err != nil && last == nil {
			return nil, nil, err
		}
		if err != nil || seen[next.Bundle.Name] {
			return last, steps, nil //nolint:nilerr // it stays there
		}
		if installed == nil || installed.Name != next.Bundle.Name {
			steps = append(steps, next.Bundle.Name)
		}
		last, installed = next, installedFrom(next)
		seen[next.Bundle.Name] = true
	}
}

func installedFrom(r *extension.Resolution) *extension.Installed {
	return &extension.Installed{Name: r.Bundle.Name, Version: r.Version.Text()}
}

// extension returns the operator that is chosen for a ClusterExtension.
func (q *Asked) extension(chosen *extension.Resolution) *Extension {
	e := &Extension{Object: q.Object, Name: chosen.Bundle.Name, Catalog: chosen.Source,
		Namespace: q.typed.Spec.Namespace, Account: q.typed.Spec.ServiceAccount.Name, installed: installedFrom(chosen)}
	for _, s := range q.Sources {
		if p := s.Catalog.Packages[q.Package]; s.Name == chosen.Source && p != nil {
			e.Choice = catalog.Choice{Package: p, Bundle: chosen.Bundle, Channel: lists.Find(p.Channels,
				func(c *catalog.Channel) bool { return c.Entry(chosen.Bundle.Name) != nil })}
		}
	}
	if c := q.typed.Spec.Config; c != nil {
		e.WatchNamespace, e.Deployments = c.Inline.WatchNamespace, c.Inline.DeploymentConfig
	}
	return e
}

// contentError is that nobody says what a catalog serves.
type contentError string

func (e contentError) Error() string { return string(e) }

// servedTo returns the catalogs that a selector selects: those of the tree, and those that are only known by name.
func servedTo(selector *metav1.LabelSelector, objects []*manifest.Object,
	catalogs Catalogs) ([]extension.Source, error) {
	selects, err := selectorOf(selector)
	if err != nil {
		return nil, err
	}
	var out []extension.Source
	declared := map[string]bool{}
	for _, o := range ofOLMv1(objects, olm.KindClusterCatalog) {
		var c clusterCatalog
		if _, err := o.Into(&c); err != nil {
			return nil, err
		}
		declared[o.Name] = true
		if !c.selected(selects) {
			continue
		}
		named := func(known extension.Source) bool { return known.Name == o.Name }
		content := cmp.Or(lists.Find(catalogs.ClusterCatalogs, named).Catalog, catalogs.Others)
		if content == nil {
			return nil, contentError("the content of ClusterCatalog " + o.Name + " is not known")
		}
		out = append(out, extension.Source{Name: o.Name, Priority: c.Spec.Priority, Catalog: content})
	}
	for _, known := range catalogs.ClusterCatalogs {
		if !declared[known.Name] && selects.Matches(labels.Set{LabelCatalogName: known.Name}) {
			out = append(out, known)
		}
	}
	switch known := len(catalogs.ClusterCatalogs); {
	case len(declared)+known == 0 && catalogs.Others != nil:
		out = append(out, extension.Source{Name: "catalog", Catalog: catalogs.Others})
	case len(out)+known == 0 && catalogs.Others == nil:
		return nil, contentError("there is no catalog")
	}
	return out, nil
}
