package fuzztest

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// growthVariable is the environment variable that has Growth measure: 1 for all tests, or I/N for part I of N of them.
const growthVariable = "OLMGEN_GROWTH"

// shortVariable is the environment variable that has Growth run what it measures once, unless that seems to grow too
// fast, and with smaller inputs.
const shortVariable = "OLMGEN_GROWTH_SHORT"

// Linear is the limit of Growth for what should grow as its input does.
const Linear = 1.4

// What Growth measures with.
const (
	leastMemory = 1 << 20
	mostRounds  = 3
	attempts    = 4 // on a loaded machine, a measurement can be wrong
	growthSteps = 4 // how much larger the larger input is

	memoryOfGrowth = 2 << 30
)

// effort returns how often Growth runs what it measures, and how long a run takes at least that can be measured.
func effort() (rounds int, leastCPU time.Duration) {
	if os.Getenv(shortVariable) != "" {
		return 1, 5 * time.Millisecond
	}
	return mostRounds, 20 * time.Millisecond
}

// Growth measures what inputs of sizes n and 4n need, and fails the test if that grows faster than n to the power of
// limit: the bytes that are allocated beyond what an input of size 1 needs (from 1 MiB: what is less differs from
// run to run), and the CPU time, of which the least of three runs counts; the larger input is run again only while it
// is over the limit. n is the first double of a size from which a run takes twice as long as with an input of size 1,
// and 20 milliseconds longer; no input is larger than most. prepare makes the input, which is not measured, and
// returns what reads it. What grows too fast in one measurement is measured again. Without OLMGEN_GROWTH in the
// environment, the test is skipped.
func Growth(tb testing.TB, limit float64, first, most int, prepare func(n int) func()) {
	tb.Helper()
	if !growthPart(tb.Name(), os.Getenv(growthVariable)) {
		tb.Skip("set " + growthVariable + " to measure how time and memory grow")
	}
	// Collections of garbage come at odd moments, and their CPU time depends on what else the process holds.
	tb.Setenv("GOGC", "off")
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryOfGrowth))
	n := first
	rounds, leastCPU := effort()
	none := usage{math.MaxUint64, math.MaxInt64}
	one, base := prepare(1), none
	one() // tables that a first run makes are no part of what an input needs
	for range rounds {
		base = base.least(one)
	}
	enough := base.cpu + max(leastCPU, base.cpu)
	short := func(read func()) bool { // one run can be slow by chance
		used := none
		for range rounds {
			if used = used.least(read); used.cpu < enough {
				return true
			}
		}
		return false
	}
	for 2*n*growthSteps <= most && short(prepare(n)) {
		n *= 2
	}
	read, readMore := prepare(n), prepare(n*growthSteps)
	var cpu, memory float64
	for attempt := range attempts {
		if attempt > 0 {
			rounds = mostRounds
		}
		small, large := none, none
		for range rounds {
			small = small.least(read)
		}
		for range rounds { // a further run can only be less, so what is within the limit stays there
			large = large.least(readMore)
			cpu = exponent(float64(small.cpu), float64(large.cpu))
			beyond := func(u usage) float64 { return float64(u.memory) - float64(base.memory) }
			memory = exponent(max(beyond(small), leastMemory), beyond(large))
			if large.cpu < enough { // too short to be measured
				cpu = 0
			}
			if cpu <= limit && memory <= limit {
				break
			}
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

// growthPart reports whether a test is of the part that is measured. The parts are of about the same size, and a test
// stays in its part when others are added.
func growthPart(name, part string) bool {
	var i, n uint32
	if _, err := fmt.Sscanf(part, "%d/%d", &i, &n); err != nil || n == 0 {
		return part == "1"
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return hash.Sum32()%n+1 == i
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
