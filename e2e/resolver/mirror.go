package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	filter "github.com/sherine-k/catalog-filter/pkg/filter/mirror-config/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/resolvercase"
)

// imageSet is an ImageSetConfiguration with the fields that may stand in it here. Another one is an error: oc-mirror
// would filter by it (oc-mirror: internal/pkg/api/v2alpha1/type_config.go).
type imageSet struct {
	metav1.TypeMeta
	Mirror struct {
		Operators []struct {
			Catalog string `json:"catalog"`
			Full    bool   `json:"full"`
		} `json:"operators"`
		AdditionalImages []struct {
			Name string `json:"name"`
		} `json:"additionalImages"`
	} `json:"mirror"`
}

// mirrored returns how the pinned catalogs of a directory differ after oc-mirror's filter has read the
// ImageSetConfiguration that is written for them, and which images oc-mirror would not copy.
func mirrored(ctx context.Context, dir string, made *resolvercase.Pinned) (diffs []string, err error) {
	catalogs := made.Catalogs
	var set imageSet
	if err := yaml.UnmarshalStrict(made.ImageSet, &set); err != nil {
		return nil, err
	}
	copied := map[string]bool{}
	for _, i := range set.Mirror.AdditionalImages {
		copied[i.Name] = true
	}
	if len(set.Mirror.Operators) != len(catalogs) {
		diffs = append(diffs, fmt.Sprintf("oc-mirror: %d of %d catalogs", len(set.Mirror.Operators), len(catalogs)))
	}
	for _, op := range set.Mirror.Operators {
		i := slices.IndexFunc(catalogs, func(c resolvercase.PinnedCatalog) bool { return c.Image == op.Catalog })
		if i < 0 {
			diffs = append(diffs, "oc-mirror: no catalog has the image "+op.Catalog)
			continue
		}
		d, err := filtered(ctx, resolvercase.CatalogDir(dir, catalogs[i].Name), op.Full, copied)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, d...)
		for _, p := range catalogs[i].Packages {
			for _, image := range p.Images {
				if !copied[image] && image != "" {
					diffs = append(diffs, "oc-mirror: image "+image+" is not copied")
				}
			}
		}
	}
	return diffs, nil
}

// filtered filters a catalog as oc-mirror does for an entry without packages, and notes the images that oc-mirror takes
// from it (oc-mirror: internal/pkg/operator/catalog_handler.go, filterCatalog and handleRelatedImages). oc-mirror
// itself does not filter an entry with full (filtered_collector.go, isFullCatalog).
func filtered(ctx context.Context, dir string, full bool, copied map[string]bool) (diffs []string, err error) {
	var texts [2]bytes.Buffer
	for i := range texts {
		content, err := declcfg.LoadFS(ctx, os.DirFS(dir)) // the filter changes what it is given
		if err != nil {
			return nil, err
		}
		if i == 1 {
			config := filter.FilterConfiguration{TypeMeta: metav1.TypeMeta{Kind: filter.FilterKind,
				APIVersion: filter.FilterAPIVersion}}
			if err := config.Validate(); err != nil {
				return nil, err
			}
			content, err = filter.NewMirrorFilter(config, filter.InFull(full)).FilterCatalog(ctx, content)
			if err != nil {
				return nil, fmt.Errorf("oc-mirror's filter: %w", err)
			}
			if _, err := declcfg.ConvertToModel(*content); err != nil {
				diffs = append(diffs, "opm refuses what oc-mirror's filter leaves: "+err.Error())
			}
			for _, b := range content.Bundles {
				for _, related := range b.RelatedImages {
					copied[related.Image] = true
				}
			}
		}
		if err := declcfg.WriteJSON(*content, &texts[i]); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		diffs = append(diffs, "oc-mirror's filter changes the catalog")
	}
	return diffs, nil
}
