// Command olmgen-validate is what olmgen validate and olmgen diff run for what needs the code of the Kubernetes API
// server: see package helper for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/validateproc"
)

func main() {
	os.Exit(validateproc.Main(os.Args[1:], map[string]validateproc.Answer{
		validate.HelperArg: validateproc.JSON(framework.Checker{}.Check),
		crs.HelperArg:      validateproc.JSON(apiserver.Checker{}.Check),
	}, os.Stdin, os.Stderr))
}
