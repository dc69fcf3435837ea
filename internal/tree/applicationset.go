package tree

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// parameters are those of a template of an ApplicationSet, by their names with dots.
type parameters map[string]string

// maxParameters is how many sets of parameters the generators of one ApplicationSet may have.
const maxParameters = 10_000

// applicationSet returns what the Applications of an ApplicationSet apply
// (argoproj/argo-cd: applicationset/generators, applicationset/utils/utils.go).
func (a *applied) applicationSet(o *manifest.Object, spec map[string]any) ([]target, []*manifest.Error) {
	var sets []parameters
	for _, g := range items(spec["generators"]) {
		made, ok := a.generator(mapping(g))
		if !ok {
			return nil, []*manifest.Error{o.Errorf("spec.generators",
				"olmgen does not know what the generators of an ApplicationSet find")}
		}
		if sets = append(sets, made...); len(sets) > maxParameters {
			return nil, []*manifest.Error{o.Errorf("spec.generators", "more than %d Applications", maxParameters)}
		}
	}
	var list []target
	var unknown []*manifest.Error
	template := mapping(spec["template"])
	if spec["templatePatch"] != nil {
		unknown = append(unknown, o.Errorf("spec.templatePatch", "olmgen does not apply a templatePatch"))
	}
	for _, p := range sets {
		filled, _ := p.fill(template).(map[string]any)
		targets, why := applicationTargets(o, str(mapping(filled["metadata"])["name"]), mapping(filled["spec"]),
			"spec.template.spec")
		list, unknown = append(list, targets...), append(unknown, why...)
	}
	return list, unknown
}

// generator returns the parameters that a generator makes, without those of a cluster; ok: its kind is known.
func (a *applied) generator(g map[string]any) (sets []parameters, ok bool) {
	switch {
	case g["list"] != nil:
		return lists.Map(items(mapping(g["list"])["elements"]), flat), mapping(g["list"])["elementsYaml"] == nil
	case g["git"] != nil:
		return a.gitGenerator(mapping(g["git"])), true
	case g["clusters"] != nil:
		return []parameters{flat(map[string]any{"values": mapping(g["clusters"])["values"]})}, true
	case g["matrix"] != nil:
		sets = []parameters{{}}
		for _, inner := range items(mapping(g["matrix"])["generators"]) {
			var product []parameters
			made, ok := a.generator(mapping(inner))
			if !ok || len(made)*len(sets) > maxParameters {
				return nil, false
			}
			for _, one := range sets {
				for _, other := range made {
					both := maps.Clone(one)
					maps.Copy(both, other)
					product = append(product, both)
				}
			}
			sets = product
		}
		return sets, true
	}
	return nil, false
}

func (a *applied) gitGenerator(g map[string]any) (sets []parameters) {
	values := flat(map[string]any{"values": g["values"]})
	add := func(dir string, more parameters) {
		p := maps.Clone(values)
		maps.Copy(p, more)
		segments := strings.Split(dir, "/")
		for _, name := range []string{"path", "path.path"} {
			p[name] = dir
		}
		p["path.basename"] = path.Base(dir)
		p["path.basenameNormalized"] = strings.ToLower(notInNames().ReplaceAllString(path.Base(dir), "-"))
		for i, s := range segments {
			p["path["+strconv.Itoa(i)+"]"] = s
			p["path.segments."+strconv.Itoa(i)] = s
		}
		sets = append(sets, p)
	}
	wanted := func(dir string) (found bool) {
		for _, item := range items(g["directories"]) {
			m := mapping(item)
			if ok, err := path.Match(clean(str(m["path"])), dir); ok && err == nil {
				if m["exclude"] == true {
					return false
				}
				found = true
			}
		}
		return found
	}
	var patterns []gitignore.Pattern
	for _, item := range items(g["files"]) {
		patterns = append(patterns, gitignore.ParsePattern("/"+clean(str(mapping(item)["path"])), nil))
	}
	matcher := gitignore.NewMatcher(patterns)
	for _, e := range a.repositoryEntries() {
		switch {
		case e.dir && wanted(e.rel):
			add(e.rel, nil)
		case !e.dir && len(patterns) > 0 && matcher.Match(strings.Split(e.rel, "/"), false):
			for _, p := range a.fileParameters(e.rel) {
				add(path.Dir(e.rel), p)
			}
		}
	}
	return sets
}

var notInNames = lazy.Regexp(`[^-a-zA-Z0-9.]+`)

type entry struct {
	rel string
	dir bool
}

// repositoryEntries lists the repository once, without what begins with a dot.
func (a *applied) repositoryEntries() []entry {
	if a.entries != nil {
		return a.entries
	}
	a.entries = []entry{}
	_ = filepath.WalkDir(a.top, func(p string, d fs.DirEntry, err error) error {
		// what is not readable is not there
		switch {
		case err == nil && p != a.top && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return filepath.SkipDir
		case err != nil || p == a.top:
		case d.IsDir() || d.Type().IsRegular():
			rel := strings.TrimPrefix(p, a.top+string(filepath.Separator))
			a.entries = append(a.entries, entry{filepath.ToSlash(rel), d.IsDir()})
		}
		return nil //nolint:nilerr // see above
	})
	return a.entries
}

// fileParameters reads the file of a generator: a mapping, or a list of them.
func (a *applied) fileParameters(rel string) (sets []parameters) {
	file := filepath.Join(a.top, filepath.FromSlash(rel))
	data, err := whole.ReadFile(file, budget.File)
	if err != nil {
		return nil
	}
	docs, err := manifest.ReadFile(a.name(file), data, whole.Limits(budget.TreeFile))
	if err != nil {
		return nil
	}
	for _, d := range docs {
		v, err := d.Value()
		list, isList := v.([]any)
		if !isList && err == nil {
			list = []any{v}
		}
		sets = append(sets, lists.Map(list, flat)...)
	}
	return sets
}

// flat returns the scalars of a value by their names with dots.
func flat(v any) parameters {
	out := parameters{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, below := range v {
				walk(strings.TrimPrefix(at+"."+key, "."), below)
			}
		case []any:
			for i, below := range v {
				walk(at+"."+strconv.Itoa(i), below)
			}
		case nil:
		default:
			out[at] = fmt.Sprint(v)
		}
	}
	walk("", v)
	return out
}

// action has the plain value of a parameter: {{path.basename}}, {{ .path.path }}, {{ index .path.segments 1 }}.
var action = lazy.Regexp(`\{\{-?\s*(?:index\s+\.([A-Za-z0-9_.]+)\s+([0-9]+)|\.?([A-Za-z0-9_.\[\]-]+))\s*-?\}\}`)

// fill writes parameters into the texts of a value. An action that is not known stays.
func (p parameters) fill(v any) any {
	return manifest.CopyValue(v, func(v any) any {
		s, ok := v.(string)
		if !ok {
			return v
		}
		return action().ReplaceAllStringFunc(s, func(found string) string {
			m := action().FindStringSubmatch(found)
			name := cmp.Or(m[3], m[1]+"."+m[2])
			if value, ok := p[name]; ok {
				return value
			}
			return found
		})
	})
}
