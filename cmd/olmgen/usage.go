package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
)

const columns = 80

// printUsage prints what cobra's own template does, but each flag above its description, so that all fits 80 columns.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(w, "  %-16s%s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		printFlags(w, cmd.LocalFlags(), "")
		for _, topic := range config.Topics {
			printFlags(w, cmd.LocalFlags(), topic)
		}
	}
	return nil
}

// printFlags prints the flags of one part of the help.
func printFlags(w io.Writer, flags *pflag.FlagSet, topic config.Topic) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || config.TopicOf(f) != topic {
			return
		}
		if first {
			fmt.Fprintf(w, "\n%s:\n", cmp.Or(string(topic), "Flags"))
			first = false
		}
		value, text := pflag.UnquoteUsage(f)
		line := "      --" + f.Name
		if f.Shorthand != "" {
			line = "  -" + f.Shorthand + ", --" + f.Name
		}
		switch {
		case f.NoOptDefVal != "" && f.Value.Type() != "bool":
			line += "[=" + value + "]"
		case value != "":
			line += " " + value
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" {
			text += " (default " + d + ")"
		}
		fmt.Fprintln(w, line)
		for _, l := range wrap(text, columns-10) {
			fmt.Fprintln(w, "          "+l)
		}
	})
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
