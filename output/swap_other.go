//go:build !linux && !darwin

package output

import "errors"

// exchange cannot be done in one step here.
func exchange(_, _ string) error { return errors.ErrUnsupported }
