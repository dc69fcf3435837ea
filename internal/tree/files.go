package tree

import (
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// File is a file that Read would read.
type File struct {
	Path  string // for the file system; "-" is the standard input
	Name  string // for messages, with slashes
	Named bool   // one of the paths, not found below a directory
}

// FileList is a list of files.
type FileList []File

// String returns the names, for a message.
func (l FileList) String() string {
	names := lists.Map(l, func(f File) string { return f.Name })
	if len(names) > 3 {
		names = append(names[:3], "...")
	}
	return strings.Join(names, ", ")
}

// Files lists the files below paths as Read finds them, for a caller who reads them itself. What Read skips is not in
// the list. The errors are those of paths that are not readable.
func Files(paths []string) (FileList, error) {
	found, failed := find(paths, Options{})
	if len(failed) > 0 {
		return nil, failed[0]
	}
	var files FileList
	for _, f := range found {
		if f.skip == "" {
			files = append(files, File{f.path, f.name, f.named})
		}
	}
	return files, nil
}
