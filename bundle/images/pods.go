package images

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
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
				items, _ := c[key].([]any)
				for i := range items {
					if s := olm.Text(items[i]); s != "" {
						p := Place{Kind: KindArgument, Name: olm.Text(c["name"]), Field: index(at+"."+key, i)}
						items[i] = inText(visit)(p, s)
					}
				}
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

func replaceIn(m map[string]any, key string, p Place, visit Visitor) {
	if s := olm.Text(m[key]); s != "" {
		m[key] = visit(p, s)
	}
}

// wordForm is what can be an image in a text, and what is no part of one: an escaped character, and the beginning of a
// variable with a default value. A word that has a variable in it is not an image. digestForm is a digest alone.
var (
	wordForm   = lazy.Regexp(`\\u[0-9a-fA-F]{4}|\\.|\$\{\w+:?[-=]|[A-Za-z0-9._:/@$%(){}-]+`)
	digestForm = lazy.Regexp(`(?:^|[^@\w])sha256:[0-9a-f]{64}\b`)
)

// inText returns a visitor of texts, which visits the images in them. An image is sure if it is the whole text, or all
// that stands behind the = of an option.
func inText(visit Visitor) Visitor {
	return func(p Place, text string) string {
		_, value, _ := strings.Cut(text, "=")
		return wordForm().ReplaceAllStringFunc(text, func(word string) string {
			image := strings.TrimLeft(strings.TrimRight(word, ".:-)}"), "({")
			if !Qualified(image) {
				return word
			}
			p.Guess = p.Kind == KindConfigMap || image != text && image != value
			return strings.Replace(word, image, visit(p, image), 1)
		})
	}
}

// inArguments visits the images in the commands and arguments of a container.
func inArguments(list []string, p Place, field string, visit Visitor) {
	p.Kind = KindArgument
	for i := range list {
		p.Field = index(field, i)
		replace(&list[i], p, inText(visit))
	}
}

// inEnv returns the visitor of a variable's value. That of RELATED_IMAGE_* always is an image.
func inEnv(name string, visit Visitor) Visitor {
	if strings.HasPrefix(name, "RELATED_IMAGE_") {
		return visit
	}
	return inText(visit)
}

func isConfigMap(group, kind string) bool { return group == corev1.GroupName && kind == "ConfigMap" }

// textsOf returns the texts of a decoded ConfigMap by field. Binary data can be a text.
func textsOf(value map[string]any) map[string]string {
	texts := map[string]string{}
	for key, x := range olm.Texts(value["data"]) {
		texts[`data["`+key+`"]`] = x
	}
	for key, x := range olm.Texts(value["binaryData"]) {
		if data, err := base64.StdEncoding.DecodeString(x); err == nil && utf8.Valid(data) {
			texts[`binaryData["`+key+`"]`] = string(data)
		}
	}
	return texts
}

// inConfigMap visits the images in the texts of a ConfigMap. None is replaced: what reads the texts is not known.
func inConfigMap(value map[string]any, visit Visitor) {
	name, _ := decoded.At(value, []string{"metadata", "name"})
	texts := textsOf(value)
	for _, field := range lists.Keys(texts) {
		inText(visit)(Place{Kind: KindConfigMap, Name: olm.Text(name), Field: field}, texts[field])
	}
}

// Unnamed returns the ConfigMaps that have digests without the names of images: what is run of them is in no list.
func Unnamed(objects []*manifest.Object) (list []*manifest.Object, err error) {
	for _, o := range objects {
		if !isConfigMap(install.GroupOf(o), o.Kind) {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		for _, text := range textsOf(v) {
			if digestForm().MatchString(text) {
				list = append(list, o)
				break
			}
		}
	}
	return list, nil
}
