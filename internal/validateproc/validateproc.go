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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// Name is the name of the program.
const Name = "olmgen-validate"

const install = "go install ./cmd/olmgen... in a checkout of olmgen installs both"

// Program is the program, by its path.
type Program struct {
	Path string
}

// Find looks for the program beside the running one, then in PATH. The error says what the program does, and how to
// install it.
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
			fmt.Errorf("%s, which %s, is neither beside olmgen nor in PATH", name, does),
			install)
	}
	return Program{path}, nil
}

// Ask runs the program once and decodes its answer. The environment of the program is empty, so that no variable
// affects the result.
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
		failed := fmt.Errorf("%s: %w: %s", p.Path, err, firstLine(said.String()))
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
			return manifest.WithHint(failed,
				"it is of another version than olmgen: "+install)
		}
		return failed
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return fmt.Errorf("%s: its output is not readable: %w", p.Path, err)
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
