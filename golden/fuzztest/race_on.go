//go:build race

package fuzztest

// raced is how much more memory an input may need with the race detector: it allocates too, and sync.Pool then drops a
// part of what it is given, the machines of package regexp among that. 1.6 times was seen.
const raced = 2
