package tree

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
)

// engineKinds are the kinds with which GitOps engines apply what they name, and their groups.
var engineKinds = map[string]string{"Application": "argoproj.io", "ApplicationSet": "argoproj.io",
	"Kustomization": "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io"}

// anyTop is what olmgen says of a path that every repository has.
const anyTop = "the path is the top of a repository, which may be another one"

type target struct {
	by        *manifest.Object
	field     string // of by, that names it
	dir       string // below the repository, with slashes
	options   kustomization.Options
	elsewhere bool // by is in another cluster, or it is not known
	// destination is that cluster; empty if it is not known
	destination string
	namespace   string // that objects without one get
	// namespaceAt is the field of by that has it.
	namespaceAt string
	chart       *release       // if the directory has a chart; nil: it cannot be one
	plain       *plainOptions  // how Argo CD reads a directory of manifests; nil for Flux
	postBuild   *substitutions // nil for none
}

// plainOptions are the field directory of a source of Argo CD (argoproj/argo-cd: ApplicationSourceDirectory).
type plainOptions struct {
	recurse          bool
	include, exclude string
}

// targetsOf returns what an object that isOfEngine knows applies. unknown says what of it is not known.
func (a *applied) targetsOf(o *manifest.Object) (list []target, unknown []*manifest.Error) {
	value, err := o.Value()
	if err != nil {
		return nil, nil
	}
	spec := mapping(value["spec"])
	switch o.Kind {
	case "Application":
		return applicationTargets(o, o.Name, spec, "spec")
	case "ApplicationSet":
		return a.applicationSet(o, spec)
	case "Kustomization":
		return fluxTargets(o, spec)
	}
	return fluxRelease(o, spec)
}

// isOfEngine reports whether a GitOps engine applies what an object names.
func isOfEngine(o *manifest.Object) bool { return o.Group() != "" && o.Group() == engineKinds[o.Kind] }

// applicationTargets returns what an Application applies. app is its name, at the field of o that is its spec.
func applicationTargets(o *manifest.Object, app string, spec map[string]any, at string) ([]target, []*manifest.Error) {
	var list []target
	var unknown []*manifest.Error
	destination := mapping(spec["destination"])
	server, name := str(destination["server"]), str(destination["name"])
	here := name == "" && server == "" || name == "in-cluster" ||
		strings.TrimSuffix(server, "/") == "https://kubernetes.default.svc"
	namespace := known(str(destination["namespace"]))
	sources := map[string]map[string]any{at + ".source": mapping(spec["source"])}
	for i, s := range items(spec["sources"]) {
		sources[fmt.Sprintf("%s.sources[%d]", at, i)] = mapping(s)
	}
	for _, field := range slices.Sorted(maps.Keys(sources)) {
		source := sources[field]
		dir, ok := source["path"].(string)
		switch {
		case str(source["chart"]) != "":
			unknown = append(unknown, o.Errorf(field+".chart", "the chart %s of %s is not in this tree",
				str(source["chart"]), cmp.Or(str(source["repoURL"]), "another repository")))
		case !ok:
		case isTemplate(dir):
			unknown = append(unknown, o.Errorf(field+".path", "the path of an Application depends on its generator"))
		case isTemplate(fmt.Sprint(source["kustomize"])),
			o.Kind == "ApplicationSet" && isTemplate(fmt.Sprint(source["helm"], app)):
			unknown = append(unknown, o.Errorf(field, "the options of an Application depend on its generator"))
		case clean(dir) == "":
			unknown = append(unknown, o.Errorf(field+".path", anyTop))
		case source["plugin"] != nil:
			unknown = append(unknown, o.Errorf(field+".plugin", "an Application needs a plugin of Argo CD"))
		default:
			directory := mapping(source["directory"])
			list = append(list, target{by: o, field: field + ".path", dir: clean(dir), elsewhere: !here,
				destination: known(cmp.Or(name, strings.TrimPrefix(server, "https://"))),
				namespace:   namespace, namespaceAt: at + ".destination.namespace",
				chart: argoRelease(o, app, namespace, field, source),
				plain: &plainOptions{directory["recurse"] == true, str(directory["include"]),
					str(directory["exclude"])},
				options: kustomization.Options{By: o,
					Fields: argoFields(mapping(source["kustomize"]), field+".kustomize")}})
		}
	}
	return list, unknown
}

// fieldsOf returns the fields of a kustomization that options set: name=path has the path of the value below at.
func fieldsOf(options map[string]any, at string, fields ...string) (out []kustomization.Field) {
	for _, f := range fields {
		name, from, renamed := strings.Cut(f, "=")
		if !renamed {
			from = name
		}
		var v any = options
		for key := range strings.SplitSeq(from, ".") {
			v = mapping(v)[key]
		}
		if str(v) != "" || len(items(v)) > 0 || len(mapping(v)) > 0 {
			out = append(out, kustomization.Field{Name: name, Value: v, From: at + "." + from})
		}
	}
	return out
}

// argoFields returns what the field kustomize of a source sets (argoproj/argo-cd: util/kustomize/kustomize.go).
func argoFields(options map[string]any, at string) []kustomization.Field {
	out := fieldsOf(options, at, "namePrefix", "nameSuffix", "namespace", "commonLabels", "commonAnnotations",
		"replicas", "components", "patches", "images")
	for i, f := range out {
		switch {
		case f.Name == "commonLabels" && options["labelWithoutSelector"] == true:
			out[i].Name, out[i].Value = "labels", labels(f.Value, options["labelIncludeTemplates"] == true)
		case f.Name == "images":
			out[i].Value = lists.Map(items(f.Value), func(v any) any { return argoImage(str(v)) })
		}
	}
	return out
}

// labels returns the field labels of a kustomization, without selectors.
func labels(pairs any, templates bool) []any {
	return []any{map[string]any{"pairs": pairs, "includeSelectors": false, "includeTemplates": templates}}
}

// argoImage reads an image as "kustomize edit set image" takes it: name=newname:tag, name:tag or name@digest.
func argoImage(s string) map[string]any {
	name, to, renamed := strings.Cut(s, "=")
	if !renamed {
		name, to = "", s
	}
	image := map[string]any{}
	if repo, digest, ok := strings.Cut(to, "@"); ok {
		to, image["digest"] = repo, digest
	} else if i := strings.LastIndex(to, ":"); i > strings.LastIndex(to, "/") {
		to, image["newTag"] = to[:i], to[i+1:]
	}
	if renamed {
		image["newName"] = to
	} else {
		name = to
	}
	image["name"] = name
	return image
}

// fluxTargets reads the spec of a Kustomization of Flux (fluxcd/kustomize-controller:
// internal/controller/kustomization_controller.go; fluxcd/pkg: kustomize/kustomize_generator.go).
func fluxTargets(o *manifest.Object, spec map[string]any) ([]target, []*manifest.Error) {
	if mapping(spec["sourceRef"])["kind"] != "GitRepository" {
		return nil, []*manifest.Error{o.Errorf("spec.sourceRef.kind",
			"the source of a Kustomization of Flux is no GitRepository")}
	}
	// "flux bootstrap" makes the source flux-system of the repository itself.
	if clean(str(spec["path"])) == "" && mapping(spec["sourceRef"])["name"] != "flux-system" {
		return nil, []*manifest.Error{o.Errorf("spec.path", anyTop)}
	}
	t := target{by: o, field: "spec.path", dir: clean(str(spec["path"])), elsewhere: spec["kubeConfig"] != nil,
		options: kustomization.Options{By: o, Generate: true}, postBuild: substitutionsOf(o, spec)}
	t.options.Fields = fieldsOf(spec, "spec", "commonAnnotations=commonMetadata.annotations", "components", "images",
		"labels=commonMetadata.labels", "namePrefix", "nameSuffix", "namespace=targetNamespace", "patches")
	for i, f := range t.options.Fields {
		if f.Name == "labels" {
			t.options.Fields[i].Value = labels(f.Value, false)
		}
	}
	return []target{t}, nil
}

// withNamespace returns the objects with the namespace of an Application where a namespaced one has none.
func (t target) withNamespace(objects []*manifest.Object) []*manifest.Object {
	if t.namespace == "" {
		return objects
	}
	out := slices.Clone(objects)
	for i, o := range objects {
		if kind, ok := olm.KindOf(o.Group(), o.Kind); !ok || !kind.Namespaced || o.Namespace != "" {
			continue
		}
		value, err := o.Value()
		meta := mapping(value["metadata"])
		if err != nil || meta == nil {
			continue
		}
		meta["namespace"] = t.namespace
		out[i] = o.Build(value, func(field string) manifest.Place {
			if field == "metadata.namespace" {
				file, line := t.by.PlaceOf(t.namespaceAt)
				return manifest.Place{File: file, Line: line}
			}
			return o.SetBy(field)
		})
	}
	return out
}

// takes reports whether Argo CD applies a file of a directory, by its path relative to that.
func (p plainOptions) takes(rel string) bool {
	if strings.Contains(rel, "/") && !p.recurse {
		return false
	}
	match := func(patterns string) bool {
		for pattern := range strings.SplitSeq(strings.Trim(patterns, "{}"), ",") {
			for _, name := range []string{rel, path.Base(rel)} {
				if ok, err := path.Match(strings.TrimSpace(pattern), name); ok && err == nil {
					return true
				}
			}
		}
		return false
	}
	return (p.include == "" || match(p.include)) && (p.exclude == "" || !match(p.exclude))
}

func clean(dir string) string { return strings.TrimPrefix(path.Clean("/"+dir), "/") }

// known returns a text, or "" for a template.
func known(s string) string {
	if isTemplate(s) {
		return ""
	}
	return s
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

func mapping(v any) map[string]any { m, _ := v.(map[string]any); return m }

func items(v any) []any { l, _ := v.([]any); return l }

func str(v any) string { s, _ := v.(string); return s }

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
func (s *substitutions) settle(holder func(kind string, by *manifest.Object, name string) *manifest.Object) (
	missing string) {
	values := map[string]value{}
	for _, from := range s.from {
		var found *manifest.Object
		if from.kind == "ConfigMap" {
			found = holder(from.kind, s.by, from.name)
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
