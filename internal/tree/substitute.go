package tree

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/manifest"
)

// substitutions are the variables that Flux writes into what it builds (spec.postBuild).
type substitutions struct {
	by     *manifest.Object
	values map[string]value
	from   []source // that have others, the first ones first
}

type value struct {
	text  string
	of    *manifest.Object // that has it
	field string
}

// source is a ConfigMap or Secret with variables.
type source struct {
	kind, name string
	optional   bool
}

func substitutionsOf(o *manifest.Object, spec map[string]any) *substitutions {
	after := mapping(spec["postBuild"])
	if len(after) == 0 {
		return nil
	}
	s := &substitutions{by: o, values: map[string]value{}}
	for name, v := range mapping(after["substitute"]) {
		s.values[name] = value{fmt.Sprint(v), o, "spec.postBuild.substitute." + name}
	}
	for _, item := range items(after["substituteFrom"]) {
		from := mapping(item)
		s.from = append(s.from, source{str(from["kind"]), str(from["name"]), from["optional"] == true})
	}
	return s
}

// settle reads the variables of ConfigMaps. missing is the first source that is not in the tree.
func (s *substitutions) settle(configMap func(by *manifest.Object, name string) *manifest.Object) (missing string) {
	values := map[string]value{}
	for _, from := range s.from {
		var found *manifest.Object
		if from.kind == "ConfigMap" {
			found = configMap(s.by, from.name)
		}
		if found != nil {
			data, _ := found.Get("data")
			for name, v := range mapping(data) {
				values[name] = value{fmt.Sprint(v), found, "data." + name}
			}
		} else if missing == "" && !from.optional {
			missing = from.kind + " " + from.name
		}
	}
	maps.Copy(values, s.values)
	s.values = values
	return missing
}

// variable is one that Flux replaces (fluxcd/pkg: kustomize/kustomize_varsub.go; github.com/fluxcd/pkg/envsubst).
var variable = lazy.Regexp(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=])([^}]*)|([^}]*))\}`)

// apply returns the objects with the values of variables. The error is about one that the report cannot do without.
func (s *substitutions) apply(objects []*manifest.Object, missing string) ([]*manifest.Object, error) {
	out := make([]*manifest.Object, 0, len(objects))
	for _, o := range objects {
		was, err := o.Value()
		printed, meta := "", mapping(was["metadata"])
		asIs := mapping(meta["annotations"])[optOut] == "disabled" || mapping(meta["labels"])[optOut] == "disabled"
		if err == nil && !asIs {
			printed = string(manifest.Encode(was))
		}
		if !strings.Contains(printed, "${") {
			out = append(out, o)
			continue
		}
		unknown := ""
		said := variable().ReplaceAllStringFunc(printed, func(found string) string {
			if rest, ok := strings.CutPrefix(found, "$$"); ok {
				return "$" + rest
			}
			m := variable().FindStringSubmatch(found)
			v, ok := s.values[m[1]]
			switch {
			case m[4] != "":
				unknown = found
			case ok && (v.text != "" || !strings.HasPrefix(m[2], ":")):
				return v.text
			case m[2] != "":
				return m[3]
			case !ok && missing != "":
				unknown = found
			default:
				return ""
			}
			return found
		})
		if unknown != "" && (isOfOLM(o) || o.Group() == rbacv1.GroupName) {
			e := s.by.Errorf("spec.postBuild", "the value of %s is not known", unknown)
			if missing != "" {
				e.Tip = "it may be in the " + missing + ", which is not in the tree"
			}
			return nil, e
		}
		read, err := manifest.ReadOne(o.File, []byte(said))
		if err != nil {
			return nil, s.by.Errorf("spec.postBuild", "%s is no YAML with the values of the variables", o.Identity())
		}
		now, err := read.Value()
		if err != nil {
			return nil, err
		}
		out = append(out, o.Build(now, func(field string) manifest.Place { return s.place(o, field) }))
	}
	return out, nil
}

// place returns what sets a field of an object: the variable, if it has only one.
func (s *substitutions) place(o *manifest.Object, field string) manifest.Place {
	at := o.SetBy(field)
	v, err := o.Get(manifest.Segments(field)...)
	if err != nil || !strings.Contains(str(v), "${") {
		return at
	}
	set, ok := value{}, false
	if m := variable().FindStringSubmatch(str(v)); m != nil && m[0] == str(v) && m[0][1] == '{' {
		set, ok = s.values[m[1]]
	}
	if !ok {
		at.Patch = &manifest.Patch{Doc: manifest.Nowhere} // nobody can edit it
		return at
	}
	by := set.of.SetBy(set.field)
	by.Patch = cmp.Or(by.Patch, &manifest.Patch{Doc: set.of.Doc, Field: set.field})
	return by
}

// optOut is an annotation or label with which Flux leaves the variables of an object as they are.
const optOut = "kustomize.toolkit.fluxcd.io/substitute"
