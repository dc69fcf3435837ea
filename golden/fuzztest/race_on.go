//go:build race

package fuzztest

// raced is how much more memory an input may need with the race detector, which allocates too: 5 to 10 % was seen.
const raced = 1.25
