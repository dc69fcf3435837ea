package main

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

const columns = 80

// detailsKey is the annotation of a command with the part of its help that stands behind the flags.
const detailsKey = "olmgen.dev/details"

// The topics of flags that are not options of a RenderConfig, beside config.Topics.
const (
	topicTrees    config.Topic = "trees"
	topicFindings config.Topic = "findings"
	topicGlobal   config.Topic = "global"
)

type flagGroup struct {
	topic config.Topic
	title string
}

func flagGroups() []flagGroup {
	titles := map[config.Topic]string{"": "Flags", config.TopicSource: "Source", config.TopicPlacement: "Placement",
		config.TopicObjects: "Objects", config.TopicCerts: "Certificates", config.TopicDescoped: "Profile descoped",
		config.TopicHandover: "Handing over to OLM", config.TopicOutput: "Output",
		topicTrees: "Tree", topicFindings: "Findings", topicGlobal: "Global"}
	topics := slices.Concat([]config.Topic{""}, config.Topics, []config.Topic{topicTrees, topicFindings, topicGlobal})
	return lists.Map(topics, func(t config.Topic) flagGroup { return flagGroup{t, titles[t]} })
}

// place puts flags below a topic of the help.
func place(flags *pflag.FlagSet, topic config.Topic, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Annotations = map[string][]string{topicKey: {string(topic)}}
	}
}

// nameOnly is place for flags of which the help of a command shows only the names. Their topic explains them.
func nameOnly(flags *pflag.FlagSet, topic config.Topic, names ...string) {
	place(flags, topic, names...)
	for _, name := range names {
		setBrief(flags.Lookup(name), "")
	}
}

// setBrief sets a flag's description in a few words. If it is empty, the help of a command has only the flag's name.
func setBrief(flag *pflag.Flag, brief string) { flag.Annotations[briefKey] = []string{brief} }

const (
	topicKey = "olmgen.dev/topic"
	briefKey = "olmgen.dev/brief"
)

// flagTopic returns the topic of the help that a flag is below; "" for none.
func flagTopic(flag *pflag.Flag) config.Topic {
	return config.Topic(strings.Join(flag.Annotations[topicKey], ""))
}

// briefOf returns what setBrief set, and whether it did.
func briefOf(flag *pflag.Flag) (string, bool) {
	brief, set := flag.Annotations[briefKey]
	return strings.Join(brief, ""), set
}

// printUsage prints what cobra's own template does, with the flags in groups.
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
		rest := &cobra.Group{Title: "Commands"}
		if len(cmd.Groups()) > 0 {
			rest.Title = "Other commands"
		}
		for _, g := range slices.Concat(cmd.Groups(), []*cobra.Group{rest}) {
			fmt.Fprintf(w, "\n%s:\n", g.Title)
			for _, c := range cmd.Commands() {
				if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
					fmt.Fprintf(w, "  %-16s%s\n", c.Name(), c.Short)
				}
			}
		}
	}
	fmt.Fprintln(w)
	printFlags(w, cmd)
	if details := cmd.Annotations[detailsKey]; details != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(details))
	}
	if !cmd.HasParent() {
		fmt.Fprintf(w, "\nThe topics:\n")
		printTopics(w)
	}
	return nil
}

// printFlags prints the flags in groups. Where a topic explains them, names of more than a line are only counted.
func printFlags(w io.Writer, cmd *cobra.Command) {
	explained := false
	for _, g := range flagGroups() {
		flags := flagsBelow(cmd, g.topic)
		if len(flags) == 0 {
			continue
		}
		brief, names := []*pflag.Flag{}, []string{}
		for _, f := range flags {
			if shown, set := briefOf(f); set && shown == "" {
				names = append(names, "--"+f.Name)
			} else {
				brief = append(brief, f)
			}
		}
		fmt.Fprintf(w, "%s:", g.title)
		if hasTopic(string(g.topic)) {
			more := ""
			if len(namesOnly(names)) > 1 {
				more = text.Count(len(names), "more flag") + ": "
				names = nil
			}
			fmt.Fprintf(w, " (%s%s help %s)", more, cmd.Root().Name(), g.topic)
			explained = true
		}
		fmt.Fprintln(w)
		printGroup(w, brief, names)
	}
	if explained && cmd.HasParent() {
		fmt.Fprintf(w, "The topics in parentheses explain all flags; \"%s help topics\" lists them.\n",
			cmd.Root().Name())
	}
}

// flagsBelow returns the flags of a command that are below a topic, those of all commands included.
func flagsBelow(cmd *cobra.Command, topic config.Topic) (list []*pflag.Flag) {
	add := func(f *pflag.Flag) {
		global := f.Name == "help" || f.Name == "version" && !cmd.HasParent() ||
			cmd.InheritedFlags().Lookup(f.Name) == f ||
			!cmd.HasParent() && flagTopic(f) == ""
		if t := flagTopic(f); !f.Hidden && (global && topic == topicGlobal || !global && t == topic) {
			list = append(list, f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return list
}

// printGroup prints flags, one a line. Those that show only their names come last.
func printGroup(w io.Writer, flags []*pflag.Flag, names []string) {
	const indent = 31
	for _, f := range flags {
		brief, _ := briefOf(f)
		name, usage := flagName(f)
		if len(name) >= indent-1 {
			fmt.Fprintln(w, name)
			name = ""
		}
		for _, line := range text.Wrap(cmp.Or(brief, usage), columns-indent) {
			fmt.Fprintf(w, "%-*s%s\n", indent, name, line)
			name = ""
		}
	}
	for i, line := range namesOnly(names) {
		switch {
		case line == "":
		case i == 0:
			fmt.Fprintln(w, "      also  "+line)
		default:
			fmt.Fprintln(w, "            "+line)
		}
	}
}

func namesOnly(names []string) []string { return text.Wrap(strings.Join(names, ", "), columns-12) }

func flagName(f *pflag.Flag) (name, text string) {
	value, text := pflag.UnquoteUsage(f)
	name = "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal != "" && f.Value.Type() != "bool":
		name += "[=" + value + "]"
	case value != "":
		name += " " + value
	}
	if d := f.DefValue; d != "" && d != "false" && d != "[]" {
		text += " (default " + d + ")"
	}
	return name, text
}

// topicFiles holds a text for each topic of "olmgen help". Its first line is the title.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// helpFiles holds a text for each command, with "Examples:", and below "Details:" what stands behind the flags.
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
	if name == topicSchema {
		for _, k := range documentKinds {
			fmt.Fprintf(w, "  %-26solmgen %s\n", k.kind, k.command)
		}
	}
	flags := flagsBelow(newRender(), config.Topic(name))
	if len(flags) == 0 {
		return
	}
	fmt.Fprintln(w, "\nFlags of olmgen render:")
	for _, f := range flags {
		flag, usage := flagName(f)
		fmt.Fprintln(w, flag)
		for _, line := range text.Wrap(usage, columns-10) {
			fmt.Fprintln(w, "          "+line)
		}
	}
}

// newHelp returns the help command, which knows topics beside the commands.
func newHelp(root *cobra.Command) *cobra.Command {
	cmd := command("help [COMMAND | TOPIC | schema KIND]", "Explain a command or a topic", nil,
		func(cmd *cobra.Command, given []string) error {
			out := cmd.OutOrStdout()
			switch {
			case len(given) > 0 && given[0] == topicSchema:
				return helpSchema(out, given[1:])
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
		})
	cmd.ValidArgsFunction = func(_ *cobra.Command, given []string, start string) ([]string, cobra.ShellCompDirective) {
		return completeHelp(root, given, start), cobra.ShellCompDirectiveNoFileComp
	}
	describe(cmd, "help")
	return cmd
}

// completeHelp returns the commands and topics that begin with start.
func completeHelp(root *cobra.Command, given []string, start string) (words []string) {
	if len(given) == 1 && given[0] == topicSchema {
		return lists.Filter(kindNames(), func(name string) bool { return strings.HasPrefix(name, start) })
	}
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
		if topic := flagTopic(flag); hasTopic(string(topic)) {
			hint = explained(newRender(), flag.Name)
		}
	}
	return &usageError{fmt.Sprintf("no command or topic is called %q", given[0]), hint}
}

func namesOf(commands []*cobra.Command) []string { return lists.Map(commands, (*cobra.Command).Name) }
