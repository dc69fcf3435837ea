package beside_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/beside"
)

var answers = map[string]beside.Answer{
	"echo": beside.JSON(func(_ context.Context, s string) (string, error) {
		if s == "" {
			return "", errors.New("nothing was said")
		}
		return s, nil
	}),
	"die": beside.JSON(func(context.Context, string) (string, error) {
		fmt.Fprintln(os.Stderr, "it dies")
		os.Exit(1)
		return "", nil
	}),
	"sleep": beside.JSON(func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}),
	"grow": beside.JSON(func(context.Context, string) (string, error) {
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte("x"), 1<<20))
			if len(all) > 1<<20 {
				return string(all[0]), nil
			}
		}
	}),
}

// The test binary is a program beside olmgen too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(beside.Main("helper", "run olmgen", os.Args[1:], answers, os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

func hintOf(err error) string {
	var hint interface{ Hint() string }
	if errors.As(err, &hint) {
		return hint.Hint()
	}
	return ""
}

func TestAsk(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run, end := context.WithCancel(t.Context())
	p := &beside.Program{Name: "helper", Path: path}
	var got string
	if err := p.Ask(run, "echo", "hello", &got); err != nil || got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if err := p.Ask(run, "echo", "", &got); err == nil || err.Error() != "helper: nothing was said" {
		t.Errorf("a function that fails: %v", err)
	}
	if err := p.Ask(run, "echo", 5, &got); err == nil || !strings.Contains(err.Error(), "the input is not readable") {
		t.Errorf("a question of another type: %v", err)
	}
	if err := p.Ask(run, "echo-v2", "hello", &got); !strings.Contains(hintOf(err), "another version") {
		t.Errorf("a question that the program does not know: %v", err)
	}
	if err := p.Ask(run, "die", "", &got); err == nil || !strings.HasSuffix(err.Error(), "it dies") {
		t.Errorf("a program that dies: %v", err)
	}
	if err := p.Ask(run, "grow", "", &got); err == nil || !strings.Contains(err.Error(), "more than 1024 MiB of memory") {
		t.Errorf("a program that grows: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Ask(canceled, "sleep", "", &got); !errors.Is(err, context.Canceled) {
		t.Errorf("a question that is given up: %v", err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			want, got := strings.Repeat("x", i+1), ""
			if err := p.Ask(run, "echo", want, &got); err != nil || got != want {
				t.Errorf("after an end, %d: %q, %v", i, got, err)
			}
		})
	}
	group.Wait()
	end()
	beside.Wait() // for the programs that run still: the end of the run is theirs
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	p := &beside.Program{Name: "olmgen-none", Does: "does it"}
	_, err := p.Find()
	var missing *beside.Missing
	if !errors.As(err, &missing) || !strings.Contains(hintOf(err), "go install") ||
		err.Error() != "olmgen-none, which does it, is neither beside olmgen nor in PATH" {
		t.Errorf("without it: %v", err)
	}
	name := p.Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Find(); err != nil || got != path {
		t.Errorf("in PATH: %v %v", got, err)
	}
}

func TestMainByHand(t *testing.T) {
	for _, args := range [][]string{nil, {"bundle"}, {"olmgen-v1", "bundle"}} {
		var said strings.Builder
		if code := beside.Main("helper", "run olmgen", args, answers, strings.NewReader(""), &said); code != 2 ||
			said.String() != "helper: this program is a part of olmgen\nhint: run olmgen\n" {
			t.Errorf("%v: %d %s", args, code, said.String())
		}
	}
}
