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
	// HelperName is the program that a Helper runs.
	HelperName = "olmgen-validate"
	// HelperArg is its only argument. It changes with the form of Subject and Problem, so that programs of two versions of olmgen
	// do not misunderstand each other.
	HelperArg = "subject-v1"
)

// Helper is a Checker that asks a program: it gets a Subject on stdin and answers with a list of Problems on stdout, both as JSON.
type Helper struct {
	Path string
}

// FindHelper looks for the program beside the one that is running, then in PATH. The error says how to get it.
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
			fmt.Errorf("%s, which has the validators of operator-framework, is neither beside olmgen nor in PATH", name),
			"it is a part of every release; or go install github.com/olmgen/olmgen/cmd/"+HelperName)
	}
	return Helper{path}, nil
}

// Check runs the program once. Its environment is empty, for nothing in it may change the answer.
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
		return nil, fmt.Errorf("%s: its answer is not readable: %w", h.Path, err)
	}
	return problems, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
