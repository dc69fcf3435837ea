package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/olmgen/olmgen/review/validate"
)

// Main is the main function of the program that a validate.Helper runs. It returns the exit code.
func Main(args []string, stdin io.Reader, stderr io.Writer) int {
	if len(args) != 1 || args[0] != validate.HelperArg {
		fmt.Fprintf(stderr, "%s: this program is a part of olmgen\nhint: run olmgen validate\n", validate.HelperName)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Stdout is for the result, but one of the validators prints to it.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	if err := serve(ctx, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, validate.HelperName+": "+err.Error())
		return 1
	}
	return 0
}

func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var s validate.Subject
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("the input is not readable: %w", err)
	}
	problems, err := Checker{}.Check(ctx, s)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(problems)
}
