package images

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

func TestRewrite(t *testing.T) {
	const own = `
mirrors:
- {source: quay.io, mirror: registry.local/quay}
- {source: quay.io/org, mirror: registry.local/org}
- {source: quay.io/org/app, mirror: registry.local/apps/the-app}
- {source: docker.io/library, mirror: registry.local/hub}
- {source: "localhost:5000", mirror: "registry.local:5000"}
`
	const sets = `
apiVersion: v1
kind: List
items:
- apiVersion: config.openshift.io/v1
  kind: ImageDigestMirrorSet
  metadata: {name: a, uid: x}
  spec:
    imageDigestMirrors:
    - {source: quay.io/org, mirrors: [digests.local/org, second.local/org], mirrorSourcePolicy: NeverContactSource}
- apiVersion: config.openshift.io/v1
  kind: ImageTagMirrorSet
  metadata: {name: b}
  spec:
    imageTagMirrors:
    - {source: quay.io/org, mirrors: [tags.local/org]}
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
metadata: {name: c}
spec:
  repositoryDigestMirrors:
  - {source: ghcr.io, mirrors: [digests.local/ghcr]}
  - {source: quay.io/org, mirrors: [digests.local/org]}
`
	for _, c := range []struct{ m, ref, want string }{
		{own, "quay.io/other/app:v1", "registry.local/quay/other/app:v1"},
		{own, "quay.io/org/other:v1", "registry.local/org/other:v1"},
		{own, "quay.io/org/app:v1", "registry.local/apps/the-app:v1"},
		{own, "quay.io/org/app:v1@" + digest, "registry.local/apps/the-app:v1@" + digest},
		{own, "quay.io/org/app", "registry.local/apps/the-app"},
		{own, "quay.io/org/app-two@" + digest, "registry.local/org/app-two@" + digest},
		{own, "quay.io/organisation/app:v1", "registry.local/quay/organisation/app:v1"},
		{own, "quay.io.example.com/org/app:v1", "quay.io.example.com/org/app:v1"},
		{own, "nginx:1", "registry.local/hub/nginx:1"},
		{own, "bitnami/nginx:1", "bitnami/nginx:1"},
		{own, "localhost:5000/app:1", "registry.local:5000/app:1"},
		{own, "oci://quay.io/org/app:v1", "oci://registry.local/apps/the-app:v1"},
		{own, "not an image", "not an image"},
		{sets, "quay.io/org/app@" + digest, "digests.local/org/app@" + digest},
		{sets, "quay.io/org/app:v1", "tags.local/org/app:v1"},
		{sets, "ghcr.io/org/app:v1", "ghcr.io/org/app:v1"},
		{sets, "ghcr.io/org/app:v1@" + digest, "digests.local/ghcr/org/app:v1@" + digest},
	} {
		m, err := ReadMap("map.yaml", []byte(c.m))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Rewriter().Rewrite(Place{}, c.ref); got != c.want {
			t.Errorf("%s: got %s, want %s", c.ref, got, c.want)
		}
	}
}

// An image in a ConfigMap is kept and named, if it is not in a mirror already.
func TestKept(t *testing.T) {
	m, err := ReadMap("m.yaml", []byte("mirrors:\n- {source: a.io, mirror: m.io}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := m.Rewriter()
	for _, ref := range []string{"a.io/x:1", "a.io/x:1", "b.io/x:1", "m.io/x:1"} {
		if got := w.Rewrite(Place{Kind: KindConfigMap, Name: "config"}, ref); got != ref {
			t.Errorf("%s becomes %s", ref, got)
		}
	}
	want := []string{"a.io/x:1 of ConfigMap config"}
	if got := w.Kept(); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if got := w.Unmapped(); !slices.Equal(got, []string{"b.io/x:1"}) {
		t.Errorf("unmapped %q", got)
	}
}

// A map of olmgen's own form says which entries were of no use; one for a cluster only if none was.
func TestUnused(t *testing.T) {
	const set = "apiVersion: config.openshift.io/v1\nkind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n  - {source: a.io, mirrors: [m.io]}\n  - {source: b.io, mirrors: [m.io]}\n"
	const own = "mirrors:\n- {source: a.io, mirror: m.io}\n- {source: b.io/longer, mirror: m.io}\n- {source: c.io, mirror: m.io}\n"
	for _, c := range []struct {
		m, ref string
		want   []string
	}{
		{own, "a.io/x:1", []string{"m.yaml:3: mirrors[1].source: no image of the bundle is in b.io/longer", "m.yaml:4: mirrors[2].source: no image of the bundle is in c.io"}},
		{set, "a.io/x:1", nil},
		{set, "x.io/x:1", []string{"m.yaml: no image of the bundle is in any of the sources"}},
		{set, "a.io/x@" + digest, []string{"m.yaml: a.io/x@" + digest + " is in one of the sources, but the mirror set is only for images by tag"}},
		{strings.ReplaceAll(strings.ReplaceAll(set, "Tag", "Digest"), "imageTag", "imageDigest"), "a.io/x:1",
			[]string{"m.yaml: a.io/x:1 is in one of the sources, but the mirror set is only for images by digest"}},
	} {
		m, err := ReadMap("m.yaml", []byte(c.m))
		if err != nil {
			t.Fatal(err)
		}
		w := m.Rewriter()
		w.Rewrite(Place{}, c.ref)
		var got []string
		for _, e := range w.Unused() {
			got = append(got, e.Error())
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	var none *Map
	if w := none.Rewriter(); w.Rewrite(Place{}, "a.io/x:1") != "a.io/x:1" || w.Unused() != nil {
		t.Error("no map changes something")
	}
}

func TestMapIsRefused(t *testing.T) {
	entry := func(source, mirror string) string {
		return "mirrors:\n- source: " + source + "\n  mirror: " + mirror + "\n"
	}
	const idms = "apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n"
	for _, c := range []struct{ text, want, hint string }{
		{"", "m.yaml: the file has no mirror", "write "},
		{"mirrors: []\n", "m.yaml: the file has no mirror", ""},
		{"[", "m.yaml:1", ""},
		{"mirror:\n- source: a.io\n", "m.yaml:1: mirror: no such field", "did you mean mirrors?"},
		{"mirrors:\n- sorce: a.io\n", "m.yaml:2: mirrors[0].sorce: no such field", "did you mean source?"},
		{"mirrors:\n- mirrors: a.io\n", "m.yaml:2: mirrors[0].mirrors: no such field", "did you mean mirror?"},
		{"somethingElse: 1\n", "m.yaml:1: somethingElse: no such field", ""},
		{"mirrors: a.io\n", "m.yaml:1: mirrors: has the wrong type: text, want a list", ""},
		{"mirrors:\n- source: a.io\n", "m.yaml:2: mirrors[0].mirror: missing", ""},
		{"mirrors:\n- mirror: a.io\n", "m.yaml:2: mirrors[0].source: missing", ""},
		{"mirrors:\n- source: a.io\n  source: b.io\n  mirror: c.io\n", "m.yaml:3: source: is given twice", ""},
		{entry("quay.io/org", "registry"), `m.yaml:3: mirrors[0].mirror: "registry" is not the beginning of a repository: it must begin with a host`, "write "},
		{entry("org", "a.io"), "it must begin with a host", ""},
		{entry("quay.io/org/", "a.io"), "it ends with a slash", ""},
		{entry("https://quay.io", "a.io"), "it is a URL", ""},
		{entry("'*.quay.io'", "a.io"), "wildcards are not supported", ""},
		{entry("quay.io/org/app:v1", "a.io"), "it has a tag or digest", ""},
		{entry("quay.io/org/app@"+digest, "a.io"), "it has a tag or digest", ""},
		{entry("quay.io/Org", "a.io"), "must be lower case", ""},
		{entry("quay.io/org", "a.io") + "- {source: quay.io/org, mirror: b.io}\n", "m.yaml:4: mirrors[1].source: quay.io/org occurs twice: also on line 2", ""},
		{entry("quay.io/org", "a.io") + "- {source: quay.io/org, mirror: a.io}\n", "occurs twice", ""},
		{entry("docker.io/org", "a.io") + "- {source: index.docker.io/org, mirror: a.io}\n", "docker.io/org occurs twice", ""},
		{"apiVersion: v1\nkind: ConfigMap\n", "m.yaml:2: kind: ConfigMap is not a mirror map", "ImageDigestMirrorSet"},
		{"apiVersion: config.openshift.io/v2\nkind: ImageDigestMirrorSet\n", `m.yaml:1: apiVersion: "config.openshift.io/v2" is not that of a mirror map, want config.openshift.io/v1`, ""},
		{"kind: ImageDigestMirrorSet\n", `m.yaml:1: apiVersion: "" is not that of a mirror map, want config.openshift.io/v1`, ""},
		{idms + "  - source: a.io\n", "m.yaml:5: spec.imageDigestMirrors[0]: the entry has no mirrors", ""},
		{idms + "  - mirrors: [a.io]\n", `m.yaml:5: spec.imageDigestMirrors[0].source: "" is not the beginning`, ""},
		{idms + "  - {source: a.io, mirrors: [b]}\n", "m.yaml:5: spec.imageDigestMirrors[0].mirrors[0]: ", ""},
		{idms + "  - {source: a.io, mirror: [b]}\n", "m.yaml:5: spec.imageDigestMirrors[0].mirror: no such field", "did you mean mirror"},
		{idms + "  - {source: a.io, mirrors: [b.io]}\n  - {source: a.io, mirrors: [c.io]}\n", "m.yaml:6: spec.imageDigestMirrors[1].source: a.io occurs twice: also on line 5", ""},
	} {
		_, err := ReadMap("m.yaml", []byte(c.text))
		var e *manifest.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint(), c.hint) {
			t.Errorf("error %v, hint %q, want %q, %q, for\n%s", err, hintOf(e), c.want, c.hint, c.text)
		}
	}
}

func hintOf(e *manifest.Error) string {
	if e == nil {
		return ""
	}
	return e.Hint()
}

// A map that can be read changes every reference to a valid one that keeps tag and digest, or not at all; an error is
// one that names the file.
func FuzzMirrorMap(f *testing.F) {
	f.Add([]byte("mirrors:\n- {source: quay.io/org, mirror: registry.local/org}\n"), "quay.io/org/app:v1")
	f.Add([]byte("mirrors:\n- {source: docker.io/library, mirror: 'a:1'}\n"), "nginx@"+digest)
	f.Add([]byte("apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - {source: a.io, mirrors: [b.io, c.io]}\n"), "a.io/x:v@"+digest)
	f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: config.openshift.io/v1, kind: ImageTagMirrorSet, spec: {imageTagMirrors: [{source: a.io, mirrors: [b.io]}]}}\n"), "oci://a.io/x")
	f.Add([]byte("apiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\nspec: {repositoryDigestMirrors: []}\n"), "")
	f.Fuzz(func(t *testing.T, data []byte, ref string) {
		fuzztest.Limit(t, len(data)+len(ref))
		m, err := ReadMap("m.yaml", data)
		if err != nil {
			var e *manifest.Error
			if !errors.As(err, &e) || e.File != "m.yaml" || e.Msg == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		got := m.Rewriter().Rewrite(Place{}, ref)
		if got == ref {
			return
		}
		before, err := parse(ref)
		if err != nil {
			t.Fatalf("%q is no image and becomes %q", ref, got)
		}
		after, err := parse(got)
		if err != nil || after.tag != before.tag || after.digest != before.digest || after.suffix != before.suffix {
			t.Fatalf("%q becomes %q: %v", ref, got, err)
		}
	})
}
