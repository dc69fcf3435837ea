package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/writes"
)

// programFlags are about the programs beside olmgen.
type programFlags struct{ required bool }

func (f *programFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.required, "require-validate", false, "fail without the program olmgen-validate")
}

// validators returns olmgen-validate, which is started by its first question. It is an error if it is required and
// missing.
func (f *programFlags) validators() (*beside.Program, error) {
	program := &beside.Program{Name: beside.Validate,
		Does: "asks the code of Kubernetes and of operator-framework what they refuse"}
	if !f.required {
		return program, nil
	}
	_, err := program.Find()
	return program, err
}

// kubernetes asks what an API server refuses. Without the program it reports that once, and knows no kind.
type kubernetes struct {
	beside.Kubernetes
	cmd *cobra.Command
	say sync.Once

	mu    sync.Mutex
	known map[[sha256.Size]byte]writes.Answer // by the keys of what was asked
}

func (f *programFlags) kubernetes(cmd *cobra.Command) (writes.Checker, error) {
	program, err := f.validators()
	return &kubernetes{Kubernetes: beside.Kubernetes{Program: program}, cmd: cmd,
		known: map[[sha256.Size]byte]writes.Answer{}}, err
}

// Check asks the program about what it has not been asked yet: a command plays a cluster more than once, and clusters
// have the same objects.
func (k *kubernetes) Check(ctx context.Context, asked []writes.Write) ([]writes.Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := lists.Map(asked, writes.Write.Key)
	var open []int
	for i, key := range keys {
		if _, known := k.known[key]; !known {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		answers, err := k.Kubernetes.Check(ctx, lists.Map(open, func(i int) writes.Write { return asked[i] }))
		if _, ok := errors.AsType[*beside.Missing](err); ok {
			k.say.Do(func() { sayMissing(k.cmd, "whether the API server takes the objects was not asked", err) })
			return make([]writes.Answer, len(asked)), nil
		}
		if err != nil {
			return nil, err
		}
		if len(answers) != len(open) {
			return nil, fmt.Errorf("%s: %d answers to %d questions", k.Name, len(answers), len(open))
		}
		for n, i := range open {
			k.known[keys[i]] = answers[n]
		}
	}
	return lists.Map(keys, func(key [sha256.Size]byte) writes.Answer {
		answer := k.known[key]
		answer.Causes = slices.Clone(answer.Causes) // who asks adds to them
		return answer
	}), nil
}

// sayMissing reports what was not asked without a program.
func sayMissing(cmd *cobra.Command, what string, err error) {
	text, hint := config.ErrorText(err, flagsOf(cmd))
	say(cmd, findings.Note, hint, "%s: %s", what, text)
}
