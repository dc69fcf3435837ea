//go:build !linux && !darwin

package output

import "errors"

const renameSwap, renameNew = 1, 2

func renameAs(_, _ string, _ uint) error { return errors.ErrUnsupported }
