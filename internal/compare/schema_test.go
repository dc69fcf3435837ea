package compare_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

var schema = schematest.Schema{
	Type:   reflect.TypeFor[compare.Report](),
	ID:     "https://olmgen.dev/schemas/differencereport-v1alpha1.json",
	Title:  "olmgen diff --format json",
	Consts: map[string]string{"apiVersion": compare.APIVersion, "kind": compare.Kind},
	Enums: map[reflect.Type]any{
		reflect.TypeFor[permissions.Risk]():   danger.Risks,
		reflect.TypeFor[permissions.Why]():    permissions.Whys,
		reflect.TypeFor[permissions.Change](): []permissions.Change{permissions.Gained, permissions.Lost},
		reflect.TypeFor[findings.Severity]():  change.Severities,
		reflect.TypeFor[change.Kind]():        change.Kinds,
		reflect.TypeFor[change.Part]():        change.Parts,
		reflect.TypeFor[compare.Section]():    compare.Sections,
	},
	Description: map[string]string{
		"Report.apiVersion":    "Changes when a field changes its meaning or goes",
		"Report.old":           "The older release",
		"Report.new":           "The newer release",
		"Report.summary":       "A line for each section that is not empty",
		"Report.verdict":       "What a person decides, in one line. Empty if nothing differs",
		"Finding.object":       "An existing object that does not fit: kind namespace/name",
		"Finding.file":         "The newer CRD, else the older one. Missing for an existing object",
		"Report.permissions":   "What accounts, users, groups, and roles that nothing binds gain and lose. Rules that are split, regrouped or reordered are no change",
		"Report.users":         "What the roles admin, edit, view and cluster-reader gain and lose by aggregation, wherever users are bound to them",
		"Report.renamed":       "Accounts that are compared under two names",
		"Report.crds":          "Findings about CustomResourceDefinitions",
		"Report.workloads":     "How workloads, webhooks, Services, NetworkPolicies and other objects differ, the worst first",
		"Report.identity":      "What operators say of themselves, the worst first",
		"Report.olm":           "What OLM would do about the upgrade",
		"Report.unread":        "Files that could not be read, and why. The command fails then",
		"Report.unresolved":    "Objects that hand an operator over to OLM, and whose operator is not known",
		"Unresolved.object":    "kind namespace/name",
		"Unresolved.message":   "Why the operator is not known",
		"Unresolved.changed":   "It, its OperatorGroup, its catalog or what is known of it is not as in the older release",
		"Report.notes":         "What a reader has to know about the comparison",
		"Side.name":            "What a person gave",
		"Side.operators":       "Names of ClusterServiceVersions",
		"Side.installMode":     "The only operator is judged in it. Missing if it is not known",
		"Side.namespace":       "Of the only operator. Missing if it is not known",
		"Answer.severity":      "The worst of the section",
		"Answer.text":          "The section in one line",
		"Item.namespaces":      "[\"*\"] is the cluster: all namespaces, and what is in none",
		"Item.verbs":           "Every verb on every resource, or on every URL",
		"Item.apiGroups":       "The core group is empty text",
		"Item.resourceNames":   "Missing if it is for all names",
		"Item.nonResourceURLs": "In place of apiGroups and resources",
		"Item.severity":        "Of a gain: the worst of what follows from it",
		"Item.risk":            "The first of these that it is a part of",
		"Item.source":          "The rule that grants it: of the newer release if it is gained, of the older one if it is lost",
		"Source.file":          "A path. Missing if OLM makes the rule",
		"Source.object":        "Kind namespace/name of the object that has the rule",
		"Source.field":         "The rule in that object",
		"Source.why":           "Why the rule is there",
		"Source.via":           "The group of accounts that it is granted to",
		"Change.fields":        "Part rest: the fields of the object that differ and that no other part is about",
		"Subject.kind":         "ServiceAccount, User or Group; for users of a role, and for a role that nothing binds, ClusterRole or Role",
		"Rename.why":           "Why they are one account",
		"Finding.version":      "Missing if it is about the whole CRD",
		"Finding.witness":      "A value that the older CRD takes, and what the newer one says to it",
		"Finding.path":         "The field of the schema",
		"Change.object":        "Kind namespace/name; of the newer release if both have it",
		"Change.part":          "What the change is about",
		"Change.field":         "Such as spec.template.spec.containers[manager].image. Missing if the whole object is new or gone",
		"Change.message":       "Why it matters. Of a whole workload, its images",
		"Change.file":          "A path. Missing if OLM makes the object",
		"Consequence.operator": "The name of a ClusterServiceVersion",
		"Consequence.rule":     "docs/review.md lists them",
	},
}

// The schema is that of the types, and a report that is printed conforms to it.
func TestSchema(t *testing.T) {
	want, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want, *update)
	old, ok := rendered(t, reviewtest.Bundle(t, "../../golden/upgrades/ferry/from"))
	now, ok2 := rendered(t, reviewtest.Bundle(t, "../../golden/upgrades/ferry/to"))
	if !ok || !ok2 {
		t.Fatal("not rendered")
	}
	for _, r := range []*compare.Report{compared(t, old, now), compared(t, old, old), compared(t, tree(t, "# nothing\n"), now)} {
		var out bytes.Buffer
		if err := print.Report(&out, r, findings.JSON); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Check(compare.Schema, out.Bytes()); err != nil {
			t.Error(err)
		}
		if strings.Contains(out.String(), "null") {
			t.Error("a list is null")
		}
		if bad := bytes.Replace(out.Bytes(), []byte(`"crds"`), []byte(`"crd"`), 1); schematest.Check(compare.Schema, bad) == nil {
			t.Error("another field is no problem")
		}
	}
}
