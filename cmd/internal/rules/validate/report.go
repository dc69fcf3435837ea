package validate

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/source"
)

// Located adds the source to findings: its name, and in Path the path of each file for the user. For a directory that
// is the path of the file, otherwise the source, without a prefix for its kind, and the path in it.
func Located(src *source.Source, list []Finding) []Finding {
	base := src.Ref
	if src.Kind != source.KindOCI {
		base = path.Clean(filepath.ToSlash(strings.TrimPrefix(src.Ref, src.Kind+":")))
	}
	return lists.Map(list, func(f Finding) Finding {
		f.Source = src.Ref
		switch {
		case f.File == "" || f.File == ".":
			f.Path = base
		case strings.Contains(base, "://"):
			f.Path = base + "/" + f.File
		default:
			f.Path = path.Join(base, f.File)
		}
		return f
	})
}
