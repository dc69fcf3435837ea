package krm

import (
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Result is an entry of ResourceList.results.
type Result struct {
	Message     string            `yaml:"message"`
	Severity    findings.Severity `yaml:"severity"`
	ResourceRef *Ref              `yaml:"resourceRef,omitempty"`
	Field       *Field            `yaml:"field,omitempty"`
	File        *File             `yaml:"file,omitempty"`
	Tags        map[string]string `yaml:"tags,omitempty"` // operator: its name; hint: what to do
}

// Ref names the object of a result.
type Ref struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Name       string `yaml:"name"`
}

// Field is the field of a result, in its object.
type Field struct {
	Path string `yaml:"path"`
}

// File is the file of the object.
type File struct {
	Path string `yaml:"path"`
}

// result returns a result about the functionConfig.
func (l *list) result(s findings.Severity, message string) Result {
	r := Result{Message: message, Severity: s, Tags: map[string]string{}}
	ref := Ref{scalarAt(l.config, "apiVersion"), scalarAt(l.config, "kind"), scalarAt(l.config, "metadata", "name")}
	if ref.APIVersion != "" && ref.Kind != "" && ref.Name != "" { // the specification requires all of them
		r.ResourceRef = &ref
	}
	if p := l.configPath(); p != "" {
		r.File = &File{p}
	}
	return r
}

// failure returns the result for an error.
func (l *list) failure(err error) Result {
	r := l.result(findings.Error, err.Error())
	if place := config.Place(err); place != nil && place.Field != "" && r.ResourceRef != nil {
		r.Message, r.Field = place.Msg, &Field{place.Field}
	}
	if hint := manifest.HintOf(err); hint != "" {
		r.Tags["hint"] = hint
	}
	return r
}

// results returns a result for each warning or note.
func (l *list) results(s findings.Severity, warnings []config.Warning) []Result {
	return lists.Map(warnings, func(w config.Warning) Result {
		r := l.result(s, w.String())
		if w.Operator != "" {
			r.Tags["operator"] = w.Operator
		}
		return r
	})
}
