package validate

import (
	"context"

	"github.com/olmgen/olmgen/internal/validateproc"
)

// HelperArg is the only argument of the program that a Helper runs. It changes with the types Subject and Problem, so
// that programs of different versions cannot misread each other.
const HelperArg = "subject-v1"

// Helper is a Checker that runs a program, with a Subject on stdin and a list of Problems on stdout, both as JSON.
type Helper validateproc.Program

// FindHelper looks for the program beside the running one, then in PATH. The error says how to install it.
func FindHelper() (Helper, error) {
	p, err := validateproc.Find("runs the validators of operator-framework")
	return Helper(p), err
}

// Check runs the program once.
func (h Helper) Check(ctx context.Context, s Subject) ([]Problem, error) {
	var problems []Problem
	err := validateproc.Program(h).Ask(ctx, HelperArg, s, &problems)
	return problems, err
}
