package parallel

import (
	"slices"
	"sync"
	"testing"
)

// TestEach holds that each item is worked on once, with any number of workers, and by no more of them at a time.
func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 50} {
		var mu sync.Mutex
		done, now, most := make([]int, 20), 0, 0
		Each(workers, len(done), func(i int) {
			mu.Lock()
			done[i]++
			now++
			most = max(most, now)
			mu.Unlock()
			mu.Lock()
			now--
			mu.Unlock()
		})
		if slices.ContainsFunc(done, func(n int) bool { return n != 1 }) || most > Workers(workers) {
			t.Errorf("%d workers: done %v, %d at a time", workers, done, most)
		}
	}
	Each(2, 0, func(int) { t.Error("there is nothing to do") })
}
