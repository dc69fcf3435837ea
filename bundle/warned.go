package bundle

// WarnedError is an error with the warnings that were found before it. They can be its cause: a file that was left out.
type WarnedError struct {
	Warnings []Warning
	Err      error
}

func (e *WarnedError) Error() string { return e.Err.Error() }
func (e *WarnedError) Unwrap() error { return e.Err }

// WithWarnings returns the error with warnings, or the error itself if there are none.
func WithWarnings(err error, warnings []Warning) error {
	if len(warnings) == 0 {
		return err
	}
	return &WarnedError{warnings, err}
}
