// Command olmgen-helm answers what charts of helm render to: see package beside for why it is a program of its own.
package main

import (
	"os"
	"time"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/helm"
)

func main() {
	time.Local = time.UTC
	os.Exit(beside.Main(beside.Helm, "run olmgen check or diff", os.Args[1:], map[string]beside.Answer{
		beside.Charts: beside.JSON(helm.Render),
	}, os.Stdin, os.Stderr))
}
