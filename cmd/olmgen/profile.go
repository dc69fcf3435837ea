package main

import (
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/generate"
)

const profileHelp = `--profile says what is written:
  olm               everything that OLM v0 creates
  plain             the same for a cluster without OLM: no OperatorGroup, CSV or
                    OperatorCondition
  descoped          like plain, but bound only where an administrator says:
                    see olmgen descope
  olmv1             everything that the renderer of OLM v1 creates
  subscription      what hands the operator to OLM v0: Namespace, OperatorGroup,
                    Subscription and, on request, CatalogSource
  clusterextension  what hands it to OLM v1: ClusterExtension, and admin, edit
                    and view ClusterRoles of its APIs`

// registerHandOver adds the flags of the profiles that hand over to OLM.
func (f *renderFlags) registerHandOver(flags *pflag.FlagSet) {
	flags.Lookup("channel").Usage = "of a catalog or legacy package, and of what hands over to OLM: `NAME` of the channel (default: the default channel)"
	s, e := &f.options.Subscription, &f.options.Extension
	flags.StringVar(&s.Name, "subscription", "", "`NAME` of the Subscription (default: the package name)")
	flags.Var(enum(&s.Approval, v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual), "approval", "of the Subscription's upgrades: Automatic or Manual (default: Automatic)")
	flags.BoolVar(&s.StartingCSV, "starting-csv", false, "have the Subscription begin with this bundle, not with the head of its channel")
	flags.StringVar(&f.catalog, "catalog-source", "", "catalog of the Subscription, as `NAMESPACE/NAME` (default: openshift-marketplace/community-operators, with --catalog-image openshift-marketplace/<package>-catalog)")
	flags.StringVar(&s.CatalogImage, "catalog-image", "", "add the CatalogSource of this `IMAGE`")
	flags.StringVar(&e.Name, "cluster-extension", "", "`NAME` of the ClusterExtension (default: the package name)")
	flags.StringVar(&e.VersionRange, "version-range", "", "`VERSIONS` that OLM v1 may install, as in 1.2.3 or '>=1.2, <2' (default: any)")
	flags.Var(enum(&e.UpgradePolicy, generate.UpgradeCatalogProvided, generate.UpgradeSelfCertified), "upgrade-constraint-policy", "of OLM v1: CatalogProvided or, which allows any upgrade, SelfCertified")
}

// completeProfile refuses flags that the profile has no use for.
func (f *renderFlags) completeProfile(flags *pflag.FlagSet) error {
	profile := f.options.Profile
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && !profile.Uses(flag.Name) {
			err = &usageError{fmt.Sprintf("--%s means nothing with --profile %s", flag.Name, profile),
				"it is for --profile " + joined(generate.ProfilesFor(flag.Name))}
		}
	})
	if err != nil {
		return err
	}
	if profile == generate.ProfileDescoped {
		if err := f.options.CheckDescoped(); err != nil {
			return &usageError{err.Error(), hintOf(err)}
		}
	}
	f.options.Channel = f.source.Channel
	if !flags.Changed("catalog-source") {
		return nil
	}
	namespace, name, _ := strings.Cut(f.catalog, "/")
	if namespace == "" || name == "" {
		return &usageError{fmt.Sprintf("--catalog-source: %q is not NAMESPACE/NAME", f.catalog), "write it as in openshift-marketplace/community-operators"}
	}
	f.options.Subscription.CatalogNamespace, f.options.Subscription.CatalogSource = namespace, name
	return nil
}
