package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// topicFiles holds a text for each topic of "olmgen help". Its first line is the title.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// helpFiles holds a text for each command: what it does, and below "Examples:" how it is called. What is below
// "Details:" stands behind the flags.
//
//go:embed help/*.txt
var helpFiles embed.FS

// shared are sentences of several helps.
var shared = strings.NewReplacer("{SOURCE}", `SOURCE is a bundle's directory, an archive, an image or a catalog: see
"olmgen help sources".`, "{CATALOG}", `CATALOG is a file-based catalog: a directory, a file or an image (oci://IMAGE,
oci-layout:DIR). DIR has bundles, catalogs and legacy packages at any depth. A
bundle in a directory fills in the bundle of the same package and name of a
catalog that does not hold its objects.`)

// describe fills in the help of a command and of those below it.
func describe(cmd *cobra.Command, name string) {
	if data, err := helpFiles.ReadFile("help/" + name + ".txt"); err == nil {
		body := shared.Replace(strings.TrimSuffix(string(data), "\n"))
		body, details, _ := strings.Cut(body, "\n\nDetails:\n")
		cmd.Long, cmd.Example, _ = strings.Cut(body, "\n\nExamples:\n")
		if details != "" {
			details = strings.Replace(details, "{DIFFERENCES}", triggersHelp(), 1)
			cmd.Annotations = map[string]string{detailsKey: details}
		}
	}
	for _, c := range cmd.Commands() {
		describe(c, name+"_"+c.Name())
	}
}

func topicNames() []string {
	entries, err := topicFiles.ReadDir("topics")
	cobra.CheckErr(err)
	return lists.Map(entries, func(e fs.DirEntry) string { return strings.TrimSuffix(e.Name(), ".txt") })
}

func hasTopic(name string) bool { return slices.Contains(topicNames(), name) }

// topicOf returns the topic that a word names, in the singular or plural; "" if there is none.
func topicOf(word string) string {
	return lists.Find([]string{word, word + "s", strings.TrimSuffix(word, "s")}, hasTopic)
}

func topicText(name string) (title, body string) {
	data, err := topicFiles.ReadFile("topics/" + name + ".txt")
	cobra.CheckErr(err)
	title, body, _ = strings.Cut(string(data), "\n")
	return title, strings.Trim(body, "\n")
}

func printTopics(w io.Writer) {
	for _, name := range topicNames() {
		title, _ := topicText(name)
		fmt.Fprintf(w, "  %-16s%s\n", name, title)
	}
}

// printTopic prints a topic: its title, its text, and the flags below it in full.
func printTopic(w io.Writer, name string) {
	title, body := topicText(name)
	fmt.Fprintf(w, "%s\n\n%s\n", title, body)
	flags := flagsBelow(newRender(), config.Topic(name))
	if len(flags) == 0 {
		return
	}
	fmt.Fprintln(w, "\nFlags of olmgen render:")
	for _, f := range flags {
		flag, usage := flagName(f)
		fmt.Fprintln(w, flag)
		for _, line := range wrap(usage, columns-10) {
			fmt.Fprintln(w, "          "+line)
		}
	}
}

// newHelp returns the help command, which knows topics beside the commands.
func newHelp(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command or a topic",
		ValidArgsFunction: func(_ *cobra.Command, given []string, start string) ([]string, cobra.ShellCompDirective) {
			return completeHelp(root, given, start), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			out := cmd.OutOrStdout()
			switch {
			case len(given) == 1 && given[0] == "topics":
				printTopics(out)
				return nil
			case len(given) == 1 && topicOf(given[0]) != "":
				printTopic(out, topicOf(given[0]))
				return nil
			}
			found, rest, err := root.Find(given)
			if err != nil || len(rest) > 0 {
				return unknownTopic(found, append(rest, given...))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
	describe(cmd, "help")
	return cmd
}

// completeHelp returns the commands and topics that begin with start.
func completeHelp(root *cobra.Command, given []string, start string) (words []string) {
	parent, _, err := root.Find(given)
	if err != nil || parent == nil {
		return nil
	}
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), start) {
			words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	if len(given) > 0 {
		return words
	}
	for _, name := range append(topicNames(), "topics") {
		if strings.HasPrefix(name, start) {
			title := "List the topics"
			if hasTopic(name) {
				title, _ = topicText(name)
			}
			words = append(words, cobra.CompletionWithDesc(name, title))
		}
	}
	return words
}

// unknownTopic returns an error with the command or topic that was probably meant.
func unknownTopic(parent *cobra.Command, given []string) error {
	if parent.HasParent() {
		return unknownCommand(parent, given)
	}
	names := slices.Concat(topicNames(), []string{"topics"}, namesOf(parent.Commands()))
	hint := strings.TrimSpace(text.DidYouMean(given[0], names) + " see olmgen --help and olmgen help topics")
	if flag := newRender().Flags().Lookup(strings.TrimLeft(given[0], "-")); flag != nil {
		if topic := config.TopicOf(flag); hasTopic(string(topic)) {
			hint = fmt.Sprintf("olmgen help %s explains --%s", topic, flag.Name)
		}
	}
	return &usageError{fmt.Sprintf("no command or topic is called %q", given[0]), hint}
}

func namesOf(commands []*cobra.Command) []string { return lists.Map(commands, (*cobra.Command).Name) }
