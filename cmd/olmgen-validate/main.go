// Command olmgen-validate answers what the validators of operator-framework say to a bundle, and what the code of
// Kubernetes says to objects: see package beside for why it is a program of its own.
package main

import (
	"os"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
	"github.com/olmgen/olmgen/internal/kubernetes"
)

func main() {
	os.Exit(beside.Main(beside.Validate, "run olmgen validate, check or diff", os.Args[1:], map[string]beside.Answer{
		validate.Question: beside.JSON(framework.Checker{}.Check),
		beside.Writes:     beside.JSON(kubernetes.Checker{}.Check),
	}, os.Stdin, os.Stderr))
}
