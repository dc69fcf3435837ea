package predict_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

const (
	widgetCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: op.v2.0.0, annotations: {a: b}}
spec:
  displayName: Op
  version: 2.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: widgets.x.io, kind: Widget, version: v1}]}
  install:
    strategy: deployment
    spec:
      permissions: [{serviceAccountName: op-sa, rules: [{apiGroups: [x.io], resources: [widgets], verbs: ["*"]}]}]
      deployments:
      - name: op
        spec:
          selector: {matchLabels: {app: op}}
          template:
            metadata: {labels: {app: op}}
            spec: {serviceAccountName: op-sa, containers: [{name: manager, image: "quay.io/x/op:1"}]}
`
	widgetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	webhookOf = `  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, admissionReviewVersions: [v1], deploymentName: op, generateName: v.x.io, sideEffects: None, webhookPath: /v,
    rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [widgets]}], timeoutSeconds: 10}
`
)

// outcomeOf returns what becomes of an operator whose bundle has these objects, in a namespace with other objects: the states of InstallPlan and
// ClusterServiceVersions, then the rules of warnings and errors, each once.
func outcomeOf(t *testing.T, objects string, bundle ...string) string {
	t.Helper()
	var documents []any
	add := func(v any) { documents = append(documents, v) }
	var csv struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(bundle[0]), &csv); err != nil {
		t.Fatal(err)
	}
	properties := []any{map[string]any{"type": "olm.package", "value": map[string]any{"packageName": "op", "version": "2.0.0"}}}
	for _, text := range bundle {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		properties = append(properties, map[string]any{"type": "olm.bundle.object", "value": map[string]any{"data": data}})
	}
	add(map[string]any{"schema": "olm.package", "name": "op", "defaultChannel": "stable"})
	add(map[string]any{"schema": "olm.channel", "package": "op", "name": "stable", "entries": []any{map[string]any{"name": csv.Metadata.Name}}})
	add(map[string]any{"schema": "olm.bundle", "package": "op", "name": csv.Metadata.Name, "properties": properties})
	var text strings.Builder
	for _, d := range documents {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(data, '\n'))
	}
	file := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Read(t.Context(), file, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read, err := tree.Read(t.Context(), []string{"-"}, tree.Options{Stdin: strings.NewReader(objects)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := predict.Check(t.Context(), read, predict.Options{Checker: apiserver.Checker{}, Catalogs: predict.Catalogs{Others: c},
		Bundles: &catalog.Options{Source: source.Options{Offline: true}}})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, p := range r.Plans {
		said = append(said, "plan "+p.Phase)
	}
	for _, v := range r.CSVs {
		said = append(said, strings.TrimSpace(v.Phase+" "+v.Reason))
	}
	for _, u := range r.Unknown {
		if u.Unread {
			said = append(said, "unknown")
		}
	}
	for _, f := range r.Findings {
		if f.Rule == "not-looked-at" || f.Rule == "service-twice" || f.Rule == "copied-csv" {
			said = append(said, f.Rule)
		}
	}
	return strings.Join(said, ", ")
}

// What a real OLM v0.46 and its API server did with bundles that olmgen refuses to render, and with clusters that do not let them in.
func TestBroken(t *testing.T) {
	const group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: og, namespace: ops}\n"
	const sub = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: op, namespace: ops}\n" +
		"spec: {name: op, channel: stable, source: cat, sourceNamespace: olm}\n"
	const global = group + "spec: {}\n" + sub
	csv := func(old, now string) []string { return []string{strings.Replace(widgetCSV, old, now, 1), widgetCRD} }
	whole := []string{widgetCSV, widgetCRD}
	quota := func(what string) string {
		return global + "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: ops}\nspec: {hard: {" + what + ": '0'}}\n"
	}
	policy := func(expression, reason string) string {
		return global + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n" +
			"  matchConstraints: {resourceRules: [{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE], resources: [deployments, configmaps]}]}\n" +
			"  validations: [{expression: \"" + expression + "\"" + reason + "}]\n---\napiVersion: admissionregistration.k8s.io/v1\n" +
			"kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {policyName: p, validationActions: [Deny]}\n"
	}
	account := func(rules string) string {
		return group + "spec: {serviceAccountName: installer}\n" + sub + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: installer, namespace: ops}\n" +
			"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: i, namespace: ops}\nrules: [" + rules + "]\n" +
			"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: i, namespace: ops}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: i}\nsubjects: [{kind: ServiceAccount, name: installer, namespace: ops}]\n"
	}
	const some = "{apiGroups: ['', operators.coreos.com], resources: ['*'], verbs: ['*']}, {apiGroups: [rbac.authorization.k8s.io], resources: ['*'], verbs: [create]}"
	const mine = ", {apiGroups: [x.io], resources: ['*'], verbs: ['*']}"
	crd := func(name, more string) string {
		return global + "---\n" + strings.Replace(strings.Replace(widgetCRD, "widgets.x.io", name+".x.io"+more, 1), "plural: widgets", "plural: "+name, 1)
	}
	other := strings.Replace(widgetCSV, "spec:\n", "spec:\n  apiservicedefinitions: {owned: [{name: gadgets, group: y.io, version: v1, kind: Gadget, deploymentName: op}]}\n", 1)
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	copied := strings.Replace(widgetCSV, "{name: op.v2.0.0, annotations: {a: b}}", "{name: op.v2.0.0, namespace: ops, labels: {olm.copiedFrom: all}}", 1) +
		"status: {phase: Succeeded, reason: Copied}\n"
	for name, c := range map[string]struct {
		objects string
		bundle  []string
		want    string
	}{
		"whole":                            {global, whole, "plan Complete, Succeeded InstallSucceeded"},
		"a CRD that is not shipped":        {global, whole[:1], "plan Complete, Pending RequirementsNotMet"},
		"a version that is not served":     {global, csv("version: v1}", "version: v2}"), "plan Complete, Pending RequirementsNotMet"},
		"a long name":                      {global, csv("op.v2.0.0", "op.v"+strings.Repeat("2", 60)), "plan Failed, Pending RequirementsNotMet"},
		"two containers of one name":       {global, csv("containers: [", "containers: [{name: manager}, "), "plan Failed"},
		"the name of an account":           {global, csv("serviceAccountName: op-sa, rules", "serviceAccountName: Op_SA, rules"), "plan Failed, Pending RequirementsNotMet"},
		"the name of a Deployment":         {global, csv("- name: op", "- name: Op"), "plan Complete, Failed InstallComponentFailed"},
		"the name of a Service":            {global, append(whole, "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\n"), "plan Failed, Pending RequirementsNotMet"},
		"data of another type":             {global, append(whole, configMap+"data: {a: {b: c}}\n"), "plan Failed, Pending RequirementsNotMet"},
		"an install strategy":              {global, csv("strategy: deployment", "strategy: helm"), "unknown"},
		"a webhook":                        {global, []string{widgetCSV + webhookOf, widgetCRD}, "plan Complete, Succeeded InstallSucceeded"},
		"a webhook that waits for a while": {global, []string{widgetCSV + strings.Replace(webhookOf, "10", "60", 1), widgetCRD}, "plan Complete, Failed InstallComponentFailed"},
		"the side effects of a webhook":    {global, []string{widgetCSV + strings.Replace(webhookOf, "None", "Some", 1), widgetCRD}, "plan Complete, Failed InstallComponentFailed"},
		"the Service of a webhook": {global, []string{widgetCSV + webhookOf, widgetCRD, "apiVersion: v1\nkind: Service\nmetadata: {name: op-service}\nspec: {ports: [{port: 1}]}\n"},
			"plan Complete, Succeeded InstallSucceeded, service-twice"},
		"the namespace of another operator":   {global, csv("a: b", "olm.operatorNamespace: there"), "plan Complete, "},
		"its own namespace":                   {global, csv("a: b", "olm.operatorNamespace: ops"), "plan Complete, Succeeded InstallSucceeded"},
		"a native API":                        {crd("boats", ""), csv("version: 2.0.0", "version: 2.0.0\n  nativeAPIs: [{group: y.io, version: v1, kind: Yak}]"), "plan Installing, Pending RequirementsNotMet"},
		"a native API that may be there":      {global, csv("version: 2.0.0", "version: 2.0.0\n  nativeAPIs: [{group: y.io, version: v1, kind: Yak}]"), "plan Complete, Succeeded InstallSucceeded"},
		"another CRD of the kind":             {crd("boats", ""), whole, "plan Installing, Pending RequirementsNotMet"},
		"a CRD that is being deleted":         {crd("widgets", ", deletionTimestamp: '2026-01-01T00:00:00Z'"), whole, "plan Complete, Pending RequirementsNotMet"},
		"an APIService":                       {global, []string{other, widgetCRD}, "plan Complete, Succeeded InstallSucceeded"},
		"an APIService of a person":           {global + "---\napiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.y.io}\n", []string{other, widgetCRD}, "plan Complete, Failed OwnerConflict"},
		"a quota of Deployments":              {quota("count/deployments.apps"), whole, "plan Complete, Failed InstallComponentFailedNoRetry"},
		"a quota of accounts":                 {quota("count/serviceaccounts"), whole, "plan Installing, Pending RequirementsNotMet"},
		"a quota of pods":                     {quota("pods"), whole, "plan Complete, Succeeded InstallSucceeded, not-looked-at"},
		"a policy":                            {policy("object.metadata.name != 'op'", ""), whole, "plan Complete, Failed InstallComponentFailed"},
		"a policy that forbids":               {policy("false", ", reason: Forbidden"), whole, "plan Complete, Failed InstallComponentFailedNoRetry"},
		"a policy about what is shipped":      {policy("false", ""), append(whole, configMap), "plan Failed, Pending RequirementsNotMet"},
		"a policy that allows":                {policy("object.metadata.name == 'op'", ""), whole, "plan Complete, Succeeded InstallSucceeded"},
		"a policy of which nobody knows":      {policy("authorizer.group('').check()", ""), whole, "plan Complete, Succeeded InstallSucceeded, not-looked-at"},
		"a selector that matches nothing":     {group + "spec: {selector: {matchLabels: {no: where}}}\n" + sub + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ops}\n", whole, "plan Installing"},
		"no account":                          {group + "spec: {serviceAccountName: nobody}\n" + sub, whole, "plan Installing"},
		"no account, in a dump":               {group + "spec: {serviceAccountName: nobody}\nstatus: {lastUpdated: '2026-01-01T00:00:00Z'}\n" + sub, whole, "plan Installing"},
		"an account that is not in the dump":  {group + "spec: {serviceAccountName: a}\nstatus: {namespaces: [''], serviceAccountRef: {name: a}, lastUpdated: '2026-01-01T00:00:00Z'}\n" + sub, whole, "plan Complete, Succeeded InstallSucceeded, not-looked-at"},
		"an account without rights":           {account(""), whole, "plan Installing"},
		"an account that may not escalate":    {account(some), whole, "plan Installing, Pending RequirementsNotMet"},
		"an account that may not deploy":      {account(some + mine), whole, "plan Complete, Failed InstallComponentFailedNoRetry"},
		"an account that may":                 {account(some + mine + ", {apiGroups: [apps], resources: [deployments], verbs: [get, create]}"), whole, "plan Complete, Succeeded InstallSucceeded"},
		"a copy of an operator for all":       {global + "---\n" + copied, whole, "plan Complete, copied-csv"},
		"a ConfigMap that is being deleted":   {global + "---\n" + strings.Replace(configMap, "{name: c}", "{name: c, namespace: ops, deletionTimestamp: '2026-01-01T00:00:00Z'}", 1), append(whole, configMap), "plan Complete, Succeeded InstallSucceeded"},
		"an account that is being deleted":    {global + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: op-sa, namespace: ops, deletionTimestamp: '2026-01-01T00:00:00Z'}\n", whole, "plan Complete, Pending RequirementsNotMet"},
		"a kind that OLM does not install":    {global, append(whole, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n"), "plan Failed, Pending RequirementsNotMet"},
		"an install mode that is given twice": {global, csv("installModes: [", "installModes: [{type: AllNamespaces, supported: true}, "), "plan Complete, Failed InvalidInstallModes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOf(t, c.objects, c.bundle...); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
