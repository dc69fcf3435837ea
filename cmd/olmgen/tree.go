package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// treeFlags say what of a tree is applied, and where. Each command that reads trees has them.
type treeFlags struct {
	all, allowUnknown bool
	exclude, clusters []string
	repos             []string
	addresses         map[string]string // of the repositories that the trees name
	several           bool              // trees are read: the command itself looks whether one names each of repos

	helm    beside.Renderer // of charts
	cluster fit.Cluster     // that they are rendered for

	counting       sync.Mutex
	roots, unknown int // that were read, and that could not be built
	disputed       int // objects that two roots have in different ways

	inReport bool // the report of the command has them
	inNotes  bool // its notes have them: that nobody knows which one counts is an error beside it
}

// register adds the flags, and has the command fail if a part of a tree is unknown.
func (f *treeFlags) register(cmd *cobra.Command) {
	f.helm.Program = &beside.Program{Name: beside.Helm, Does: "renders charts"}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.exclude, "exclude", nil,
		"leave out files and directories like `PATTERN`, as in .gitignore; may be repeated. The file .olmgenignore "+
			"has such patterns too")
	flags.BoolVar(&f.all, "all", false, "judge also the manifests that nothing in the tree applies")
	flags.StringArrayVar(&f.clusters, "cluster", nil,
		"all kustomizations below `DIR` are applied to one cluster; may be repeated (default: each directory below "+
			"one called clusters, otherwise each kustomization for itself)")
	flags.StringArrayVar(&f.repos, "repo", nil, "`URL=DIR`: the directory stands for the Git repository, or has the "+
		"charts of the repository of charts, that the tree names by this URL; may be repeated")
	flags.BoolVar(&f.allowUnknown, "allow-unknown", false,
		"exit with code 0 although a kustomization could not be built, or two roots of a cluster differ")
	nameOnly(flags, topicTrees, rootFlags...)
	cmd.PostRunE = func(*cobra.Command, []string) error {
		if f.unknown > 0 && !f.allowUnknown {
			return &foundError{fmt.Sprintf("%d of %s not known: what they apply is not in the report", f.unknown,
				text.Count(f.roots, "root"))}
		}
		if f.disputed > 0 && !f.allowUnknown {
			return &foundError{"two roots of a cluster differ about " + text.Count(f.disputed, "object")}
		}
		return nil
	}
}

// read reads a tree, and says on stderr what of it is not known: one line for each reason.
func (f *treeFlags) read(cmd *cobra.Command, paths []string, o tree.Options) (*tree.Tree, error) {
	t, err := f.open(cmd, paths, o)
	if err != nil {
		return nil, err
	}
	if f.say(cmd, nil, t, t.Unknown()); !f.several {
		err = f.checkRepos()
	}
	return t, err
}

func (f *treeFlags) open(cmd *cobra.Command, paths []string, o tree.Options) (*tree.Tree, error) {
	for _, dir := range f.clusters {
		if info, err := os.Stat(dir); o.Named == nil && (err != nil || !info.IsDir()) {
			return nil, &usageError{"--cluster: " + dir + " is not a directory", "name a directory of the tree"}
		}
	}
	if len(paths) == 1 && source.IsRenderConfig(paths[0]) {
		return nil, manifest.WithHint(fmt.Errorf("%s: this is a RenderConfig, not a TREE", paths[0]),
			declaredHint(cmd, paths[0]))
	}
	for _, path := range paths {
		if err := refuseSource(cmd, path); err != nil {
			return nil, err
		}
	}
	o.All, o.Exclude, o.Clusters, o.Stdin = f.all, f.exclude, f.clusters, cmd.InOrStdin()
	if o.Charts, o.KubeVersion = f.helm, writes.Version; f.cluster.Kube != nil {
		o.KubeVersion = f.cluster.Kube.String()
	}
	checkouts, err := f.checkouts()
	if err != nil {
		return nil, err
	}
	o.Repos, o.RepoOption = checkouts, "--repo"
	t, err := tree.Read(cmd.Context(), paths, o)
	if bad, ok := errors.AsType[*manifest.Error](err); ok && bad.File == "" { // a pattern of the command line
		return nil, &usageError{"--exclude: " + bad.Msg, bad.Tip}
	}
	if err != nil {
		return nil, err
	}
	f.counting.Lock()
	defer f.counting.Unlock()
	if f.addresses == nil {
		f.addresses = map[string]string{}
	}
	maps.Copy(f.addresses, t.Addresses)
	return t, nil
}

// say reports what of a tree is not known. What an older state, which may be nil, does not know either is one line.
func (f *treeFlags) say(cmd *cobra.Command, old, t *tree.Tree, unknown []*manifest.Error) {
	f.counting.Lock()
	defer f.counting.Unlock()
	f.roots += len(t.Roots)
	f.unknown += len(unknown)
	if !f.inReport {
		f.sayDuplicates(cmd, old, t)
	}
	templated, alike := t.Templated, 0
	if old != nil {
		templated, alike = tree.Differing(old, t)
	}
	reason := func(e *manifest.Error) string { return e.Msg }
	for e, also := range firstOf(slices.Concat(unknown, templated), reason, nil) {
		say(cmd, "", e.Tip, "not known: %s%s", e, also)
	}
	if alike > 0 {
		tell(cmd, "%s not known in OLD and NEW alike, such as %s", text.Count(alike, "object"), t.Templated[0])
	}
	if what := t.UnappliedText(); what != "" {
		tell(cmd, "%s: --all judges them", what)
	}
}

// checkouts returns what the flags --repo say.
func (f *treeFlags) checkouts() (list []repos.Checkout, err error) {
	for _, value := range f.repos {
		address, dir, _ := strings.Cut(value, "=")
		info, err := os.Stat(dir)
		switch same := func(c repos.Checkout) bool { return repos.Normal(c.Address) == repos.Normal(address) }; {
		case address == "" || dir == "":
			return nil, &usageError{"--repo " + value + " is not URL=DIR", "name the directory of a checkout"}
		case err != nil || !info.IsDir():
			return nil, &usageError{"--repo: " + dir + " is not a directory", "name the directory of a checkout"}
		case slices.ContainsFunc(list, same):
			return nil, &usageError{"--repo: " + address + " is given twice", "keep one of the two"}
		}
		list = append(list, repos.Checkout{Address: address, Dir: dir})
	}
	return list, nil
}

// checkRepos refuses a repository that no tree names: a slip in its address would have no effect.
func (f *treeFlags) checkRepos() error {
	for _, value := range f.repos {
		address, _, _ := strings.Cut(value, "=")
		if _, ok := f.addresses[repos.Normal(address)]; !ok {
			hint := "leave out --repo: the tree names no other repository"
			if known := slices.Sorted(maps.Values(f.addresses)); len(known) > 0 {
				hint = "it names " + text.FirstOf(mostFields, known)
			}
			return &usageError{"--repo: nothing in the tree names " + address, hint}
		}
	}
	return nil
}

// refuseSource refuses what only commands that render read, such as an archive.
func refuseSource(cmd *cobra.Command, path string) error {
	info, err := os.Stat(path)
	if path == tree.Stdin || err == nil && (info.IsDir() || source.IsManifestName(path)) {
		return nil
	}
	kind, _, _ := source.Recognise(path, "")
	if kind == "" {
		return nil // tree.Read says what is wrong
	}
	return &usageError{path + " is a SOURCE, and " + cmd.Name() + " reads what is applied to a cluster",
		"olmgen validate " + text.Shell(path) + " checks the bundle; olmgen render makes a tree of it"}
}

// sayDuplicates reports which objects of one name differ, in a root or between roots, and do not so in an older state,
// which may be nil.
func (f *treeFlags) sayDuplicates(cmd *cobra.Command, old, t *tree.Tree) {
	list := t.Duplicates()
	if old != nil {
		before := old.Duplicates()
		list = lists.Filter(list, func(d world.Duplicate) bool {
			return !slices.ContainsFunc(before, func(o world.Duplicate) bool {
				return d.Roots == o.Roots && world.Same(d.Object, o.Object) && world.Same(d.Other, o.Other)
			})
		})
	}
	for _, d := range list {
		if d.Roots {
			f.disputed++
		}
		if d.Roots || !f.inNotes {
			say(cmd, d.Level(), d.Hint(), "%s", d)
		}
	}
}

// firstOf returns the first of each reason, with how many more there are, as the end of a sentence. It has what else
// they are about, if about says it.
func firstOf[T any, R comparable](list []T, reason func(T) R, about func(T) string) iter.Seq2[T, string] {
	return func(yield func(T, string) bool) {
		for _, same := range lists.Groups(list, reason) {
			also := ""
			if n := len(same) - 1; n > 0 {
				also = fmt.Sprintf(" (and %d more for the same reason", n)
				if about != nil {
					others := lists.SortedUnique(lists.Map(same, about))
					others = slices.DeleteFunc(others, func(s string) bool { return s == "" || s == about(same[0]) })
					also = strings.TrimSuffix(also+": "+text.FirstOf(mostFields, others), ": ")
				}
				also += ")"
			}
			if !yield(same[0], also) {
				return
			}
		}
	}
}

// mostFields is how many fields a line names that says it of several.
const mostFields = 8

// treeCatalogs are the flags of a command that reads what the Subscriptions of a tree install from.
type treeCatalogs struct {
	values     []string
	approveAll bool
	complete   bool                  // what the tree lacks is missing
	reader     *review.ContentReader // of a run
	around     []*manifest.Object    // what else may ask for packages
	every      bool                  // all packages are wanted, whoever asks
	checked    bool                  // the names are known to be those of objects
}

func (f *treeCatalogs) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.values, "catalog", nil, "content of a CatalogSource, or without NAMESPACE/ of a "+
		"ClusterCatalog, `[[NAMESPACE/]NAME=]DIR[,priority=N]`; without a name, of all others; may be repeated")
	registerApproveAll(flags, &f.approveAll)
	if !f.complete {
		registerComplete(flags, &f.complete)
	}
}

// registerComplete adds the flag that says that what the tree lacks is missing.
func registerComplete(flags *pflag.FlagSet, complete *bool) {
	flags.BoolVar(complete, "complete", false,
		"the tree is all that the cluster has: what it lacks is missing, and not unknown (default for a tree with "+
			"objects of OLM that were in a cluster)")
	nameOnly(flags, topicTrees, "complete")
}

// registerApproveAll adds the flag that approves what waits for approval.
func registerApproveAll(flags *pflag.FlagSet, approve *bool) {
	flags.BoolVar(approve, "approve-all", false,
		"go on after an InstallPlan that waits for approval (installPlanApproval: Manual)")
	nameOnly(flags, topicTrees, "approve-all")
}

// contentError returns an error of usage for a wrong value of --catalog, and other errors as they are.
func contentError(err error) error {
	if bad, ok := errors.AsType[*review.ContentError](err); ok {
		return &usageError{"--catalog: " + bad.Msg, bad.Tip}
	}
	return err
}

// open reads the catalogs of the flags, and the images of the other CatalogSources and ClusterCatalogs of a tree.
func (f *treeCatalogs) open(cmd *cobra.Command, t *tree.Tree, network fbc.Options) (predict.Catalogs, error) {
	c, err := f.given(cmd, network, t)
	if err == nil {
		c = f.reader.WithImages(cmd.Context(), t, c)
	}
	return c, err
}

// given reads the catalogs of the flags, as far as a tree asks for them.
func (f *treeCatalogs) given(cmd *cobra.Command, network fbc.Options, t *tree.Tree) (predict.Catalogs, error) {
	f.reader = cmp.Or(f.reader, &review.ContentReader{})
	if !f.checked {
		if err := checkCatalogNames(cmd, f.values, f.around, t); err != nil {
			return predict.Catalogs{}, err
		}
	}
	f.reader.Options = withInput(cmd, network)
	if !f.every {
		f.reader.Options.Only = review.Wanted(t.Objects, f.around)
	}
	c, err := f.reader.Catalogs(cmd.Context(), f.values)
	c.ApproveAll, c.Open = f.approveAll, !f.complete
	return c, contentError(err)
}

// contents returns the directories and files of the catalogs of the flags.
func (f *treeCatalogs) contents() (refs []string) {
	for _, value := range f.values {
		if c, err := review.ReadContent(value, false, true); err == nil { // whoever reads them says what is wrong
			refs = append(refs, c.Dir)
		}
	}
	return refs
}

// checkCatalogNames refuses a name that no object has. Without this, a misspelt name has no effect, and what OLM
// installs is not known. What is not known of a tree may have it.
func checkCatalogNames(cmd *cobra.Command, values []string, objects []*manifest.Object, trees ...*tree.Tree) error {
	partial := false
	for _, t := range trees {
		if t != nil {
			objects = slices.Concat(objects, t.Objects)
			partial = partial || len(t.Unknown())+len(t.Templated)+len(t.Faults) > 0
		}
	}
	unnamed, err := review.CheckNames(values, objects, partial)
	for _, m := range unnamed {
		level := findings.Note
		if m.Tip != "" {
			level = findings.Warning
		}
		say(cmd, level, m.Tip, "--catalog: %s", m.Msg)
	}
	return contentError(err)
}

func sayIdle(cmd *cobra.Command, policies []*olm.OperatorPolicy) {
	for _, p := range policies {
		if why := p.Idle(); why != "" {
			note(cmd, "%s:%d: %s installs nothing: %s", p.Object.File, p.Object.Line, p.Object.Identity(), why)
		}
	}
}

// installs returns what OLM installs for the objects of a tree from these catalogs.
func (f *treeCatalogs) installs(cmd *cobra.Command, t *tree.Tree, network fbc.Options) ([]review.Installed,
	[]review.Unknown, error) {
	c, err := f.open(cmd, t, network)
	if err != nil {
		return nil, nil, err
	}
	sayIdle(cmd, olm.OperatorPolicies(t.Objects))
	return review.Installs(cmd.Context(), t, review.TreeOptions{Catalogs: c, Source: withInput(cmd, network).Source})
}

// catalogHint returns what makes an operator known, or "": where its name is known, its catalog is.
func catalogHint(u review.Unknown) string {
	if u.Name != "" || u.Disputed || u.Nothing {
		return ""
	}
	return "pass the content of its catalog with --catalog"
}
