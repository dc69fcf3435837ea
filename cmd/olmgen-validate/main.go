// Command olmgen-validate is what olmgen validate and olmgen diff run for what needs the code of the Kubernetes API
// server: see package helper for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/review/crds"
	"github.com/olmgen/olmgen/review/crds/objects"
	"github.com/olmgen/olmgen/review/helper"
	"github.com/olmgen/olmgen/review/validate"
	"github.com/olmgen/olmgen/review/validate/framework"
)

func main() {
	os.Exit(helper.Main(os.Args[1:], map[string]helper.Answer{
		validate.HelperArg: helper.JSON(framework.Checker{}.Check),
		crds.HelperArg:     helper.JSON(objects.Checker{}.Check),
	}, os.Stdin, os.Stderr))
}
