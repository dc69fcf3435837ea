package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// enumValue is a flag that takes one of a few words.
type enumValue[T ~string] struct {
	value   *T
	allowed []T
}

func enum[T ~string](value *T, allowed ...T) pflag.Value { return &enumValue[T]{value, allowed} }

func (e *enumValue[T]) String() string { return string(*e.value) }

func (e *enumValue[T]) Type() string { return "WORD" }

func (e *enumValue[T]) Set(s string) error {
	if !slices.Contains(e.allowed, T(s)) {
		return fmt.Errorf("must be %s", strings.Join(words(e.allowed), ", "))
	}
	*e.value = T(s)
	return nil
}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
