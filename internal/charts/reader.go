package charts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// Reader renders the charts of a tree. It reads each chart once.
type Reader struct {
	Top         string // no file outside of this directory, or of a checkout of Repos, is read
	Repos       *repos.Repos
	Named       func(abs string) string // the name of a file in messages
	Renderer    Renderer                // nil: none
	KubeVersion string                  // of the cluster
	APIVersions []string                // that the cluster has beside those of Kubernetes

	Used   map[string]bool   // directories of charts that were rendered, with those that they depend on
	Random []*manifest.Error // the templates whose values are not known

	read     map[string]*files
	rendered map[string]*answer
	failures int
	filled   int // Go templates
	warned   map[string]bool
}

type files struct {
	list []File
	abs  map[string]string // by name
	dirs map[string]bool   // of the chart, and of what it depends on
	size int64
	err  error
}

type answer struct {
	objects []*manifest.Object
	err     error
}

const (
	maxDepth    = 20 // of directories, and of charts that depend on others
	maxFilled   = 10_000
	maxFailures = 3 // of the renderer: each may have taken a minute
)

// Render returns the objects of a chart, which is in a directory: an absolute path. build: what it depends on in other
// directories is a part of it. The error says why it is not known what they are.
func (r *Reader) Render(ctx context.Context, dir string, of Release, build bool) ([]*manifest.Object, error) {
	if of.KubeVersion == "" {
		of.KubeVersion = r.KubeVersion
	}
	if len(of.APIVersions) == 0 {
		of.APIVersions = r.APIVersions
	}
	asked, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	key := dir + "\n" + string(asked)
	if a, ok := r.rendered[key]; ok {
		return a.objects, a.err
	}
	if r.rendered == nil {
		r.rendered, r.warned, r.Used = map[string]*answer{}, map[string]bool{}, map[string]bool{}
	}
	a := &answer{}
	a.objects, a.err = r.render(ctx, dir, of, build)
	r.rendered[key] = a
	return a.objects, a.err
}

// render is Render for what was not asked before: it has the program render the chart, and gives each object the place
// of its template.
func (r *Reader) render(ctx context.Context, dir string, of Release, build bool) ([]*manifest.Object, error) {
	fault := func(format string, args ...any) *manifest.Error {
		return &manifest.Error{File: r.Named(dir), Msg: fmt.Sprintf(format, args...)}
	}
	f := r.files(dir, build, 0)
	if f.err != nil {
		return nil, f.err
	}
	for used := range f.dirs {
		r.Used[used] = true
	}
	of.Chart = f.list
	out, err := r.ask(ctx, of)
	if err != nil {
		e := fault("its chart is not rendered: %s", err)
		e.Tip = manifest.HintOf(err)
		return nil, e
	}
	at := func(template string) string {
		if abs, ok := f.abs[template]; ok {
			return r.Named(abs)
		}
		return path.Join(r.Named(dir), template) // in an archive
	}
	if out.Error != "" {
		return nil, r.explain(dir, at, out.Error)
	}
	for _, name := range out.Random {
		if file := at(name); !r.warned[file] {
			r.warned[file] = true
			r.Random = append(r.Random, &manifest.Error{File: file,
				Msg: "it has values that are random or of the clock"})
		}
	}
	texts := map[string]string{}
	for _, file := range f.list {
		texts[file.Name] = string(file.Data)
	}
	var objects []*manifest.Object
	for _, m := range out.Manifests {
		made, err := parse(at(m.Template), m.Text, texts[m.Template])
		if err != nil {
			return nil, err
		}
		objects = append(objects, made...)
	}
	return objects, nil
}

// ask asks the program that renders charts, unless that failed too often.
func (r *Reader) ask(ctx context.Context, of Release) (Rendered, error) {
	switch {
	case r.Renderer == nil:
		return Rendered{}, errors.New("no program for it is known here")
	case r.failures >= maxFailures:
		return Rendered{}, errors.New("others took too much")
	}
	out, err := r.Renderer.Render(ctx, of)
	if err != nil && manifest.HintOf(err) == "" {
		r.failures++
	}
	return out, err
}

// Fill returns what a Go template with the functions of sprig makes of values: helm's engine has both, and limits.
func (r *Reader) Fill(ctx context.Context, goTemplate string, values map[string]any) (string, error) {
	own, err := ValuesOf(values)
	if r.filled++; err != nil || r.filled > maxFilled {
		return "", cmp.Or(err, fmt.Errorf("more than %d Go templates", maxFilled))
	}
	template := `{{define "text"}}` + goTemplate +
		`{{end}}{kind: Text, apiVersion: v1, made: {{include "text" .Values | toJson}}}`
	out, err := r.ask(ctx, Release{Name: "text", Values: []Value{own}, Strict: true, Chart: []File{
		{"Chart.yaml", []byte("{apiVersion: v2, name: text, version: 0.0.0}")},
		{"templates/text.yaml", []byte(template)}}})
	var made struct{ Made string }
	switch {
	case err != nil:
		return "", err
	case out.Error != "":
		return "", errors.New(text.OneLine(out.Error))
	case len(out.Random) > 0 || len(out.Manifests) != 1:
		return "", errors.New("its template has a value that is random or of the clock")
	}
	err = yaml.Unmarshal([]byte(out.Manifests[0].Text), &made)
	return made.Made, err
}

// place finds a template and a line in a message of helm: (widget/templates/sub.yaml:8:14).
var place = lazy.Regexp(`\(?[^/\s(]+/([^:\s]+):(\d+)(?::\d+)?\)?:? `)

// explain makes one line of what helm says. It names the template if helm does.
func (r *Reader) explain(dir string, at func(string) string, said string) error {
	e := &manifest.Error{File: r.Named(dir), Msg: "helm cannot render it: " + text.Shorten(text.OneLine(said), 400)}
	if m := place().FindStringSubmatch(said); m != nil {
		e.File = at(m[1])
		e.Line, _ = strconv.Atoi(m[2])
	}
	return e
}

// parse reads the objects that a template made.
func parse(file, rendered, template string) (list []*manifest.Object, err error) {
	docs, err := manifest.ReadFile(file, []byte(rendered), whole.Limits(budget.File))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(template, "\n")
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			value, err := o.Value()
			if err != nil {
				return nil, err
			}
			if len(value) == 0 {
				continue
			}
			if o.Kind == "" || o.APIVersion == "" {
				return nil, &manifest.Error{File: file,
					Msg: "it makes what is no object: apiVersion or kind is missing"}
			}
			own := max(lineOf(lines, "", "kind: "+o.Kind), 1)
			list = append(list, o.Build(value, func(field string) manifest.Place {
				at := manifest.Place{File: file, Line: own, Patch: &manifest.Patch{Doc: manifest.Nowhere}}
				if path := decoded.Segments(field); len(path) > 0 {
					at.Line = max(lineOf(lines, " -", path[len(path)-1]+":"), own)
				}
				return at
			}))
		}
	}
	return list, nil
}

// lineOf returns the only line that begins with a word or two, after indentation by some characters, or 0.
func lineOf(lines []string, indent, begin string) (found int) {
	for i, line := range lines {
		if line = strings.TrimLeft(line, indent); line == begin || strings.HasPrefix(line, begin+" ") {
			if found != 0 {
				return 0
			}
			found = i + 1
		}
	}
	return found
}

// Digest returns a hash of the files of a chart, or of why they cannot be read.
func (r *Reader) Digest(dir string) string {
	f, sum := r.files(dir, true, 0), sha256.New()
	for _, file := range f.list {
		fmt.Fprintf(sum, "%q %d\n%s", file.Name, len(file.Data), file.Data)
	}
	return fmt.Sprintf("%x %v", sum.Sum(nil), f.err != nil)
}

// files reads the files of a chart.
func (r *Reader) files(dir string, build bool, depth int) *files {
	key := fmt.Sprint(dir, "\n", build)
	if f, ok := r.read[key]; ok {
		return f
	}
	if r.read == nil {
		r.read = map[string]*files{}
	}
	f := &files{abs: map[string]string{}, dirs: map[string]bool{dir: true}}
	r.read[key] = f
	if f.err = r.walk(f, dir, "", 0); f.err == nil && build {
		f.err = r.depend(f, dir, depth)
	}
	return f
}

// walk adds the files below a directory. Symbolic links lead no further than to Top.
func (r *Reader) walk(f *files, dir, below string, depth int) error {
	most := budget.Of(budget.Chart)
	fault := func(msg string) error {
		return manifest.OverLimit(&manifest.Error{File: r.Named(dir), Msg: msg})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &manifest.Error{File: r.Named(dir), Msg: regular.Reason(err)}
	}
	if depth > maxDepth {
		return fault("the chart has too many directories in each other")
	}
	for _, e := range entries {
		abs, name := filepath.Join(dir, e.Name()), path.Join(below, e.Name())
		real, err := regular.Inside(r.Repos.Limit(dir, r.Top), abs)
		var info os.FileInfo
		if err == nil {
			info, err = os.Stat(real)
		}
		switch {
		case e.Name() == ".git":
			continue
		case err != nil:
			return &manifest.Error{File: r.Named(abs), Msg: "a symbolic link to what is not in the tree"}
		case info.IsDir():
			if err := r.walk(f, real, name, depth+1); err != nil {
				return err
			}
			continue
		case !info.Mode().IsRegular():
			return &manifest.Error{File: r.Named(abs), Msg: "is not a regular file"}
		}
		if f.size += info.Size(); f.size > most.Bytes || int64(len(f.list)) >= most.Files {
			return fault(fmt.Sprintf("its chart has more than %d files or %d MiB", most.Files, most.Bytes>>20))
		}
		data, err := repos.Read("", real)
		if err != nil {
			return &manifest.Error{File: r.Named(abs), Msg: regular.Reason(err)}
		}
		f.list, f.abs[name] = append(f.list, File{name, data}), abs
		if e.Name() == "Chart.yaml" {
			f.dirs[dir] = true
		}
	}
	return nil
}

// depend adds the charts that "helm dependency build" copies from other directories.
func (r *Reader) depend(f *files, dir string, depth int) error {
	var chart struct {
		Dependencies []struct{ Name, Repository string }
	}
	for _, file := range f.list {
		if file.Name == "Chart.yaml" || file.Name == "requirements.yaml" {
			_ = yaml.Unmarshal(file.Data, &chart) // helm says what is wrong with it
		}
	}
	for _, d := range chart.Dependencies {
		to, ok := strings.CutPrefix(d.Repository, "file://")
		if !ok || f.has("charts/"+d.Name) || depth > maxDepth {
			continue
		}
		real, err := regular.Inside(r.Repos.Limit(dir, r.Top), filepath.Join(dir, filepath.FromSlash(to)))
		if err != nil {
			continue // helm says that it is missing
		}
		other := r.files(real, true, depth+1)
		if other.err != nil {
			return other.err
		}
		for _, file := range other.list {
			name := path.Join("charts", d.Name, file.Name)
			f.list, f.abs[name] = append(f.list, File{name, file.Data}), other.abs[file.Name]
		}
		maps.Copy(f.dirs, other.dirs)
		if f.size += other.size; f.size > budget.Of(budget.Chart).Bytes {
			return manifest.OverLimit(&manifest.Error{File: r.Named(dir),
				Msg: "its dependencies make its chart too large"})
		}
	}
	return nil
}

// has reports whether a chart has a directory, or an archive of that name.
func (f *files) has(dir string) bool {
	for _, file := range f.list {
		if rest, ok := strings.CutPrefix(file.Name, dir); ok && (strings.HasPrefix(rest, "/") ||
			strings.HasPrefix(rest, "-") && strings.HasSuffix(rest, ".tgz")) {
			return true
		}
	}
	return false
}
