package beside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// exitUsage is the exit code for arguments that a program does not know.
const exitUsage = 2

// memory is how much a program may take, in bytes: it ends itself above that.
const memory = 1 << 30

// Answer answers a question.
type Answer func(ctx context.Context, question json.RawMessage) (any, error)

// JSON returns the Answer of a function whose argument and result are JSON.
func JSON[Q, A any](f func(context.Context, Q) (A, error)) Answer {
	return func(ctx context.Context, question json.RawMessage) (any, error) {
		var q Q
		if err := json.Unmarshal(question, &q); err != nil {
			return nil, fmt.Errorf("the input is not readable: %w", err)
		}
		return f(ctx, q)
	}
}

// Main is the main function of a program beside olmgen. The answers are by kind of question; hint names the commands
// that run the program. It returns the exit code.
func Main(name, hint string, args []string, answers map[string]Answer, stdin io.Reader, stderr io.Writer) int {
	if len(args) != 1 || args[0] != protocol {
		fmt.Fprintf(stderr, "%s: this program is a part of olmgen\nhint: %s\n", name, hint)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Stdout is for answers, but one of the validators of operator-framework prints to it.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	go bound(name, stderr)
	if err := serve(ctx, answers, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, name+": "+err.Error())
		return 1
	}
	return 0
}

func serve(ctx context.Context, answers map[string]Answer, stdin io.Reader, stdout io.Writer) error {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	for {
		var q struct {
			Kind     string
			Question json.RawMessage
		}
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the input is not readable: %w", err)
		}
		var a answer
		if f := answers[q.Kind]; f == nil {
			a.Unknown = true
		} else if made, err := f(ctx, q.Question); err != nil {
			a.Error = err.Error()
		} else if a.Answer, err = json.Marshal(made); err != nil {
			return err
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// bound ends the program when it takes too much memory.
func bound(name string, stderr io.Writer) {
	debug.SetMemoryLimit(memory)
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(10 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > memory {
			fmt.Fprintf(stderr, "%s: this takes more than %d MiB of memory\n", name, memory>>20)
			os.Exit(1)
		}
	}
}
