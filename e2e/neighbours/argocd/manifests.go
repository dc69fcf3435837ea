package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
)

// trackingID is the annotation that tells which Application an object is of.
const trackingID = "argocd.argoproj.io/tracking-id"

// manifests builds the directories with kustomize, as Argo CD does with those that have a kustomization.yaml, and marks
// each object as one of the Application. Argo CD leaves CRDs unmarked (argo-cd: reposerver/repository/repository.go).
func (r request) manifests() (objects []*unstructured.Unstructured, err error) {
	for _, dir := range r.Dirs {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
		if err != nil {
			return nil, err
		}
		data, err := built.AsYaml()
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

// trackingID is how Argo CD marks an object (argo-cd: util/argo/resource_tracking.go).
func (r request) trackingID(o *unstructured.Unstructured) string {
	ns := o.GetNamespace()
	if ns == "" {
		ns = r.Namespace
	}
	gvk := o.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", r.App, gvk.Group, gvk.Kind, ns, o.GetName())
}
