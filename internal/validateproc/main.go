package validateproc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/olmgen/olmgen/internal/base/budget"
)

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
