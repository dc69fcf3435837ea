package generate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
)

const (
	envWatch      = "WATCH_NAMESPACE" // operator-sdk's convention; empty means all namespaces
	pathTargets   = "metadata.annotations['" + olm.AnnotationTargets + "']"
	pathNamespace = "metadata.namespace"
)

// watchAllNamespaces makes a descoped operator watch all namespaces where it is told by WATCH_NAMESPACE or by OLM's
// annotation, which is empty here, and says so.
func watchAllNamespaces(r *rendering) {
	deployments := r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		at := fmt.Sprintf("spec.install.spec.deployments[%d].spec.template.spec.", i)
		for _, list := range []struct {
			name       string
			containers []corev1.Container
		}{{"initContainers", pod.InitContainers}, {"containers", pod.Containers}} {
			for j := range list.containers {
				r.watchAll(&list.containers[j], fmt.Sprintf("%s%s[%d].env", at, list.name, j),
					list.name == "containers")
			}
		}
		for j, v := range pod.Volumes {
			if slices.ContainsFunc(downward(v.VolumeSource),
				func(f corev1.DownwardAPIVolumeFile) bool { return readsTargets(f.FieldRef) }) {
				r.warnWatch(fmt.Sprintf("%svolumes[%d]", at, j),
					"volume %s holds the annotation %s, which is empty, for all namespaces", v.Name,
					olm.AnnotationTargets)
			}
		}
	}
}

// downward returns the downward API files of a volume.
func downward(v corev1.VolumeSource) []corev1.DownwardAPIVolumeFile {
	var out []corev1.DownwardAPIVolumeFile
	if v.DownwardAPI != nil {
		out = append(out, v.DownwardAPI.Items...)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.DownwardAPI != nil {
				out = append(out, s.DownwardAPI.Items...)
			}
		}
	}
	return out
}

// watchAll sets WATCH_NAMESPACE of one container. The configuration of a Subscription, which goes to containers only,
// comes later and wins.
func (r *rendering) watchAll(c *corev1.Container, field string, configured bool) {
	for i := range c.Env {
		e := &c.Env[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		targets := e.ValueFrom != nil && readsTargets(e.ValueFrom.FieldRef)
		switch {
		case e.Name == envWatch && configured && r.config(envWatch):
			r.warnWatch(at, "container %s reads %s: it is set as the Subscription's config says, not to all namespaces",
				c.Name, e.Name)
		case e.Name == envWatch && e.ValueFrom == nil && e.Value == "":
		case e.Name == envWatch && !targets:
			r.warnWatch(at, "container %s reads %s: it is set to all namespaces (empty) and was %s", c.Name, e.Name,
				envText(e))
			*e = corev1.EnvVar{Name: e.Name}
		case targets:
			r.warnWatch(at, "container %s reads %s in %s: it is empty, for all namespaces", c.Name,
				olm.AnnotationTargets, e.Name)
		}
	}
}

func (r *rendering) config(name string) bool {
	c := r.options.Config
	return c != nil && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
}

func readsTargets(f *corev1.ObjectFieldSelector) bool { return f != nil && f.FieldPath == pathTargets }

func envText(e *corev1.EnvVar) string {
	switch f := e.ValueFrom; {
	case f == nil:
		return fmt.Sprintf("%q", e.Value)
	case f.FieldRef != nil && f.FieldRef.FieldPath == pathNamespace:
		return "the operator's own namespace"
	case f.FieldRef != nil:
		return f.FieldRef.FieldPath
	}
	return "taken from elsewhere"
}

func (r *rendering) warnWatch(field, format string, args ...any) {
	r.warn(bundle.WarnWatchNamespace, r.bundle.CSVObject.Errorf(field, format, args...))
}
