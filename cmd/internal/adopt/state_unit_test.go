package adopt

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// found returns "rule level object: message" of each finding.
func found(s *State) (list []string) {
	for _, f := range s.Findings {
		list = append(list, f.Rule+" "+string(f.Level)+" "+f.Object+": "+f.Message)
	}
	slices.Sort(list)
	return list
}

// What OLM resolved decides which namespaces a group watches; where it has not, the spec does.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		what, fields string
		targets      []string
		global       bool
	}{
		{"resolved", `{spec: {targetNamespaces: [x]}, status: {namespaces: [b, a]}}`, []string{"a", "b"}, false},
		{"resolved, and the spec is another since", `{spec: {}, status: {namespaces: [a]}}`, []string{"a"}, false},
		{"resolved as all", `{spec: {}, status: {namespaces: [""]}}`, []string{""}, true},
		{"named", `{spec: {targetNamespaces: [b, a]}}`, []string{"a", "b"}, false},
		{"one named", `{spec: {targetNamespaces: [a]}}`, []string{"a"}, false},
		{"none named", `{spec: {}}`, []string{""}, true},
		{"all and one", `{spec: {targetNamespaces: ["", a]}}`, []string{"", "a"}, false},
		{"a selector that matches nothing", `{spec: {selector: {matchLabels: {a: b}}}}`, nil, false},
	} {
		s := cluster(t, dropped(ferry(), "OperatorGroup", "og"), []map[string]any{item("OperatorGroup", "harbour/og", c.fields)})
		if g := s.Groups[0]; !slices.Equal(g.Targets, c.targets) || g.Global() != c.global {
			t.Errorf("%s: %q, all namespaces: %t", c.what, g.Targets, g.Global())
		}
	}
}

// The package of an operator is that of its Subscription, of its properties, of OLM's label, or in its name.
func TestPackageOf(t *testing.T) {
	properties := func(list string) string {
		return `annotations: {operatorframework.io/properties: '{"properties":[` + list + `]}'}`
	}
	for _, c := range []struct {
		what, meta string
		subscribed bool
		want       string
	}{
		{"a Subscription", properties(`{"type":"olm.package","value":{"packageName":"boat"}}`), true, "ferry"},
		{"a property", properties(`{"type":"olm.other","value":{"packageName":"x"}},{"type":"olm.package","value":{"packageName":"boat"}}`), false, "boat"},
		{"an empty property", properties(`{"type":"olm.package","value":{"packageName":""}},{"type":"olm.package","value":{"packageName":"boat"}}`), false, "boat"},
		{"a broken property", properties(`{"type":"olm.package","value":{"packageName":"x","packageName":1}}`), false, "ferry"},
		{"a label", `labels: {operators.coreos.com/boat.harbour: ""}`, false, "boat"},
		{"a label of another namespace", `labels: {operators.coreos.com/boat.pier: ""}`, false, "ferry"},
		{"a label of somebody else", `labels: {example.com/boat.harbour: ""}`, false, "ferry"},
		{"its name", `labels: {}`, false, "ferry"},
	} {
		list := ferry()
		if !c.subscribed {
			list = dropped(list, "Subscription", "ferry-sub")
		}
		s := cluster(t, with(list, "ClusterServiceVersion", "metadata: {"+c.meta+"}"))
		if got := s.All()[0].Package; got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// The Subscription of a CSV is the one in its namespace that has installed it, before one that is about to.
func TestSubscriptionOf(t *testing.T) {
	list := append(ferry(), item("Subscription", "harbour/a", `{spec: {name: a}, status: {currentCSV: ferry.v1.0.0}}`),
		item("Subscription", "dock/ferry", `{spec: {name: b}, status: {installedCSV: ferry.v1.0.0}}`))
	if got := cluster(t, list).All()[0].Subscription.Name; got != "ferry-sub" {
		t.Errorf("installed by %s", got)
	}
	if got := cluster(t, dropped(list, "Subscription", "ferry-sub")).All()[0].Subscription.Name; got != "a" {
		t.Errorf("about to be installed by %s", got)
	}
	if got := cluster(t, dropped(dropped(list, "Subscription", "ferry-sub"), "Subscription", "a")).All()[0].Subscription; got != nil {
		t.Errorf("installed by %s/%s", got.Namespace, got.Name)
	}
	if got := cluster(t, append(ferry(), item("Subscription", "harbour/z", `{}`))).All()[0].Package; got != "ferry" {
		t.Errorf("package %s beside a Subscription without spec", got)
	}
}

// subscribed returns objects after an edit of their Subscription, or without it: "-".
func subscribed(list []map[string]any, edit string) []map[string]any {
	if edit == "-" {
		return dropped(list, "Subscription", "ferry-sub")
	}
	return with(list, "Subscription", edit)
}

// A CSV that another one of its namespace is about to replace is left out: the middle of an upgrade cannot be adopted.
func TestReplacedBy(t *testing.T) {
	next := func(name, fields string) map[string]any {
		return item("ClusterServiceVersion", name, `{spec: {replaces: ferry.v1.0.0}, status: {phase: Pending}`+fields+`}`)
	}
	v2 := next("harbour/ferry.v2.0.0", "")
	for _, c := range []struct {
		what         string
		csv, sub     string // edits of the CSV and of its Subscription; "-": there is none
		other        map[string]any
		wantReplaced bool
	}{
		{"at rest", `{}`, `{}`, v2, false},
		{"at rest, and the next one is not there", `{}`, `status: {currentCSV: ferry.v9.0.0}`, v2, false},
		{"at rest, and no next one is known", `{}`, `status: {currentCSV: ""}`, v2, false},
		{"the Subscription has gone on", `{}`, `status: {currentCSV: ferry.v2.0.0}`, v2, true},
		{"without Subscription", `{}`, `-`, v2, true},
		{"not succeeded", `status: {phase: Replacing}`, `{}`, v2, true},
		{"not succeeded, and nothing replaces it", `status: {phase: Failed}`, `{}`, next("pier/ferry.v2.0.0", ""), false},
		{"a copy replaces it", `status: {phase: Failed}`, `{}`, next("harbour/other", ", metadata: {labels: {olm.copiedFrom: dock}}"), false},
		{"it replaces itself", `{spec: {replaces: ferry.v1.0.0}, status: {phase: Failed}}`, `{}`, item("ConfigMap", "harbour/x", `{}`), false},
	} {
		list := subscribed(with(ferry(), "ClusterServiceVersion", c.csv), c.sub)
		s := cluster(t, append(list, c.other))
		adopted := slices.ContainsFunc(s.All(), func(o *Operator) bool { return o.CSV.Name == "ferry.v1.0.0" })
		said := slices.Contains(found(s), "replaced warning ClusterServiceVersion harbour/ferry.v1.0.0: ClusterServiceVersion ferry.v2.0.0 is about to replace it, so it is left out")
		if adopted == c.wantReplaced || said != c.wantReplaced {
			t.Errorf("%s: adopted: %t, %q", c.what, adopted, found(s))
		}
	}
}

// The names of webhook configurations are those that OLM made up for webhooks of the CSV.
func TestWebhookNames(t *testing.T) {
	s := cluster(t, ferry(), []map[string]any{webhook("a", "ferry.v1.0.0", "harbour"), webhook("b", "ferry.v1.0.0", "dock"), webhook("c", "tug.v1.0.0", "harbour"),
		item("MutatingWebhookConfiguration", "d", `metadata: {labels: {olm.owner: ferry.v1.0.0, olm.owner.namespace: harbour}}`)})
	if got := s.All()[0].Webhooks; !maps.Equal(got, map[string]any{"a": "a-x7k2p"}) {
		t.Errorf("%v", got)
	}
}

// Each finding is about one object, as bad as it is for somebody who adopts.
func TestReadFindings(t *testing.T) {
	whole := slices.Concat(ferry(), []map[string]any{item("Namespace", "harbour", `{}`), item("Namespace", "pier", `{}`), item("CatalogSource", "olm/cat", `{}`),
		item("ServiceAccount", "harbour/a", `{}`), item("Role", "harbour/a", `{}`), item("RoleBinding", "harbour/a", `{}`), item("ClusterRole", "a", `{}`),
		item("ClusterRoleBinding", "a", `{}`), item("Deployment", "harbour/a", `{}`), item("CustomResourceDefinition", "a", `{}`),
		item("InstallPlan", "harbour/a", `status: {bundleLookups: [{identifier: ferry.v1.0.0, path: "quay.io/f@sha256:0"}]}`)})
	add := func(items ...map[string]any) []map[string]any { return append(slices.Clone(whole), items...) }
	empty := item("OperatorGroup", "dock/og", `{}`)
	server := item("ClusterServiceVersion", "dock/packageserver", `{spec: {apiservicedefinitions: {owned: [{group: packages.operators.coreos.com, version: v1}]}}}`)
	const csv = " ClusterServiceVersion harbour/ferry.v1.0.0"
	crd := func(name string, installers ...string) map[string]any {
		return item("CustomResourceDefinition", name, `metadata: {annotations: {operatorframework.io/installed-alongside-`+strings.Join(installers, `, operatorframework.io/installed-alongside-`)+`}}`)
	}
	for _, c := range []struct {
		what    string
		objects []map[string]any
		want    []string
	}{
		{"nothing", whole, nil},
		{"no ServiceAccounts", dropped(slices.Clone(whole), "ServiceAccount", "a"), []string{"missing-kinds note : the dump has no ServiceAccount"}},
		{"no Namespaces", dropped(dropped(slices.Clone(whole), "Namespace", "harbour"), "Namespace", "pier"), []string{"missing-kinds warning : the dump has no Namespace"}},
		{"a Secret", add(item("Secret", "harbour/s", `{}`)), []string{"secrets warning : the dump has 1 Secret"}},
		{"a group without operators", add(empty), []string{"empty-group note OperatorGroup dock/og"}},
		{"a group that waits", add(empty, item("Subscription", "dock/x", `spec: {name: x}`)), []string{"no-csv warning Subscription dock/x: it has installed nothing: state unknown"}},
		{"a Subscription without a group", add(item("Subscription", "dock/x", `spec: {name: x}`)), []string{"no-csv warning Subscription dock/x: it has installed nothing: namespace dock has no OperatorGroup"}},
		{"the group of packageserver", add(empty, server), []string{"packageserver note ClusterServiceVersion dock/packageserver"}},
		{"packageserver without its group", add(server), []string{"packageserver note ClusterServiceVersion dock/packageserver"}},
		{"a second group", add(item("OperatorGroup", "harbour/og2", `{}`)), []string{"several-groups error OperatorGroup harbour/og2: namespace harbour has OperatorGroup og too"}},
		{"a CSV without a group", add(moved(tug("bay"), "bay")...), []string{"no-group error ClusterServiceVersion bay/tug.v1.0.0: namespace bay has no OperatorGroup"}},
		{"no catalog", append(dropped(slices.Clone(whole), "CatalogSource", "olm/cat"), item("CatalogSource", "olm/other", `{}`)), []string{"no-catalog warning" + csv + ": CatalogSource olm/cat, which its Subscription names, is gone"}},
		{"a CSV that the dump lacks", add(item("Subscription", "harbour/x", `{spec: {name: x}, status: {installedCSV: x.v1}}`)), []string{"no-csv error Subscription harbour/x: it has installed x.v1, which the dump does not have"}},
		{"a target that is not there", append(dropped(slices.Clone(whole), "OperatorGroup", "og"), item("OperatorGroup", "harbour/og", `spec: {targetNamespaces: [nowhere]}`)),
			[]string{"no-namespace warning OperatorGroup harbour/og: targets nowhere, which the dump does not have: the API server refuses what is rendered there"}},
		{"a second Subscription of a CSV", add(item("Subscription", "harbour/x", `{spec: {name: ferry}, status: {installedCSV: ferry.v1.0.0}}`)),
			[]string{"second-subscription warning Subscription harbour/x: Subscription harbour/ferry-sub has installed ferry.v1.0.0 too, so this one is left out"}},
		{"a second Subscription of a package", add(item("Subscription", "harbour/x", `spec: {name: ferry}`)),
			[]string{"second-subscription warning Subscription harbour/x: Subscription harbour/ferry-sub has installed ferry.v1.0.0 of the same package, so this one is left out"}},
		{"a CRD of an operator that is gone", add(crd("boats", "1: harbour/tug.v1.0.0", "2: dock/ferry.v1.0.0")), []string{"orphaned-crd warning CustomResourceDefinition boats: ClusterServiceVersion harbour/tug.v1.0.0, which installed it, is gone"}},
		{"a CRD of an earlier version too", add(crd("boats", "1: harbour/tug.v1.0.0", "2: harbour/ferry.v0.9.0")), nil},
		{"a CRD of a CSV that is left out", add(append(moved(tug("bay"), "bay"), crd("boats", "1: bay/tug.v1.0.0"))...), []string{"no-group error ClusterServiceVersion bay/tug.v1.0.0"}},
		{"a CRD that an operator owns now", add(crd("ferries.example.com", "1: harbour/tug.v1.0.0")), nil},
		{"no Subscription", dropped(add(item("Subscription", "harbour/x", `spec: {name: x}`)), "Subscription", "ferry-sub"),
			[]string{"no-csv warning Subscription harbour/x", "no-subscription note" + csv}},
		{"no image", dropped(add(item("InstallPlan", "x/x", `{}`)), "InstallPlan", "harbour/a"), []string{"unknown-source note" + csv}},
		{"a tag", dropped(add(item("InstallPlan", "harbour/x", `status: {bundleLookups: [{identifier: ferry.v1.0.0, path: quay.io/f}]}`)), "InstallPlan", "harbour/a"),
			[]string{"tag note" + csv + ": the image of the bundle, quay.io/f, is known by its tag"}},
		{"a pending CSV", append(dropped(slices.Clone(whole), "ClusterServiceVersion", "ferry.v1.0.0"), with(ferry()[1:2], "ClusterServiceVersion", `status: {phase: Pending}`)...),
			[]string{"not-succeeded warning" + csv + ": the CSV is Pending (InstallSucceeded)"}},
		{"a CSV that OLM installs again and again", append(dropped(slices.Clone(whole), "ClusterServiceVersion", "ferry.v1.0.0"),
			with(ferry()[1:2], "ClusterServiceVersion", `status: {phase: InstallReady, reason: NeedsReinstall, conditions: [{phase: Failed, reason: Old, message: old}, {phase: Succeeded}, {phase: Failed, reason: New, message: no such operator}, {phase: InstallReady}]}`)...),
			[]string{"not-succeeded warning" + csv + ": the CSV is InstallReady (NeedsReinstall); before that it was Failed (New): no such operator, so"}},
		{"a refused CSV", append(dropped(slices.Clone(whole), "ClusterServiceVersion", "ferry.v1.0.0"),
			with(ferry()[1:2], "ClusterServiceVersion", `status: {phase: Failed, reason: NoOperatorGroup}`)...), []string{"refused error" + csv + ": it is not adopted: OLM does not run it (NoOperatorGroup)"}},
	} {
		if got := found(cluster(t, c.objects)); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// A source that is given answers the findings about it; those about operators that were not chosen are left out.
func TestFindingsWith(t *testing.T) {
	s := cluster(t, ferry(), tug("harbour"), []map[string]any{item("InstallPlan", "harbour/a",
		`status: {bundleLookups: [{identifier: tug.v1.0.0, path: quay.io/tug}]}`)})
	failed := cluster(t, ferry(), with(tug("harbour"), "ClusterServiceVersion", `status: {phase: Failed, reason: NoOperatorGroup}`))
	alone := cluster(t, dropped(ferry(), "Subscription", "ferry-sub"))
	for _, c := range []struct {
		what    string
		s       *State
		sources map[string]string
		want    []string
	}{
		{"nothing", s, nil, []string{"missing-kinds", "tag tug", "unknown-source ferry"}},
		{"a source by package", s, map[string]string{"ferry": "x"}, []string{"missing-kinds", "tag tug"}},
		{"a source by CSV", s, map[string]string{"tug.v1.0.0": "x"}, []string{"missing-kinds", "unknown-source ferry"}},
		{"a chosen one", mustSelect(t, s, "ferry"), nil, []string{"missing-kinds", "unknown-source ferry"}},
		{"a refused one", failed, nil, []string{"missing-kinds", "refused tug", "unknown-source ferry"}},
		{"a refused one that is not chosen", mustSelect(t, failed, "ferry"), nil, []string{"missing-kinds", "unknown-source ferry"}},
		{"a source of an operator without Subscription", alone, map[string]string{"ferry": "x"}, []string{"missing-kinds", "no-subscription ferry"}},
	} {
		var got []string
		for _, f := range c.s.FindingsWith(c.sources) {
			_, name, _ := strings.Cut(f.Object, "/")
			name, _, _ = strings.Cut(name, ".")
			got = append(got, strings.TrimSpace(f.Rule+" "+name))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// The image of a bundle is what an InstallPlan of the namespace looked up, best by digest.
func TestBundleLookups(t *testing.T) {
	const name, digest = "ferry.v1.0.0", "quay.io/f@sha256:0"
	lookup := func(csv, path, ref string) string {
		return `{identifier: ` + csv + `, path: "` + path + `"` + ref + `}`
	}
	const cat = `, catalogSourceRef: {namespace: olm, name: cat}`
	for _, c := range []struct {
		what, namespace   string
		lookups           []string
		image, from, cats string
	}{
		{"a digest", "harbour", []string{lookup(name, digest, cat)}, digest, "status.bundleLookups of InstallPlan harbour/a", "olm/cat"},
		{"no catalog", "harbour", []string{lookup(name, digest, "")}, digest, "status.bundleLookups of InstallPlan harbour/a", ""},
		{"another namespace", "pier", []string{lookup(name, digest, cat)}, "", "", ""},
		{"another CSV", "harbour", []string{lookup("tug.v1.0.0", digest, cat)}, "", "", ""},
		{"no path", "harbour", []string{lookup(name, "", cat)}, "", "", ""},
		{"a tag and a digest", "harbour", []string{lookup(name, "quay.io/f:1", ""), lookup(name, digest, cat)}, digest, "status.bundleLookups of InstallPlan harbour/a", "olm/cat"},
		{"a digest and a tag", "harbour", []string{lookup(name, digest, cat), lookup(name, "quay.io/f:1", "")}, digest, "status.bundleLookups of InstallPlan harbour/a", "olm/cat"},
		{"two digests", "harbour", []string{lookup(name, digest, ""), lookup(name, "quay.io/f@sha256:1", cat)}, digest, "status.bundleLookups of InstallPlan harbour/a", ""},
		{"two tags", "harbour", []string{lookup(name, "quay.io/f:1", ""), lookup(name, "quay.io/f:2", cat)}, "quay.io/f:1", "status.bundleLookups of InstallPlan harbour/a", ""},
	} {
		s := cluster(t, ferry(), []map[string]any{item("InstallPlan", c.namespace+"/a", `status: {bundleLookups: [`+strings.Join(c.lookups, ",")+`]}`)})
		if o := s.All()[0]; o.Image != c.image || o.ImageFrom != c.from || o.LookedUp != c.cats {
			t.Errorf("%s: %q of %q, from %q", c.what, o.Image, o.LookedUp, o.ImageFrom)
		}
	}
}

// Earlier versions are CSVs of the same name that are gone, as InstallPlans and spec.replaces tell.
func TestEarlier(t *testing.T) {
	for _, c := range []struct {
		what, names, replaces string
		want                  []string
	}{
		{"nothing", `[ferry.v1.0.0]`, "", nil},
		{"two versions", `[ferry.v0.9.0, ferry.v0.8.0, ferry.v0.9.0, ferry.v1.0.0]`, "", []string{"ferry.v0.8.0", "ferry.v0.9.0"}},
		{"another operator", `[tug.v0.9.0]`, "", nil},
		{"one that is there", `[ferry.v2.0.0]`, "", nil},
		{"what it replaces", `[ferry.v1.0.0]`, "boat.v3", []string{"boat.v3"}},
		{"what it replaces is there", `[ferry.v1.0.0]`, "ferry.v2.0.0", nil},
	} {
		s := cluster(t, with(ferry(), "ClusterServiceVersion", `spec: {replaces: "`+c.replaces+`"}`), []map[string]any{
			item("ClusterServiceVersion", "harbour/ferry.v2.0.0", `status: {phase: Succeeded}`), item("InstallPlan", "harbour/a", `spec: {clusterServiceVersionNames: `+c.names+`}`)})
		if o := s.All()[0]; o.CSV.Name != "ferry.v1.0.0" || !slices.Equal(o.Earlier, c.want) {
			t.Errorf("%s: %s: %q, want %q", c.what, o.CSV.Name, o.Earlier, c.want)
		}
	}
}
