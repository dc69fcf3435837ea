// Command olmgen-validate is what olmgen validate runs for the validators of operator-framework: see package
// validateproc for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
	"github.com/olmgen/olmgen/cmd/internal/validateproc"
)

func main() {
	os.Exit(validateproc.Main(os.Args[1:], map[string]validateproc.Answer{
		validate.HelperArg: validateproc.JSON(framework.Checker{}.Check),
	}, os.Stdin, os.Stderr))
}
