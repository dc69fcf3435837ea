// Command testlines runs go test and prints a line for each package as it ends, and what failed tests print:
//
//	testlines go test ./...
//
// go test itself prints packages in their order, so that a slow one holds back the lines of all that follow.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// event is one of "go doc test2json", and of a build.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// lines prints the events of in. What it does not understand it prints as it is.
func lines(in io.Reader, out io.Writer) error {
	held := map[[2]string][]string{} // of a package and a test: its output
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			rest, _ := io.ReadAll(io.MultiReader(d.Buffered(), in))
			fmt.Fprintf(out, "%s", rest)
			return err
		}
		key := [2]string{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			held[key] = append(held[key], e.Output)
		case "fail":
			printAll(out, held[key])
			delete(held, key)
		case "pass", "skip": // a package without tests is skipped
			if text := held[key]; e.Action == "pass" && e.Test == "" && len(text) > 0 {
				fmt.Fprint(out, text[len(text)-1])
			}
			delete(held, key)
		}
	}
}

func printAll(out io.Writer, text []string) {
	for _, s := range text {
		fmt.Fprint(out, s)
	}
}

func run(args []string) error {
	if len(args) < 2 || args[1] != "test" {
		return errors.New("usage: testlines go test [ARG]...")
	}
	cmd := exec.Command(args[0], append([]string{"test", "-json"}, args[2:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = lines(out, os.Stdout)
	return errors.Join(err, cmd.Wait())
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testlines:", err)
		os.Exit(1)
	}
}
