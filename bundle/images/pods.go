package images

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
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
		if envImage(env[i].Name, env[i].Value) {
			replace(&env[i].Value, Place{Kind: KindEnv, Name: env[i].Name, Field: index(field, i) + ".value"}, visit)
		}
	}
}

// envImage reports whether the value of a variable is an image. That of RELATED_IMAGE_* always is. Any other value must
// have the host of a registry and a tag or digest, so that words, paths and addresses are not taken for images.
func envImage(name, value string) bool {
	return strings.HasPrefix(name, "RELATED_IMAGE_") || Qualified(value)
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

// InObject visits the images of a decoded workload. It does nothing with an object of another kind.
func InObject(group, kind string, value map[string]any, visit Visitor) {
	field := PodPath(group, kind)
	if field == "" {
		return
	}
	var pod any = value
	for key := range strings.SplitSeq(field, ".") {
		m, _ := pod.(map[string]any)
		pod = m[key]
	}
	m, _ := pod.(map[string]any)
	for _, list := range []struct {
		name string
		kind Kind
	}{{"initContainers", KindInitContainer}, {"containers", KindContainer}} {
		each(m, list.name, field, func(c map[string]any, at string) {
			each(c, "env", at, func(v map[string]any, at string) {
				if name, value := olm.Text(v["name"]), olm.Text(v["value"]); envImage(name, value) {
					replaceIn(v, "value", Place{Kind: KindEnv, Name: name, Field: at + ".value"}, visit)
				}
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

// each calls f for each mapping in a list.
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

// inArguments visits the images in the commands and arguments of a container: an argument that is an image, or what
// stands behind the = of an option.
func inArguments(list []string, p Place, field string, visit Visitor) {
	for i, text := range list {
		if before, image := argument(text); image != "" {
			p.Kind, p.Field, p.Before = KindArgument, index(field, i), before
			replace(&image, p, visit)
			if before+image != text {
				list[i] = before + image
			}
		}
	}
}

func argument(text string) (before, image string) {
	if Qualified(text) {
		return "", text
	}
	if option, value, ok := strings.Cut(text, "="); ok && Qualified(value) {
		return option + "=", value
	}
	return "", ""
}

// wordForm is what can be an image in a text, and digestForm a digest without one.
var (
	wordForm   = lazy.Regexp(`[A-Za-z0-9][A-Za-z0-9._:/@-]*[A-Za-z0-9]`)
	digestForm = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)
)

// inConfigMap lists the images in the texts of a ConfigMap, and reports whether they have digests without the names of
// images. It does nothing with an object of another kind. No mirror map replaces these images: what reads the texts is
// not known.
func inConfigMap(o *manifest.Object, pkg string) (list []Image, unnamed bool, err error) {
	if bundle.GroupOf(o) != corev1.GroupName || o.Kind != "ConfigMap" {
		return nil, false, nil
	}
	data, err := o.Get("data")
	if err != nil {
		return nil, false, err
	}
	texts, _ := data.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		for _, word := range wordForm().FindAllString(olm.Text(texts[key]), -1) {
			switch {
			case Qualified(word):
				p := Place{Kind: KindConfigMap, Name: o.Name, Field: `data["` + key + `"]`}
				list = append(list, image(p, word, pkg, o))
			case digestForm().MatchString(word):
				unnamed = true
			}
		}
	}
	return list, unnamed, nil
}

// Unnamed returns the ConfigMaps that have digests without the names of images: what is run of them is in no list.
func Unnamed(objects []*manifest.Object) (list []*manifest.Object, err error) {
	for _, o := range objects {
		_, unnamed, err := inConfigMap(o, "")
		if err != nil {
			return nil, err
		}
		if unnamed {
			list = append(list, o)
		}
	}
	return list, nil
}
