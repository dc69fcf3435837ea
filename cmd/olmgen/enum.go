package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/internal/manifest/text"
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
	if err := text.CheckKnown("value", T(s), e.allowed); err != nil {
		return err
	}
	*e.value = T(s)
	return nil
}

// offer has a shell complete a flag with these values.
func offer(cmd *cobra.Command, flag string, words []string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// joined lists words for a help text.
func joined[T ~string](list []T) string {
	w := words(list)
	if n := len(w); n > 1 {
		return strings.Join(w[:n-1], ", ") + " or " + w[n-1]
	}
	return strings.Join(w, "")
}
