package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	helm "helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
)

// trackingID is the annotation that tells which Application an object is of.
const trackingID = "argocd.argoproj.io/tracking-id"

// manifests builds the directories, those that have a Chart.yaml with Helm and the others with kustomize, as Argo CD
// does, and marks each object as one of the Application. Argo CD leaves CRDs unmarked (argo-cd:
// reposerver/repository/repository.go).
func (r request) manifests() (objects []*unstructured.Unstructured, err error) {
	for _, dir := range r.Dirs {
		build := kustomized
		if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err == nil {
			build = r.templated
		}
		data, err := build(dir)
		if err != nil {
			return nil, err
		}
		items, err := kube.SplitYAML(data)
		if err != nil {
			return nil, err
		}
		objects = append(objects, items...)
	}
	for _, o := range objects {
		if kube.IsCRD(o) {
			continue
		}
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = r.trackingID(o)
		o.SetAnnotations(annotations)
	}
	return objects, nil
}

func kustomized(dir string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// templated is what "helm template --include-crds" writes for a release with the name of the Application.
func (r request) templated(dir string) ([]byte, error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: r.App, Namespace: r.Namespace,
		Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := helm.Render(chart, values)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, crd := range chart.CRDObjects() {
		out = append(append(out, "\n---\n"...), crd.File.Data...)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) != "NOTES.txt" {
			out = append(append(out, "\n---\n"...), files[name]...)
		}
	}
	return out, nil
}

// trackingID is how Argo CD marks an object (argo-cd: util/argo/resource_tracking.go).
func (r request) trackingID(o *unstructured.Unstructured) string {
	ns := o.GetNamespace()
	if ns == "" {
		ns = r.Namespace
	}
	gvk := o.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", r.App, gvk.Group, gvk.Kind, ns, o.GetName())
}
