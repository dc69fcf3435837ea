package adopt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/generate"
)

// change returns an edit of all objects of a kind; copies of CSVs are left alone.
func change(kind string, f func(object)) func([]object) []object {
	return func(items []object) []object {
		for _, o := range items {
			if o["kind"] == kind && in(o, "metadata", "labels")["olm.copiedFrom"] == nil {
				f(o)
			}
		}
		return items
	}
}

// without returns an edit that removes all objects of some kinds.
func without(kinds ...string) func([]object) []object {
	return func(items []object) []object {
		return slices.DeleteFunc(items, func(o object) bool { return slices.Contains(kinds, fmt.Sprint(o["kind"])) })
	}
}

// replacing adds the CSV that replaces the one of the dump, which is in a phase; the Subscription has installed one.
func replacing(phase, installed string) func([]object) []object {
	return func(items []object) []object {
		change("Subscription", func(o object) {
			in(o, "status")["installedCSV"], in(o, "status")["currentCSV"] = installed, "gatekeeping-operator.v2.0.0"
		})(items)
		for _, o := range items {
			if o["kind"] == "ClusterServiceVersion" && in(o, "metadata")["namespace"] == "operator-ns" {
				c := copyOf(o, "gatekeeping-operator.v2.0.0")
				c["spec"] = maps.Clone(in(o, "spec"))
				in(c, "spec")["replaces"] = "gatekeeping-operator.v1.0.0"
				in(o, "status")["phase"] = phase
				return append(items, c)
			}
		}
		return nil
	}
}

func lookup(path string) func([]object) []object {
	return change("InstallPlan", func(o object) {
		in(o, "status")["bundleLookups"] = []any{object{"identifier": "gatekeeping-operator.v1.0.0", "path": path, "replaces": "",
			"catalogSourceRef": object{"name": "catalog", "namespace": "operator-ns"}}}
	})
}

// What a dump says of the operators, and does not say, is in the file and in the findings.
func TestState(t *testing.T) {
	const digest = "quay.io/example/gates-bundle@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		what    string
		change  func([]object) []object
		finding string // rule and part of the message; empty: none
		file    string // part of the file
	}{
		{"an image by digest", lookup(digest), "", "source: oci://" + digest},
		{"an image by tag", lookup("quay.io/example/gates-bundle:v1"), "tag: quay.io/example/gates-bundle:v1, is known by its tag", "crane digest quay.io/example/gates-bundle:v1"},
		{"a catalog with an image", change("CatalogSource", func(o object) { in(o, "spec")["image"] = "quay.io/example/catalog:latest" }),
			"unknown-source", `opm render quay.io/example/catalog:latest | jq -r 'select(.name == "gatekeeping-operator.v1.0.0") | .image'`},
		{"no Subscriptions", without("Subscription", "InstallPlan", "CatalogSource"), "missing-kinds: the dump has no Subscription, InstallPlan or CatalogSource",
			"# ClusterServiceVersion gatekeeping-operator.v1.0.0, Succeeded, without a Subscription."},
		{"a CSV that nothing subscribed to", change("Subscription", func(o object) { in(o, "status")["installedCSV"], in(o, "status")["currentCSV"] = "other", "other" }), "no-subscription", "without a Subscription"},
		{"a failed CSV", change("ClusterServiceVersion", func(o object) { in(o, "status")["phase"] = "Failed" }), "not-succeeded: the CSV is Failed", "gatekeeping-operator.v1.0.0, Failed."},
		{"no groups", without("OperatorGroup"), "no-group: namespace operator-ns has no OperatorGroup", ""},
		{"two groups", func(items []object) []object {
			for _, o := range items {
				if o["kind"] == "OperatorGroup" {
					return append(items, copyOf(o, "second"))
				}
			}
			return nil
		}, "several-groups: namespace operator-ns has OperatorGroup my-og too", "name: my-og"},
		{"a CSV that is being replaced", replacing("Replacing", "gatekeeping-operator.v1.0.0"),
			"replaced: ClusterServiceVersion gatekeeping-operator.v2.0.0 is about to replace it", "gatekeeping-operator.v2.0.0"},
		{"a Subscription that goes on to the next CSV", change("Subscription", func(o object) {
			in(o, "status")["installedCSV"], in(o, "status")["currentCSV"] = "", "gatekeeping-operator.v1.0.0"
		}), "", "# Subscription operator: package gatekeeping-operator"},
		{"a Subscription without CSV", func(items []object) []object {
			return append(items, object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": object{"name": "later", "namespace": "operator-ns"},
				"spec": object{"name": "ferry"}, "status": object{"state": "UpgradePending", "installPlanRef": object{"name": "install-x"}}},
				object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan", "metadata": object{"name": "install-x", "namespace": "operator-ns"},
					"spec": object{"approval": "Manual"}, "status": object{"phase": "RequiresApproval"}})
		}, "no-csv: it has installed nothing: InstallPlan install-x is RequiresApproval",
			"# Subscription operator-ns/later: package ferry has no ClusterServiceVersion (InstallPlan install-x is RequiresApproval)."},
		{"a CSV that has succeeded and whose Subscription has installed the next one", replacing("Succeeded", "gatekeeping-operator.v2.0.0"),
			"replaced: ClusterServiceVersion gatekeeping-operator.v2.0.0 is about to replace it", "gatekeeping-operator.v2.0.0"},
		{"a CSV that has succeeded and that the next one replaces", replacing("Succeeded", "gatekeeping-operator.v1.0.0"),
			"replaced: ClusterServiceVersion gatekeeping-operator.v2.0.0 is about to replace it", "# Subscription operator: package gatekeeping-operator, channel"},
		{"a Secret", func(items []object) []object {
			return append(items, object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "s"}})
		}, "secrets: the dump has 1 Secret", "kind: RenderConfig"},
		{"a CRD of an operator that is gone", func(items []object) []object {
			return append(items, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "tugs.example.com",
				"annotations": object{"operatorframework.io/installed-alongside-1": "operator-ns/tug.v1.0.0"}}})
		}, "orphaned-crd: ClusterServiceVersion operator-ns/tug.v1.0.0, which installed it, is gone", "kind: RenderConfig"},
		{"a CRD of an earlier version", func(items []object) []object {
			return append(items, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "tugs.example.com",
				"annotations": object{"operatorframework.io/installed-alongside-1": "operator-ns/gatekeeping-operator.v0.9.0"}}})
		}, "", "kind: RenderConfig"},
		{"a ServiceAccount of the group", change("OperatorGroup", func(o object) { in(o, "spec")["serviceAccountName"] = "installer" }), "", "serviceAccount: installer"},
		{"APIs of others in a static group", change("OperatorGroup", func(o object) {
			in(o, "spec")["staticProvidedAPIs"] = true
			in(o, "metadata", "annotations")["olm.providedAPIs"] = "Gate.v1.gate.example.com,Other.v1.example.com"
		}), "", "staticProvidedAPIs:\n  - Other.v1.example.com"},
	} {
		s := edited(t, "gates-multi.yaml", c.change)
		found := ""
		for _, f := range s.Findings {
			found += f.Rule + ": " + f.Message + "\n"
		}
		if rule, message, _ := strings.Cut(c.finding, ": "); !strings.Contains(found, rule) || !strings.Contains(found, message) {
			t.Errorf("%s: %s", c.what, found)
		}
		if c.finding == "" && strings.Contains(strings.ReplaceAll(found, "unknown-source", ""), "warning") {
			t.Errorf("%s: %s", c.what, found)
		}
		out, err := adopt.Declare(s, adopt.Options{File: "olmgen.yaml", Directory: "operators"})
		if c.file == "" {
			if err == nil {
				t.Errorf("%s: declared:\n%s", c.what, out)
			}
			continue
		}
		if err != nil || !strings.Contains(string(out), c.file) {
			t.Errorf("%s: %v\n%s", c.what, err, out)
		}
	}
}

// Each check of the migration to OLM v1 answers by its own object and field.
func TestMigration(t *testing.T) {
	ready := func(items []object) []object {
		change("CatalogSource", func(o object) {
			in(o, "spec")["image"], in(o, "spec")["sourceType"] = "quay.io/example/catalog:latest", "grpc"
		})(items)
		change("OperatorGroup", func(o object) {
			o["spec"], o["status"] = object{}, object{"namespaces": []any{""}}
		})(items)
		return append(items, object{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": object{"name": "catalog"},
			"spec":   object{"source": object{"type": "Image", "image": object{"ref": "quay.io/example/catalog:latest"}}},
			"status": object{"conditions": []any{object{"type": "Serving", "status": "True"}}}})
	}
	csv := func(f func(object)) func([]object) []object { return change("ClusterServiceVersion", f) }
	permission := func(groups ...any) func(object) {
		return func(o object) {
			in(o, "spec", "install", "spec")["clusterPermissions"] = []any{object{"serviceAccountName": "a", "rules": []any{
				object{"apiGroups": groups, "resources": []any{"subscriptions"}, "verbs": []any{"get"}}}}}
		}
	}
	for _, c := range []struct {
		what    string
		change  func([]object) []object
		verdict string
		id      string
		outcome adopt.Outcome
		field   string
	}{
		{"nothing", func(items []object) []object { return items }, "eligible", "C7", adopt.Passed, "spec.source.image.ref"},
		{"targets", change("OperatorGroup", func(o object) { in(o, "spec")["targetNamespaces"] = []any{"target-a"} }),
			"eligible with --acknowledge-watch-scope-change", "C1", adopt.Acknowledged, "spec.targetNamespaces"},
		{"install modes", csv(func(o object) {
			in(o, "spec")["installModes"] = []any{object{"type": "OwnNamespace", "supported": true}}
		}),
			"not eligible: C1a AllNamespaces bundle support", "C1a", adopt.Refused, "spec.installModes"},
		{"a dependency", csv(func(o object) {
			in(o, "metadata", "annotations")["operatorframework.io/properties"] = `{"properties":[{"type":"olm.gvk.required","value":{"group":"g","kind":"K","version":"v1"}}]}`
		}), "not eligible: C2 No dependency resolution", "C2", adopt.Refused, "operatorframework.io/properties"},
		{"an APIService", csv(func(o object) {
			in(o, "spec")["apiservicedefinitions"] = object{"owned": []any{object{"name": "x", "group": "g", "version": "v1", "kind": "X"}}}
		}), "not eligible: C3 No APIService definitions", "C3", adopt.Refused, "spec.apiservicedefinitions.owned"},
		{"a condition", change("OperatorCondition", func(o object) {
			in(o, "status")["conditions"] = []any{object{"type": "Upgradeable", "status": "False", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
		}), "eligible with --acknowledge-operator-condition", "C4", adopt.Acknowledged, "status.conditions"},
		{"rights on OLM", csv(permission("operators.coreos.com")), "eligible with --acknowledge-olmv0-api-access", "C5", adopt.Acknowledged, "clusterPermissions[0].rules[0]"},
		{"rights on both", csv(permission("operators.coreos.com", "olm.operatorframework.io")), "eligible", "C5", adopt.Passed, "rules[0]"},
		{"an account", change("OperatorGroup", func(o object) { in(o, "spec")["serviceAccountName"] = "x" }),
			"eligible with --acknowledge-scoped-serviceaccount", "C6", adopt.Acknowledged, "spec.serviceAccountName"},
		{"no ClusterCatalogs", without("ClusterCatalog"), "eligible", "C7", adopt.Unknown, ""},
		{"an Unavailable ClusterCatalog", change("ClusterCatalog", func(o object) { in(o, "spec")["availabilityMode"] = "Unavailable" }),
			"not eligible: C7 Catalog availability", "C7", adopt.Refused, "spec.source.image.ref"},
		{"a ClusterCatalog that does not serve", change("ClusterCatalog", func(o object) { delete(o, "status") }),
			"not eligible: C7 Catalog availability", "C7", adopt.Refused, "spec.source.image.ref"},
		{"two Subscriptions of a package", func(items []object) []object {
			for _, o := range items {
				if o["kind"] == "Subscription" {
					second := copyOf(o, "second")
					in(second, "metadata")["namespace"], second["status"] = "target-a", object{}
					return append(items, second)
				}
			}
			return nil
		}, "not eligible: Package uniqueness", "unique", adopt.Refused, "spec.name"},
		{"a bundle from another catalog", func(items []object) []object {
			return change("InstallPlan", func(o object) {
				in(o, "status")["bundleLookups"] = []any{object{"identifier": "gatekeeping-operator.v1.0.0", "path": "quay.io/x@sha256:0", "replaces": "",
					"catalogSourceRef": object{"name": "gone", "namespace": "olm"}}}
			})(items)
		}, "not eligible: C10 Image-backed source CatalogSources", "C10", adopt.Refused, "spec.image"},
		{"another reason", csv(func(o object) { in(o, "status")["reason"] = "NeedsReinstall" }), "eligible with --acknowledge-not-steady-state", "C8", adopt.Acknowledged, "status.reason"},
		{"a failed CSV", csv(func(o object) { in(o, "status")["phase"] = "Failed" }), "eligible with --acknowledge-not-steady-state", "C8", adopt.Acknowledged, "status.phase"},
		{"a pending Subscription", change("Subscription", func(o object) { in(o, "status")["state"] = "UpgradeFailed" }),
			"eligible with --acknowledge-not-steady-state", "C8", adopt.Acknowledged, "status.state"},
		{"a dependency of another", change("Subscription", func(o object) { in(o, "metadata", "annotations")["olm.generated-by"] = "install-x" }),
			"not eligible: C9 Not an OLMv0-managed dependency", "C9", adopt.Refused, "olm.generated-by"},
		{"a catalog without image", change("CatalogSource", func(o object) { delete(in(o, "spec"), "image") }),
			"not eligible: C10 Image-backed source CatalogSources", "C10", adopt.Refused, "spec.image"},
	} {
		s := edited(t, "gates-multi.yaml", func(items []object) []object { return c.change(ready(items)) })
		all := s.Migrations()
		if len(all) != 1 || all[0].Verdict != c.verdict {
			t.Errorf("%s: %+v", c.what, all[0])
			continue
		}
		for _, x := range all[0].Checks {
			if x.ID == c.id && (x.Outcome != c.outcome || !strings.Contains(x.Field, c.field)) {
				t.Errorf("%s: %+v", c.what, x)
			}
		}
		for _, format := range print.FindingFormats {
			var out strings.Builder
			if err := print.Report(&out, adopt.Migrations(all), format); err != nil || format != findings.SARIF && !strings.Contains(out.String(), "eligible") {
				t.Errorf("%s: %s: %v %s", c.what, format, err, out.String())
			}
		}
	}
}

// The requirements of the migration have C1 to C10; one check beside them is in its code alone, one in that of OLM v1.
func TestMigrationRuleSources(t *testing.T) {
	for _, r := range adopt.MigrationRules {
		want := "requirements R3"
		switch r.ID {
		case "unique":
			want = "migration/pkg/migration/readiness.go"
		case "release":
			want = "operator-framework/operator-controller"
		}
		if !strings.Contains(r.Help, want) {
			t.Errorf("%s: the source is %q, want %s", r.ID, r.Help, want)
		}
	}
}

// A Subscription in Git needs its catalog. The other forms do not.
func TestCatalogGone(t *testing.T) {
	s := edited(t, "gates-multi.yaml", change("CatalogSource", func(o object) { in(o, "metadata")["name"] = "other" }))
	for _, to := range generate.Profiles {
		refused := 0
		for _, f := range s.For(to).Findings {
			if f.Rule == "refused" && strings.Contains(f.Message, "CatalogSource operator-ns/catalog, which its Subscription names, is gone") {
				refused++
			}
		}
		if want := to == generate.ProfileSubscription; want != (refused == 1) {
			t.Errorf("%s: %d operators are refused", to, refused)
		}
	}
}
