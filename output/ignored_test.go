package output

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// TestGitTakesNoLeftovers stops a write before each of its changes and runs "git add -A".
func TestGitTakesNoLeftovers(t *testing.T) {
	fuzztest.Seconds(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	// Not in parallel: a process that is started inherits the guards of other tests, until it is git.
	a, b := versions(2)
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, parent string)
	}{
		{"new", func(*testing.T, string) {}},
		{"changed", func(t *testing.T, parent string) { written(t, filepath.Join(parent, "out"), a) }},
		{"in place", func(t *testing.T, parent string) {
			written(t, filepath.Join(parent, "out"), a)
			holds{"d1/.git": "x"}.put(t, filepath.Join(parent, "out"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			leftovers := 0
			for n, done := 0, false; !done; n++ {
				parent := t.TempDir()
				git(t, parent, "init", "--quiet")
				c.prepare(t, parent)
				d := newDisk()
				d.before = stopAt(n, true)
				_, err := d.update(filepath.Join(parent, "out"), b.files(), WriteOptions{})
				rest := left(t, filepath.Join(parent, "out"))
				leftovers += len(rest)
				git(t, parent, "add", "-A")
				for name := range strings.Lines(git(t, parent, "ls-files")) {
					if !strings.HasPrefix(name, "out/") || strings.Contains(name, workName) {
						t.Errorf("stopped before change %d: git takes %s", n, name)
					}
				}
				done = err == nil && len(rest) == 0
			}
			if leftovers == 0 {
				t.Error("no stop left anything over")
			}
		})
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
