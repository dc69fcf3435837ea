package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/transform"
	"github.com/olmgen/olmgen/templates"
)

// Rendered is what a RenderConfig renders to.
type Rendered struct {
	output.Tree
	Layout   output.Layout
	Opened   []*Opened // one for each operator, in the order of the file
	Files    output.Files
	Sources  []output.Source // one for each operator, in the order of the file
	Warnings []Warning       // in the order of the file
	Notes    []Warning       // what is as asked for and worth knowing
	Refused  error           // why it does not work; nil if nothing is known, or if it is accepted

	config    *Config // with the operators that were added
	options   Options
	all       []*loaded
	rendering []Warning // those of Warnings that are not about the layout
}

// Warning is something odd about an operator.
type Warning struct {
	Operator string // its name; empty if it is about the layout
	Class    string // what it can be suppressed by; empty if it can't, and of a note
	Message  string
	Reason   string // the same in warnings that say it of several places; empty if it is said of one
	Field    string // the name of the field that it is about, without those above it; may be empty
}

func (w Warning) String() string {
	if w.Operator == "" {
		return w.Message
	}
	return w.Operator + ": " + w.Message
}

// Render opens the bundles, renders all operators and lays them out, in memory. Errors name the place in the file.
func (c *Config) Render(ctx context.Context, o Options) (*Rendered, error) {
	if err := c.checkHelm(cmp.Or(o.Layout, c.Output.Layout), cmp.Or(o.HelmCRDs, c.Output.HelmCRDs)); err != nil {
		return nil, err
	}
	o.Catalogs = cmp.Or(o.Catalogs, &catalog.Cache{})
	c, added, err := c.withDependencies(ctx, o)
	if err != nil {
		return nil, err
	}
	all, err := c.load(ctx, o)
	if err != nil {
		return nil, err
	}
	set, err := c.generate(all)
	if err != nil {
		return nil, err
	}
	if err := c.checkShared(all); err != nil {
		return nil, err
	}
	r := &Rendered{Layout: cmp.Or(o.Layout, c.Output.Layout, output.LayoutFlat), Notes: added,
		config: c, options: o, all: all}
	for i, l := range all {
		r.Opened = append(r.Opened, l.opened)
		r.Sources = append(r.Sources, l.source)
		r.Operators = append(r.Operators, output.Operator{Name: l.Name, Channel: l.channel, Result: set.Results[i]})
	}
	c.addWarnings(r, all, set.Results)
	if c.flags() {
		r.Namespace = set.Results[0].Namespace
	}
	if r.Objects, err = c.transformed(set.Objects, all, o.Dir); err != nil {
		return nil, err
	}
	if err := c.checkKube(all, r.Objects); err != nil {
		return nil, err
	}
	if r.Templates, err = templates.LoadDir(in(o.Dir, c.Defaults.Templates)); err != nil {
		return nil, c.explain(defaultsField+".templates", -1, -1, &fieldError{"templates", err})
	}
	r.Change = c.annotate
	r.HelmCRDs = cmp.Or(o.HelmCRDs, c.Output.HelmCRDs)
	for i := range r.Sources {
		r.Sources[i].Lock = r.LockOf(r.Layout, i)
	}
	r.rendering = r.Warnings
	if err := r.LayOut(); err != nil {
		return nil, err
	}
	return r, nil
}

// LayOut makes Files and the warnings about the layout. Render has called it; a change of Objects makes it necessary
// again.
func (r *Rendered) LayOut() (err error) {
	r.Warnings = slices.Clip(r.rendering)
	for _, w := range r.Tree.Warnings(r.Layout) {
		r.Warnings = append(r.Warnings, Warning{Message: w})
	}
	if r.Files, err = r.Tree.Files(r.Layout); err != nil {
		return r.config.explain("output.layout", -1, -1, err)
	}
	return r.config.warnOfReleases(r)
}

// checkShared refuses to declare an API as shared that no operator provides: that is most likely a misspelled name.
func (c *Config) checkShared(all []*loaded) error {
	for i, name := range c.SharedAPIs {
		if !slices.ContainsFunc(all, func(l *loaded) bool {
			return slices.ContainsFunc(olm.OwnedAPIs(&l.Bundle.CSV.Spec), func(a olm.API) bool {
				return a.Plural+"."+a.Group == name
			})
		}) {
			return c.errorf(fmt.Sprintf("sharedAPIs[%d]", i),
				"write the plural and the group, such as ships.example.com",
				"no operator of the file provides %q", name)
		}
	}
	return nil
}

// generate renders the operators. One that comes from flags keeps the order of objects that it has by itself.
func (c *Config) generate(all []*loaded) (*generate.Set, error) {
	if c.flags() {
		result, err := generate.Render(all[0].Bundle, all[0].Options)
		if err != nil {
			if len(manifest.AboutOf(err)) == 0 { // it is about the bundle
				err = fmt.Errorf("%s: %w", all[0].opened.Ref, err)
			}
			return nil, c.explain(c.placeOf(all[0], err), 0, 0, bundle.WithWarnings(err, all[0].Bundle.Warnings))
		}
		set := &generate.Set{Results: []*generate.Result{result}}
		for _, x := range result.Objects {
			set.Objects = append(set.Objects, generate.Shared{Object: x, Operators: []int{0}})
		}
		return set, nil
	}
	operators := lists.Map(all, func(l *loaded) generate.Operator { return l.Operator })
	set, err := generate.RenderAll(operators)
	var one *generate.OperatorError
	switch {
	case errors.As(err, &one):
		l := all[one.Index]
		return nil, c.explain(c.placeOf(l, one.Err), l.group, l.index, bundle.WithWarnings(one.Err, l.Bundle.Warnings))
	case err != nil:
		return nil, c.explain("", -1, -1, err)
	}
	return set, nil
}

// addWarnings collects warnings and notes. An entry of a mirror map is only unused if no operator uses it.
func (c *Config) addWarnings(r *Rendered, all []*loaded, results []*generate.Result) {
	unused := map[string]int{} // mirrors, and by how many operators
	images := 0                // operators with images
	for i, l := range all {
		name, namer := l.Name, c.namer(l.group, l.index)
		if c.flags() {
			name = ""
		}
		suppressed := c.Groups[l.group].Bundles[l.index].withDefaults(c.Defaults).Suppress
		if !l.Options.Profile.HandsOver() {
			images++
		}
		for _, said := range l.remarks {
			r.Warnings = append(r.Warnings, Warning{Operator: name, Message: said})
		}
		for _, w := range results[i].Warnings {
			if slices.Contains(suppressed, w.Class) {
				continue
			}
			if w.Fails {
				err := manifest.WithHint(w.Error, "ship what is missing with the operator, or accept "+w.Class,
					option.Suppress)
				r.Refused = cmp.Or(r.Refused, c.explain(at(l.group, l.index, ""), l.group, l.index, err))
				continue
			}
			if w.Class == bundle.WarnMirrorMap && !c.flags() {
				unused[strings.TrimPrefix(w.Field+": "+w.Msg, ": ")]++
				continue
			}
			field := ""
			if segments := decoded.Segments(w.Field); len(segments) > 0 {
				field = segments[len(segments)-1]
			}
			r.Warnings = append(r.Warnings, Warning{Operator: name, Class: w.Class, Reason: w.Msg, Field: field,
				Message: WithOptionNames(w.Error.Error(), w.Options, namer)})
		}
		meta := output.MetaOperatorWarning(results[i])
		if meta != "" && l.Options.Profile == generate.ProfileSubscription && r.Layout != output.LayoutClusterScope {
			r.Warnings = append(r.Warnings, Warning{Operator: name, Message: meta}) // that layout says it itself
		}
		notes := slices.Concat(results[i].Notes, c.advice(all, results, i), sharing(all, results, i))
		if l.Options.Certs == generate.CertsManager && !l.Options.Profile.HandsOver() && NeedsItself(l.Bundle) {
			notes = append(notes,
				manifest.Message{Msg: ownCertificates, Options: []manifest.Option{option.Certs}})
		}
		if need := results[i].PodSecurity.Need(results[i].Namespace); need != "" && !labelled(results, results[i]) {
			notes = append(notes, manifest.Message{Msg: need})
		}
		for _, n := range notes {
			r.Notes = append(r.Notes, Warning{Operator: name, Message: WithOptionNames(n.Msg, n.Options, namer)})
		}
	}
	for _, w := range slices.Sorted(maps.Keys(unused)) {
		if unused[w] == images {
			r.Warnings = append(r.Warnings, Warning{Class: bundle.WarnMirrorMap, Message: w})
		}
	}
}

// labelled reports whether a result has the Namespace of an operator with the level of its pods, or a lower one.
func labelled(results []*generate.Result, r *generate.Result) bool {
	for _, other := range results {
		for _, o := range other.Objects {
			if o.Kind != "Namespace" || o.Name != r.Namespace {
				continue
			}
			label, err := o.Get("metadata", "labels", psa.EnforceLevelLabel)
			text, ok := label.(string)
			if err == nil && ok && psa.CompareLevels(psa.Level(text), r.PodSecurity.Level) <= 0 {
				return true
			}
		}
	}
	return false
}

func (c *Config) warnOfReleases(r *Rendered) error {
	if r.Layout != output.LayoutHelm {
		return nil
	}
	warnings, crds, err := r.ReleaseWarnings(r.Files)
	var about []manifest.Option
	if crds {
		about = append(about, option.HelmCRDs)
	}
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, Warning{Message: WithOptionNames(w, about, c.namer(-1, -1))})
	}
	return err
}

func (c *Config) placeOf(l *loaded, err error) string {
	if e, ok := errors.AsType[*generate.Error](err); ok {
		return c.blamed(l.group, l.index, e)
	}
	return at(l.group, l.index, "")
}

// transformed returns the objects with common labels and annotations, those of an engine, and all patches.
func (c *Config) transformed(objects []generate.Shared, all []*loaded, dir string) ([]generate.Shared, error) {
	err := c.annotate(objects)
	if err != nil {
		return nil, err
	}
	for i, l := range all {
		for k, p := range c.Groups[l.group].Bundles[l.index].Patches {
			field := at(l.group, l.index, fmt.Sprintf("patches[%d]", k))
			own := func(o generate.Shared) bool { return slices.Contains(o.Operators, i) }
			if objects, err = c.patch(objects, field, p, dir, own); err != nil {
				return nil, err
			}
		}
	}
	for k, p := range c.Patches {
		if objects, err = c.patch(objects, fmt.Sprintf("patches[%d]", k), p, dir, nil); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func (c *Config) annotate(objects []generate.Shared) error {
	if err := transform.Metadata(objects, c.CommonLabels, c.CommonAnnotations); err != nil {
		return err
	}
	return transform.Annotate(objects, c.Annotations)
}

func (c *Config) patch(objects []generate.Shared, field string, p transform.Patch, dir string,
	own func(generate.Shared) bool) ([]generate.Shared, error) {
	name := "patch"
	if p.Path != "" {
		name = filepath.ToSlash(p.Path)
		data, err := readFile(dir, p.Path)
		if err != nil {
			return nil, c.explain(field, -1, -1, err)
		}
		p.Patch = string(data)
	}
	out, err := transform.Apply(objects, name, p, own)
	if err != nil {
		err = c.explain(field, -1, -1, err)
	}
	return out, err
}
