package tree

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// engineKinds are the kinds with which GitOps engines apply what they name, and their groups.
var engineKinds = map[string]string{"Application": "argoproj.io", "ApplicationSet": "argoproj.io",
	"Kustomization": "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io"}

// errGenerator is about a text that a generator has not filled.
var errGenerator = errors.New("it depends on its generator")

// anyTop is what olmgen reports of a path that every repository has.
const anyTop = "the path is the top of a repository, which may be another one"

type target struct {
	by        *manifest.Object
	app       string // the Application, if by is a set, and its name is known
	field     string // of by, that names it
	dir       string // absolute
	address   string // of the repository that has it; "" if it is not known
	revision  string // of the repository, or the source that has it
	options   kustomization.Options
	elsewhere bool // by is in another cluster, or it is not known
	// destination is that cluster; empty if it is not known
	destination string
	namespace   string // that objects without one get
	// namespaceAt is the field of by that has it.
	namespaceAt string
	sync        []string       // options of Argo CD
	chart       *release       // if the directory has a chart; nil: it cannot be one
	plain       *plainOptions  // how Argo CD reads a directory of manifests; nil for Flux
	postBuild   *substitutions // nil for none
}

// repository returns what targets of one revision of a repository have in common; "" if it is not known.
func (t target) repository() string {
	if t.address == "" {
		return ""
	}
	return repos.Normal(t.address) + " " + t.revision
}

// plainOptions are the field directory of a source of Argo CD (argoproj/argo-cd: ApplicationSourceDirectory).
type plainOptions struct {
	recurse          bool
	include, exclude string
}

// targetsOf returns what an object that isOfEngine knows applies. unknown says what of it is not known.
func (x *explorer) targetsOf(o *manifest.Object) (list []target, unknown []*manifest.Error) {
	value, err := o.Value()
	if err != nil {
		return nil, nil
	}
	spec := olm.Mapping(value["spec"])
	switch o.Kind {
	case "Application":
		return x.applicationTargets(o, o.Name, spec, "spec")
	case "ApplicationSet":
		return x.applicationSet(o, spec)
	case "Kustomization":
		return x.fluxTargets(o, spec)
	}
	return x.fluxRelease(o, spec)
}

// isOfEngine reports whether a GitOps engine applies what an object names.
func isOfEngine(o *manifest.Object) bool { return o.Group() != "" && o.Group() == engineKinds[o.Kind] }

func isOfFlux(o *manifest.Object) bool { return strings.HasSuffix(o.Group(), ".toolkit.fluxcd.io") }

// topOf returns the directory of a repository: the checkout of its address, or that of the tree.
func (x *explorer) topOf(address string) string { return cmp.Or(x.repos.Dir(address), x.top) }

// dirOf returns a directory of a repository. The error says that it may be one of another repository.
func (x *explorer) dirOf(o *manifest.Object, field, address, dir string) (string, *manifest.Error) {
	if clean(dir) == "" && x.repos.Dir(address) == "" {
		return "", o.Errorf(field, anyTop)
	}
	return filepath.Join(x.topOf(address), filepath.FromSlash(clean(dir))), nil
}

// chartDir returns the directory of a chart of a repository of charts.
func (x *explorer) chartDir(o *manifest.Object, field, address, name string) (string, *manifest.Error) {
	if dir := x.repos.Chart(address, name); dir != "" {
		return dir, nil
	}
	return "", x.repos.Missing(o.Errorf(field, "its chart is not in this tree"), address)
}

// argoSource is a source of an Application.
type argoSource struct {
	by        *manifest.Object
	app       string // its name
	namespace string // of its destination
	field     string // of by
	value     map[string]any
	dir       string            // absolute
	refs      map[string]string // the addresses of the sources with a ref
}

func (s argoSource) address() string { return olm.Text(s.value["repoURL"]) }

// applicationTargets returns what an Application applies. app is its name, at the field of o that is its spec.
func (x *explorer) applicationTargets(o *manifest.Object, app string, spec map[string]any, at string) (list []target,
	unknown []*manifest.Error) {
	destination := olm.Mapping(spec["destination"])
	server, name := olm.Text(destination["server"]), olm.Text(destination["name"])
	here := name == "" && server == "" || name == "in-cluster" ||
		strings.TrimSuffix(server, "/") == "https://kubernetes.default.svc"
	namespace := known(olm.Text(destination["namespace"]))
	options := texts(olm.Mapping(spec["syncPolicy"])["syncOptions"])
	sources := map[string]map[string]any{at + ".source": olm.Mapping(spec["source"])}
	refs := map[string]string{}
	for i, s := range olm.Items(spec["sources"]) {
		sources[fmt.Sprintf("%s.sources[%d]", at, i)] = olm.Mapping(s)
		refs[olm.Text(olm.Mapping(s)["ref"])] = olm.Text(olm.Mapping(s)["repoURL"])
	}
	for _, field := range slices.Sorted(maps.Keys(sources)) {
		s := argoSource{by: o, app: app, namespace: namespace, field: field, value: sources[field], refs: refs}
		t, err := x.argoTarget(&s)
		if err != nil {
			unknown = append(unknown, err)
		}
		if t != nil {
			t.elsewhere, t.destination = !here, known(cmp.Or(name, strings.TrimPrefix(server, "https://")))
			t.namespace, t.namespaceAt, t.sync = namespace, at+".destination.namespace", options
			list = append(list, *t)
		}
	}
	return list, unknown
}

// argoTarget returns what a source applies; nil if it applies nothing, or if that is not known.
func (x *explorer) argoTarget(s *argoSource) (*target, *manifest.Error) {
	o, field := s.by, s.field
	dir, ok := s.value["path"].(string)
	chart := olm.Text(s.value["chart"])
	switch {
	case !ok && chart == "":
		return nil, nil
	case isTemplate(dir), isTemplate(chart), isTemplate(s.address()):
		return nil, o.Errorf(field+".path", "the path of an Application depends on its generator")
	}
	var err *manifest.Error
	if chart != "" {
		field += ".chart"
		s.dir, err = x.chartDir(o, field, s.address(), chart)
	} else {
		field += ".path"
		s.dir, err = x.dirOf(o, field, s.address(), dir)
	}
	if err != nil {
		return nil, err
	}
	if err := x.override(s); err != nil {
		return nil, err
	}
	switch {
	case isTemplate(fmt.Sprint(s.value["kustomize"])),
		o.Kind == "ApplicationSet" && isTemplate(fmt.Sprint(s.value["helm"], s.app)):
		return nil, o.Errorf(s.field, "the options of an Application depend on its generator")
	case s.value["plugin"] != nil:
		return nil, o.Errorf(s.field+".plugin", "an Application needs a plugin of Argo CD")
	}
	directory := olm.Mapping(s.value["directory"])
	return &target{by: o, field: field, dir: s.dir, address: s.address(), chart: s.release(chart != ""),
		revision: cmp.Or(olm.Text(s.value["targetRevision"]), "HEAD"),
		plain: &plainOptions{directory["recurse"] == true, olm.Text(directory["include"]),
			olm.Text(directory["exclude"])},
		options: kustomization.Options{By: s.by,
			Fields: argoFields(olm.Mapping(s.value["kustomize"]), s.field+".kustomize")}}, nil
}

// override reads the files that change a source, and which are in its directory (argoproj/argo-cd:
// reposerver/repository/repository.go, mergeSourceParameters).
func (x *explorer) override(s *argoSource) *manifest.Error {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + s.app + ".yaml"} {
		if !has(s.dir, name) {
			continue
		}
		file := filepath.Join(s.dir, name)
		data, err := repos.Read(x.repos.Limit(s.dir, x.top), file)
		var docs []*manifest.Document
		if err == nil {
			docs, err = manifest.ReadFile(x.name(file), data, whole.Limits(budget.File))
		}
		if err != nil || len(docs) != 1 {
			return s.by.Errorf(s.field, "%s changes what is applied, and it cannot be read", x.name(file))
		}
		doc, was := docs[0], s.value
		patch, err := doc.Value()
		if err != nil {
			return (&manifest.Object{File: x.name(file)}).AsError(err)
		}
		s.value = merged(was, olm.Mapping(patch), true)
		for _, key := range []string{"chart", "path", "repoURL", "targetRevision"} {
			s.value[key] = was[key]
		}
		s.by = placed(s.by, s.field, doc, olm.Mapping(patch))
	}
	return nil
}

// placed returns an object, a field of which a file changes.
func placed(o *manifest.Object, field string, doc *manifest.Document, patch map[string]any) *manifest.Object {
	value, err := o.Value()
	if err != nil {
		return o
	}
	return o.Build(value, func(at string) manifest.Place {
		rest, ok := strings.CutPrefix(at, field+".")
		if key := decoded.Segments(rest); ok && patch[key[0]] != nil {
			return manifest.Place{File: doc.File, Line: doc.Errorf(rest, "").Line, Patch: &manifest.Patch{Field: rest}}
		}
		return o.SetBy(at)
	})
}

// merged returns a mapping with what another one has. patch: as a patch of JSON (RFC 7396), where a null takes a field
// out; otherwise what is empty does not count (dario.cat/mergo, as Argo CD uses it).
func merged(base, over map[string]any, patch bool) map[string]any {
	out := map[string]any{}
	maps.Copy(out, base)
	for key, v := range over {
		m, isMapping := v.(map[string]any)
		empty := v == nil || v == "" || v == false || len(m) == 0 && isMapping
		switch {
		case v == nil && patch:
			delete(out, key)
		case isMapping && (patch || len(m) > 0):
			out[key] = merged(olm.Mapping(out[key]), m, patch)
		case patch || !empty:
			out[key] = v
		}
	}
	return out
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
			v = olm.Mapping(v)[key]
		}
		if olm.Text(v) != "" || len(olm.Items(v)) > 0 || len(olm.Mapping(v)) > 0 {
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
			out[i].Value = lists.Map(olm.Items(f.Value), func(v any) any { return argoImage(olm.Text(v)) })
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
func (x *explorer) fluxTargets(o *manifest.Object, spec map[string]any) ([]target, []*manifest.Error) {
	ref := olm.Mapping(spec["sourceRef"])
	address := x.fluxAddress(o, ref)
	if ref["kind"] != "GitRepository" && x.repos.Dir(address) == "" {
		return nil, []*manifest.Error{x.repos.Missing(o.Errorf("spec.sourceRef.kind",
			"the source of a Kustomization of Flux is no GitRepository"), address)}
	}
	t := target{by: o, field: "spec.path", address: address, revision: olm.Text(ref["name"]),
		elsewhere: spec["kubeConfig"] != nil,
		options:   kustomization.Options{By: o, Generate: true}, postBuild: substitutionsOf(o, spec)}
	var err *manifest.Error
	// "flux bootstrap" makes the source flux-system of the repository itself.
	if t.dir, err = x.dirOf(o, t.field, address, olm.Text(spec["path"])); err != nil && ref["name"] == "flux-system" {
		t.dir, err = x.top, nil
	}
	if err != nil {
		return nil, []*manifest.Error{err}
	}
	t.options.Fields = fieldsOf(spec, "spec", "commonAnnotations=commonMetadata.annotations", "components", "images",
		"labels=commonMetadata.labels", "namePrefix", "nameSuffix", "namespace=targetNamespace", "patches")
	for i, f := range t.options.Fields {
		if f.Name == "labels" {
			t.options.Fields[i].Value = labels(f.Value, false)
		}
	}
	return []target{t}, nil
}

// fluxAddress returns the address of a source of Flux, or "" if the tree does not say it.
func (x *explorer) fluxAddress(by *manifest.Object, ref map[string]any) string {
	kind, namespace, name := olm.Text(ref["kind"]), olm.Text(ref["namespace"]), olm.Text(ref["name"])
	source := x.holder("source.toolkit.fluxcd.io", kind, by, namespace, name)
	if source == nil {
		return ""
	}
	return olm.Text(olm.Get(source, "spec", "url"))
}

// dependency is an object that others of its clusters wait for.
type dependency struct {
	clusters string
	named
	namespace string
}

// await reports what objects of Flux wait for in vain: what is not in the tree, which has others of the kind, and each
// other (fluxcd/kustomize-controller: internal/controller/kustomization_controller.go, getSource, checkDependencies).
func (x *explorer) await() {
	flux := lists.Filter(x.acted, func(h held) bool { return isOfFlux(h.o) })
	next := map[dependency][]dependency{}
	self := func(h held) dependency {
		return dependency{strings.Join(x.homes(h), " "), named{h.o.Group(), h.o.Kind, h.o.Name}, h.o.Namespace}
	}
	names := map[[2]string][]string{} // by group and kind
	for of := range x.byName {
		names[[2]string{of.group, of.kind}] = append(names[[2]string{of.group, of.kind}], of.name)
	}
	for _, list := range names {
		slices.Sort(list)
	}
	selves := lists.Map(flux, self)
	for i, h := range flux {
		o, by := h.o, selves[i]
		for _, at := range []string{"spec.sourceRef", "spec.chart.spec.sourceRef", "spec.chartRef"} {
			x.missing(names, o, at, dependency{"", named{"source.toolkit.fluxcd.io", "", ""}, o.Namespace},
				olm.Get(o, strings.Split(at, ".")...))
		}
		for n, v := range olm.Items(olm.Get(o, "spec", "dependsOn")) {
			d := x.missing(names, o, fmt.Sprintf("spec.dependsOn[%d]", n), by, v)
			if olm.Mapping(v)["readyExpr"] == nil {
				next[by] = append(next[by], d)
			}
		}
	}
	for i, h := range flux {
		by, seen := selves[i], map[dependency]bool{}
		for todo := slices.Clone(next[by]); len(todo) > 0 && !seen[by]; todo = todo[1:] {
			if d := todo[0]; !seen[d] {
				seen[d], todo = true, append(todo, next[d]...)
			}
		}
		if !seen[by] {
			continue
		}
		for _, n := range x.nodes {
			if n.by == h.o {
				n.objects, n.later = nil, false
				n.unknown = h.o.Errorf("spec.dependsOn", "%s waits for itself: Flux never applies it", h.o.Identity())
			}
		}
	}
}

// missing returns what a reference names, by what it has if the reference does not say it. It says what is not in the
// tree, which has others of the kind.
func (x *explorer) missing(names map[[2]string][]string, o *manifest.Object, at string, d dependency,
	ref any) dependency {
	to := olm.Mapping(ref)
	d.kind, d.name = cmp.Or(olm.Text(to["kind"]), d.kind), olm.Text(to["name"])
	d.namespace = cmp.Or(olm.Text(to["namespace"]), d.namespace)
	is := func(h held) bool {
		return h.o.Namespace == d.namespace || h.o.Namespace == "" || d.namespace == ""
	}
	any := func(in []held) bool { return slices.ContainsFunc(in, is) }
	if d.name == "" || lists.Any(maps.Values(x.byName[d.named]), any) {
		return d
	}
	others := lists.Filter(names[[2]string{d.group, d.kind}], func(name string) bool {
		return d.kind != o.Kind || name != o.Name
	})
	if len(others) > 0 {
		e := o.Errorf(at+".name", "%s %s/%s is not in the tree: Flux waits for it", d.kind, d.namespace, d.name)
		if near := text.Nearest(d.name, others); near != "" {
			e.Tip = "did you mean " + near
		}
		x.say(e)
	}
	return d
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
		meta := olm.Mapping(value["metadata"])
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

// substitutions are the variables that Flux writes into what it builds (spec.postBuild).
type substitutions struct {
	by      *manifest.Object
	values  map[string]value
	from    []source // that have others, the first ones first
	missing string   // the first of them that is not in the tree
	always  bool     // without any variable, too
	err     error    // why Flux refuses one
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
	after := olm.Mapping(spec["postBuild"])
	if len(after) == 0 {
		return nil
	}
	s := &substitutions{by: o, values: map[string]value{}, always: after["substituteStrategy"] == "Always"}
	for name, v := range olm.Mapping(after["substitute"]) {
		s.values[name] = value{oneLine(v), o, "spec.postBuild.substitute." + name}
	}
	for _, item := range olm.Items(after["substituteFrom"]) {
		from := olm.Mapping(item)
		s.from = append(s.from, source{olm.Text(from["kind"]), olm.Text(from["name"]), from["optional"] == true})
	}
	return s
}

// settle reads the variables of ConfigMaps, and returns what names all of them with their values.
func (s *substitutions) settle(x *explorer) string {
	values := map[string]value{}
	for _, from := range s.from {
		var found *manifest.Object
		if from.kind == "ConfigMap" {
			found = x.holder("", from.kind, s.by, "", from.name)
		}
		if found != nil {
			for name, v := range olm.Mapping(olm.Get(found, "data")) {
				values[name] = value{oneLine(v), found, "data." + name}
			}
		} else if s.missing == "" && !from.optional {
			s.missing = from.kind + " " + from.name
		}
	}
	maps.Copy(values, s.values)
	s.values = values
	said := s.missing
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		said += fmt.Sprintf("\n%s=%q", name, v.text)
		if !variableName().MatchString(name) && s.err == nil {
			s.err = v.of.Errorf(v.field, "this is no name of a variable: Flux applies nothing of %s", s.by.Identity()).
				With("rename it: letters, digits and _, no digit first")
		}
	}
	return said
}

// oneLine returns the value of a variable as Flux takes it.
func oneLine(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "\n", "") }

// variable is one that Flux replaces (fluxcd/pkg: kustomize/kustomize_varsub.go; github.com/fluxcd/pkg/envsubst).
var (
	variable     = lazy.Regexp(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=])([^}]*)|([^}]*))\}`)
	variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// mostOf returns how many bytes an object may have with the values of its variables.
func mostOf(printed string) int { return max(int(budget.Of(budget.Object).Bytes), 2*len(printed)) }

// fill returns a text with the values of its variables, those that are unknown, and its size. What would be larger than
// an object may be is not built.
func (s *substitutions) fill(printed string) (said string, unknown []string, size int) {
	size = len(printed)
	with := func(value string) string {
		if size += len(value); size > mostOf(printed) {
			return ""
		}
		return value
	}
	said = variable().ReplaceAllStringFunc(printed, func(found string) string {
		if rest, ok := strings.CutPrefix(found, "$$"); ok {
			return "$" + rest
		}
		m := variable().FindStringSubmatch(found)
		v, ok := s.values[m[1]]
		switch {
		case m[4] != "":
			unknown = lists.Add(unknown, found)
		case ok && (v.text != "" || !strings.HasPrefix(m[2], ":")):
			return with(v.text)
		case m[2] != "":
			return with(m[3])
		case !ok && s.missing != "":
			unknown = lists.Add(unknown, found)
		default:
			return ""
		}
		return found
	})
	return said, unknown, size
}

// apply returns the objects with the values of variables. The error is about one that the report cannot do without.
func (s *substitutions) apply(objects []*manifest.Object, x *explorer) ([]*manifest.Object, error) {
	if s.err != nil || len(s.values) == 0 && s.missing == "" && !s.always {
		return objects, s.err
	}
	out := make([]*manifest.Object, 0, len(objects))
	for _, o := range objects {
		was, err := o.Value()
		printed, meta := "", olm.Mapping(was["metadata"])
		asIs := olm.Mapping(meta["annotations"])[optOut] == "disabled" ||
			olm.Mapping(meta["labels"])[optOut] == "disabled"
		if err == nil && !asIs {
			printed = string(manifest.Encode(was))
		}
		if !strings.Contains(printed, "${") {
			out = append(out, o)
			continue
		}
		said, unknown, size := s.fill(printed)
		if len(unknown) > 0 && decides(o) {
			e := s.by.Errorf("spec.postBuild", "the value of %s is not known", unknown[0])
			if s.missing != "" {
				e.Tip = "it may be in the " + s.missing + ", which is not in the tree"
			}
			return nil, e
		}
		over := x.substituted.Charge(int64(size), 0)
		if size > mostOf(printed) {
			over = fmt.Sprintf("%s has more than %d MiB with the values of the variables", o.Identity(),
				mostOf(printed)>>20)
		}
		if over != "" {
			return nil, manifest.OverLimit(s.by.Errorf("spec.postBuild", "%s", over))
		}
		read, err := manifest.ReadOne(o.File, []byte(said))
		if err != nil {
			return nil, s.by.Errorf("spec.postBuild", "%s is no YAML with the values of the variables", o.Identity())
		}
		now, err := read.Value()
		if err != nil {
			return nil, err
		}
		made := o.Build(now, func(field string) manifest.Place { return s.place(o, field) })
		if out = append(out, made); isOfEngine(o) {
			x.open[made] = unknown
		}
	}
	return out, nil
}

// decides reports whether the report is about an object.
func decides(o *manifest.Object) bool { return isOfOLM(o) || o.Group() == rbacv1.GroupName }

// unsettled looks in objects for unknown variables that what applies them has. The error is about an object that the
// report cannot do without.
func (x *explorer) unsettled(t target, objects []*manifest.Object) error {
	open := x.open[t.by]
	if len(open) == 0 {
		return nil
	}
	for _, o := range objects {
		v, err := o.Value()
		if err != nil {
			continue
		}
		printed := string(manifest.Encode(v))
		for _, variable := range open {
			if !strings.Contains(printed, variable) {
				continue
			}
			if decides(o) {
				return t.by.Errorf(t.field, "the value of %s is not known", variable)
			}
			x.open[o] = lists.Add(x.open[o], variable)
		}
	}
	return nil
}

// refused returns what Flux cannot apply as it is meant, or nil: an object without name or namespace, with which it
// applies only CRDs and Namespaces (fluxcd/pkg: ssa/manager_apply.go), and a variable that nothing fills.
func (t target) refused(objects []*manifest.Object) error {
	if t.by == nil || !isOfFlux(t.by) {
		return nil
	}
	for _, o := range objects {
		kind, known := olm.KindOf(o.Group(), o.Kind)
		switch {
		case o.Name == "":
			return o.Errorf("metadata.name", "a %s without a name: Flux does not apply it", o.Kind)
		case known && kind.Namespaced && o.Namespace == "" && t.chart == nil:
			return o.Errorf("metadata.namespace", "%s has no namespace: Flux refuses %s", o.Identity(),
				t.by.Identity()).With("set it, or spec.targetNamespace")
		case o.Group() != olm.Group || o.Kind != v1alpha1.SubscriptionKind:
			continue
		}
		for _, field := range []string{"name", "channel", "installPlanApproval"} {
			if left := variable().FindString(olm.Text(olm.Get(o, "spec", field))); left != "" {
				return o.Errorf("spec."+field, "nothing fills %s: OLM gets %s with it", left, o.Identity()).
					With("write the value, or let spec.postBuild fill it")
			}
		}
	}
	return nil
}

// place returns what sets a field of an object: the variable, if it has only one.
func (s *substitutions) place(o *manifest.Object, field string) manifest.Place {
	at := o.SetBy(field)
	v, err := o.Get(decoded.Segments(field)...)
	if err != nil || !strings.Contains(olm.Text(v), "${") {
		return at
	}
	set, ok := value{}, false
	if m := variable().FindStringSubmatch(olm.Text(v)); m != nil && m[0] == olm.Text(v) && m[0][1] == '{' {
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
