package main

import (
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/olmgen/olmgen/internal/base/text"
)

// progressDelay is how long a command works until it shows that it does.
const progressDelay = 2 * time.Second

// progressLine is the last line of a terminal while a command works: what it does, and how much of it is done. What is
// written meanwhile takes its place. Without a terminal it does nothing.
type progressLine struct {
	terminal *os.File // nil: there is none
	mu       sync.Mutex
	timer    *time.Timer
	bar      *progressbar.ProgressBar // nil: it is not shown yet
	what     string
	done     map[string]int
	total    int
}

// newProgressLine returns the line of a terminal, which appears after a delay.
func newProgressLine(stderr io.Writer, delay time.Duration) *progressLine {
	l := &progressLine{terminal: terminalOf(stderr), done: map[string]int{}}
	if os.Getenv("CI") != "" {
		l.terminal = nil
	}
	if l.terminal != nil {
		l.timer = time.AfterFunc(delay, l.appear)
	}
	if delay == 0 {
		l.appear()
	}
	return l
}

// step is a watch.Func.
func (l *progressLine) step(what string, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if total == 1 { // each of many may be the one of its own
		total = 0
	}
	if l.done[what]++; total > 0 || l.total == 0 { // one that is counted says more
		l.what, l.total = what, total
	}
	if l.bar != nil {
		l.show()
	}
}

func (l *progressLine) appear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return // the command is done
	}
	l.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(l.terminal), progressbar.OptionSetWidth(20),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false),
		progressbar.OptionThrottle(100*time.Millisecond))
	l.show()
}

// show draws the line. What cannot be shown is not missed.
func (l *progressLine) show() {
	if l.what == "" {
		return
	}
	l.bar.Describe("olmgen: " + text.Middle(l.what, 60))
	if l.total > 0 {
		l.bar.ChangeMax(l.total)
		_ = l.bar.Set(min(l.done[l.what], l.total))
	}
}

// write writes in place of the line.
func (l *progressLine) write(w io.Writer, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	return w.Write(p)
}

func (l *progressLine) clear() {
	if l.bar != nil {
		_ = l.bar.Clear()
	}
}

// stop removes the line for good.
func (l *progressLine) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clear(); l.timer != nil {
		l.timer.Stop()
	}
	l.timer, l.bar = nil, nil
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
