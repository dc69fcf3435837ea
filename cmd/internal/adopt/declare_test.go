package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
)

// with returns the small cluster after an edit of one object; kind and fields are merged into it.
func with(list []map[string]any, kind, fields string) []map[string]any {
	for _, o := range list {
		if o["kind"] == kind {
			mergeInto(o, fromYAML(fields))
		}
	}
	return list
}

func mergeInto(into, from map[string]any) {
	for k, v := range from {
		a, okA := into[k].(map[string]any)
		b, okB := v.(map[string]any)
		if okA && okB {
			mergeInto(a, b)
			continue
		}
		into[k] = v
	}
}

// webhook is a configuration that OLM made for a webhook of a CSV.
func webhook(name, csv, namespace string) map[string]any {
	return item("ValidatingWebhookConfiguration", name+"-x7k2p", `metadata: {labels: {olm.webhook-description-generate-name: `+name+
		`, olm.owner: `+csv+`, olm.owner.namespace: `+namespace+`}}`)
}

// moved returns objects in another namespace.
func moved(list []map[string]any, namespace string) []map[string]any {
	for _, o := range list {
		o["metadata"].(map[string]any)["namespace"] = namespace
	}
	return list
}

// What is declared for a cluster says all that a bundle does not, and nothing that the new form does not need.
func TestDeclare(t *testing.T) {
	const olm, plain, descoped, v1, sub, extension = generate.ProfileOLM, generate.ProfilePlain, generate.ProfileDescoped,
		generate.ProfileOLMv1, generate.ProfileSubscription, generate.ProfileClusterExtension
	all := generate.Profiles
	but := func(profiles ...generate.Profile) (rest []generate.Profile) {
		for _, p := range all {
			if !slices.Contains(profiles, p) {
				rest = append(rest, p)
			}
		}
		return rest
	}
	of := func(profiles ...generate.Profile) []generate.Profile { return profiles }
	group := func(fields string) []map[string]any {
		list := dropped(ferry(), "OperatorGroup", "og")
		return append(list, item("OperatorGroup", "harbour/og", fields))
	}
	const several = `{spec: {targetNamespaces: [pier, dock]}, status: {namespaces: [pier, dock]}}`
	global := group(`{spec: {}, status: {namespaces: [""]}}`)
	served := with(ferry(), "ClusterServiceVersion", `spec: {webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: vferry}]}`)
	hooked := append(served, webhook("vferry", "ferry.v1.0.0", "harbour"))
	needy := with(append(ferry(), webhook("vferry", "ferry.v1.0.0", "harbour")), "ClusterServiceVersion",
		`{metadata: {annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.package.required","value":{"packageName":"x"}}]}'}},
  spec: {webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: vferry}]}}`)
	again := slices.Concat(ferry(), moved(ferry(), "pier"))
	copied := []map[string]any{item("ClusterServiceVersion", "pier/ferry.v1.0.0", `metadata: {labels: {olm.copiedFrom: harbour}}`)}
	plan := func(path string) []map[string]any {
		return append(ferry(), item("InstallPlan", "harbour/install", `{spec: {clusterServiceVersionNames: [ferry.v1.0.0]},
  status: {bundleLookups: [{identifier: ferry.v1.0.0, path: "`+path+`", catalogSourceRef: {namespace: olm, name: cat}}]}}`))
	}
	ready := append(with(global, "Subscription", `spec: {channel: stable}`),
		item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, image: quay.io/cat}`))
	for _, c := range []struct {
		what    string
		objects []map[string]any
		text    string
		in      []generate.Profile // the forms that have the text; the others have it not
	}{
		{"names that stay", ferry(), "\n  names: olm\n", of(olm, plain)},
		{"namespaces that are there", ferry(), "- target: {kind: Namespace}\n", of(sub)},
		{"the namespace of all global operators", moved(with(ferry(), "OperatorGroup", `{spec: {targetNamespaces: null}, status: {namespaces: [""]}}`), "operators"),
			"- target: {kind: Namespace}\n", nil},
		{"the group", ferry(), "\n  name: og\n", but(v1, extension)},
		{"targets", ferry(), "\n  targetNamespaces:\n  - pier\n", all},
		{"several targets, all namespaces with OLM v1", group(several), "\n  targetNamespaces:\n  - dock\n  - pier\n", but(extension)},
		{"several targets of what OLM v1 refuses", with(group(several), "ClusterServiceVersion", `spec: {installModes: [{type: MultiNamespace, supported: true}]}`),
			"\n  targetNamespaces:\n  - dock\n  - pier\n", all},
		{"all namespaces", global, "\n  installMode: AllNamespaces\n", but(descoped)},
		{"all namespaces are no targets", global, "targetNamespaces:", nil},
		{"a selector", group(`{spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`), "\n  selector:\n    matchLabels:\n      a: b\n", of(olm, plain, sub)},
		{"what a selector chose", group(`{spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`), "# What the selector chose", of(olm, plain, sub)},
		{"the bundles of a group with a selector", group(`{spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`), "- source: bundles/ferry.v1.0.0\n", all},
		{"a selector beside targets", group(`{spec: {targetNamespaces: [pier], selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`), "selector", nil},
		{"no selector", group(`{spec: {}, status: {namespaces: [pier]}}`), "selector", nil},
		{"a selector that OLM has not seen yet", group(`{spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [""]}}`), "selector", nil},
		{"an empty selector", group(`{spec: {selector: {}}, status: {namespaces: [""]}}`), "selector", nil},
		{"the APIs of a static group", group(`{metadata: {annotations: {olm.providedAPIs: "Ferry.v1.example.com,Other.v1.example.com"}},
  spec: {targetNamespaces: [pier], staticProvidedAPIs: true}, status: {namespaces: [pier]}}`), "\n  staticProvidedAPIs:\n  - Other.v1.example.com\n  ", of(olm, plain, sub)},
		{"a group that is not static", group(`{metadata: {annotations: {olm.providedAPIs: "Other.v1.example.com"}},
  spec: {targetNamespaces: [pier]}, status: {namespaces: [pier]}}`), "Other", nil},
		{"the account of a group", group(`{spec: {targetNamespaces: [pier], serviceAccountName: cap}, status: {namespaces: [pier]}}`), "\n  serviceAccount: cap\n", of(olm, plain, sub)},
		{"the UID in the labels of namespaces", append(hooked, copied...), "\n  uid: u-og\n", of(olm)},
		{"no UID without webhooks", ferry(), "uid:", nil},
		{"no UID for a selector", append(group(`{metadata: {uid: u}, spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`),
			webhook("vferry", "ferry.v1.0.0", "harbour")), "uid:", nil},
		{"copied CSVs of a global group", append(slices.Clone(global), copied...), "\n  copiedCSVNamespaces:\n  - pier\n", of(olm)},
		{"copied CSVs in targets", append(ferry(), copied...), "copiedCSVNamespaces:", nil},
		{"an operator that is in two namespaces", again, "\n  clusterObjectsFrom: harbour\n", of(olm, plain, descoped)},
		{"groups of one name", again, "\n  name: pier-og\n", of(descoped)},
		{"its name", again, "\n    name: ferry-pier\n", all},
		{"an operator that is in one namespace", ferry(), "ferry-harbour", nil},
		{"two operators that are in two namespaces", slices.Concat(ferry(), tug("harbour"), moved(ferry(), "pier"), tug("pier")),
			"\n  clusterObjectsFrom: harbour\n", of(olm, plain, descoped)},
		{"one of two operators that is in two namespaces", slices.Concat(ferry(), moved(ferry(), "pier"), tug("pier")), "clusterObjectsFrom", nil},
		{"operators of two namespaces in a third one", slices.Concat(ferry(), tug("bay"), moved(ferry()[:1], "bay"), moved(ferry(), "pier"), tug("pier")),
			"clusterObjectsFrom", nil},
		{"certificates", served, "\n    certs:\n      provider: cert-manager\n", of(plain, descoped, v1)},
		{"certificates of what OLM v1 refuses", needy, "\n    certs:\n      provider: cert-manager\n", of(plain, descoped, v1, extension)},
		{"no certificates", ferry(), "certs:", nil},
		{"the names of webhooks", hooked, "\n      webhooks:\n        vferry: vferry-x7k2p\n", of(olm, plain)},
		{"the names of webhooks of what OLM v1 refuses", needy, "\n      webhooks:\n        vferry: vferry-x7k2p\n", of(olm, plain, extension)},
		{"no webhooks", ferry(), "webhooks:", nil},
		{"installed", ferry(), "\n    installed:\n", of(olm)},
		{"no properties", ferry(), "properties:", nil},
		{"properties", with(ferry(), "ClusterServiceVersion", `metadata: {annotations: {operatorframework.io/properties: '{"properties":[]}'}}`), "      properties: '{\"properties\":[]}'\n", of(olm, generate.ProfilePlain)},
		{"the config of the Subscription", with(ferry(), "Subscription", `spec: {config: {env: [{name: A, value: b}]}}`),
			"\n    # spec.config of the Subscription harbour/ferry-sub\n    config:\n      env:\n      - name: A\n        value: b\n", all},
		{"no config", ferry(), "\n    config:", nil},
		{"no Subscription", dropped(ferry(), "Subscription", "ferry-sub"), "# ClusterServiceVersion ferry.v1.0.0, Succeeded, without a Subscription.\n", all},
		{"no Subscription to hand over", dropped(ferry(), "Subscription", "ferry-sub"), "subscription:\n", nil},
		{"the default channel", ferry(), "# Subscription ferry-sub: package ferry, the default channel, catalog olm/cat.\n", all},
		{"a channel", ready, "# Subscription ferry-sub: package ferry, channel stable, catalog olm/cat.\n", all},
		{"a channel to go on with", ready, "\n    channel: stable\n", of(sub, extension)},
		{"a channel that the catalog of the cluster has", ready, "\n    channelOfCatalog: true", of(sub, extension)},
		{"no channel", ferry(), "\n    channelOfCatalog: true # the Subscription names none", of(sub, extension)},
		{"no channel to go on with", ferry(), "\n    channel:", nil},
		{"a Subscription", ready, "\n    subscription:\n      catalogSource:\n        name: cat\n        namespace: olm\n      name: ferry-sub\n      startingCSV: true\n", of(sub)},
		{"a ClusterExtension", ready, "\n    clusterExtension:\n      name: ferry-sub\n", of(extension)},
		{"no approval", ready, "approval: Manual", nil},
		{"no version to stay at", ready, "versionRange", nil},
		{"an approval", with(slices.Clone(ferry()), "Subscription", `spec: {installPlanApproval: Manual}`), "      approval: Manual\n", of(sub)},
		{"what OLM v1 refuses for its dependencies", with(ferry(), "ClusterServiceVersion", `metadata: {annotations: {operatorframework.io/properties:
  '{"properties":[{"type":"olm.package.required","value":{"packageName":"x","versionRange":"1"}}]}'}}`),
			"    profile: plain # OLM v1 refuses it: C2 No dependency resolution\n    names: olm", of(extension)},
		{"what OLM v1 takes", ready, "OLM v1 refuses it", nil},
		{"an unknown image", ferry(), "write oci://IMAGE@sha256:... or put the bundle there.", all},
		{"an unknown image of a catalog", ready, "# opm render quay.io/cat | jq", all},
		{"an unknown image of a catalog without image", append(ferry(), item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, address: x}`)), `"csvName": "ferry.v1.0.0"}' localhost:50051 api.Registry/GetBundle`, all},
		{"a channel to ask for", append(ferry(), item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, address: x}`)), `-d '{"name": "ferry"}' localhost:50051 api.Registry/GetPackage`, all},
		{"no channel that the registry refuses", append(ferry(), item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, address: x}`)), `"channelName": ""`, nil},
		{"an image by digest", plan("quay.io/f@sha256:0123"), "- source: oci://quay.io/f@sha256:0123\n", all},
		{"where the image is from", plan("quay.io/f@sha256:0123"), "# The image is in status.bundleLookups of InstallPlan harbour/install.\n", all},
		{"a digest does not move", plan("quay.io/f@sha256:0123"), "A tag can be moved", nil},
		{"an image by tag", plan("quay.io/f:1"), "# A tag can be moved: write the digest. crane digest quay.io/f:1\n", all},
	} {
		s := cluster(t, c.objects)
		for _, to := range all {
			out, err := Declare(s, Options{File: "olmgen.yaml", Directory: "out", To: to})
			if err != nil {
				t.Fatalf("%s: %s: %v", c.what, to, err)
			}
			if has := strings.Contains(string(out), c.text); has != slices.Contains(c.in, to) {
				t.Errorf("%s: %s has %q: %t\n%s", c.what, to, c.text, has, out)
			}
		}
	}
}

// A file is for profile olm unless another one is asked for. Manual approval is kept by a version range of OLM v1, and
// a source that has several bundles gets package and version.
func TestDeclareOptions(t *testing.T) {
	ready := append(with(ferry(), "OperatorGroup", `{spec: {targetNamespaces: null}, status: {namespaces: [""]}}`),
		item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, image: quay.io/cat}`))
	ready = with(ready, "Subscription", `spec: {installPlanApproval: Manual}`)
	for _, c := range []struct {
		what    string
		options Options
		has     string
		lacks   string
		err     string
	}{
		{"nothing", Options{}, "  profile: olm # the objects as OLM made them", "    version:", ""},
		{"a form", Options{To: generate.ProfilePlain}, "  profile: plain # the same operators without OLM", "    version:", ""},
		{"manual approval", Options{To: generate.ProfileClusterExtension}, "      versionRange: \"1.0.0\"\n", "approval", ""},
		{"a directory", Options{Sources: map[string]string{"ferry": "/bundles/ferry"}}, "- source: /bundles/ferry\n", "    version:", ""},
		{"a directory by CSV", Options{Sources: map[string]string{"ferry.v1.0.0": "/bundles/a", "ferry": "/bundles/b"}}, "- source: /bundles/a\n", "/bundles/b", ""},
		{"a catalog", Options{Sources: map[string]string{"ferry": "catalog:/cat"}}, "- source: catalog:/cat\n    package: ferry\n    version: \"1.0.0\"\n", "unknown", ""},
		{"the source of nothing", Options{Sources: map[string]string{"barge": "/x"}}, "", "", `the cluster has no operator "barge"`},
	} {
		c.options.File, c.options.Directory = "olmgen.yaml", "out"
		out, err := Declare(cluster(t, ready), c.options)
		switch {
		case c.err != "":
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v", c.what, err)
			}
		case err != nil || !strings.Contains(string(out), c.has) || strings.Contains(string(out), c.lacks):
			t.Errorf("%s: %v\n%s", c.what, err, out)
		}
	}
}

// Operators that stay with OLM are in no file. What they share with others stays with OLM too; one that was refused is
// a comment with the reason.
func TestDeclareSome(t *testing.T) {
	const shared, sharedRoles = "- target: {kind: OperatorGroup, name: og, namespace: harbour}\n", "- target: {kind: ClusterRole, name: olm\\.og\\.og\\.admin-6027pG52UbswK7xDcJF8Ggf9gBEsCxGGQSpNC7|olm"
	two := cluster(t, ferry(), tug("harbour"))
	whole := cluster(t, ferry(), tug("harbour"))
	failed := with(tug("harbour"), "ClusterServiceVersion", `status: {phase: Failed, reason: UnsupportedOperatorGroup, message: "no\nway"}`)
	const refused = "# Namespace harbour. It is not adopted: OLM does not run it (UnsupportedOperatorGroup): no way\n"
	global := moved(with(tug("x"), "ClusterServiceVersion", `{}`), "operators")
	group := item("OperatorGroup", "operators/global-operators", `{spec: {}, status: {namespaces: [""]}}`)
	apart := cluster(t, ferry(), global, []map[string]any{group})
	for _, c := range []struct {
		what string
		s    *State
		to   generate.Profile
		text string
		want bool
	}{
		{"the group of one of two", mustSelect(t, two, "ferry"), generate.ProfileOLM, shared, true},
		{"the roles of the group of one of two", mustSelect(t, two, "ferry"), generate.ProfileOLM, sharedRoles, true},
		{"the group of one of two that OLM goes on with", mustSelect(t, two, "ferry"), generate.ProfileSubscription, shared, true},
		{"the roles of the group of one of two without OLM", mustSelect(t, two, "ferry"), generate.ProfilePlain, sharedRoles, true},
		{"the group of one of two without OLM", mustSelect(t, two, "ferry"), generate.ProfilePlain, shared, false},
		{"the group of one of two that is not rendered", mustSelect(t, two, "ferry"), generate.ProfileDescoped, "patches:", false},
		{"the group of both", two, generate.ProfileOLM, "patches:", false},
		{"one that was not chosen", mustSelect(t, two, "ferry"), generate.ProfileOLM, "tug", false},
		{"one that was not chosen is not refused", mustSelect(t, two, "ferry"), generate.ProfileOLM, "It is not adopted", false},
		{"one that was refused", cluster(t, ferry(), failed), generate.ProfileOLM, refused, true},
		{"one that cannot be rendered", whole.Refuse(only(whole, "tug")[0], "no\nbundle"), generate.ProfileOLM, "It is not adopted: no bundle\n", true},
		{"all were refused", mustSelect(t, cluster(t, ferry(), failed), "tug"), generate.ProfileOLM, "groups: []", true},
		{"the namespace of what was not chosen", mustSelect(t, apart, "tug"), generate.ProfileSubscription, "kind: Namespace", false},
		{"the namespace of what was chosen", mustSelect(t, apart, "ferry"), generate.ProfileSubscription, "kind: Namespace", true},
	} {
		out, err := Declare(c.s, Options{File: "olmgen.yaml", Directory: "out", To: c.to})
		if err != nil || strings.Contains(string(out), c.text) != c.want {
			t.Errorf("%s: %v: want %q to be %t in\n%s", c.what, err, c.text, c.want, out)
		}
	}
}
