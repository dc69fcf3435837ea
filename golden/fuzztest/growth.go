package fuzztest

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// growthVariable is the environment variable that has Growth measure.
const growthVariable = "OLMGEN_GROWTH"

// Linear is the limit of Growth for what should grow as its input does.
const Linear = 1.4

// What Growth measures with.
const (
	leastCPU    = 20 * time.Millisecond
	rounds      = 3
	attempts    = 3 // on a loaded machine, a measurement can be wrong
	growthSteps = 4 // how much larger the larger input is

	memoryOfGrowth = 2 << 30
)

// Growth measures what inputs of sizes n and 4n need, and fails the test if that grows faster than n to the power of
// limit: the bytes that are allocated, and the CPU time, of which the least of three runs counts. n is the first double
// of a size from which a run takes 20 milliseconds; no input is larger than most. prepare makes the input, which is
// not measured, and returns what reads it. What grows too fast in one measurement is measured again. Without
// OLMGEN_GROWTH in the environment, the test is skipped.
func Growth(tb testing.TB, limit float64, first, most int, prepare func(n int) func()) {
	tb.Helper()
	if os.Getenv(growthVariable) == "" {
		tb.Skip("set " + growthVariable + " to measure how time and memory grow")
	}
	// Collections of garbage come at odd moments, and their CPU time depends on what else the process holds.
	tb.Setenv("GOGC", "off")
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryOfGrowth))
	n := first
	none := usage{math.MaxUint64, math.MaxInt64}
	for 2*n*growthSteps <= most && none.least(prepare(n)).cpu < leastCPU {
		n *= 2
	}
	read, readMore := prepare(n), prepare(n*growthSteps)
	var cpu, memory float64
	for range attempts {
		small, large := none, none
		for range rounds {
			small, large = small.least(read), large.least(readMore)
		}
		cpu = exponent(float64(small.cpu), float64(large.cpu))
		memory = exponent(float64(small.memory), float64(large.memory))
		if large.cpu < leastCPU { // too short to be measured
			cpu = 0
		}
		tb.Logf("%d: %v and %.1f MB, %d: %v and %.1f MB: exponents %.2f and %.2f", n, small.cpu,
			float64(small.memory)/1e6, n*growthSteps, large.cpu, float64(large.memory)/1e6, cpu, memory)
		if cpu <= limit && memory <= limit {
			return
		}
	}
	tb.Errorf("from %d to %d, CPU time grows with an exponent of %.2f, allocations with %.2f, more than %.1f", n,
		n*growthSteps, cpu, memory, limit)
}

func exponent(small, large float64) float64 {
	return math.Log(max(large, 1)/max(small, 1)) / math.Log(growthSteps)
}

// least runs f, and returns the least that it or an earlier run used.
func (best usage) least(f func()) usage {
	runtime.GC()
	before := measure()
	f()
	after := measure()
	return usage{min(best.memory, after.memory-before.memory), min(best.cpu, after.cpu-before.cpu)}
}
