package predict

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
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
}

// clusterExtension has the fields of a ClusterExtension that decide what is installed (operator-controller:
// api/v1/clusterextension_types.go).
type clusterExtension struct {
	Spec struct {
		Namespace string `json:"namespace"`
		Source    struct {
			SourceType string `json:"sourceType"`
			Catalog    *struct {
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
	} `json:"spec"`
}

// labelCatalogName is the label that OLM v1 gives every ClusterCatalog (operator-controller: api/v1,
// MetadataNameLabel).
const labelCatalogName = "olm.operatorframework.io/metadata.name"

// Extensions returns what OLM v1 installs for the ClusterExtensions among objects, in their order, and those of which
// nobody can say it. One that has installed a bundle, by its status, goes on from there. The content of ClusterCatalogs
// is that of catalogs.ClusterCatalogs, else catalogs.Others.
func Extensions(objects []*manifest.Object, catalogs Catalogs) (list []Extension, unknown []Unknown) {
	for _, o := range objects {
		if o.Kind != olm.KindClusterExtension || o.Group() != olm.GroupV1 {
			continue
		}
		e, err := extensionOf(o, objects, catalogs)
		if err != nil {
			unknown = append(unknown, Unknown{o, err.Error()})
			continue
		}
		list = append(list, *e)
	}
	return list, unknown
}

func extensionOf(o *manifest.Object, objects []*manifest.Object, catalogs Catalogs) (*Extension, error) {
	var x clusterExtension
	if _, err := o.Into(&x); err != nil {
		return nil, err
	}
	from := x.Spec.Source.Catalog
	if from == nil {
		return nil, errors.New("it names no catalog")
	}
	sources, err := servedTo(from.Selector, objects, catalogs)
	if err != nil {
		return nil, err
	}
	q := extension.Request{Package: from.PackageName, Versions: from.Version, Channels: from.Channels,
		SelfCertified: from.UpgradeConstraintPolicy == "SelfCertified"}
	var installed *extension.Installed
	if x.Status.Install != nil {
		installed = &x.Status.Install.Bundle
	}
	var chosen *extension.Resolution
	for seen := map[string]bool{}; ; {
		next, err := extension.Resolve(sources, q, installed)
		if err != nil && chosen == nil {
			return nil, fmt.Errorf("OLM v1 installs nothing: %w", err)
		}
		if err != nil || seen[next.Bundle.Name] {
			break
		}
		chosen, installed = next, &extension.Installed{Name: next.Bundle.Name, Version: next.Version.Text()}
		seen[next.Bundle.Name] = true
	}
	e := &Extension{Object: o, Name: chosen.Bundle.Name, Catalog: chosen.Source, Namespace: x.Spec.Namespace}
	for _, s := range sources {
		if p := s.Catalog.Packages[from.PackageName]; s.Name == chosen.Source && p != nil {
			e.Choice = catalog.Choice{Package: p, Bundle: chosen.Bundle}
			i := slices.IndexFunc(p.Channels,
				func(c *catalog.Channel) bool { return c.Entry(chosen.Bundle.Name) != nil })
			if i >= 0 {
				e.Choice.Channel = p.Channels[i]
			}
		}
	}
	if x.Spec.Config != nil {
		e.WatchNamespace, e.Deployments = x.Spec.Config.Inline.WatchNamespace, x.Spec.Config.Inline.DeploymentConfig
	}
	return e, nil
}

// servedTo returns the catalogs that a selector selects: those of the tree, and those that are only known by name.
func servedTo(selector *metav1.LabelSelector, objects []*manifest.Object,
	catalogs Catalogs) ([]extension.Source, error) {
	selects := labels.Everything()
	if selector != nil {
		var err error
		if selects, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return nil, err
		}
	}
	var out []extension.Source
	declared := map[string]bool{}
	for _, o := range objects {
		if o.Kind != olm.KindClusterCatalog || o.Group() != olm.GroupV1 {
			continue
		}
		var c clusterCatalog
		if _, err := o.Into(&c); err != nil {
			return nil, err
		}
		declared[o.Name] = true
		set := labels.Merge(c.Metadata.Labels, labels.Set{labelCatalogName: o.Name})
		if c.Spec.AvailabilityMode == "Unavailable" || !selects.Matches(set) {
			continue
		}
		content := catalogs.Others
		for _, known := range catalogs.ClusterCatalogs {
			if known.Name == o.Name {
				content = known.Catalog
			}
		}
		if content == nil {
			return nil, fmt.Errorf("the content of ClusterCatalog %s is not known", o.Name)
		}
		out = append(out, extension.Source{Name: o.Name, Priority: c.Spec.Priority, Catalog: content})
	}
	for _, known := range catalogs.ClusterCatalogs {
		if !declared[known.Name] && selects.Matches(labels.Set{labelCatalogName: known.Name}) {
			out = append(out, known)
		}
	}
	if len(declared)+len(catalogs.ClusterCatalogs) == 0 && catalogs.Others != nil {
		out = append(out, extension.Source{Name: "catalog", Catalog: catalogs.Others})
	}
	if len(out) == 0 && catalogs.Others == nil && len(catalogs.ClusterCatalogs) == 0 {
		return nil, errors.New("there is no catalog")
	}
	return out, nil
}
