package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// images lists the registries that images may come from. A denied image is denied even if it is also allowed.
type images struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

func (i *images) check(v *view, message string) {
	for _, o := range slices.Concat(v.objects, v.installed) {
		if o.Group() == "apiextensions.k8s.io" {
			continue // a schema, which is large, describes containers but has none
		}
		value, err := o.Value()
		if err != nil {
			v.faults = append(v.faults, violation{o.Object, "", text.OneLine(err.Error()), ""})
			continue
		}
		judge := func(field, image string) {
			if why := i.refuse(image); why != "" {
				v.hit(o.Object, field, fmt.Sprintf("the image %s is %s", image, why), message)
			}
		}
		walkImages("", value, judge)
		var catalog string
		if o.Group() == olm.Group && o.Kind == "CatalogSource" && v.field(o.Object, &catalog, "spec", "image") &&
			catalog != "" {
			judge("spec.image", catalog)
		}
	}
}

// walkImages calls found for the images of containers at any depth, of relatedImages, and of the variables
// RELATED_IMAGE_* that tell operators which images to start.
func walkImages(field string, value any, found func(field, image string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below := strings.TrimPrefix(field+"."+key, ".")
			if strings.ContainsAny(key, ".[]") {
				below = field + `["` + key + `"]`
			}
			if items, ok := value[key].([]any); ok {
				listImages(below, key, items, found)
			}
			walkImages(below, value[key], found)
		}
	case []any:
		for i, item := range value {
			walkImages(fmt.Sprintf("%s[%d]", field, i), item, found)
		}
	}
}

func listImages(field, key string, items []any, found func(field, image string)) {
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		of := ""
		switch key {
		case "containers", "initContainers", "ephemeralContainers", "relatedImages":
			of = "image"
		case "env":
			if name, _ := m["name"].(string); strings.HasPrefix(name, "RELATED_IMAGE") {
				of = "value"
			}
		}
		if image, _ := m[of].(string); image != "" {
			found(fmt.Sprintf("%s[%d].%s", field, i, of), image)
		}
	}
}

// refuse returns why an image is not allowed, or "".
func (i *images) refuse(image string) string {
	name := repository(image)
	from := func(prefix string) bool { return within(name, prefix) }
	if j := slices.IndexFunc(i.Deny, from); j >= 0 {
		return "from " + i.Deny[j] + ", which is denied"
	}
	if len(i.Allow) > 0 && !slices.ContainsFunc(i.Allow, from) {
		host, _, _ := strings.Cut(name, "/")
		return "from " + host + ", not from " + strings.Join(i.Allow, ", ")
	}
	return ""
}

// repository returns the registry and path of an image, with the defaults of container runtimes: docker.io and library.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	host, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return "docker.io/library/" + name
	case host == "index.docker.io":
		return "docker.io/" + rest
	case !isHost(host):
		return "docker.io/" + name
	case host == "docker.io" && !strings.Contains(rest, "/"):
		return "docker.io/library/" + rest
	}
	return name
}

func isHost(s string) bool { return s == "localhost" || strings.ContainsAny(s, ".:") }

// within reports whether a repository is below registry or registry/path. *.example.com matches hosts of that domain.
func within(name, prefix string) bool {
	host, path, _ := strings.Cut(prefix, "/")
	nameHost, namePath, _ := strings.Cut(name, "/")
	if domain, ok := strings.CutPrefix(host, "*"); ok {
		if !strings.HasSuffix(nameHost, domain) {
			return false
		}
	} else if nameHost != host {
		return false
	}
	path = strings.TrimSuffix(path, "/")
	return cmp.Or(path, namePath) == namePath || strings.HasPrefix(namePath, path+"/")
}
