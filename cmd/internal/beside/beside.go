// Package beside finds and runs the programs beside olmgen. They hold the code of others that decides: linked into
// olmgen, it would double the time that each command needs to start.
//
// A program answers questions until its stdin ends. A question and its answer are JSON, on stdin and stdout; the kind
// of a question names its version too. The only argument of the program is that of the protocol.
package beside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

const (
	// Validate is the program with OLM's validators and Kubernetes' validation.
	Validate = "olmgen-validate"
	// Helm is the program with the engine of helm.
	Helm = "olmgen-helm"

	protocol = "olmgen-v1"
	install  = "go install ./cmd/olmgen... in a checkout of olmgen installs all its programs"
	another  = "it is of another version than olmgen: " + install
	// patience is how long an answer may take. The largest bundles and charts take less than a second.
	patience = time.Minute
)

// Program is a program beside olmgen. It is started by its first question, and answers one after another.
type Program struct {
	Name string // olmgen-validate
	Does string // what it does, as "renders charts"
	Path string // where it is; empty: it is looked for beside the running program, then in PATH

	mu      sync.Mutex
	running *process
}

// Missing is the error of a program that is not there.
type Missing struct{ Name, Does string }

func (m *Missing) Error() string {
	return fmt.Sprintf("%s, which %s, is neither beside olmgen nor in PATH", m.Name, m.Does)
}

// Hint says how to install the program.
func (m *Missing) Hint() string { return install }

// Find returns the path of the program. The error is a *Missing.
func (p *Program) Find() (string, error) {
	if p.Path != "" {
		return p.Path, nil
	}
	name := p.Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &Missing{p.Name, p.Does}
	}
	return path, nil
}

// Writes is the kind of question of a Kubernetes. It changes with the types of package writes.
const Writes = "writes-v2"

// Kubernetes is a writes.Checker that asks the program olmgen-validate.
type Kubernetes struct{ *Program }

// Check asks the program.
func (k Kubernetes) Check(ctx context.Context, asked []writes.Write) ([]writes.Answer, error) {
	var answers []writes.Answer
	err := k.Ask(ctx, Writes, asked, &answers)
	return answers, err
}

// Charts is the kind of question of a Renderer. It changes with the types of package charts.
const Charts = "charts-v2"

// Renderer is a charts.Renderer that asks the program olmgen-helm.
type Renderer struct{ *Program }

// Render asks the program.
func (r Renderer) Render(ctx context.Context, of charts.Release) (charts.Rendered, error) {
	var out charts.Rendered
	err := r.Ask(ctx, Charts, of, &out)
	return out, err
}

// process is a program that runs.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	said bytes.Buffer
	end  func() error // ends the program once, and returns how it ended
}

// all are the programs that run.
var all sync.WaitGroup

// Wait waits for the end of the programs that were asked. They end with the context of their first question.
func Wait() { all.Wait() }

type question struct {
	Kind     string `json:"kind"`
	Question any    `json:"question"`
}

type answer struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Error   string          `json:"error,omitempty"`
	Unknown bool            `json:"unknown,omitempty"` // the kind of the question
}

// start runs the program until ctx ends, with an empty environment so that no variable affects the result.
func (p *Program) start(ctx context.Context) error {
	path, err := p.Find()
	if err != nil {
		return err
	}
	run := &process{cmd: exec.CommandContext(context.WithoutCancel(ctx), path, protocol)}
	run.cmd.Env, run.cmd.Stderr = []string{}, &run.said
	if run.in, err = run.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := run.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := run.cmd.Start(); err != nil {
		return err
	}
	run.out, p.running = json.NewDecoder(out), run
	run.end = sync.OnceValue(func() error {
		_ = run.in.Close()
		return run.cmd.Wait()
	})
	all.Add(1)
	context.AfterFunc(ctx, func() {
		_ = run.end()
		all.Done()
	})
	return nil
}

// Ask asks the program, and decodes its answer. A program that ends without an answer, or takes too long, is an error,
// and the next question starts it again.
func (p *Program) Ask(ctx context.Context, kind string, asked, answered any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	run := p.running
	stop := context.AfterFunc(patient, func() { _ = run.cmd.Process.Kill() })
	defer stop()
	var a answer
	err := json.NewEncoder(run.in).Encode(question{kind, asked})
	if err == nil {
		err = run.out.Decode(&a)
	}
	switch {
	case err != nil:
		return p.failed(ctx, patient, err)
	case a.Unknown:
		return manifest.WithHint(fmt.Errorf("%s does not know the question %s", run.cmd.Path, kind),
			another)
	case a.Error != "":
		return fmt.Errorf("%s: %s", p.Name, a.Error)
	}
	if err := json.Unmarshal(a.Answer, answered); err != nil {
		return fmt.Errorf("%s: its output is not readable: %w", run.cmd.Path, err)
	}
	return nil
}

// failed ends a program without an answer, and returns why.
func (p *Program) failed(ctx, patient context.Context, why error) error {
	run := p.running
	p.running = nil
	_ = run.cmd.Process.Kill()
	ended := run.end()
	line, _, _ := strings.Cut(strings.TrimSpace(run.said.String()), "\n")
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case patient.Err() != nil:
		return fmt.Errorf("%s gave no answer within %s", run.cmd.Path, patience)
	case errors.As(ended, &exit) && exit.ExitCode() == exitUsage:
		return manifest.WithHint(fmt.Errorf("%s: %w: %s", run.cmd.Path, ended, line),
			another)
	case line != "":
		return fmt.Errorf("%s: %s", run.cmd.Path, line)
	}
	return fmt.Errorf("%s: its output is not readable: %w", run.cmd.Path, why)
}
