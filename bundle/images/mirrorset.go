package images

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// MirrorSets returns OpenShift's ImageDigestMirrorSet for the images of each package, and an ImageTagMirrorSet for
// images without a digest, as a YAML stream. The mirror of quay.io/org/repository is <mirror>/org/repository, as
// oc-mirror chooses it. MirrorSets fails if mirror is not a registry, if an image is not a valid reference, or if two
// repositories with tags would have the same mirror.
func MirrorSets(list []Image, mirror string, t *templates.Set) ([]byte, error) {
	if problem := prefixProblem(mirror); problem != "" {
		return nil, manifest.WithHint(fmt.Errorf("mirror %q is not a registry: %s", mirror, problem),
			"write it like registry.example.com or registry.example.com/prefix")
	}
	packages := map[string][]Image{}
	for _, i := range list {
		if i.Pulled() {
			packages[i.Package] = append(packages[i.Package], i)
		}
	}
	tagged := map[string]string{} // the repository of each mirror that is for tags
	var out bytes.Buffer
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		for _, set := range []struct {
			template string
			pinned   bool
		}{{"imagedigestmirrorset.yaml", true}, {"imagetagmirrorset.yaml", false}} {
			seen := tagged
			if set.pinned {
				seen = map[string]string{}
			}
			mirrors, err := mirrorsOf(packages[pkg], set.pinned, mirror, seen)
			if err != nil {
				return nil, err
			}
			if len(mirrors) == 0 {
				continue
			}
			data, err := t.Execute(set.template, templates.MirrorSet{Name: pkg, Mirrors: mirrors})
			if err != nil {
				return nil, err
			}
			if out.Len() > 0 {
				out.WriteString("---\n")
			}
			out.Write(data)
		}
	}
	return out.Bytes(), nil
}

// mirrorsOf returns an entry for each repository, sorted.
func mirrorsOf(list []Image, pinned bool, mirror string, seen map[string]string) ([]templates.Mirror, error) {
	repositories := map[string]bool{}
	for _, i := range list {
		r, err := parse(i.Image)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not an image reference", i.At(), i.Image)
		}
		if i.Pinned == pinned {
			repositories[r.repository] = true
		}
	}
	var mirrors []templates.Mirror
	for _, source := range slices.Sorted(maps.Keys(repositories)) {
		_, path, _ := strings.Cut(source, "/")
		target := mirror + "/" + path
		if other := seen[target]; !pinned && other != "" && other != source {
			err := fmt.Errorf("%s and %s would both have the mirror %s, and their images have tags, not digests",
				other, source, target)
			return nil, manifest.WithHint(err, "run the command for each source alone, with another mirror for each")
		}
		seen[target] = source
		mirrors = append(mirrors, templates.Mirror{Source: source, Mirror: target})
	}
	return mirrors, nil
}
