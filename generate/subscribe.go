package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// SubscriptionOptions holds the options of ProfileSubscription. The zero value of each field is its default.
type SubscriptionOptions struct {
	Name             string            // default: the package name
	Approval         v1alpha1.Approval // of InstallPlans; default: Automatic, as in OLM
	StartingCSV      bool              // begin with this bundle, not with the channel's head
	CatalogNamespace string            // default: openshift-marketplace
	CatalogSource    string            // default: <package>-catalog; it or CatalogImage must be given
	CatalogImage     string            // adds the CatalogSource of this image
}

var subscriptionGenerators = []func(*rendering){
	installable,
	namespaces,
	subscriptionGroup,
	catalogSource,
	subscription,
}

func (o Options) asksForGroup() bool {
	return o.OperatorGroup != "" || o.Selector != nil || o.Static || len(o.StaticProvidedAPIs) > 0 ||
		o.ServiceAccount != ""
}

// hasGroup reports whether the profile knows an OperatorGroup that is not there already.
func (o Options) hasGroup() bool {
	switch o.Profile {
	case ProfileOLMv1, ProfileClusterExtension:
		return false
	case ProfileDescoped:
		return o.OperatorGroup != ""
	case ProfileSubscription:
		return o.asksForGroup() || !olm.HasGlobalGroup(o.Namespace)
	}
	return true
}

// global reports whether the operator will watch all namespaces.
func (o Options) global(csv *v1alpha1.ClusterServiceVersion) bool {
	mode, err := o.mode(supported(csv), o.TargetNamespaces)
	return err == nil && mode == v1alpha1.InstallModeTypeAllNamespaces
}

// installable refuses what OLM would refuse after the Subscription has been applied.
func installable(r *rendering) {
	r.fail(cmp.Or(checkStatic(r.options.StaticProvidedAPIs), checkDefinitions(r.bundle)))
}

// subscriptionGroup makes the OperatorGroup. Its annotation olm.providedAPIs is left to OLM, unless the group is
// static.
func subscriptionGroup(r *rendering) {
	o := r.options
	there := olm.HasGlobalGroup(o.Namespace)
	switch {
	case o.hasGroup() && there && o.OperatorGroup != olm.GlobalGroup:
		r.warnInstallation("if namespace %s has the OperatorGroup %s, a second one stops all its operators "+
			"(TooManyOperatorGroups)", o.Namespace, olm.GlobalGroup)
	case !o.hasGroup() && !r.global():
		r.fail(refuse("choose another namespace, or name an OperatorGroup if there is none",
			"namespace %s has the OperatorGroup %s, which does not select %s alone", o.Namespace, olm.GlobalGroup,
			join(r.targets)).
			with(option.Namespace, option.OperatorGroup))
	case !o.hasGroup():
		r.notes = append(r.notes, manifest.Message{
			Msg: fmt.Sprintf("the cluster must have the namespace %s with its OperatorGroup %s, or olmgen "+
				"renders them on request", o.Namespace, olm.GlobalGroup),
			Options: []manifest.Option{option.CreateNamespace, option.OperatorGroup}})
		return
	}
	var provided []string
	if o.Static || len(o.StaticProvidedAPIs) > 0 {
		provided = r.groupAPIs()
	}
	r.operatorGroup(provided)
}

func (r *rendering) catalog() (namespace, source string) {
	s := r.options.Subscription
	setDefault(&s.CatalogSource, r.bundle.Package+"-catalog")
	setDefault(&s.CatalogNamespace, olm.NamespaceMarketplace)
	return s.CatalogNamespace, s.CatalogSource
}

// catalogSource makes the CatalogSource of an image. If the image has a tag, OLM polls for a newer one.
func catalogSource(r *rendering) {
	image := r.options.Subscription.CatalogImage
	if image == "" && r.options.Subscription.CatalogSource == "" {
		r.fail(refuseOption(option.CatalogSource, "name the one that has package "+r.bundle.Package+
			", or give the image of its catalog", "nobody says from which CatalogSource OLM installs the operator"))
	}
	namespace, source := r.catalog()
	if problems := append(validation.IsDNS1123Label(namespace),
		validation.IsDNS1123Subdomain(source)...); len(problems) > 0 {
		r.fail(refuseOption(option.CatalogSource, "give its namespace and its name",
			"catalog source %s/%s is not a valid name: %s", namespace, source, text.Reason(problems)))
	}
	if image == "" {
		return
	}
	if olm.IsDefaultCatalogSource(namespace, source) {
		r.fail(refuseOption(option.CatalogSource, "give it another name", "the CatalogSource %s/%s is OpenShift's own",
			namespace, source))
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		r.fail(refuseOption(option.CatalogImage, "give it as in quay.io/example/catalog:v1",
			"the catalog's image %q is not an image reference", image))
	}
	if r.options.Subscription.CatalogNamespace == "" {
		r.notes = append(r.notes, manifest.Message{Options: []manifest.Option{option.CatalogSource},
			Msg: fmt.Sprintf("the CatalogSource is in %s, where OLM of OpenShift finds it from all namespaces: "+
				"elsewhere that is %s", namespace, olm.NamespaceUpstream)})
	}
	_, tag := ref.(name.Tag)
	r.author("catalogsource.yaml",
		Object{APIVersion: v1alpha1.CatalogSourceCRDAPIVersion, Kind: v1alpha1.CatalogSourceKind, Namespace: namespace,
			Name: source},
		views.CatalogSource{Name: source, Namespace: namespace, Image: image, Publisher: r.csv.Spec.Provider.Name,
			Poll: tag})
}

func subscription(r *rendering) {
	o := r.options.Subscription
	setDefault(&o.Approval, v1alpha1.ApprovalAutomatic)
	approvals := []v1alpha1.Approval{v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual}
	r.fail(checkWord(option.Approval, "approval", o.Approval, approvals))
	objectName := r.objectName(v1alpha1.SubscriptionKind, o.Name, option.Subscription)
	channel := r.channel()
	if channel == "" && len(r.bundle.Channels) > 1 && !r.options.ChannelOfCatalog {
		r.fail(refuseOption(option.Channel, "choose one", "%s is in %s, and the default channel is not one of them",
			r.csv.Name, channelList(r.bundle.Channels)))
	}
	config, err := ConfigValue(r.options.Config)
	r.fail(err)
	namespace, source := r.catalog()
	if !slices.Contains([]string{r.options.Namespace, olm.NamespaceMarketplace, olm.NamespaceUpstream}, namespace) {
		// OLM: pkg/controller/registry/resolver/step_resolver.go, ResolveSteps
		r.warnInstallation("OLM looks for catalogs in the Subscription's namespace and in its own global one: is "+
			"%s that?", namespace)
	}
	view := views.Subscription{Name: objectName, Namespace: r.options.Namespace, Package: r.bundle.Package,
		Channel:  channel,
		Approval: string(o.Approval), Source: source, SourceNamespace: namespace, Config: config}
	if o.StartingCSV {
		view.StartingCSV = r.csv.Name
		if o.Approval == v1alpha1.ApprovalAutomatic {
			r.warn(bundle.WarnInstallation, about(&manifest.Error{
				Msg: fmt.Sprintf("with Automatic approval OLM begins with %s and upgrades at once: with Manual "+
					"approval it waits", r.csv.Name)}, option.Approval))
		}
	}
	r.author("subscription.yaml",
		Object{APIVersion: v1alpha1.SubscriptionCRDAPIVersion, Kind: v1alpha1.SubscriptionKind,
			Namespace: view.Namespace, Name: view.Name}, view)
}

// handOver makes the objects with which OLM installs the bundle, and none of the objects that OLM creates then.
func handOver(b *bundle.Bundle, o Options, generators []func(*rendering)) (*Result, error) {
	o.CopiedCSVNamespaces = nil
	mode, targets, err := o.targets(b)
	if err != nil {
		return nil, err
	}
	r := &rendering{bundle: b, options: o, mode: mode, targets: targets, csv: b.CSV, apis: olm.OwnedAPIs(&b.CSV.Spec),
		keys: map[string]int{}}
	r.names = names{mode: NamesStable, csv: b.CSV, namespace: o.Namespace, group: o.OperatorGroup}
	return r.run(generators)
}

func (r *rendering) note(format string, args ...any) {
	r.notes = append(r.notes, manifest.Message{Msg: fmt.Sprintf(format, args...)})
}

// warnInstallation warns of what OLM in the cluster may not do as it is asked to.
func (r *rendering) warnInstallation(format string, args ...any) {
	r.warn(bundle.WarnInstallation, &manifest.Error{Msg: fmt.Sprintf(format, args...)})
}

func about(e *manifest.Error, options ...manifest.Option) *manifest.Error {
	e.Options = options
	return e
}

// channel returns the channel of the options, else, if no catalog says it, the default channel if the bundle is in it,
// else the only channel of the bundle, else "".
func (r *rendering) channel() string {
	channels := lists.SortedUnique(r.bundle.Channels)
	asked, byDefault := r.options.Channel, r.bundle.DefaultChannel
	switch {
	case r.options.ChannelOfCatalog:
		return asked
	case asked != "":
		if len(channels) > 0 && !slices.Contains(channels, asked) {
			r.warnInstallation("%s says that it is in %s, not in channel %s", r.csv.Name, channelList(channels), asked)
		}
		return asked
	case slices.Contains(channels, byDefault) || len(channels) == 0:
		return byDefault
	case len(channels) == 1:
		return channels[0]
	}
	return ""
}

func channelList(channels []string) string {
	if len(channels) == 1 {
		return "channel " + channels[0]
	}
	return "channels " + strings.Join(channels, ", ")
}

// objectName returns the name of the object that installs the package. The default is the package name.
func (r *rendering) objectName(kind, asked string, option manifest.Option) string {
	name := cmp.Or(asked, r.bundle.Package)
	r.fail(checkName(option, "give another name", kind, name))
	return name
}

// ConfigValue returns a Subscription's config as it stands in a document: with an empty node selector, which OLM takes
// for "remove it". It returns nil without a config.
func ConfigValue(c *v1alpha1.SubscriptionConfig) (map[string]any, error) {
	if c == nil {
		return nil, nil
	}
	v, err := olm.Value(c)
	if err != nil {
		return nil, err
	}
	if c.NodeSelector != nil && len(c.NodeSelector) == 0 { // removes the operator's own
		v["nodeSelector"] = map[string]any{}
	}
	return v, nil
}
