package output

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

const childEnv = "OLMGEN_OUTPUT_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

// versions returns two trees that have files in common, files of their own and files that differ.
func versions(n int) (a, b holds) {
	a, b = holds{}, holds{}
	for i := range n {
		p := fmt.Sprintf("d%d/f%d.yaml", i%5, i)
		switch i % 4 {
		case 0:
			a[p], b[p] = "same", "same"
		case 1:
			a[p], b[p] = "a", "b"
		case 2:
			a[p], b["b/"+p] = "a", "b"
		case 3:
			a[p], b[p+"/x"] = "a", "b"
		}
	}
	return a, b
}

const killFiles = 60

// writeForever is what the child does: write one tree, then the other, until it is killed.
func writeForever(dir string) {
	a, b := versions(killFiles)
	trees := []Files{b.files(), a.files()}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if _, err := Write(dir, trees[i%2], WriteOptions{}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// either checks that dir is one of two whole trees: its files, its lock, and what is not olmgen's.
func either(t *testing.T, dir string, mine, a, b holds) {
	t.Helper()
	got := look(t, dir)
	for _, tree := range []holds{a, b} {
		want := maps.Clone(tree)
		maps.Copy(want, mine)
		if !reflect.DeepEqual(got, want) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, LockName))
		must(t, err)
		l, err := readLock(data)
		must(t, err)
		digests := map[string]string{}
		for p, text := range tree {
			digests[p] = digestOf([]byte(text))
		}
		equal(t, "lock", l.Files, digests)
		return
	}
	t.Fatalf("neither tree: %v", got)
}

// TestKill kills a writing process at random moments. Check says that the directory is incomplete, or it is one whole
// tree.
func TestKill(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("takes seconds, and needs SIGKILL")
	}
	dir := filepath.Join(t.TempDir(), "out")
	a, b := versions(killFiles)
	mine := holds{".git/HEAD": "mine", "README.md": "mine", "d0/mine": "mine", "empty/": "", "link": "-> d0/mine"}
	mustWrite(t, dir, a.files(), WriteOptions{})
	mine.put(t, dir)
	midway, middle := 0, 0
	for range 60 {
		killed(t, dir, 100*time.Millisecond)
		if len(left(t, dir)) > 0 {
			midway++
		}
		if wholeOrIncomplete(t, dir, mine, a, b) {
			middle++
		}
	}
	t.Logf("%d of 60 kills hit a write in progress, %d the middle of the files", midway, middle)
	mustWrite(t, dir, a.files(), WriteOptions{})
	either(t, dir, mine, a, a)
}

// killed runs the child for a moment.
func killed(t *testing.T, dir string, within time.Duration) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	time.Sleep(rand.N(within))
	must(t, child.Process.Kill())
	if line, _ := lines.ReadString('\n'); line != "" {
		t.Errorf("child: %s", line)
	}
	_ = child.Wait()
}

// written is what Write leaves, only faster: it does not wait for the disk.
func written(t *testing.T, dir string, tree holds) {
	t.Helper()
	digests := map[string]string{}
	for p, text := range tree {
		digests[p] = digestOf([]byte(text))
	}
	l, err := newLock("", nil, digests)
	must(t, err)
	tree.put(t, dir)
	holds{LockName: string(l.encode())}.put(t, dir)
}

var errStop = errors.New("stopped by the test")

// stopAt makes the n-th change fail, and if dead is set all that follow, which is what a kill looks like from outside.
func stopAt(n int, dead bool) func(op, path string) error {
	return func(_, _ string) error {
		n--
		if n == -1 || n < 0 && dead {
			return errStop
		}
		return nil
	}
}

// TestStopFresh stops the first Write before each of its changes: there is a whole tree or none, or Check says that it
// is incomplete.
func TestStopFresh(t *testing.T) {
	fuzztest.Seconds(t)
	t.Parallel()
	a, _ := versions(8)
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "above", "out")
		d := newDisk()
		d.before = stopAt(n, true)
		_, err := d.update(dir, a.files(), WriteOptions{})
		if exists(dir) {
			wholeOrIncomplete(t, dir, nil, a, holds{})
		}
		if err == nil && len(left(t, dir)) == 0 {
			return
		}
		mustWrite(t, dir, a.files(), WriteOptions{})
		either(t, dir, nil, a, a)
	}
}

func left(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, workName))
	must(t, err)
	return names
}
