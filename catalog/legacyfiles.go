package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// legacyReader reads the files of a package manifest directory and sorts them into versions.
type legacyReader struct {
	ctx     context.Context
	dir     string // as given by the user, for errors
	options Options
	bytes   int64
	files   int
	byDir   map[string][]*legacyFile // in name order
}

type legacyFile struct {
	name      string // without directory
	data      []byte
	docs      [][]byte // as JSON
	kinds     []string // of the documents; "" if a document is not a Kubernetes object
	isPackage bool
}

func (f *legacyFile) has(kind string) bool { return slices.Contains(f.kinds, kind) }

func (f *legacyFile) isObject() bool {
	return slices.ContainsFunc(f.kinds, func(k string) bool { return k != "" })
}

const (
	kindCSV = "ClusterServiceVersion"
	kindCRD = "CustomResourceDefinition"
)

func (r *legacyReader) readFiles(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil {
			err = r.ctx.Err()
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", r.dir, err)
		case p != "." && strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case e.IsDir(), strings.HasPrefix(e.Name(), "."):
			return nil
		case !source.IsManifestName(p):
			return r.readOther(fsys, p)
		}
		f, err := r.readFile(fsys, p)
		if err != nil {
			return err
		}
		err = r.parse(f, path.Join(r.dir, p))
		switch {
		case err == nil:
			r.byDir[path.Dir(p)] = append(r.byDir[path.Dir(p)], f)
		case path.Dir(p) == "." && !source.IsPackageManifestName(f.name):
			r.options.Source.Warn("%v (the file is ignored)", err)
			return nil
		}
		return err
	})
}

// readOther reads a file with another extension. As OLM does, it takes the objects of such a file. One without objects
// is left out, with a warning, unless it is beside the package manifest, where a README belongs.
func (r *legacyReader) readOther(fsys fs.FS, p string) error {
	leaveOut := func(why string) {
		if path.Dir(p) != "." {
			r.options.Source.Warn("%s: left out: %s", path.Join(r.dir, p), why)
		}
	}
	switch info, err := fs.Stat(fsys, p); {
	case err != nil || !info.Mode().IsRegular():
		leaveOut("not a regular file")
		return nil //nolint:nilerr // the warning says so
	case info.Size() > r.options.Source.Limits.MaxFileBytes:
		leaveOut("too large for a Kubernetes object")
		return nil
	}
	f, err := r.readFile(fsys, p)
	if err != nil {
		return err
	}
	switch err := r.parse(f, path.Join(r.dir, p)); {
	case err != nil:
		leaveOut("not YAML")
	case !f.isObject():
		leaveOut("not a Kubernetes object")
	default:
		r.byDir[path.Dir(p)] = append(r.byDir[path.Dir(p)], f)
	}
	return nil
}

func (r *legacyReader) readFile(fsys fs.FS, p string) (*legacyFile, error) {
	data, err := fs.ReadFile(fsys, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.dir, err)
	}
	r.bytes += int64(len(data))
	r.files++
	if r.bytes > r.options.Source.Limits.MaxTotalBytes || r.files > r.options.Source.Limits.MaxFiles {
		return nil, manifest.OverLimit(fmt.Errorf("%s: the package is larger than %s or has more than %d files",
			r.dir, text.Size(r.options.Source.Limits.MaxTotalBytes), r.options.Source.Limits.MaxFiles))
	}
	return &legacyFile{name: path.Base(p), data: data}, nil
}

// parse reads the documents of a file.
func (r *legacyReader) parse(f *legacyFile, full string) error {
	for d, err := range documents(full, bytes.NewReader(f.data), limitsOf(r.options.Source.Limits)) {
		if err != nil {
			return err
		}
		var head struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(d.json, &head) != nil {
			head.Kind = ""
		}
		f.docs, f.kinds = append(f.docs, bytes.Clone(d.json)), append(f.kinds, head.Kind)
	}
	return nil
}

// versions returns a version for every directory that has a CSV. A directory without a CSV belongs to the version above
// it. If several CSVs are beside the package manifest, each gets the CRDs that it owns and all objects that are neither
// CSV nor CRD.
func (r *legacyReader) versions() ([]*legacyVersion, error) {
	var list []*legacyVersion
	for _, dir := range lists.Keys(r.byDir) {
		var csvs, files []*legacyFile
		for _, f := range r.byDir[dir] {
			switch {
			case f.isPackage:
			case f.has(kindCSV):
				csvs = append(csvs, f)
			case f.isObject():
				files = append(files, f)
			}
		}
		if dir == "." && len(csvs) > 1 {
			flat, err := r.flatVersions(csvs, files)
			if err != nil {
				return nil, err
			}
			list = append(list, flat...)
			continue
		}
		files = append(csvs, files...)
		switch owner := r.owner(list, dir); {
		case len(csvs) > 0:
			v, err := r.version(dir, files)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		case len(files) == 0 || dir == ".":
		case owner == nil:
			return nil, fmt.Errorf("%s: directory %s has no ClusterServiceVersion", r.dir, dir)
		default:
			prefix := strings.ReplaceAll(strings.TrimPrefix(dir, owner.dir+"/"), "/", "-") + "-"
			if err := r.add(owner, prefix, files); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// owner returns the version whose directory contains dir, or nil. Directories are visited from the top, so list has it.
func (r *legacyReader) owner(list []*legacyVersion, dir string) *legacyVersion {
	for _, v := range slices.Backward(list) {
		if v.dir != "." && strings.HasPrefix(dir, v.dir+"/") {
			return v
		}
	}
	return nil
}

func (r *legacyReader) version(dir string, files []*legacyFile) (*legacyVersion, error) {
	v := &legacyVersion{dir: dir, files: map[string][]byte{}}
	return v, r.add(v, "", files)
}

func (r *legacyReader) add(v *legacyVersion, prefix string, files []*legacyFile) error {
	at := path.Join(r.dir, v.dir)
	for _, f := range files {
		if v.files[prefix+f.name] != nil {
			return fmt.Errorf("%s: two files of the bundle would have the name %s", at, prefix+f.name)
		}
		v.files[prefix+f.name] = f.data
		for i, d := range f.docs {
			switch f.kinds[i] {
			case kindCSV:
				if v.csv.Metadata.Name != "" {
					return fmt.Errorf("%s: the directory has more than one ClusterServiceVersion", at)
				}
				if err := manifest.DecodeJSON(d, &v.csv); err != nil {
					return fmt.Errorf("%s: %w", path.Join(at, f.name), err)
				}
				if v.csv.Metadata.Name == "" {
					return fmt.Errorf("%s: the ClusterServiceVersion has no name", path.Join(at, f.name))
				}
			case kindCRD:
				var c crd
				if err := manifest.DecodeJSON(d, &c); err != nil {
					return fmt.Errorf("%s: %w", path.Join(at, f.name), err)
				}
				v.crds = append(v.crds, c)
			}
		}
	}
	return nil
}

// flatVersions returns the versions of a directory that holds several CSVs.
func (r *legacyReader) flatVersions(csvs, files []*legacyFile) ([]*legacyVersion, error) {
	var list []*legacyVersion
	for _, f := range csvs {
		v, err := r.version(".", []*legacyFile{f})
		if err != nil {
			return nil, err
		}
		mine := lists.Filter(files, func(f *legacyFile) bool { return !f.has(kindCRD) || f.isOwned(v) })
		if err := r.add(v, "", mine); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	for _, f := range files {
		if !f.has(kindCRD) {
			r.options.Source.Warn("%s: used for every version in the directory", path.Join(r.dir, f.name))
		}
	}
	return list, nil
}

// isOwned reports whether a file has a version of a CRD that the CSV owns. A directory may have one file for each
// version of a CRD.
func (f *legacyFile) isOwned(v *legacyVersion) bool {
	for i, d := range f.docs {
		var c crd
		if f.kinds[i] != kindCRD || json.Unmarshal(d, &c) != nil {
			continue
		}
		for _, owned := range v.csv.Spec.CRDs.Owned {
			if c.has(owned.Name, owned.Version) {
				return true
			}
		}
	}
	return false
}
