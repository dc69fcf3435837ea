package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
)

// messageWriter is stderr. A message may quote what a stranger wrote: it must neither control the terminal nor look
// like another message, or like a command of a workflow log. Each write is one message, of one or more whole lines.
type messageWriter struct {
	w    io.Writer
	line *progressLine
}

func (m *messageWriter) Write(p []byte) (int, error) {
	var out bytes.Buffer
	first := true
	for line := range strings.Lines(string(p)) {
		line, ended := strings.CutSuffix(line, "\n")
		if !first && (strings.HasPrefix(line, "olmgen: ") || strings.HasPrefix(line, "::")) {
			out.WriteString("  ")
		}
		first = false
		out.WriteString(strings.Join(lists.Map(strings.Split(line, "\t"), text.Printable), "\t"))
		if ended {
			out.WriteByte('\n')
		}
	}
	if _, err := m.line.write(m.w, out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stdoutWriter is stdout. It keeps the first error.
type stdoutWriter struct {
	io.Writer
	line *progressLine
	err  error
}

func (s *stdoutWriter) Write(p []byte) (int, error) {
	n, err := s.line.write(s.Writer, p)
	s.err = cmp.Or(s.err, err)
	return n, err
}

// terminalOf returns the terminal that w writes to, or nil.
func terminalOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *stdoutWriter:
		return terminalOf(w.Writer)
	case *colorWriter:
		return terminalOf(w.w)
	case *messageWriter:
		return terminalOf(w.w)
	case *os.File:
		if term.IsTerminal(int(w.Fd())) {
			return w
		}
	}
	return nil
}

func (s *stdoutWriter) Columns() int { return columnsOf(s) }
func (c *colorWriter) Columns() int  { return columnsOf(c) }

func columnsOf(w io.Writer) (n int) {
	if t := terminalOf(w); t != nil {
		n, _, _ = term.GetSize(int(t.Fd())) // what is not known is 0
	}
	return n
}

// say prints a message on stderr: its level and its hint, if it has them, and its text.
func say(cmd *cobra.Command, level findings.Severity, hint, format string, args ...any) {
	sayOn(cmd.ErrOrStderr(), level, hint, format, args...)
}

func warn(cmd *cobra.Command, format string, args ...any) {
	say(cmd, findings.Warning, "", format, args...)
}
func note(cmd *cobra.Command, format string, args ...any) {
	say(cmd, findings.Note, "", format, args...)
}
func tell(cmd *cobra.Command, format string, args ...any) { say(cmd, "", "", format, args...) }

func sayOn(stderr io.Writer, level findings.Severity, hint, format string, args ...any) {
	message := "olmgen: "
	if level != "" {
		message += string(level) + ": "
	}
	message += indented(fmt.Sprintf(format, args...)) + "\n"
	if hint != "" {
		message += "hint: " + indented(hint) + "\n"
	}
	fmt.Fprint(stderr, message)
}

// given returns the first of several flags that the command line has, with its dashes, or "".
func given(cmd *cobra.Command, names ...string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// indented returns a message whose further lines cannot be taken for messages or hints, even without their blanks.
func indented(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines[1:] {
		mark := ""
		if start := strings.TrimSpace(line); strings.HasPrefix(start, "hint:") || strings.HasPrefix(start, "olmgen:") {
			mark = "| "
		}
		lines[i+1] = "  " + mark + line
	}
	return strings.Join(lines, "\n")
}

// checkNamespace refuses a value of --namespace that is no name, as a wrong command line. The flag may not be given.
func checkNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	err := config.CheckNamespace(namespace)
	if bad, ok := errors.AsType[*config.FlagError](err); ok {
		return &usageError{"--namespace: " + bad.Msg, bad.Tip}
	}
	return err
}

type colorMode string

const (
	colorAuto   colorMode = "auto"
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

type globalFlags struct {
	quiet bool
	color colorMode
}

func (f *globalFlags) register(root *cobra.Command) {
	f.color = colorAuto
	flags := root.PersistentFlags()
	flags.BoolVar(&f.quiet, "quiet", false, "print only warnings and errors on stderr")
	modes := []colorMode{colorAuto, colorAlways, colorNever}
	flags.Var(&enumValue[colorMode]{&f.color, modes}, "color", "colors: "+text.Or(modes))
	offer(root, "color", text.Words(modes))
	root.PersistentPreRunE = func(cmd *cobra.Command, given []string) error {
		if slices.Contains(given, "") && !strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) { // asks for words
			return &usageError{"an argument is empty", seeHelp(cmd)}
		}
		if f.quiet {
			root.SetErr(&quietWriter{w: root.ErrOrStderr()})
		} else if m, ok := root.ErrOrStderr().(*messageWriter); ok {
			cmd.SetContext(watch.With(cmd.Context(), m.line.step))
		}
		if paint := painterOf(cmd); paint != nil && f.colored(root.OutOrStdout()) {
			root.SetOut(&colorWriter{w: root.OutOrStdout(), paint: paint})
		}
		return nil
	}
}

// colored reports whether w gets colors. NO_COLOR is honoured (no-color.org), unless colors are asked for.
func (f *globalFlags) colored(w io.Writer) bool {
	auto := terminalOf(w) != nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return f.color == colorAlways || f.color == colorAuto && auto
}

// painterOf returns what colors a line of a command's output; nil if it prints neither a diff nor findings as text.
func painterOf(cmd *cobra.Command) func(string) string {
	if check := cmd.Flags().Lookup("check"); check != nil && check.Changed && check.Value.String() != "false" {
		return paintDiff
	}
	format := cmd.Flags().Lookup("format")
	if cmd.Name() == "diff" && format.Value.String() == "text" {
		return paintUpgrade
	}
	if cmd.Flags().Lookup("baseline") != nil && format != nil && format.Value.String() == "text" {
		return paintFinding
	}
	return nil
}

// The colors are those of git diff and of compilers.
const (
	red, green, yellow, cyan, bold, plain = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
)

func paintDiff(line string) string {
	for _, p := range [][2]string{{"--- ", bold}, {"+++ ", bold}, {"@@", cyan}, {"-", red}, {"+", green}} {
		if strings.HasPrefix(line, p[0]) {
			return p[1] + line + plain
		}
	}
	return line
}

// leveled finds the level in "path:line: level: message".
var leveled = lazy.Regexp(`^\S.*?: (error|warning|note): `)

func paintFinding(line string) string {
	at := leveled().FindStringSubmatchIndex(line)
	if at == nil {
		return line
	}
	return painted(line, at[2], at[3])
}

// painted colors a part of a line by what it says.
func painted(line string, from, to int) string {
	color := map[string]string{"error": red, "warning": yellow, "note": cyan, "info": cyan, "+": green, "-": red,
		"~": yellow}[line[from:to]]
	return line[:from] + color + line[from:to] + plain + line[to:]
}

// severity finds the sign and the severity of a line of olmgen diff, or the severity of an answer.
var severity = lazy.Regexp(`^  (?:([+~-]) )?(?:\S+ +)?(error|warning|info)\b`)

// paintUpgrade colors what is added, removed and changed, and how bad it is.
func paintUpgrade(line string) string {
	if !strings.HasPrefix(line, " ") && line != "" && !strings.HasPrefix(line, "note: ") {
		return bold + line + plain
	}
	at := severity().FindStringSubmatchIndex(line)
	if at == nil {
		return line
	}
	line = painted(line, at[4], at[5])
	if at[2] >= 0 {
		line = painted(line, at[2], at[3])
	}
	return line
}

// colorWriter colors whole lines.
type colorWriter struct {
	w     io.Writer
	paint func(line string) string
	rest  string // of a line that has not ended
}

func (c *colorWriter) Write(p []byte) (int, error) {
	lines := strings.Split(c.rest+string(p), "\n")
	last := len(lines) - 1
	c.rest = lines[last]
	var out bytes.Buffer
	for _, line := range lines[:last] {
		out.WriteString(c.paint(line) + "\n")
	}
	_, err := c.w.Write(out.Bytes())
	return len(p), err
}

// quietWriter passes warnings with their hints, and drops other messages. Each write is one or more whole lines.
type quietWriter struct {
	w    io.Writer
	pass bool // whether the last message was passed; its further lines and its hint follow it
}

func (q *quietWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if bytes.HasPrefix(line, []byte("olmgen: ")) {
			q.pass = bytes.HasPrefix(line, []byte("olmgen: warning: "))
		}
		if !q.pass {
			continue
		}
		if _, err := q.w.Write(line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// version is set by the linker in releases; otherwise the module's version is what Go recorded.
var version string

// build is what olmgen version prints as JSON. A field that is not known is missing.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Date      string `json:"date,omitempty"` // of the commit
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersion() *cobra.Command {
	format := findings.Text
	cmd := command("version", "Print the version of olmgen", args(0, 0, ""),
		func(cmd *cobra.Command, _ []string) error {
			if format == findings.Text {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "olmgen "+versionString())
				return err
			}
			b := build{Version: versionString(), GoVersion: runtime.Version(),
				Platform: runtime.GOOS + "/" + runtime.GOARCH}
			info, _ := debug.ReadBuildInfo()
			for i := 0; info != nil && i < len(info.Settings); i++ {
				switch s := info.Settings[i]; s.Key {
				case "vcs.revision":
					b.Commit = s.Value
				case "vcs.time":
					b.Date = s.Value
				case "vcs.modified":
					b.Modified = s.Value == "true"
				}
			}
			return findings.WriteJSON(cmd.OutOrStdout(), b)
		})
	formatFlag(cmd, &format, []findings.Format{findings.Text, findings.JSON})
	return cmd
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
