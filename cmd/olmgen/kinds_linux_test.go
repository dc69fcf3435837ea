package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// What a command may need for 4 MB of one kind.
const (
	mostSeconds   = 20
	mostMegabytes = 600
)

// TestKinds holds what each command that reads a tree needs for 4 MB of each kind. docs/reference/limits.md has its table.
func TestKinds(t *testing.T) {
	fuzztest.Slow(t)
	units, olmgen := kindUnits(), program(t)
	for _, kind := range slices.Sorted(maps.Keys(units)) {
		t.Run(kind, func(t *testing.T) {
			n, most := 4_000_000/len(strings.ReplaceAll(units[kind], "#", "12345")), 0.0
			row := fmt.Sprintf("| %s | %d |", kindName(kind), n)
			for _, command := range withUpdates {
				seconds, megabytes := spend(t, olmgen, command, units[kind], n)
				row += fmt.Sprintf(" %.1f |", seconds)
				most = max(most, megabytes)
				if seconds > mostSeconds || megabytes > mostMegabytes {
					t.Errorf("%s: %.1f s, %.0f MB", command, seconds, megabytes)
				}
			}
			t.Logf("%s %.0f MB |", row, most)
		})
	}
}

// spend returns the CPU seconds and the most memory, in MB, that a command needs for n objects.
func spend(t *testing.T, olmgen, command, unit string, n int) (seconds, megabytes float64) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range treeWith("", unit)(n) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.Command(olmgen, strings.Fields(strings.ReplaceAll(command, "DIR", dir))...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == exitUsage {
		t.Fatalf("%s: %v %.300s", command, err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(usage.Maxrss) / 1000
}
