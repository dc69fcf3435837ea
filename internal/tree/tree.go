// Package tree reads the Kubernetes objects of files and directories as they are applied: a GitOps repository, whose
// kustomizations it builds, the output of olmgen, the output of kubectl get.
package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// Stdin is the path of the standard input, StdinFile the file name of its objects.
const (
	Stdin     = "-"
	StdinFile = "stdin"
)

// Options configure Read. The zero value suits files.
type Options struct {
	Stdin   io.Reader // read for the path "-"
	Workers int       // how many files to read at once; 0 means one per processor
	// Strict reads for somebody who needs every object: whatever is not readable, a template, and an object without
	// name are not passed over. What is in a directory and begins with a dot is left out.
	Strict bool
	// Partial reads the rest if a path or a file is not readable. The errors are in Tree.Failed.
	Partial bool
	// Plain takes every directory of manifests for one that is applied, but those below a name with a dot.
	Plain bool
	// All takes every directory of manifests for one that is applied.
	All bool
	// Exclude are patterns of files and directories to leave out, as in a file .gitignore.
	Exclude []string
	// Clusters are directories: the roots below one are in one cluster.
	Clusters []string
	// Named returns the name of a file in messages, by its path relative to the only path of Read. Nil: the path.
	Named func(rel string) string
	// Output is a directory that the caller writes, and that need not exist: kustomizations are built without it.
	Output      string
	Charts      charts.Renderer  // nil: charts are not rendered, and what they are the root of is not known
	KubeVersion string           // that charts are rendered for; empty: the one that the renderer knows
	Repos       []repos.Checkout // of other repositories
	RepoOption  string           // of the front end, that gives one; for hints
	// Top is the directory of files that kustomizations may name, absolute; if empty, that of the Git repository.
	Top string
	// Other is a tree that this one is compared with, absolute: roots whose files are the same there wait for Settle.
	Other string
	// Like is that tree, if it was read before.
	Like *Tree
}

// Tree holds the objects of files.
type Tree struct {
	Objects []*manifest.Object // in the order of the paths, of file names, and in the files
	Skipped []Skipped          // files that may have objects and were not read, in the same order
	Faults  []*manifest.Error  // unreadable files that look like Kubernetes objects, in the same order
	Files   int                // number of files read
	Failed  []error            // with Options.Partial: why paths and files were not readable, missing paths first

	// Strays are the first documents of files, such as values of a chart, that are no objects. They count the others.
	Strays []*manifest.Error

	Roots     []Root            // what is applied at once: kustomizations and directories, in the order of the paths
	Unapplied []string          // files that nothing applies that is known, sorted; their objects are not in Objects
	Addresses map[string]string // of repositories that the tree names, by repos.Normal
	paths     []string          // of Read, in messages
	base      string            // the first of them, absolute
	Charts    []Chart           // of helm, without those in others, by name
	Configs   []Chart           // RenderConfigs: files that are rendered to others
	Templated []*manifest.Error // what is applied and not known: templates of controllers, charts, other repositories

	Engines []Root // of one cluster (Of): those that an engine applies

	excluder   excluder
	ignored    []string // files and directories that it leaves out, absolute
	explored   *explorer
	references []string // directories of kube-compare
	left       []Chart  // files that were not read
	// read are the documents of files with objects, by what is in them, for the tree that has this one as Like
	read map[[sha256.Size]byte][]*manifest.Document
}

// Unread reports which files look like Kubernetes objects and could not be read, and why.
func (t *Tree) Unread() []string { return lists.Map(t.Faults, (*manifest.Error).Error) }

// Skipped is a file or directory that was not read.
type Skipped struct {
	Path string
	Why  string // one line
}

// Read reads the objects below paths: files, directories with everything below them, or "-". Of a directory it reads
// files that end in .yaml, .yml or .json. What a kustomization names counts as kustomize builds it. Read ignores YAML
// that is not a Kubernetes object, such as values.yaml, and skips templates. A file that paths name must be readable:
// the error, a *manifest.Error, says why it is not. Other errors are those of the file system and of ctx. The same
// files yield the same Tree, whatever the number of workers.
func Read(ctx context.Context, paths []string, o Options) (*Tree, error) {
	o.Plain = o.Plain || o.Strict
	w, failed := walk(paths, o)
	if len(failed) > 0 && !o.Partial {
		return nil, failed[0]
	}
	files := w.files
	roots := apply(ctx, files, paths, o)
	files = slices.DeleteFunc(files, func(f file) bool { // what a kustomization builds of it is read
		return roots.builder != nil && f.path != Stdin && roots.reached[absolute(f.path)]
	})
	limits, meter := whole.Limits(budget.TreeFile), budget.NewMeter(budget.Tree)
	limits.Charge = meter.Charge
	results := make([]result, len(files))
	parallel.Each(o.Workers, len(files), func(i int) {
		if ctx.Err() == nil {
			results[i] = files[i].read(o, limits)
		}
		watch.Step(ctx, "reading files", len(files))
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if over := meter.Over(); over != "" {
		return nil, manifest.OverLimit(&manifest.Error{File: strings.Join(paths, ", "), Msg: over})
	}
	t := collect(files, results)
	t.excluder, t.ignored = w.excluder, w.ignored
	if o.Other != "" && o.Like == nil {
		t.read = map[[sha256.Size]byte][]*manifest.Document{}
		for _, r := range results {
			if len(r.objects) > 0 {
				t.read[r.digest] = r.docs
			}
		}
	}
	if err := roots.complete(t); err != nil {
		return nil, err
	}
	if t.Failed = append(failed, t.Failed...); len(t.Failed) > 0 && !o.Partial {
		return nil, t.Failed[0]
	}
	if unknown := t.Unknown(); o.Strict && len(unknown) > 0 {
		return nil, unknown[0]
	}
	if o.Strict && len(t.Skipped) > 0 {
		return nil, &manifest.Error{File: t.Skipped[0].Path, Msg: t.Skipped[0].Why}
	}
	return t, nil
}

type file struct {
	path  string // for the file system
	name  string // for messages, with slashes
	found bool   // in a directory; a path of Read may be a pipe
	named bool   // one of the paths of Read, or as strict as if it were
	all   bool   // what is no object in a file is at fault too
	skip  string // why it is not read; empty if it is

	absent string // why it could be anything: a revision has it, and its content is not here
}

type result struct {
	objects []*manifest.Object

	count, line int             // documents that are no objects, and where the first is
	stray       *manifest.Error // about them
	templated   []*manifest.Error
	reference   bool // of kube-compare
	config      bool // a RenderConfig
	skipped     string
	digest      [sha256.Size]byte // of a file that was skipped, and of all where another tree is compared
	docs        []*manifest.Document
	fault       *manifest.Error
	incomplete  []*manifest.Error // objects that no API server takes
	err         error
}

// collect puts what files have into one Tree, in the order of the files.
func collect(files []file, results []result) *Tree {
	t := &Tree{}
	for i, r := range results {
		switch {
		case r.err != nil:
			t.Failed = append(t.Failed, r.err)
		case r.fault != nil && files[i].named:
			t.Failed = append(t.Failed, r.fault)
		case r.fault != nil:
			t.Faults = append(t.Faults, r.fault)
		case r.skipped != "":
			t.Skipped = append(t.Skipped, Skipped{files[i].name, r.skipped})
			t.left = append(t.left, Chart{Name: files[i].name, Digest: func() string { return string(r.digest[:]) }})
		default:
			t.Files++
		}
		if r.config {
			t.Configs = append(t.Configs,
				Chart{Name: files[i].name, Digest: func() string { return string(r.digest[:]) }})
		}
		if r.reference {
			t.references = append(t.references, path.Dir(files[i].name))
		}
		t.Objects = append(t.Objects, r.objects...)
		t.Faults = append(t.Faults, r.incomplete...)
		t.Templated = append(t.Templated, r.templated...)
		if r.stray != nil {
			t.Strays = append(t.Strays, r.stray)
		}
	}
	return t
}

func (f file) read(o Options, limits manifest.Limits) result {
	if f.skip != "" {
		return result{skipped: f.skip}
	}
	if f.absent != "" {
		return result{fault: &manifest.Error{File: f.name, Msg: f.absent}}
	}
	data, err := f.load(o.Stdin, int64(limits.FileBytes)+1)
	if err != nil {
		return result{err: err}
	}
	var same []*manifest.Document
	var digest [sha256.Size]byte
	if o.Other != "" {
		if digest = sha256.Sum256(data); o.Like != nil {
			same = o.Like.read[digest]
		}
	}
	r := f.parse(data, same, limits)
	if r.digest = digest; o.Other == "" && r.skipped != "" {
		r.digest = sha256.Sum256(data)
	}
	return r
}

// load reads a file, but no more than limit, because a pipe may never end.
func (f file) load(stdin io.Reader, limit int64) ([]byte, error) {
	if f.path == Stdin {
		if stdin == nil {
			return nil, errors.New("no standard input")
		}
		data, err := io.ReadAll(io.LimitReader(stdin, limit))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", StdinFile, err)
		}
		return data, nil
	}
	open := os.Open
	if f.found {
		open = regular.Open
	}
	in, err := open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var data bytes.Buffer
	if info, err := in.Stat(); err == nil && info.Size() < limit {
		data.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = data.ReadFrom(io.LimitReader(in, limit))
	return data.Bytes(), err
}

const (
	templated = "a template: read its rendered output instead"
	noObject  = "not a Kubernetes object: apiVersion, kind or name is missing"
)

// documents returns what is in a file: that of another one with the same data, if there is one.
func (f file) documents(data []byte, same []*manifest.Document, limits manifest.Limits) ([]*manifest.Document, error) {
	if len(same) == 0 {
		return manifest.ReadFile(f.name, data, limits)
	}
	return lists.Map(same, func(d *manifest.Document) *manifest.Document { return d.In(f.name) }), nil
}

// parse reads the objects of a file. It counts the documents that are none.
func (f file) parse(data []byte, same []*manifest.Document, limits manifest.Limits) (r result) {
	docs, err := f.documents(data, same, limits)
	if err != nil {
		return f.refused(data, err)
	}
	if len(docs) == 0 {
		r.stray = &manifest.Error{File: f.name, Msg: "empty"}
	}
	braces, pattern := bytes.Contains(data, []byte("{{")), bytes.Contains(data, []byte("clusterGroup:"))
	for _, d := range docs {
		if d.Root == nil {
			continue // only comments
		}
		if d.Root.Kind != yaml.MappingNode && !f.all {
			r.addStray(nil, d.Line+d.Root.Line-1)
			continue // a list of values
		}
		if f.kustomization(d) {
			continue
		}
		objects, err := d.Objects()
		if err != nil {
			return f.refused(data, err)
		}
		if o, err := d.Object(); len(objects) == 0 && (err != nil || o.Kind == "") {
			r.addStray(o, d.Line+d.Root.Line-1)
			r.reference = r.reference || path.Base(f.name) == "metadata.yaml" && o != nil && o.Has("parts")
			if pattern {
				r.templated = append(r.templated, patternSubscriptions(d)...)
			}
		}
		for _, o := range objects {
			if err := templateOf(o, braces); err != nil {
				return f.refused(data, err)
			}
			switch { // an API server stores objects; configuration files only look like them
			case o.Group() == kustomization.Group:
			case f.all || stored(o):
				r.objects = append(r.objects, o)
			default:
				r.addStray(o, o.Line)
				r.config = r.config || o.Kind == "RenderConfig"
			}
		}
	}
	if r.docs = docs; r.count > 0 {
		r.stray = &manifest.Error{File: f.name, Line: r.line, Msg: noObject}
	}
	if r.count > 1 {
		r.stray.Msg += ", also in " + text.Count(r.count-1, "document") + " below"
	}
	return r
}

// incomplete returns what an object lacks without which kubectl and engines refuse its file; nil of what is no object.
func incomplete(o *manifest.Object) *manifest.Error {
	if o == nil || !o.Has("metadata") {
		return nil
	}
	_, known := olm.KindOf(o.Group(), o.Kind)
	var field string
	switch {
	case o.Kind == "" && o.Has("apiVersion"):
		field = "kind"
	case o.Kind != "" && o.APIVersion == "" && o.Name != "":
		field = "apiVersion"
	case known && o.Name == "" && !o.Has("metadata", "generateName"):
		field = "metadata.name"
	default:
		return nil
	}
	return o.Errorf(field, "missing: kubectl and Argo CD refuse the whole file").With("add it, or remove the object")
}

// templateOf returns why an object of a template is none: {{ x }} is a mapping whose key is one.
func templateOf(o *manifest.Object, braces bool) error {
	if strings.Contains(o.Name, "{{") || strings.Contains(o.Namespace, "{{") {
		return o.Errorf("metadata", templated)
	}
	if !braces {
		return nil
	}
	_, err := o.Value()
	return err
}

// patternSubscriptions returns where the values of a validated pattern have Subscriptions
// (validatedpatterns/clustergroup-chart: templates/core/subscriptions.yaml).
func patternSubscriptions(d *manifest.Document) []*manifest.Error {
	v, err := d.Value()
	group := olm.Mapping(olm.Mapping(v)["clusterGroup"])
	if err != nil || len(olm.Mapping(group["subscriptions"]))+len(olm.Items(group["subscriptions"])) == 0 {
		return nil
	}
	return []*manifest.Error{d.Errorf("clusterGroup.subscriptions",
		"olmgen does not render the chart that makes Subscriptions of these values")}
}

// stored reports whether an API server stores an object. A RenderConfig only looks like one.
func stored(o *manifest.Object) bool {
	return o.APIVersion != "" && o.Name != "" && o.Kind != "RenderConfig"
}

// addStray counts a document that is no object, and keeps the line of the first. One that lacks something is a fault.
func (r *result) addStray(o *manifest.Object, line int) {
	if e := incomplete(o); e != nil {
		r.incomplete = append(r.incomplete, e)
		return
	}
	if r.count++; r.count == 1 {
		r.line = line
	}
}

// kustomization reports whether a document is that of a kustomization.yaml, which may omit its kind.
func (f file) kustomization(d *manifest.Document) bool {
	if !slices.Contains(kustomization.Names(), path.Base(f.name)) {
		return false
	}
	o, err := d.Object()
	return err == nil && (o.Kind == "" || o.Group() == kustomization.Group)
}

// refused decides what an unreadable file means. A named file is an error. A directory may contain anything, so
// templates and files that do not look like a Kubernetes object are skipped with a reason, if all of them is there.
func (f file) refused(data []byte, err error) result {
	var fault *manifest.Error
	if !errors.As(err, &fault) {
		return result{err: err}
	}
	narrow := bytes.ReplaceAll(data, []byte{0}, nil) // as UTF-8, where it is UTF-16
	isTemplate := bytes.Contains(data, []byte("{{")) && fault.Msg != manifest.ConflictMessage
	switch {
	case f.named && isTemplate && fault.Tip == "":
		fault.Tip = "it looks like a template: read its rendered output instead"
	case f.named:
	case errors.Is(fault, manifest.ErrNotHere) || slices.Contains(fault.Options, option.Limits): // may be one
	case isTemplate:
		return result{skipped: templated}
	case !bytes.Contains(narrow, []byte("apiVersion")) || !bytes.Contains(narrow, []byte("kind")):
		return result{skipped: "neither readable nor a Kubernetes object: " + fault.Msg}
	}
	return result{fault: fault}
}
