package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// workflow is the job of one event: GitHub's runner, for composite actions with steps of bash.
type workflow struct {
	inputs map[string]string
	github map[string]any
}

type actionFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct{ Steps []actionStep }
}

type actionStep struct {
	If, Uses, Shell, Run string
	Env                  map[string]string
}

// action is the step "action NAME [INPUT=VALUE]...": it runs the steps of an action in the current directory until one
// fails. What GitHub says about the event is in $GITHUB_EVENT_PATH, and the token in $TOKEN.
func action(s *session, args []string) error {
	w := &workflow{inputs: map[string]string{}, github: map[string]any{"token": s.Getenv("TOKEN"),
		"repository": s.Getenv("GITHUB_REPOSITORY")}}
	var event any
	if err := json.Unmarshal([]byte(s.ReadFile(s.Getenv("GITHUB_EVENT_PATH"))), &event); err != nil {
		return err
	}
	w.github["event"] = event
	var a actionFile
	file := filepath.Join(s.root, "examples", "github-action", args[0], "action.yml")
	if err := yaml.Unmarshal([]byte(s.ReadFile(file)), &a); err != nil {
		return err
	}
	for input, field := range a.Inputs {
		w.inputs[input] = field.Default
	}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		w.inputs[name] = value
	}
	for _, step := range a.Runs.Steps {
		if step.Uses != "" || !w.holds(step.If) { // actions/setup-go: the stand-in is there
			continue
		}
		for variable, value := range step.Env {
			s.Setenv(variable, w.expand(value))
		}
		script := filepath.Join(s.Getenv("HOME"), "step.sh")
		if err := os.WriteFile(script, []byte(w.expand(step.Run)), 0o600); err != nil {
			return err
		}
		// as GitHub runs "shell: bash"
		err := s.Exec(step.Shell, "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		if err != nil {
			return fmt.Errorf("%w\n%s%s", err, s.ReadFile("stdout"), s.ReadFile("stderr"))
		}
		if added, err := os.ReadFile(s.Getenv("GITHUB_PATH")); err == nil {
			s.Setenv("PATH", strings.Join(append(strings.Fields(string(added)), s.Getenv("PATH")), ":"))
		}
	}
	return nil
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

func (w *workflow) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		return w.value(expression.FindStringSubmatch(e)[1])
	})
}

// holds evaluates the conditions that the actions have: comparisons, joined by &&.
func (w *workflow) holds(condition string) bool {
	if condition == "" {
		return true
	}
	for part := range strings.SplitSeq(condition, "&&") {
		left, right, equal := strings.Cut(part, "==")
		if !equal {
			left, right, _ = strings.Cut(part, "!=")
		}
		if (w.value(strings.TrimSpace(left)) == w.value(strings.TrimSpace(right))) != equal {
			return false
		}
	}
	return true
}

// value is that of a text in quotes or of a name, as inputs.path or github.event.number. What is not there is empty.
func (w *workflow) value(name string) string {
	if text, quoted := strings.CutPrefix(name, "'"); quoted {
		return strings.TrimSuffix(text, "'")
	}
	if input, ok := strings.CutPrefix(name, "inputs."); ok {
		return w.inputs[input]
	}
	var at any = map[string]any{"github": w.github}
	for part := range strings.SplitSeq(name, ".") {
		m, _ := at.(map[string]any)
		at = m[part]
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}
