package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
)

// otherThanConfig returns what a file is that was taken for a RenderConfig, and which command reads such ones; nil if
// it is not known.
func otherThanConfig(file string, data []byte) error {
	docs, err := manifest.ReadFile(filepath.ToSlash(file), data, manifest.Limits{})
	if docs = manifest.Written(docs); err != nil || len(docs) == 0 {
		return nil //nolint:nilerr // who reads the RenderConfig says it
	}
	first, err := docs[0].Object()
	if err != nil || first.Kind == config.Kind ||
		strings.HasPrefix(config.APIVersion, first.Group()+"/") {
		return nil //nolint:nilerr // see above
	}
	what, at, dir := strconv.Quote(first.Kind), "kind", filepath.Dir(file)
	tip := fmt.Sprintf("olmgen check %s says what OLM does with it", text.Shell(file))
	inDir := fmt.Sprintf("olmgen check %s says what OLM does with what it makes", text.Shell(dir))
	switch base := filepath.Base(file); {
	case first.Has("schema"):
		what, at = "a catalog", "schema"
		tip = fmt.Sprintf("olmgen render catalog:%s --package NAME renders an operator of it", text.Shell(dir))
	case slices.Contains(kustomization.Names(), base) && (first.Kind == "" || first.Group() == kustomization.Group):
		what, at, tip = "a Kustomization", "", inDir
	case base == "Chart.yaml" && first.Kind == "":
		what, at, tip = "a Helm chart", "", inDir
	case first.Kind == "" || first.APIVersion == "":
		return nil
	case first.Kind == v1alpha1.ClusterServiceVersionKind && filepath.Base(dir) == "manifests":
		tip = fmt.Sprintf("olmgen render %s renders the bundle that it is in", text.Shell(filepath.Dir(dir)))
	case strings.HasSuffix(first.Kind, "List") && first.Has("items"):
		tip += fmt.Sprintf("; olmgen adopt %s makes a RenderConfig of a dump", text.Shell(file))
	}
	return first.Errorf(at, "is %s, not %s", what, config.Kind).With(tip)
}
