// Command olmgen renders operator bundles as plain Kubernetes manifests.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // bad input, I/O
	exitUsage  = 2
	exitFound  = 3 // findings
	// exitSignal and the number of a signal are what a shell says of a process that the signal ended.
	exitSignal = 128
)

// gcPercent is what the garbage collector lets the heap grow by: rendering is a fifth faster than with Go's 100.
const gcPercent = 300

// manyOperators counts as a whole catalog: 154 take 500 MB in place of 800 MB, and 5 % more CPU time.
const manyOperators = 20

func main() {
	setGCPercent(gcPercent)
	limitGarbage()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command. Data goes to stdout. Messages go to stderr: lower case, "olmgen: " first, no final
// period, with a "hint: " line where there is a next step.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runShowing(progressDelay, args, stdin, stdout, stderr)
}

// runShowing is run with the time after which it shows that it works.
func runShowing(delay time.Duration, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line := newProgressLine(stderr, delay)
	defer line.stop()
	stderr = &messageWriter{stderr, line}
	root := newRoot(args...)
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &stdoutWriter{Writer: stdout, line: line}
	root.SetOut(out)
	root.SetErr(stderr)
	ctx, stop := untilSignal(stderr)
	defer func() {
		stop()
		beside.Wait()
	}()
	unknown := refuseHelp(root)
	if err := budget.RaiseTo(os.Getenv(budget.Variable)); err != nil {
		sayError(root, stderr, err)
		return exitUsage
	}
	for _, arg := range args {
		if err := source.RefuseCredentials(arg); err != nil { // before a report or an error repeats it
			sayError(root, stderr, err)
			return exitFailed
		}
	}
	if err := oneDash(root, args); err != nil {
		sayError(root, stderr, err)
		return exitUsage
	}
	cmd, err := root.ExecuteContextC(ctx)
	// help and lists are printed without a look at out.err
	if err = cmp.Or(out.err, err, *unknown); err == nil {
		return exitDone
	}
	if errors.Is(out.err, syscall.EPIPE) { // its reader has what it wants
		return exitSignal + int(syscall.SIGPIPE)
	}
	if by, ok := errors.AsType[*signalError](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		sayError(cmd, stderr, by)
		return by.code()
	}
	sayError(cmd, stderr, err)
	var usage *usageError
	var flags *config.FlagError
	var found *foundError
	switch {
	case errors.As(err, &usage), errors.As(err, &flags):
		return exitUsage
	case errors.As(err, &found):
		return exitFound
	}
	return exitFailed
}

// graceTime is how long a command has to end after a signal. The next run repairs what is left, as after a kill.
const graceTime = time.Second

// signalError is why a run ends before its end.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return "interrupted" }
func (e *signalError) code() int     { return exitSignal + int(e.signal) }

// untilSignal returns a context that SIGINT and SIGTERM end, with a signalError as its cause. A loop that does not ask
// it, of this program or of a library, ends with the process.
func untilSignal(stderr io.Writer) (ctx context.Context, stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.Background())
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // the write fails, so that what is temporary goes
	go func() {
		select {
		case <-done:
			return
		case s := <-signals:
			by := &signalError{syscall.SIGINT}
			if s == syscall.SIGTERM {
				by.signal = syscall.SIGTERM
			}
			cancel(by)
			select {
			case <-done:
			case <-time.After(graceTime):
				sayOn(stderr, "", "", "%s", by)
				os.Exit(by.code())
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(done)
		cancel(nil)
	})
}

// sayError prints an error and its hint, with the names of flags. Warnings that were found before it come first.
func sayError(cmd *cobra.Command, stderr io.Writer, err error) {
	if warned, ok := errors.AsType[*bundle.WarnedError](err); ok {
		for _, w := range warned.Warnings {
			message := config.WithOptionNames(w.Error.Error(), w.Options, flagsOf(cmd))
			sayOn(stderr, findings.Warning, "", "%s%s", message, class(w.Class))
		}
	}
	if q, ok := stderr.(*quietWriter); ok {
		stderr = q.w
	}
	text, hint := config.ErrorText(err, flagsOf(cmd))
	if declared, ok := errors.AsType[*source.RenderConfigError](err); ok {
		hint = declaredHint(cmd, declared.File)
	}
	if several, ok := errors.AsType[versionsError](err); ok {
		hint = versionHint(cmd, several, hint)
	}
	sayOn(stderr, "", lead(cmd, err, text, hint), "%s", text)
}

// versionsError is the error for a directory of bundles that takes the place of one.
type versionsError interface {
	error
	Bundles() (dir string, versions []string)
}

// versionHint returns what to do with a directory of bundles that takes the place of one.
func versionHint(cmd *cobra.Command, e versionsError, hint string) string {
	dir, versions := e.Bundles()
	if asked := cmd.Flags().Lookup("version"); asked != nil && slices.Contains(versions, asked.Value.String()) {
		hint = "give " + filepath.Join(dir, asked.Value.String())
	}
	if cmd.Flags().Lookup("release") != nil {
		hint += "; --release judges the newest one with what stands beside it"
	}
	if cmd.Name() == "graph" {
		hint += "; olmgen graph " + text.Shell(source.KindCatalog+":"+dir) + " draws the updates of a package"
	}
	return hint
}

// flagsOf returns how a command calls options: by its flags, if it has them.
func flagsOf(cmd *cobra.Command) func(manifest.Option) string {
	return func(o manifest.Option) string {
		if more := budget.More(); o == option.Limits && more != "" {
			return more + " in the environment"
		}
		name := cmp.Or(flagsOfRun[o], config.FlagOf(o))
		if cmd.Flags().Lookup(strings.TrimPrefix(name, "--")) == nil {
			return ""
		}
		return name
	}
}

// flagsOfRun are the flags of options that no RenderConfig has.
var flagsOfRun = map[manifest.Option]string{option.Force: "--force", option.Replace: "--replace",
	option.InsecureRegistries: "--insecure-registry", option.VerifyKeys: "--verify-key",
	option.Timeout: "--timeout"}

type usageError struct{ msg, hint string }

func (e *usageError) Error() string { return e.msg }
func (e *usageError) Hint() string  { return e.hint }

type namedCommand struct {
	group, name string
	make        func() *cobra.Command
}

// commands returns all commands, by the names that newRoot gives them and below the headings of the help.
func commands() []namedCommand {
	return []namedCommand{
		{"Render", "render", newRender},
		{"Render", "descope", newDescope},
		{"Render", "init", newInit},
		{"Render", "update", newUpdate},
		{"Render", "adopt", newAdopt},
		{"Render", "fn", newFn},
		{"Render", "convert", newConvert},
		{"Review", "permissions", newPermissions},
		{"Review", "diff", newDiff},
		{"Review", "history", newHistory},
		{"Review", "graph", newGraph},
		{"Review", "check", newCheck},
		{"Review", "lint", newLint},
		{"Review", "validate", newValidate},
		{"Review", "images", newImages},
		{"Review", "installer-rbac", newInstallerRBAC},
		{"Catalogs", "catalog", newCatalog},
		{"", "version", newVersion},
	}
}

// addCommands adds the command that a command line names, or all: their flags cost more time than olmgen version needs.
func addCommands(root *cobra.Command, args []string) {
	chosen := commands()
	for i, c := range chosen {
		if len(args) > 0 && c.name == args[0] {
			chosen = chosen[i : i+1]
		}
	}
	for _, c := range chosen {
		if c.group != "" && !root.ContainsGroup(c.group) {
			root.AddGroup(&cobra.Group{ID: c.group, Title: c.group})
		}
		cmd := c.make()
		cmd.GroupID = c.group
		describe(cmd, c.name)
		for _, c := range append(cmd.Commands(), cmd) {
			c.Flags().SortFlags = false // they are in the order of what a user needs first
			refuseEmpty(c.Flags())
			offerReleases(c)
		}
		if question, _, ok := strings.Cut(cmd.Short, "?"); ok {
			cmd.Long = question + "?\n\n" + cmd.Long
		}
		root.AddCommand(cmd)
	}
}

// newRoot returns the command with all its subcommands, or with those that a command line needs.
func newRoot(args ...string) *cobra.Command {
	root := command("olmgen", "Render operator bundles as plain Kubernetes manifests", unknownCommand, help)
	root.SilenceErrors, root.SilenceUsage = true, true
	describe(root, root.Name())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	new(globalFlags).register(root)
	refuseEmpty(root.PersistentFlags())
	root.Version = versionString()
	root.SetVersionTemplate("olmgen {{ .Version }}\n")
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version of olmgen"
	root.SetUsageFunc(printUsage)
	addCommands(root, args)
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseUnknownWords(root)
	return root
}

// refuseUnknownWords makes the completion command refuse words that name no shell. Cobra accepts any word.
func refuseUnknownWords(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = func(_ *cobra.Command, given []string) error {
				found, rest, err := c.Find(given)
				if err != nil || len(rest) > 0 {
					return unknownCommand(found, append(rest, given...))
				}
				return nil
			}
			if c.Run == nil && c.RunE == nil {
				c.RunE = help
			}
		}
	}
}

// refuseHelp returns, after the run, the error of --help behind an unknown command, which cobra calls a success.
func refuseHelp(root *cobra.Command) *error {
	var unknown error
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, given []string) {
		if words := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(words) > 0 {
			unknown = unknownCommand(cmd, words)
			return
		}
		usual(cmd, given)
	})
	return &unknown
}

// unknownCommand returns an error with the command that was probably meant.
func unknownCommand(cmd *cobra.Command, given []string) error {
	if len(given) == 0 {
		return nil
	}
	near := text.DidYouMean(given[0], namesOf(cmd.Commands()))
	if meant := elsewhere[given[0]]; meant != "" {
		near = meant + ";"
	} else if paths := pathsOf(newRoot(), given[0]); len(paths) > 0 {
		near = "did you mean " + text.Or(paths) + "?"
	}
	return &usageError{fmt.Sprintf("unknown command %q", given[0]), strings.TrimSpace(near + " " + seeHelp(cmd))}
}

// pathsOf returns the commands below root that have a name.
func pathsOf(root *cobra.Command, name string) (paths []string) {
	for _, c := range root.Commands() {
		if c.Name() == name && c.HasParent() {
			paths = append(paths, c.CommandPath())
		}
		paths = append(paths, pathsOf(c, name)...)
	}
	return paths
}

func seeHelp(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }

// writeUsage is the hint for a command line that lacks an argument, or has one too many.
func writeUsage(cmd *cobra.Command) string {
	return "write " + strings.TrimSuffix(cmd.UseLine(), " [flags]") + "; " + seeHelp(cmd)
}

const (
	rendersHere = "olmgen render writes the objects"
	noCluster   = "olmgen changes no cluster: olmgen render BUNDLE | kubectl apply --server-side -f -"
	removes     = "olmgen changes no cluster: olmgen render BUNDLE | kubectl delete -f -"
	listsHere   = "olmgen catalog audit CATALOG lists the packages of a catalog"
	fromCluster = "olmgen reads no cluster: olmgen adopt --print-kubectl prints the command that makes a dump of one"
)

// elsewhere says what does here what commands of other tools do: helm, terraform, operator-sdk, opm and kubectl.
var elsewhere = map[string]string{
	"template": rendersHere, "generate": rendersHere, "build": rendersHere,
	"plan":   "olmgen render -o DIR --dry-run lists what would change, olmgen diff compares two releases",
	"bundle": "olmgen validate BUNDLE says whether a bundle is right",
	"apply":  noCluster, "install": noCluster,
	"uninstall": removes, "delete": removes, "remove": removes,
	"upgrade": "olmgen update takes the operators of a RenderConfig to their next versions",
	"list":    listsHere, "ls": listsHere, "search": listsHere,
	"get": fromCluster, "describe": fromCluster, "dump": fromCluster,
}

// nearFlag returns what to do about an unknown flag: mostly the one that was probably meant.
func nearFlag(cmd *cobra.Command, args []string, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	given := unknown.GetSpecifiedName()
	switch {
	case given == "o" || strings.HasPrefix(given, "output"):
		if value := valueIn(args, given); cmd.Flags().Lookup("format") != nil {
			return "write " + asFormat(cmd, value) + "; "
		} else if filepath.Ext(value) != "" {
			return "write > " + text.Shell(value) + "; "
		}
	case given == "package" && strings.HasPrefix(cmd.Use, cmd.Name()+" PACKAGE"):
		return "write the package without --package; "
	case given == "f" && slices.Contains(words[wordOf(cmd)].takes, aConfig):
		return "write " + text.Shell(valueIn(args, given)) + " without -f; "
	case given == "f":
		return declaredHint(cmd, valueIn(args, given)) + "; "
	case len(given) < 2:
		return ""
	case slices.Contains(formatsOf(cmd), given):
		return "write --format " + given + "; "
	}
	if cmd.Name() == "render" && (given == "shard" || given == "merge") {
		return "leave out --shard and --merge: one process waits for many registries at the same time; "
	}
	if instead := insteadOf(cmd, given); instead != "" {
		return instead + "; "
	}
	longer := beginning(cmd, given)
	near := text.Nearest(given, lists.Map(beginning(cmd, ""), func(name string) string { return name[len("--"):] }))
	switch {
	case len(longer) > 0 && len(near) != len(given)+1: // one letter less is a slip, two are the beginning of a name
		return "did you mean " + text.Or(longer) + "? "
	case near != "":
		return "did you mean --" + near + "? "
	}
	return ""
}

// formatsOf returns the values of --format, none if a command does not have it.
func formatsOf(cmd *cobra.Command) []string {
	if f := cmd.Flags().Lookup("format"); f != nil {
		return text.Words(f.Value.(filledValue).Value.(*enumValue[findings.Format]).allowed)
	}
	return nil
}

// valueIn returns the value that a command line gives to a flag, or "".
func valueIn(args []string, flag string) string {
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case name == "--"+flag || name == "-"+flag:
			return cmp.Or(value, strings.Join(args[min(i+1, len(args)):min(i+2, len(args))], ""))
		case len(flag) == 1 && strings.HasPrefix(arg, "-"+flag):
			return arg[len("-o"):]
		}
	}
	return ""
}

// asFormat returns what to write in place of -o, which commands that print a report do not have: in kubectl its value
// is a format.
func asFormat(cmd *cobra.Command, value string) string {
	formats := formatsOf(cmd)
	if slices.Contains(formats, value) {
		return "--format " + value
	}
	ends := strings.TrimPrefix(filepath.Ext(value), ".")
	format := cmp.Or(map[string]string{"md": "markdown", "yml": "yaml", "mmd": "mermaid", "txt": "text"}[ends], ends)
	if !slices.Contains(formats, format) {
		format = "FORMAT"
	}
	return "--format " + format + " > " + text.Shell(cmp.Or(value, "FILE"))
}

// insteadOf returns what to write in place of a flag of another command, or "".
func insteadOf(cmd *cobra.Command, flag string) string {
	if cmd.Flags().Lookup("install-mode") == nil {
		return "" // it renders nothing
	}
	for o := range config.WithFlags(config.Declared()) {
		switch {
		case o.Flag != flag:
		case cmd.Flags().Lookup("config") != nil:
			return "write it into a RenderConfig as " + o.Path + ", and name that with -f"
		case cmd.Name() == "diff":
			return "write it into a RenderConfig as " + o.Path + ", and compare that"
		default:
			return "leave it out: " + cmd.Name() + " renders without it"
		}
	}
	return ""
}

// beginning returns the flags of a command whose names begin with a text.
func beginning(cmd *cobra.Command, prefix string) (flags []string) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && strings.HasPrefix(flag.Name, prefix) {
			flags = append(flags, "--"+flag.Name)
		}
	})
	return flags
}

// leastLong is how many letters behind one dash are taken for the beginning of a long flag.
const leastLong = 3

// oneDash refuses a long flag, or its beginning, behind a single dash. Flags of one letter take their value in the same
// word, so that -out DIR would write to a directory called ut.
func oneDash(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil //nolint:nilerr // the run says it
	}
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // joins them to those of the command
	for i := 0; i < len(rest) && rest[i] != "--"; i++ {
		name, long := strings.CutPrefix(rest[i], "--")
		letters, dash := strings.CutPrefix(rest[i], "-")
		switch {
		case long:
			if f := cmd.Flag(name); f != nil && f.NoOptDefVal == "" {
				i++ // its value
			}
		case dash:
			name, _, _ := strings.Cut(letters, "=")
			if meant := beginning(cmd, name); len(name) >= leastLong && len(meant) > 0 {
				hint := "write " + text.Or(meant)
				if f := shorthand(cmd, letters); f != nil && f.NoOptDefVal == "" { // it could mean a value as well
					hint += fmt.Sprintf(", or -%s %s if %q is the value", letters[:1], letters[1:], letters[1:])
				}
				return &usageError{"-" + name + ": a long flag begins with two dashes", hint}
			}
			if f := shorthand(cmd, letters); f != nil && len(letters) == 1 && f.NoOptDefVal == "" {
				i++
			}
		}
	}
	return nil
}

// shorthand returns the flag that the first letter of a word behind one dash means, or nil.
func shorthand(cmd *cobra.Command, letters string) *pflag.Flag {
	if letters == "" {
		return nil
	}
	return cmd.Flags().ShorthandLookup(letters[:1])
}

// command returns a command. describe adds its help.
func command(use, short string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

const many = math.MaxInt

// args takes the number of arguments that a command needs.
func args(min, max int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) < min {
			return &usageError{what + " is missing", writeUsage(cmd)}
		}
		if len(given) > max {
			return &usageError{fmt.Sprintf("one argument too many: %q", given[max]), writeUsage(cmd)}
		}
		return nil
	}
}
