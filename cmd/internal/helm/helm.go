// Package helm renders charts with the engine of helm. Only olmgen-helm links it.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log"
	"path"
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/operators/v1alpha2"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/ignore"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/charts"
)

// maxOutput is how much a chart may render to, in bytes.
const maxOutput = 32 << 20

// Render renders a chart as "helm template" does (helm/helm: pkg/action/install.go, RunWithContext). What is wrong with
// the chart is in the answer.
func Render(_ context.Context, r charts.Release) (charts.Rendered, error) {
	log.SetOutput(io.Discard) // warnings about values
	list, random, err := render(r, theFirst)
	if err != nil {
		return charts.Rendered{Error: err.Error()}, nil //nolint:nilerr // it is the answer
	}
	out := charts.Rendered{Manifests: list}
	if random {
		others, _, err := render(r, theOther)
		template := func(m charts.Manifest) string { return m.Template }
		made := lists.Group(others, template)
		for name, own := range lists.Group(list, template) {
			if err != nil || !slices.Equal(own, made[name]) {
				out.Random = append(out.Random, name)
			}
		}
		slices.Sort(out.Random)
	}
	return out, nil
}

// render returns the objects, and whether what stands for random values has a part in them.
func render(r charts.Release, in standIns) (out []charts.Manifest, random bool, err error) {
	c, err := load(r.Chart)
	if err != nil {
		return nil, false, err
	}
	defaults, err := merged(lists.Map(r.Defaults, func(text string) charts.Value { return charts.Value{YAML: text} }))
	if err != nil {
		return nil, false, err
	}
	if len(r.Defaults) > 0 {
		c.Values = defaults
	}
	values, err := merged(r.Values)
	if err != nil {
		return nil, false, err
	}
	if err := complete(c); err != nil && !r.Incomplete {
		return nil, false, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return nil, false, err
	}
	caps, err := capabilities(r)
	if err != nil {
		return nil, false, err
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, false, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", want,
			caps.KubeVersion.String())
	}
	random = in.in(c)
	random = in.inValues(values) || random
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(c, values, options, caps, r.SkipSchema)
	if err != nil {
		return nil, false, err
	}
	files, err := engine.Engine{Strict: r.Strict}.Render(c, top)
	if err != nil {
		return nil, false, err
	}
	out, err = manifests(c, files, r)
	return out, random, err
}

// load makes a chart of its files, without those that .helmignore names (helm/helm: pkg/chart/loader/directory.go).
func load(files []charts.File) (*chart.Chart, error) {
	rules := ignore.Empty()
	for _, f := range files {
		if f.Name == ignore.HelmIgnore {
			read, err := ignore.Parse(bytes.NewReader(f.Data))
			if err != nil {
				return nil, err
			}
			rules = read
		}
	}
	rules.AddDefaults()
	var kept []*loader.BufferedFile
	for _, f := range files {
		ignored := rules.Ignore(f.Name, entry{})
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			ignored = ignored || rules.Ignore(dir, entry{dir: true})
		}
		if !ignored {
			kept = append(kept, &loader.BufferedFile{Name: f.Name, Data: bytes.TrimPrefix(f.Data, []byte("\ufeff"))})
		}
	}
	c, err := loader.LoadFiles(kept)
	if err != nil {
		return nil, err
	}
	if c.Metadata.Type != "" && c.Metadata.Type != "application" {
		return nil, fmt.Errorf("%s charts are not installable", c.Metadata.Type)
	}
	return c, nil
}

// entry is what the rules of .helmignore ask of a file.
type entry struct {
	fs.FileInfo
	dir bool
}

func (e entry) IsDir() bool { return e.dir }

// merged returns values, of which later ones win (helm/helm: pkg/cli/values/options.go, MergeValues).
func merged(list []charts.Value) (map[string]any, error) {
	out := map[string]any{}
	for _, v := range list {
		var err error
		switch {
		case v.File != nil:
			err = strvals.ParseIntoFile(v.Set, out, func([]rune) (any, error) { return *v.File, nil })
		case v.Text:
			err = strvals.ParseIntoString(v.Set, out)
		case v.Set != "":
			err = strvals.ParseInto(v.Set, out)
		default:
			more := map[string]any{}
			if err = yaml.Unmarshal([]byte(v.YAML), &more); err == nil {
				out = chartutil.MergeTables(more, out)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// complete refuses a chart without one of its dependencies (helm/helm: pkg/action/install.go, CheckDependencies).
func complete(c *chart.Chart) error {
	for _, d := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(have *chart.Chart) bool { return have.Name() == d.Name }) {
			return fmt.Errorf("found in Chart.yaml, but missing in charts/ directory: %s", d.Name)
		}
	}
	return nil
}

// clusterAPIs are the APIs of Kubernetes and of OLM: versions of groups, and their kinds.
var clusterAPIs = sync.OnceValue(func() []string {
	for _, add := range []func(*runtime.Scheme) error{operatorsv1.AddToScheme, v1alpha1.AddToScheme,
		v1alpha2.AddToScheme, operatorsv2.AddToScheme} {
		utilruntime.Must(add(scheme.Scheme))
	}
	list := []string{"packages.operators.coreos.com/v1", "packages.operators.coreos.com/v1/PackageManifest"}
	for kind := range scheme.Scheme.AllKnownTypes() {
		list = append(list, kind.GroupVersion().String(), kind.GroupVersion().String()+"/"+kind.Kind)
	}
	return lists.SortedUnique(list) // templates print them
})

// capabilities are those of the cluster, and those of the release.
func capabilities(r charts.Release) (*chartutil.Capabilities, error) {
	caps := chartutil.DefaultCapabilities.Copy()
	if r.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("invalid kube version '%s': %w", r.KubeVersion, err)
		}
		caps.KubeVersion = *version
	}
	caps.APIVersions = slices.Concat(clusterAPIs(), r.APIVersions)
	return caps, nil
}

// manifests returns the objects in the order in which helm prints them: CRDs, objects by kind, hooks.
func manifests(c *chart.Chart, files map[string]string, r charts.Release) (list []charts.Manifest, err error) {
	size := 0
	for name, text := range files {
		if size += len(text); strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	if size > maxOutput {
		return nil, fmt.Errorf("it renders to more than %d MiB", maxOutput>>20)
	}
	add := func(template, text string) {
		_, below, _ := strings.Cut(template, "/") // the first segment is the name of the chart
		list = append(list, charts.Manifest{Template: below, Text: text})
	}
	hooks, sorted, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	if r.CRDs {
		for _, crd := range c.CRDObjects() {
			add(crd.Filename, string(crd.File.Data))
		}
	}
	for _, m := range sorted {
		add(m.Name, m.Content)
	}
	for _, h := range hooks {
		if applies(h, r.Hooks) {
			add(h.Path, h.Manifest)
		}
	}
	return list, nil
}

func applies(h *release.Hook, which charts.Hooks) bool {
	switch which {
	case charts.All:
		return true
	case charts.NoTests:
		return !slices.Contains(h.Events, release.HookTest)
	case charts.None:
		return false
	}
	return slices.ContainsFunc(h.Events, func(e release.HookEvent) bool {
		return slices.Contains([]release.HookEvent{release.HookPreInstall, release.HookPostInstall,
			release.HookPreUpgrade, release.HookPostUpgrade}, e)
	})
}
