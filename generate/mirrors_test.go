package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// A mirror map changes the images and nothing else: with the mirror's name taken out again, every object is as it was without. No image
// of the mirrored registries is left in the place of one.
func TestMirrorsChangeOnlyImages(t *testing.T) {
	m, err := images.ReadMap("map.yaml", []byte("mirrors:\n- {source: quay.io, mirror: mirror.invalid/quay.io}\n- {source: ghcr.io, mirror: mirror.invalid/ghcr.io}\n"))
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join("..", "golden", "mirror-map", "bundle")}
	if corpustest.Set(t) {
		dirs = append(dirs, corpustest.Bundles(t)...)
	}
	changed := 0
	for _, dir := range dirs {
		for _, profile := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain, generate.ProfileOLMv1} {
			o := generate.Options{Profile: profile, Certs: generate.CertsManager}
			b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
			if err != nil {
				continue // other tests say why
			}
			plain, err := generate.Render(b, o)
			if err != nil {
				continue
			}
			o.Mirrors = m
			mirrored, err := generate.Render(b, o)
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			changed += compareMirrored(t, dir+" "+string(profile), plain.Objects, mirrored.Objects)
			again, err := generate.Render(b, generate.Options{Profile: profile, Certs: generate.CertsManager})
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range again.Objects {
				if string(o.Data) != string(plain.Objects[i].Data) {
					t.Errorf("%s: the map changed the bundle: %s %s", dir, o.Kind, o.Name)
				}
			}
		}
	}
	if changed == 0 {
		t.Error("no object was changed")
	}
}

func compareMirrored(t *testing.T, what string, plain, mirrored []generate.Object) (changed int) {
	t.Helper()
	if len(plain) != len(mirrored) {
		t.Fatalf("%s: %d objects, were %d", what, len(mirrored), len(plain))
	}
	for i, o := range mirrored {
		if string(o.Data) == string(plain[i].Data) {
			continue
		}
		changed++
		if want, got := string(plain[i].Data), strings.ReplaceAll(string(o.Data), "mirror.invalid/", ""); got != want {
			t.Errorf("%s: %s %s differs in more than the mirror:\n%s", what, o.Kind, o.Name, cmp.Diff(want, got))
		}
		var v map[string]any
		if err := yaml.Unmarshal(o.Data, &v); err != nil {
			t.Fatal(err)
		}
		images.InObject(o.Group(), o.Kind, v, func(p images.Place, ref string) string {
			if strings.HasPrefix(ref, "quay.io/") || strings.HasPrefix(ref, "ghcr.io/") {
				t.Errorf("%s: %s %s still has %s at %s", what, o.Kind, o.Name, ref, p.Field)
			}
			return ref
		})
	}
	return changed
}
