package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/source"
)

// fileFlag adds -f to a command that reads RenderConfigs in place of sources.
func fileFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVarP(files, "config", "f", nil,
		"a RenderConfig `FILE` in place of a SOURCE")
	place(flags, config.TopicSource, "config")
}

// sourcesOr takes sources as arguments, or -f in their place.
func sourcesOr(files *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(*files) == 0 {
			return args(1, many, "the bundle")(cmd, given)
		}
		return besideFile(*files, given)
	}
}

func besideFile(files, given []string) error {
	if len(given) > 0 {
		return &usageError{fmt.Sprintf("%q cannot be given with -f: the bundles are those of %s", given[0], files[0]),
			"list it there below groups"}
	}
	return nil
}

// checkDeclared refuses arguments and flags that have their places in the file: all options but those of the layout.
func (f *renderFlags) checkDeclared(cmd *cobra.Command, given []string) error {
	if err := besideFile(f.files, given); err != nil {
		return err
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if o, ok := f.options.Option(flag.Name); ok && err == nil && !strings.HasPrefix(o.Path, "output.") {
			err = &usageError{fmt.Sprintf("--%s cannot be given with -f", flag.Name),
				fmt.Sprintf("write it into %s as %s", f.files[0], o.Path)}
		}
	})
	if err == nil && len(f.files) > 1 && cmd.Name() == "render" && cmd.Flags().Changed("output") {
		err = &usageError{"-o cannot be given with several -f: each file has a directory of its own",
			"write it into the files as output.directory"}
	}
	return err
}

// declaration is a RenderConfig: one that -f names, or what the flags say of a SOURCE, which is in no file.
type declaration struct {
	*config.Config
	file, dir string // dir is what its paths are relative to
	output    string
	revision  review.Revision              // that the file is of; zero: the work tree
	skip      func(group, bundle int) bool // the bundles that are left out; may be nil
}

// declared returns the RenderConfigs that -f names, or that of a SOURCE. Options in fixed have values from the command.
func (f *renderFlags) declared(cmd *cobra.Command, refs []string, fixed map[manifest.Option]any) ([]declaration,
	error) {
	if len(f.files) > 0 {
		return declarations(cmd, f.files)
	}
	c, err := f.options.Config(refs[0], fixed)
	return []declaration{{Config: c, output: output.Stdout}}, err
}

func declarations(cmd *cobra.Command, files []string) (all []declaration, err error) {
	for i, file := range files {
		if slices.Contains(files[:i], file) {
			return nil, &usageError{"-f: " + file + " is given twice", "leave one out"}
		}
		c, dir, err := readConfig(cmd.InOrStdin(), file)
		if err != nil {
			return nil, err
		}
		all = append(all, declaration{Config: c, file: file, dir: dir, output: output.Stdout})
	}
	return all, nil
}

// run renders a source or RenderConfigs, each to a tree of its own. Nothing is written before all are rendered, and all
// can be written.
func (f *renderFlags) run(cmd *cobra.Command, refs []string) error {
	all, err := f.declared(cmd, refs, nil)
	if err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		if d.output, err = f.outputOf(cmd, *d); err != nil {
			return err
		}
		if len(all) > 1 && d.output == output.Stdout {
			return manifest.WithHint(fmt.Errorf("%s: output.directory: is missing", d.file),
				"with several -f each file needs a directory of its own")
		}
		for _, other := range all[:i] {
			if filepath.Clean(other.output) == filepath.Clean(d.output) {
				return manifest.WithHint(fmt.Errorf("%s and %s have the same directory, %s", other.file, d.file,
					d.output),
					"give each file an output.directory of its own")
			}
		}
	}
	operators := 0
	for _, d := range all {
		for _, g := range d.Groups {
			operators += len(g.Bundles)
		}
	}
	if operators >= manyOperators {
		setGCPercent(gcPercentOfCatalogs)
	}
	results := make([]*config.Rendered, len(all))
	for i, d := range all {
		if results[i], err = f.render(cmd, d); err != nil {
			return err
		}
		if d.output != output.Stdout && d.file != "-" && d.file != "" {
			for s := range results[i].Sources {
				results[i].Sources[s].Config = output.ConfigPath(d.output, d.file)
			}
		}
	}
	return f.deliverAll(cmd, all, results)
}

// deliverAll writes what is rendered of each RenderConfig, or compares it with what is there.
func (f *renderFlags) deliverAll(cmd *cobra.Command, all []declaration, results []*config.Rendered) error {
	each := make([]renderFlags, len(all))
	for i, r := range results {
		each[i] = *f
		each[i].output = all[i].output
		if err := each[i].prepare(cmd, r); err != nil {
			return err
		}
	}
	var stale []string
	for i := range all {
		var found *foundError
		switch err := each[i].finish(cmd, results[i]); {
		case len(all) > 1 && errors.As(err, &found):
			tell(cmd, "%v", err)
			stale = append(stale, all[i].output)
		case err != nil:
			return err
		}
	}
	if len(stale) > 0 {
		return &foundError{"files are not as rendered in " + text.And(stale)}
	}
	return nil
}

func (f *renderFlags) outputOf(cmd *cobra.Command, d declaration) (string, error) {
	one := *f
	if !cmd.Flags().Changed("output") && d.Output.Directory != "" {
		one.output = inDirectory(d.dir, d.Output.Directory)
	}
	return one.output, one.checkOutput(cmd)
}

// render renders a RenderConfig with the flags that are about files.
func (f *renderFlags) render(cmd *cobra.Command, d declaration) (r *config.Rendered, err error) {
	o := config.Options{Dir: d.dir, Source: f.source.Source, Catalogs: f.source.Cache, Skip: d.skip}
	if d.file == "" {
		o.Source = withInput(cmd, f.source).Source
	}
	layout, _ := f.options.Text(option.Layout)
	crds, _ := f.options.Text(option.HelmCRDs)
	o.Layout, o.HelmCRDs = output.Layout(layout), helm.CRDs(crds)
	switch {
	case d.output != output.Stdout:
	case f.check != "":
		return nil, &usageError{"--check needs a directory to compare with", nameOutput}
	case o.Layout != "" && o.Layout != output.LayoutFlat:
		return nil, &usageError{"--layout needs a directory: stdout has no files", "name a directory with -o"}
	default:
		o.Layout = output.LayoutFlat // a stream has no layout, whatever the file says
	}
	if used := cmp.Or(o.Layout, d.Output.Layout, output.LayoutFlat); o.HelmCRDs != "" && used != output.LayoutHelm {
		return nil, &usageError{fmt.Sprintf("--helm-crds: has no effect with layout %s", used),
			"leave it out: it is for layout helm"}
	}
	narrowing, err := f.narrow.narrowing(cmd, d)
	if err != nil {
		return nil, err
	}
	o.Progress = func(total int) { watch.Step(cmd.Context(), "reading bundles", total) }
	r, err = d.Render(cmd.Context(), o)
	if err == nil && narrowing != nil {
		err = narrow(narrowing, r)
	}
	if err == nil && d.file == "" {
		for _, opened := range r.Opened {
			sayDigest(cmd, opened)
		}
	}
	return r, err
}

// renderAll renders a source, or the RenderConfigs that -f names, for a report.
func (f *renderFlags) renderAll(cmd *cobra.Command, refs []string, fixed map[manifest.Option]any) (
	all []*config.Rendered, err error) {
	declared, err := f.declared(cmd, refs, fixed)
	for i := 0; err == nil && i < len(declared); i++ {
		var r *config.Rendered
		r, err = f.render(cmd, declared[i])
		all = append(all, r)
	}
	return all, err
}

// readConfig reads a RenderConfig and returns the directory that its paths are relative to.
func readConfig(stdin io.Reader, file string) (*config.Config, string, error) {
	if file == "-" {
		data, err := whole.ReadAll(stdin, budget.RenderConfig)
		if err != nil {
			return nil, "", err
		}
		c, err := config.Read("stdin", data)
		return c, "", err
	}
	data, err := whole.ReadFile(file, budget.RenderConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", manifest.WithHint(fmt.Errorf("%s: no such file", file), "\"olmgen init\" writes one")
	}
	if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
		such := ""
		if usual := filepath.Join(file, "olmgen.yaml"); source.IsRenderConfig(usual) {
			such = ", such as " + usual
		}
		return nil, "", manifest.WithHint(fmt.Errorf("%s is a directory, not a RenderConfig", file),
			"name the file"+such+"; a bundle is named without -f")
	}
	if err != nil {
		return nil, "", err
	}
	c, err := config.Read(filepath.ToSlash(file), data)
	if err != nil {
		err = cmp.Or(otherThanConfig(file, data), err)
	}
	return c, filepath.Dir(file), err
}

// reviewed reports whether a report on the objects of a source takes an option: what a source cannot be rendered
// without, it cannot be reviewed without. The others are in a RenderConfig, which a report takes too.
func reviewed(o config.Option) bool { return o.Access }

// forReview are the options of a report. Certificates have no part in it, and what OLM refuses is looked at.
var forReview = map[manifest.Option]any{option.Certs: string(generate.CertsManager),
	option.AllowUnsupported: true}

// reviewSource renders a source as the other reports do. change may change what the flags say about the group.
func (f *renderFlags) reviewSource(cmd *cobra.Command, ref string, change func(*config.Group)) (*review.Subject,
	error) {
	profile, _ := f.options.Text(option.Profile)
	if p := generate.Profile(profile); p.HandsOver() {
		return nil, &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p),
			"leave out --profile: the default shows what OLM grants"}
	}
	declared, err := f.declared(cmd, []string{ref}, forReview)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&declared[0].Groups[0])
	}
	all, err := f.render(cmd, declared[0])
	if err != nil {
		return nil, err
	}
	r, err := review.FromRendered(cmd.Context(), all)
	if err != nil {
		return nil, err
	}
	result := all.Operators[0].Result
	r.Operator = permissions.Operator{Name: result.CSV, Package: result.Package, Version: result.Version,
		InstallMode: string(result.InstallMode), Profile: profile, Namespace: result.Namespace}
	if targets, given := f.options.Text(option.TargetNamespaces); given {
		r.Operator.Targets = strings.Split(targets, ",")
	}
	return r, nil
}

// reviewTree reads manifests, and what OLM installs for them from catalogs. o says on what they are played.
func (f *renderFlags) reviewTree(cmd *cobra.Command, t *tree.Tree, refs []string, catalogs *treeCatalogs,
	o review.TreeOptions) (*review.Subject, error) {
	var err error
	saySkipped(cmd, t)
	network := withInput(cmd, f.source)
	o.Name, o.Source = strings.Join(refs, ", "), network.Source
	o.Namespace, _ = f.options.Text(option.Namespace)
	catalogs.reader = cmp.Or(catalogs.reader, &review.ContentReader{})
	around := *catalogs
	if around.around = o.Cluster; o.Over != nil {
		around.around = slices.Concat(o.Cluster, o.Over.All)
	}
	if o.Catalogs, err = around.open(cmd, t, f.source); err != nil {
		return nil, err
	}
	return review.FromTree(cmd.Context(), t, o)
}

// unreadError fails a command whose report, which is printed, lacks files.
func unreadError(list []string) error {
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%s could not be read: the report is without what is in there", text.Count(len(list), "file"))
}

// unknownError fails a gate whose report, which is printed, lacks operators. It gets the catalogs that are given.
func unknownError(operators int, catalogs []string) error {
	hint := "pass the content of the catalogs with --catalog"
	if len(catalogs) > 0 {
		hint = "what is printed above says why"
	}
	return manifest.WithHint(fmt.Errorf("%s unknown: the report is without what OLM installs",
		text.Count(operators, "operator")), hint)
}

func (f *renderFlags) reviewConfig(cmd *cobra.Command, file string, revision review.Revision) (*review.Subject,
	error) {
	c, dir, err := readConfig(cmd.InOrStdin(), file)
	if err != nil {
		return nil, err
	}
	for i, g := range c.Groups {
		for j, b := range g.Bundles {
			at := source.Path(b.Source)
			rel, _ := filepath.Rel(revision.Root, filepath.Join(dir, at))
			if revision.Root != "" && !filepath.IsAbs(at) && !filepath.IsLocal(rel) {
				return nil, manifest.WithHint(fmt.Errorf("%s: groups[%d].bundles[%d].source: %s is outside of the "+
					"repository: no revision has it", file, i, j, at), "compare two files: OLD NEW without --git")
			}
		}
	}
	return f.reviewDeclared(cmd, declaration{Config: c, file: file, dir: dir, revision: revision})
}

func (f *renderFlags) reviewDeclared(cmd *cobra.Command, d declaration) (*review.Subject, error) {
	d.output = output.Stdout
	all, err := f.render(cmd, d)
	if err != nil {
		return nil, err
	}
	shown, why := all, error(nil)
	if d.HandsOver() {
		d.Config = d.Shown()
		shown, why = f.render(cmd, d)
	}
	r, err := review.FromShown(cmd.Context(), all, shown, why)
	if err != nil {
		return nil, err
	}
	r.Operator = permissions.Operator{Name: filepath.ToSlash(d.file)}
	r.MovePaths(func(i int, name string) string { return d.revision.Named(review.PathIn(all.Opened[i].Ref, name)) })
	return r, nil
}

// refuseRenderFlags refuses flags that say how a source is rendered. Other flags are allowed.
func (f *renderFlags) refuseRenderFlags(cmd *cobra.Command, what string, allowed ...string) (wrong error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, option := f.options.Option(flag.Name)
		if wrong == nil && option && !slices.Contains(allowed, flag.Name) {
			wrong = &usageError{fmt.Sprintf("--%s is for a SOURCE, and %s", flag.Name, what),
				seeHelp(cmd)}
		}
	})
	return wrong
}
