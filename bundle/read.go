package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/manifest"
)

// ReadOptions say how strictly a bundle is read. The zero value is the default.
type ReadOptions struct {
	AllowUnsupported bool // carry kinds that OLM would refuse
	Hidden           bool // read hidden files of manifests/ too, as OLM v1 does
	Partial          bool // the CSV is what a catalog says of it, and there are no other objects
	// carry what is refused only in the cluster, step by step: unsupported kinds, names, rules of permissions, CRDs
	// that the CSV owns and the bundle lacks
	Refused bool
	Labels  map[string]string // an image's labels, used where metadata/ has no annotations
	Limits  manifest.Limits   // zero fields: those of package manifest
	// files parsed at the same time; zero: one a processor. The result does not depend on it
	Workers int
}

// Read reads the bundle in fsys, whose root is the directory that holds manifests/ and metadata/, or its parent with a
// bundle/ directory, or the directory of a CSV. An error with a place in a file wraps a *manifest.Error. If the reader
// has found anything odd before it, the error is a *WarnedError.
func Read(fsys fs.FS, o ReadOptions) (*Bundle, error) {
	r := &reader{fsys: fsys, options: o, bundle: &Bundle{Partial: o.Partial, files: map[string][]byte{}},
		meter: budget.NewMeter(budget.Bundle)}
	r.options.Limits.Charge = r.meter.Charge
	var err error
	for _, step := range []func() error{r.layout, r.readManifests, r.check} {
		if err = step(); err != nil {
			break
		}
	}
	slices.SortStableFunc(r.bundle.Warnings, func(a, b Warning) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	slices.Reverse(r.bundle.Notes)
	if e, ok := errors.AsType[*manifest.Error](err); ok && e.Tip == "" {
		csv := r.bundle.CSVObject
		switch {
		case r.unended[e.File] > 0:
			e.Tip = "the last line of the file has no end: it may be truncated"
		case csv != nil && csv.File == e.File && !csv.Has("spec", "version") && !csv.Has("spec", "installModes"):
			e.Tip = "it has neither spec.version nor spec.installModes: the file may be truncated"
		}
	}
	if err != nil {
		return nil, WithWarnings(err, r.bundle.Warnings)
	}
	return r.bundle, nil
}

type reader struct {
	fsys    fs.FS
	options ReadOptions
	bundle  *Bundle

	manifests       string             // directory
	objects         []*manifest.Object // in file order, those of metadata/ last
	metadataObjects []*manifest.Object
	unended         map[string]int // the last line of files where it has no end
	bytes           atomic.Int64
	meter           *budget.Meter
}

func (r *reader) warn(class string, e *manifest.Error) {
	r.bundle.Warnings = append(r.bundle.Warnings, Warning{Class: class, Error: e})
}

func (r *reader) fileLimit() int64 {
	return cmp.Or(int64(r.options.Limits.FileBytes), budget.Of(budget.File).Bytes)
}

func (r *reader) readFile(name string) ([]byte, error) {
	limit := r.fileLimit()
	info, err := fs.Stat(r.fsys, name) // before it is opened: to open a pipe is to wait for its writer
	if err != nil {
		return nil, pathError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &manifest.Error{File: name, Msg: "not a regular file"}
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, pathError(name, err)
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), limit)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); err != nil { // an archive has its checksum at the end
		return nil, pathError(name, err)
	}
	data := buf.Bytes()
	if int64(len(data)) > limit {
		return nil, overLimit(name, "the file is larger than %d MiB", limit>>20)
	}
	r.bytes.Add(int64(len(data)))
	return data, nil
}

func overLimit(name, format string, args ...any) error {
	return manifest.OverLimit(&manifest.Error{File: name, Msg: fmt.Sprintf(format, args...)})
}

// manifestFiles lists what is to be read in the manifests directory: every file that is not hidden, whatever its
// extension (operator-registry: pkg/registry/parse.go).
func (r *reader) manifestFiles() ([]string, error) {
	entries, err := fs.ReadDir(r.fsys, r.manifests)
	if err != nil {
		return nil, pathError(r.manifests, err)
	}
	if most := budget.Of(budget.Bundle).Files; int64(len(entries)) > most {
		return nil, overLimit(r.manifests, "more than %d files", most)
	}
	flat := !strings.HasSuffix(r.manifests, "manifests") && (r.manifests == "." || r.manifests == "bundle")
	var names []string
	for _, e := range entries {
		name := path.Join(r.manifests, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") && (!r.options.Hidden || flat || r.isDir(name)):
		case !e.Type().IsRegular() && r.isDir(name):
			if flat && (e.Name() == "metadata" || e.Name() == "tests") {
				continue
			}
			return nil, &manifest.Error{File: name, Tip: "move its files up into " + r.manifests,
				Msg: "a directory inside the manifests: OLM can't unpack such a bundle"}
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// manifestFile is a file of the manifests directory.
type manifestFile struct {
	name    string
	data    []byte
	docs    []*manifest.Document
	leftOut *manifest.Error // why the file is left out; nil if it is read
	err     error
}

// read reads and parses a file. A file with another extension than .yaml, .yml or .json is left out if it holds no
// Kubernetes object. OLM skips a file that it can't decode.
func (r *reader) read(f *manifestFile) {
	leaveOut := func(why string) { f.leftOut = &manifest.Error{File: f.name, Msg: "left out: " + why} }
	if !isYAML(f.name) {
		info, err := fs.Stat(r.fsys, f.name)
		if err == nil && !info.Mode().IsRegular() {
			leaveOut("not a regular file")
			return
		}
		if err == nil && info.Size() > r.fileLimit() {
			leaveOut("too large for a Kubernetes object")
			return
		}
	}
	if f.data, f.err = r.readFile(f.name); f.err != nil {
		return
	}
	f.docs, f.err = manifest.ReadFile(f.name, f.data, r.options.Limits)
	if isYAML(f.name) {
		return
	}
	switch {
	case f.err != nil:
		leaveOut("not YAML")
	case !slices.ContainsFunc(f.docs, func(d *manifest.Document) bool {
		objects, err := d.Objects()
		return err == nil && len(objects) > 0
	}):
		leaveOut("not a Kubernetes object")
	}
	if f.leftOut != nil {
		f.docs, f.err = nil, nil
	}
}

// readManifests parses all files, several at a time, and takes the objects in file order.
func (r *reader) readManifests() error {
	names, err := r.manifestFiles()
	if err != nil {
		return err
	}
	files := make([]manifestFile, len(names))
	parallel.Each(r.options.Workers, len(names), func(i int) {
		files[i].name = names[i]
		r.read(&files[i])
	})
	if over := r.meter.Over(); over != "" { // of the files together, whichever was the last
		return overLimit(r.manifests, "%s", over)
	}
	r.unended = map[string]int{}
	for _, f := range files {
		if len(f.data) > 0 && !bytes.HasSuffix(f.data, []byte("\n")) {
			r.unended[f.name] = bytes.Count(f.data, []byte("\n")) + 1
		}
		if f.leftOut != nil {
			r.warn(WarnLayout, f.leftOut)
		}
	}
	for _, f := range files {
		if f.err != nil {
			return f.err
		}
		if f.leftOut != nil {
			continue
		}
		r.bundle.files[f.name] = f.data
		if err := cmp.Or(r.takeFile(f.name, f.docs), r.checkWhole(f)); err != nil {
			return err
		}
	}
	r.objects = append(r.objects, r.metadataObjects...)
	if err := r.dropReplaced(); err != nil {
		return err
	}
	r.bundle.Bytes = int(r.bytes.Load())
	return r.dispatch()
}

// complete are fields that each object of a kind has, at the end of what tools write.
var complete = map[string][]string{
	v1alpha1.ClusterServiceVersionKind: {"spec.install.strategy", "spec.installModes", "spec.version"},
	"CustomResourceDefinition":         {"spec.group", "spec.names", "spec.scope"},
}

// checkWhole refuses a file whose last line has no end if its last object lacks what it must have: the file is
// truncated, and what is left of it may be half an operator. JSON that is not whole cannot be read at all.
func (r *reader) checkWhole(f manifestFile) error {
	line := r.unended[f.name]
	if line == 0 || r.bundle.Partial || len(r.objects) == 0 || bytes.HasPrefix(f.data, []byte("{")) {
		return nil
	}
	o := r.objects[len(r.objects)-1]
	required := complete[o.Kind]
	if n := o.Len("spec", "versions"); o.Kind == "CustomResourceDefinition" && n > 0 {
		last := fmt.Sprintf("spec.versions[%d]", n-1)
		required = append(slices.Clone(required), last+".name", last+".served", last+".storage")
	} else if o.Kind == "CustomResourceDefinition" {
		required = append(slices.Clone(required), "spec.version")
	}
	for _, field := range required {
		if o.File == f.name && !o.Has(decoded.Segments(field)...) {
			e := &manifest.Error{File: f.name, Line: line}
			e.Msg = "the file is truncated: its last line has no end, and " + field + " is missing"
			return e.With("get the whole file, or end its last line if it is whole")
		}
	}
	return nil
}

// dropReplaced drops each object that a later one of the same kind and name replaces. OLM and kubectl apply one after
// the other, so that the last one counts. OLM forces every namespaced object into one namespace, so the namespace does
// not tell objects apart. A second ClusterServiceVersion is not dropped: it is an error.
func (r *reader) dropReplaced() error {
	type identity struct{ kind, group, name string }
	last := map[identity]*manifest.Object{}
	kept := make([]*manifest.Object, 0, len(r.objects))
	for _, o := range slices.Backward(r.objects) {
		id := identity{o.Kind, install.GroupOf(o), o.Name}
		counts := last[id]
		if counts == nil || o.Name == "" || o.Kind == v1alpha1.ClusterServiceVersionKind {
			last[id] = o
			kept = append(kept, o)
			continue
		}
		if err := r.replaced(o, counts); err != nil {
			return err
		}
	}
	slices.Reverse(kept)
	r.objects = kept
	return nil
}

func (r *reader) replaced(o, by *manifest.Object) error {
	old, err := o.Value()
	counts, bad := by.Value()
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	if reflect.DeepEqual(old, counts) {
		r.bundle.Notes = append(r.bundle.Notes, o.Errorf("metadata.name", "%s %s is in %s:%d again, with equal content",
			o.Kind, o.Name, by.File, by.Line))
		return nil
	}
	r.warn(WarnReplacedObject, o.Errorf("metadata.name", "left out: %s:%d has a %s of the same name with other "+
		"content, and the last one counts", by.File, by.Line, o.Kind))
	return nil
}

// takeFile takes the objects of one file and warns where OLM, which reads only a file's first document, would see less.
func (r *reader) takeFile(name string, docs []*manifest.Document) error {
	several := false
	for _, d := range docs {
		if d.Root == nil {
			if d.Index == 0 {
				r.warn(WarnSeveralDocuments, &manifest.Error{File: name, Line: d.Line,
					Msg: "the first document is empty or a comment: OLM fails to unpack such a file"})
			}
			continue
		}
		if d.Index > 0 && !several {
			several = true
			r.warn(WarnSeveralDocuments, &manifest.Error{File: name, Line: d.Line,
				Msg: "OLM v0 reads only the first document of a file and loses this one"})
		}
		if err := r.takeDocument(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) takeDocument(d *manifest.Document) error {
	objects, err := d.Objects()
	if err != nil {
		return err
	}
	r.warnDuplicates(d)
	if len(objects) == 0 && d.Root != nil {
		r.warn(WarnNotAnObject, &manifest.Error{File: d.File, Line: d.Line,
			Msg: "not a Kubernetes object (it has no kind): left out"})
	}
	if len(objects) > 0 && objects[0].ReprintReason == "an item of a List" {
		r.warn(WarnSeveralDocuments, &manifest.Error{File: d.File, Line: d.Line,
			Msg: "OLM does not install a List; its items are taken one by one"})
	}
	r.objects = append(r.objects, objects...)
	if most := budget.Of(budget.Bundle).Objects; int64(len(r.objects)) > most {
		return overLimit(r.manifests, "more than %d objects", most)
	}
	return nil
}

func (r *reader) warnDuplicates(d *manifest.Document) {
	for _, dup := range d.Duplicates {
		r.warn(WarnDuplicateKey, &manifest.Error{File: d.File, Line: dup.Line, Field: dup.Key,
			Msg: "the key occurs twice, the last one counts"})
	}
}

// metadataKeys are the keys that OLM reads in files of the metadata directory.
var metadataKeys = []string{"annotations", "dependencies", "properties"}

func (r *reader) metadataDocument(d *manifest.Document) error {
	v, err := d.Value()
	if err != nil {
		return err
	}
	r.warnDuplicates(d)
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if _, ok := m["kind"].(string); ok {
		objects, err := d.Objects()
		for _, o := range objects {
			r.warn(WarnMetadataObject,
				o.Errorf("kind", "a Kubernetes object in metadata/: OLM installs it, and so does olmgen"))
		}
		r.metadataObjects = append(r.metadataObjects, objects...)
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if q := text.DidYouMean(key, metadataKeys); q != "" && !slices.Contains(metadataKeys, key) {
			r.warn(WarnUnknownField, d.Errorf(key, "no key of a bundle's metadata (%s): left out, as OLM does", q))
		}
	}
	if err := r.metadataAnnotations(d, m["annotations"]); err != nil {
		return err
	}
	if err := r.properties(d, "dependencies", m["dependencies"], &r.bundle.Dependencies); err != nil {
		return err
	}
	return r.properties(d, "properties", m["properties"], &r.bundle.Properties)
}

// metadataAnnotations takes the annotations of the first document that has any.
func (r *reader) metadataAnnotations(d *manifest.Document, v any) error {
	if v == nil {
		return nil
	}
	a, ok := v.(map[string]any)
	if !ok {
		return d.Errorf("annotations", "has the wrong type: want a mapping of keys to text")
	}
	if len(a) == 0 || r.bundle.annotations != nil {
		return nil
	}
	r.bundle.annotations = d
	r.bundle.Annotations = map[string]string{}
	for k, x := range a {
		switch x := x.(type) {
		case map[string]any, []any:
			return d.Errorf(`annotations["`+k+`"]`, "must be text")
		case string:
			r.bundle.Annotations[k] = x
		case nil:
		default:
			r.bundle.Annotations[k] = manifest.Scalar(x)
			r.warnUnquoted(d, `annotations["`+k+`"]`, x, "annotations", k)
		}
	}
	return nil
}

// properties takes a list of properties from the first document that has one. OLM's bundle loader takes an entry
// without type or value (operator-registry: pkg/registry/parse.go). Such a property says nothing, so it is left out
// with a warning. Such a dependency is refused, because it stands for something that the operator needs. What is no
// list is refused: OLM ignores it without a word.
func (r *reader) properties(d *manifest.Document, field string, v any, to *[]Property) error {
	list, ok := v.([]any)
	if !ok && v != nil {
		return d.Errorf(field, "has the wrong type: want a list of type and value")
	}
	if len(*to) > 0 {
		return nil
	}
	for i, x := range list {
		m, _ := x.(map[string]any)
		t, _ := m["type"].(string)
		if t == "" || m["value"] == nil {
			e := d.Errorf(fmt.Sprintf("%s[%d]", field, i), "needs a type and a value")
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if key != "type" && key != "value" {
					e.Tip = text.DidYouMean(key, []string{"type", "value"})
				}
			}
			if field == "dependencies" {
				return e
			}
			e.Msg += ": left out"
			r.warn(WarnProperty, e)
			continue
		}
		b, err := json.Marshal(m["value"])
		if err != nil {
			return d.Errorf(fmt.Sprintf("%s[%d].value", field, i), "%v", err)
		}
		at := d.Errorf(fmt.Sprintf("%s[%d]", field, i), "")
		r.warnUnquoted(d, fmt.Sprintf("%s[%d].value", field, i), m["value"], field, fmt.Sprint(i), "value")
		*to = append(*to, Property{Type: t, Value: b, File: at.File, Line: at.Line})
	}
	return nil
}

// warnUnquoted warns of a number that is read as another text than is written, as 4.20 is read as 4.2.
func (r *reader) warnUnquoted(d *manifest.Document, field string, read any, path ...string) {
	switch read.(type) {
	case float64, json.Number:
	default:
		return
	}
	n, err := d.Nodes()
	for _, key := range path {
		n = yamltext.Child(n, key)
	}
	if err == nil && n != nil && n.ShortTag() == "!!float" && n.Value != manifest.Scalar(read) {
		e := d.Errorf(field, "%s without quotes is read as %s", n.Value, manifest.Scalar(read))
		r.warn(WarnProperty, e.With(fmt.Sprintf("write %q", n.Value)))
	}
}

func (r *reader) dispatch() error {
	b := r.bundle
	for _, o := range r.objects {
		group := o.Group()
		switch {
		case o.Kind == v1alpha1.ClusterServiceVersionKind: // OLM goes by the kind alone
			if b.CSVObject != nil {
				return o.Errorf("kind", "a second ClusterServiceVersion, the first is in %s:%d", b.CSVObject.File,
					b.CSVObject.Line)
			}
			b.CSVObject = o
		case o.Kind == "CustomResourceDefinition" && (group == "apiextensions.k8s.io" || o.APIVersion == ""):
			c, err := readCRD(o)
			if err != nil {
				return err
			}
			b.CRDs = append(b.CRDs, c)
		default:
			b.Others = append(b.Others, o)
		}
	}
	if b.CSVObject == nil {
		return &manifest.Error{File: r.manifests, Msg: "no ClusterServiceVersion",
			Tip: "a bundle needs exactly one object of kind ClusterServiceVersion"}
	}
	return nil
}

// WarnedError is an error with the warnings that were found before it. They can be its cause: a file that was left out.
type WarnedError struct {
	Warnings []Warning
	Err      error
}

func (e *WarnedError) Error() string { return e.Err.Error() }
func (e *WarnedError) Unwrap() error { return e.Err }

// WithWarnings returns the error with warnings, or the error itself if there are none.
func WithWarnings(err error, warnings []Warning) error {
	if len(warnings) == 0 {
		return err
	}
	return &WarnedError{warnings, err}
}
