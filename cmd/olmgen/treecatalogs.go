package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/review"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// treeCatalogs are the flags of a command that reads what the Subscriptions of a tree install from.
type treeCatalogs struct {
	values     []string
	global     string
	approveAll bool

	images map[string]*served // by who names it, and reference; nil for one that cannot be read
}

// image reads the image of a catalog once for all clusters. It warns of one that cannot be read, and returns nil.
func (f *treeCatalogs) image(cmd *cobra.Command, what, ref string, network fbc.Options) *served {
	key := what + " " + ref
	if s, ok := f.images[key]; ok {
		return s
	}
	if f.images == nil {
		f.images = map[string]*served{}
	}
	f.images[key] = nil
	read, err := readServed(cmd, source.KindOCI+"://"+ref, network)
	if err != nil {
		warn(cmd, "%s: %v", what, err)
		return nil
	}
	f.images[key] = &read
	return &read
}

func (f *treeCatalogs) register(flags *pflag.FlagSet) {
	what := "content of a CatalogSource, or without NAMESPACE/ of a ClusterCatalog, " +
		"`[[NAMESPACE/]NAME=]DIR[,priority=N]`"
	flags.StringArrayVar(&f.values, "catalog", nil, what+"; without a name, of all others; may be repeated")
	registerOLM(flags, &f.global, &f.approveAll)
}

// registerOLM adds the flags about the OLM of a cluster.
func registerOLM(flags *pflag.FlagSet, global *string, approve *bool) {
	flags.StringVar(global, "global-namespace", "", "`NAMESPACE` whose catalogs serve all namespaces (default: "+
		"openshift-marketplace if a catalog is in it, else olm)")
	flags.BoolVar(approve, "approve-all", false,
		"go on after an InstallPlan that waits for approval (installPlanApproval: Manual)")
	place(flags, topicTrees, "global-namespace", "approve-all")
	nameOnly(flags, "global-namespace", "approve-all")
}

// open reads the catalogs of the flags, and the images of the other CatalogSources and ClusterCatalogs of a tree.
func (f *treeCatalogs) open(cmd *cobra.Command, t *tree.Tree, network fbc.Options) (predict.Catalogs, error) {
	c, err := f.given(cmd, network)
	if err != nil {
		return c, err
	}
	return f.withImages(cmd, t, c, network), nil
}

// given reads the catalogs of the flags.
func (f *treeCatalogs) given(cmd *cobra.Command, network fbc.Options) (predict.Catalogs, error) {
	c := predict.Catalogs{Global: f.global, ApproveAll: f.approveAll}
	var named []catalogFlag
	var others []*fbc.Catalog
	for _, value := range f.values {
		parsed, err := f.parse(value)
		if err != nil {
			return c, err
		}
		if parsed.namespace != "" {
			named = append(named, parsed)
			continue
		}
		read, err := readServed(cmd, parsed.dir, network)
		switch {
		case err != nil:
			return c, err
		case parsed.cluster:
			c.ClusterCatalogs = append(c.ClusterCatalogs, extension.Source{Name: parsed.name,
				Priority: int32(parsed.priority), Catalog: read.Catalog}) //nolint:gosec // it is read as 32 bits
		default:
			others = append(others, read.Catalog)
		}
	}
	if len(others) > 0 {
		c.Others = fbc.Join(others...)
		c.Prepared = resolve.Prepare(c.Others)
	}
	var err error
	c.Sources, err = openCatalogs(cmd, network, named, c.Global)
	return c, err
}

// withImages adds the catalogs whose images the objects of a tree name.
func (f *treeCatalogs) withImages(cmd *cobra.Command, t *tree.Tree, c predict.Catalogs,
	network fbc.Options) predict.Catalogs {
	if c.Others == nil && !network.Source.Offline {
		c.Partial = len(c.Sources) == 0
		c.Sources = slices.Concat(c.Sources, f.imageCatalogs(cmd, t, c.Sources, network))
		c.ClusterCatalogs = slices.Concat(c.ClusterCatalogs, f.imageClusterCatalogs(cmd, t, c.ClusterCatalogs, network))
	}
	return c
}

// sayIdle names the OperatorPolicies that install nothing.
func sayIdle(cmd *cobra.Command, objects []*manifest.Object) {
	for _, p := range olm.OperatorPolicies(objects) {
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
	sayIdle(cmd, t.Objects)
	return review.Installs(cmd.Context(), t, review.TreeOptions{Catalogs: c, Source: withInput(cmd, network).Source})
}

// catalogHint returns what makes an operator known, or "": where its name is known, its catalog is.
func catalogHint(u review.Unknown) string {
	if u.Name != "" {
		return ""
	}
	return "pass the content of its catalog with --catalog"
}

// parse reads a value for a CatalogSource, NAMESPACE/NAME=DIR, for a ClusterCatalog, NAME=DIR, or for all others.
func (f *treeCatalogs) parse(value string) (catalogFlag, error) {
	key, _, named := strings.Cut(value, "=")
	if !named || strings.Contains(key, "/") {
		return parseCatalog(value)
	}
	c, err := parseClusterCatalog(value)
	c.cluster = true
	return c, err
}

// imageCatalogs reads the images of the CatalogSources of a tree that a Subscription of it names and that are not
// known. One that cannot be read stays unknown.
func (f *treeCatalogs) imageCatalogs(cmd *cobra.Command, t *tree.Tree, known []resolve.Source,
	network fbc.Options) []resolve.Source {
	objects, unknown := olm.WithPolicies(t.Objects, nil)
	tree := resolve.Of(cluster.Read(objects, ""))
	// an OperatorPolicy that names no catalog may mean any
	anyOf := slices.ContainsFunc(unknown, func(u olm.UnknownPolicy) bool {
		return u.Source == "" && len(u.Faults) == 0
	})
	var out []resolve.Source
	for _, s := range tree.CatalogSources {
		named := anyOf || tree.Subscribes(s) || slices.ContainsFunc(unknown, func(u olm.UnknownPolicy) bool {
			return u.Source == s.Name
		})
		if s.Image == "" || slices.ContainsFunc(known, s.Same) || !named {
			continue
		}
		if read := f.image(cmd, "CatalogSource "+s.Namespace+"/"+s.Name, s.Image, network); read != nil {
			s.Catalog, s.Unavailable = read.Catalog, read.refused
			out = append(out, s)
		}
	}
	return out
}

// imageClusterCatalogs reads the images of the ClusterCatalogs of a tree that a ClusterExtension of it uses and that
// are not known. One that cannot be read stays unknown.
func (f *treeCatalogs) imageClusterCatalogs(cmd *cobra.Command, t *tree.Tree, known []extension.Source,
	network fbc.Options) (out []extension.Source) {
	images := predict.CatalogImages(t.Objects)
	for _, name := range slices.Sorted(maps.Keys(images)) {
		if slices.ContainsFunc(known, func(s extension.Source) bool { return s.Name == name }) {
			continue
		}
		if read := f.image(cmd, "ClusterCatalog "+name, images[name], network); read != nil {
			out = append(out, extension.Source{Name: name, Catalog: read.Catalog})
		}
	}
	return out
}
