package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/print"
)

// migrating is a cluster whose operator passes all checks of the migration to OLM v1.
func migrating() []map[string]any {
	list := with(ferry(), "OperatorGroup", `{spec: {targetNamespaces: null}, status: {namespaces: [""]}}`)
	return append(list, item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, image: quay.io/cat}`),
		item("OperatorCondition", "harbour/other", `{}`),
		item("ClusterCatalog", "b", `{spec: {source: {image: {ref: quay.io/cat}}}, status: {conditions: [{type: Progressing, status: "False"}, {type: Serving, status: "True"}]}}`))
}

// after returns objects after an edit, which is a kind and its fields, or nothing.
func after(list []map[string]any, edit string) []map[string]any {
	if kind, fields, ok := strings.Cut(edit, " "); ok {
		return with(list, kind, fields)
	}
	return list
}

// Each check of the migration answers with the object and the field that decide.
func TestMigrationChecks(t *testing.T) {
	properties := func(list string) string {
		return `ClusterServiceVersion metadata: {annotations: {operatorframework.io/properties: '` + list + `'}}`
	}
	rights := func(rules string) string {
		return `ClusterServiceVersion spec: {install: {spec: {clusterPermissions: [{serviceAccountName: a, rules: [{apiGroups: [""], resources: [pods]}]}, {serviceAccountName: a, rules: [` + rules + `]}]}}}`
	}
	const csv, sub, cat, group = " (ClusterServiceVersion harbour/ferry.v1.0.0 ", " (Subscription harbour/ferry-sub ", " (CatalogSource olm/cat spec.image)", " (OperatorGroup harbour/og "
	const needs = `{"type":"olm.package.required","value":{"packageName":"x"}}`
	without := func(kind, name string) []map[string]any { return dropped(migrating(), kind, name) }
	served := item("ClusterCatalog", "a", `{spec: {source: {image: {ref: quay.io/other}}}, status: {conditions: [{type: Serving, status: "True"}]}}`)
	lookup := func(ref string) map[string]any {
		return item("InstallPlan", "harbour/p", `status: {bundleLookups: [{identifier: ferry.v1.0.0, path: "quay.io/f@sha256:0", catalogSourceRef: {namespace: olm, name: `+ref+`}}]}`)
	}
	for _, c := range []struct {
		edit    string // of an object: its kind and fields
		objects []map[string]any
		want    string // a check
	}{
		{"", nil, "passed C1 AllNamespaces watch scope: the operator watches all namespaces" + group + "spec.targetNamespaces)"},
		{`OperatorGroup {spec: {targetNamespaces: [pier]}, status: {namespaces: [pier]}}`, nil,
			"acknowledge C1 AllNamespaces watch scope: the operator watches pier; after the migration it watches all namespaces" + group + "spec.targetNamespaces), --acknowledge-watch-scope-change"},
		{`OperatorGroup {spec: {selector: {matchLabels: {a: b}}}, status: {namespaces: [pier]}}`, nil,
			"acknowledge C1 AllNamespaces watch scope: a selector chooses the namespaces; after the migration the operator watches all" + group + "spec.selector), --acknowledge-watch-scope-change"},
		{"", nil, "passed C1a AllNamespaces bundle support: the CSV supports AllNamespaces" + csv + "spec.installModes)"},
		{`ClusterServiceVersion spec: {installModes: []}`, nil, "refused C1a AllNamespaces bundle support: the CSV does not support AllNamespaces" + csv + "spec.installModes)"},
		{"", nil, "passed C2 No dependency resolution: the bundle depends on no other"},
		{properties(`{"properties":[{"type":"olm.package","value":1}]}`), nil, "passed C2 No dependency resolution: the bundle depends on no other"},
		{properties(`{"properties":[` + needs + `,{"type":"olm.gvk.required","value":2},` + needs + `]}`), nil,
			`refused C2 No dependency resolution: the bundle depends on others: olm.package.required {"packageName":"x"}, olm.gvk.required 2` + csv},
		{properties(`[`), nil, "refused C2 No dependency resolution: the annotation is not JSON" + csv},
		{"", nil, "passed C3 No APIService definitions: the operator serves no API itself" + csv},
		{`ClusterServiceVersion spec: {apiservicedefinitions: {owned: [{group: g, version: v1}, {group: g, version: v2}]}}`, nil,
			"refused C3 No APIService definitions: the operator serves APIs itself: v1.g, v2.g" + csv + "spec.apiservicedefinitions.owned)"},
		{"", nil, "passed C4 No active OperatorCondition: there is no OperatorCondition"},
		{"", without("OperatorCondition", "other"), "unknown C4 No active OperatorCondition: the dump has no OperatorConditions"},
		{"", []map[string]any{item("OperatorCondition", "harbour/ferry.v1.0.0", `{}`)}, "passed C4 No active OperatorCondition: the operator has reported no condition (OperatorCondition harbour/ferry.v1.0.0 status.conditions)"},
		{"", []map[string]any{item("OperatorCondition", "harbour/ferry.v1.0.0", `status: {conditions: [{type: Upgradeable}]}`)},
			"acknowledge C4 No active OperatorCondition: the operator reports Upgradeable, which OLM v1 does not look at"},
		{"", []map[string]any{item("OperatorCondition", "harbour/ferry.v1.0.0", `status: {conditions: x}`)}, "unknown C4 No active OperatorCondition: the OperatorCondition can't be read"},
		{"", nil, "passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has no rights on OLM v0's APIs" + csv + "spec.install.spec.clusterPermissions)"},
		{rights(`{apiGroups: [""], resources: [x]}, {apiGroups: [operators.coreos.com], resources: [x, subscriptions]}, {apiGroups: [operators.coreos.com], resources: ["*"]}`), nil,
			"acknowledge C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has rights on OLM v0's APIs and none on OLM v1's" + csv + "spec.install.spec.clusterPermissions[1].rules[1]), --acknowledge-olmv0-api-access"},
		{rights(`{apiGroups: [operators.coreos.com], resources: [operatorgroups]}`), nil, "passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has no rights"},
		{`ClusterServiceVersion spec: {install: {spec: {permissions: [{serviceAccountName: a, rules: [{apiGroups: [operators.coreos.com], resources: [subscriptions]}]}]}}}`, nil,
			"passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has no rights"},
		{rights(`{apiGroups: [operators.coreos.com], resources: [operatorconditions]}`), nil, "passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has no rights"},
		{rights(`{apiGroups: [example.com], resources: [subscriptions]}`), nil, "passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has no rights"},
		{rights(`{apiGroups: [operators.coreos.com], resources: [subscriptions]}, {apiGroups: [olm.operatorframework.io], resources: [x]}`), nil,
			"passed C5 OLMv0-API RBAC without OLMv1 RBAC: the operator has rights on the APIs of both" + csv + "spec.install.spec.clusterPermissions[1].rules[0])"},
		{"", nil, "passed C6 No scoped ServiceAccount: no ServiceAccount limits the installation"},
		{`OperatorGroup spec: {serviceAccountName: cap}`, nil, "acknowledge C6 No scoped ServiceAccount: ServiceAccount cap limits the installation"},
		{"", nil, "passed C7 Catalog availability: a ClusterCatalog has the image of the CatalogSource (ClusterCatalog b spec.source.image.ref)"},
		{"", without("ClusterCatalog", "b"), "unknown C7 Catalog availability: a ClusterCatalog must serve package ferry; the dump does not show its content"},
		{`ClusterCatalog spec: {source: {image: {ref: quay.io/x}}}`, nil, "unknown C7 Catalog availability: a ClusterCatalog must serve package ferry"},
		{`ClusterCatalog spec: {availabilityMode: Unavailable}`, nil, "refused C7 Catalog availability: the ClusterCatalog with the image of the CatalogSource is Unavailable (spec.availabilityMode) (ClusterCatalog b"},
		{`ClusterCatalog status: {conditions: [{type: Serving, status: "False"}, {type: Progressing, status: "True"}]}`, nil,
			"refused C7 Catalog availability: the ClusterCatalog with the image of the CatalogSource is not serving (status.conditions)"},
		{"", append(with(migrating(), "ClusterCatalog", `spec: {availabilityMode: Unavailable}`), served), "unknown C7 Catalog availability: a ClusterCatalog must serve package ferry"},
		{"", without("CatalogSource", "cat"), "unknown C7 Catalog availability: a ClusterCatalog must serve package ferry"},
		{`CatalogSource spec: {image: ""}`, append(without("ClusterCatalog", "b"), item("ClusterCatalog", "c", `{status: {conditions: [{type: Serving, status: "True"}]}}`)),
			"unknown C7 Catalog availability: a ClusterCatalog must serve package ferry"},
		{"", nil, "passed C8 Steady state: the CSV has succeeded, and the Subscription is AtLatestKnown" + sub + "status.state)"},
		{`Subscription status: {state: UpgradePending}`, nil, "passed C8 Steady state: the CSV has succeeded, and the Subscription is UpgradePending"},
		{`Subscription status: {state: UpgradeFailed}`, nil, "acknowledge C8 Steady state: the Subscription is UpgradeFailed" + sub + "status.state), --acknowledge-not-steady-state"},
		{`ClusterServiceVersion status: {phase: Failed}`, nil, "acknowledge C8 Steady state: the CSV is Failed" + csv + "status.phase)"},
		{`ClusterServiceVersion status: {reason: x}`, nil, `acknowledge C8 Steady state: the reason of the CSV's phase is "x"` + csv + "status.reason)"},
		{`Subscription status: {installedCSV: ferry.v0}`, nil, `refused C8 Steady state: the Subscription has installed "ferry.v0"` + sub + "status.installedCSV)"},
		{"", without("Subscription", "ferry-sub"), "refused C8 Steady state: there is no Subscription, which is what the migration begins with"},
		{"", nil, "passed C9 Not an OLMv0-managed dependency: a person made the Subscription" + sub},
		{"", without("Subscription", "ferry-sub"), "passed C9 Not an OLMv0-managed dependency: there is no Subscription"},
		{`Subscription metadata: {annotations: {olm.generated-by: install-x}}`, nil, "refused C9 Not an OLMv0-managed dependency: OLM made the Subscription for another operator (install-x)" + sub},
		{"", nil, "passed C10 Image-backed source CatalogSources: the catalog is image quay.io/cat" + cat},
		{"", without("Subscription", "ferry-sub"), "refused C10 Image-backed source CatalogSources: there is no Subscription, so there is no CatalogSource"},
		{"", without("CatalogSource", "cat"), "unknown C10 Image-backed source CatalogSources: the dump has no CatalogSources" + cat},
		{"", append(without("CatalogSource", "cat"), item("CatalogSource", "olm/x", `spec: {}`)), "refused C10 Image-backed source CatalogSources: the CatalogSource is gone" + cat},
		{`CatalogSource spec: {image: ""}`, nil, "refused C10 Image-backed source CatalogSources: the CatalogSource has no image" + cat},
		{`CatalogSource spec: {sourceType: internal}`, nil, "refused C10 Image-backed source CatalogSources: the CatalogSource has no image" + cat},
		{"", []map[string]any{lookup("cat")}, "passed C10 Image-backed source CatalogSources: the catalog is image quay.io/cat" + cat},
		{"", []map[string]any{lookup("gone")}, "refused C10 Image-backed source CatalogSources: the InstallPlan took the bundle from it, and it is gone (CatalogSource olm/gone spec.image)"},
		{"", []map[string]any{lookup("x"), item("CatalogSource", "olm/x", `spec: {sourceType: grpc}`)}, "refused C10 Image-backed source CatalogSources: the InstallPlan took the bundle from it, and it has no image (CatalogSource olm/x"},
		{"", nil, "passed Package uniqueness: no other Subscription is for the package" + sub + "spec.name)"},
		{"", without("Subscription", "ferry-sub"), "passed Package uniqueness: there is no Subscription"},
		{"", []map[string]any{item("Subscription", "bay/x", `spec: {name: tug}`)}, "passed Package uniqueness: no other Subscription is for the package"},
		{"", []map[string]any{item("Subscription", "bay/x", `spec: {name: ferry}`)}, "refused Package uniqueness: Subscription bay/x is for package ferry too" + sub},
	} {
		list := c.objects
		if !slices.ContainsFunc(list, func(o map[string]any) bool { return o["kind"] == "ClusterServiceVersion" }) {
			list = append(migrating(), list...)
		}
		list = after(list, c.edit)
		m := cluster(t, list).Migrations()[0]
		var lines []string
		for _, x := range m.Checks {
			lines = append(lines, string(x.Outcome)+" "+x.line())
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.want) }) {
			t.Errorf("%s: no %s in\n%s", c.edit, c.want, strings.Join(lines, "\n"))
		}
	}
}

// The verdict names what refuses an operator, or what must be acknowledged; the reports show what is open, and what
// the other forms do with an operator that OLM v1 does not take.
func TestMigrationVerdicts(t *testing.T) {
	const targets = `OperatorGroup {spec: {targetNamespaces: [pier, dock]}, status: {namespaces: [pier, dock]}}`
	const refusedBy = `ClusterServiceVersion {spec: {installModes: [{type: MultiNamespace, supported: true}], webhookdefinitions: [{generateName: x}]},
  metadata: {annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.gvk.required","value":{}}]}'}}}`
	const plain, descoped, open = "watches dock, pier as now; cert-manager makes the certificates; what it depends on must be in Git too",
		"serves its APIs in the whole cluster, bound in dock, pier only", "Check that has not passed"
	for _, c := range []struct {
		edits                    []string
		verdict, plain, descoped string
		levels                   map[findings.Severity]int
		text                     []string // in the text; the opposite is not in it
		tables                   bool
	}{
		{nil, "eligible", "watches all namespaces as now", "serves its APIs in the whole cluster, bound in all namespaces",
			map[findings.Severity]int{}, []string{"eligible"}, false},
		{[]string{targets}, "eligible with --acknowledge-watch-scope-change", "watches dock, pier as now", descoped,
			map[findings.Severity]int{findings.Warning: 1}, []string{"C1 AllNamespaces watch scope"}, true},
		{[]string{targets, refusedBy}, "not eligible: C1a AllNamespaces bundle support, C2 No dependency resolution", plain, descoped,
			map[findings.Severity]int{findings.Warning: 1, findings.Error: 2}, []string{"C2 No dependency", "profile plain", plain}, true},
	} {
		list := migrating()
		for _, e := range c.edits {
			list = after(list, e)
		}
		all := cluster(t, list).Migrations()
		if m := all[0]; m.Verdict != c.verdict || m.Plain != c.plain || m.Descoped != c.descoped {
			t.Errorf("%q, %q, %q", m.Verdict, m.Plain, m.Descoped)
		}
		found := MigrationFindings(all)
		for _, level := range []findings.Severity{findings.Error, findings.Warning, findings.Note} {
			if n := findings.Count(found, level); n != c.levels[level] {
				t.Errorf("%s: %d findings of level %s", c.verdict, n, level)
			}
		}
		for _, f := range found {
			if (f.Hint == "the migration takes it with --acknowledge-watch-scope-change") != (f.Rule == "c1") || f.Rule != "c1" && f.Hint != "" {
				t.Errorf("%s: %q", f.Rule, f.Hint)
			}
		}
		var text, tables strings.Builder
		if err := print.Report(&text, Migrations(all), findings.Text); err != nil {
			t.Fatal(err)
		}
		if err := print.Report(&tables, Migrations(all), findings.Markdown); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.text {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
		if strings.Contains(text.String(), "profile plain") != strings.HasPrefix(c.verdict, "not") || strings.Contains(text.String(), "C6") ||
			strings.Contains(tables.String(), open) != c.tables {
			t.Errorf("%s\n%s", text.String(), tables.String())
		}
	}
	var none strings.Builder
	if err := print.Report(&none, Migrations(nil), findings.HTML); err != nil || strings.Contains(none.String(), "<table") {
		t.Errorf("%v %s", err, none.String())
	}
}

// A check without an object or an acknowledgement is its title and its message.
func TestCheckLine(t *testing.T) {
	c := Check{ID: "unique", Name: "Package uniqueness", Message: "no other"}
	if got, want := c.line(), "Package uniqueness: no other"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c = Check{ID: "C7", Name: "Catalog", Message: "x", Object: "ClusterCatalog a", Flag: "--b"}
	if got, want := c.line(), "C7 Catalog: x (ClusterCatalog a), --b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where the releases in the cluster are known, the checks name them, and what they take is a check of its own.
func TestMigrationReleases(t *testing.T) {
	const webhook = `ClusterServiceVersion spec: {webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: v}]}`
	for _, c := range []struct{ edit, release, want string }{
		{"", "4.18", "passed Release of OLM v1: OpenShift 4.18 takes the operator"},
		{webhook, "4.18", "refused Release of OLM v1: OpenShift 4.18 does not take webhooks"},
		{webhook, "4.20", "unknown Release of OLM v1: OpenShift 4.20 takes webhooks only with the feature gate"},
		{webhook, "4.21", "passed Release of OLM v1"},
		{`ClusterServiceVersion spec: {apiservicedefinitions: {owned: [{group: g, version: v1}]}}`, "4.20",
			"refused C3 No APIService definitions: the operator serves APIs itself, which OpenShift 4.20 refuses: v1.g (openshift/"},
		{`ClusterServiceVersion metadata: {annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.gvk.required","value":{}}]}'}}`, "4.20",
			"refused C2 No dependency resolution: the operator depends on others, which OpenShift 4.20 refuses: olm.gvk.required"},
	} {
		list := after(migrating(), c.edit)
		s := cluster(t, list)
		target, err := fit.Given{OpenShift: c.release}.Read()
		if err != nil {
			t.Fatal(err)
		}
		s.Target = target
		var lines []string
		for _, x := range s.Migrations()[0].Checks {
			lines = append(lines, string(x.Outcome)+" "+x.line())
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.want) }) {
			t.Errorf("%s, %s: no %s in\n%s", c.edit, c.release, c.want, strings.Join(lines, "\n"))
		}
	}
	for _, m := range cluster(t, migrating()).Migrations() {
		for _, x := range m.Checks {
			if x.ID == "release" {
				t.Errorf("no release is known, and there is a check of it: %+v", x)
			}
		}
	}
}

// The verdict on an operator under OLM v1 stands beside the checks of the migration. Of its bundle, the CRDs and the
// Services in its namespace are known.
func TestMigrationVerdict(t *testing.T) {
	crd := func(conversion string) map[string]any {
		return item("CustomResourceDefinition", "ferries.example.com", `{metadata: {labels: {olm.managed: "true"}}, spec: {group: example.com, names: {plural: ferries, kind: Ferry}, scope: Namespaced, versions: [{name: v1}, {name: v2}]`+conversion+`}}`)
	}
	converted := crd(`, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: harbour, name: hook}}}}`)
	service := func(name string) map[string]any {
		return item("Service", name, `{metadata: {labels: {olm.managed: "true"}}}`)
	}
	const unserved = "needs: the bundle does not serve the conversion webhook of its CRD ferries.example.com, Service harbour/hook"
	for _, c := range []struct {
		edit    string
		objects []map[string]any
		want    string
	}{
		{"", nil, "unknown: the objects of its bundle are not known"},
		{"", []map[string]any{service("harbour/hook")}, "unknown: the objects of its bundle are not known"},
		{"", []map[string]any{crd("")}, "runs"},
		{"", []map[string]any{converted}, unserved},
		{"", []map[string]any{converted, service("harbour/hook")}, "runs"},
		{"", []map[string]any{converted, service("pier/hook")}, unserved},
		{`ClusterServiceVersion spec: {installModes: [{type: OwnNamespace, supported: true}]}`, nil, "needs: " +
			"operator-controller v1.11 takes operators for their own or a single namespace only with the feature gate"},
		{`ClusterServiceVersion spec: {apiservicedefinitions: {owned: [{group: g, version: v1}]}}`, nil, "refused: the operator serves APIs itself"},
	} {
		m := cluster(t, after(append(migrating(), c.objects...), c.edit)).Migrations()[0]
		var out strings.Builder
		if err := print.Report(&out, Migrations{m}, findings.Text); err != nil {
			t.Fatal(err)
		}
		if got := m.OLMv1.String(); !strings.HasPrefix(got, c.want) || strings.Contains(out.String(), "\n  remedy: ") != (m.OLMv1.Remedy != "") {
			t.Errorf("%s: got %q\n%s", c.edit, got, out.String())
		}
	}
}
