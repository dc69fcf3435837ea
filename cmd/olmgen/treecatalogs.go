package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict"
)

// treeCatalogs are the flags of a command that reads what the Subscriptions of a tree install from.
type treeCatalogs struct {
	values     []string
	approveAll bool
	reader     *review.ContentReader // of a run
	around     []*manifest.Object    // what else may ask for packages
	every      bool                  // all packages are wanted, whoever asks
}

func (f *treeCatalogs) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.values, "catalog", nil, "content of a CatalogSource, or without NAMESPACE/ of a "+
		"ClusterCatalog, `[[NAMESPACE/]NAME=]DIR[,priority=N]`; without a name, of all others; may be repeated")
	registerApproveAll(flags, &f.approveAll)
}

// registerApproveAll adds the flag that approves what waits for approval.
func registerApproveAll(flags *pflag.FlagSet, approve *bool) {
	flags.BoolVar(approve, "approve-all", false,
		"go on after an InstallPlan that waits for approval (installPlanApproval: Manual)")
	place(flags, topicTrees, "approve-all")
	nameOnly(flags, "approve-all")
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
	c, err := f.given(cmd, network, t.Objects)
	if err != nil {
		return c, err
	}
	return f.reader.WithImages(cmd.Context(), t, c), nil
}

// given reads the catalogs of the flags, as far as objects ask for them.
func (f *treeCatalogs) given(cmd *cobra.Command, network fbc.Options, objects []*manifest.Object) (predict.Catalogs,
	error) {
	if f.reader == nil {
		f.reader = &review.ContentReader{}
	}
	f.reader.Options = withInput(cmd, network)
	if !f.every {
		f.reader.Options.Only = review.Wanted(objects, f.around)
	}
	c, err := f.reader.Catalogs(cmd.Context(), f.values)
	c.ApproveAll = f.approveAll
	return c, contentError(err)
}

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
