package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/findings"
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

// formatFlag registers --format of a command that has these formats.
func formatFlag(cmd *cobra.Command, format *findings.Format, formats []findings.Format) {
	cmd.Flags().Var(enum(format, formats...), "format", text.Or(formats))
	offer(cmd, "format", text.Words(formats))
}

// failOnFlag registers --fail-on of a command that has findings.
func failOnFlag(cmd *cobra.Command, failOn *findings.Severity) {
	cmd.Flags().Var(enum(failOn, findings.Severities...), "fail-on",
		"lowest level that makes the exit code 3: "+text.Or(findings.Severities))
	offer(cmd, "fail-on", text.Words(findings.Severities))
}

// offer has a shell complete a flag with these values.
func offer(cmd *cobra.Command, flag string, words []string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}
