package main

import (
	"fmt"
	"slices"
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

// full are the profiles that render the operator itself as OLM v0 does.
var full = []generate.Profile{generate.ProfileOLM, generate.ProfilePlain}

// own are those that render the operator itself without OLM v1.
var own = slices.Concat(full, []generate.Profile{generate.ProfileDescoped})

// profilesOf says which profiles have a use for a flag; one that is not listed is for all of them.
var profilesOf = map[string][]generate.Profile{
	"names":                     full,
	"copied-csvs":               full,
	"copied-csv-namespaces":     full,
	"issuer":                    own,
	"cert-secret":               own,
	"ca-bundle":                 own,
	"convert-crds":              own,
	"certs":                     slices.Concat(own, []generate.Profile{generate.ProfileOLMv1}),
	"operator-group":            slices.Concat(own, []generate.Profile{generate.ProfileSubscription}),
	"mirror-map":                slices.Concat(own, []generate.Profile{generate.ProfileOLMv1}),
	"selector":                  slices.Concat(full, []generate.Profile{generate.ProfileSubscription}),
	"static-provided-apis":      slices.Concat(full, []generate.Profile{generate.ProfileSubscription}),
	"install-mode":              slices.DeleteFunc(slices.Clone(generate.Profiles), func(p generate.Profile) bool { return p == generate.ProfileDescoped }),
	"service-account":           slices.Concat(full, []generate.Profile{generate.ProfileSubscription, generate.ProfileClusterExtension}),
	"create-namespace":          slices.Concat(own, []generate.Profile{generate.ProfileSubscription, generate.ProfileClusterExtension}),
	"subscription":              {generate.ProfileSubscription},
	"approval":                  {generate.ProfileSubscription},
	"starting-csv":              {generate.ProfileSubscription},
	"catalog-source":            {generate.ProfileSubscription},
	"catalog-image":             {generate.ProfileSubscription},
	"cluster-extension":         {generate.ProfileClusterExtension},
	"version-range":             {generate.ProfileClusterExtension},
	"upgrade-constraint-policy": {generate.ProfileClusterExtension},
	"bind-namespaces":           {generate.ProfileDescoped},
	"bind-all":                  {generate.ProfileDescoped},
	"aggregate-to":              {generate.ProfileDescoped},
	"split":                     {generate.ProfileDescoped},
}

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
		profiles, ok := profilesOf[flag.Name]
		if ok && err == nil && !slices.Contains(profiles, profile) {
			err = &usageError{fmt.Sprintf("--%s means nothing with --profile %s", flag.Name, profile), "it is for --profile " + joined(profiles)}
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
