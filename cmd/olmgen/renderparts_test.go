package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/olmgen/olmgen/internal/catalog/shard"
)

// countingRegistry has the bundles of catalogOfMany as images and counts the layers that it sends.
type countingRegistry struct {
	host string

	mu    sync.Mutex
	sent  map[string]int // layers, by the name of the image
	stuck string         // the image whose layers it does not send
	asked chan struct{}  // gets a value when such a layer is asked for
	delay time.Duration  // of each answer
}

func newCountingRegistry(t testing.TB) *countingRegistry {
	t.Helper()
	r := &countingRegistry{sent: map[string]int{}, asked: make(chan struct{}, 1)}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		image, _, blob := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/sha256:")
		if req.Method == http.MethodGet && blob && r.count(image) {
			select {
			case r.asked <- struct{}{}:
			default:
			}
			<-req.Context().Done()
			return
		}
		time.Sleep(r.delay)
		images.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// count counts a layer, and reports whether it is stuck.
func (r *countingRegistry) count(image string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck == image {
		return true
	}
	r.sent[image]++
	return false
}

// take returns what was sent, and starts anew.
func (r *countingRegistry) take(stuck string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent, r.stuck = map[string]int{}, stuck
	return sent
}

// push puts a bundle into the registry.
func (r *countingRegistry) push(t testing.TB, image, dir string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(r.host+"/"+image+":v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}

// declaration writes a RenderConfig of the first packages of catalogOfMany, whose images are in the registry, two in each
// group. It returns the arguments that render it.
func (r *countingRegistry) declaration(t testing.TB, packages int) (args []string) {
	t.Helper()
	bundles := catalogOfMany(t, packages)
	var text strings.Builder
	text.WriteString("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ndefaults: {certs: {provider: cert-manager}}\nannotations: argocd\ngroups:\n")
	for i := range packages {
		image := fmt.Sprintf("p%02d", i)
		r.push(t, image, filepath.Join(bundles, image, "bundle"))
		if i%2 == 0 {
			fmt.Fprintf(&text, "- namespace: ns-%02d\n  bundles:\n", i)
		}
		fmt.Fprintf(&text, "  - {source: \"oci://%s/%s:v1\", package: memcached-%02d-operator}\n", r.host, image, i)
	}
	file := filepath.Join(t.TempDir(), "olmgen.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"render", "--insecure-registry", r.host, "-f", file}
}

// Processes that read a shard each, one of which is killed while it reads an image and run again, make what one process
// makes. Each image is read once, and the merge reads none.
func TestRenderShards(t *testing.T) {
	const shards, operators = 3, 12
	r, dir := newCountingRegistry(t), t.TempDir()
	render := r.declaration(t, operators)
	stuck := ""
	for i := range operators {
		if (shard.Shard{Index: 2, Count: shards}).Has(fmt.Sprintf("memcached-%02d-operator", i)) {
			stuck = fmt.Sprintf("p%02d", i)
		}
	}
	one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")
	mustRun(t, slices.Concat(render, []string{"-o", one})...)
	if sent := r.take(stuck); len(sent) != operators {
		t.Fatalf("one process: %v", sent)
	}

	part := func(i int) string { return filepath.Join(dir, fmt.Sprintf("part-%d.json", i)) }
	var parts []string
	var running []*exec.Cmd
	for i := 1; i <= shards; i++ {
		cmd := exec.Command("olmgen", slices.Concat(render, []string{"--shard", fmt.Sprintf("%d/%d", i, shards), "-o", part(i)})...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running, parts = append(running, cmd), append(parts, part(i))
	}
	select {
	case <-r.asked:
	case <-time.After(time.Minute):
		t.Error("nobody reads the image")
	}
	if err := running[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, cmd := range running {
		if err := cmd.Wait(); (err != nil) != (i == 1) {
			t.Fatalf("shard %d: %v", i+1, err)
		}
	}
	merge := slices.Concat(render, []string{"-o", many, "--merge"}, parts)
	if out, err := exec.Command("olmgen", merge...).CombinedOutput(); err == nil || !strings.Contains(string(out), "no such file") {
		t.Errorf("without a part: %v\n%s", err, out)
	}
	if _, err := os.Stat(many); err == nil {
		t.Error("without a part, the merge writes")
	}

	first := r.take("")
	mustRun(t, slices.Concat(render, []string{"--shard", "2/3", "-o", part(2)})...)
	again := r.take("")
	for i := range operators {
		image := fmt.Sprintf("p%02d", i)
		if mine := (shard.Shard{Index: 2, Count: shards}).Has(fmt.Sprintf("memcached-%02d-operator", i)); mine != (again[image] > 0) || !mine && first[image] == 0 {
			t.Errorf("%s: read %d times, then %d times", image, first[image], again[image])
		}
	}
	mustRun(t, merge...)
	if sent := r.take(""); len(sent) > 0 {
		t.Errorf("the merge reads %v", sent)
	}
	sameTree(t, one, many)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2+shards {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What shards save: a registry answers each request after 200 ms.
func BenchmarkRenderShards(b *testing.B) {
	const shards, operators = 4, 100
	r, dir := newCountingRegistry(b), b.TempDir()
	render := r.declaration(b, operators)
	r.delay = 200 * time.Millisecond
	timed := func(what string, f func()) {
		start := time.Now()
		f()
		b.ReportMetric(time.Since(start).Seconds(), what)
	}
	for b.Loop() {
		timed("s-one-process", func() { mustRun(b, render...) })
		var parts []string
		timed("s-shards", func() {
			var wg sync.WaitGroup
			for i := 1; i <= shards; i++ {
				part := filepath.Join(dir, fmt.Sprintf("part-%d.json", i))
				parts = append(parts, part)
				wg.Go(func() {
					mustRun(b, slices.Concat(render, []string{"--shard", fmt.Sprintf("%d/%d", i, shards), "-o", part})...)
				})
			}
			wg.Wait()
		})
		timed("s-merge", func() { mustRun(b, slices.Concat(render, []string{"--merge"}, parts)...) })
	}
}
