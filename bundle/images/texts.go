package images

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

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
	name, _ := manifest.ValueAt(value, []string{"metadata", "name"})
	texts := textsOf(value)
	for _, field := range lists.Keys(texts) {
		inText(visit)(Place{Kind: KindConfigMap, Name: olm.Text(name), Field: field}, texts[field])
	}
}

// Unnamed returns the ConfigMaps that have digests without the names of images: what is run of them is in no list.
func Unnamed(objects []*manifest.Object) (list []*manifest.Object, err error) {
	for _, o := range objects {
		if !isConfigMap(bundle.GroupOf(o), o.Kind) {
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
