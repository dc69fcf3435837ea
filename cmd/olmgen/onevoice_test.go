package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// voice is a row of TestOneVoice: files, and what each command with an opinion about them says.
type voice struct {
	name   string
	source string // of the right answer: a file of OLM, opm or Kubernetes, or a record of a real run
	files  string // a txtar archive
	says   []saying
}

// saying is a command and what its output must match. The output is stdout and stderr together.
type saying struct {
	command string // arguments of olmgen, separated by spaces
	want    string // a regular expression of package regexp, with the flags (?ms); empty: no demand
	not     string // the same, of what must not be printed
}

// TestOneVoice asks all commands that have an opinion about the same objects. Each row names the source of the right answer, so that
// commands that agree on a wrong one fail too.
func TestOneVoice(t *testing.T) {
	for _, row := range slices.Concat(
		catalogVoices,
		olmVoices,
		rbacVoices,
		treeVoices,
		nameVoices,
	) {
		t.Run(row.name, func(t *testing.T) {
			if row.source == "" || len(row.says) < 2 {
				t.Fatal("a row names the source of the answer and at least two commands")
			}
			dir := t.TempDir()
			for _, f := range txtar.Parse([]byte(row.files)).Files {
				to := filepath.Join(dir, filepath.FromSlash(f.Name))
				must(t, os.MkdirAll(filepath.Dir(to), 0o755))
				must(t, os.WriteFile(to, f.Data, 0o644))
			}
			t.Chdir(dir)
			for _, s := range row.says {
				var out bytes.Buffer
				run(strings.Fields(s.command), strings.NewReader(""), &out, &out)
				if !regexp.MustCompile("(?ms)" + s.want).Match(out.Bytes()) {
					t.Errorf("olmgen %s: want %s\nsource: %s\noutput:\n%s", s.command, s.want, row.source, &out)
				}
				if s.not != "" && regexp.MustCompile("(?ms)"+s.not).Match(out.Bytes()) {
					t.Errorf("olmgen %s: must not print %s\nsource: %s\noutput:\n%s", s.command, s.not, row.source, &out)
				}
			}
		})
	}
}
