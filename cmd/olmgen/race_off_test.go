//go:build !race

package main

// raceDetector is whether the tests and the programs that they start run with the race detector.
const raceDetector = false
