package source

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// trusting is a transport that accepts the certificates of httptest, and its server name for every address.
func trusting() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}

// serveTLS starts a registry with TLS and returns its host.
func serveTLS(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://")
}

// TestTLS holds that a registry is spoken to without TLS only if its very host is allowed, on loopback too.
func TestTLS(t *testing.T) {
	plainHost := serve(t, nil)
	push(t, plainHost+"/etcd/bundle:v1", goodImage(t))
	ref := "oci://" + plainHost + "/etcd/bundle:v1"
	_, port, _ := strings.Cut(plainHost, ":")
	for _, allowed := range [][]string{nil, {"127.0.0.1"}, {"localhost:" + port}, {"127.0.0.1:1"}} {
		got := openError(t, ref, Options{InsecureRegistries: allowed})
		same(t, fmt.Sprint(allowed), got, plainHost+"/etcd/bundle:v1: "+plainHost+" does not speak TLS\n"+
			"hint: the registry must speak TLS, unless its host may be insecure")
	}
	open(t, ref, plain(plainHost))

	host := serveTLS(t, nil)
	push(t, host+"/etcd/bundle:v1", goodImage(t), remote.WithTransport(trusting()))
	ref = "oci://" + host + "/etcd/bundle:v1"
	open(t, ref, Options{transport: trusting()})
	for _, o := range []Options{{}, plain(host)} {
		got := openError(t, ref, o)
		if !strings.Contains(got, "x509: certificate") {
			t.Error(got)
		}
	}
}

// TestNoDowngrade has a registry with TLS redirect to a host without.
func TestNoDowngrade(t *testing.T) {
	elsewhere := serve(t, nil)
	img := goodImage(t)
	push(t, elsewhere+"/etcd/bundle:v1", img)
	host := serveTLS(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
				http.Redirect(w, r, "http://"+elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	push(t, host+"/etcd/bundle:v1", img, remote.WithTransport(trusting()))
	got := openError(t, "oci://"+host+"/etcd/bundle:v1", Options{transport: trusting()})
	if !strings.Contains(got, elsewhere+" is not spoken to without TLS\nhint: the registry must speak TLS") {
		t.Error(got)
	}
}

// TestRedirect follows a redirect to another host, as registries that keep blobs in object storage send. The password
// stays at the registry.
func TestRedirect(t *testing.T) {
	img := goodImage(t)
	var mu sync.Mutex
	seen := map[string][]string{} // values of Authorization by host
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Host] = append(seen[r.Host], r.Header.Get("Authorization"))
	}
	storage := serveTLS(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { note(r); h.ServeHTTP(w, r) })
	})
	push(t, storage+"/etcd/bundle:v1", img, remote.WithTransport(trusting()))
	seen = map[string][]string{}
	host := serveTLS(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			note(r)
			switch user, password, _ := r.BasicAuth(); {
			case user != "jane" || password != "secret":
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				w.WriteHeader(http.StatusUnauthorized)
			case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/"):
				http.Redirect(w, r, "https://"+storage+r.URL.Path, http.StatusTemporaryRedirect)
			default:
				h.ServeHTTP(w, r)
			}
		})
	})
	push(t, host+"/etcd/bundle:v1", img, remote.WithTransport(trusting()), remote.WithAuthFromKeychain(keychain{}))
	s := open(t, "oci://"+host+"/etcd/bundle:v1", Options{Keychain: keychain{}, transport: trusting()})
	same(t, "files", contents(t, s.FS), goodFiles)
	if len(seen[storage]) == 0 || strings.Join(seen[storage], "") != "" {
		t.Errorf("the storage got %q", seen[storage])
	}
}

// TestCredentials reads the configuration of docker: a registry gets its own password, or none.
func TestCredentials(t *testing.T) {
	got := map[string]string{}
	var mu sync.Mutex
	ask := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := r.BasicAuth(); !ok && r.URL.Path == "/v2/" {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, password, _ := r.BasicAuth()
			mu.Lock()
			got[r.Host] = password
			mu.Unlock()
			h.ServeHTTP(w, r)
		})
	}
	known, unknown := serve(t, ask), serve(t, ask)
	config, err := json.Marshal(map[string]any{"auths": map[string]any{
		known:             map[string]string{"username": "jane", "password": "secret"},
		"other.example":   map[string]string{"username": "jane", "password": "other"},
		"127.0.0.1:65000": map[string]string{"username": "jane", "password": "port"},
	}})
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	for host, want := range map[string]string{known: "secret", unknown: ""} {
		push(t, host+"/etcd/bundle:v1", goodImage(t), remote.WithAuth(&authn.Basic{Username: "x", Password: "x"}))
		got = map[string]string{}
		open(t, "oci://"+host+"/etcd/bundle:v1", plain(host))
		same(t, host, got, map[string]string{host: want})
	}
}

// TestRegistryThatHangs stops answering at different moments.
func TestRegistryThatHangs(t *testing.T) {
	img := goodImage(t)
	layers, err := img.Layers()
	must(t, err)
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, c := range []struct {
		name, at string
		answer   http.HandlerFunc
		want     string
	}{
		{"first", "/v2/", hang, "does not answer within 1s"},
		{"manifest", "/manifests/v1", hang, "does not answer within 1s"},
		{"manifest, slowly", "/manifests/v1", drip, "sent less than 1024 bytes within 1s"},
		{"layer", digestOf(t, layers[1]), hang, "does not answer within 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var armed bool
			var asked atomic.Int32
			host := serve(t, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if armed && strings.HasSuffix(r.URL.Path, c.at) {
						asked.Add(1)
						c.answer(w, r)
						return
					}
					h.ServeHTTP(w, r)
				})
			})
			push(t, host+"/etcd/bundle:v1", img)
			armed = true
			o := plain(host)
			o.wait = time.Second
			got := openError(t, "oci://"+host+"/etcd/bundle:v1", o)
			if !strings.Contains(got, host+" "+c.want) {
				t.Error(got)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

// endless sends zeros until the client has enough.
func endless(w http.ResponseWriter, r *http.Request) {
	page := make([]byte, 1<<20)
	for r.Context().Err() == nil {
		if _, err := w.Write(page); err != nil {
			return
		}
	}
}

// TestRegistryThatSendsTooMuch meets answers and layers without end. Little of them is held in memory.
func TestRegistryThatSendsTooMuch(t *testing.T) {
	img := goodImage(t)
	layers, err := img.Layers()
	must(t, err)
	big := digestOf(t, layers[1])
	raw, err := img.RawManifest()
	must(t, err)
	lying := strings.Replace(string(raw), fmt.Sprintf(`"size":%d,"digest":"%s"`, sizeOf(t, layers[1]), big),
		fmt.Sprintf(`"size":%d,"digest":"%s"`, int64(10<<30), big), 1)
	if lying == string(raw) {
		t.Fatal("the manifest is not as expected")
	}
	for _, c := range []struct {
		name, at string
		answer   http.HandlerFunc
		want     string
	}{
		{"ping", "/v2/", endless, ""},
		{"manifest", "/manifests/v1", endless, "too large: larger than 4 MiB"},
		{"an error", "/manifests/v1", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden); endless(w, r) }, "body exceeds 65536 byte limit"},
		{"layer, longer than it said", big, endless, "error verifying sha256 checksum"},
		{"layer of 10 GB, as it said", "/manifests/v1", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
			_, _ = w.Write([]byte(lying))
		}, "layer " + big + ": too large: 10240 MiB, which is over the limit of 4096 MiB for an image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var armed bool
			host := serve(t, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if armed && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, c.at) {
						c.answer(w, r)
						return
					}
					h.ServeHTTP(w, r)
				})
			})
			push(t, host+"/etcd/bundle:v1", img)
			armed = true
			before := new(runtime.MemStats)
			runtime.ReadMemStats(before)
			s, err := Open(t.Context(), "oci://"+host+"/etcd/bundle:v1", plain(host))
			after := new(runtime.MemStats)
			runtime.ReadMemStats(after)
			switch {
			case c.want == "":
				must(t, err)
				same(t, "files", contents(t, s.FS), goodFiles)
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d MB were allocated", n>>20)
			}
		})
	}
}

func sizeOf(t testing.TB, l v1.Layer) int64 {
	t.Helper()
	n, err := l.Size()
	must(t, err)
	return n
}

// TestRegistryErrors has a registry answer with what would control a terminal.
func TestRegistryErrors(t *testing.T) {
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, "\x1b[2J\nolmgen: all is well\r\u202e"+strings.Repeat("x", 60_000))
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	got := openError(t, "oci://"+host+"/etcd/bundle:v1", plain(host))
	got, hint, _ := strings.Cut(got, "\nhint: ")
	if len(got) > 1000 || strings.ContainsAny(got, "\x1b\r\n\u202e") || !strings.Contains(hint, "log in first") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestRegistryThatLiesAboutDigests answers for a tag with a header that names another digest: the digest of the bytes
// counts.
func TestRegistryThatLiesAboutDigests(t *testing.T) {
	img := goodImage(t)
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/manifests/v1") {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
				w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
				_, _ = w.Write(rec.Body.Bytes())
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	push(t, host+"/etcd/bundle:v1", img)
	s := open(t, "oci://"+host+"/etcd/bundle:v1", plain(host))
	same(t, "digest", s.Digest, digestOf(t, img))
	same(t, "image", s.Image, host+"/etcd/bundle@"+digestOf(t, img))
}

// TestForeignLayer has a manifest name another place for a layer that the registry does not have.
func TestForeignLayer(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = true }))
	defer other.Close()
	data := gzipOf(t, tarOf(t, goodBundle...))
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: static.NewLayer(data, types.OCIRestrictedLayer), URLs: []string{other.URL + "/layer"}})
	must(t, err)
	host := serve(t, nil)
	parsed, err := name.ParseReference(host + "/etcd/bundle:v1")
	must(t, err)
	must(t, remote.Write(parsed, img)) // without the layer
	got := openError(t, "oci://"+host+"/etcd/bundle:v1", plain(host))
	if asked || !strings.Contains(got, "layer sha256:") {
		t.Errorf("asked %v: %s", asked, got)
	}
}

func TestParseRegistry(t *testing.T) {
	for host, ok := range map[string]bool{"localhost:5000": true, "registry.example": true, "[::1]:5000": true, "10.0.0.1": true,
		"": false, "http://localhost": false, "host/path": false, "a b": false, "*": false, "host:": false} {
		if err := ParseRegistry(host); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
}
