// Package templates holds the YAML shape of every object that olmgen authors, one text/template file each.
//
// [Load] and [LoadDir] return a [Set], in which files of a user may take the place of olmgen's own; it is the field
// Templates of generate.Options. [Set.Execute] fills a template with its view, whose fields
// docs/reference/template-views.md lists. The views hold all decisions; a template only gives the shape. [Functions]
// lists what a template may call.
//
// Every action of a template that prints ends in an encoder ([Functions]), and its value stands alone as a whole key or
// scalar. So no value can break out of its place.
package templates

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

//go:embed *.yaml
var embedded embed.FS

// Own returns the files of olmgen's own templates, to be changed and given to Load.
func Own() fs.FS { return embedded }

// Set is a set of templates: olmgen's own, some of them perhaps replaced by a user's. A nil Set is olmgen's own, and so
// is the zero Set.
type Set struct {
	root     *template.Template // the others are associated with it and share its functions
	overlaid map[string]bool
	free     sync.Pool // of *bounded
}

func names() []string {
	entries, err := embedded.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	return lists.Map(entries, func(e fs.DirEntry) string { return e.Name() })
}

func source(name string) ([]byte, error) { return embedded.ReadFile(name) }

// own are olmgen's own templates. Each is parsed when it is first executed, because a rendering needs few of them.
var own = sync.OnceValue(func() map[string]func() (*template.Template, error) {
	root, out := newRoot(), map[string]func() (*template.Template, error){}
	for _, name := range names() {
		out[name] = sync.OnceValues(func() (*template.Template, error) { return addOwn(root, name) })
	}
	return out
})

func newRoot() *template.Template {
	return template.New("olmgen").Option("missingkey=error").Funcs(Functions())
}

func addOwn(root *template.Template, name string) (*template.Template, error) {
	text, err := source(name)
	if err != nil {
		return nil, err
	}
	return root.New(name).Parse(string(text))
}

// Load returns olmgen's own templates, with those files of overlay (which may be nil) in the place of theirs. A file
// that is no template's name, that does not parse, or with an action that no encoder ends or that does not stand alone,
// is an error.
func Load(overlay fs.FS) (*Set, error) {
	if overlay == nil {
		return &Set{}, nil
	}
	s := &Set{root: newRoot(), overlaid: map[string]bool{}}
	for _, name := range names() {
		if _, err := addOwn(s.root, name); err != nil {
			return nil, err
		}
	}
	own := s.trees()
	if err := s.overlay(overlay); err != nil {
		return nil, err
	}
	for name := range s.overlaid {
		if err := check(s.root, name); err != nil {
			return nil, err
		}
	}
	for name, tree := range s.trees() {
		if tree != nil && own[name] != tree {
			count(tree)
		}
	}
	return s, nil
}

// LoadDir is Load with the files of a directory. Without a directory it returns olmgen's own templates.
func LoadDir(dir string) (*Set, error) {
	if dir == "" {
		return Load(nil)
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such directory", dir)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir) // no link leads out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s, err := Load(root.FS())
	if err == nil && len(s.overlaid) == 0 {
		return nil, manifest.WithHint(fmt.Errorf("%s: no template is in this directory", dir),
			"a file NAME.yaml in it replaces the template of that name")
	}
	return s, err
}

func (s *Set) overlay(overlay fs.FS) error {
	entries, err := fs.ReadDir(overlay, ".")
	if err != nil {
		return fmt.Errorf("templates: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if ext := path.Ext(name); e.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if s.root.Lookup(name) == nil {
			return &manifest.Error{File: name, Msg: "no template of that name",
				Tip: "the templates are " + strings.Join(names(), ", ")}
		}
		if info, err := fs.Stat(overlay, name); err == nil && !info.Mode().IsRegular() {
			return &manifest.Error{File: name, Msg: "not a regular file"}
		}
		text, err := fs.ReadFile(overlay, name)
		if err != nil {
			return fmt.Errorf("templates: %w", err)
		}
		before := s.trees()
		if conflict := manifest.Conflict(name, 1, text); conflict != nil {
			return conflict
		}
		t, err := s.root.New(name).Parse(string(text))
		if err != nil {
			return templateError(name, err)
		}
		for other, tree := range s.trees() {
			if before[other] != nil && before[other] != tree && other != name {
				return &manifest.Error{File: name, Msg: "it defines the template " + other + " too",
					Tip: "give it a name of its own, or write it to the file " + other}
			}
		}
		if s.root.Lookup(name) != t { // the library keeps the old one in place of a blank one
			return &manifest.Error{File: name, Msg: "the template is blank: it must yield one object"}
		}
		s.overlaid[name] = true
	}
	return nil
}

func (s *Set) trees() map[string]*parse.Tree {
	out := map[string]*parse.Tree{}
	for _, t := range s.root.Templates() {
		out[t.Name()] = t.Tree
	}
	return out
}

// impure are the sprig functions whose result depends on more than their arguments (clock, zone, environment,
// network, chance, the order of a map), and those that change their arguments, which could even put a map into
// itself.
var impure = []string{
	"ago", "date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "htmlDate", "htmlDateInZone",
	"mustDateModify", "must_date_modify", "mustToDate", "now", "toDate", "unixEpoch", "env", "expandenv",
	"getHostByName", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle",
	"uuidv4", "bcrypt", "htpasswd", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "buildCustomCert", "set", "unset", "merge",
	"mergeOverwrite", "mustMerge", "mustMergeOverwrite", "duration", "durationRound", "keys", "values", "pluck",
}

// Functions are those that a template may call: sprig's, without the impure ones, and str and yaml. An action ends in
// one of the encoders: str (a value on one line), quote (a text, even where the value looks like a number), toJson, or
// yaml (a mapping or list on lines of its own, with the indentation).
func Functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range impure {
		delete(f, name)
	}
	f["str"], f["yaml"] = str, yamlBlock
	return f
}

// Execute renders one template; that of olmgen's own set if s is nil. What an embedded template yields is the
// object's final text. What a user's template yields is decoded, must be one object with kind and name, and is
// printed in olmgen's form.
func (s *Set) Execute(name string, view any) ([]byte, error) {
	t, err := s.lookup(name)
	if err != nil {
		return nil, err
	}
	b := yamltext.Buffer()
	defer yamltext.Free(b)
	var w io.Writer = b
	if s != nil && s.overlaid[name] {
		w = &limitedWriter{Writer: b}
		once, err := s.bounded()
		if err != nil {
			return nil, templateError(name, err)
		}
		defer s.free.Put(once)
		t = once.root.Lookup(name)
	}
	if err := t.Execute(w, view); err != nil {
		return nil, templateError(name, err)
	}
	text := bytes.Clone(b.Bytes())
	if s == nil || !s.overlaid[name] {
		return text, nil
	}
	return reprint(name, text)
}

func (s *Set) lookup(name string) (*template.Template, error) {
	if s != nil && s.root != nil {
		if t := s.root.Lookup(name); t != nil {
			return t, nil
		}
	} else if parsed := own()[name]; parsed != nil {
		return parsed()
	}
	return nil, fmt.Errorf("templates: no template %s", name)
}

var templatePlace = lazy.Regexp(`^template: ([^:]+):(\d+):(?:\d+:)? (?:executing "[^"]*" )?`)

// templateError returns an error of the library with its place in a template.
func templateError(name string, err error) error {
	e := &manifest.Error{File: name, Msg: err.Error()}
	if m := templatePlace().FindStringSubmatch(e.Msg); m != nil {
		e.File, e.Msg = m[1], e.Msg[len(m[0]):]
		e.Line, _ = strconv.Atoi(m[2])
	}
	if strings.Contains(e.Msg, "can't evaluate field") {
		e.Tip = "docs/reference/template-views.md has the fields of each template"
	}
	return e
}

// reprint decodes what a user's template made and prints it again.
func reprint(name string, text []byte) ([]byte, error) {
	docs, err := manifest.ReadFile(name, text, manifest.Limits{})
	if err != nil {
		return nil, fmt.Errorf("what the template yields is not YAML: %w", err)
	}
	docs = manifest.Written(docs)
	if len(docs) != 1 {
		return nil, &manifest.Error{File: name,
			Msg: fmt.Sprintf("the template must yield one object, not %d", len(docs))}
	}
	if d := docs[0].Duplicates; len(d) > 0 {
		return nil, &manifest.Error{File: name, Line: d[0].Line, Field: d[0].Key,
			Msg: "the key occurs twice in what the template yields"}
	}
	switch {
	case strings.HasPrefix(name, "kustomization"), name == "chart.yaml": // for a tool, not for a cluster
		v, err := docs[0].Value()
		m, ok := v.(map[string]any)
		if err != nil || !ok {
			return nil, &manifest.Error{File: name, Msg: "the template must yield a mapping"}
		}
		return manifest.Encode(m), nil
	case strings.HasPrefix(name, "patch"): // a JSON patch
		v, err := docs[0].Value()
		list, ok := v.([]any)
		if err != nil || !ok {
			return nil, &manifest.Error{File: name, Msg: "the template must yield a list"}
		}
		return printList(list), nil
	}
	objects, err := docs[0].Objects()
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 || objects[0].Name == "" || objects[0].APIVersion == "" {
		return nil, &manifest.Error{File: name,
			Msg: "the template must yield an object with apiVersion, kind and metadata.name"}
	}
	v, err := objects[0].Value()
	if err != nil {
		return nil, err
	}
	return manifest.Encode(v), nil
}

func printList(list []any) []byte {
	return []byte(strings.TrimLeft(manifest.Block(list, 2), " \n") + "\n")
}

// str prints a value on one line: a structure as JSON.
func str(v any) string {
	switch v := v.(type) {
	case string, bool, int32, nil:
		return manifest.Scalar(v)
	case manifest.Text:
		return manifest.Scalar(string(v))
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String && r.Type() != reflect.TypeFor[json.Number]():
		return manifest.Scalar(r.String())
	case r.Kind() == reflect.Pointer && !r.IsNil():
		return str(r.Elem().Interface())
	}
	return manifest.Scalar(v)
}

// yamlBlock prints a value behind "key:", structures on lines of their own: those of a mapping at indent, those of a
// list two less.
func yamlBlock(indent int, v any) (string, error) {
	switch v.(type) {
	case string:
		return " " + str(v), nil
	case manifest.Text, map[string]any, []any, map[string]string, []string:
		return manifest.Block(v, indent), nil
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		data, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var plain any
		if err := d.Decode(&plain); err != nil {
			return "", err
		}
		return manifest.Block(plain, indent), nil
	}
	return " " + str(v), nil
}
