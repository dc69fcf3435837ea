package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

const (
	ruleChannels     = "channels"
	ruleDependencies = "dependencies"
	ruleCSVSchema    = "csv-schema"
	ruleSkipRange    = "skip-range"
	ruleReplacesSelf = "replaces-itself"
	ruleNameVersion  = "name-version"
	ruleNamespace    = "suggested-namespace"
)

// schemaFindings checks the CSV against the schema of OLM's CRD. known has the findings of others, which may be about
// the same field.
func schemaFindings(b *bundle.Bundle, known []Finding) (list []Finding) {
	if b.CSVObject.APIVersion != olm.Group+"/v1alpha1" {
		return nil // there is a warning
	}
	for _, e := range olm.RejectedCSV(b.CSVObject, b.CSV) {
		same := func(f Finding) bool { return f.File == e.File && f.Line == e.Line && f.Field == e.Field }
		if !slices.ContainsFunc(known, same) {
			list = append(list, finding(ruleCSVSchema, findings.Error, e))
		}
	}
	return list
}

// dependencyDocument returns the first document of a file with dependencies, or nil.
func dependencyDocument(fsys fs.FS, file string) *manifest.Document {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil
	}
	docs, _ := manifest.ReadFile(file, data, manifest.Limits{}) // it was read before
	return lists.Find(docs, func(d *manifest.Document) bool {
		v, _ := d.Value()
		m, _ := v.(map[string]any)
		return m["dependencies"] != nil
	})
}

// channelFindings checks the channels of the annotations (operator-registry: pkg/lib/bundle/validate.go,
// validateAnnotations). They are warnings, because file-based catalogs do not read these annotations.
func channelFindings(b *bundle.Bundle) (list []Finding) {
	add := func(key, format string, args ...any) {
		list = append(list, finding(ruleChannels, findings.Warning, b.AnnotationError(key, format, args...)))
	}
	text, ok := b.Annotations[olm.BundleChannels]
	switch {
	case !ok:
		add(olm.BundleChannels, "missing: the bundle is in no channel")
	case strings.TrimSpace(text) == "":
		add(olm.BundleChannels, "empty: the bundle is in no channel")
	default:
		if lists.Any(strings.SplitSeq(text, ","), func(name string) bool { return strings.TrimSpace(name) == "" }) {
			add(olm.BundleChannels, "%q has an empty channel name", text)
		}
	}
	if d := b.DefaultChannel; d != "" && len(b.Channels) > 0 && !slices.Contains(b.Channels, d) {
		add(olm.BundleDefaultChannel, "the default channel %q is not among the channels %s", d,
			strings.Join(b.Channels, ", "))
	}
	return list
}

// dependencyFindings checks the entries of dependencies.yaml (operator-registry: pkg/registry/types.go, the Validate
// methods; OLM knows the types of docs/concepts/olm-architecture/dependency-resolution).
func dependencyFindings(fsys fs.FS, b *bundle.Bundle) (list []Finding) {
	for i, d := range b.Dependencies {
		field, tip, msg := checkDependency(d)
		if msg == "" {
			continue
		}
		at := fmt.Sprintf("dependencies[%d].%s", i, field)
		e := &manifest.Error{Field: at, Msg: msg}
		if doc := dependencyDocument(fsys, d.File); doc != nil {
			e = doc.Errorf(at, "%s", msg)
		}
		list = append(list, finding(ruleDependencies, findings.Error, e.With(tip)))
	}
	return list
}

var dependencyFields = map[string][]string{
	olm.PropertyGVK:        {"group", "kind", "version"},
	olm.PropertyPackage:    {"packageName", "version"},
	olm.PropertyLabel:      {"label"},
	olm.PropertyConstraint: {"failureMessage"},
}

func checkDependency(d bundle.Property) (field, tip, msg string) {
	required, ok := dependencyFields[d.Type]
	if !ok {
		unknown := text.Unknown("type", d.Type, lists.Keys(dependencyFields))
		return "type", unknown.Hint(), unknown.Error()
	}
	var value map[string]any
	if err := json.Unmarshal(d.Value, &value); err != nil {
		return "value", "", "has the wrong type, want a mapping"
	}
	for _, name := range required {
		if s, _ := value[name].(string); s == "" {
			return "value", "", name + " is missing or not text"
		}
	}
	if d.Type == olm.PropertyPackage {
		text, _ := value["version"].(string)
		if _, err := semver.ParseRange(text); err != nil {
			return "value.version", "write a version or a range such as >=1.2.0 <2.0.0",
				fmt.Sprintf("%q is not a range of versions: %v", text, err)
		}
	}
	return "", "", ""
}

// Package returns the findings of all versions of a legacy package, and the number of versions. File is a path in dir,
// Source and Path are those of Located.
func Package(ctx context.Context, dir string, so catalog.Options, o Options) ([]Finding, int, error) {
	so.Source.Warn = func(string, ...any) {} // the findings say the same
	versions, err := catalog.Convert(ctx, dir, so)
	if err != nil {
		return nil, 0, err
	}
	var list []Finding
	for _, v := range versions {
		src, err := source.OpenBytes(dir, source.KindPackageManifest, v.Files, source.Limits{})
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", v.Dir, err)
		}
		found, err := Bundle(ctx, src, o)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", v.Dir, err)
		}
		for j := range found {
			found[j].File = originalFile(dir, v, found[j].File)
		}
		list = append(list, found...)
	}
	src := &source.Source{Ref: dir, Kind: source.KindPackageManifest}
	return Located(src, tidy(list)), len(versions), nil
}

// originalFile returns the path of a converted file in the package's directory, as far as its version tells.
func originalFile(dir string, v catalog.ConvertedBundle, file string) string {
	version := path.Base(v.Dir)
	name, ok := strings.CutPrefix(file, "manifests/")
	if !ok {
		return version
	}
	root := strings.TrimPrefix(dir, source.KindPackageManifest+":")
	for _, candidate := range []string{path.Join(version, name), name} {
		if _, err := os.Stat(path.Join(root, candidate)); !errors.Is(err, fs.ErrNotExist) {
			return candidate
		}
	}
	return path.Join(version, name)
}
