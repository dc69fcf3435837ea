package fuzztest

import (
	"os"
	"testing"
)

// slowVariable is the environment variable that has slow tests run. "make faults" and "make fuzz-smoke" set it to 1.
const slowVariable = "OLMGEN_SLOW"

// Seconds skips a test that takes seconds, if "go test -short" asks for that.
func Seconds(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("takes seconds")
	}
}

// Slow skips a test that takes many seconds. A stage of the check runs it by its name, so that no test runs twice.
func Slow(tb testing.TB) {
	tb.Helper()
	if os.Getenv(slowVariable) != "1" {
		tb.Skip("slow: set " + slowVariable + "=1 to run it")
	}
}
