package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the pages of docs show of a session is what olmgen says: below a line "$ olmgen ..." stands all of stdout and stderr, up to the
// next command or the end of the block. The bundle is the example's.
func TestPages(t *testing.T) {
	sessions := 0
	for _, page := range []string{"images.md", "installer-rbac.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "bundle"), os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))); err != nil {
			t.Fatal(err)
		}
		t.Run(page, func(t *testing.T) {
			t.Chdir(dir)
			for _, s := range pageSessions(string(data)) {
				sessions++
				var out bytes.Buffer
				run(strings.Fields(s.command)[1:], strings.NewReader(""), &out, &out)
				if diff := cmp.Diff(s.want, out.String()); diff != "" {
					t.Errorf("%s (-page +olmgen):\n%s", s.command, diff)
				}
			}
		})
	}
	if sessions == 0 {
		t.Error("no page shows a command")
	}
}

type session struct{ command, want string }

func pageSessions(text string) []session {
	var out []session
	in := false
	for line := range strings.Lines(text) {
		code, ok := strings.CutPrefix(line, "    ")
		command, isCommand := strings.CutPrefix(code, "$ olmgen ")
		switch {
		case !ok:
			in = false
		case isCommand:
			in = true
			out = append(out, session{command: "olmgen " + strings.TrimSpace(command)})
		case in:
			out[len(out)-1].want += code
		}
	}
	return out
}
