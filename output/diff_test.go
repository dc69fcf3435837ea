package output

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// numbered returns lines with the numbers from first to last, without the one that is left out.
func numbered(first, last, leftOut int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		if i != leftOut {
			fmt.Fprintf(&b, "line: %d\n", i)
		}
	}
	return b.String()
}

var diffCases = map[string][2]string{
	"one.yaml":             {"a: 1\n", "a: 2\n"},
	"front/insert.yaml":    {numbered(1, 30, 0), "new: 1\n" + numbered(1, 30, 0)},
	"two-hunks.yaml":       {numbered(1, 60, 5), numbered(1, 60, 50)},
	"no-newline.yaml":      {"a: 1\nb: 2", "a: 1\nb: 2\n"},
	"no-newline-left.yaml": {"a: 1\nb: 2\n", "a: 1\nb: 3"},
	"added.yaml":           {"", numbered(1, 700, 0)},
	"added-one.yaml":       {"", "a: 1\n"},
	"removed.yaml":         {numbered(1, 3, 0), ""},
	"base/rbac.authorization.k8s.io/clusterroles/a-long-name-of-an-operator/clusterrole.yaml": {"a: 1\n", "a: 2\nb: 1\n"},
}

func diffFiles(which int) Files {
	files := Files{{Path: "same.yaml", Data: []byte("same: true\n")}}
	for path, texts := range diffCases {
		if texts[which] != "" {
			files = append(files, File{Path: path, Data: []byte(texts[which])})
		}
	}
	return files
}

// Patch and git apply take the diff, and Stat prints what git prints for it.
func TestDiffIsOneOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := Write(dir, diffFiles(0), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	differences, err := Check(dir, diffFiles(1), nil)
	if err != nil || len(differences) != len(diffCases) {
		t.Fatalf("%d differences, %v", len(differences), err)
	}
	var patch []byte
	for _, d := range differences {
		patch = append(patch, d.Diff...)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(patch))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	git("apply", "--index", "-")
	for _, f := range diffFiles(1) {
		if got, err := os.ReadFile(filepath.Join(dir, f.Path)); err != nil || string(got) != string(f.Data) {
			t.Errorf("%s after git apply: %v\n%s", f.Path, err, got)
		}
	}
}
