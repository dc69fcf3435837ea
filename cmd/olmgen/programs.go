package main

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
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
}

func (f *programFlags) kubernetes(cmd *cobra.Command) (writes.Checker, error) {
	program, err := f.validators()
	return &kubernetes{Kubernetes: beside.Kubernetes{Program: program}, cmd: cmd}, err
}

// Check asks the program.
func (k *kubernetes) Check(ctx context.Context, asked []writes.Write) ([]writes.Answer, error) {
	answers, err := k.Kubernetes.Check(ctx, asked)
	if _, ok := errors.AsType[*beside.Missing](err); ok {
		k.say.Do(func() { sayMissing(k.cmd, "whether the API server takes the objects was not asked", err) })
		return make([]writes.Answer, len(asked)), nil
	}
	return answers, err
}

// sayMissing reports what was not asked without a program.
func sayMissing(cmd *cobra.Command, what string, err error) {
	text, hint := config.ErrorText(err, flagsOf(cmd))
	say(cmd, findings.Note, hint, "%s: %s", what, text)
}
