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
	"github.com/olmgen/olmgen/internal/corpus/corpustest"
)

// BenchmarkCorpus reads and renders every bundle of $OLMGEN_CORPUS, one after another. yaml is what the bytes cost that
// the same bundles have: it parses and prints them with sigs.k8s.io/yaml, once. x-yaml says how many times as many bundles
// a CPU second renders. The quarter and the half show how time and memory grow with the input.
func BenchmarkCorpus(b *testing.B) {
	dirs := corpustest.Bundles(b)
	profile := func(p generate.Profile, dirs []string) func(*testing.B) float64 {
		return func(b *testing.B) float64 {
			return perSecond(b, dirs, func(dir string) int { return render(b, dir, p) })
		}
	}
	baseline := 0.0
	b.Run("yaml", func(b *testing.B) {
		var some []string // parsing all takes half a minute
		for i := 0; i < len(dirs); i += 8 {
			some = append(some, dirs[i])
		}
		baseline = perSecond(b, some, func(dir string) int { return reprint(b, dir) })
	})
	for _, run := range []struct {
		name string
		f    func(*testing.B) float64
	}{
		{"olm/quarter", profile(generate.ProfileOLM, dirs[:len(dirs)/4])},
		{"olm/half", profile(generate.ProfileOLM, dirs[:len(dirs)/2])},
		{"olm/all", profile(generate.ProfileOLM, dirs)},
		{"olmv1/all", profile(generate.ProfileOLMv1, dirs)},
	} {
		b.Run(run.name, func(b *testing.B) {
			if bytes := run.f(b); baseline > 0 {
				b.ReportMetric(bytes/baseline, "x-yaml")
			}
		})
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
	b.ReportMetric(float64(bundles)/seconds, "bundles/cpu-s")
	b.ReportMetric(float64(bytes)/1e6/seconds, "MB/cpu-s")
	if peak := peakMB(); peak > 0 {
		b.ReportMetric(peak, "peak-MB")
	}
	return float64(bytes) / seconds
}

func render(b *testing.B, dir string, p generate.Profile) int {
	x, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
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
			out, err := yaml.Marshal(v)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(out) > 0 {
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
