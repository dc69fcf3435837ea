package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/manifest"
)

// release is a chart as an engine renders it.
type release struct {
	charts.Release
	name   string // of the Application or HelmRelease
	asked  bool   // it is a chart whatever else its directory has
	values func(x *explorer, r *charts.Release) error
	err    error // why the values are not known
}

// settle reads the values, and returns what names the release with them.
func (r *release) settle(x *explorer) string {
	r.err = r.values(x, &r.Release)
	said, err := json.Marshal(r.Release)
	r.err = cmp.Or(r.err, err)
	return fmt.Sprintf("%x", sha256.Sum256(said))
}

// release returns how Argo CD renders the chart of a source (argoproj/argo-cd: reposerver/repository/repository.go,
// helmTemplate). asked: it must be a chart.
func (s *argoSource) release(asked bool) *release {
	helm := olm.Mapping(s.value["helm"])
	r := &release{name: s.app, asked: asked || s.value["helm"] != nil, Release: charts.Release{Name: s.app,
		Namespace: s.namespace, CRDs: helm["skipCrds"] != true, SkipSchema: helm["skipSchemaValidation"] == true,
		KubeVersion: olm.Text(helm["kubeVersion"]), APIVersions: texts(helm["apiVersions"])}}
	if name := olm.Text(helm["releaseName"]); name != "" {
		r.Name = name
	}
	if !r.asked && (s.value["kustomize"] != nil || s.value["directory"] != nil) {
		return nil
	}
	r.values = func(x *explorer, to *charts.Release) error {
		return argoValues{x, s, helm, strings.NewReplacer(
			"$ARGOCD_APP_NAMESPACE", s.namespace, "${ARGOCD_APP_NAMESPACE}", s.namespace,
			"$ARGOCD_APP_NAME", s.app, "${ARGOCD_APP_NAME}", s.app)}.add(to)
	}
	return r
}

// argoValues are the fields of a source about values.
type argoValues struct {
	x *explorer
	*argoSource
	helm map[string]any
	env  *strings.Replacer
}

func (a argoValues) errorf(field, format string, args ...any) *manifest.Error {
	return a.by.Errorf(a.field+".helm."+field, format, args...)
}

// add adds the values in the order in which helm reads its flags: files, parameters, texts, files of parameters.
func (a argoValues) add(to *charts.Release) error {
	for i, name := range texts(a.helm["valueFiles"]) {
		text, err := a.read(fmt.Sprintf("valueFiles[%d]", i), name, a.helm["ignoreMissingValueFiles"] == true)
		if err != nil {
			return err
		}
		to.Values = append(to.Values, charts.Value{YAML: text})
	}
	if own := olm.Mapping(a.helm["valuesObject"]); len(own) > 0 {
		v, err := charts.ValuesOf(own)
		if err != nil {
			return a.errorf("valuesObject", "%s", err)
		}
		to.Values = append(to.Values, v)
	} else if own := olm.Text(a.helm["values"]); own != "" {
		to.Values = append(to.Values, charts.Value{YAML: own})
	}
	var forced []charts.Value
	for _, item := range olm.Items(a.helm["parameters"]) {
		p := olm.Mapping(item)
		value := withCommas(a.env.Replace(olm.Text(p["value"])))
		v := charts.Value{Set: olm.Text(p["name"]) + "=" + value, Text: p["forceString"] == true}
		if v.Text {
			forced = append(forced, v)
		} else {
			to.Values = append(to.Values, v)
		}
	}
	to.Values = append(to.Values, forced...)
	for i, item := range olm.Items(a.helm["fileParameters"]) {
		p := olm.Mapping(item)
		text, err := a.read(fmt.Sprintf("fileParameters[%d].path", i), olm.Text(p["path"]), false)
		if err != nil {
			return err
		}
		to.Values = append(to.Values, charts.Value{Set: olm.Text(p["name"]) + "=file", File: &text})
	}
	return nil
}

// read returns the text of a file of values: relative to the chart, to the repository, or to a source with a ref.
func (a argoValues) read(field, name string, optional bool) (string, error) {
	name = a.env.Replace(name)
	if strings.Contains(name, "://") {
		return "", a.errorf(field, "it is remote, and olmgen reads what is in the tree")
	}
	dir, top := a.dir, a.x.topOf(a.address())
	if rest, ok := strings.CutPrefix(name, "$"); ok {
		ref, rest, _ := strings.Cut(rest, "/")
		top = a.x.topOf(a.refs[ref])
		dir, name = top, rest
	} else if strings.HasPrefix(name, "/") {
		dir = top
	}
	return a.x.valueFile(a.by, a.field+".helm."+field, top, filepath.Join(dir, filepath.FromSlash(name)), optional)
}

// valueFile returns the text of a file of values, which a field of an object names. It is below top.
func (x *explorer) valueFile(by *manifest.Object, field, top, abs string, optional bool) (string, error) {
	text, err := repos.Read(top, abs)
	switch absent := errors.Is(err, fs.ErrNotExist); {
	case absent && !optional:
		return "", by.Errorf(field, "%s does not exist", x.name(abs))
	case err != nil && !absent:
		return "", by.Errorf(field, "%s: %s", x.name(abs), regular.Reason(err))
	}
	return string(text), nil
}

// withCommas returns a value for the flag --set, where a comma ends one (argoproj/argo-cd: util/helm/cmd.go,
// cleanSetParameters).
func withCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	return strings.ReplaceAll(strings.ReplaceAll(value, `\,`, ","), ",", `\,`)
}

func texts(v any) []string { return lists.Map(olm.Items(v), olm.Text) }

// fluxRelease returns how Flux renders the chart of a HelmRelease (fluxcd/helm-controller: internal/action/install.go,
// fluxcd/source-controller: internal/helm/chart/builder_local.go).
func (x *explorer) fluxRelease(o *manifest.Object, spec map[string]any) ([]target, []*manifest.Error) {
	chart, field := olm.Mapping(olm.Mapping(spec["chart"])["spec"]), "spec.chart.spec.chart"
	ref, name := olm.Mapping(chart["sourceRef"]), olm.Text(chart["chart"])
	if spec["chartRef"] != nil {
		ref, name, field = olm.Mapping(spec["chartRef"]), "", "spec.chartRef"
	}
	address := x.fluxAddress(o, ref)
	var dir, files string // what valuesFiles are relative to
	var err *manifest.Error
	switch {
	case len(olm.Items(spec["postRenderers"])) > 0:
		err = o.Errorf("spec.postRenderers", "olmgen does not run postRenderers")
	case ref["kind"] == "GitRepository":
		dir, err = x.dirOf(o, field, address, name)
		files = x.topOf(address)
	case address != "":
		dir, err = x.chartDir(o, field, address, name)
		files = dir
	default:
		err = o.Errorf(field, "the chart is of %v %v, which is not in this tree", ref["kind"], ref["name"])
	}
	if err != nil {
		return nil, []*manifest.Error{err}
	}
	install := olm.Mapping(spec["install"])
	namespace, at := olm.Text(spec["targetNamespace"]), "spec.targetNamespace"
	if name = olm.Text(spec["releaseName"]); name == "" {
		name = strings.TrimPrefix(namespace+"-"+o.Name, "-")
	}
	if len(name) > 53 { // fluxcd/helm-controller: internal/release/name.go
		sum := sha256.Sum256([]byte(name))
		name = name[:40] + "-" + hex.EncodeToString(sum[:])[:12]
	}
	if namespace == "" {
		namespace, at = o.Namespace, "metadata.namespace"
	}
	r := &release{name: o.Name, asked: true, Release: charts.Release{Name: name, Namespace: namespace,
		CRDs: install["crds"] != "Skip", SkipSchema: install["disableSchemaValidation"] == true}}
	if install["disableHooks"] == true {
		r.Hooks = charts.None
	}
	r.values = func(x *explorer, to *charts.Release) error { return x.fluxValues(o, spec, files, to) }
	return []target{{by: o, field: field, dir: dir, address: address, revision: olm.Text(ref["name"]), chart: r,
		namespace: namespace, namespaceAt: at, elsewhere: spec["kubeConfig"] != nil}}, nil
}

// fluxValues adds the values of a HelmRelease (fluxcd/pkg: chartutil/values.go, ChartValuesFromReferences).
func (x *explorer) fluxValues(o *manifest.Object, spec map[string]any, top string, to *charts.Release) error {
	chart := olm.Mapping(olm.Mapping(spec["chart"])["spec"])
	for i, name := range texts(chart["valuesFiles"]) {
		text, err := x.valueFile(o, fmt.Sprintf("spec.chart.spec.valuesFiles[%d]", i), top,
			filepath.Join(top, filepath.FromSlash(clean(name))), chart["ignoreMissingValuesFiles"] == true)
		if err != nil {
			return err
		}
		to.Defaults = append(to.Defaults, text)
	}
	for i, item := range olm.Items(spec["valuesFrom"]) {
		from := olm.Mapping(item)
		key := olm.Text(from["valuesKey"])
		if key == "" {
			key = "values.yaml"
		}
		kind, name, path := olm.Text(from["kind"]), olm.Text(from["name"]), olm.Text(from["targetPath"])
		text, ok := textOf(x.holder("", kind, o, "", name), key)
		switch {
		case !ok && from["optional"] == true:
		case !ok:
			return o.Errorf(fmt.Sprintf("spec.valuesFrom[%d]", i), "%s of %s %s is not in the tree", key, kind, name)
		case path == "":
			to.Values = append(to.Values, charts.Value{YAML: text})
		default:
			plain := strings.Trim(text, `"`)
			if strings.HasPrefix(text, "'") {
				plain = strings.Trim(text, "'")
			}
			to.Values = append(to.Values, charts.Value{Set: path + "=" + plain, Text: plain != text})
		}
	}
	if own := olm.Mapping(spec["values"]); len(own) > 0 {
		v, err := charts.ValuesOf(own)
		if err != nil {
			return o.Errorf("spec.values", "%s", err)
		}
		to.Values = append(to.Values, v)
	}
	return nil
}

// textOf returns the text of a key of a ConfigMap or Secret, if it is known: one that SOPS encrypted is not.
func textOf(o *manifest.Object, key string) (string, bool) {
	if o == nil || o.Has("sops") {
		return "", false
	}
	for _, field := range []string{"stringData", "data"} {
		s, ok := olm.Mapping(olm.Get(o, field))[key].(string)
		switch {
		case !ok:
		case field == "data" && o.Kind == "Secret":
			data, err := base64.StdEncoding.DecodeString(s)
			return string(data), err == nil
		default:
			return s, true
		}
	}
	return "", false
}

// isChart reports whether a target is a chart (argoproj/argo-cd: util/app/discovery/discovery.go: of several kinds the
// one that is set, or kustomize).
func (x *explorer) isChart(t target, dir string) bool {
	return t.chart != nil && (t.chart.asked || x.builder.Load(dir) == nil) && has(dir, "Chart.yaml")
}

func (x *explorer) chartObjects(t target, dir string) ([]*manifest.Object, error) {
	if t.chart.err != nil {
		return nil, t.chart.err
	}
	return x.builder.Render(dir, t.chart.Release, true) // both run "helm dependency build"
}

// Chart is a chart of helm.
type Chart struct {
	Name    string        // of its directory, in messages
	Applied bool          // an engine or a kustomization of the tree renders it
	Digest  func() string // of its files
}

// chartsOf returns the charts that are in no other one.
func (a *applied) chartsOf() (list []Chart) {
	for _, name := range slices.Sorted(maps.Keys(a.found)) {
		if in := a.chartOf(name); in == "" || !strings.HasPrefix(name, in+"/charts/") {
			dir := a.found[name]
			list = append(list, Chart{name, a.charts.Used[dir], func() string { return a.charts.Digest(dir) }})
		}
	}
	return list
}

// chartOf returns the directory of the innermost chart that a file is in, both in messages; "" if it is in none.
func (a *applied) chartOf(file string) string {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if a.found[dir] != "" {
			return dir
		}
	}
	return ""
}

// loose reports whether a file is a part of a chart or of tests: by itself nothing applies it. A path of Read is a
// directory like others, whatever is in it.
func (a *applied) loose(file string) bool {
	dir := a.chartOf(file)
	return !a.options.All && !a.options.Strict && dir != "" && !a.isPath(dir) || a.apart(file)
}

// apart reports whether a file is below a directory of tests, or what one expects, or in a reference of kube-compare
// (openshift/kube-compare: pkg/compare/parsing.go).
func (a *applied) apart(file string) bool {
	rel, _ := (&Tree{paths: a.names}).Rel(file)
	ext := path.Ext(rel)
	return !a.options.All && !a.options.Strict && (strings.HasSuffix(rel, ".snap"+ext) ||
		slices.ContainsFunc(strings.Split(path.Dir(rel), "/"), func(dir string) bool {
			return slices.Contains([]string{"test", "tests", "testdata"}, dir)
		}) ||
		slices.ContainsFunc(a.references, func(dir string) bool {
			return strings.HasPrefix(file, dir+"/") && !a.isPath(dir)
		}))
}

// rendered reports whether a chart that was rendered has a file in it.
func (a *applied) rendered(file string) bool {
	dir := a.chartOf(file)
	part, _, _ := strings.Cut(strings.TrimPrefix(file, dir+"/"), "/")
	return dir != "" && a.charts.Used[a.found[dir]] && slices.Contains([]string{"crds", "templates"}, part)
}

// defined has charts know the APIs that CustomResourceDefinitions of the tree define.
func (a *applied) defined(objects []*manifest.Object) {
	for _, o := range objects {
		if a.charts == nil || !olm.IsCRD(o.Group(), o.Kind) {
			continue
		}
		k, _ := olm.DefinedKind(o)
		for _, v := range olm.ServedVersions(o) {
			version := k.Group + "/" + v
			a.charts.APIVersions = append(a.charts.APIVersions, version, version+"/"+k.Name)
		}
	}
}

// ChangedCharts returns the charts that nothing applies, and that differ in two trees, relative to their paths.
func ChangedCharts(old, now *Tree) []string {
	return changed(old, now, func(t *Tree) []Chart { return t.Charts })
}

// ChangedTemplates returns the files that were not read and that differ in two trees, as ChangedCharts.
func ChangedTemplates(old, now *Tree) []string {
	return changed(old, now, func(t *Tree) []Chart { return t.left })
}

// ChangedConfigs returns the RenderConfigs that differ in two trees, as ChangedCharts.
func ChangedConfigs(old, now *Tree) []string {
	return changed(old, now, func(t *Tree) []Chart { return t.Configs })
}

func changed(old, now *Tree, parts func(*Tree) []Chart) (changed []string) {
	type pair [2]string
	pairs := map[string]pair{}
	applied := map[string]bool{}
	for i, t := range []*Tree{old, now} {
		if t == nil {
			return nil
		}
		for _, c := range parts(t) {
			rel, _ := t.Rel(c.Name)
			p := pairs[rel]
			p[i] = c.Digest()
			pairs[rel], applied[rel] = p, applied[rel] || c.Applied
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(pairs)) {
		if p := pairs[rel]; p[0] != p[1] && !applied[rel] {
			changed = append(changed, rel)
		}
	}
	return changed
}
