package installer

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Read gives the objects of a YAML stream, without those that are kustomize's and not the cluster's. name is for errors.
func Read(name string, data []byte) ([]*manifest.Object, error) {
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	var out []*manifest.Object
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if o.Group() != "kustomize.config.k8s.io" {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// ReadDir gives the objects of all .yaml, .yml and .json files in a directory and those below it, in the order of their paths. What begins
// with a dot is left out.
func ReadDir(fsys fs.FS) ([]*manifest.Object, error) {
	var out []*manifest.Object
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		objects, err := Read(name, data)
		out = append(out, objects...)
		return err
	})
	return out, err
}

// Rendered gives the objects of a rendering.
func Rendered(r *generate.Result) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, x := range r.Objects {
		objects, err := Read(strings.TrimSpace(x.Kind+" "+x.Name), x.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}
