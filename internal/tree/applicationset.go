package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// parameters are a set of those that generators make. Argo CD has them as a tree for Go templates only, otherwise by
// their names with dots.
type parameters struct {
	values map[string]any
	open   bool // it has others, which are those of a cluster
}

// generation makes the Applications of an ApplicationSet
// (argoproj/argo-cd: applicationset/generators, applicationset/utils/utils.go).
type generation struct {
	*explorer
	by      *manifest.Object
	goStyle bool // its templates are Go templates
	strict  bool // a parameter that is missing is an error
}

// Why Argo CD does not do what an ApplicationSet says.
var (
	// errRefused: it generates nothing, and keeps the Applications that there are
	// (applicationset/controllers/applicationset_controller.go, Reconcile).
	errRefused = errors.New("the ApplicationSet cannot be generated")
	// errTwice: it leaves out these Applications (validateGeneratedApplications there).
	errTwice   = errors.New("two Applications of an ApplicationSet have one name")
	errMissing = errors.New("the generators do not make") // a parameter
)

// refused returns why Argo CD generates nothing.
func (g generation) refused(field, format string, args ...any) *manifest.Error {
	e := g.by.Errorf(field, "Argo CD generates no Application of the set: "+format, args...)
	e.Err = errRefused
	return e
}

const (
	maxParameters = 10_000     // sets of parameters that a generator has
	maxLooked     = 20_000_000 // files and directories that generators look at, some of them several times
)

// applicationSet returns what the Applications of an ApplicationSet apply.
func (x *explorer) applicationSet(o *manifest.Object, spec map[string]any) (list []target, unknown []*manifest.Error) {
	g := generation{x, o, spec["goTemplate"] == true,
		slices.Contains(texts(spec["goTemplateOptions"]), "missingkey=error")}
	named := map[string]bool{}
	for i, item := range olm.Items(spec["generators"]) {
		sets, err := g.generate(fmt.Sprintf("spec.generators[%d]", i), item)
		if err != nil {
			unknown = append(unknown, err)
			continue
		}
		template := olm.Mapping(spec["template"])
		for _, of := range olm.Mapping(item) {
			template = merged(template, olm.Mapping(olm.Mapping(of)["template"]), false)
		}
		for _, p := range sets {
			app, err := g.application(p, template, olm.Text(spec["templatePatch"]))
			if err != nil {
				unknown = append(unknown, err)
				continue
			}
			name := olm.Text(olm.Mapping(app["metadata"])["name"])
			if named[name] && name != "" && !isTemplate(name) {
				twice := o.Errorf("spec.template.metadata.name", "two Applications are %s: Argo CD updates none", name)
				twice.Err = errTwice
				unknown = append(unknown, twice)
				continue
			}
			named[name] = true
			targets, why := x.applicationTargets(o, name, olm.Mapping(app["spec"]), "spec.template.spec")
			for i := range targets {
				targets[i].app = known(name)
			}
			list, unknown = append(list, targets...), append(unknown, why...)
		}
	}
	return list, unknown
}

// application fills the template with parameters (argoproj/argo-cd: applicationset/controllers/template).
func (g generation) application(p parameters, template map[string]any, patch string) (map[string]any, *manifest.Error) {
	filled, err := g.fill(p, template)
	if err != nil {
		return nil, g.unfilled(p, "spec.template", err)
	}
	app := olm.Mapping(filled)
	if patch, err = g.text(p, patch); err == nil && patch != "" {
		var over any
		if over, err = g.parse(patch); err == nil && isTemplate(patch) {
			err = errGenerator
		}
		app = merged(app, olm.Mapping(over), true)
	}
	if err != nil {
		return nil, g.unfilled(p, "spec.templatePatch", err)
	}
	return app, nil
}

// unfilled returns why parameters do not fill a field.
func (g generation) unfilled(p parameters, field string, err error) *manifest.Error {
	if g.strict && !p.open && errors.Is(err, errMissing) {
		return g.refused(field, "%s", err)
	}
	return g.by.Errorf(field, "%s", err)
}

func (g generation) parse(text string) (any, error) {
	docs, err := manifest.ReadFile(g.by.File, []byte(text), whole.Limits(budget.File))
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return docs[0].Value()
}

// generate returns the sets of a generator.
func (g generation) generate(at string, item any) (sets []parameters, err *manifest.Error) {
	kinds := slices.Sorted(maps.Keys(olm.Mapping(item)))
	kind := strings.Join(kinds, " with ") // of several, one is a selector
	of := olm.Mapping(olm.Mapping(item)[kind])
	switch at += "." + kind; kind {
	case "list":
		sets, err = g.list(at, of)
	case "git":
		sets, err = g.git(at, of)
	case "clusters":
		p := parameters{set(nil).values, true}
		sets, err = []parameters{p}, g.addValues(at, p, of)
	case "matrix":
		sets, err = g.matrix(at, olm.Items(of["generators"]))
	case "merge":
		sets, err = g.merge(at, of)
	default:
		err = g.by.Errorf(at, "olmgen does not know what the generator %s finds", kind)
	}
	if len(sets) > maxParameters {
		err = g.by.Errorf(at, "more than %d Applications", maxParameters)
	}
	return sets, err
}

// set returns a set of the values of a file or list.
func set(v any) parameters { return parameters{values: merged(nil, olm.Mapping(v), true)} }

func (g generation) list(at string, of map[string]any) ([]parameters, *manifest.Error) {
	more, err := g.parse(olm.Text(of["elementsYaml"]))
	if err != nil || isTemplate(olm.Text(of["elementsYaml"])) {
		return nil, g.by.Errorf(at+".elementsYaml", "olmgen does not know its elements")
	}
	return lists.Map(slices.Concat(olm.Items(of["elements"]), olm.Items(more)), set), nil
}

// matrix has each set of the first generator with each of the second, which may depend on it.
func (g generation) matrix(at string, generators []any) (sets []parameters, err *manifest.Error) {
	if len(generators) != 2 {
		return nil, g.refused(at, "a matrix has two generators")
	}
	first, err := g.generate(at+".generators[0]", generators[0])
	for _, a := range first {
		filled, _ := g.fill(parameters{a.values, true}, generators[1])
		second, err := g.generate(at+".generators[1]", filled)
		if err != nil || len(sets)+len(second) > maxParameters {
			return nil, cmp.Or(err, g.by.Errorf(at, "more than %d Applications", maxParameters))
		}
		for _, b := range second {
			sets = append(sets, parameters{merged(b.values, a.values, false), a.open || b.open})
		}
	}
	return sets, err
}

// merge has the sets of the first generator, with those of others that have the same values of some keys.
func (g generation) merge(at string, of map[string]any) (sets []parameters, err *manifest.Error) {
	where := map[string]int{}
	for i, item := range olm.Items(of["generators"]) {
		more, err := g.generate(fmt.Sprintf("%s.generators[%d]", at, i), item)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			key := ""
			for _, name := range texts(of["mergeKeys"]) {
				v, known := p.value(name, "")
				if p.open && !known {
					return nil, g.by.Errorf(at, "olmgen does not know the %s of a cluster", name)
				}
				key += fmt.Sprintf("%q ", v)
			}
			n, ok := where[key]
			switch {
			case i == 0 && ok:
				return nil, g.refused(at, "sets have the same mergeKeys")
			case i == 0:
				where[key], sets = len(sets), append(sets, p)
			case ok:
				sets[n] = parameters{merged(sets[n].values, p.values, !g.goStyle), sets[n].open || p.open}
			}
		}
	}
	return sets, nil
}

// addValues adds what the field values of a generator makes of the parameters.
func (g generation) addValues(at string, p parameters, of map[string]any) *manifest.Error {
	filled, err := g.fill(p, olm.Mapping(of["values"]))
	if err != nil {
		return g.unfilled(p, at+".values", err)
	}
	p.values["values"] = filled
	return nil
}

// git returns a set of parameters for each directory, and for each mapping in a file, that a generator finds in a
// repository.
func (g generation) git(at string, of map[string]any) (sets []parameters, err *manifest.Error) {
	top := g.topOf(olm.Text(of["repoURL"]))
	entries := g.repositoryEntries(top)
	g.looked += len(entries)
	if isTemplate(fmt.Sprint(of["repoURL"], of["directories"], of["files"])) || of["pathParamPrefix"] != nil ||
		g.looked > maxLooked {
		return nil, g.by.Errorf(at, "olmgen does not know what the generator finds")
	}
	add := func(dir, file string, p parameters) {
		p.values["path"] = pathParameters(dir, file)
		err = cmp.Or(err, g.addValues(at, p, of))
		sets = append(sets, p)
	}
	wanted := func(dir string) (found bool) {
		for _, item := range olm.Items(of["directories"]) {
			m := olm.Mapping(item)
			if ok, err := path.Match(clean(olm.Text(m["path"])), dir); ok && err == nil {
				if m["exclude"] == true {
					return false
				}
				found = true
			}
		}
		return found
	}
	var patterns []gitignore.Pattern
	for _, not := range []string{"", "!"} {
		for _, item := range olm.Items(of["files"]) {
			if olm.Mapping(item)["exclude"] == true == (not != "") {
				glob := clean(olm.Text(olm.Mapping(item)["path"]))
				patterns = append(patterns, gitignore.ParsePattern(not+"/"+glob, nil))
			}
		}
	}
	matcher := gitignore.NewMatcher(patterns)
	for _, e := range entries {
		switch {
		case e.dir && wanted(e.rel):
			add(e.rel, "", set(nil))
		case !e.dir && len(patterns) > 0 && matcher.Match(strings.Split(e.rel, "/"), false):
			found, bad := g.fileParameters(filepath.Join(top, filepath.FromSlash(e.rel)))
			switch {
			case bad == nil:
			case manifest.AboutOf(bad) == nil && !errors.Is(bad, manifest.ErrNotHere):
				err = cmp.Or(err, g.refused(at+".files", "%s", bad))
			default:
				err = cmp.Or(err, g.by.Errorf(at+".files", "%s", bad))
			}
			for _, v := range found {
				add(path.Dir(e.rel), path.Base(e.rel), set(v))
			}
		}
	}
	return sets, err
}

// pathParameters are about a directory or file (argoproj/argo-cd: applicationset/generators/git.go).
func pathParameters(dir, file string) map[string]any {
	of := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalized(path.Base(dir)),
		"segments": lists.Map(strings.Split(dir, "/"), func(s string) any { return s })}
	if file != "" {
		of["filename"], of["filenameNormalized"] = file, normalized(file)
	}
	return of
}

// normalized returns a name as an API server takes it (argoproj/argo-cd: applicationset/utils/template_functions.go).
func normalized(name string) string {
	name = notInNames().ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 253)], "-.")
}

var notInNames = lazy.Regexp(`[^-a-z0-9.]`)

type entry struct {
	rel string
	dir bool
}

// repositoryEntries lists a repository once, without what begins with a dot.
func (x *explorer) repositoryEntries(top string) []entry {
	if list, ok := x.entries[top]; ok {
		return list
	}
	var list []entry
	_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		// what is not readable is not there
		switch {
		case err == nil && p != top && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return filepath.SkipDir
		case err != nil || p == top:
		case d.IsDir() || d.Type().IsRegular():
			rel := strings.TrimPrefix(p, top+string(filepath.Separator))
			list = append(list, entry{filepath.ToSlash(rel), d.IsDir()})
		}
		return nil //nolint:nilerr // see above
	})
	x.entries[top] = list
	return list
}

// fileParameters reads the file of a generator: a mapping, or a list of them.
func (x *explorer) fileParameters(file string) (sets []any, err error) {
	data, err := whole.ReadFile(file, budget.File)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.ReadFile(x.name(file), data, whole.Limits(budget.TreeFile))
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		v, err := d.Value()
		if err != nil {
			return nil, err
		}
		if list, isList := v.([]any); isList {
			sets = append(sets, list...)
		} else {
			sets = append(sets, v)
		}
	}
	return sets, nil
}

// Actions that have the value of a parameter, or a segment of a path.
var (
	action   = lazy.Regexp(`\{\{ *([^{}]*?)(?:\[([0-9]+)\])? *\}\}`)
	goAction = lazy.Regexp(`\{\{ *(?:index +)?\.([\w.]+)(?: +([0-9]+))? *\}\}`)
)

// get returns a parameter, or an item of it; nil if there is none.
func (p parameters) get(name, item string) any {
	var v any = p.values
	for key := range strings.SplitSeq(strings.Trim(name+"."+item, "."), ".") {
		if i, err := strconv.Atoi(key); err == nil && i < len(olm.Items(v)) {
			v = olm.Items(v)[i]
		} else {
			v = olm.Mapping(v)[key]
		}
	}
	return v
}

// value returns the text of a parameter, and of an item of it; false if there is none.
func (p parameters) value(name, item string) (string, bool) {
	v := p.get(name, item)
	return fmt.Sprint(v), v != nil && olm.Mapping(v) == nil && olm.Items(v) == nil
}

// fill writes parameters into the texts of a value. What is not known of an open set stays.
func (g generation) fill(p parameters, v any) (filled any, first error) {
	filled = decoded.Copy(v, func(v any) any {
		s, ok := v.(string)
		if !ok {
			return v
		}
		made, err := g.text(p, s)
		if err != nil {
			first = cmp.Or(first, err)
			return v
		}
		return made
	})
	if p.open {
		first = nil
	}
	return filled, first
}

// text fills a text. Go templates with more than values of parameters are for helm's engine.
func (g generation) text(p parameters, s string) (string, error) {
	form := action
	if g.goStyle {
		form = goAction
	}
	if g.goStyle && strings.Count(s, "{{") != len(form().FindAllString(s, -1)) {
		return g.template(s, p.values)
	}
	var unknown error
	return form().ReplaceAllStringFunc(s, func(found string) string {
		m := form().FindStringSubmatch(found)
		if m[1] == "path" && !g.goStyle {
			m[1] = "path.path"
			if m[2] != "" {
				m[1] = "path.segments"
			}
		}
		v, ok := p.value(m[1], m[2])
		switch {
		case ok:
			return v
		case g.goStyle:
			unknown = fmt.Errorf("%s is no text", found)
			if p.get(m[1], m[2]) == nil {
				unknown = fmt.Errorf("%w %s", errMissing, found)
			}
		}
		return found
	}), unknown
}
