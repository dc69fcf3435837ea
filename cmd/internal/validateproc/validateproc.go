// Package validateproc finds and runs olmgen-validate, the program with the validators of operator-framework.
// Linked into olmgen, that code would double the time that each command needs to start.
//
// A question and its answer are JSON, on stdin and stdout. The only argument of the program names the kind of question
// and its version.
package validateproc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/manifest"
)

// Name is the name of the program.
const Name = "olmgen-validate"

const install = "go install ./cmd/olmgen... in a checkout of olmgen installs both"

// Program is the program, by its path.
type Program struct {
	Path string
}

// Find looks for the program beside the running one, then in PATH. The error says what it does, and how to install it.
func Find(does string) (Program, error) {
	name := Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return Program{path}, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return Program{}, manifest.WithHint(
			fmt.Errorf("%s, which %s, is neither beside olmgen nor in PATH", name, does), install)
	}
	return Program{path}, nil
}

// Ask runs the program once, with an empty environment so that no variable affects the result, and decodes its answer.
func (p Program) Ask(ctx context.Context, kind string, question, answer any) error {
	in, err := json.Marshal(question)
	if err != nil {
		return err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, p.Path, kind)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{}, bytes.NewReader(in), &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		failed := fmt.Errorf("%s: %w: %s", p.Path, err, line)
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
			return manifest.WithHint(failed, "it is of another version than olmgen: "+install)
		}
		return failed
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return fmt.Errorf("%s: its output is not readable: %w", p.Path, err)
	}
	return nil
}

// exitUsage is the exit code for an argument that the program does not know.
const exitUsage = 2

// Answer reads a question and writes the answer.
type Answer func(ctx context.Context, in io.Reader, out io.Writer) error

// JSON returns the Answer of a function whose argument and result are JSON.
func JSON[Q, A any](answer func(context.Context, Q) (A, error)) Answer {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		var q Q
		if err := json.NewDecoder(in).Decode(&q); err != nil {
			return fmt.Errorf("the input is not readable: %w", err)
		}
		a, err := answer(ctx, q)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(a)
	}
}

// Main is the main function of the program. The answers are by kind of question. It returns the exit code.
func Main(args []string, answers map[string]Answer, stdin io.Reader, stderr io.Writer) int {
	var answer Answer
	if len(args) == 1 {
		answer = answers[args[0]]
	}
	if answer == nil {
		fmt.Fprintf(stderr, "%s: this program is a part of olmgen\n"+
			"hint: run olmgen validate, or olmgen diff with existing objects\n", Name)
		return exitUsage
	}
	if err := budget.RaiseTo(os.Getenv(budget.Variable)); err != nil {
		fmt.Fprintln(stderr, Name+": "+err.Error())
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Stdout is for the answer, but one of the validators of operator-framework prints to it.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	if err := answer(ctx, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, Name+": "+err.Error())
		return 1
	}
	return 0
}
