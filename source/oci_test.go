package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func TestPull(t *testing.T) {
	host := serve(t, nil)
	img := goodImage(t)
	push(t, host+"/etcd/bundle:v1", img)
	digest := digestOf(t, img)
	for _, ref := range []string{"oci://%s/etcd/bundle:v1", "docker://%s/etcd/bundle:v1", "oci://%s/etcd/bundle@" + digest, "oci://%s/etcd/bundle:v1@" + digest} {
		ref = fmt.Sprintf(ref, host)
		t.Run(ref, func(t *testing.T) {
			s := open(t, ref, plain(host))
			same(t, "files", contents(t, s.FS), goodFiles)
			same(t, "kind", s.Kind, "oci")
			same(t, "digest", s.Digest, digest)
			same(t, "labels", s.Labels, bundleLabels)
		})
	}
}

func TestPullOfAnIndex(t *testing.T) {
	host := serve(t, nil)
	img := goodImage(t)
	other := imageOf(t, nil, tarOf(t, file("manifests/wrong.yaml", "")))
	add := func(img v1.Image, platform *v1.Platform) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}}
	}
	attestation := add(other, &v1.Platform{OS: "unknown", Architecture: "unknown"})
	arm, amd := &v1.Platform{OS: "linux", Architecture: "arm64"}, &v1.Platform{OS: "linux", Architecture: "amd64"}
	tests := []struct {
		name  string
		index v1.ImageIndex
		want  string
	}{
		{"several", mutate.AppendManifests(empty.Index, add(other, arm), add(img, amd)), ""},
		{"one", mutate.AppendManifests(empty.Index, attestation, add(img, arm)), ""},
		{"nested", mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: mutate.AppendManifests(empty.Index, add(other, arm), add(img, amd))}), ""},
		{"foreign", mutate.AppendManifests(empty.Index, add(other, arm), add(imageOf(t, nil, tarOf(t)), &v1.Platform{OS: "windows", Architecture: "amd64"})),
			"the index has 2 images, none for linux/amd64: linux/arm64, windows/amd64"},
		{"empty", mutate.AppendManifests(empty.Index, attestation), "the index has no image"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ref := host + "/etcd/index:" + test.name
			push(t, ref, test.index)
			if test.want != "" {
				same(t, "error", openError(t, "oci://"+ref, plain(host)), ref+": "+test.want)
				return
			}
			s := open(t, "oci://"+ref, plain(host))
			same(t, "files", contents(t, s.FS), goodFiles)
			same(t, "digest", s.Digest, digestOf(t, img))
		})
	}
}

func TestPullThatFails(t *testing.T) {
	host := serve(t, nil)
	push(t, host+"/etcd/bundle:v1", goodImage(t))
	helm, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte("not a tar archive, but long enough to be taken for one?"), types.OCILayer))
	must(t, err)
	push(t, host+"/etcd/bundle:helm", helm)
	other := "sha256:" + strings.Repeat("0", 64)
	tests := []struct{ name, ref, want string }{
		{"no such tag", host + "/etcd/bundle:v2", "MANIFEST_UNKNOWN"},
		{"no such digest", host + "/etcd/bundle@" + other, "MANIFEST_UNKNOWN"},
		{"no such repository", host + "/etcd/nothing:v1", "NAME_UNKNOWN"},
		{"not a reference", "a b", "not a reference such as quay.io/org/bundle:v1 or "},
		{"a layer that is no tar", host + "/etcd/bundle:helm", ": cut short: unexpected EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := openError(t, "oci://"+test.ref, plain(host))
			if !strings.HasPrefix(got, test.ref+": ") || !strings.Contains(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			if strings.HasPrefix(test.name, "no such") != strings.HasSuffix(got, "\nhint: check repository, tag and digest") {
				t.Errorf("wrong hint: %s", got)
			}
		})
	}
}

// forBlob changes what the registry answers to the request for a blob or manifest.
func forBlob(digest string, change http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, digest) {
				change(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

func TestPullOfWhatIsNotRight(t *testing.T) {
	img := goodImage(t)
	layers, err := img.Layers()
	must(t, err)
	layerDigest := digestOf(t, layers[1])
	config, err := img.ConfigName()
	must(t, err)
	rc, err := layers[1].Compressed()
	must(t, err)
	data, err := io.ReadAll(rc)
	must(t, err)
	wrong := gzipOf(t, tarOf(t, goodBundle[2:]...))
	wrong = append(wrong, make([]byte, len(data))...)[:len(data)]
	raw, err := img.RawManifest()
	must(t, err)

	tests := []struct {
		name, digest string
		answer       http.HandlerFunc
		want         string
	}{
		{"a connection that is cut in a layer", layerDigest, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:len(data)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "broke off: unexpected EOF"},
		{"a layer that is too short", layerDigest, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush() // no Content-Length
			_, _ = w.Write(data[:len(data)-10])
		}, "layer " + layerDigest + ": error verifying size; got "},
		{"another layer", layerDigest, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(wrong) },
			"layer " + layerDigest + ": error verifying sha256 checksum"},
		{"another configuration", config.String(), func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("{}")) }, "does not match expected size"},
		{"another manifest", digestOf(t, img), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
			_, _ = w.Write(append(raw, ' '))
		}, "does not match requested digest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := serve(t, forBlob(test.digest, test.answer))
			push(t, host+"/etcd/bundle:v1", img)
			got := openError(t, "oci://"+host+"/etcd/bundle@"+digestOf(t, img), plain(host))
			if !strings.HasPrefix(got, host+"/etcd/bundle@") || !strings.Contains(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// plain allows a registry of httptest, which speaks no TLS.
func plain(host string) Options { return Options{InsecureRegistries: []string{host}} }

// keychain has one name and password for everything.
type keychain struct{}

func (keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "jane", Password: "secret"}, nil
}

func TestPullWithPassword(t *testing.T) {
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "jane" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	ref := host + "/etcd/bundle:v1"
	push(t, ref, goodImage(t), remote.WithAuthFromKeychain(keychain{}))

	s := open(t, "oci://"+ref, Options{Keychain: keychain{}, InsecureRegistries: []string{host}})
	same(t, "files", contents(t, s.FS), goodFiles)

	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	got := openError(t, "oci://"+ref, plain(host))
	if !strings.HasPrefix(got, ref+": GET http://") || !strings.Contains(got, "401 Unauthorized") || !strings.Contains(got, "\nhint: log in first") {
		t.Error(got)
	}
	if strings.Contains(got, "secret") {
		t.Error("the password is in the error")
	}
}

func TestPullThatIsCancelled(t *testing.T) {
	img := goodImage(t)
	layers, err := img.Layers()
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	host := serve(t, forBlob(digestOf(t, layers[0]), func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	push(t, host+"/etcd/bundle:v1", img)
	if _, err := Open(ctx, "oci://"+host+"/etcd/bundle:v1", plain(host)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
