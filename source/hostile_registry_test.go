package source

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// misbehaving is a registry with the image etcd/bundle:v1. Once it has the image, it answers a GET of a path that ends
// like one of the given ones as the function does; and it counts requests.
type misbehaving struct {
	host     string
	requests atomic.Int32
}

func misbehave(t *testing.T, img v1.Image, at string, answer http.HandlerFunc) *misbehaving {
	t.Helper()
	m := &misbehaving{}
	var armed atomic.Bool
	m.host = serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m.requests.Add(1)
			if armed.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, at) {
				answer(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	push(t, m.host+"/etcd/bundle:v1", img)
	armed.Store(true)
	m.requests.Store(0)
	return m
}

func (m *misbehaving) ref() string { return "oci://" + m.host + "/etcd/bundle:v1" }

func lastLayer(t *testing.T, img v1.Image) string {
	t.Helper()
	layers, err := img.Layers()
	must(t, err)
	return digestOf(t, layers[len(layers)-1])
}

// TestRedirectsWithoutEnd follows ten redirects of one request, for manifests and for layers.
func TestRedirectsWithoutEnd(t *testing.T) {
	img := goodImage(t)
	for _, at := range []string{"/v2/", "/manifests/v1", lastLayer(t, img)} {
		for _, hops := range []int32{maxRedirects, 1 << 30} {
			var taken atomic.Int32
			m := misbehave(t, img, at, func(w http.ResponseWriter, r *http.Request) {
				if n := taken.Add(1); n <= hops {
					http.Redirect(w, r, r.URL.Path+"?"+fmt.Sprint(n), http.StatusTemporaryRedirect)
				}
			})
			_, err := Open(t.Context(), m.ref(), plain(m.host))
			endless := m.host + " redirects more than 10 times"
			switch n := taken.Load(); {
			case err == nil:
				t.Errorf("%s: no error", at)
			case at == "/v2/": // the library lets package net/http count
				if n > maxRedirects+1 {
					t.Errorf("%s: %d requests", at, n)
				}
			case n != maxRedirects+1 || strings.Contains(err.Error(), endless) != (hops > maxRedirects):
				t.Errorf("%s: %d requests: %v", at, n, err)
			}
		}
	}
}

// manyLayers is an image of distinct layers, or of the same one.
func manyLayers(t *testing.T, n int, same bool) v1.Image {
	t.Helper()
	data := gzipOf(t, tarOf(t, goodBundle...))
	adds := []mutate.Addendum{}
	for i := range n {
		layer := static.NewLayer(data, types.OCILayer)
		if !same {
			layer = static.NewLayer(gzipOf(t, tarOf(t, file("manifests/csv.yaml", fmt.Sprint(i)))), types.OCILayer)
		}
		adds = append(adds, mutate.Addendum{Layer: layer})
	}
	img, err := mutate.Append(empty.Image, adds...)
	must(t, err)
	return img
}

// TestLayersWithoutEnd refuses an image of too many layers before it asks for one of them, and asks for each digest
// once.
func TestLayersWithoutEnd(t *testing.T) {
	fuzztest.Seconds(t)
	m := misbehave(t, manyLayers(t, maxLayers+1, false), "never", nil)
	got := openError(t, m.ref(), plain(m.host))
	if !strings.HasSuffix(got, fmt.Sprintf("the image has %d layers, more than %d", maxLayers+1, maxLayers)) {
		t.Error(got)
	}
	if n := m.requests.Load(); n > 10 {
		t.Errorf("%d requests", n)
	}
	m = misbehave(t, manyLayers(t, maxLayers, true), "never", nil)
	same(t, "files", contents(t, open(t, m.ref(), plain(m.host)).FS), goodFiles)
	if n := m.requests.Load(); n > 10 {
		t.Errorf("%d requests for one layer", n)
	}
}

// TestCrowdedManifest has a manifest within its size with more descriptors than an image can have.
func TestCrowdedManifest(t *testing.T) {
	fuzztest.Seconds(t)
	text := []byte(`{"schemaVersion":2,"mediaType":"` + string(types.OCIManifestSchema1) + `","layers":[{}` +
		strings.Repeat(",{}", 1_300_000) + "]}")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		if strings.Contains(r.URL.Path, "/manifests/") {
			_, _ = w.Write(text)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	fuzztest.LimitMemory(t, len(text), 60_000_000)
	if got := openError(t, "oci://"+host+"/a/b:v1", plain(host)); !strings.HasSuffix(got, "the manifest has 1300002 objects, more than 10000") {
		t.Error(got)
	}
}

// TestEqualLayers has a layer below and above one that removes and replaces what it has.
func TestEqualLayers(t *testing.T) {
	first := tarOf(t, append(goodBundle, dir("manifests/a"), file("manifests/a/b", "x"))...)
	second := tarOf(t, file("manifests/.wh.csv.yaml", ""), file("manifests/a", "a file"), file("manifests/other", "x"))
	img := imageOf(t, nil, first, second, first)
	m := misbehave(t, img, "never", nil)
	want := map[string]string{"manifests/a/b": "x", "manifests/other": "x"}
	maps.Copy(want, goodFiles)
	same(t, "files", contents(t, open(t, m.ref(), plain(m.host)).FS), want)
	twoLayers := misbehave(t, imageOf(t, nil, second, first), "never", nil)
	open(t, twoLayers.ref(), plain(twoLayers.host))
	if m.requests.Load() != twoLayers.requests.Load() {
		t.Errorf("%d requests, without the second of equal layers %d", m.requests.Load(), twoLayers.requests.Load())
	}
}

// TestRequestsWithoutEnd has a transport count all requests for a reference.
func TestRequestsWithoutEnd(t *testing.T) {
	m := misbehave(t, goodImage(t), "never", nil)
	registry := newRegistryTransport(plain(m.host))
	var err error
	sent := 0
	for ; err == nil && sent < 1<<20; sent++ {
		var req *http.Request
		req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.host+"/v2/", nil)
		must(t, err)
		var resp *http.Response
		if resp, err = registry.RoundTrip(req); err == nil {
			must(t, resp.Body.Close())
		}
	}
	if sent != maxRequests+1 || err.Error() != fmt.Sprintf("%s needs more than %d requests for one image", m.host, maxRequests) {
		t.Errorf("%d requests: %v", sent, err)
	}
}

// TestTimeout has a registry send one part after the other, without end.
func TestTimeout(t *testing.T) {
	img := goodImage(t)
	for _, at := range []string{"/v2/", "/manifests/v1", lastLayer(t, img)} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			m := misbehave(t, img, at, func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte{' '}); err != nil {
						return
					}
					w.(http.Flusher).Flush()
					time.Sleep(10 * time.Millisecond)
				}
			})
			o := plain(m.host)
			o.Timeout = 500 * time.Millisecond
			start := time.Now()
			got := openError(t, m.ref(), o)
			want := fmt.Sprintf("%s/etcd/bundle:v1: not read within 500ms; the last request was to %s\n"+
				"hint: for a large image or a slow line allow more time", m.host, m.host)
			same(t, "error", got, want)
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestManifestLimit accepts a manifest of exactly 4 MiB, in whatever parts it comes.
func TestManifestLimit(t *testing.T) {
	for _, c := range []struct {
		size int
		ok   bool
	}{{maxImageJSON, true}, {maxImageJSON + 1, false}, {maxImageJSON + 1<<20, false}} {
		body := &watchedBody{ReadCloser: &atOnce{data: make([]byte, c.size)}, host: "x", ctx: t.Context(),
			cancel: func(error) {}, most: maxImageJSON, left: maxImageJSON}
		body.watch(time.Hour)
		n, err := body.Read(make([]byte, c.size)) // all of it, with io.EOF
		if (n == c.size && errors.Is(err, io.EOF)) != c.ok {
			t.Errorf("%d bytes: %d %v", c.size, n, err)
		}
		if !c.ok && err.Error() != "x: too large: larger than 4 MiB" {
			t.Error(err)
		}
		must(t, body.Close())
	}
}

// atOnce returns all its data and io.EOF in one call, as bodies of a known length do.
type atOnce struct{ data []byte }

func (a *atOnce) Read(p []byte) (int, error) { return copy(p, a.data), io.EOF }
func (a *atOnce) Close() error               { return nil }

// TestFailingHost redirects to a storage that fails: the error names the storage.
func TestFailingHost(t *testing.T) {
	img := goodImage(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	server := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	for _, c := range []struct{ name, storage, want string }{
		{"refused", strings.TrimPrefix(closed.URL, "http://"), "connection refused"},
		{"hangs", server(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "STORAGE does not answer within 1s"},
		{"forbidden", server(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), "unexpected status code 403"},
		{"breaks off", server(func(w http.ResponseWriter, _ *http.Request) {
			layers, err := img.Layers()
			must(t, err)
			w.Header().Set("Content-Length", fmt.Sprint(sizeOf(t, layers[len(layers)-1])))
			_, _ = w.Write([]byte{0x1f, 0x8b, 8})
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), "STORAGE broke off: unexpected EOF"},
		{"not allowed", "localhost:1", "localhost:1 is not spoken to without TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := misbehave(t, img, lastLayer(t, img), func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://"+c.storage+"/blob", http.StatusTemporaryRedirect)
			})
			o := plain(m.host)
			if c.name != "not allowed" {
				o = Options{InsecureRegistries: []string{m.host, c.storage}}
			}
			o.wait = time.Second
			got := openError(t, m.ref(), o)
			want := strings.ReplaceAll(c.want, "STORAGE", c.storage)
			if !strings.Contains(got, want) || !strings.Contains(got, c.storage) {
				t.Errorf("got %s\nwant %s of %s", got, want, c.storage)
			}
		})
	}
}

// TestTokenServer has registries name token servers without TLS: the error names the token server.
func TestTokenServer(t *testing.T) {
	elsewhere := httptest.NewServer(nil)
	t.Cleanup(elsewhere.Close)
	_, port, err := net.SplitHostPort(elsewhere.Listener.Addr().String())
	must(t, err)
	server := "localhost:" + port // the library takes no other private address than the registry's
	for _, c := range []struct{ name, realm, want string }{
		{"plain", "http://" + server + "/token", "HOST has its token server " + server + ", which is not spoken to without TLS"},
		{"no TLS", "https://" + server + "/token", server + " does not speak TLS"},
	} {
		ask := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+c.realm+`",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			})
		}
		host := serveTLS(t, ask)
		got := openError(t, "oci://"+host+"/etcd/bundle:v1", Options{transport: trusting()})
		if !strings.Contains(got, strings.ReplaceAll(c.want, "HOST", host)) {
			t.Errorf("%s: %s", c.name, got)
		}
		// The registry itself may be spoken to without TLS, the token server not.
		host = serve(t, ask)
		got = openError(t, "oci://"+host+"/etcd/bundle:v1", plain(host))
		if !strings.Contains(got, server+" is not spoken to without TLS") && !strings.Contains(got, server+" does not speak TLS") {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// TestCredentialsInReferences holds that a password in a reference is never repeated.
func TestCredentialsInReferences(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	for ref, shown := range map[string]string{
		"oci://user:PASS@host":                         "oci://***@host",
		"oci://user:PASS@host/a/b:v1":                  "oci://***@host/a/b:v1",
		"docker://user:PASS@host/a/b" + digest:         "docker://***@host/a/b" + digest,
		"oci://user:PA/SS@PASS@host:5000/a":            "oci://***@host:5000/a",
		"catalog:oci://user:PASS@host/a":               "catalog:oci://***@host/a",
		"--catalog=catalog:oci://user:PASS@host:1/a:v": "--catalog=catalog:oci://***@host:1/a:v",
		"--catalog=olm/cat=oci://user:PASS@host/a":     "--catalog=olm/cat=oci://***@host/a",
	} {
		if err := RefuseCredentials(ref); err == nil || !strings.HasPrefix(err.Error(), shown+": ") {
			t.Errorf("%s: %v", ref, err)
		}
		if !strings.HasPrefix(ref, "--") {
			if got := openError(t, ref, Options{Offline: true}); strings.Contains(got, "PASS") {
				t.Error(got)
			}
		}
	}
	for _, ref := range []string{"oci://host/a/b" + digest, "oci://busybox" + digest, "oci://a/b@sha256:short", "oci://a/b:v1@sha256:00",
		"dir:a@b/c", "a@b"} {
		if err := RefuseCredentials(ref); err != nil {
			t.Error(err)
		}
	}
}
