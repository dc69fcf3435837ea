package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/cmd/internal/site"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// auditFlags are the flags that say which bundles of catalogs are read.
type auditFlags struct {
	options audit.Options
	target  targetFlags
	shard   string
	output  string // of a part, or the directory of a site
}

func (f *auditFlags) register(cmd *cobra.Command, on *failOn) {
	flags := cmd.Flags()
	flags.BoolVar(&f.options.Pull, "pull", false,
		"pull the images of bundles whose objects are in no catalog and no directory")
	registerInsecure(flags, &f.options.Source)
	flags.StringVar(&f.shard, "shard", "",
		"do shard I of N (`I/N`) of the packages and write a part; see olmgen catalog merge")
	f.target.register(cmd, true)
	f.target.registerDate(cmd, on)
}

// part returns the shard that was asked for; false if there is none.
func (f *auditFlags) part() (in shard.Shard, ok bool, err error) {
	if f.shard == "" {
		return in, false, nil
	}
	if in, err = shard.Parse(f.shard); err != nil {
		return in, false, &usageError{"--shard: " + err.Error(), ""}
	}
	return in, true, nil
}

// fits sets the cluster that the releases must work in.
func (f *auditFlags) fits() (err error) {
	if f.options.Cluster, err = f.target.checked(); f.target.profile != "" {
		f.options.Form = fit.Form(f.target.profile.Installer())
	}
	return err
}

// load reads catalogs and directories.
func (f *auditFlags) load(cmd *cobra.Command, refs []string) (*audit.Set, error) {
	if slices.Contains(refs, "-") {
		return nil, &usageError{"stdin cannot be read twice", "write it to a file"}
	}
	if err := f.fits(); err != nil {
		return nil, err
	}
	f.options.Source.Warn = warnOn(cmd)
	set, err := audit.Load(cmd.Context(), refs, f.options)
	if nothing, ok := errors.AsType[*source.NothingError](err); ok {
		tip := nothing.Hint() + "; "
		if cmd.Flags().Lookup("tree") != nil {
			return nil, manifest.WithHint(err, tip+"--tree takes the objects of a cluster")
		}
		return nil, manifest.WithHint(err, tip+"olmgen catalog audit --tree takes the objects of a cluster")
	}
	if err == nil && len(set.Packages)+len(set.Unread) == 0 {
		err = errors.New("there are no bundles")
	}
	return set, err
}

type catalogAuditFlags struct {
	auditFlags
	trees    []string
	catalogs treeCatalogs
	roots    treeFlags
	format   findings.Format
	failOn   failOn
	all      bool
	filter   string
}

func newCatalogAudit() *cobra.Command {
	f := catalogAuditFlags{format: findings.Text}
	cmd := command("audit CATALOG|DIR... | --tree PATH", "Compare the operators of a catalog in one table",
		func(cmd *cobra.Command, given []string) error {
			if len(f.trees) > 0 {
				return args(0, 0, "")(cmd, given)
			}
			return args(1, many, "the catalog, or --tree,")(cmd, given)
		}, f.run)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with Subscriptions, ClusterExtensions and what else is in the cluster; may be repeated")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	flags.BoolVar(&f.all, "all-versions", false, "list all releases of each package")
	flags.StringVar(&f.filter, "filter", "",
		"the packages that a `WORD` finds by name, API, title, keyword or provider, the best first")
	registerAuditFormat(cmd, &f.format, &f.failOn)
	f.register(cmd, &f.failOn)
	flags.BoolVar(&f.options.Source.Offline, "offline", false, "never use the network")
	nameOnly(flags, config.TopicSource, "offline")
	flags.StringVarP(&f.output, "output", "o", "", "with --shard: `FILE` for the part, in place of stdout")
	return cmd
}

func (f *catalogAuditFlags) run(cmd *cobra.Command, refs []string) error {
	in, parts, err := f.part()
	switch {
	case err != nil:
		return err
	case f.output == output.Stdout:
		f.output = ""
	}
	switch {
	case parts && given(cmd, "format", "fail-on") != "":
		return &usageError{"--format and --fail-on cannot be given with --shard", "give them to olmgen catalog merge"}
	case !parts && f.output != "":
		return &usageError{"-o is for --shard", "the report goes to stdout"}
	}
	if f.output != "" {
		if err := checkPart(f.output, refs); err != nil {
			return err
		}
	}
	set, err := f.set(cmd, refs)
	if err != nil {
		return err
	}
	if f.filter != "" {
		if set.Filter(cmd.Context(), f.filter); len(set.Packages) == 0 {
			return fmt.Errorf("no package is found by %q", f.filter)
		}
	}
	want, wanted := audit.Head, "heads"
	if f.all {
		want, wanted = audit.All, "all versions"
	}
	if parts {
		part, err := set.RunPart(cmd.Context(), in, wanted, want)
		return writePart(cmd, f.output, part, err)
	}
	report, err := set.Run(cmd.Context(), want)
	if err != nil {
		return err
	}
	err = printAudit(cmd, report, f.format, &f.failOn)
	if f.format == findings.Text && report.Incomplete() && !f.options.Pull {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: --pull reads the objects from the images of the bundles")
	}
	return err
}

// set reads what is audited.
func (f *catalogAuditFlags) set(cmd *cobra.Command, refs []string) (*audit.Set, error) {
	if len(f.trees) == 0 {
		if name := given(cmd, catalogFlags...); name != "" {
			return nil, &usageError{name + " needs --tree", "add --tree, or give the catalog alone"}
		}
		return f.load(cmd, refs)
	}
	if name := given(cmd, "all-versions", "shard"); name != "" {
		return nil, &usageError{name + " cannot be given with --tree", "it is for catalogs"}
	}
	if err := f.fits(); err != nil {
		return nil, err
	}
	t, err := f.roots.read(cmd, f.trees, tree.Options{})
	if err == nil {
		err = requireObjects(t, f.trees...)
	}
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	sayIdle(cmd, olm.OperatorPolicies(t.Objects))
	network := withInput(cmd, fbc.Options{Source: f.options.Source, Cache: &fbc.Cache{}})
	o := review.TreeOptions{Name: strings.Join(f.trees, ", "), Source: network.Source}
	if o.Catalogs, err = f.catalogs.open(cmd, t, network); err != nil {
		return nil, err
	}
	if o.API, err = (&programFlags{}).kubernetes(cmd); err != nil {
		return nil, err
	}
	f.options.Source = network.Source
	set, err := audit.OfTree(cmd.Context(), t, o, f.options)
	if err == nil && len(set.Packages)+len(set.Unread) == 0 {
		err = manifest.WithHint(fmt.Errorf("%s: there are no operators", o.Name), strings.Join(set.Notes, "; "))
	}
	return set, err
}

func registerAuditFormat(cmd *cobra.Command, format *findings.Format, failOn *failOn) {
	formatFlag(cmd, format, []findings.Format{findings.Text, findings.JSON, findings.CSV, findings.SARIF})
	failOnFlag(cmd, failOn, supportWords, findings.None)
}

// printAudit prints a report. The error says that there are findings.
func printAudit(cmd *cobra.Command, report *audit.Report, format findings.Format, failOn *failOn) error {
	if err := print.Report(cmd.OutOrStdout(), report, format); err != nil {
		return err
	}
	if n := report.Totals.Failed; n > 0 {
		warn(cmd, "%s cannot be read", text.Count(n, "bundle"))
	}
	if list := report.Findings(); failOn.reached(list) {
		return &foundError{countsOf(list) + " in " + text.Count(report.Totals.Releases, "release")}
	}
	return nil
}

func newCatalogSite() *cobra.Command {
	f := auditFlags{}
	title, force := "", false
	cmd := command("site CATALOG|DIR... -o DIR", "Write a static site about the operators of a catalog",
		args(1, many, "the catalog"),
		func(cmd *cobra.Command, refs []string) error {
			in, parts, err := f.part()
			if err != nil {
				return err
			}
			if f.output == "" || f.output == output.Stdout {
				return &usageError{"-o is missing", "name the directory of the site"}
			}
			if name := given(cmd, "title", "force"); parts && name != "" {
				return &usageError{name + " cannot be given with --shard", "give it to olmgen catalog merge"}
			}
			check := checkNotRead
			if parts {
				check = checkPart
			}
			if err := check(f.output, refs); err != nil {
				return err
			}
			set, err := f.load(cmd, refs)
			if err != nil {
				return err
			}
			if parts {
				part, err := site.RenderPart(cmd.Context(), set, in)
				return writePart(cmd, f.output, part, err)
			}
			s, err := site.Render(cmd.Context(), set, title)
			if err != nil {
				return err
			}
			return writeSite(cmd, f.output, s, force)
		})
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` of the site; with --shard the file for the part")
	flags.StringVar(&title, "title", "Operators", "`TITLE` of the index")
	flags.BoolVar(&force, "force", false, "overwrite pages that were edited by hand")
	f.register(cmd, nil)
	return cmd
}

func writeSite(cmd *cobra.Command, dir string, s *site.Site, force bool) error {
	result, err := output.Write(dir, s.Files, output.WriteOptions{Sources: s.Sources, Force: force, Replace: true})
	if err != nil {
		return err
	}
	report(cmd, dir, result)
	if s.Failed > 0 {
		say(cmd, findings.Warning, "the pages say why", "%s cannot be read", text.Count(s.Failed, "bundle"))
	}
	return nil
}

const maxPart = 512 << 20

func newCatalogMerge() *cobra.Command {
	format, failOn := findings.Text, failOn{}
	var dir, title string
	force := false
	cmd := command("merge PART...", "Make one report or site of the parts that shards have written",
		args(1, many, "the part"),
		func(cmd *cobra.Command, names []string) error {
			parts, err := readParts(names)
			if err != nil {
				return err
			}
			if parts[0].Kind == audit.KindSitePart {
				switch name := given(cmd, "format", "fail-on"); {
				case dir == "" || dir == output.Stdout:
					return &usageError{"-o is missing", "these are parts of a site: name its directory"}
				case name != "":
					return &usageError{name + " is for parts of a report", "these are parts of a site: leave it out"}
				}
				s, err := site.Merge(parts, title)
				if err != nil {
					return manifest.WithHint(err, shard.Hint)
				}
				return writeSite(cmd, dir, s, force)
			}
			if name := given(cmd, "output", "title", "force"); name != "" {
				return &usageError{name + " is for parts of a site", "the report goes to stdout"}
			}
			report, err := audit.MergeParts(parts)
			if err != nil {
				return manifest.WithHint(err, shard.Hint)
			}
			return printAudit(cmd, report, format, &failOn)
		})
	flags := cmd.Flags()
	registerAuditFormat(cmd, &format, &failOn)
	flags.StringVarP(&dir, "output", "o", "", "`DIR` of the site")
	flags.StringVar(&title, "title", "Operators", "`TITLE` of the index of the site")
	flags.BoolVar(&force, "force", false, "overwrite pages that were edited by hand")
	return cmd
}

// readParts reads the files that writePart has written.
func readParts(names []string) (parts []*audit.Part, err error) {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxPart+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if len(data) > maxPart {
			return nil, &manifest.Error{File: filepath.ToSlash(name), Tip: "make more shards",
				Msg: fmt.Sprintf("larger than %d MiB", maxPart>>20)}
		}
		part, err := audit.ReadPart(data)
		if err != nil {
			return nil, &manifest.Error{File: filepath.ToSlash(name), Msg: err.Error(), Tip: "run its shard again"}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// writePart writes a part to a file, or to stdout if there is no name. A file has all of the part or does not change.
func writePart(cmd *cobra.Command, name string, part any, err error) error {
	if err != nil {
		return err
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(part); err != nil {
		return err
	}
	if name == "" {
		_, err := data.WriteTo(cmd.OutOrStdout())
		return err
	}
	return writeFiles([]outFile{{name: name, data: data.Bytes()}}, true, "")
}

// checkPart refuses a file that has what is no part of an earlier run, or that a run reads, before the long work.
func checkPart(name string, refs []string) error {
	if err := checkNotRead(name, refs); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return &usageError{fmt.Sprintf("%s is a directory", name), "with --shard, -o names a file"}
	}
	if err == nil && info.Mode().IsRegular() { // of what else is there, the write says what is wrong
		if _, err := readParts([]string{name}); err != nil {
			return manifest.WithHint(fmt.Errorf("%s is there already, and is no part that a shard has written", name),
				"name another file with -o")
		}
	}
	return nil
}
