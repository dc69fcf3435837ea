package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/cmd/internal/pin/admission"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

type pinFlags struct {
	file      string
	catalogs  treeCatalogs
	roots     treeFlags
	namespace string
	packages  []string
	upgrades  []string
	forget    []string
	keepNames bool
	images    []string
	network   fbc.Options

	admission bool
	finish    bool
	exempt    admission.Exempt

	output       string
	check, force bool
	dryRun       bool
	held         *output.Held // the output, unless nothing is written
}

func newCatalogPin() *cobra.Command {
	f := pinFlags{catalogs: treeCatalogs{complete: true}}
	cmd := command("pin PATH...|-f FILE -o DIR", "Make catalogs that hold what Git approved, and nothing newer",
		args(0, many, ""), f.run)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.file, "config", "f", "", "`FILE`, a RenderConfig, in place of a PATH")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`NAMESPACE` of objects that name none")
	flags.StringSliceVar(&f.packages, "package", nil,
		"pin these packages with their dependencies alone, `A,B`; all others stay as they are")
	flags.StringArrayVar(&f.upgrades, "upgrade", nil,
		"move a package that Git gives no version, `PACKAGE[@VERSION]`; without VERSION to what resolves now; "+
			"may be repeated")
	flags.StringArrayVar(&f.forget, "forget", nil,
		"no cluster has this release any more, `[PACKAGE@]VERSION`; may be repeated")
	flags.BoolVar(&f.keepNames, "keep-names", false,
		"give the pinned catalogs the names of their sources, in place of NAME-pinned; later runs keep the names")
	flags.StringArrayVar(&f.images, "image", nil,
		"image of a pinned catalog by digest, `[CATALOG=]IMAGE@sha256:...`; may be repeated")
	flags.BoolVar(&f.admission, "admission", false,
		"write admission policies: the cluster refuses what is not pinned (needs --image); later runs keep them, "+
			"--admission=false drops them")
	flags.BoolVar(&f.finish, "finish", false,
		"have the policies refuse what was pinned before; until then they take both")
	flags.StringSliceVar(&f.exempt.Namespaces, "exempt-namespaces", nil, "`A,B`: namespaces without the policies")
	flags.StringSliceVar(&f.exempt.Users, "exempt-users", nil, "`A,B`: users whom the policies do not ask")
	flags.StringSliceVar(&f.exempt.Groups, "exempt-groups", nil, "`A,B`: groups whom the policies do not ask")
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` to write to")
	flags.BoolVar(&f.check, "check", false, "write nothing; print a diff of DIR; exit with 3 if it differs")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing; list what would be added, changed and removed")
	flags.BoolVar(&f.force, "force", false, "overwrite files that were edited by hand")
	registerSources(flags, &f.network)
	return cmd
}

func (f *pinFlags) checkFlags(cmd *cobra.Command, paths []string) error {
	switch {
	case len(paths) == 0 && f.file == "":
		return &usageError{"there is nothing to pin", "name a PATH with Subscriptions, or a RenderConfig with -f"}
	case len(paths) > 0 && f.file != "":
		return &usageError{fmt.Sprintf("%q cannot be given with -f", paths[0]), "give one of them"}
	case f.output == "" || f.output == output.Stdout:
		return &usageError{"-o is missing", "name the directory of the pin"}
	case f.check && (f.dryRun || f.force):
		return &usageError{"--check cannot be given with " + given(cmd, "dry-run", "force"), "give one of them"}
	case f.file != "" && given(cmd, "catalog", "namespace", "approve-all") != "":
		return &usageError{given(cmd, "catalog", "namespace", "approve-all") + " is for the objects of a PATH",
			"the catalog of an operator is its source"}
	}
	return nil
}

func (f *pinFlags) run(cmd *cobra.Command, paths []string) (err error) {
	if err := f.checkFlags(cmd, paths); err != nil {
		return err
	}
	o := pin.Options{Dir: f.output, Namespace: f.namespace, Packages: f.packages, Forget: f.forget,
		Admission: pin.AdmissionOptions{Write: f.admission, Drop: cmd.Flags().Changed("admission") && !f.admission,
			Finish: f.finish, Exempt: f.exempt, File: "what Git approves, and pin again (" +
				path.Join(filepath.ToSlash(filepath.Clean(f.output)), pin.LockName) + ")"}}
	if cmd.Flags().Changed("keep-names") {
		o.KeepNames = &f.keepNames
	}
	o.Upgrade, err = keyed("--upgrade", f.upgrades, "write PACKAGE or PACKAGE@VERSION, each package once",
		func(value string) (pkg, version string, ok bool) {
			pkg, version, named := strings.Cut(value, "@")
			return pkg, version, pkg != "" && (version != "" || !named)
		})
	if err != nil {
		return err
	}
	o.Images, err = keyed("--image", f.images, "write CATALOG=IMAGE@sha256:... once for each catalog: a tag can move",
		func(value string) (catalog, image string, ok bool) {
			if catalog, image, ok = strings.Cut(value, "="); !ok {
				catalog, image = "", value
			}
			_, err := name.NewDigest(image)
			return catalog, image, err == nil
		})
	if err != nil {
		return err
	}
	if err := checkNotRead(f.output, f.catalogs.contents()); err != nil {
		return err
	}
	if !f.check && !f.dryRun {
		if f.held, err = output.Hold(f.output); err != nil {
			return err
		}
		defer f.held.Release()
	}
	if o.Lock, err = pin.ReadLock(f.output); err != nil {
		return err
	}
	if err := f.read(cmd, paths, &o); err != nil {
		return err
	}
	p, err := pin.Run(cmd.Context(), o)
	return f.deliver(cmd, p, err)
}

func (f *pinFlags) read(cmd *cobra.Command, paths []string, o *pin.Options) (err error) {
	if f.file != "" {
		o.Name, o.Render.Source = f.file, f.network.Source
		if o.Config, o.Render.Dir, err = readConfig(cmd.InOrStdin(), f.file); err != nil {
			return err
		}
		var refs []string
		for _, g := range o.Config.Groups {
			for _, b := range g.Bundles {
				refs = append(refs, source.In(o.Render.Dir, b.Source))
			}
		}
		return checkNotRead(f.output, refs)
	}
	if err := checkNamespace(f.namespace); err != nil {
		return err
	}
	o.Name = strings.Join(paths, ", ")
	if o.Tree, err = f.roots.read(cmd, paths, tree.Options{Output: f.output}); err != nil {
		return err
	}
	saySkipped(cmd, o.Tree)
	if err := requireObjects(o.Tree, paths...); err != nil {
		return err
	}
	if len(o.Tree.Faults) > 0 {
		return o.Tree.Faults[0]
	}
	if undecided, _ := o.Tree.Undecided(); len(o.Tree.Clusters(nil))-undecided > 1 {
		note(cmd, "%s: the pin is of all together; name the path of one to pin it alone", o.Tree.ClustersText())
	}
	f.catalogs.values = o.Lock.Serving(f.catalogs.values, func(string) bool { return true })
	f.catalogs.checked, f.catalogs.every = true, true // a pin says what it leaves out
	o.Catalogs, err = f.catalogs.open(cmd, o.Tree, f.network)
	return err
}

// keyed reads the values of a flag, each with a key of its own.
func keyed(flag string, values []string, hint string, split func(string) (key, value string, ok bool)) (
	map[string]string, error) {
	out := map[string]string{}
	for _, v := range values {
		key, value, ok := split(v)
		if _, twice := out[key]; twice || !ok {
			return nil, &usageError{fmt.Sprintf("%s: %q", flag, v), hint}
		}
		out[key] = value
	}
	return out, nil
}

func (f *pinFlags) deliver(cmd *cobra.Command, p *pin.Pin, err error) error {
	if unknown, ok := errors.AsType[pin.UnknownError](err); ok {
		for _, u := range unknown {
			tell(cmd, "%s:%d: %s: not known: %s", u.Object.File, u.Object.Line, u.Object.Identity(), u.Why)
		}
		if unknown.OfCatalog() {
			err = manifest.WithHint(err,
				"--catalog has the content: NAMESPACE/NAME=DIR of a CatalogSource, NAME=DIR of a ClusterCatalog")
		} else {
			err = manifest.WithHint(err,
				"olmgen check says more of what OLM does with them; --package pins others alone")
		}
	}
	if refused, ok := errors.AsType[pin.RefusedError](err); ok {
		for _, one := range refused {
			say(cmd, "", strings.TrimPrefix(manifest.HintOf(one), refused.Hint()), "%v", one)
		}
	}
	for _, n := range p.Notes {
		note(cmd, "%s", n)
	}
	if err != nil {
		return err
	}
	if f.check {
		c := renderFlags{output: f.output}
		packages := 0
		for _, of := range p.Catalogs {
			packages += len(of.Packages)
		}
		return c.compare(cmd, p.Files, nil, "pinned", fmt.Sprintf("%s in %s", text.Count(packages, "package"),
			text.Count(len(p.Catalogs), "catalog")))
	}
	fmt.Fprint(cmd.OutOrStdout(), p.Summary())
	s, err := (&summaryFlags{dryRun: f.dryRun, held: f.held}).write(cmd, filepath.Clean(f.output), p.Files,
		output.WriteOptions{Force: f.force})
	if err != nil {
		return err
	}
	return s.refused()
}
