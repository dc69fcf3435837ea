package tree

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

type walker struct {
	Options
	excluder
	files []file
	roots []string        // directories, with symbolic links resolved
	seen  map[string]bool // files, with symbolic links resolved
	links []int           // indexes of the files that are symbolic links

	ignored []string // files and directories that patterns leave out, absolute
}

// find lists the files to read, each once. The errors are those of paths that are not readable.
func find(paths []string, o Options) (files []file, failed []error) {
	w, failed := walk(paths, o)
	return w.files, failed
}

func walk(paths []string, o Options) (w *walker, failed []error) {
	w = &walker{Options: o, seen: map[string]bool{}}
	for _, p := range paths {
		if err := w.path(p); err != nil {
			failed = append(failed, err)
		}
	}
	w.files = w.settleLinks()
	return w, failed
}

// path adds the files of a path of Read: the standard input, a file, or a directory with what is below it.
func (w *walker) path(p string) error {
	if p == Stdin {
		if !w.seen[Stdin] {
			w.seen[Stdin] = true
			w.files = append(w.files, file{path: Stdin, name: StdinFile, named: true, all: w.Strict})
		}
		return nil
	}
	info, err := os.Stat(p)
	if err != nil {
		return &manifest.Error{File: filepath.ToSlash(p), Msg: regular.Reason(err),
			Tip: "name files, directories, or - for stdin"}
	}
	real, err := realPath(p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		w.add(file{path: p, name: w.name(p, "."), named: true}, real)
		return nil
	}
	w.roots = append(w.roots, real)
	if err := w.above(w.repository(real), real, p); err != nil {
		return err
	}
	if err := w.excluder.add(real, "", w.Exclude); err != nil {
		return err
	}
	return w.dir(p, real)
}

// repository returns the directory of the repository that a directory is in, without symbolic links.
func (o Options) repository(real string) string {
	if o.Top != "" {
		return resolved(o.Top)
	}
	return repository(real)
}

func name(p string) string { return filepath.ToSlash(filepath.Clean(p)) }

// name returns the name of a file that is below a given path.
func (o Options) name(p, rel string) string {
	if o.Named != nil {
		return o.Named(filepath.ToSlash(rel))
	}
	return name(filepath.Join(p, rel))
}

// dir returns the directory of a name. Of a name in a Git revision it is in that revision, too.
func (o Options) dir(name string) string {
	if below := o.below(name); below != name && !strings.Contains(below, "/") {
		return strings.TrimSuffix(name, below) + "."
	}
	return path.Dir(name)
}

// below returns a name without the Git revision that it is in.
func (o Options) below(name string) string {
	if _, below, is := strings.Cut(name, ":"); o.Named != nil && is {
		return below
	}
	return name
}

func (w *walker) add(f file, real string) {
	if !w.seen[real] {
		w.seen[real] = true
		f.named, f.all = f.named || w.Strict, w.Strict
		w.files = append(w.files, f)
	}
}

// dir walks a directory in the order of names. real is its path with symbolic links resolved.
func (w *walker) dir(root, real string) error {
	return filepath.WalkDir(real, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(real, p)
		if err != nil {
			return err
		}
		f := file{path: p, name: w.name(root, inside), found: true}
		switch {
		case inside == ".":
			return w.enter(p, f.name)
		case w.excludes(p, entry.IsDir()), w.Strict && strings.HasPrefix(entry.Name(), "."):
			w.ignored = append(w.ignored, p)
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case entry.Name() == ".git" && entry.IsDir():
			return filepath.SkipDir
		case entry.Name() == "templates" && entry.IsDir() && has(filepath.Dir(p), "Chart.yaml"):
			f.skip = "the templates of a chart that nothing here applies"
			w.add(f, f.path)
			return filepath.SkipDir
		case !w.All && entry.IsDir() && filepath.Dir(inside) != "." && ofBundle(p):
			f.skip = "the manifests of a bundle, which nothing here applies"
			w.add(f, f.path)
			return filepath.SkipDir
		case entry.IsDir():
			return w.enter(p, f.name)
		case entry.Type()&fs.ModeSymlink != 0:
			w.links = append(w.links, len(w.files))
			f.named, f.all = w.Strict, w.Strict
			w.files = append(w.files, f)
		case entry.Type().IsRegular() && hasObjects(p):
			w.add(f, p)
		}
		return nil
	})
}

// ofBundle reports whether a directory has the manifests of a bundle, and no kustomization that applies them.
func ofBundle(p string) bool {
	return filepath.Base(p) == "manifests" && has(filepath.Join(filepath.Dir(p), "metadata"), "annotations.yaml") &&
		!slices.ContainsFunc(kustomization.Names(), func(name string) bool { return has(p, name) })
}

func hasObjects(p string) bool {
	return filepath.Base(p) == "Kustomization" ||
		slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(p)))
}

// settleLinks decides about symbolic links once all files are known. A link is read only if its target is inside the
// tree and is not read under another name. Links to directories are not followed, so they cannot form loops.
func (w *walker) settleLinks() []file {
	for _, i := range w.links {
		f := &w.files[i]
		real, err := filepath.EvalSymlinks(f.path)
		var info fs.FileInfo
		if err == nil {
			info, err = os.Stat(real)
		}
		why := ""
		if err != nil {
			why = regular.Missing(f.path)
		}
		switch {
		case why == regular.Submodule:
			f.skip = why
		case err != nil && hasObjects(f.path) && why != regular.NotThere:
			f.absent = why
		case err != nil && hasObjects(f.path):
			f.skip = "a symbolic link whose target does not exist"
		case err != nil, w.seen[real], info.IsDir() && w.inside(real), !info.IsDir() && !hasObjects(f.path):
			f.path = ""
		case info.Mode().IsRegular() && w.inside(real):
			w.seen[real] = true
		default:
			f.skip = "a symbolic link to a target outside of the tree: pass the target as a path too"
		}
	}
	return slices.DeleteFunc(w.files, func(f file) bool { return f.path == "" })
}

// realPath returns the absolute path of what exists, without symbolic links.
func realPath(p string) (string, error) {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// inside reports whether a path is below one of the directories that are read.
func (w *walker) inside(real string) bool {
	return slices.ContainsFunc(w.roots, func(root string) bool { return regular.Below(root, real) })
}

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

// Files lists the files below paths that Read would read. The errors are those of paths that are not readable.
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

// IgnoreFile is a file with patterns of files and directories to leave out, as .gitignore.
const IgnoreFile = ".olmgenignore"

// excluder decides which files and directories are left out. Its patterns are about absolute paths.
type excluder struct{ patterns []gitignore.Pattern }

func (e *excluder) excludes(abs string, dir bool) bool {
	return len(e.patterns) > 0 && gitignore.NewMatcher(e.patterns).Match(segments(abs), dir)
}

// Ignored returns the files that patterns leave out of the newer of two trees, and would not of the older one. A tree
// may be nil.
func Ignored(old, now *Tree) (names []string) {
	if old == nil || now == nil {
		return nil
	}
	files := slices.Concat(lists.Map(now.ignored, regular.Files)...)
	for _, file := range lists.Filter(files, hasObjects) {
		rel, err := filepath.Rel(now.base, file)
		if err == nil && !old.excluder.excludes(filepath.Join(old.base, rel), false) {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	return names
}

func segments(abs string) []string { return strings.Split(filepath.ToSlash(abs), "/") }

// add adds the lines of an ignore file, or patterns of the caller, for a directory.
func (e *excluder) add(dir, file string, lines []string) error {
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(strings.ReplaceAll(line, "**", "*"), ""); err != nil {
			fault := &manifest.Error{File: file, Msg: "\"" + line + "\" is not a pattern", Tip: "see gitignore(5)"}
			if file != "" {
				fault.Line = i + 1
			}
			return fault
		}
		e.patterns = append(e.patterns, gitignore.ParsePattern(line, segments(dir)))
	}
	return nil
}

func (e *excluder) enter(dir, as string) error {
	file := filepath.Join(dir, IgnoreFile)
	in, err := regular.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	in.Close()
	data, err := whole.ReadFile(file, budget.File)
	if err != nil {
		return err
	}
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return e.add(dir, name(filepath.Join(as, IgnoreFile)), lines)
}

// above reads the ignore files of the directories from the repository down to one.
func (e *excluder) above(top, dir, as string) error {
	if top == "" || dir == top || !regular.Below(top, dir) {
		return nil
	}
	up := filepath.Dir(dir)
	if err := e.above(top, up, filepath.Join(as, "..")); err != nil {
		return err
	}
	return e.enter(up, filepath.Join(as, ".."))
}
