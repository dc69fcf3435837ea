package fuzztest

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// recorder is a test that keeps its errors and runs its cleanup when asked.
type recorder struct {
	testing.TB
	errors  []string
	cleanup func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) expect(t *testing.T, want string) {
	t.Helper()
	got := strings.Join(r.errors, "\n")
	if !strings.HasPrefix(got, want) || want == "" && got != "" {
		t.Errorf("got %q, want %q", got, want)
	}
}

var kept [][]byte

func allocate(n int) {
	for range n {
		kept = [][]byte{make([]byte, 1_000_000)}
	}
}

func spin(d time.Duration) {
	for end := CPUTime() + d; CPUTime() < end; {
		continue
	}
}

func TestLimit(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		hog  int // megabytes
		want string
	}{
		{"modest", 1000, 10, ""},
		{"too much", 1000, raced * 220, "an input of 1000 bytes needs "},
		{"large input", maxInput, 220, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			Limit(r, test.size)
			allocate(test.hog)
			if r.cleanup != nil {
				r.cleanup()
			}
			r.expect(t, test.want)
		})
	}
}

// What counts is what was allocated, not what the garbage collector has left of it at some moment.
func TestLimitMemory(t *testing.T) {
	for _, percent := range []int{-1, 10} {
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
		for hog, want := range map[int]string{290: "", raced * 312: "an input of 1000 bytes needs "} {
			r := &recorder{TB: t}
			LimitMemory(r, 1000, 300_000_000)
			allocate(hog)
			r.cleanup()
			r.expect(t, want)
		}
	}
}

func TestCPU(t *testing.T) {
	before := measure()
	spin(60 * time.Millisecond)
	after := measure()
	for limit, want := range map[time.Duration]string{
		50 * time.Millisecond: "an input of 1000 bytes needs ",
		time.Hour:             "",
		0:                     "",
	} {
		r := &recorder{TB: t}
		before.check(r, after, 1000, usage{maxMemory, limit})
		r.expect(t, want)
	}
}

func TestCPULimit(t *testing.T) {
	t.Setenv(cpuVariable, "")
	if got := cpuLimit(); got != 0 {
		t.Errorf("without %s the limit is %v", cpuVariable, got)
	}
	t.Setenv(cpuVariable, "1")
	if got := cpuLimit(); got != maxCPU {
		t.Errorf("with %s the limit is %v", cpuVariable, got)
	}
}

// A measurement must not take much of the time of the fuzzer.
func BenchmarkMeasure(b *testing.B) {
	for b.Loop() {
		measure()
	}
}

// Each test is in one part of several.
func TestGrowthPart(t *testing.T) {
	first := 0
	for i := range 100 {
		name := fmt.Sprintf("TestGrowth/dimension_%d", i)
		if growthPart(name, "1/2") == growthPart(name, "2/2") || !growthPart(name, "1") || growthPart(name, "") {
			t.Errorf("%s is in no part, or in two", name)
		}
		if growthPart(name, "1/2") {
			first++
		}
	}
	if first < 30 || first > 70 {
		t.Errorf("the first of two parts has %d of 100 tests", first)
	}
}
