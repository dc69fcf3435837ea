// Package fuzztest holds what a test does with one input to limits of memory and time.
package fuzztest

import (
	"flag"
	"os"
	"runtime/metrics"
	"testing"
	"time"
)

// The limits of one input of less than maxInput bytes.
//
// The time is CPU time of the process, the garbage collector included, so that other work on the machine does not
// count.
const (
	maxInput  = 1_000_000
	maxMemory = 200_000_000
	maxCPU    = time.Second
)

// instrumented is how much more CPU time an input may need below "go test -fuzz": the fuzzer compiles all code with
// counters. Parsing YAML takes three times as long with them.
const instrumented = 5

// cpuVariable is the environment variable that makes tests measure CPU time too. Without it only the fuzzer does:
// "go test" must not fail on a slow machine, or with the race detector.
const cpuVariable = "OLMGEN_LIMIT_CPU"

// Limit fails the test at its end if it needed more than the limits from here on. Size is the length of the input.
// Inputs of 1 MB and more have no limit. Nothing else may run in the process meanwhile.
//
// The memory is that of all allocations together, freed ones included: an upper bound of what the input needs at once
// that does not depend on when the garbage collector runs.
func Limit(tb testing.TB, size int) {
	tb.Helper()
	LimitMemory(tb, size, maxMemory)
}

// LimitMemory is Limit for an input that needs more allocations than others, and as many times more CPU time.
func LimitMemory(tb testing.TB, size int, memory uint64) {
	tb.Helper()
	if size >= maxInput {
		return
	}
	before := measure()
	tb.Cleanup(func() {
		tb.Helper()
		cpu := cpuLimit() * time.Duration(max(memory, maxMemory)/1e6) / (maxMemory / 1e6)
		before.check(tb, measure(), size, usage{uint64(raced * float64(memory)), cpu})
	})
}

// usage is what a process used since its start.
type usage struct {
	memory uint64
	cpu    time.Duration
}

func measure() usage {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return usage{memory: sample[0].Value.Uint64(), cpu: CPUTime()}
}

// check compares two measurements. A limit of no CPU time is no limit.
func (before usage) check(tb testing.TB, after usage, size int, limit usage) {
	tb.Helper()
	if n := after.memory - before.memory; n > limit.memory {
		tb.Errorf("an input of %d bytes needs %d MB, more than %d MB", size, n/1_000_000, limit.memory/1_000_000)
	}
	if d := after.cpu - before.cpu; limit.cpu > 0 && d > limit.cpu {
		tb.Errorf("an input of %d bytes needs %v of CPU time, more than %v", size, d.Round(time.Millisecond), limit.cpu)
	}
}

// cpuLimit returns the limit of CPU time; zero if it is not measured.
func cpuLimit() time.Duration {
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		return instrumented * maxCPU
	}
	if os.Getenv(cpuVariable) != "" {
		return maxCPU
	}
	return 0
}
