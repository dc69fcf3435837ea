package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestReferences(t *testing.T) {
	for ref, want := range map[string]string{
		"nginx":                              "docker.io/library/nginx:latest",
		"nginx:1.2":                          "docker.io/library/nginx:1.2",
		"org/app@" + digest:                  "docker.io/org/app@" + digest,
		"docker.io/nginx:1":                  "docker.io/library/nginx:1",
		"index.docker.io/org/app:1":          "docker.io/org/app:1",
		"quay.io/org/app":                    "quay.io/org/app:latest",
		"quay.io/org/app:v1@" + digest:       "quay.io/org/app@" + digest,
		"localhost:5000/app:v1":              "localhost:5000/app:v1",
		"registry:5000/a/b/c__d/e-f.g:v1":    "registry:5000/a/b/c__d/e-f.g:v1",
		"oci://quay.io/kuadrant/wasm-shim:v": "quay.io/kuadrant/wasm-shim:v",
		"REPLACE_ME":                         "",
		"http://quay.io/org/app:v1":          "",
		"quay.io//app:v1":                    "",
		"quay.io/org/App:v1":                 "",
		"quay.io/org/app@sha256:0123":        "",
		"quay.io/org/app:a b":                "",
		"$(IMAGE)":                           "",
		" quay.io/org/app:v1":                "",
	} {
		r, err := parse(ref)
		got := ""
		if err == nil {
			got = r.String()
		}
		if got != want {
			t.Errorf("%s: got %q, %v, want %q", ref, got, err, want)
		}
	}
}

func TestEnvImage(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"RELATED_IMAGE_X", "nginx", true},
		{"RELATED_IMAGE_X", "not an image", true},
		{"X", "quay.io/org/app:v1", true},
		{"X", "quay.io/org/app@" + digest, true},
		{"X", "localhost/app:v1", true},
		{"X", "registry:5000/app:v1", true},
		{"X", "oci://quay.io/org/app:v1", true},
		{"X", "quay.io/org/app", false},
		{"X", "org/app:v1", false},
		{"X", "app:v1", false},
		{"X", "example.com:8080", false},
		{"X", "https://example.com/path:v1", false},
		{"X", "/var/lib/app:/data", false},
		{"X", "10.0.0.0/8,fd00::/8", false},
		{"X", "example.com/Path:v1", false},
		{"X", "", false},
	} {
		got := false
		InEnv([]corev1.EnvVar{{Name: c.name, Value: c.value}}, "env", func(_ Place, ref string) string {
			got = ref == c.value
			return ref
		})
		if got != c.want {
			t.Errorf("%s=%s: got %v", c.name, c.value, got)
		}
	}
}

// Images are told from the other words of a text. What has a variable in it is not one, nor is an address or a path.
func TestTexts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"quay.io/org/a:v1,quay.io/org/b:v2", "quay.io/org/a:v1? quay.io/org/b:v2?"},
		{"1.0=quay.io/org/a@" + digest + "\n2.0=quay.io/org/b@" + digest, "quay.io/org/a@" + digest + "? quay.io/org/b@" + digest + "?"},
		{`{"a":"quay.io/org/a:v1","b":{"image":"oci://quay.io/org/b:v2"}}`, "quay.io/org/a:v1? oci://quay.io/org/b:v2?"},
		{`"{\"a\":\"quay.io/org/a:v1\",\"b\":\"x\nquay.io/org/b:v1\\u0022\"}"`, "quay.io/org/a:v1? quay.io/org/b:v1?"},
		{"{a: quay.io/org/a:v1}", "quay.io/org/a:v1?"},
		{"podman pull quay.io/org/a:v1; IMAGE=${IMAGE:-quay.io/org/b:v2} run 'quay.io/org/c:v3'.", "quay.io/org/a:v1? quay.io/org/b:v2? quay.io/org/c:v3?"},
		{"--image=quay.io/org/a:v1", "quay.io/org/a:v1"},
		{"quay.io/org/a:${TAG}", ""},
		{"quay.io/org/a:v1-$(ARCH)", ""},
		{"${HOST}.example.com/org/a:v1", ""},
		{"%s.example.com/org/a:v1 quay.io/org/a:v%s", ""},
		{"{{ .host }}.example.com/org/a:v1", ""},
		{"curl https://example.com/org/a:v1 /etc/a.d/b:c ./a.d/b:c github.com/org/a@v1.2.3 quay.io/org/a", ""},
	} {
		var got []string
		text := inText(func(p Place, ref string) string {
			got = append(got, ref+map[bool]string{true: "?"}[p.Guess])
			return "mirror/" + ref
		})(Place{}, c.text)
		if strings.Join(got, " ") != c.want || strings.ReplaceAll(text, "mirror/", "") != c.text ||
			strings.Count(text, "mirror/") != len(got) {
			t.Errorf("%s: got %q, %s", c.text, got, text)
		}
	}
}

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: app.v1.0.0
  annotations:
    containerImage: quay.io/org/operator:v1
spec:
  relatedImages:
  - {name: app, image: "quay.io/org/app@` + digest + `"}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: manager
        spec:
          template:
            spec:
              initContainers:
              - name: init
                image: busybox
              containers:
              - name: manager
                image: quay.io/org/operator:v1
                command: [/manager, --level=quay.io]
                args:
                - --solver=quay.io/org/solver:v1
                - quay.io/org/agent:v1
                env:
                - name: RELATED_IMAGE_APP
                  value: quay.io/org/app@` + digest + `
                - name: LEVEL
                  value: debug
              volumes:
              - name: model
                image: {reference: "quay.io/org/model:v1"}
`

const job = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: clean
spec:
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: clean
            image: quay.io/org/clean:v1 # weekly
            args: [--helper=quay.io/org/helper:v1]
            env:
            - {name: IMAGE, value: "quay.io/org/app:v1"}
`

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: config
data:
  app.image: quay.io/org/configured:v1
  config.yaml: |
    # see https://quay.io/org/page:v1 and example.com/page
    image: "quay.io/org/quoted@` + digest + `"
    digest: ` + digest + `
binaryData:
  start.sh: cG9kbWFuIHJ1biBxdWF5LmlvL29yZy9zY3JpcHRlZDp2MQo= # podman run quay.io/org/scripted:v1
  logo.png: iVBORw0KGgo=
`

func read(t *testing.T) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(fstest.MapFS{
		"manifests/csv.yaml": {Data: []byte(csv)}, "manifests/job.yaml": {Data: []byte(job)},
		"manifests/map.yaml":        {Data: []byte(configMap)},
		"metadata/annotations.yaml": {Data: []byte("annotations:\n  operators.operatorframework.io.bundle.package.v1: app\n")},
	}, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every place is found, with its line.
func TestList(t *testing.T) {
	list, err := List(read(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		data := map[string]string{"manifests/csv.yaml": csv, "manifests/job.yaml": job, "manifests/map.yaml": configMap}[i.File]
		if line := strings.Split(data, "\n")[i.Line-1]; !strings.Contains(line, i.Image) && !strings.HasSuffix(line, "|") {
			t.Errorf("%s is not on line %d, which is %s", i.Image, i.Line, line)
		}
	}
	of := OfBundle(read(t), "quay.io/org/bundle@"+digest)
	of.Source = "oci://quay.io/org/bundle:v1"
	var b strings.Builder
	if err := findings.WriteJSON(&b, map[string][]Image{"images": append(list, of)}); err != nil {
		t.Error(err)
	}
	golden(t, "list.json", b.String())
}

// A ConfigMap whose digests have no names is said.
func TestUnnamed(t *testing.T) {
	list, err := Unnamed(read(t).Others)
	if err != nil || len(list) != 1 || list[0].Name != "config" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestMirrorSets(t *testing.T) {
	list, err := List(read(t))
	if err != nil {
		t.Fatal(err)
	}
	set, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, Image{Image: "quay.io/other/app@" + digest, Pinned: true, Package: "other"})
	data, err := MirrorSets(list, "registry.local:5000/mirror", set)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "mirrorsets.yaml", string(data))

	// What a set says is what a map of the same file does.
	m, err := ReadMap("sets.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"quay.io/org/app@" + digest: "registry.local:5000/mirror/org/app@" + digest,
		"busybox":                   "registry.local:5000/mirror/library/busybox",
		"quay.io/none/app:v1":       "quay.io/none/app:v1",
	} {
		if got := m.Rewriter().Rewrite(Place{}, ref); got != want {
			t.Errorf("%s: got %s, want %s", ref, got, want)
		}
	}

	for _, c := range []struct {
		list         []Image
		mirror, want string
	}{
		{nil, "https://registry.local", "it is a URL"},
		{nil, "registry", "it must begin with a host"},
		{nil, "", "it is empty"},
		{[]Image{{Image: "NONE", Source: "bundle", File: "csv.yaml", Line: 3, Field: "spec.x"}}, "a.b", `bundle/csv.yaml:3 spec.x: "NONE" is not an image reference`},
		{[]Image{{Image: "quay.io/org/app:v1"}, {Image: "ghcr.io/org/app:v2"}}, "a.b", "ghcr.io/org/app and quay.io/org/app would both have the mirror a.b/org/app"},
		{[]Image{{Image: "quay.io/org/app:v1", Package: "x"}, {Image: "ghcr.io/org/app:v2", Package: "y"}}, "a.b", "would both have the mirror a.b/org/app"},
	} {
		if _, err := MirrorSets(c.list, c.mirror, set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// golden compares with a file in testdata; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Every image of a real bundle is a valid reference, is where its line says, and is rewritten by a map of its registry.
func TestCorpus(t *testing.T) {
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
		if err != nil {
			continue // said by other tests
		}
		before := manifestOf(t, b)
		list, err := List(b)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if manifestOf(t, b) != before {
			t.Errorf("%s: listing changed the bundle", dir)
		}
		for _, i := range list {
			data, err := os.ReadFile(filepath.Join(dir, i.File))
			if err != nil {
				t.Fatal(err)
			}
			if i.Normalized == "" {
				t.Errorf("%s: %s: %q is no image", dir, i.Field, i.Image)
				continue
			}
			lines := strings.Split(string(data), "\n")
			if at := strings.Join(lines[i.Line-1:min(len(lines), i.Line+2)], "\n"); !i.Guess && !strings.Contains(at, unsuffixed(i.Image)[:5]) {
				t.Errorf("%s: %s is not on line %d of %s:\n%s", dir, i.Image, i.Line, i.File, at)
			}
			host, _, _ := strings.Cut(i.Normalized, "/")
			m, err := ReadMap("m", []byte("mirrors: [{source: "+host+", mirror: mirror.local/x}]"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := parse(m.Rewriter().Rewrite(Place{}, i.Image))
			if want := "mirror.local/x" + strings.TrimPrefix(i.Normalized, host); err != nil || r.String() != want {
				t.Errorf("%s: %s is rewritten to %s, %v, want %s", dir, i.Image, r, err, want)
			}
		}
	}
}

func manifestOf(t *testing.T, b *bundle.Bundle) string {
	t.Helper()
	v, err := manifest.Typed(b.CSV)
	if err != nil {
		t.Fatal(err)
	}
	return string(manifest.Encode(v))
}
