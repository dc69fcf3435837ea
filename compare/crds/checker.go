package crds

import "github.com/olmgen/olmgen/internal/crs"

// Checker judges existing objects as the API server does. FindHelper returns one.
type Checker = crs.Checker

// FindHelper returns a Checker that runs the program olmgen-validate. It looks for that beside the running program,
// then in PATH. The error says how to install it.
func FindHelper() (Checker, error) { return crs.FindHelper() }
