package main

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestInOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		var open, most atomic.Int64
		var got []int
		err := inOrder(workers, 50, func(i int) int {
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Duration(50-i) * time.Microsecond)
			return i
		}, func(i, result int) error {
			open.Add(-1)
			if i != result {
				t.Errorf("%d is %d", i, result)
			}
			got = append(got, i)
			return nil
		})
		if err != nil || len(got) != 50 || !slices.IsSorted(got) {
			t.Errorf("%d workers: %v, %v", workers, got, err)
		}
		if n := int(most.Load()); n > max(1, workers)+1 { // one is being taken
			t.Errorf("%d workers: %d results at one time", workers, n)
		}
	}
	stop := errors.New("stop")
	if err := inOrder(2, 1000, func(i int) int { return i }, func(i, _ int) error {
		if i == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := inOrder(2, 0, func(int) int { return 0 }, func(int, int) error { return stop }); err != nil {
		t.Error(err)
	}
}
