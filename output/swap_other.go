//go:build !linux && !darwin

package output

import "errors"

// exchange is not possible in one step on this system.
func exchange(_, _ string) error { return errors.ErrUnsupported }
