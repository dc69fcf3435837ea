package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/rules/release"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
)

var (
	update = flag.Bool("update", false, "write docs/reference and docs/pictures anew")
	manDir = flag.String("man", "", "write the manual pages to this directory")
)

// TestManual makes the manual page of every command. make man writes them.
func TestManual(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot()
	root.DisableAutoGenTag = true
	date := time.Unix(0, 0).UTC() // without one the pages have that of the day
	header := &doc.GenManHeader{Title: "OLMGEN", Section: "1", Source: "olmgen", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	collect(newRoot(), commands)
	for name := range commands {
		page := strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), ".md") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Error(err)
		} else if !bytes.Contains(text, []byte(".SH SYNOPSIS")) {
			t.Errorf("%s has no synopsis", page)
		}
	}
}

// TestReference keeps docs/reference equal to the commands' own help; make docs writes it.
func TestReference(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "reference")
	pages := map[string]string{}
	collect(newRoot(), pages)
	for _, name := range topicNames() {
		pages["topic_"+name+".md"] = topicPage(name)
	}
	for _, k := range documentKinds {
		name := "renderconfig.md" // which package config writes
		if k.kind != config.Kind {
			name = "schema_" + k.kind + ".md"
			pages[name] = schemaPage(t, k.kind, k.command)
		}
		pages["topic_schema.md"] += "\n* [" + k.kind + "](" + name + ")"
	}
	pages["topic_schema.md"] += "\n"
	pages["rules.md"] = rulesPage()
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		_, ok := pages[e.Name()]
		if !ok && (strings.HasPrefix(e.Name(), "olmgen") || strings.HasPrefix(e.Name(), "topic_") || strings.HasPrefix(e.Name(), "schema_")) {
			t.Errorf("docs/reference/%s is of no command, topic or kind: remove it", e.Name())
		}
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("docs/reference/%s is stale, run make docs: %v\n%s", name, err, gocmp.Diff(string(got), want))
		}
	}
}

func collect(cmd *cobra.Command, pages map[string]string) {
	if cmd.Name() == "help" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return
	}
	pages[pageName(cmd)] = page(cmd)
	for _, c := range cmd.Commands() {
		collect(c, pages)
	}
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

// page is the help of a command as markdown, with links to the commands below it.
func page(cmd *cobra.Command) string {
	var b strings.Builder
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString("# " + cmd.CommandPath() + "\n\n```\n" + strings.TrimSpace(long) + "\n\n" + usage(cmd) + "```\n")
	for _, g := range flagGroups() {
		if cmd.HasParent() && len(flagsBelow(cmd, g.topic)) > 0 && hasTopic(string(g.topic)) {
			fmt.Fprintf(&b, "\n* %s flags in full: [olmgen help %s](topic_%s.md)", g.title, g.topic, g.topic)
		}
	}
	for _, c := range cmd.Commands() {
		if c.Name() != "help" && cmd.Name() != "completion" {
			b.WriteString("\n* [" + c.CommandPath() + "](" + pageName(c) + "): " + c.Short)
		}
	}
	if !cmd.HasParent() {
		for _, name := range topicNames() {
			title, _ := topicText(name)
			b.WriteString("\n* [olmgen help " + name + "](topic_" + name + ".md): " + title)
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// topicPage is a topic of the help as markdown.
func topicPage(name string) string {
	var b strings.Builder
	printTopic(&b, name)
	return "# olmgen help " + name + "\n\n```\n" + strings.TrimSpace(b.String()) + "\n```\n"
}

// schemaNode is a part of a JSON Schema.
type schemaNode struct {
	Title, Description string
	Type, Const        any
	Enum               []any
	Ref                string `json:"$ref"`
	Items              *schemaNode
	Values             json.RawMessage `json:"additionalProperties"`
	Properties         map[string]*schemaNode
	Required           []string
	Defs               map[string]*schemaNode `json:"$defs"`
}

// schemaPage lists the fields of a kind, by its JSON Schema.
func schemaPage(t *testing.T, kind, command string) string {
	t.Helper()
	data, err := schemaOf(kind)
	must(t, err)
	var s schemaNode
	must(t, json.Unmarshal(data, &s))
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n`olmgen %s` writes it. `olmgen help schema %s` prints its JSON Schema. Fields in bold are always there.\n", kind, command, kind)
	s.writeFields(t, &b, "")
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		fmt.Fprintf(&b, "\n## %s\n", name)
		s.Defs[name].writeFields(t, &b, "")
	}
	return b.String()
}

func (s *schemaNode) writeFields(t *testing.T, b *strings.Builder, below string) {
	t.Helper()
	if below == "" && len(s.Properties) == 0 {
		fmt.Fprintf(b, "\n%s\n", cmp.Or(s.Description, s.typeText(t)))
		return
	}
	if below == "" {
		b.WriteString("\n| field | type | |\n|---|---|---|\n")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, f := "`"+below+name+"`", s.Properties[name]
		if slices.Contains(s.Required, name) {
			field = "**" + field + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", field, f.typeText(t), strings.ReplaceAll(f.Description, "|", "\\|"))
		f.writeFields(t, b, below+name+".")
		if f.Items != nil {
			f.Items.writeFields(t, b, below+name+"[].")
		}
	}
}

// typeText returns the type of a field in a few words.
func (s *schemaNode) typeText(t *testing.T) string {
	t.Helper()
	var values schemaNode
	if len(s.Values) > 0 && s.Values[0] == '{' {
		must(t, json.Unmarshal(s.Values, &values))
	}
	name := path.Base(s.Ref)
	switch {
	case s.Ref != "":
		return "[" + name + "](#" + strings.ToLower(strings.ReplaceAll(name, ".", "")) + ")"
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.Enum) > 0:
		return "`" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(s.Enum), "[]")), "`, `") + "`"
	case s.Items != nil:
		return "list of " + s.Items.typeText(t)
	case values.Type != nil || values.Ref != "":
		return "map of " + values.typeText(t)
	case s.Type == nil:
		return "any"
	}
	return strings.Trim(fmt.Sprint(s.Type), "[]")
}

// rulesPage lists the rules of the commands that judge trees, bundles and catalogs.
func rulesPage() string {
	commands := map[findings.Rule][]string{}
	diffRules := lists.Filter(compare.Rules(), func(r findings.Rule) bool {
		return r == fit.RuleCatalog || slices.Contains(upgrade.Rules, r) || slices.Contains(resolve.CatalogRules(), r)
	})
	for _, c := range []struct {
		name  string
		rules []findings.Rule
	}{{"check", predict.Rules()}, {"diff", diffRules}, {"validate", validate.Rules()}, {"validate --release", release.Rules()}, {"catalog validate", resolve.CatalogRules()},
		{"catalog resolve", resolve.Rules()}, {"catalog diff", resolve.ComparisonRules()}} {
		for _, r := range c.rules {
			commands[r] = append(commands[r], c.name)
		}
	}
	var b strings.Builder
	b.WriteString("# Rules\n\nThe rules of findings, by their ids. A finding has its own severity. Ids in camel case are the reasons that OLM sets " +
		"in the status of a ClusterServiceVersion.\n[olmgen lint](../lint.md), [what follows from a right](rights.md) " +
		"and [changes of CRDs](../crds.md) have rules of their own.\n\n| rule | in | finding | why, and what to do |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ")
	for _, r := range slices.SortedFunc(maps.Keys(commands), func(a, b findings.Rule) int {
		return strings.Compare(a.ID+" "+a.Text+" "+a.Help, b.ID+" "+b.Text+" "+b.Help)
	}) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, strings.Join(commands[r], ", "), cell.Replace(r.Text), cell.Replace(r.Help))
	}
	return b.String()
}

func usage(cmd *cobra.Command) string {
	var b bytes.Buffer
	cmd.InitDefaultHelpFlag()
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	if err := cmd.Usage(); err != nil {
		return err.Error()
	}
	return b.String()
}

// The help fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	pages := map[string]string{}
	collect(newRoot(), pages)
	for name, text := range pages {
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > columns && !strings.HasPrefix(line, "* ") {
				t.Errorf("%s: longer than %d columns: %s", name, columns, line)
			}
		}
	}
	for _, name := range topicNames() {
		for line := range strings.SplitSeq(topicPage(name), "\n") {
			if len(line) > columns {
				t.Errorf("topic %s: longer than %d columns: %s", name, columns, line)
			}
		}
	}
}
