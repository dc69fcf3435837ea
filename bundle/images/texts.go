package images

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

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
