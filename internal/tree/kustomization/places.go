package kustomization

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// patch is a patch of a kustomization: a JSON patch, or objects that are merged.
type patch struct {
	file       string // in messages
	line       int    // that is added to the lines of doc: it is part of a file, if it is not 0
	at         int    // the line for everything, if it is not 0
	target     *types.Selector
	doc        *manifest.Document
	operations []operation
	value      map[string]any // that is merged
	in         manifest.Patch // Text is the field that has it; empty for a file
}

type operation struct {
	verb    string
	pointer []string // of its path
	value   any
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// operationsOf returns the operations of a JSON patch; one that is none, which kustomize refuses, has no verb.
func operationsOf(list []any) (out []operation) {
	for _, item := range list {
		fields := olm.Mapping(item)
		pointer := strings.Split(strings.TrimPrefix(olm.Text(fields["path"]), "/"), "/")
		for i, segment := range pointer {
			pointer[i] = pointerEscapes.Replace(segment)
		}
		out = append(out, operation{olm.Text(fields["op"]), pointer, fields["value"]})
	}
	return out
}

// patchesOf returns the patches of a kustomization in kustomize's order, without those that it will refuse to read.
func (b *Builder) patchesOf(k *Kustomization) []patch {
	if k.read || k.doc == nil {
		return k.patches
	}
	k.read = true
	for i, p := range k.old().merged {
		from := types.Patch{Path: string(p)}
		if isMapping(string(p)) {
			from = types.Patch{Patch: string(p)}
		}
		b.addPatch(k, from, fmt.Sprintf("patchesStrategicMerge[%d]", i), -1)
	}
	for i, p := range k.spec.Patches {
		b.addPatch(k, p, fmt.Sprintf("patches[%d].patch", i), i-k.own)
	}
	for i, p := range k.old().json {
		b.addPatch(k, p, fmt.Sprintf("patchesJson6902[%d].patch", i), -1)
	}
	return k.patches
}

// addPatch adds a patch of a field of the kustomization; if given is not negative, it is that one of the options.
func (b *Builder) addPatch(k *Kustomization, from types.Patch, field string, given int) {
	p := patch{file: k.Name, target: from.Target, in: manifest.Patch{Text: field}}
	var docs []*manifest.Document
	if from.Path != "" {
		abs := filepath.Join(k.Dir, filepath.FromSlash(from.Path))
		p.file, p.in, docs = b.named(abs), manifest.Patch{}, b.source(abs).docs
	} else {
		docs, _ = manifest.ReadFile(k.Name, []byte(from.Patch), fileLimits())
		var block bool
		if given >= 0 {
			p.file, p.at, block, p.in = k.givenPatch(given)
		} else {
			p.at = k.errorf(field, "").Line
			block = k.doc.IsBlock(field)
		}
		if block {
			p.line, p.at = p.at, 0
		}
	}
	for _, d := range docs {
		v, err := d.Value()
		if err != nil {
			continue
		}
		p.doc, p.value, p.operations = d, nil, nil
		switch v := v.(type) {
		case map[string]any:
			p.value = v
		case []any:
			p.operations = operationsOf(v)
		}
		k.patches = append(k.patches, p)
	}
}

type places struct {
	builder           *Builder
	root              *Kustomization
	base              *manifest.Object // nil if it was generated
	value             map[string]any   // what kustomize made of it
	group, kind, name string

	file string // of what was generated
	line int
}

// place returns what sets a field: the last patch with its value, the outermost namespace, or the file of the object.
func (p *places) place(field string) manifest.Place {
	if path := decoded.Segments(field); len(path) > 0 {
		if at := p.setter(path); at != nil {
			return *at
		}
	}
	if p.base != nil {
		return p.base.SetBy(field)
	}
	return manifest.Place{File: p.file, Line: p.line}
}

func (p *places) setter(path []string) *manifest.Place {
	now, there := decoded.At(p.value, path)
	var found *manifest.Place
	p.builder.outermost(p.root, func(k *Kustomization) bool {
		for _, one := range slices.Backward(p.builder.patchesOf(k)) {
			if p.matches(one) {
				if found = one.sets(path, now, there); found != nil {
					return true
				}
			}
		}
		if ns := k.spec.Namespace; ns != "" && now == any(ns) && slices.Equal(path, []string{"metadata", "namespace"}) {
			found = k.namespace()
			return true
		}
		return false
	})
	return found
}

// outermost visits a kustomization and what it builds on, a kustomization before its bases, until visit returns true.
func (b *Builder) outermost(k *Kustomization, visit func(*Kustomization) bool) {
	seen := map[string]bool{}
	var walk func(k *Kustomization) bool
	walk = func(k *Kustomization) bool {
		if k == nil || seen[k.Dir] {
			return false
		}
		seen[k.Dir] = true
		if visit(k) {
			return true
		}
		for _, dir := range slices.Backward(k.Bases) {
			if walk(b.Load(dir)) {
				return true
			}
		}
		return false
	}
	walk(k)
}

// matches reports whether a patch is for the object. Names and namespaces may have changed on the way.
func (p *places) matches(one patch) bool {
	names := []string{p.name}
	if p.base != nil {
		names = append(names, p.base.Name)
	}
	if one.target == nil {
		name := olm.Text(olm.Mapping(one.value["metadata"])["name"])
		group, _, _ := strings.Cut(fmt.Sprint(one.value["apiVersion"]), "/")
		return one.value["kind"] == p.kind && slices.Contains(names, name) && (group == p.group || p.group == "")
	}
	return p.builder.like(one.target.Kind, p.kind) && p.builder.like(one.target.Group, p.group) &&
		p.builder.like(one.target.Name, names...)
}

// like reports whether a regular expression of a target matches one of some texts as a whole.
func (b *Builder) like(pattern string, texts ...string) bool {
	if pattern == "" {
		return true
	}
	r, ok := b.patterns[pattern]
	if !ok {
		r, _ = regexp.Compile("^(?:" + pattern + ")$") // kustomize says what is wrong with it
		b.patterns[pattern] = r
	}
	return r != nil && slices.ContainsFunc(texts, r.MatchString)
}

// sets returns the place where a patch sets a field to a value; there is false if it takes it away.
func (p patch) sets(path []string, now any, there bool) *manifest.Place {
	if p.value != nil {
		if slices.Contains([]string{"apiVersion", "kind", "metadata.name"}, strings.Join(path, ".")) {
			return nil // these find the object
		}
		if v, ok := decoded.At(p.value, path); ok && (reflect.DeepEqual(v, now) || !there && v == nil) {
			return p.setter(strings.Join(path, "."))
		}
		return nil
	}
	for i, op := range slices.Backward(p.operations) {
		pointer, field := op.pointer, fmt.Sprintf("%d.value", i)
		switch {
		case op.verb == "remove" && len(pointer) <= len(path) && slices.Equal(pointer, path[:len(pointer)]) && !there:
			return p.setter(strconv.Itoa(i))
		case op.verb != "add" && op.verb != "replace":
		case len(pointer) <= len(path) && same(pointer, path[:len(pointer)]):
			if v, ok := decoded.At(op.value, path[len(pointer):]); ok && reflect.DeepEqual(v, now) {
				for _, segment := range path[len(pointer):] {
					field += "." + segment
				}
				return p.setter(field)
			}
		case len(pointer) > len(path) && same(pointer[:len(path)], path):
			return p.setter(field)
		}
	}
	return nil
}

// same compares a JSON pointer with a path. "-" is the end of a list.
func same(pointer, path []string) bool {
	return slices.EqualFunc(pointer, path, func(s, at string) bool { return s == at || s == "-" })
}

func (p patch) setter(field string) *manifest.Place {
	at := &manifest.Place{File: p.file, Line: p.at, Patch: &manifest.Patch{Doc: p.doc.Index, Field: field}}
	if at.Line == 0 {
		at.Line = p.line + p.doc.Errorf(field, "").Line
	}
	if p.in.Text != "" {
		at.Patch.Doc, at.Patch.Text = p.in.Doc, p.in.Text
	}
	return at
}
