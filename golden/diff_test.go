package golden

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/output"
)

// The diff of an upgrade is hardly longer than that of git: no hunk holds what did not change.
func TestDiffIsAsShortAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	pairs := [][2]string{{"upgrades/ferry/from", "upgrades/ferry/to"}}
	if corpustest.Set(t) {
		for _, p := range corpustest.Packages(t) {
			for i := 1; i < len(p.Bundles) && (i == 1 || !testing.Short()); i++ {
				pairs = append(pairs, [2]string{p.Bundles[i-1], p.Bundles[i]})
			}
		}
	}
	ours, git := 0, 0
	for _, pair := range pairs {
		from, to := flat(t, pair[0]), flat(t, pair[1])
		if from == nil || to == nil {
			continue
		}
		a, b := changedLines(t, from, to)
		if float64(a) > 1.1*float64(b) {
			t.Errorf("%s: %d changed lines, git has %d", pair[1], a, b)
		}
		ours, git = ours+a, git+b
	}
	if ours == 0 {
		t.Error("no upgrade changes anything")
	}
	fmt.Printf("upgrades: %d changed lines, git has %d\n", ours, git)
}

// flat returns the files of a bundle in the layout flat; nil for one that is refused.
func flat(t *testing.T, dir string) output.Files {
	t.Helper()
	b := readBundle(t, dir)
	if b == nil {
		return nil
	}
	result, err := generate.Render(b, generate.Options{Namespace: "operator-ns", Certs: generate.CertsManager})
	if err != nil {
		return nil // it does not work in that mode
	}
	files, err := output.SingleOperator(output.Operator{Name: "op", Result: result}, ownTemplates()).Files(output.LayoutFlat)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changedLines counts the lines that the diff of two trees adds and removes, ours and that of git.
func changedLines(t *testing.T, from, to output.Files) (ours, git int) {
	t.Helper()
	root := t.TempDir()
	defer os.RemoveAll(root)
	for name, files := range map[string]output.Files{"a": from, "b": to} {
		if _, err := output.Write(filepath.Join(root, name), files, output.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	differences, err := output.Check(filepath.Join(root, "a"), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if d.Path != output.LockName {
			for line := range bytes.Lines(d.Diff) {
				if (line[0] == '+' || line[0] == '-') && !bytes.HasPrefix(line, []byte("--- ")) && !bytes.HasPrefix(line, []byte("+++ ")) {
					ours++
				}
			}
		}
	}
	cmd := exec.Command("git", "-c", "diff.algorithm=default", "diff", "--no-index", "--no-renames", "--numstat", "a", "b")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	numstat, _ := cmd.Output() // the exit code is 1 if there are differences
	for line := range strings.Lines(string(numstat)) {
		f := strings.Fields(line)
		if len(f) < 3 || strings.HasSuffix(strings.TrimRight(f[len(f)-1], "}"), output.LockName) {
			continue
		}
		added, errA := strconv.Atoi(f[0])
		removed, errB := strconv.Atoi(f[1])
		if errA != nil || errB != nil {
			t.Fatalf("git: %s", line)
		}
		git += added + removed
	}
	return ours, git
}
