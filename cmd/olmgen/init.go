package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

type initFlags struct {
	output    string
	directory string
	force     bool
	append    bool
	source    sourceFlags
	held      *output.Held // the output, if it was read
}

func newInit() *cobra.Command {
	var f initFlags
	cmd := command("init SOURCE...", "Write an olmgen.yaml for bundles", args(1, 1000, "the bundle"), f.run)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "olmgen.yaml", "`FILE` to write; - is stdout")
	flags.StringVar(&f.directory, "directory", "operators", "`DIR` that the file will render to, relative to it")
	flags.BoolVar(&f.force, "force", false, "overwrite the file if it is there")
	flags.BoolVar(&f.append, "append", false, "add the bundles to the file if it is there")
	f.source.register(cmd)
	return cmd
}

func (f *initFlags) run(cmd *cobra.Command, refs []string) error {
	if f.output == "" {
		return &usageError{"-o needs a file, or - for stdout", ""}
	}
	file := f.output
	if f.output == output.Stdout {
		file = defaultConfig
	}
	dir := filepath.Dir(file)
	if err := checkDirectory(file, f.directory); err != nil {
		return err
	}
	var bundles []config.InitBundle
	for _, ref := range refs {
		if source.IsStdin(ref) {
			return &usageError{"a RenderConfig cannot name standard input",
				"give the bundle's directory, archive or image"}
		}
		chosen := choiceFor(ref, refs, f.source.given())
		opened, err := openBundle(cmd, ref, chosen, bundle.ReadOptions{})
		if err != nil {
			return err
		}
		if !opened.Chosen { // then there is nothing to choose
			chosen.Choice = bundle.Choice{}
		}
		for _, made := range []string{file, inDirectory(dir, f.directory)} {
			if err := opened.CheckOutput(made); err != nil && f.output != output.Stdout {
				return err
			}
		}
		if config.NeedsItself(opened.Bundle) {
			say(cmd, findings.Note, "write certs.provider: service-ca on OpenShift, or user for your own; "+
				"or create the Secrets of its Certificates by hand first",
				"%s: the operator is cert-manager, which cannot make its own certificates before it runs", ref)
		}
		bundles = append(bundles,
			config.InitBundle{Source: source.From(dir, ref), Chosen: chosen.Choice, Bundle: opened.Bundle})
	}
	bundles = newest(cmd, bundles)
	data, err := f.content(cmd, filepath.Base(file), bundles)
	if f.held != nil {
		defer f.held.Release()
	}
	if err != nil {
		return err
	}
	if f.output == output.Stdout {
		_, err := cmd.OutOrStdout().Write(data)
		return err
	}
	return f.write(cmd, data)
}

// newest returns the newest bundle of each package, and prints which others are left out.
func newest(cmd *cobra.Command, bundles []config.InitBundle) (kept []config.InitBundle) {
	version := func(b config.InitBundle) semver.Version { return b.Bundle.CSV.Spec.Version.Version }
	for _, b := range bundles {
		same := func(x config.InitBundle) bool { return x.Bundle.Package == b.Bundle.Package }
		i := slices.IndexFunc(kept, same)
		if i < 0 || version(kept[i]).Equals(version(b)) { // of one version is an error of Init
			kept = append(kept, b)
		} else if version(b).GT(version(kept[i])) {
			kept[i] = b
		}
	}
	for _, b := range kept {
		var older []string
		for _, x := range bundles {
			if x.Bundle.Package == b.Bundle.Package && !version(x).Equals(version(b)) {
				older = append(older, version(x).String())
			}
		}
		if len(older) > 0 {
			tell(cmd, "%s: takes version %s, the newest, not %s", b.Bundle.Package, version(b),
				strings.Join(older, ", "))
		}
	}
	return kept
}

// content returns the new file. With --append that is the one which is there with the bundles added.
func (f *initFlags) content(cmd *cobra.Command, name string, bundles []config.InitBundle) ([]byte, error) {
	if !f.append {
		return config.Init(name, f.directory, bundles)
	}
	if cmd.Flags().Changed("directory") || f.force || f.output == output.Stdout {
		return nil, &usageError{"--append cannot be given with --directory, --force or -o -", "leave one of them out"}
	}
	var err error
	if f.held, err = output.HoldFile(f.output); err != nil {
		return nil, err
	}
	data, err := whole.ReadFile(f.output, budget.RenderConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Init(name, f.directory, bundles)
	}
	if err != nil {
		return nil, err
	}
	return config.Append(filepath.ToSlash(f.output), data, bundles)
}

// write writes the file, and what belongs to it. It replaces one only with --force or --append.
func (f *initFlags) write(cmd *cobra.Command, data []byte) error {
	files := []outFile{{f.output, data, f.held}}
	attributes, err := f.attributes(cmd)
	if err != nil {
		return err
	}
	if attributes != nil {
		files = append(files, *attributes)
	}
	const hint = "name another with -o, or give --append to add to it or --force to overwrite it"
	if err := writeFiles(files, f.force || f.held != nil, hint); err != nil {
		return err
	}
	tell(cmd, "wrote %s; \"olmgen render -f %s\" renders it", f.output, f.output)
	if attributes != nil {
		tell(cmd, "wrote %s, so that git keeps the line ends of %s", attributes.name,
			path.Clean(filepath.ToSlash(f.directory)))
	}
	return nil
}

const attributesName = ".gitattributes"

// attributes returns a .gitattributes with which git does not change what is rendered; nil if one is there.
func (f *initFlags) attributes(cmd *cobra.Command) (*outFile, error) {
	directory := path.Clean(filepath.ToSlash(f.directory))
	if !filepath.IsLocal(f.directory) || strings.ContainsAny(directory, " \t\"*?[]\\!#") {
		return nil, nil // git has patterns only for what is below the file
	}
	name := filepath.Join(filepath.Dir(f.output), attributesName)
	pattern := "/" + directory + "/** text eol=lf"
	have, err := os.ReadFile(name)
	switch {
	case err == nil && bytes.Contains(have, []byte(pattern)):
		return nil, nil
	case err == nil:
		say(cmd, findings.Note, fmt.Sprintf("with a line %q in it, git does not change the line ends of what is "+
			"rendered", pattern), "%s is there already", name)
		return nil, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	text := "# Git checks out what olmgen renders with the line ends that olmgen writes, on Windows too.\n"
	text += pattern + "\n"
	return &outFile{name: name, data: []byte(text)}, nil
}

type convertFlags struct {
	output  string
	force   bool
	replace bool

	summary summaryFlags
	source  fbc.Options
}

func newConvert() *cobra.Command {
	var f convertFlags
	cmd := command("convert DIR -o OUT", "Turn a package in the legacy format into bundles",
		args(1, 1, "the package's directory"), f.run)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` to write to")
	flags.StringVar(&f.source.Package, "package", "", "`NAME` of the package, where the directory has several")
	flags.BoolVar(&f.force, "force", false,
		"overwrite and remove files of an earlier run although they were edited by hand")
	flags.BoolVar(&f.replace, "replace", false,
		"remove the files of a directory that was converted from other packages")
	f.summary.registerDryRun(flags)
	return cmd
}

func (f *convertFlags) run(cmd *cobra.Command, dirs []string) error {
	dir := dirs[0]
	if f.output == "" || f.output == "-" {
		return &usageError{"-o needs a directory", "write -o DIR; " + seeHelp(cmd)}
	}
	if err := checkNotRead(f.output, dirs); err != nil {
		return err
	}
	f.source.Source.Warn = warnOn(cmd)
	bundles, err := fbc.Convert(cmd.Context(), dir, f.source)
	if err != nil {
		return err
	}
	var files output.Files
	var sources []output.Source
	incomplete := 0
	for _, b := range bundles {
		if b.Incomplete {
			incomplete++
		}
		sources = append(sources, output.Source{Bundle: b.Dir, Source: filepath.ToSlash(filepath.Clean(dir))})
		for _, name := range slices.Sorted(maps.Keys(b.Files)) {
			files = append(files, output.File{Path: path.Join(path.Base(b.Dir), name), Data: b.Files[name]})
		}
	}
	s, err := f.summary.write(cmd, f.output, files,
		output.WriteOptions{Sources: sources, Force: f.force, Replace: f.replace})
	if err != nil {
		return err
	}
	if err := s.refused(); err != nil || incomplete == 0 {
		return err
	}
	return &foundError{text.Count(incomplete, "version") +
		" of the package incomplete: the warnings say what is missing"}
}
