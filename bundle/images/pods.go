package images

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// replace does not write a text that stays the same, because bundles are shared.
func replace(text *string, p Place, visit Visitor) {
	if *text == "" {
		return
	}
	if ref := visit(p, *text); ref != *text {
		*text = ref
	}
}

func inPod(pod *corev1.PodSpec, field string, visit Visitor) {
	for _, list := range []struct {
		name       string
		kind       Kind
		containers []corev1.Container
	}{{"initContainers", KindInitContainer, pod.InitContainers}, {"containers", KindContainer, pod.Containers}} {
		for i := range list.containers {
			c, at := &list.containers[i], index(field+"."+list.name, i)
			InEnv(c.Env, at+".env", visit)
			inArguments(c.Command, Place{Name: c.Name}, at+".command", visit)
			inArguments(c.Args, Place{Name: c.Name}, at+".args", visit)
			replace(&c.Image, Place{Kind: list.kind, Name: c.Name, Field: at + ".image"}, visit)
		}
	}
	for i := range pod.Volumes {
		if v := &pod.Volumes[i]; v.Image != nil {
			at := index(field+".volumes", i) + ".image.reference"
			replace(&v.Image.Reference, Place{Kind: KindVolume, Name: v.Name, Field: at}, visit)
		}
	}
}

// InEnv visits the images in the values of environment variables.
func InEnv(env []corev1.EnvVar, field string, visit Visitor) {
	for i := range env {
		p := Place{Kind: KindEnv, Name: env[i].Name, Field: index(field, i) + ".value"}
		replace(&env[i].Value, p, inEnv(p.Name, visit))
	}
}

// podPaths maps the kinds of workloads to the field with the spec of their pods.
var podPaths = map[string]string{
	"/Pod":                   "spec",
	"/PodTemplate":           "template.spec",
	"/ReplicationController": "spec.template.spec",
	"apps/DaemonSet":         "spec.template.spec",
	"apps/Deployment":        "spec.template.spec",
	"apps/ReplicaSet":        "spec.template.spec",
	"apps/StatefulSet":       "spec.template.spec",
	"batch/CronJob":          "spec.jobTemplate.spec.template.spec",
	"batch/Job":              "spec.template.spec",
}

// PodPath returns the field with the spec of the pods of a workload of Kubernetes itself; empty for other kinds.
func PodPath(group, kind string) string { return podPaths[group+"/"+kind] }

// HasPods reports whether objects of a kind are workloads of Kubernetes itself.
func HasPods(group, kind string) bool { return PodPath(group, kind) != "" }

// HasImages reports whether InObject visits objects of a kind.
func HasImages(group, kind string) bool { return HasPods(group, kind) || isConfigMap(group, kind) }

// InObject visits the images of a decoded workload, and those in the texts of a ConfigMap, where none is replaced. It
// does nothing with an object of another kind.
func InObject(group, kind string, value map[string]any, visit Visitor) {
	if isConfigMap(group, kind) {
		inConfigMap(value, visit)
	}
	field := PodPath(group, kind)
	if field == "" {
		return
	}
	m := normalize.At(value, strings.Split(field, ".")...)
	for _, list := range []struct {
		name string
		kind Kind
	}{{"initContainers", KindInitContainer}, {"containers", KindContainer}} {
		each(m, list.name, field, func(c map[string]any, at string) {
			each(c, "env", at, func(v map[string]any, at string) {
				p := Place{Kind: KindEnv, Name: olm.Text(v["name"]), Field: at + ".value"}
				replaceIn(v, "value", p, inEnv(p.Name, visit))
			})
			for _, key := range []string{"command", "args"} {
				inItems(c[key], Place{Name: olm.Text(c["name"])}, at+"."+key, visit)
			}
			replaceIn(c, "image", Place{Kind: list.kind, Name: olm.Text(c["name"]), Field: at + ".image"}, visit)
		})
	}
	each(m, "volumes", field, func(v map[string]any, at string) {
		if image, ok := v["image"].(map[string]any); ok {
			p := Place{Kind: KindVolume, Name: olm.Text(v["name"]), Field: at + ".image.reference"}
			replaceIn(image, "reference", p, visit)
		}
	})
}

func each(m map[string]any, key, field string, f func(item map[string]any, field string)) {
	list, _ := m[key].([]any)
	for i, x := range list {
		if item, ok := x.(map[string]any); ok {
			f(item, index(field+"."+key, i))
		}
	}
}

// inItems is inArguments for a decoded list.
func inItems(v any, p Place, field string, visit Visitor) {
	items, _ := v.([]any)
	texts := make([]string, len(items))
	for i, x := range items {
		texts[i] = olm.Text(x)
	}
	inArguments(texts, p, field, visit)
	for i, text := range texts {
		if text != "" {
			items[i] = text
		}
	}
}

func replaceIn(m map[string]any, key string, p Place, visit Visitor) {
	if s := olm.Text(m[key]); s != "" {
		m[key] = visit(p, s)
	}
}
