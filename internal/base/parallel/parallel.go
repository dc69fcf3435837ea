// Package parallel does the same for many items, several at the same time.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns how many items are worked on at the same time: as many as asked for, or one a processor for none.
func Workers(asked int) int {
	if asked > 0 {
		return asked
	}
	return runtime.GOMAXPROCS(0)
}

// Each calls do for 0 to n-1 from several goroutines, and returns when all calls have.
func Each(workers, n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(Workers(workers), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}
