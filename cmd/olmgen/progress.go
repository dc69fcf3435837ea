package main

import (
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how many of several bundles have been read; done removes it. Elsewhere it does nothing.
func progress(stderr io.Writer) (step func(total int), done func()) {
	file := terminalOf(stderr)
	if file == nil {
		return nil, func() {}
	}
	var mu sync.Mutex
	var bar *progressbar.ProgressBar
	step = func(total int) {
		mu.Lock()
		defer mu.Unlock()
		if bar == nil && total > 1 {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(file),
				progressbar.OptionSetDescription("olmgen: reading bundles"),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
				progressbar.OptionSetPredictTime(false))
		}
		if bar != nil {
			_ = bar.Add(1) // what cannot be shown is not missed
		}
	}
	return step, func() {
		mu.Lock()
		defer mu.Unlock()
		if bar != nil {
			_ = bar.Clear()
		}
	}
}

// gcPercentOfCatalogs is gcPercent where what is in use does not fit into catalogMemory: memory is twice that.
const gcPercentOfCatalogs = 100

// catalogMemory is the memory in which a command may let garbage lie, in bytes: 300 MB of a catalog's JSON fit, of
// which a command keeps a tenth. Above it, an audit of 110 MB of bundles costs what it costs within 480 MiB.
const catalogMemory = 72 << 20

// setGCPercent sets by how much the heap may grow before garbage is collected, unless the user has.
func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// treeMemory is catalogMemory for a command that keeps what it reads: two trees of 4 MB each fit, of small objects.
const treeMemory = 512 << 20

// limitGarbage has garbage collected as for one bundle until the memory comes near to catalogMemory, then more often.
func limitGarbage() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(catalogMemory)
	watchHeap(catalogMemory*2/3, func() {
		debug.SetGCPercent(gcPercentOfCatalogs)
		debug.SetMemoryLimit(treeMemory)
		watchHeap(treeMemory*4/5, func() { debug.SetMemoryLimit(math.MaxInt64) })
	})
}

// heapWatch is garbage. Its finalizer runs after each collection.
type heapWatch struct{ _ [4]*heapWatch }

// watchHeap calls then as soon as most bytes are in use. A limit near to that would keep the collector running.
func watchHeap(most uint64, then func()) {
	runtime.SetFinalizer(&heapWatch{}, func(*heapWatch) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < most {
			watchHeap(most, then)
			return
		}
		then()
	})
}
