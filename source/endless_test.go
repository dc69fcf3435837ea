package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/olmgen/olmgen/bundle/signature"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// body is what a registry sends under a path. Without data it has no end.
type body struct {
	media types.MediaType
	data  []byte
}

// endlessRegistry returns an image behind an index, with one signature and a token server. The body of a kind has no
// end, and its descriptor says a size. It sends a kB after each pause, or all that it can.
func endlessRegistry(t *testing.T, kind string, size int64, pause time.Duration) (host string) {
	t.Helper()
	bodies := map[string]body{"/v2/": {data: []byte{' '}}}
	add := func(of string, media types.MediaType, content any, paths ...string) v1.Descriptor {
		data, err := json.Marshal(content)
		must(t, err)
		h, n, err := v1.SHA256(bytes.NewReader(data))
		must(t, err)
		if of == kind {
			data, n = nil, size
		}
		for _, p := range append(paths, "/v2/a/b/manifests/"+h.String(), "/v2/a/b/blobs/"+h.String()) {
			bodies[p] = body{media, data}
		}
		return v1.Descriptor{MediaType: media, Digest: h, Size: n}
	}
	config := add("config", types.OCIConfigJSON, v1.ConfigFile{})
	image := func(of string, layer v1.Descriptor) v1.Descriptor {
		return add(of, types.OCIManifestSchema1, v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
			Config: config, Layers: []v1.Descriptor{layer}})
	}
	index := func(of string, d v1.Descriptor, paths ...string) v1.Descriptor {
		return add(of, types.OCIImageIndex, v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex,
			Manifests: []v1.Descriptor{d}}, paths...)
	}
	top := index("index", image("manifest", add("layer", types.OCIUncompressedLayer, "x")), "/v2/a/b/manifests/v1")
	index("referrers", image("", add("signature", signature.SimpleSigning, "y")), "/v2/a/b/referrers/"+top.Digest.String())
	bodies["/token"] = body{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := bodies[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.URL.Path == "/v2/" && kind == "token":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=\"http://%s/token\"", r.Host))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", string(b.media))
		if b.data != nil {
			_, _ = w.Write(b.data)
			return
		}
		page := make([]byte, 1<<20)
		if pause > 0 {
			page = page[:1<<10]
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(page); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(pause)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestBodiesWithoutEnd sends each kind of body without an end, fast and slowly, whatever its descriptor says.
func TestBodiesWithoutEnd(t *testing.T) {
	fuzztest.Seconds(t)
	const timeout = time.Second
	for _, kind := range []string{"manifest", "index", "config", "layer", "signature", "token", "referrers"} {
		for _, size := range []int64{-1, 1, maxImageJSON, 4 << 30} {
			for _, pause := range []time.Duration{0, 20 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s of %d, every %v", kind, size, pause), func(t *testing.T) {
					host := endlessRegistry(t, kind, size, pause)
					o := plain(host)
					o.Timeout = timeout
					if kind == "signature" || kind == "referrers" {
						o.VerifyKeys = newSigner(t).keys()
					}
					fuzztest.LimitMemory(t, 0, 120_000_000)
					start := time.Now()
					got := openError(t, "oci://"+host+"/a/b:v1", o)
					if d := time.Since(start); d > timeout+2*time.Second {
						t.Errorf("it took %v: %s", d, got)
					}
					if size < 0 && strings.Contains("config layer signature", kind) &&
						!strings.Contains(got, "its descriptor has the size -1") {
						t.Error(got)
					}
				})
			}
		}
	}
}
