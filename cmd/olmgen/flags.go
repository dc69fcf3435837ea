package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// filledValue refuses an empty value of any flag: most likely an unset variable of a shell. It refuses a second value
// of a flag that names one input or output, of which the first would be passed over in silence.
type filledValue struct {
	pflag.Value
	flag *pflag.Flag
	once bool
}

var errEmptyValue = errors.New("is empty")

func (v filledValue) Set(s string) error {
	if s == "" || v.Type() == "stringSlice" && slices.Contains(strings.Split(s, ","), "") {
		return errEmptyValue
	}
	if v.once && v.flag.Changed {
		return manifest.WithHint(fmt.Errorf("it is given twice, with %s before", v),
			"give one; run olmgen once for each")
	}
	return v.Value.Set(s)
}

// refuseEmpty has flags refuse empty values, and a second one where they take one file, directory or revision.
func refuseEmpty(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		of, _ := pflag.UnquoteUsage(f)
		once := f.Value.Type() == "string" && slices.Contains([]string{"FILE", "DIR", "POLICY", "REVISION"}, of)
		f.Value = filledValue{f.Value, f, once}
	})
}

// flagError returns the error of usage for a flag that is unknown or has a wrong value.
func flagError(cmd *cobra.Command, args []string, err error) error {
	value, ok := errors.AsType[*pflag.InvalidValueError](err)
	if words := cmd.Flags().Args(); !ok && cmd.HasAvailableSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words)
	}
	if !ok {
		said := err.Error()
		return &usageError{strings.ToLower(said[:1]) + said[1:],
			nearFlag(cmd, args, err) + seeHelp(cmd)}
	}
	name, cause := "--"+value.GetFlag().Name, value.Unwrap()
	_, number := errors.AsType[*strconv.NumError](err)
	switch {
	case errors.Is(err, errEmptyValue):
		return &usageError{name + " is empty", "give a value, or leave it out"}
	case number && value.GetFlag().Value.Type() == "bool":
		return &usageError{name + ": " + strconv.Quote(value.GetValue()) + " is neither true nor false",
			"write " + name + " or " + name + "=false"}
	case readsPath(value.GetFlag()):
		return &usageError{name + ": " + cause.Error(), joined(manifest.HintOf(err), explained(cmd, name[2:]))}
	case manifest.HintOf(err) != "":
		return &usageError{name + ": " + cause.Error(), manifest.HintOf(err)}
	}
	return &usageError{err.Error(), explained(cmd, name[2:])}
}

// readNamed reads a file that a flag names. wanted says what the file is, for who names another one.
func readNamed(file string, i budget.Input, wanted string) ([]byte, error) {
	data, err := whole.ReadFile(file, i)
	bad, ok := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &manifest.Error{File: filepath.ToSlash(file), Msg: "no such file", Tip: wanted}
	case ok:
		return nil, &manifest.Error{File: filepath.ToSlash(file), Msg: bad.Err.Error(), Tip: wanted}
	}
	return data, err
}

// The flags of targetFlags, of treeFlags, of treeCatalogs, and of the last two.
var (
	targetNames  = []string{"olm-version", "openshift-version", "kube-version"}
	rootFlags    = []string{"exclude", "all", "cluster", "repo", "allow-unknown"}
	catalogFlags = []string{"catalog", "approve-all", "complete"}
	aboutTrees   = slices.Concat(catalogFlags, rootFlags)
)

// refuseTreeFlags refuses flags that are about trees if none of the arguments is one. One that is not there is refused.
func refuseTreeFlags(cmd *cobra.Command, refs []string, names ...string) error {
	name := given(cmd, names...)
	if name == "" || slices.ContainsFunc(refs, isTree) {
		return nil
	}
	for _, ref := range refs {
		if _, _, err := source.Recognise(ref, ""); err != nil {
			return err
		}
	}
	hint := "leave it out"
	if strings.HasSuffix(name, "catalog") {
		hint = "the catalog of a SOURCE is catalog:DIR"
	}
	return &usageError{name + " is for a TREE, and there is none", hint}
}

// declaredHint returns what to do with a RenderConfig that takes the place of a bundle or a TREE.
func declaredHint(cmd *cobra.Command, file string) string {
	if _, rest, ok := strings.Cut(cmd.Use, "-f FILE"); ok {
		rest, _, _ = strings.Cut(strings.TrimSuffix(rest, "]"), " [")
		return "write " + cmd.CommandPath() + " -f " + text.Shell(file) + rest
	}
	render := "olmgen render -f " + text.Shell(file)
	made := ""
	if source.IsRenderConfig(file) { // a pipe would be waited for
		if c, dir, err := readConfig(nil, file); err == nil && c.Output.Directory != "" {
			made = filepath.Join(dir, c.Output.Directory)
		}
	}
	if made == "" {
		return "the bundles are the sources in it; " + render + " -o DIR makes a TREE of them"
	}
	if _, err := os.Stat(made); err != nil {
		return render + " makes the TREE " + text.Shell(made)
	}
	return "name its TREE, " + text.Shell(made) + ", in its place; " + render + " writes it"
}
