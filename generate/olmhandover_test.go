package generate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/manifest"
)

// inChannels returns a bundle that OLM would install in every mode, in the given channels.
func inChannels(t *testing.T, byDefault string, channels ...string) *bundle.Bundle {
	t.Helper()
	b := testBundle(t, allModes+ownsMemcached+oneDeployment, memcachedCRD)
	b.Channels, b.DefaultChannel = channels, byDefault
	b.CSV.Spec.Version.Patch = 1
	return b
}

// said returns the warnings and notes of a rendering.
func said(t *testing.T, b *bundle.Bundle, o Options) []string {
	t.Helper()
	result, err := Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, w := range result.Warnings {
		out = append(out, w.Error.Error())
	}
	for _, n := range result.Notes {
		out = append(out, n.Msg)
	}
	return out
}

// keys returns the identities of what was rendered.
func (o objects) keys() []string {
	var out []string
	for k := range o {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// fromCommunity is what a Subscription must say, whatever the bundle.
var fromCommunity = SubscriptionOptions{CatalogSource: "community-operators"}

func TestChannel(t *testing.T) {
	for _, c := range []struct {
		name, byDefault string
		channels        []string
		asked, want     string
		ofCatalog       bool
		refused, warned string
	}{
		{name: "default", byDefault: "stable", channels: []string{"alpha", "stable"}, want: "stable"},
		{name: "only one", channels: []string{"alpha"}, want: "alpha"},
		{name: "only one, twice", channels: []string{"alpha", "alpha"}, want: "alpha"},
		{name: "the default is another's", byDefault: "stable", channels: []string{"alpha"}, want: "alpha"},
		{name: "the default alone", byDefault: "stable", want: "stable"},
		{name: "none", want: ""},
		{name: "asked for", byDefault: "stable", channels: []string{"alpha", "stable"}, asked: "alpha", want: "alpha"},
		{name: "asked for, of none", asked: "alpha", want: "alpha"},
		{name: "open", channels: []string{"alpha", "beta"}, refused: "is in channels alpha, beta, and the default channel is not one of them"},
		{name: "open with another's default", byDefault: "stable", channels: []string{"alpha", "beta"}, refused: "is in channels alpha, beta"},
		{name: "another than asked for", channels: []string{"alpha"}, asked: "stable", want: "stable", warned: "says that it is in channel alpha, not in channel stable"},
		{name: "that of a catalog", channels: []string{"alpha"}, asked: "stable", ofCatalog: true, want: "stable"},
		{name: "the default of a catalog", byDefault: "alpha", channels: []string{"alpha"}, ofCatalog: true},
		{name: "the default of a catalog, open", channels: []string{"alpha", "beta"}, ofCatalog: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := inChannels(t, c.byDefault, c.channels...)
			o := Options{Profile: ProfileSubscription, Namespace: "cache", Channel: c.asked, ChannelOfCatalog: c.ofCatalog, Subscription: fromCommunity}
			result, err := Render(b, o)
			checkRefused(t, err, c.refused)
			if err != nil {
				return
			}
			if got := strings.Contains(lastData(result), "\n  channel: "+c.want); got != (c.want != "") {
				t.Errorf("want channel %q in\n%s", c.want, lastData(result))
			}
			warned := len(result.Warnings) > 0 && strings.Contains(result.Warnings[0].Msg, c.warned)
			if warned != (c.warned != "") {
				t.Errorf("warnings %v, want %q", result.Warnings, c.warned)
			}
			// OLM v1 does without a channel
			o.Profile = ProfileClusterExtension
			if result, err = Render(b, o); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(lastData(result), "\n      channels:\n      - "+c.want); got != (c.want != "") {
				t.Errorf("want channel %q in\n%s", c.want, lastData(result))
			}
		})
	}
}

func lastData(r *Result) string { return string(r.Objects[len(r.Objects)-1].Data) }

func TestHandOverRefuses(t *testing.T) {
	const apiService = `
apiservicedefinitions:
  owned:
  - {name: memos, group: memo.example.com, version: v1, kind: Memo, deploymentName: my.dep, containerPort: 443}
`
	sub, ext := ProfileSubscription, ProfileClusterExtension
	plain := inChannels(t, "", "alpha")
	named := func(pkg string) *bundle.Bundle {
		b := inChannels(t, "", "alpha")
		b.Package = pkg
		return b
	}
	for _, c := range []struct {
		name          string
		b             *bundle.Bundle
		o             Options
		refused, hint string
	}{
		{"a target in a global namespace", plain, Options{Profile: sub, Namespace: "openshift-operators", TargetNamespaces: []string{"a"}},
			"namespace openshift-operators has the OperatorGroup global-operators, which does not select a alone", "[Namespace OperatorGroup]"},
		{"the own namespace, which is global", plain, Options{Profile: sub, Namespace: "operators", InstallMode: own}, "does not select operators alone", "[Namespace OperatorGroup]"},
		{"an install mode that the operator has not", testBundle(t, globalOnly+oneDeployment), Options{Profile: sub, Namespace: "x", InstallMode: own}, "UnsupportedOperatorGroup", "AllNamespaces"},
		{"approval", plain, Options{Profile: sub, Subscription: SubscriptionOptions{Approval: "Never", CatalogSource: "x"}}, `unknown approval "Never"`, "choose one of Automatic, Manual"},
		{"a Subscription's name", plain, Options{Profile: sub, Subscription: SubscriptionOptions{Name: "A", CatalogSource: "x"}}, `Subscription name "A" is not a valid name`, "[Subscription.Name]"},
		{"a package that can't be the name", named("My_Package"), Options{Profile: sub, Namespace: "x", OperatorGroup: "g", Subscription: fromCommunity}, `Subscription name "My_Package" is not a valid name`, "[Subscription.Name]"},
		{"no catalog", plain, Options{Profile: sub}, "nobody says from which CatalogSource OLM installs the operator", "[Subscription.CatalogSource]"},
		{"a catalog's name", plain, Options{Profile: sub, Subscription: SubscriptionOptions{CatalogSource: "A"}}, "catalog source openshift-marketplace/A is not a valid name", "[Subscription.CatalogSource]"},
		{"a catalog's namespace", plain, Options{Profile: sub, Subscription: SubscriptionOptions{CatalogNamespace: "a.b", CatalogSource: "community-operators"}}, "catalog source a.b/community-operators is not a valid name", "[Subscription.CatalogSource]"},
		{"an image", plain, Options{Profile: sub, Subscription: SubscriptionOptions{CatalogImage: "not an image"}}, `"not an image" is not an image reference`, "quay.io"},
		{"OpenShift's own catalog", plain, Options{Profile: sub, Subscription: SubscriptionOptions{CatalogImage: "quay.io/a/b:c", CatalogSource: "redhat-operators"}},
			"openshift-marketplace/redhat-operators is OpenShift's own", "[Subscription.CatalogSource]"},
		{"a static API", plain, Options{Profile: sub, Static: true, StaticProvidedAPIs: []string{"Memo"}}, `static provided API "Memo"`, "Prometheus.v1"},

		{"MultiNamespace", plain, Options{Profile: ext, Namespace: "x", TargetNamespaces: []string{"a", "b"}}, "OLM v1 does not support MultiNamespace", "[InstallMode TargetNamespaces]"},
		{"APIServices", testBundle(t, allModes+apiService+oneDeployment), Options{Profile: ext}, "it serves APIs by APIServices", "the profile subscription"},
		{"a package name", named("my_package"), Options{Profile: ext, Namespace: "x"}, `OLM v1 refuses the package name "my_package"`, "the profile subscription"},
		{"a ClusterExtension's name", plain, Options{Profile: ext, Extension: ExtensionOptions{Name: "A"}}, `ClusterExtension name "A" is not a valid name`, "[Extension.Name]"},
		{"a long name", plain, Options{Profile: ext, Extension: ExtensionOptions{Name: strings.Repeat("a", 54)}}, "is longer than 53 characters", "[Extension.Name]"},
		{"a version range", plain, Options{Profile: ext, Extension: ExtensionOptions{VersionRange: "newest"}}, `"newest" is not a version range`, "1.2.3"},
		{"a long version range", plain, Options{Profile: ext, Extension: ExtensionOptions{VersionRange: strings.Repeat("1 || ", 13) + "1"}}, "is longer than 64 characters", "1.2.3"},
		{"a policy", plain, Options{Profile: ext, Extension: ExtensionOptions{UpgradePolicy: "Any"}}, `unknown upgrade constraint policy "Any"`, "choose one of CatalogProvided, SelfCertified"},
		{"a channel", plain, Options{Profile: ext, Channel: "original_40"}, `OLM v1 refuses the channel name "original_40"`, "leave it out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Render(c.b, c.o)
			checkRefused(t, err, c.refused)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(fmt.Sprint(e.Hint(), " ", e.About()), c.hint) {
				t.Errorf("error %v, hint %q about %v, want %q", err, e.Hint(), e.About(), c.hint)
			}
		})
	}
}

// What OLM v1 accepts and does not get installed is a warning.
func TestClusterExtensionFails(t *testing.T) {
	const version = "version: 1.0.0"
	hook := func(port string) string {
		return `
webhookdefinitions:
- type: ValidatingAdmissionWebhook
  generateName: v.memo.example.com
  deploymentName: my.dep
  admissionReviewVersions: [v1]
  sideEffects: None` + port
	}
	const noVersion = "has no spec.version: OLM v1 does not install it"
	const noPort = "webhook v.memo.example.com has no containerPort: OLM v1 takes 0 for it"
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"neither", version + hook("\n  containerPort: 443"), nil},
		{"no version", hook("\n  containerPort: 443"), []string{noVersion}},
		{"no port", version + hook(""), []string{noPort}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, allModes+ownsMemcached+oneDeployment+"\n"+c.spec, memcachedCRD)
			result, err := Render(b, Options{Profile: ProfileClusterExtension, Namespace: "memo"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range result.Warnings {
				for _, text := range []string{noVersion, noPort} {
					if strings.Contains(w.Msg, text) {
						got = append(got, text)
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What OLM v1's renderer would refuse is refused on one line.
func TestClusterExtensionAsksTheRenderer(t *testing.T) {
	b := testBundle(t, allModes+ownsMemcached+oneDeployment, memcachedCRD)
	b.Annotations = nil
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(spec.DeploymentSpecs, spec.DeploymentSpecs...)
	_, err := Render(b, Options{Profile: ProfileClusterExtension})
	checkRefused(t, err, "OLM v1 refuses memcached-operator.v0.0.1: cluster service version contains "+
		"duplicate strategy deployment spec 'my.dep'; package name is empty")
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func TestSubscriptionWarns(t *testing.T) {
	b := inChannels(t, "", "alpha")
	b.CSV.Spec.Provider.Name = "Example"
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"nothing", Options{Namespace: "cache"}, nil},
		{"catalogs that OLM finds", Options{Namespace: "cache", Subscription: SubscriptionOptions{CatalogNamespace: "cache"}}, nil},
		{"one that it may not find", Options{Namespace: "cache", Subscription: SubscriptionOptions{CatalogNamespace: "elsewhere"}},
			[]string{"OLM looks for catalogs in the Subscription's namespace and in its own global one: is elsewhere that?"}},
		{"a version that does not stay", Options{Namespace: "cache", Subscription: SubscriptionOptions{StartingCSV: true}},
			[]string{"with Automatic approval OLM begins with memcached-operator.v0.0.1 and upgrades at once: with Manual approval it waits"}},
		{"one that does", Options{Namespace: "cache", Subscription: SubscriptionOptions{StartingCSV: true, Approval: "Manual"}}, nil},
		{"the global group", Options{}, []string{"the cluster must have the namespace openshift-operators with its OperatorGroup global-operators, or olmgen renders them on request"}},
		{"a second group", Options{Namespace: "operators", OperatorGroup: "mine"},
			[]string{"if namespace operators has the OperatorGroup global-operators, a second one stops all its operators (TooManyOperatorGroups)"}},
		{"the group itself", Options{Namespace: "operators", OperatorGroup: "global-operators"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Profile = ProfileSubscription
			c.o.Subscription.CatalogSource = fromCommunity.CatalogSource
			if diff := cmp.Diff(c.want, said(t, b, c.o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the OperatorGroup of a namespace needs, and whether it is there already.
func TestSubscriptionPlacement(t *testing.T) {
	b := inChannels(t, "", "alpha")
	const group, ns, sub = "OperatorGroup ", "Namespace ", "Subscription "
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"all namespaces", Options{}, []string{sub + "openshift-operators/memcached"}},
		{"a namespace of its own", Options{Namespace: "cache"}, []string{ns + "cache", group + "cache/memcached", sub + "cache/memcached"}},
		{"a group of its own", Options{OperatorGroup: "g"}, []string{ns + "memcached", group + "memcached/g", sub + "memcached/memcached"}},
		{"an account for the group", Options{ServiceAccount: "g"}, []string{ns + "memcached", group + "memcached/memcached", sub + "memcached/memcached"}},
		{"one target", Options{TargetNamespaces: []string{"a"}}, []string{ns + "memcached", group + "memcached/memcached", sub + "memcached/memcached"}},
		{"a namespace that is there, on request", Options{Namespace: "operators", CreateNamespace: true}, []string{ns + "operators", sub + "operators/memcached"}},
		{"a group that is there, on request", Options{Namespace: "operators", OperatorGroup: "global-operators"}, []string{group + "operators/global-operators", sub + "operators/memcached"}},
		{"a catalog", Options{Namespace: "cache", Subscription: SubscriptionOptions{CatalogImage: "quay.io/a/b"}},
			[]string{"CatalogSource openshift-marketplace/memcached-catalog", ns + "cache", group + "cache/memcached", sub + "cache/memcached"}},
		{"copied CSVs mean nothing", Options{Namespace: "cache", CopiedCSVNamespaces: []string{"x"}, CreateNamespace: true}, []string{ns + "cache", group + "cache/memcached", sub + "cache/memcached"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Profile = ProfileSubscription
			if c.o.Subscription.CatalogImage == "" {
				c.o.Subscription = fromCommunity
			}
			result, err := Render(b, c.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range result.Objects {
				got = append(got, strings.Replace(o.Kind+" "+o.Namespace+"/"+o.Name, " /", " ", 1))
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCatalogSourcePoll(t *testing.T) {
	b := inChannels(t, "", "alpha")
	for image, poll := range map[string]bool{
		"quay.io/a/b": true, "quay.io/a/b:v1": true, "registry.example.com:5000/a/b": true,
		"quay.io/a/b@sha256:" + strings.Repeat("a", 64): false, "quay.io/a/b:v1@sha256:" + strings.Repeat("a", 64): false,
	} {
		got := rendered(t, b, Options{Profile: ProfileSubscription, Subscription: SubscriptionOptions{CatalogImage: image}})
		spec := at(t, got["CatalogSource openshift-marketplace/memcached-catalog"], "spec").(map[string]any)
		if _, ok := spec["updateStrategy"]; ok != poll {
			t.Errorf("%s: %v", image, spec)
		}
	}
}

// A role that the bundle ships under the name of a generated one is OLM v1's to make.
func TestClusterExtensionLeavesShippedRoles(t *testing.T) {
	b := testBundle(t, allModes+ownsMemcached+oneDeployment, memcachedCRD, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: memcacheds.cache.example.com-v1alpha1-view}
rules: []
`)
	b.CSV.Spec.Version.Patch = 1
	o := Options{Profile: ProfileClusterExtension, Namespace: "cache", OLMVersion: "v1.11"}
	want := []string{"ClusterExtension memcached", "ClusterRole memcacheds.cache.example.com-v1alpha1-admin", "ClusterRole memcacheds.cache.example.com-v1alpha1-edit"}
	if diff := cmp.Diff(want, rendered(t, b, o).keys()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := said(t, b, o); len(got) != 1 || !strings.Contains(got[0], "the bundle ships the ClusterRole memcacheds.cache.example.com-v1alpha1-view: none is rendered") {
		t.Errorf("said %q", got)
	}
}

func TestClusterExtensionWarns(t *testing.T) {
	required := []bundle.Property{{Type: "olm.package", Value: []byte(`{}`)}}
	gate := func() []string {
		return []string{"operator-controller v1.11 has spec.config only in its experimental CRDs", "manifests/0csv.yaml:9: spec.installModes: " +
			"operator-controller v1.11 takes operators for their own or a single namespace only with the feature gate SingleOwnNamespaceInstallSupport, " +
			"which is on in the feature set experimental", "OLM v1 means to drop operators for their own or a single namespace (a draft of March 2026, " +
			"single-tenant simplification, not begun)"}
	}
	for _, c := range []struct {
		name string
		b    *bundle.Bundle
		o    Options
		want []string
	}{
		{"nothing", inChannels(t, "", "alpha"), Options{}, nil},
		{"own namespace", inChannels(t, "", "alpha"), Options{InstallMode: own}, gate()},
		{"single namespace", inChannels(t, "", "alpha"), Options{TargetNamespaces: []string{"a"}}, gate()},
		{"a catalog without", inChannels(t, "", "alpha"), Options{Properties: required}, nil},
		{"a version out of the range", inChannels(t, "", "alpha"), Options{Extension: ExtensionOptions{VersionRange: ">=1.0.0"}}, []string{"version 0.0.1 of the bundle is not in the range >=1.0.0"}},
		{"a version in the range", inChannels(t, "", "alpha"), Options{Extension: ExtensionOptions{VersionRange: "0.0.1"}}, nil},
		{"a channel that is none to OLM v1", inChannels(t, "", "original_40"), Options{},
			[]string{`OLM v1 refuses the channel name "original_40": it is left out, so OLM v1 takes all channels`}},
		{"an account", inChannels(t, "", "alpha"), Options{ServiceAccount: "installer"}, []string{"operator-controller v1.11 ignores spec.serviceAccount"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Profile, c.o.OLMVersion = ProfileClusterExtension, "v1.11"
			if diff := cmp.Diff(c.want, said(t, c.b, c.o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// OpenShift has spec.config in every feature set from 4.21 on, and the gate of a deploymentConfig only in the previews.
func TestClusterExtensionOfOpenShift(t *testing.T) {
	o := Options{Profile: ProfileClusterExtension, OpenShiftVersion: "5.1", ServiceAccount: "installer",
		Config: &v1alpha1.SubscriptionConfig{NodeSelector: map[string]string{"a": "b"}}}
	want := []string{"OpenShift 5.1 takes a deploymentConfig only with the feature gate DeploymentConfig, which is on in the " +
		"feature set TechPreviewNoUpgrade or DevPreviewNoUpgrade"}
	if diff := cmp.Diff(want, said(t, inChannels(t, "", "alpha"), o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A bundle of which only the catalog's facts are known is handed over, and not rendered.
func TestPartial(t *testing.T) {
	b := inChannels(t, "stable", "stable")
	b.Partial = true
	for _, p := range Profiles {
		_, err := Render(b, Options{Profile: p, Subscription: fromCommunity})
		var refused *Error
		if p.HandsOver() != (err == nil) || err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "from a catalog only")) {
			t.Errorf("profile %s: %v", p, err)
		}
	}
}

// A CatalogSource whose namespace nobody gives is where OpenShift's are, and a note says so.
func TestCatalogSourceNamespace(t *testing.T) {
	b := inChannels(t, "", "alpha")
	for namespace, want := range map[string]int{"": 1, "openshift-marketplace": 0, "olm": 0} {
		result, err := Render(b, Options{Profile: ProfileSubscription, Namespace: "cache",
			Subscription: SubscriptionOptions{CatalogImage: "quay.io/a/b", CatalogNamespace: namespace}})
		if err != nil {
			t.Fatal(err)
		}
		notes := 0
		for _, n := range result.Notes {
			if strings.HasPrefix(n.Msg, "the CatalogSource is in openshift-marketplace,") && slices.Equal(n.Options, []manifest.Option{option.CatalogSource}) {
				notes++
			}
		}
		if notes != want {
			t.Errorf("namespace %q: %d notes, want %d", namespace, notes, want)
		}
	}
}
