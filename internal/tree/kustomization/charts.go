package kustomization

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/manifest"
)

// Files that no directory has. chartFile stands for the objects of the charts of a kustomization, which kustomize would
// ask the program helm for.
const (
	madeFile  = ".olmgen-"
	chartFile = madeFile + "charts.yaml"
)

func (b *Builder) isMade(abs string) bool {
	return strings.HasPrefix(filepath.Base(abs), madeFile) && b.files[abs] != nil
}

// charts renders the charts of a kustomization. Their objects become a resource of it.
func (b *Builder) charts(k *Kustomization) error {
	if len(k.spec.HelmCharts) == 0 {
		return nil
	}
	s := &source{}
	for i, c := range k.spec.HelmCharts {
		field := fmt.Sprintf("helmCharts[%d]", i)
		if b.Render == nil {
			return k.errorf(field, "it has a Helm chart, which is not rendered here")
		}
		dir, r, err := b.release(k, field, c)
		if err != nil {
			return err
		}
		objects, err := b.Render(dir, r, false)
		if err != nil {
			return err
		}
		for _, o := range objects {
			text, err := marked(o)
			if err != nil {
				return err
			}
			s.data = append(append(s.data, "---\n"...), text...)
		}
		s.objects = append(s.objects, objects...)
	}
	s.count = len(s.objects)
	k.objects += s.count
	k.spec.HelmCharts, k.spec.HelmGlobals, k.charted = nil, nil, true
	k.spec.Resources = append(k.spec.Resources, chartFile)
	b.files[filepath.Join(k.Dir, chartFile)] = s
	return nil
}

// marked returns the text of an object with the annotation that the transformer of namespaces looks at
// (kustomize/api: internal/builtins/NamespaceTransformer.go).
func marked(o *manifest.Object) ([]byte, error) {
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	if meta, ok := v["metadata"].(map[string]any); ok {
		annotations, ok := meta["annotations"].(map[string]any)
		if !ok {
			annotations = map[string]any{}
		}
		annotations[konfig.HelmGeneratedAnnotation], meta["annotations"] = "true", annotations
	}
	return manifest.Encode(v), nil
}

// release returns a chart as kustomize has helm render it (kustomize/api:
// internal/builtins/HelmChartInflationGenerator.go, types/helmchartargs.go).
func (b *Builder) release(k *Kustomization, field string, c types.HelmChart) (string, charts.Release, error) {
	r := charts.Release{Name: cmp.Or(c.ReleaseName, "release-name"), Namespace: cmp.Or(c.Namespace, "default"),
		CRDs: c.IncludeCRDs, KubeVersion: c.KubeVersion, APIVersions: c.ApiVersions, Hooks: charts.All}
	switch {
	case c.SkipHooks:
		r.Hooks = charts.None
	case c.SkipTests:
		r.Hooks = charts.NoTests
	}
	home := types.HelmDefaultHome
	if k.spec.HelmGlobals != nil {
		home = cmp.Or(k.spec.HelmGlobals.ChartHome, home)
	}
	if c.Version != "" && c.Repo != "" {
		home = filepath.Join(home, c.Name+"-"+c.Version)
	}
	own := k.Dir // the directory that values may be in
	dir, err := b.inside(filepath.Join(k.Dir, filepath.FromSlash(home), c.Name))
	if err != nil && c.Repo != "" {
		if dir = b.Repos.Chart(c.Repo, c.Name); dir == "" {
			return "", r, b.Repos.Missing(k.errorf(field, "its chart is not in this tree"), c.Repo)
		}
		own, err = dir, nil
	}
	if err != nil {
		return "", r, k.errorf(field, "there is no chart %s in %s", c.Name, home)
	}
	if c.NameTemplate != "" {
		return "", r, k.errorf(field+".nameTemplate", "olmgen does not know the name that a template makes")
	}
	if len(c.ValuesInline) == 0 || c.ValuesMerge != "replace" {
		at := filepath.Join(k.Dir, filepath.FromSlash(c.ValuesFile))
		if c.ValuesFile == "" {
			at = filepath.Join(dir, "values.yaml")
		} else {
			own = k.Dir
		}
		if err := b.values(k, field+".valuesFile", own, at, &r); err != nil {
			return "", r, err
		}
	}
	if len(c.ValuesInline) > 0 {
		inline, err := charts.ValuesOf(c.ValuesInline)
		if err != nil {
			return "", r, err
		}
		if c.ValuesMerge == "merge" { // what the file has stays
			r.Values = append([]charts.Value{inline}, r.Values...)
		} else {
			r.Values = append(r.Values, inline)
		}
	}
	for i, name := range c.AdditionalValuesFiles {
		at := filepath.Join(k.Dir, filepath.FromSlash(name))
		if err := b.values(k, fmt.Sprintf("%s.additionalValuesFiles[%d]", field, i), k.Dir, at, &r); err != nil {
			return "", r, err
		}
	}
	return dir, r, nil
}

// values adds a file of values. Without an engine that allows it, kustomize reads no file outside of its directory.
func (b *Builder) values(k *Kustomization, field, dir, abs string, r *charts.Release) error {
	real, err := regular.Inside(b.Repos.Limit(dir, b.top), abs)
	if err != nil {
		return k.errorf(field, "%s does not exist", b.named(abs))
	}
	if !k.options.Generate && !regular.Below(dir, real) {
		return k.errorf(field, "%s is not below the kustomization, and kustomize does not read it", b.named(abs))
	}
	s := b.read(real)
	if s.err != nil {
		return s.err
	}
	k.Files = append(k.Files, abs)
	k.bytes += int64(len(s.data))
	b.raw[abs] = s
	r.Values = append(r.Values, charts.Value{YAML: strings.ToValidUTF8(string(s.data), "")})
	return nil
}
