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

// limitGarbage has garbage collected as for one bundle until the memory comes near to catalogMemory, then more often.
func limitGarbage() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(catalogMemory)
	watchHeap()
}

// heapWatch is garbage. Its finalizer runs after each collection.
type heapWatch struct{ _ [4]*heapWatch }

// watchHeap takes the limit away when what is in use comes near to it: the collector would run all the time.
func watchHeap() {
	runtime.SetFinalizer(&heapWatch{}, func(*heapWatch) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 &&
			live[0].Value.Uint64() < catalogMemory*2/3 {
			watchHeap()
			return
		}
		debug.SetGCPercent(gcPercentOfCatalogs)
		debug.SetMemoryLimit(math.MaxInt64)
	})
}
