package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

const mediaType = "registry+v1"

// layout finds the manifests and metadata directories: below the root or its bundle/ directory, as the annotations say.
func (r *reader) layout() error {
	for _, base := range []string{".", "bundle"} {
		found, err := r.layoutAt(base)
		if found || err != nil {
			return err
		}
	}
	for _, base := range []string{".", "bundle"} {
		if r.hasManifest(base) {
			r.manifests = base
			r.warn(WarnLayout, &manifest.Error{File: base, Msg: "no manifests/ directory and no annotations: the " +
				"files of this directory are taken for the bundle's manifests"})
			return nil
		}
	}
	return &manifest.Error{File: "manifests", Msg: "no such directory: this is not a bundle",
		Tip: "give the directory that holds manifests/ and metadata/"}
}

func (r *reader) layoutAt(base string) (bool, error) {
	metadata := path.Join(base, "metadata")
	if err := r.readMetadata(metadata); err != nil {
		return false, err
	}
	annotations := r.bundle.Annotations
	if len(annotations) == 0 {
		annotations = r.options.Labels
	}
	if annotations == nil {
		if dir := path.Join(base, "manifests"); r.isDir(dir) {
			r.manifests = dir
			r.warn(WarnLayout, &manifest.Error{File: path.Join(metadata, "annotations.yaml"),
				Msg: "no annotations: package and channels are unknown, manifests/ is taken for the manifests"})
			return true, nil
		}
		return false, nil
	}
	r.bundle.Annotations = annotations
	dir := path.Clean(cmp.Or(annotations[olm.BundleManifests], "manifests/"))
	if !fs.ValidPath(dir) {
		return false, r.bundle.AnnotationError(olm.BundleManifests, "%q is not a directory inside the bundle",
			annotations[olm.BundleManifests])
	}
	if r.manifests = path.Join(base, dir); !r.isDir(r.manifests) {
		return false, &manifest.Error{File: r.manifests,
			Msg: "no such directory, but the bundle's annotations say that its manifests are there"}
	}
	return true, r.identity()
}

// AnnotationError returns an error at an annotation, or at the image label that stands for it.
func (b *Bundle) AnnotationError(key, format string, args ...any) *manifest.Error {
	if b.annotations == nil {
		return &manifest.Error{Field: `labels["` + key + `"]`, Msg: fmt.Sprintf(format, args...)}
	}
	return b.annotations.Errorf(`annotations["`+key+`"]`, format, args...)
}

// Unannotated returns why opm refuses a bundle without annotations, or nil: a directory of manifests alone is not
// made for it (operator-registry: pkg/registry/parse.go, addMetadata).
func (b *Bundle) Unannotated() *manifest.Error {
	if b.Annotations != nil || path.Base(path.Dir(b.CSVObject.File)) != "manifests" {
		return nil
	}
	return &manifest.Error{File: path.Join(path.Dir(b.CSVObject.File), "../metadata/annotations.yaml"),
		Msg: "no package and no channels: opm refuses such a bundle (Could not find annotations file)",
		Tip: "write the file, as operator-sdk generate bundle does"}
}

func (r *reader) identity() error {
	a, b := r.bundle.Annotations, r.bundle
	if m := a[olm.BundleMediaType]; m != "" && m != mediaType {
		return b.AnnotationError(olm.BundleMediaType, "%q bundles can't be rendered, only %s", m, mediaType)
	}
	b.Package, b.DefaultChannel = a[olm.BundlePackage], a[olm.BundleDefaultChannel]
	for c := range strings.SplitSeq(a[olm.BundleChannels], ",") {
		if c = strings.TrimSpace(c); c != "" {
			b.Channels = append(b.Channels, c)
		}
	}
	return nil
}

func (r *reader) isDir(dir string) bool {
	info, err := fs.Stat(r.fsys, dir)
	return err == nil && info.IsDir()
}

// hasManifest reports whether a directory directly holds a YAML file that names a ClusterServiceVersion.
func (r *reader) hasManifest(dir string) bool {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) {
			continue
		}
		if data, err := r.readFile(path.Join(dir, e.Name())); err == nil &&
			strings.Contains(string(data), "ClusterServiceVersion") {
			return true
		}
	}
	return false
}

func isYAML(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(path.Base(name), ".")
	}
	return false
}

// readMetadata takes annotations, dependencies and properties from the first file (by name) of the directory that has
// them, and keeps Kubernetes objects, which OLM installs from there too (spec 10.1). Where a file has the annotations,
// another one that is not YAML is left out with a warning (operator-registry: pkg/registry/parse.go, addMetadata).
func (r *reader) readMetadata(dir string) error {
	entries, err := fs.ReadDir(r.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return pathError(dir, err)
	}
	var unread []*manifest.Error
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) {
			continue
		}
		name := path.Join(dir, e.Name())
		data, err := r.readFile(name)
		if err != nil {
			return err
		}
		docs, err := manifest.ReadFile(name, data, r.options.Limits)
		if e, ok := errors.AsType[*manifest.Error](err); ok && e.Syntax {
			unread = append(unread, e)
			continue
		}
		if err != nil {
			return err
		}
		r.bundle.files[name] = data
		for _, d := range docs {
			if err := r.metadataDocument(d); err != nil {
				return err
			}
		}
	}
	if len(unread) > 0 && r.bundle.annotations == nil && len(r.options.Labels) == 0 {
		return unread[0] // it can be the file of the annotations
	}
	for _, e := range unread {
		e.Msg = "left out: " + e.Msg
		r.warn(WarnUnreadMetadata, e)
	}
	return nil
}

func pathError(name string, err error) error {
	e := &manifest.Error{File: name, Err: err}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	e.Msg = err.Error()
	return e
}
