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
		words := make([]string, len(e.allowed))
		for i, a := range e.allowed {
			words[i] = string(a)
		}
		return fmt.Errorf("must be %s", strings.Join(words, ", "))
	}
	*e.value = T(s)
	return nil
}
