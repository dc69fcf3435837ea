package config

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
)

// Declared returns the options of a RenderConfig. "Add an option" in CONTRIBUTING.md says how to add one.
func Declared() []Option { return slices.Clone(declared) }

// The profiles by what they render. Plain, which is olm without OLM's objects, takes the options about these too.
var (
	likeOLMv0    = []generate.Profile{generate.ProfileOLM, generate.ProfilePlain}
	operators    = append(likeOLMv0[:2:2], generate.ProfileDescoped)
	descoped     = []generate.Profile{generate.ProfileDescoped}
	subscription = []generate.Profile{generate.ProfileSubscription}
	extension    = []generate.Profile{generate.ProfileClusterExtension}
)

func with(profiles []generate.Profile, more ...generate.Profile) []generate.Profile {
	return append(slices.Clone(profiles), more...)
}

var declared = []Option{
	{Name: "apiVersion", Required: true, Words: []string{APIVersion}, Text: "always " + APIVersion},
	{Name: "kind", Required: true, Words: []string{Kind}, Text: "always " + Kind},
	{Name: "metadata", Type: Anything,
		Text: "name, labels and annotations of the RenderConfig itself, for kustomize; olmgen does not use them"},
	{Name: "output", Type: Object, Topic: TopicOutput, Fields: outputFields,
		Text: "where the files go and in which layout"},
	{Name: "annotations", Words: text.Words(transform.Engines), Default: "none", Flag: "annotations",
		Brief: "annotate for a GitOps engine", Value: "ENGINE", Topic: TopicOutput,
		Text: "the GitOps engine to annotate the objects for; patches apply after the annotations"},
	{Name: "defaults", Type: Object, Topic: TopicObjects, Fields: settings,
		Text: "settings for all bundles that do not set their own, if their profile uses them"},
	{Name: "commonLabels", Type: Mapping,
		Text: "labels for the metadata of every object, but not for selectors and pods"},
	{Name: "commonAnnotations", Type: Mapping, Text: "annotations for the metadata of every object"},
	{Name: "mirrors", Type: Objects, Profiles: with(operators, generate.ProfileOLMv1),
		Text: "the images that all bundles take from a mirror",
		Fields: []Option{
			{Name: "source", Required: true, Text: "a registry, with or without the beginning of a path"},
			{Name: "mirror", Required: true, Text: "the registry and path that replace it"},
		}},
	{Name: "mirrorMap", Flag: "mirror-map", Value: "FILE", Topic: TopicObjects,
		Profiles: with(operators, generate.ProfileOLMv1),
		Text: "a file that maps images to mirrors: a list mirrors with source and mirror, or an " +
			"ImageDigestMirrorSet"},
	{Name: "kubeVersion", Flag: "kube-version", Brief: "the Kubernetes version of the cluster", Value: "VERSION",
		Once: true, Topic: TopicObjects, ID: option.KubeVersion,
		Text: "the Kubernetes version of the cluster; an operator with a higher minKubeVersion, and an object that " +
			"this version does not serve, are errors"},
	{Name: "olmVersion", Flag: "olm-version", Value: "VERSION", Once: true, Topic: TopicObjects,
		ID: option.OLMVersion,
		Text: "the release of OLM in the cluster: v0.x of OLM v0, v1.x of OLM v1; what OLM v1 refuses is an error; " +
			"default: the newest one"},
	{Name: "openshiftVersion", Flag: "openshift-version", Value: "VERSION", Once: true,
		Topic: TopicObjects, ID: option.OpenShiftVersion,
		Text: "the release of OpenShift, such as 4.19: what its OLM v1 refuses is an error, and so is an object that " +
			"its Kubernetes does not serve; an operator that is not for it is a warning"},
	{Name: "patches", Type: Objects, Fields: patchFields, Text: "changes to the objects of all operators"},
	{Name: "resolve", Type: Bool, Profiles: with(operators, generate.ProfileSubscription),
		Text: "adds the operators that the operators of a group require, in the versions that OLM would choose from " +
			"the catalogs of the file, each rendered like the operator that requires it"},
	{Name: "sharedAPIs", Type: List, Profiles: with(operators, generate.ProfileClusterExtension),
		Text: "the APIs that several operators may provide, by names such as ships.example.com: an annotation of " +
			"their ClusterRoles says so, and \"olmgen check\" does not report them"},
	{Name: "groups", Type: Objects, Topic: TopicPlacement, Required: true, Fields: groupFields,
		Text: "the OperatorGroups, each with its operators"},
}

var outputFields = []Option{
	{Name: "directory", Default: "stdout", Text: "the directory to write to"},
	{Name: "layout", Words: text.Words(output.Layouts), Default: string(output.LayoutFlat), ID: option.Layout,
		Flag: "layout", Brief: "how the files are laid out", Value: "LAYOUT", Text: "how the files are laid out"},
	{Name: "helmCRDs", Words: text.Words([]helm.CRDs{helm.CRDsTemplates, helm.CRDsDirectory}),
		Default: string(helm.CRDsTemplates), ID: option.HelmCRDs, Flag: "helm-crds", Value: "WHERE",
		Text: "with layout helm: whether CRDs are templates, or in crds, where helm installs but never upgrades them"},
}

var patchFields = []Option{
	{Name: "path",
		Text: "a file with the patch: a strategic merge patch or a list of JSON patch operations (RFC 6902)"},
	{Name: "patch", Text: "the patch itself"},
	{Name: "target", Type: Object,
		Text: "the objects to patch; each field is a regular expression that must match the whole value, and all " +
			"fields must match; a strategic merge patch without target names its object itself",
		Fields: []Option{
			{Name: "group", Text: "the API group"},
			{Name: "version", Text: "the version of the API"},
			{Name: "kind", Text: "the kind"},
			{Name: "name", Text: "the name"},
			{Name: "namespace", Text: "the namespace"},
			{Name: "labelSelector", Text: "a selector such as app=a,tier in (b)"},
		}},
}

var groupFields = []Option{
	{Name: "namespace", Required: true, Flag: "namespace", Brief: "the namespace of the operator", Short: "n",
		Value: "NAME", Parse: parseNamespace, Access: true, ID: option.Namespace,
		FlagDefault: "what the CSV suggests, else openshift-operators for a Subscription to all namespaces, else the " +
			"package name",
		Text: "the namespace of the operators and of their OperatorGroup"},
	{Name: "name", Flag: "operator-group", Value: "NAME", ID: option.OperatorGroup,
		Default: "the name of the namespace", FlagDefault: "the package name; none with profile descoped",
		Profiles: with(operators, generate.ProfileSubscription),
		Text: "the name of the OperatorGroup; with profile descoped, its namespaces decide where the operator is " +
			"bound"},
	{Name: "uid", Profiles: likeOLMv0,
		Text: "the UID of the OperatorGroup in the cluster; webhooks then select their namespaces by the label that " +
			"OLM makes of it"},
	{Name: "installMode", Words: text.Words(bundle.InstallModes), Flag: "install-mode", Brief: "the install mode",
		Value: "MODE", Access: true, ID: option.InstallMode,
		Default: "what follows from the target namespaces, else AllNamespaces where an operator supports it, else " +
			"OwnNamespace",
		Profiles: with(likeOLMv0, generate.ProfileOLMv1, generate.ProfileSubscription,
			generate.ProfileClusterExtension),
		Text: "the install mode"},
	{Name: "targetNamespaces", Type: List, Flag: "target-namespaces", Brief: "the namespaces that the operator watches",
		Value: "A,B", Parse: parseNamespaces, Access: true, ID: option.TargetNamespaces,
		Text: "the namespaces that the operators watch; with a selector, the namespaces that it matches"},
	{Name: "selector", Type: LabelSelector, Flag: "selector", Value: "SELECTOR", Parse: parseSelector,
		ID: option.Selector, Profiles: with(likeOLMv0, generate.ProfileSubscription),
		Text: "the labels of the target namespaces; name the target namespaces as well, because olmgen does not ask " +
			"a cluster"},
	{Name: "staticProvidedAPIs", Type: List, Flag: "static-provided-apis", Value: "APIS", Alone: bundleAPIs,
		Parse: parseAPIs, ID: option.StaticProvidedAPIs,
		Profiles: with(likeOLMv0, generate.ProfileSubscription),
		Text: "makes the OperatorGroup static, so that OLM does not change its provided APIs; these are the " +
			"operators' own and the listed ones, written Kind.version.group"},
	{Name: "serviceAccount", Flag: "service-account", Value: "NAME", ID: option.ServiceAccount,
		Profiles: with(likeOLMv0, generate.ProfileSubscription, generate.ProfileClusterExtension),
		Text: "the ServiceAccount that limits the OperatorGroup, or, with releases of OLM v1 that require one, " +
			"installs the operator"},
	{Name: "copiedCSVNamespaces", Type: List, Flag: "copied-csv-namespaces", Value: "A,B", Parse: parseNamespaces,
		ID: option.CopiedCSVNamespaces, Profiles: likeOLMv0,
		Text: "with AllNamespaces, the namespaces that get a copied CSV"},
	{Name: "createNamespaces", Type: Bool, Flag: "create-namespace", Brief: "add the Namespace of the operator",
		ID:       option.CreateNamespace,
		Profiles: with(operators, generate.ProfileSubscription, generate.ProfileClusterExtension),
		Text:     "adds the Namespace of the operator; profile subscription has it anyway"},
	{Name: "createTargetNamespaces", Type: Bool, Flag: "create-target-namespaces", ID: option.CreateTargets,
		Profiles: with(likeOLMv0, generate.ProfileSubscription, generate.ProfileClusterExtension),
		Text: "adds the Namespaces of the targets, which then belong to olmgen: an engine that prunes deletes one, " +
			"with all that is in it, when it is no target any more"},
	{Name: "clusterObjectsFrom", ID: option.ClusterObjectsFrom, Profiles: operators,
		Text: "the namespace of another group that has these operators too, perhaps in another version; this group " +
			"then leaves out the CRDs, ClusterRoles of APIs and other cluster-scoped objects that the other one has"},
	{Name: "bundles", Type: Objects, Topic: TopicObjects, Required: true, Fields: bundleFields, Text: "the operators"},
}

var bundleFields = slices.Concat([]Option{
	{Name: "name", Default: "the package name", Text: "the name of the operator in layouts and messages; unique"},
	{Name: "source", Required: true,
		Text: "where the bundle is, as SOURCE of olmgen render: a directory, an archive, oci://IMAGE or catalog:PATH"},
	{Name: "package", Flag: "package", Brief: "the package to take from a catalog", Value: "NAME", Topic: TopicSource,
		Access: true, ID: option.Package,
		Text: "the package to take from a catalog; for another source, the package that the bundle must have"},
	{Name: "channel", Flag: "channel", Brief: "the channel to take from a catalog", Value: "NAME", Topic: TopicSource,
		Access: true, ID: option.Channel, Default: "the package's default channel",
		Text: "the channel to take from a catalog or legacy package, and the channel of a Subscription or " +
			"ClusterExtension; for another source, a channel that the bundle must be in"},
	{Name: "version", Flag: "version", Brief: "the version to take from a catalog", Value: "VERSION",
		Topic: TopicSource, Access: true, ID: option.Version, Default: "the channel head",
		Text: "the version to take from a catalog or legacy package; for another source, the version that the bundle " +
			"must have"},
	{Name: "channelOfCatalog", Type: Bool,
		Text: "the channel is that of a catalog, which has the bundle in it even if the bundle does not name it; " +
			"without a channel, a Subscription takes the default one of the cluster's catalog, and a " +
			"ClusterExtension all; \"olmgen adopt\" writes this"},
}, settings, []Option{
	{Name: "descoped", Type: Object, Topic: TopicDescoped, Fields: descopedFields,
		Profiles: with(descoped, generate.ProfilePlain),
		Text: "where the operator is bound, and who may use its APIs; if the group has a name or target namespaces, " +
			"these decide where it is bound"},
	{Name: "subscription", Type: Object, Topic: TopicHandover, Fields: subscriptionFields, Profiles: subscription,
		Text: "the Subscription and its catalog"},
	{Name: "clusterExtension", Type: Object, Topic: TopicHandover, Fields: extensionFields, Profiles: extension,
		Text: "the ClusterExtension"},
	{Name: "config", Type: SubscriptionConfig, Flag: "config-subscription", Value: "FILE", Parse: parseConfig,
		Text: "the spec.config of a Subscription: olmgen applies it to the Deployments, or writes it for OLM"},
	{Name: "installed", Type: Object, Fields: installedFields, Profiles: likeOLMv0,
		Text: "what OLM chose when it installed the operator; the CSV then has the empty fields that OLM writes; " +
			"\"olmgen adopt\" writes this"},
	{Name: "patches", Type: Objects, Fields: patchFields, Text: "changes to the objects of this operator"},
})

var installedFields = []Option{
	{Name: "properties",
		Text: "the annotation operatorframework.io/properties of the CSV in the cluster: the catalog's properties of " +
			"the bundle, which the pods have too"},
	{Name: "replaces", Text: "spec.replaces of the CSV in the cluster, which comes from the catalog"},
	{Name: "webhooks", Type: Mapping,
		Text: "the names of the webhook configurations in the cluster, by the generateName of the webhook; OLM's " +
			"names end in five random characters"},
}

// settings are the options that are both in the defaults and in a bundle.
var settings = []Option{
	{Name: "profile", Words: text.Words(generate.Profiles), Default: string(generate.ProfileOLM), Flag: "profile",
		Brief: "what is written", Value: "PROFILE", Access: true, ID: option.Profile, Text: "what is written"},
	{Name: "names", Words: text.Words(generate.AllNames), Default: string(generate.NamesStable), Flag: "names",
		Brief: "names of roles and bindings", Value: "NAMES", ID: option.Names, Profiles: likeOLMv0,
		Text: "stable names, which survive an upgrade, or those of OLM"},
	{Name: "copiedCSVs", Words: text.Words(generate.AllCopiedCSVs), Default: string(generate.CopiedStub),
		Flag: "copied-csvs", Value: "COPIES", ID: option.CopiedCSVs, Profiles: likeOLMv0,
		Text: "the copies of the CSV in the target namespaces"},
	{Name: "certs", Type: Object, Topic: TopicCerts, Fields: certFields,
		Text: "who makes the certificates of webhooks and APIs"},
	{Name: "convertCRDs", Type: Bool, Flag: "convert-crds", Access: true, ID: option.ConvertCRDs,
		Profiles: operators, Text: "turns v1beta1 CRDs into v1"},
	{Name: "networkPolicies", Type: Bool, Flag: "network-policies", ID: option.NetworkPolicies,
		Profiles: []generate.Profile{generate.ProfilePlain},
		Text:     "adds a NetworkPolicy for each Deployment, which denies what its pods are not known to need"},
	{Name: "allowUnsupported", Type: Bool, Flag: "allow-unsupported", ID: option.AllowUnsupported,
		Text: "renders objects of kinds that OLM refuses in a bundle"},
	{Name: "suppress", Type: List, Words: bundle.WarningClasses, Flag: "suppress", ID: option.Suppress, Value: "CLASS",
		Text: "leaves out accepted warnings, by their classes; the class is in brackets behind a warning"},
	{Name: "templates", ID: option.Templates, Flag: "templates", Value: "DIR", ForAll: true,
		Text: "a directory with templates that replace olmgen's own"},
}

var certFields = []Option{
	{Name: "provider", Words: text.Words(generate.AllCerts), Flag: "certs",
		Brief: "who makes the certificates of webhooks", Value: "PROVIDER", ID: option.Certs,
		Profiles: with(operators, generate.ProfileOLMv1), Default: "olm with names olm, else none",
		Text: "who makes the certificates of webhooks and APIServices"},
	{Name: "issuer", Type: Object, Flag: "issuer", Value: "KIND/NAME", Parse: parseIssuer,
		ID: option.Issuer, Profiles: operators, Text: "with cert-manager: an existing issuer",
		Fields: []Option{
			{Name: "kind", Required: true, Words: []string{"Issuer", "ClusterIssuer"}, Text: "its kind"},
			{Name: "name", Required: true, Text: "its name"},
		}},
	{Name: "secret", Flag: "cert-secret", Value: "NAME", ID: option.CertSecret, Profiles: operators,
		Text: "with user: the name of the Secret; {deployment} in it stands for the name of the Deployment"},
	{Name: "caBundleFile", Flag: "ca-bundle", Value: "FILE", ID: option.CABundle, Profiles: operators,
		Text: "with user: a file with the certificates of the CA, in PEM"},
}

var descopedFields = []Option{
	{Name: "bindNamespaces", Profiles: descoped, Type: List, Flag: "bind-namespaces",
		Brief: "bind the operator in these namespaces", Value: "A,B", Access: true,
		ID: option.BindNamespaces, Parse: parseNamespaces,
		Text: "the namespaces to bind the operator in, with one RoleBinding for each namespace and ServiceAccount"},
	{Name: "bindAll", Profiles: descoped, Type: Bool, Flag: "bind-all", Brief: "bind the operator in all namespaces",
		Access: true, ID: option.BindAll,
		Text: "binds the operator in all namespaces, with one ClusterRoleBinding for each ServiceAccount"},
	{Name: "bindCluster", Profiles: descoped, Type: Bool, Flag: "bind-cluster", Access: true,
		ID: option.BindCluster,
		Text: "binds the operator to what no RoleBinding grants and to nothing else, such as cluster-scoped " +
			"resources: with one ClusterRoleBinding for each ServiceAccount"},
	{Name: "bindNone", Profiles: descoped, Type: Bool, Flag: "bind-none", Access: true, ID: option.BindNone,
		Text: "binds the operator nowhere, also one that supports AllNamespaces only, which is bound in all " +
			"namespaces otherwise"},
	{Name: "tenants", Profiles: descoped, Flag: "tenants", Value: "FILE", Access: true,
		ID:   option.Tenants,
		Text: "a file that lists the namespaces to bind the operator in, and the optional ClusterRoles of each"},
	{Name: "bindInternal", Profiles: descoped, Type: Bool, Flag: "bind-internal", ID: option.BindInternal,
		Text: "binds the operator only to its internal APIs, which the annotation internal-objects of its CSV names: " +
			"to cluster-scoped ones in the cluster, to the others in its own namespace"},
	{Name: "aggregateTo", Type: List, Profiles: with(descoped, generate.ProfilePlain),
		Words: text.Words(append(slices.Clone(generate.DefaultRoles), generate.NoRole)), Flag: "aggregate-to",
		Value: "ROLES", ID: option.AggregateTo,
		Default: "with plain: admin, edit and view, as OLM does; with descoped: the same for an operator that " +
			"supports AllNamespaces only or has a global OperatorGroup, else none",
		Text: "the default roles that the user roles of the APIs are aggregated to"},
	{Name: "status", Profiles: descoped, Words: text.Words(generate.Statuses), Default: string(generate.StatusPlan),
		Flag: "status", Value: "WHOSE", ID: option.Status,
		Text: "what the operator may do with the status of its APIs in all namespaces: get and update, as the " +
			"descoping plan expects, or only what its CSV requests"},
	{Name: "split", Profiles: descoped, Words: text.Words(generate.Splits), Default: "nothing", Flag: "split",
		Value: "BY", ID: option.Split,
		Text: "splits optional ClusterRoles off the required ones: one for each API group that is neither " +
			"Kubernetes' nor the operator's, or one for each resource"},
}

var subscriptionFields = []Option{
	{Name: "name", Flag: "subscription", Value: "NAME", ID: option.Subscription, Default: "the package name",
		Text: "the name of the Subscription"},
	{Name: "approval", Words: text.Words([]v1alpha1.Approval{v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual}),
		Default: string(v1alpha1.ApprovalAutomatic), Flag: "approval", Value: "APPROVAL", ID: option.Approval,
		Text: "how upgrades are approved"},
	{Name: "startingCSV", Type: Bool, Flag: "starting-csv",
		Text: "OLM starts with this bundle, not with the head of its channel"},
	{Name: "catalogSource", Type: Object, Fields: catalogFields, Flag: "catalog-source", Value: "NAMESPACE/NAME",
		Parse: parseCatalog, ID: option.CatalogSource,
		Default: "that of OpenShift with the catalog's image, with another image " +
			"openshift-marketplace/<package>-catalog",
		Text: "the catalog"},
}

var catalogFields = []Option{
	{Name: "namespace", Default: "openshift-marketplace", Text: "its namespace"},
	{Name: "name", Text: "its name"},
	{Name: "image", Flag: "catalog-image", Value: "IMAGE", ID: option.CatalogImage,
		Text: "the image of a catalog; olmgen adds its CatalogSource"},
}

var extensionFields = []Option{
	{Name: "name", Flag: "cluster-extension", Value: "NAME", ID: option.Extension, Default: "the package name",
		Text: "the name of the ClusterExtension"},
	{Name: "versionRange", Flag: "version-range", Value: "VERSIONS", ID: option.VersionRange, Default: "any",
		Parse: parseVersionRange,
		Text:  "the versions that OLM v1 may install, such as 1.2.3 or '>=1.2, <2'"},
	{Name: "upgradeConstraintPolicy",
		Words:   text.Words([]generate.UpgradePolicy{generate.UpgradeCatalogProvided, generate.UpgradeSelfCertified}),
		Default: string(generate.UpgradeCatalogProvided), Flag: "upgrade-constraint-policy", Value: "POLICY",
		ID:   option.UpgradePolicy,
		Text: "which upgrades OLM v1 makes: those of the catalog, or with SelfCertified any"},
}
