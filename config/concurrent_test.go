package config

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/olmgen/olmgen/golden/sourcetest"
	"github.com/olmgen/olmgen/source"
)

// imagesOf returns a RenderConfig with n operators from images of a registry, which has them.
func imagesOf(t testing.TB, host string, n int) *Config {
	t.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ndefaults: {profile: plain}\ngroups:\n")
	for i := range n {
		name := fmt.Sprintf("op%03d", i)
		csv := fmt.Sprintf(smallCSV, name, name, name, name)
		img := sourcetest.Image(t, map[string]string{}, sourcetest.Tar(t, map[string]string{"manifests/csv.yaml": csv,
			"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: " + name + "}\n"}))
		sourcetest.Push(t, host+"/"+name+":v1", img)
		fmt.Fprintf(&text, "- {namespace: %s, targetNamespaces: [%s], bundles: [{source: \"oci://%s/%s:v1\"}]}\n", name, name, host, name)
	}
	c, err := Read("olmgen.yaml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const smallCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %s.v1.0.0}
spec:
  version: 1.0.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: %s
        spec:
          replicas: 1
          selector: {matchLabels: {name: %s}}
          template:
            metadata: {labels: {name: %s}}
            spec: {containers: [{name: c, image: example.com/c:v1}]}
`

// meeting lets requests for manifests go on when as many of them wait as are expected.
type meeting struct {
	mu      sync.Mutex
	waiting int
	most    int
	want    int
	open    chan struct{} // closed when all are there
}

// arrive waits for the others. The time is for a failing test only.
func (m *meeting) arrive() {
	m.mu.Lock()
	m.waiting++
	m.most = max(m.most, m.waiting)
	if m.waiting == m.want {
		close(m.open)
	}
	m.mu.Unlock()
	select {
	case <-m.open:
	case <-time.After(time.Minute):
	}
	m.mu.Lock()
	m.waiting--
	m.mu.Unlock()
}

// A run waits for many images at the same time, however many processors there are.
func TestSourcesAreOpenedConcurrently(t *testing.T) {
	m := &meeting{want: maxOpening, open: make(chan struct{})}
	var pushed atomic.Bool
	host := sourcetest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if pushed.Load() && strings.Contains(r.URL.Path, "/manifests/") {
				m.arrive()
			}
			next.ServeHTTP(w, r)
		})
	})
	c := imagesOf(t, host, maxOpening+8)
	pushed.Store(true)
	o := Options{Workers: 1, Source: source.Options{InsecureRegistries: []string{host}}}
	if _, err := c.Render(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if m.most < maxOpening || m.most > maxOpening {
		t.Errorf("%d requests at the same time, want %d", m.most, maxOpening)
	}
}
