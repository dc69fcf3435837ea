package main

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/catalog/pin"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/pinned"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// pinFlags are the flags of olmgen catalog pin as they were given.
type pinFlags struct {
	file      string
	catalogs  treeCatalogs
	roots     treeFlags
	namespace string
	upgrades  []string
	forget    []string
	keepNames bool
	images    []string
	network   fbc.Options

	admission bool
	finish    bool
	exempt    pinned.Exempt

	output       string
	written      []string // the files in it that olmgen wrote
	check, force bool
	dryRun       bool
}

func newCatalogPin() *cobra.Command {
	var f pinFlags
	cmd := &cobra.Command{
		Use:   "pin PATH...|-f FILE -o DIR",
		Short: "Make catalogs that hold what Git approved, and nothing newer",
		Long: `Pin makes catalogs that hold the releases that Git approved, the releases on the
way to them, and their dependencies. In a cluster that takes its operators from
them, automatic approval installs what Git approved: the catalog is the pin.

PATH has Subscriptions, OperatorPolicies and ClusterExtensions of one cluster;
--catalog says what their catalogs serve. -f takes the operators of a
RenderConfig from the catalogs of their sources. A release is approved by

  * the version of a RenderConfig, or of a ClusterExtension that names one,
  * the versions of an OperatorPolicy: the furthest one along the updates,
  * startingCSV of a Subscription,
  * pin.yaml in DIR, which keeps what the first run resolved.

So a second run changes nothing, whatever the catalogs publish. Git moves a pin,
or --upgrade where Git names no version.

Before pin writes anything, it plays every Subscription and ClusterExtension on
the pinned catalogs: in a new cluster, and from each release that pin.yaml lists
as installed. OLM must come to rest at what is approved, and install nothing
else on the way; else pin says why, and writes nothing. It refuses a release
below one that is installed, because OLM does not downgrade. --forget says that
no cluster has a release any more.

DIR gets catalogs/ with a Dockerfile for each catalog, images.txt and pin.yaml.
Build and push the images. Then --image, with the digest that the push printed,
adds the CatalogSources or ClusterCatalogs and the patches that make
Subscriptions and ClusterExtensions use them, as a component of kustomize, and
an ImageSetConfiguration for oc-mirror. --admission adds policies by which the
cluster refuses InstallPlans, Subscriptions, ClusterExtensions and catalogs that
are not pinned. After a change they take the old and the new pin, until
--finish.`,
		Example: `  olmgen catalog pin clusters/prod --catalog olm/community=configs/ -o pinned/
  olmgen catalog pin -f olmgen.yaml -o pinned/
  olmgen catalog pin clusters/prod --catalog olm/community=configs/ -o pinned/ \
      --upgrade etcd@0.9.4
  olmgen catalog pin clusters/prod --catalog olm/community=configs/ -o pinned/ \
      --image registry.example.com/community@sha256:...`,
		Args: args(0, math.MaxInt, ""),
		RunE: f.run,
	}
	f.register(cmd)
	return cmd
}

func (f *pinFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.file, "config", "f", "", "`FILE`, a RenderConfig, in place of a PATH")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`NAMESPACE` of objects that name none")
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
}

func (f *pinFlags) run(cmd *cobra.Command, paths []string) error {
	switch {
	case len(paths) == 0 && f.file == "":
		return &usageError{"there is nothing to pin", "name a PATH with Subscriptions, or a RenderConfig with -f"}
	case len(paths) > 0 && f.file != "":
		return &usageError{fmt.Sprintf("%q cannot be given with -f", paths[0]), "give one of them"}
	case f.output == "" || f.output == output.Stdout:
		return &usageError{"-o is missing", "name the directory of the pin"}
	case f.check && f.dryRun:
		return &usageError{"--check cannot be given with --dry-run", "give one of them"}
	}
	if f.file != "" {
		for _, name := range []string{"catalog", "namespace", "global-namespace", "approve-all"} {
			if cmd.Flags().Changed(name) {
				return &usageError{"--" + name + " is for the objects of a PATH",
					"the catalog of an operator is its source"}
			}
		}
	}
	o := pinned.Options{Forget: f.forget, Admission: f.admissionOptions(cmd)}
	if cmd.Flags().Changed("keep-names") {
		o.KeepNames = &f.keepNames
	}
	if slices.Contains(f.forget, "") {
		return &usageError{`--forget: ""`, "write [PACKAGE@]VERSION"}
	}
	var err error
	if o.Upgrade, err = pinUpgrades(f.upgrades); err != nil {
		return err
	}
	if o.Images, err = pinImages(f.images); err != nil {
		return err
	}
	if o.Lock, err = pinned.ReadLock(f.output); err != nil {
		return err
	}
	if f.written, err = output.Recorded(f.output); err != nil {
		return err
	}
	if o.Cluster, err = pinned.ReadCluster(f.output, f.written); err != nil {
		return err
	}
	kept, err := pinned.ReadKept(cmd.Context(), f.output, o)
	if err != nil {
		return err
	}
	in, err := f.input(cmd, paths, o, kept)
	for _, note := range kept.Notes() {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: note: "+note)
	}
	if err != nil {
		return err
	}
	r, err := pinned.Make(cmd.Context(), in, o)
	if err != nil {
		if refusal, ok := errors.AsType[*pin.Refusal](err); ok {
			return manifest.WithHint(refusal, refusal.Tip)
		}
		return err
	}
	return f.deliver(cmd, r)
}

// admissionOptions returns what the flags say of admission policies.
func (f *pinFlags) admissionOptions(cmd *cobra.Command) pinned.AdmissionOptions {
	changed := cmd.Flags().Changed
	return pinned.AdmissionOptions{Write: f.admission, Drop: changed("admission") && !f.admission, Finish: f.finish,
		Exempt: f.exempt, File: "what Git approves, and pin again (" +
			path.Join(filepath.ToSlash(filepath.Clean(f.output)), pinned.LockName) + ")"}
}

// input reads what the cluster asks for.
func (f *pinFlags) input(cmd *cobra.Command, paths []string, o pinned.Options, kept *pinned.Kept) (*pinned.Input,
	error) {
	if f.file != "" {
		c, dir, err := readConfig(cmd.InOrStdin(), f.file)
		if err != nil {
			return nil, err
		}
		in, err := pinned.FromConfig(cmd.Context(), c, config.Options{Dir: dir, Source: f.network.Source}, kept)
		if err == nil && len(in.Namespaces)+len(in.Extensions) == 0 {
			err = fmt.Errorf("%s has no operators", f.file)
		}
		return in, err
	}
	if f.namespace != "" {
		if err := checkNamespace(f.namespace); err != nil {
			return nil, err
		}
	}
	t, err := f.roots.read(cmd, paths, tree.Options{Output: f.output})
	if err != nil {
		return nil, err
	}
	saySkipped(cmd, t)
	if err := requireObjects(t); err != nil {
		return nil, err
	}
	if len(t.Faults) > 0 {
		return nil, t.Faults[0]
	}
	f.catalogs.values = pinnedToo(f.catalogs.values, o.Lock, func(string) bool { return true })
	catalogs, err := f.catalogs.open(cmd, t, f.network)
	if err != nil {
		return nil, err
	}
	in, unknown, err := pinned.FromTree(cmd.Context(), t, f.namespace, kept.Restore(catalogs), o.Lock)
	if err != nil {
		return nil, err
	}
	for _, u := range unknown {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: %s:%d: %s: not known: %s\n", u.Object.File, u.Object.Line,
			u.Object.Identity(), u.Why)
	}
	switch {
	case len(unknown) > 0:
		err := fmt.Errorf("%s not known: nothing is pinned", text.Count(len(unknown), "object"))
		if slices.ContainsFunc(unknown, func(u predict.Unknown) bool { return strings.Contains(u.Why, "catalog") }) {
			err = manifest.WithHint(err,
				"--catalog has the content: NAMESPACE/NAME=DIR of a CatalogSource, NAME=DIR of a ClusterCatalog")
		}
		return nil, err
	case len(in.Namespaces)+len(in.Extensions) == 0:
		return nil, manifest.WithHint(fmt.Errorf("no Subscription, OperatorPolicy or ClusterExtension in %s",
			strings.Join(paths, ", ")), "name the files of one cluster")
	}
	return in, nil
}

// pinnedToo has the content of a catalog serve the pinned one too: a Subscription that uses it asks for its source. Of
// ClusterCatalogs it has those that named reports: OLM v1 looks into all that are there.
func pinnedToo(values []string, lock *pinned.Lock, named func(clusterCatalog string) bool) []string {
	if lock == nil {
		return values
	}
	out := values
	for _, c := range lock.Catalogs {
		for _, value := range values {
			dir, ok := strings.CutPrefix(value, c.Source+"=")
			if ok && c.Name != c.Source && (strings.Contains(c.Name, "/") || named(c.Name)) {
				out = append(slices.Clip(out), c.Name+"="+dir)
			}
		}
	}
	return out
}

// pinUpgrades reads the values of --upgrade: the version of a package, or "".
func pinUpgrades(values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, value := range values {
		pkg, version, named := strings.Cut(value, "@")
		if _, twice := out[pkg]; pkg == "" || twice || named && version == "" {
			return nil, &usageError{fmt.Sprintf("--upgrade: %q", value),
				"write PACKAGE or PACKAGE@VERSION, each package once"}
		}
		out[pkg] = version
	}
	return out, nil
}

// pinImages reads the values of --image.
func pinImages(values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, value := range values {
		key, image, named := strings.Cut(value, "=")
		if !named {
			key, image = "", value
		}
		if _, twice := out[key]; twice || image == "" {
			return nil, &usageError{fmt.Sprintf("--image: %q", value),
				"write CATALOG=IMAGE@sha256:... once for each catalog"}
		}
		out[key] = image
	}
	return out, nil
}

// deliver writes the files of a pin, or says what would be written.
func (f *pinFlags) deliver(cmd *cobra.Command, r *pinned.Result) error {
	for _, note := range r.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: note: "+note)
	}
	if err := r.CheckForeign(f.output, f.written); err != nil {
		return err
	}
	if f.check {
		c := renderFlags{output: f.output}
		return c.compare(cmd, &config.Rendered{Files: r.Files})
	}
	fmt.Fprint(cmd.OutOrStdout(), r.Summary())
	s, err := (&summaryFlags{dryRun: f.dryRun}).write(cmd, filepath.Clean(f.output), r.Files,
		output.WriteOptions{Force: f.force})
	if err != nil {
		return err
	}
	return s.refused()
}
