package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// pageCommand is a command of a page and what the page says that it prints.
type pageCommand struct {
	line    int
	text    string
	checked bool   // whether the output is shown
	output  string // with lines "..." for any lines
}

// TestPages runs the commands of README.md and of the pages below docs/. A page opts in block by block: in one that starts with "```sh test"
// every line is a command that must succeed; in one with "```console test" commands start with "$ " and are followed by what they print, where a
// line "..." stands for any lines. The commands of a page run one after the other in a directory that holds only examples/. A command that
// needs a missing program (optional) is skipped.
func TestPages(t *testing.T) {
	fuzztest.Seconds(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh, which runs the commands of the pages")
	}
	root := filepath.Join("..", "..")
	ran := 0
	test := func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".md" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		commands := pageCommands(string(text))
		ran += len(commands)
		if name, err := filepath.Rel(root, file); len(commands) > 0 && err == nil {
			t.Run(filepath.ToSlash(name), func(t *testing.T) { runPage(t, file, commands) })
		}
		return nil
	}
	for _, pages := range []string{"README.md", "docs"} {
		if err := filepath.WalkDir(filepath.Join(root, pages), test); err != nil {
			t.Error(err)
		}
	}
	if ran == 0 {
		t.Error("no page has a command")
	}
}

func runPage(t *testing.T, file string, commands []pageCommand) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if program := missing(c.text); program != "" {
			t.Logf("%s:%d: passed over, there is no %s", file, c.line, program)
			continue
		}
		cmd := exec.Command("sh", "-c", c.text)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s:%d: %s: %v\n%s", file, c.line, c.text, err, out)
		}
		if c.checked && !prints(c.output, string(out)) {
			t.Errorf("%s:%d: %s prints something else (-page +printed):\n%s", file, c.line, c.text, cmp.Diff(c.output, string(out)))
		}
	}
}

// pageCommands finds the commands of a page. A backslash at the end of a line continues a command.
func pageCommands(page string) []pageCommand {
	var commands []pageCommand
	fenced, info, open := false, "", false
	for i, line := range strings.Split(page, "\n") {
		last := len(commands) - 1
		if rest, ok := strings.CutPrefix(line, "```"); ok {
			fenced, info, open = !fenced, rest, false
			continue
		}
		console := info == "console test"
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case !fenced || info != "sh test" && !console:
		case open:
			commands[last].text += "\n" + line
			open = strings.HasSuffix(line, `\`)
		case console && !prompt:
			if last >= 0 {
				commands[last].output += line + "\n"
			}
		case strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "#"):
			commands = append(commands, pageCommand{line: i + 1, text: text, checked: console})
			open = strings.HasSuffix(line, `\`)
		}
	}
	return commands
}

// optional are the programs that a machine that tests olmgen need not have.
var optional = []string{"argocd", "flux", "git", "helm", "kubectl", "kustomize"}

var programs = regexp.MustCompile(`(?:^|[|;&(]|\n)\s*([a-z][a-z0-9-]*)`)

// missing names an optional program that a command needs and that is not there.
func missing(command string) string {
	if strings.Contains(command, "--git ") {
		command += "\ngit" // it reads a repository that git made on the page
	}
	for _, m := range programs.FindAllStringSubmatch(command, -1) {
		if _, err := exec.LookPath(m[1]); err != nil && slices.Contains(optional, m[1]) {
			return m[1]
		}
	}
	return ""
}

// prints reports whether a page tells what was printed.
func prints(page, printed string) bool {
	pattern := regexp.QuoteMeta(strings.TrimRight(page, "\n"))
	pattern = strings.ReplaceAll("\n"+pattern, "\n"+regexp.QuoteMeta("..."), `(\n.*)*`)
	return regexp.MustCompile("^" + pattern + "$").MatchString("\n" + strings.TrimRight(printed, "\n"))
}

// What is taken for a command and for its output.
func TestPageCommands(t *testing.T) {
	page := "# Page\n\n```sh\nnot me\n```\n\n```sh test\n# a comment\none\n\ntwo \\\n  more\n```\ntext\n```console test\n$ three\nout\n...\n$ four\n```\n```\n$ nor me\n```\n"
	want := []pageCommand{{9, "one", false, ""}, {11, "two \\\n  more", false, ""}, {16, "three", true, "out\n...\n"}, {19, "four", true, ""}}
	if d := cmp.Diff(want, pageCommands(page), cmp.AllowUnexported(pageCommand{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, c := range []struct {
		page, printed string
		want          bool
	}{
		{"", "", true}, {"", "x\n", false}, {"a.c\n", "a.c\n", true}, {"a.c\n", "abc\n", false}, {"a\n...\nd\n", "a\nb\nc\nd\n", true}, {"a\n...\nd\n", "a\nd\n", true},
		{"a\n...\n", "a\nb\n", true}, {"...\nb\n", "a\nb\n", true}, {"a\n...\nd\n", "a\nb\n", false}, {"a\n", "a\nb\n", false},
	} {
		if got := prints(c.page, c.printed); got != c.want {
			t.Errorf("page %q, printed %q: %t", c.page, c.printed, got)
		}
	}
	if got := missing("olmgen render x | true && (sh -c x)"); got != "" {
		t.Errorf("missing: %s", got)
	}
}
