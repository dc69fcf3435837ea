package validateproc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/validateproc"
)

var answers = map[string]validateproc.Answer{
	"echo": validateproc.JSON(func(_ context.Context, s string) (string, error) {
		if s == "" {
			return "", errors.New("nothing was said")
		}
		return s, nil
	}),
}

// The test binary is the helper program too, for arguments that are no flags.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(validateproc.Main(os.Args[1:], answers, os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestAsk(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := validateproc.Program{Path: path}
	var got string
	if err := p.Ask(t.Context(), "echo", "hello", &got); err != nil || got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if err := p.Ask(t.Context(), "echo", "", &got); err == nil || !strings.Contains(err.Error(), "nothing was said") {
		t.Errorf("a function that fails: %v", err)
	}
	if err := p.Ask(t.Context(), "echo", 5, &got); err == nil || !strings.Contains(err.Error(), "the input is not readable") {
		t.Errorf("a question of another type: %v", err)
	}
	var hint interface{ Hint() string }
	err = p.Ask(t.Context(), "echo-v2", "hello", &got)
	if !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "another version") {
		t.Errorf("a question that the program does not know: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := validateproc.Find("does it")
	var hint interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), ", which does it, is neither beside olmgen nor in PATH") ||
		!errors.As(err, &hint) || !strings.Contains(hint.Hint(), "go install") {
		t.Errorf("without it: %v", err)
	}
	name := validateproc.Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if h, err := validateproc.Find("does it"); err != nil || h.Path != path {
		t.Errorf("in PATH: %v %v", h, err)
	}
}

func TestMainByHand(t *testing.T) {
	for _, args := range [][]string{nil, {"bundle"}, {"echo", "bundle"}} {
		var said strings.Builder
		if code := validateproc.Main(args, answers, strings.NewReader(""), &said); code != 2 ||
			!strings.Contains(said.String(), "run olmgen validate") {
			t.Errorf("%v: %d %s", args, code, said.String())
		}
	}
}
