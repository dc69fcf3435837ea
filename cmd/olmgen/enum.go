package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
	if err := among(s, e.allowed); err != nil {
		return err
	}
	*e.value = T(s)
	return nil
}

func among[T ~string](s string, allowed []T) error {
	if slices.Contains(allowed, T(s)) {
		return nil
	}
	return fmt.Errorf("must be %s", strings.Join(words(allowed), ", "))
}

// enumsValue is a flag that takes several of a few words, with commas or by being given several times.
type enumsValue[T ~string] struct {
	values  *[]T
	allowed []T
}

func enums[T ~string](values *[]T, allowed ...T) pflag.Value { return &enumsValue[T]{values, allowed} }

func (e *enumsValue[T]) String() string { return strings.Join(words(*e.values), ",") }

func (e *enumsValue[T]) Type() string { return "WORDS" }

func (e *enumsValue[T]) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if err := among(word, e.allowed); err != nil {
			return err
		}
		if !slices.Contains(*e.values, T(word)) {
			*e.values = append(*e.values, T(word))
		}
	}
	return nil
}

// offer has a shell complete flags with these values.
func offer(cmd *cobra.Command, values map[string][]string) {
	for name, words := range values {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
	}
}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
