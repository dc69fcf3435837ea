//go:build unix

package generate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// BenchmarkCorpus reads and renders every bundle of $OLMGEN_CORPUS, one after another, with one worker. yaml is what the
// bytes cost that the same bundles have: it parses and prints them with sigs.k8s.io/yaml, once. x-yaml says how many
// times as many bytes a CPU second renders. 1x, 2x and 4x are a quarter, a half and all of the bundles: growth says what
// a byte costs then, in relation to 1x, so that it is 1 where the time grows as the input does.
func BenchmarkCorpus(b *testing.B) {
	dirs := corpustest.Bundles(b)
	baseline := 0.0
	b.Run("yaml", func(b *testing.B) {
		var some []string // parsing all takes half a minute
		for i := 0; i < len(dirs); i += 8 {
			some = append(some, dirs[i])
		}
		baseline = perSecond(b, some, func(dir string) int { return reprint(b, dir) })
	})
	// Every fourth bundle, then every second one: each part has packages of all kinds.
	parts := []struct {
		name  string
		every int
	}{{"1x", 4}, {"2x", 2}, {"4x", 1}}
	for _, p := range []generate.Profile{generate.ProfileOLM, generate.ProfileOLMv1} {
		smallest := 0.0
		for _, part := range parts {
			b.Run(string(p)+"/"+part.name, func(b *testing.B) {
				var some []string
				for i := 0; i < len(dirs); i += part.every {
					some = append(some, dirs[i])
				}
				bytes := perSecond(b, some, func(dir string) int { return render(b, dir, p) })
				if baseline > 0 {
					b.ReportMetric(bytes/baseline, "x-yaml")
				}
				if part.every == parts[0].every {
					smallest = bytes
				}
				if smallest > 0 {
					b.ReportMetric(smallest/bytes, "growth")
				}
			})
		}
	}
}

// perSecond runs f for every directory and reports what a CPU second does. It returns bytes for each CPU second; f
// returns how many bytes it has read, 0 for a directory that does not count.
func perSecond(b *testing.B, dirs []string, f func(dir string) int) float64 {
	resetPeak()
	bundles, bytes, before := 0, 0, cpu(b)
	for b.Loop() {
		for _, dir := range dirs {
			if n := f(dir); n > 0 {
				bundles++
				bytes += n
			}
		}
	}
	seconds := (cpu(b) - before).Seconds()
	b.ReportMetric(float64(bundles)/b.Elapsed().Seconds(), "bundles/s")
	b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
	b.ReportMetric(seconds/float64(b.N), "cpu-s")
	b.ReportMetric(float64(bundles)/seconds, "bundles/cpu-s")
	b.ReportMetric(float64(bytes)/1e6/seconds, "MB/cpu-s")
	if peak := peakMB(); peak > 0 {
		b.ReportMetric(peak, "peak-MB")
	}
	return float64(bytes) / seconds
}

func render(b *testing.B, dir string, p generate.Profile) int {
	x, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true, Workers: 1})
	if err != nil {
		return 0 // what is no bundle costs little, and other tests say which
	}
	o := generate.Options{Profile: p, Certs: generate.CertsManager}
	var refused *generate.Error
	if _, err := generate.Render(x, o); err != nil && !errors.As(err, &refused) {
		b.Fatal(dir, err)
	}
	return x.Bytes
}

func reprint(b *testing.B, dir string) (bytes int) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			var v any
			if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
				continue
			}
			if out, err := yaml.Marshal(v); err == nil && len(out) > 0 { // it does not print all that it reads
				bytes += len(doc)
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak makes Linux forget the largest memory of the process so far.
func resetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // peakMB is 0 where there is no such file
}

// peakMB returns the largest memory of the process in megabytes, or 0 where it is not known.
func peakMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0
	}
	return kb / 1000
}
