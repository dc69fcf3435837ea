package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

const (
	// HelperName is the name of the program that a Helper runs.
	HelperName = "olmgen-validate"
	// HelperArg is its only argument. It changes with the types Subject and Problem, so that programs of different
	// versions cannot misread each other.
	HelperArg = "subject-v1"
)

// Helper is a Checker that runs a program, with a Subject on stdin and a list of Problems on stdout, both as JSON.
type Helper struct {
	Path string
}

// FindHelper looks for the program beside the running one, then in PATH. The error says how to install it.
func FindHelper() (Helper, error) {
	name := HelperName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return Helper{path}, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return Helper{}, manifest.WithHint(
			fmt.Errorf("%s, which runs the validators of operator-framework, is neither beside olmgen nor in PATH",
				name),
			"every release has it; or go install github.com/olmgen/olmgen/cmd/"+HelperName)
	}
	return Helper{path}, nil
}

// Check runs the program once. Its environment is empty, so that no variable affects the result.
func (h Helper) Check(ctx context.Context, s Subject) ([]Problem, error) {
	question, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var answer, said bytes.Buffer
	cmd := exec.CommandContext(ctx, h.Path, HelperArg)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{}, bytes.NewReader(question), &answer, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s: %w: %s", h.Path, err, firstLine(said.String()))
	}
	var problems []Problem
	if err := json.Unmarshal(answer.Bytes(), &problems); err != nil {
		return nil, fmt.Errorf("%s: its output is not readable: %w", h.Path, err)
	}
	return problems, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
