// Command olmgen-validate is what olmgen validate runs to ask the validators of operator-framework/api: see package
// validate for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/review/validate/framework"
)

func main() {
	os.Exit(framework.Main(os.Args[1:], os.Stdin, os.Stderr))
}
