package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

func newCatalog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Predict what OLM installs from catalogs; audit, publish them",
		Long: `Catalog reads operator catalogs (file-based catalogs). Without a cluster it
predicts what Operator Lifecycle Manager installs from them, checks them, and
compares their operators.`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCatalogResolve(), newCatalogPath(), newCatalogDiff(), newCatalogValidate(), newCatalogAudit(),
		newCatalogSite(), newCatalogMerge(), newCatalogPin())
	return cmd
}

// resolveFlags holds the flags of olmgen catalog resolve.
type resolveFlags struct {
	catalogs, installs []string
	roots              treeFlags
	namespace, global  string
	once, approveAll   bool
	network            fbc.Options
	format             findings.Format
	failOn             findings.Severity
}

func newCatalogResolve() *cobra.Command {
	f := resolveFlags{format: findings.Text, failOn: findings.Error}
	cmd := &cobra.Command{
		Use:   "resolve [PATH...]",
		Short: "Predict which operators OLM installs and updates, step by step",
		Long: `Resolve predicts what the resolver of OLM v0 does: the InstallPlans one after
the other until nothing changes, their CSVs and new Subscriptions, and the
reason for each choice. If there is no solution, it prints OLM's words, the
smallest set of constraints that conflict, and what would help. It lists what
OLM does in silence: an update that is held back, an older entry that is
installed, a dependency that is lost. It stops at an InstallPlan that waits for
approval, and says what one approval installs; with --approve-all it goes on.

PATH has Subscriptions, OperatorPolicies, ClusterServiceVersions, OperatorGroups
and CatalogSources: a file, a directory, or - for stdin. --install adds a
Subscription. RANGE chooses its startingCSV.

--catalog says what a CatalogSource serves: DIR is a directory or file with a
file-based catalog, the image of one (oci://IMAGE, oci-layout:DIR), or a
directory with bundles or a legacy package. Without NAMESPACE/NAME, the name is
that of DIR and the namespace is the one that serves all namespaces.

The exit code is 3 if there are findings at or above --fail-on.`,
		Example: `  olmgen catalog resolve --catalog catalog/ --install etcd@'<0.9.4':alpha
  kubectl get sub,csv,og,catsrc -A -o yaml | olmgen catalog resolve - \
      --catalog openshift-marketplace/redhat-operators=configs/`,
		Args: args(0, math.MaxInt, ""),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"content of a CatalogSource, `[NAMESPACE/NAME=]DIR[,priority=N]`; may be repeated")
	flags.StringArrayVar(&f.installs, "install", nil,
		"add a Subscription, `PACKAGE[@RANGE][:CHANNEL]`; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "operators",
		"`NAMESPACE` of --install, and of objects that name none")
	flags.StringVar(&f.global, "global-namespace", "",
		"`NAMESPACE` whose catalogs serve all namespaces (default: openshift-marketplace if a catalog is in it, "+
			"else olm)")
	flags.BoolVar(&f.once, "once", false, "predict the next InstallPlan only")
	registerApproveAll(flags, &f.approveAll)
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.JSON,
		findings.Mermaid})
	failOnFlag(cmd, &f.failOn)
	f.roots.register(cmd)
	registerSources(flags, &f.network)
	return cmd
}

// registerApproveAll adds the flag that approves what waits for approval.
func registerApproveAll(flags *pflag.FlagSet, approve *bool) {
	flags.BoolVar(approve, "approve-all", false,
		"go on after an InstallPlan that waits for approval (installPlanApproval: Manual)")
}

func (f *resolveFlags) run(cmd *cobra.Command, paths []string) error {
	if err := checkNamespace(f.namespace); err != nil {
		return err
	}
	if len(paths)+len(f.installs) == 0 {
		return &usageError{"there is nothing to resolve", "pass a path with Subscriptions, or --install PACKAGE"}
	}
	t, err := f.tree(cmd, paths)
	if err != nil {
		return err
	}
	given, err := parseCatalogs(f.catalogs)
	if err != nil {
		return err
	}
	report, known := &resolve.Report{}, len(given) > 0
	opened := map[string][]resolve.Source{} // by the global namespace
	clusters := t.Clusters()
	for i, c := range clusters {
		of := t.Of(c, i == 0)
		if len(clusters) == 1 {
			c.Name = ""
		}
		state, err := resolve.ReadObjects(of.Objects, f.namespace)
		if err != nil {
			return err
		}
		catalogs := predict.Catalogs{ApproveAll: f.approveAll,
			Global: cmp.Or(f.global, globalOf(given, state.CatalogSources))}
		sources, ok := opened[catalogs.Global]
		if !ok {
			if sources, err = openCatalogs(cmd, f.network, given, catalogs.Global); err != nil {
				return err
			}
			opened[catalogs.Global] = sources
		}
		catalogs.Sources = sources
		f.sayPolicies(cmd, of.Objects, catalogs)
		known = known || slices.ContainsFunc(state.CatalogSources,
			func(s resolve.Source) bool { return s.Catalog != nil })
		if err := f.predict(cmd, of, c.Name, catalogs, report); err != nil {
			return err
		}
	}
	if !known {
		fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: note: no catalog is given, so nobody knows what OLM installs\n"+
			"hint: pass the content of each CatalogSource with --catalog")
	}
	if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
		return err
	}
	summary := fmt.Sprintf("%s, %s, %s in %s", text.Count(report.Errors, "error"),
		text.Count(report.Warnings, "warning"),
		text.Count(report.Notes, "note"), text.Count(len(report.Namespaces), "namespace"))
	if findings.Reaches(report.Findings(), f.failOn) {
		return &foundError{summary}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "olmgen: "+summary)
	return nil
}

// predict reports what OLM does in each namespace of a cluster.
func (f *resolveFlags) predict(cmd *cobra.Command, t *tree.Tree, cluster string, known predict.Catalogs,
	report *resolve.Report) error {
	checked, err := predict.Check(cmd.Context(), t, predict.Options{Namespace: f.namespace, Catalogs: known})
	if err != nil {
		return err
	}
	for _, s := range predict.States(cmd.Context(), t, f.namespace, known, len(f.installs) > 0) {
		if len(s.Subscriptions) == 0 && (s.Namespace != f.namespace || len(f.installs) == 0) {
			continue // OLM does not look at it
		}
		if s.Namespace == f.namespace {
			for _, what := range f.installs {
				if err := s.Install(what); err != nil {
					return fmt.Errorf("--install %s: %w", what, err)
				}
			}
		}
		o := resolve.Options{ApproveAll: f.approveAll}
		if f.once {
			o.Steps = 1
		}
		r, err := resolve.Run(cmd.Context(), s, o)
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, checked.Refused(s.Namespace)...)
		findings.Sort(r.Findings)
		report.Add(cluster, s.Namespace, r)
	}
	return nil
}

// tree reads the objects of the paths.
func (f *resolveFlags) tree(cmd *cobra.Command, paths []string) (*tree.Tree, error) {
	if len(paths) == 0 {
		return &tree.Tree{Roots: []tree.Root{{}}}, nil
	}
	t, err := f.roots.read(cmd, paths, tree.Options{})
	if err != nil {
		return nil, err
	}
	return t, requireObjects(t)
}

// sayPolicies names the OperatorPolicies that install nothing, or of which nobody can say what they install.
func (f *resolveFlags) sayPolicies(cmd *cobra.Command, objects []*manifest.Object, catalogs predict.Catalogs) {
	_, unknown := predict.WithPolicies(cmd.Context(), objects, f.namespace, catalogs)
	for u, also := range firstOf(unknown, func(u olm.UnknownPolicy) string { return u.Why }) {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: %s:%d: what %s installs is not known: %s%s\n", u.Object.File,
			u.Object.Line, u.Object.Identity(), u.Why, also)
	}
	sayIdle(cmd, objects)
}

// catalogFlag is a value of --catalog.
type catalogFlag struct {
	namespace, name, dir string
	cluster              bool // of OLM v1
	priority             int
}

func parseCatalogs(values []string) (list []catalogFlag, err error) {
	for _, value := range values {
		c, err := parseCatalog(value)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// parseCatalog reads a value for a CatalogSource of OLM v0.
func parseCatalog(value string) (catalogFlag, error) {
	c, key, err := cutCatalog(value)
	if err != nil || key == "" {
		return c, err
	}
	namespace, name, ok := strings.Cut(key, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return c, &usageError{fmt.Sprintf("--catalog: %q is not the name of a CatalogSource", key),
			"write NAMESPACE/NAME=DIR"}
	}
	c.namespace, c.name = namespace, name
	return c, nil
}

// parseClusterCatalog reads a value for a ClusterCatalog of OLM v1, which has no namespace.
func parseClusterCatalog(value string) (catalogFlag, error) {
	c, key, err := cutCatalog(value)
	if err != nil || key == "" {
		return c, err
	}
	if len(validation.IsDNS1123Subdomain(key)) > 0 {
		return c, &usageError{fmt.Sprintf("--catalog: %q is not the name of a ClusterCatalog", key), "write NAME=DIR"}
	}
	c.name = key
	return c, nil
}

// cutCatalog reads [KEY=]DIR[,priority=N]. Without a key, the name is that of the directory.
func cutCatalog(value string) (c catalogFlag, key string, err error) {
	value, priority, ok := strings.Cut(value, ",priority=")
	if ok {
		n, err := strconv.ParseInt(priority, 10, 32)
		if err != nil {
			return c, "", &usageError{fmt.Sprintf("--catalog: priority %q is not a number", priority), ""}
		}
		c.priority = int(n)
	}
	key, dir, ok := strings.Cut(value, "=")
	if !ok {
		key, dir = "", value
	}
	if dir == "" {
		return c, "", &usageError{"--catalog: no directory is given", "write NAMESPACE/NAME=DIR"}
	}
	c.dir = dir
	c.name = baseName(dir)
	if len(validation.IsDNS1123Subdomain(c.name)) > 0 {
		c.name = "catalog"
	}
	return c, key, nil
}

// baseName returns the last part of a path or of the name of an image, without extension, tag and digest.
func baseName(ref string) string {
	path := source.Path(ref)
	base := filepath.Base(filepath.Clean(cmp.Or(path, ref)))
	if path != "" {
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	base, _, _ = strings.Cut(base, "@")
	base, _, _ = strings.Cut(base, ":")
	return base
}

// globalOf returns the namespace whose catalogs serve all namespaces, by the flags and the CatalogSources of a tree.
func globalOf(list []catalogFlag, known []resolve.Source) string {
	if slices.ContainsFunc(list, func(c catalogFlag) bool { return c.namespace == olm.NamespaceMarketplace }) ||
		slices.ContainsFunc(known, func(s resolve.Source) bool { return s.Namespace == olm.NamespaceMarketplace }) {
		return olm.NamespaceMarketplace
	}
	return "olm"
}

// openCatalogs reads the catalogs of the flags. One without a namespace is in the global one.
func openCatalogs(cmd *cobra.Command, network fbc.Options, list []catalogFlag, global string) ([]resolve.Source,
	error) {
	var sources []resolve.Source
	for _, c := range list {
		s := resolve.Source{Name: c.name, Namespace: cmp.Or(c.namespace, global), Priority: c.priority}
		if slices.ContainsFunc(sources, s.Same) {
			return nil, &usageError{fmt.Sprintf("--catalog: %s/%s is given twice", s.Namespace, s.Name),
				"name them with NAMESPACE/NAME=DIR"}
		}
		read, err := readServed(cmd, c.dir, network)
		if err != nil {
			return nil, err
		}
		s.Catalog, s.Unavailable = read.Catalog, read.refused
		s.Prepared = resolve.Prepare(s.Catalog)
		sources = append(sources, s)
	}
	return sources, nil
}

// served is a catalog, and whether opm refuses to serve it.
type served struct {
	*fbc.Catalog
	refused bool
}

// sayFaulty names the bundles of a directory that cannot be read, or that OLM v0 refuses to install.
func sayFaulty(cmd *cobra.Command, c *fbc.Catalog) {
	for _, f := range c.Faulty {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: %s\n", text.OneLine(f.Error()))
	}
}

// readServed reads a catalog, and warns about one that opm does not serve.
func readServed(cmd *cobra.Command, dir string, network fbc.Options) (served, error) {
	read, err := readCatalog(cmd, dir, network)
	if err != nil {
		return served{}, err
	}
	sayFaulty(cmd, read)
	refusal := read.Refusal()
	if refusal != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: warning: %s: opm does not serve this catalog: %s\n", dir, refusal)
	}
	return served{read, refusal != nil}, nil
}

func newCatalogValidate() *cobra.Command {
	f := reportFlags{}
	network := fbc.Options{}
	cmd := &cobra.Command{
		Use:   "validate DIR...",
		Short: "Check file-based catalogs",
		Long: `Validate reads file-based catalogs, each a directory, a file or an image
(oci://IMAGE, oci-layout:DIR), and lists what is wrong with them, by file and
line: errors for which opm does not serve a catalog (in opm's words), and
updates that OLM v0 does not make: entries that nothing updates, a skipRange
that leads back, channels that cannot reach the next one.

The exit code is 3 if there are findings at or above --fail-on.`,
		Example: `  olmgen catalog validate catalog/
  opm render quay.io/example/catalog:v1 | olmgen catalog validate -`,
		Args: args(1, math.MaxInt, "the catalog"),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			var list []findings.Finding
			for _, dir := range dirs {
				c, err := readCatalog(cmd, dir, network)
				if err != nil {
					return err
				}
				list = append(list, resolve.Validate(c)...)
			}
			list, err := f.known(cmd.ErrOrStderr(), list, true)
			if err != nil {
				return err
			}
			report := print.List{Rules: resolve.CatalogRules(), Findings: list}
			if err := print.Report(cmd.OutOrStdout(), report, f.format); err != nil {
				return err
			}
			return f.conclude(cmd.ErrOrStderr(), list, text.Count(len(dirs), "catalog"))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.register(flags)
	registerSources(flags, &network)
	completeReport(cmd)
	return cmd
}
