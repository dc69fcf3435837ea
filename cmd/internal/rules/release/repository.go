package release

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// mostFiles is how many files and directories of a repository are looked at. Kubernetes has 30,000 without vendor.
const mostFiles = 200_000

// chartFile makes a directory a chart. roleFile is where controller-gen writes the roles of markers
// (kubernetes-sigs/controller-tools: pkg/rbac/parser.go).
const chartFile, roleFile = "Chart.yaml", "role.yaml"

// notLooked are directories with what is of others, of tests, or of pages.
var notLooked = []string{"vendor", "node_modules", "testdata", "test", "tests", "hack", "docs", "examples"}

// operatorsDir has the directories of operators in the repository of a catalog.
const operatorsDir = "operators"

// layouts are directories of kustomizations. Of the directories below, the first one counts: the bundle is made of
// manifests, which has all of default (operator-framework/operator-sdk: internal/plugins/manifests/v2/templates/config/
// manifests/kustomization.go).
var layouts = map[string][]string{
	"config":    {"manifests", "default", "base", "."},
	"kustomize": {"default", "base", "."},
}

// repository is what the directory of an operator has, and what the repository of a catalog has of the operator.
type repository struct {
	root, top string            // the directory, and that of the repository of a catalog; else the same
	name      string            // of the directory
	bundles   []string          // directories
	lacking   map[string]string // what directories lack that look like bundles
	near      source.Beside
	granting  []string          // what grants rights beside them: files of kustomizations, directories of charts
	roles     []string          // files of roles, which grant rights too
	catalogs  []string          // directories; files in the root
	templates map[string]string // the schemas of templates of catalogs, by file
	unread    []string          // why a file was not read
	seen      int               // files and directories
}

// look finds what a repository has, without decoding it.
func look(ctx context.Context, root string) (*repository, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &repository{root: root, top: root, name: filepath.Base(abs), templates: map[string]string{},
		lacking: map[string]string{}, near: source.Beside{}}
	roots := []string{root}
	if inCatalogs(root) {
		r.top = filepath.Join(root, "..", "..")
		served, _ := filepath.Glob(filepath.Join(r.top, "catalogs", "*", r.name))
		roots = append(roots, served...)
	}
	for _, dir := range roots {
		if err := r.walk(ctx, dir); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// inCatalogs reports whether a directory is that of an operator in the repository of a catalog: it has a ci.yaml, or
// bundles whose directories are named by their versions.
func inCatalogs(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil || filepath.Base(filepath.Dir(abs)) != operatorsDir {
		return false
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		_, err := semver.ParseTolerant(e.Name())
		return e.Name() == pipeline.File || err == nil && source.IsAnnotated(filepath.Join(dir, e.Name()))
	})
}

// operators returns what there is of each operator of the repository of a catalog, each as if its directory were given,
// and what there is beside these.
func (r *repository) operators(ctx context.Context) (list []*repository, err error) {
	rest := *r
	rest.templates = maps.Clone(r.templates)
	for _, bundle := range r.bundles {
		dir := filepath.Dir(bundle)
		if dir == r.root || !slices.Contains(rest.bundles, bundle) ||
			!inCatalogs(dir) && first(dir, pipeline.File) == "" {
			continue
		}
		of, err := look(ctx, dir)
		if err != nil {
			return nil, err
		}
		list = append(list, of)
		rest.bundles = lists.Filter(rest.bundles, func(b string) bool { return !slices.Contains(of.bundles, b) })
		rest.catalogs = lists.Filter(rest.catalogs, func(c string) bool { return !slices.Contains(of.catalogs, c) })
		maps.DeleteFunc(rest.templates, func(file, _ string) bool { return of.templates[file] != "" })
	}
	if list == nil || len(rest.bundles)+len(rest.catalogs)+len(rest.templates) > 0 {
		list = append(list, &rest)
	}
	return list, nil
}

// has returns those of some bundles that are in the repository.
func (r *repository) has(all []*opened) []*opened {
	return lists.Filter(all, func(x *opened) bool { return slices.Contains(r.bundles, filepath.FromSlash(x.dir)) })
}

// beside reads the bundles of a repository that another one lacks.
func (r *repository) beside(ctx context.Context, other *repository) (list []*opened) {
	for _, dir := range r.bundles {
		if slices.Contains(other.bundles, dir) {
			continue
		}
		x, err := readBundle(ctx, dir)
		if err != nil {
			r.unread = append(r.unread, fmt.Sprintf("%s is not looked at: %v", filepath.ToSlash(dir), err))
			continue
		}
		list = append(list, x)
	}
	return list
}

// walk notes what is below a directory. What a chart or a bundle has belongs to it.
func (r *repository) walk(ctx context.Context, root string) error {
	return filepath.WalkDir(root+string(filepath.Separator), func(at string, e fs.DirEntry, err error) error {
		name, top := e.Name(), filepath.Clean(at) == root
		switch r.seen++; {
		case err != nil:
			return &manifest.Error{File: filepath.ToSlash(filepath.Clean(at)), Msg: regular.Reason(err)}
		case r.seen > mostFiles:
			return &manifest.Error{File: filepath.ToSlash(root), Tip: "name the directory of one operator",
				Msg: fmt.Sprintf("it has more than %d files and directories", mostFiles)}
		case ctx.Err() != nil:
			return ctx.Err()
		case e.Type().IsRegular():
			r.file(at)
		case !e.IsDir():
		case !top && (name[0] == '.' || slices.Contains(notLooked, name)),
			(name == "templates" || name == "charts") && first(filepath.Dir(at), chartFile) != "":
			return filepath.SkipDir
		case r.lacks(at):
			return filepath.SkipDir
		case source.IsAnnotated(at):
			r.bundles = append(r.bundles, filepath.Clean(at))
			return filepath.SkipDir
		default:
			if file := kustomized(at, layouts[name]); file != "" {
				r.granting = append(r.granting, file)
			}
		}
		return nil
	})
}

// lacks notes what a directory lacks that looks like a bundle.
func (r *repository) lacks(at string) bool {
	what := r.near.Lacking(at)
	if what != "" {
		r.lacking[filepath.Clean(at)] = what
	}
	return what != ""
}

// kustomized returns the kustomization in the first directory that has one.
func kustomized(at string, below []string) string {
	for _, dir := range below {
		if file := first(filepath.Join(at, dir), kustomization.Names()...); file != "" {
			return file
		}
	}
	return ""
}

// instead returns the kustomization that counts if another one cannot be built, or "". The samples that Operator SDK
// puts into manifests may be empty, and releases of kustomize differ in whether they take that.
func instead(file string) string {
	dir := filepath.Dir(file)
	at := filepath.Dir(dir)
	below := layouts[filepath.Base(at)]
	i := slices.Index(below, filepath.Base(dir))
	if i < 0 {
		return ""
	}
	return kustomized(at, below[i+1:])
}

var (
	holdsTemplate = lazy.Regexp(`chema"? *: *["']?(olm\.(?:template\.basic|semver|composite))\b`)
	holdsCatalog  = lazy.Regexp(`chema"? *: *["']?olm\.(?:package|channel|bundle)\b`)
)

// file notes what a file makes its directory, or is itself.
func (r *repository) file(at string) {
	dir, name := filepath.Split(at)
	switch ext := filepath.Ext(name); {
	case name == roleFile:
		r.roles = append(r.roles, at)
		return
	case name == chartFile:
		r.granting = append(r.granting, filepath.Clean(dir))
		return
	case ext != ".yaml" && ext != ".yml" && ext != ".json":
		return
	}
	data, err := whole.ReadFile(at, budget.Catalog)
	if err != nil {
		r.unread = append(r.unread, fmt.Sprintf("not read: %v", err))
	} else if m := holdsTemplate().FindSubmatch(data); m != nil {
		r.templates[at] = string(m[1])
	} else if holdsCatalog().Match(data) && !slices.ContainsFunc(r.catalogs, func(known string) bool {
		return strings.HasPrefix(at, known+string(filepath.Separator))
	}) {
		if dir = filepath.Clean(dir); dir == r.root { // others than catalogs are there, too
			dir = at
		}
		r.catalogs = append(r.catalogs, dir)
	}
}

// first returns the first file of some names in a directory, or "".
func first(dir string, names ...string) string {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
