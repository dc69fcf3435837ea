package main

import "sync"

// inOrder calls do for 0 to n-1 from several goroutines, and take for each result, in order, from one. It makes at most
// as many results as there are workers that take has not seen. The first error of take ends the work.
func inOrder[T any](workers, n int, do func(i int) T, take func(i int, result T) error) error {
	workers = max(1, min(workers, n))
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	slots, stop := make(chan struct{}, workers), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for i := range n {
			select {
			case slots <- struct{}{}:
			case <-stop:
				return
			}
			wg.Go(func() { results[i] <- do(i) })
		}
	})
	for i := range n {
		err := take(i, <-results[i])
		<-slots
		if err != nil {
			return err
		}
	}
	return nil
}
