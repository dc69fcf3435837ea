package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// stride is the distance of the system calls that a fault is put at. OLMGEN_FAULTS=1 takes every one.
func stride() int {
	if n, err := strconv.Atoi(os.Getenv("OLMGEN_FAULTS")); err == nil && n > 0 {
		return n
	}
	return 30
}

// strace returns the path of strace, with which the tests put faults at system calls.
func strace(t *testing.T) string {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector opens files of its own")
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace (apt-get install strace)")
	}
	if out, err := exec.Command(path, "-f", "-qq", "-o", os.DevNull, "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v: %s", err, out)
	}
	return path
}

// program builds the command under test. It starts in a third of the time that the test binary takes.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "olmgen")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// memory returns a directory in memory, where there is one: a sync takes no time there.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "olmgen")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "x")
}

// rerender is a directory that one render wrote, and what the next one makes of it.
type rerender struct {
	t        *testing.T
	olmgen   string
	parent   string            // all that a run may touch
	mine     map[string]string // files of others in the directory
	old, new map[string]string
}

func newRerender(t *testing.T, olmgen string, mine map[string]string) *rerender {
	t.Helper()
	u := &rerender{t: t, olmgen: olmgen, parent: memory(t), mine: mine}
	out, err := exec.Command(u.olmgen, u.args("bundle-v0.1.0")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.old = filesIn(t, u.out())
	out, err = exec.Command(u.olmgen, u.args("bundle")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.new = filesIn(t, u.out())
	if reflect.DeepEqual(u.old, u.new) {
		t.Fatal("both bundles render to the same files")
	}
	maps.Copy(u.old, mine)
	maps.Copy(u.new, mine)
	return u
}

func (u *rerender) out() string { return filepath.Join(u.parent, "out") }

func (u *rerender) args(bundle string) []string {
	return []string{"render", example(u.t, bundle), "-n", "ops", "-o", u.out()}
}

// reset puts the old tree, or none, in place.
func (u *rerender) reset(fresh bool) {
	must(u.t, os.RemoveAll(u.parent))
	must(u.t, os.MkdirAll(u.parent, 0o755))
	for p, text := range u.old {
		if fresh {
			break
		}
		must(u.t, os.MkdirAll(filepath.Dir(filepath.Join(u.out(), p)), 0o755))
		must(u.t, os.WriteFile(filepath.Join(u.out(), p), []byte(text), 0o644))
	}
}

// outcome is what a run left.
type outcome struct {
	code   int
	killed bool
	stderr string
	done   bool // the directory is as the new bundle renders
	faults int  // calls that failed: strace counts the calls of each thread, so there may be several
}

// run renders the new bundle with an injection of strace and judges the directory.
func (u *rerender) run(calls, injection string, fresh bool) outcome {
	u.t.Helper()
	u.reset(fresh)
	trace := filepath.Join(u.t.TempDir(), "trace")
	cmd := exec.Command("strace", append([]string{"-f", "-qq", "-o", trace, "-e", "trace=" + calls, "-e", "inject=" + calls + ":" + injection,
		u.olmgen}, u.args("bundle")...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // fewer threads: strace counts the calls of each
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	o := outcome{code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && (status.Signaled() || o.code > 128) {
		o.killed = true
	}
	if err != nil && !o.killed && o.code < 0 {
		u.t.Fatalf("%s %s: %v", calls, injection, err)
	}
	traced, err := os.ReadFile(trace)
	must(u.t, err)
	o.faults = bytes.Count(traced, []byte("(INJECTED)"))
	got := filesIn(u.t, u.out())
	maps.DeleteFunc(got, atWork)
	o.done = reflect.DeepEqual(got, u.new)
	return o
}

// atWork reports whether a file is olmgen's while it writes.
func atWork(p, _ string) bool { return strings.HasPrefix(p, ".olmgen-work/") }

// whole fails the test unless the directory is one of the trees.
func (u *rerender) whole(what string, fresh bool) {
	u.t.Helper()
	got := filesIn(u.t, u.out())
	maps.DeleteFunc(got, atWork) // clean looks at these
	if reflect.DeepEqual(got, u.new) || !fresh && reflect.DeepEqual(got, u.old) || fresh && len(got) == 0 {
		return
	}
	u.t.Errorf("%s: neither the old tree nor the new one: %v", what, slicesOf(got))
}

// clean fails the test if anything but the directory is left.
func (u *rerender) clean(what string) {
	u.t.Helper()
	entries, err := os.ReadDir(u.parent)
	must(u.t, err)
	for _, e := range entries {
		if e.Name() != "out" {
			u.t.Errorf("%s: %s is left behind", what, e.Name())
		}
	}
	for p := range filesIn(u.t, u.out()) {
		if strings.Contains(p, ".olmgen-") {
			u.t.Errorf("%s: %s is left behind", what, p)
		}
	}
}

func slicesOf(tree map[string]string) (list []string) {
	for p := range tree {
		list = append(list, p)
	}
	return list
}

// writing are the system calls that change a file system, in groups that a fault is put into.
var writing = []string{"renameat,renameat2,rename", "linkat,symlinkat", "unlinkat,rmdir,unlink", "mkdirat,mkdir", "fsync", "write,pwrite64", "fchmodat,fchmod,fchownat", "openat"}

// each calls f for the first call of each group, the second one and so on, until the fault meets no call any more.
func each(f func(calls string, n int) (hit bool)) {
	for _, calls := range writing {
		step := stride()
		if calls == "openat" {
			step *= 4 // most of them read
		}
		for n, missed := 1, 0; missed < 2; n += step {
			if f(calls, n) {
				missed = 0
			} else {
				missed++
			}
		}
	}
}

// TestFaultAtEveryWrite puts faults at the system calls with which one render replaces the files of another.
func TestFaultAtEveryWrite(t *testing.T) {
	fuzztest.Slow(t)
	strace(t)
	olmgen := program(t)
	t.Run("killed", func(t *testing.T) { killed(t, olmgen) })
	t.Run("stopped", func(t *testing.T) { stopped(t, olmgen) })
	t.Run("failed", func(t *testing.T) { failed(t, olmgen) })
}

// killed kills olmgen at each system call that writes. The directory is old or new, or says that it is
// incomplete; the next run makes it new and leaves nothing behind.
func killed(t *testing.T, olmgen string) {
	for _, c := range []struct {
		name  string
		mine  map[string]string
		fresh bool
	}{{"there", nil, false}, {"fresh", nil, true}, {"in git", map[string]string{".git/HEAD": "x"}, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := newRerender(t, olmgen, c.mine)
			kills := 0
			each(func(calls string, n int) bool {
				o := u.run(calls, fmt.Sprintf("signal=KILL:when=%d", n), c.fresh)
				what := fmt.Sprintf("killed at %s %d", calls, n)
				if !o.killed {
					u.clean(what)
					return false
				}
				kills++
				check := exec.Command(u.olmgen, append(u.args("bundle"), "--check")...)
				said, _ := check.CombinedOutput()
				if !strings.Contains(string(said), "is incomplete: an earlier run was interrupted") {
					u.whole(what, c.fresh)
				}
				if out, err := exec.Command(u.olmgen, u.args("bundle")...).CombinedOutput(); err != nil {
					t.Errorf("%s: the next run: %v: %s", what, err, out)
				}
				if got := filesIn(t, u.out()); !reflect.DeepEqual(got, u.new) && !c.fresh {
					t.Errorf("%s: the next run leaves %v", what, slicesOf(got))
				}
				u.clean(what + ", and run again")
				return true
			})
			t.Logf("%d kills", kills)
			if kills < 5 {
				t.Errorf("only %d kills", kills)
			}
		})
	}
}

// stopped sends what a terminal and a container engine send. The directory is old or new, nothing is left
// behind, and the exit code says which.
func stopped(t *testing.T, olmgen string) {
	for _, signal := range []string{"INT", "TERM"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			u := newRerender(t, olmgen, nil)
			each(func(calls string, n int) bool {
				o := u.run(calls, fmt.Sprintf("signal=%s:when=%d", signal, n), false)
				what := fmt.Sprintf("%s at %s %d", signal, calls, n)
				u.whole(what, false)
				u.clean(what)
				switch {
				case o.code == exitDone && !o.done:
					t.Errorf("%s: exit code 0, but the tree is old", what)
				case o.killed && !o.done && n == 1: // before olmgen has started
				case o.code != exitDone && o.code != exitSignal+map[string]int{"INT": 2, "TERM": 15}[signal]:
					t.Errorf("%s: exit code %d: %s", what, o.code, o.stderr)
				case o.code != exitDone && !strings.Contains(o.stderr, "olmgen: "):
					t.Errorf("%s: it says nothing", what)
				}
				return o.code != exitDone || n < 30
			})
		})
	}
}

// failed has each system call that writes fail, as on a full disk, over quota, with a broken disk or one
// that became read-only, and where a rename crosses file systems.
func failed(t *testing.T, olmgen string) {
	for _, failure := range []struct{ code, text string }{
		{"ENOSPC", "no space left on device"}, {"EDQUOT", "disk quota exceeded"}, {"EIO", "input/output error"}, {"EROFS", "read-only file system"},
		{"EXDEV", "invalid cross-device link"},
	} {
		t.Run(failure.code, func(t *testing.T) {
			t.Parallel()
			u := newRerender(t, olmgen, nil)
			failures := 0
			for _, calls := range writing {
				if calls == "openat" || failure.code == "EXDEV" && !strings.HasPrefix(calls, "rename") && !strings.HasPrefix(calls, "link") {
					continue // Go's own files are opened too
				}
				for n, missed := 1, 0; missed < 2; n += stride() {
					fault := fmt.Sprintf("error=%s:when=%d", failure.code, n)
					o := u.run(calls, fault, false)
					// strace counts the calls of each thread, so the write of the message can be the one that fails.
					for again := 0; again < 3 && o.code == exitFailed && !strings.Contains(o.stderr, failure.text); again++ {
						o = u.run(calls, fault, false)
					}
					what := fmt.Sprintf("%s of %s %d", failure.code, calls, n)
					// A second fault may meet the undo of the first.
					incomplete := o.faults > 1 && strings.Contains(o.stderr, "is incomplete: ")
					if !incomplete {
						u.whole(what, false)
					}
					switch {
					case o.killed || o.code != exitDone && o.code != exitFailed:
						t.Errorf("%s: exit code %d: %s", what, o.code, o.stderr)
					case o.code == exitDone && !o.done:
						t.Errorf("%s: exit code 0, but the tree is old", what)
					case o.code != exitDone && !strings.Contains(o.stderr, failure.text):
						t.Errorf("%s: it does not say so: %s", what, o.stderr)
					case incomplete, strings.HasPrefix(calls, "unlink"):
						// The next run finishes what this one could not.
						if out, err := exec.Command(u.olmgen, u.args("bundle")...).CombinedOutput(); err != nil {
							t.Errorf("%s: the next run: %v: %s", what, err, out)
						}
						u.clean(what + ", and run again")
						if got := filesIn(t, u.out()); !reflect.DeepEqual(got, u.new) {
							t.Errorf("%s: the next run leaves %v", what, slicesOf(got))
						}
					default:
						u.clean(what)
					}
					if o.code == exitFailed {
						failures, missed = failures+1, 0
					} else if n > 40 || o.code == exitDone {
						missed++
					}
				}
			}
			t.Logf("%d failures", failures)
		})
	}
}
