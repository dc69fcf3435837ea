package text

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError is a word that is not one of the allowed ones.
type UnknownError struct {
	What    string // what the word stands for, such as profile
	Got     string
	Allowed []string
}

// Unknown returns the error for a word that is not allowed.
func Unknown[T ~string](what string, got T, allowed []T) *UnknownError {
	return &UnknownError{what, string(got), Words(allowed)}
}

// CheckKnown returns an *UnknownError for a word that is not allowed. Without allowed words, every word is.
func CheckKnown[T ~string](what string, got T, allowed []T) error {
	if allowed == nil || slices.Contains(allowed, got) {
		return nil
	}
	return Unknown(what, got, allowed)
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Got) }

// Hint returns the word that was probably meant and all that are allowed.
func (e *UnknownError) Hint() string {
	return strings.TrimSpace(DidYouMean(e.Got, e.Allowed) + " choose one of " + strings.Join(e.Allowed, ", "))
}

// DidYouMean returns a question with the known word that is closest to the given one, or "" if none is close.
func DidYouMean[T ~string](got string, known []T) string {
	if near := Nearest(got, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
