// Command olmgen-validate is what olmgen validate and olmgen diff run for what needs the code of the Kubernetes API
// server: see package helper for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/helper"
	"github.com/olmgen/olmgen/internal/rules/validate"
	"github.com/olmgen/olmgen/internal/rules/validate/framework"
)

func main() {
	os.Exit(helper.Main(os.Args[1:], map[string]helper.Answer{
		validate.HelperArg: helper.JSON(framework.Checker{}.Check),
		crs.HelperArg:      helper.JSON(apiserver.Checker{}.Check),
	}, os.Stdin, os.Stderr))
}
