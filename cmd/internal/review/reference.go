package review

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// IsTree reports whether an argument is a tree of manifests. A bundle's directory has manifests/, or is in the one that
// is named. A chart that olmgen did not write is none: its templates are no manifests.
func IsTree(ref string) bool {
	if ref == tree.Stdin {
		return true
	}
	info, err := os.Stat(ref)
	if err != nil {
		return false // a prefix, or the source says that there is nothing
	}
	if !info.IsDir() {
		switch filepath.Ext(ref) {
		case ".yaml", ".yml", ".json":
			return true
		}
		return false
	}
	dir := os.DirFS(ref)
	for _, pattern := range []string{output.LockName, "*/" + output.LockName} {
		if found, _ := fs.Glob(dir, pattern); len(found) > 0 {
			return true
		}
	}
	for _, pattern := range []string{"manifests", "metadata/annotations.yaml", "*/metadata/annotations.yaml",
		"*.package.yaml", "*clusterserviceversion.yaml", "Chart.yaml"} {
		found, err := fs.Glob(dir, pattern)
		if err == nil && len(found) > 0 {
			return false
		}
	}
	return true
}

// PathIn returns the path of a file in a source, for people: of a directory that is the path of the file.
func PathIn(ref, file string) string {
	kind, _, ok := strings.Cut(ref, ":")
	base := ref
	if ok && kind != source.KindOCI {
		base = strings.TrimPrefix(ref, kind+":")
	}
	if strings.Contains(base, "://") {
		return base + "/" + file
	}
	return path.Join(filepath.ToSlash(base), file)
}
