// Package krm is olmgen as a KRM function: it reads a ResourceList and adds the objects that the RenderConfig in it
// renders.
//
// It follows the KRM Functions Specification, v1 (kustomize: cmd/config/docs/api-conventions/functions-spec.md).
package krm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// Run reads a ResourceList, renders its functionConfig, a RenderConfig, and writes the ResourceList with the rendered
// objects. An object replaces the item with its name; the others are appended. All other items are unchanged. Paths
// in the RenderConfig are relative to the file in its path annotation or, without one, to the working directory. If
// rendering fails, the items are unchanged, with a result for the error. Run returns the results that it wrote.
func Run(ctx context.Context, in io.Reader, out io.Writer, so source.Options) ([]Result, error) {
	l, err := read(in)
	if err != nil {
		return nil, err
	}
	items, results, err := l.render(ctx, so)
	if err != nil {
		r := l.result(findings.Error, err.Error())
		if place := config.Place(err); place != nil && place.Field != "" && r.ResourceRef.Name != "" {
			r.Message, r.Field.Path = place.Msg, place.Field
		}
		if hint := manifest.HintOf(err); hint != "" {
			r.Tags["hint"] = hint
		}
		items, results = l.items, []Result{r}
	}
	if err := l.write(out, items, results); err != nil {
		return nil, err
	}
	return results, err
}

func (l *list) render(ctx context.Context, so source.Options) ([]*yaml.Node, []Result, error) {
	if l.config == nil {
		return nil, nil, &manifest.Error{
			File: "stdin", Field: "functionConfig", Msg: "is missing", Tip: "add a RenderConfig",
		}
	}
	name := cmp.Or(l.configPath(), "functionConfig")
	data, err := yaml.Marshal(l.config)
	if err != nil {
		return nil, nil, err
	}
	c, err := config.ReadFunctionConfig(name, data)
	if err != nil {
		return nil, nil, err
	}
	dir, err := l.directory(c, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := c.Render(ctx, config.Options{Dir: filepath.FromSlash(path.Dir(l.configPath())), Source: so})
	if err == nil {
		err = r.Refused
	}
	if err != nil {
		return nil, nil, err
	}
	flat, err := r.Tree.Files(output.LayoutFlat) // for objects that the layout splits or leaves out
	if err != nil {
		return nil, nil, err
	}
	paths := map[output.ID]string{}
	for _, f := range slices.Concat(flat, r.Files) {
		if f.Object != (output.ID{}) {
			paths[f.Object] = f.Path
		}
	}
	items, err := l.merge(r.Objects, l.sources(c), func(o generate.Object) string {
		return path.Join(dir, paths[output.IDOf(o)])
	})
	return items, append(l.results(findings.Warning, r.Warnings), l.results(findings.Info, r.Notes)...), err
}

// configPath returns the file of the functionConfig that the orchestrator names, or "".
func (l *list) configPath() string { return pathOf(l.config) }

// directory returns the directory of new files, relative to the package.
func (l *list) directory(c *config.Config, name string) (string, error) {
	dir := filepath.ToSlash(c.Output.Directory)
	joined := path.Join(path.Dir(l.configPath()), dir)
	if filepath.IsAbs(c.Output.Directory) || path.IsAbs(dir) || joined == ".." || strings.HasPrefix(joined, "../") {
		return "", &manifest.Error{File: name, Field: "output.directory",
			Msg: fmt.Sprintf("%q is outside of the package, and a function can only write to the package", dir),
			Tip: "use a directory in the package, or leave the field out"}
	}
	return joined, nil
}

// sources returns the files and directories that bundles are read from, relative to the package.
func (l *list) sources(c *config.Config) (out []string) {
	for _, g := range c.Groups {
		for _, b := range g.Bundles {
			ref := filepath.ToSlash(source.In(path.Dir(l.configPath()), b.Source))
			out = append(out, path.Clean(ref[strings.IndexByte(ref, ':')+1:]))
		}
	}
	return out
}

// Result is an entry of ResourceList.results.
type Result struct {
	Message     string            `yaml:"message"`
	Severity    findings.Severity `yaml:"severity"`
	ResourceRef Ref               `yaml:"resourceRef,omitempty"`
	Field       Path              `yaml:"field,omitempty"` // in the object
	File        Path              `yaml:"file,omitempty"`  // of the object
	Tags        map[string]string `yaml:"tags,omitempty"`  // operator: its name; hint: what to do
}

// Ref names the object of a result.
type Ref struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Name       string `yaml:"name"`
}

// Path is the place of a result.
type Path struct {
	Path string `yaml:"path"`
}

func (l *list) result(s findings.Severity, message string) Result {
	r := Result{Message: message, Severity: s, Tags: map[string]string{}}
	ref := Ref{scalarAt(l.config, "apiVersion"), scalarAt(l.config, "kind"), scalarAt(l.config, "metadata", "name")}
	if ref.APIVersion != "" && ref.Kind != "" && ref.Name != "" { // the specification requires all of them
		r.ResourceRef = ref
	}
	r.File.Path = l.configPath()
	return r
}

func (l *list) results(s findings.Severity, warnings []config.Warning) []Result {
	return lists.Map(warnings, func(w config.Warning) Result {
		r := l.result(s, w.String())
		if w.Operator != "" {
			r.Tags["operator"] = w.Operator
		}
		return r
	})
}
