//go:build !linux && !darwin

package output

import "errors"

func exchange(_, _ string) error { return errors.ErrUnsupported }
