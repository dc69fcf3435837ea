package kustomization

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Options are what a GitOps engine sets in a kustomization before it builds it. The zero value sets nothing.
type Options struct {
	By     *manifest.Object // that has them
	Fields []Field
	// Generate makes a kustomization of all manifests below a directory without one, as Flux does
	// (fluxcd/pkg: kustomize/kustomize_generator.go). It also allows to name files of other directories.
	Generate bool
}

// Field is a field of a kustomization: a list or mapping beside that of the file, or another value in its place.
type Field struct {
	Name  string
	Value any
	From  string // the field of Options.By
}

// With returns the kustomization of a directory, an absolute path, as an engine builds it, or nil if it has none.
func (b *Builder) With(dir string, o Options) *Kustomization {
	base := b.Load(dir)
	if base != nil && (base.Unknown != nil || len(o.Fields) == 0 && !o.Generate) || base == nil && !o.Generate {
		return base
	}
	said, err := json.Marshal(o.Fields)
	if err != nil {
		return base
	}
	key := fmt.Sprintf("%s\n%v\n%s", dir, o.Generate, said)
	if len(o.Fields) > 0 {
		key += fmt.Sprintf("\n%s:%d", o.By.File, o.By.Line)
	}
	if k, ok := b.with[key]; ok {
		return k
	}
	k := &Kustomization{Dir: dir, options: o}
	if base != nil {
		k.File, k.Name, k.doc, k.own, k.data = base.File, base.Name, base.doc, len(base.spec.Patches), base.data
	} else {
		k.File = filepath.Join(dir, Names()[0])
		k.Name = b.named(k.File)
		k.data, k.Unknown = b.generate(dir)
		docs, err := manifest.ReadFile(k.Name, k.data, fileLimits())
		if err != nil || len(docs) != 1 {
			return nil
		}
		k.doc = docs[0]
	}
	if k.Unknown == nil {
		k.Unknown = b.set(k)
	}
	b.with[key] = k
	return k
}

// set writes the fields of the options into the file of a kustomization: lists and mappings beside those that it has.
func (b *Builder) set(k *Kustomization) error {
	m := map[string]any{}
	if err := yaml.Unmarshal(k.data, &m); err != nil {
		return &manifest.Error{File: k.Name, Msg: err.Error()}
	}
	for _, f := range k.options.Fields {
		switch v := f.Value.(type) {
		case []any:
			m[f.Name] = slices.Concat(olm.Items(m[f.Name]), v)
		case map[string]any:
			m[f.Name] = merged(olm.Mapping(m[f.Name]), v)
		default:
			m[f.Name] = v
		}
	}
	var err error
	if k.data, err = json.Marshal(m); err != nil {
		return &manifest.Error{File: k.Name, Msg: err.Error()}
	}
	if err := k.spec.Unmarshal(k.data); err != nil {
		return k.options.By.Errorf("spec", "what it sets in %s is no kustomization", k.Name)
	}
	return b.entries(k)
}

// namespace returns the place of the namespace that a kustomization sets.
func (k *Kustomization) namespace() *manifest.Place {
	at := manifest.Place{File: k.Name, Line: k.errorf("namespace", "").Line}
	in := &manifest.Patch{Field: "namespace"}
	for _, f := range k.options.Fields {
		if f.Name == "namespace" {
			at, in = k.options.By.SetBy(f.From), &manifest.Patch{Doc: k.options.By.Doc, Field: f.From}
		}
	}
	at.Patch = cmp.Or(at.Patch, in)
	return &at
}

func (k *Kustomization) givenPatch(i int) (file string, line int, block bool, in manifest.Patch) {
	for _, f := range k.options.Fields {
		list, ok := f.Value.([]any)
		if f.Name != "patches" || !ok {
			continue
		}
		if i -= len(list); i >= 0 {
			continue
		}
		by := k.options.By
		field := fmt.Sprintf("%s[%d].patch", f.From, i+len(list))
		at := by.SetBy(field)
		in = manifest.Patch{Doc: manifest.Nowhere, Text: field} // nowhere, if a patch sets it
		if at.Patch == nil && at.File == by.File {
			in = manifest.Patch{Doc: by.Doc, Text: field}
			block = by.IsBlock(field)
		}
		return at.File, at.Line, block, in
	}
	return "", 0, false, manifest.Patch{}
}

// generate returns a kustomization of all manifests below a directory; what has a kustomization is a base.
func (b *Builder) generate(dir string) ([]byte, error) {
	resources := []any{}
	add := func(p string) error {
		rel, err := filepath.Rel(dir, p)
		resources = append(resources, filepath.ToSlash(rel))
		return err
	}
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == dir:
			return nil
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".git"):
			return filepath.SkipDir
		case entry.IsDir():
			if b.Load(p) == nil {
				return nil
			}
			if err := add(p); err != nil {
				return err
			}
			return filepath.SkipDir
		case slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(p)) && !strings.HasPrefix(entry.Name(), "."):
			if !entry.Type().IsRegular() {
				return nil
			}
			return add(p)
		}
		return nil
	})
	if err != nil {
		return nil, &manifest.Error{File: b.named(dir), Msg: err.Error()}
	}
	return json.Marshal(map[string]any{"apiVersion": types.KustomizationVersion, "kind": types.KustomizationKind,
		"resources": resources})
}
