package permissions_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// described has what fields are, by type and name in JSON.
var described = map[string]string{
	"Report.operator":           "What the report is about. For a tree, name is the path",
	"Report.summary":            "The answers to what a person asks first, the most dangerous first. What is not the case is not in it",
	"Report.permissions":        "What subjects may do. Nothing in it is covered by another item of the same subject",
	"Report.users":              "What the roles admin, edit, view and cluster-reader gain by aggregation, wherever users are bound to them",
	"Report.covered":            "What is granted again, and allows nothing more",
	"Report.unknown":            "Roles that are bound and not among the objects, so that what they allow is not known",
	"Report.accounts":           "Every ServiceAccount that is among the objects or bound",
	"Report.findings":           "What follows from the permissions",
	"Report.unread":             "Files that could not be read, and why. The command fails then",
	"Report.unresolved":         "Objects that hand an operator over to OLM, and why the operator is not known",
	"Report.notes":              "What a reader has to know about the evaluation",
	"Report.usage":              "With --used: what accounts use of what they have",
	"AccountUse.logName":        "Namespace/name in the log, where it differs",
	"AccountUse.events":         "Of the account, with a decision of the authorizer",
	"AccountUse.unused":         "What no request of the log needs, the most dangerous first",
	"AccountUse.wider":          "What is granted by a wildcard, of which requests need a part",
	"AccountUse.used":           "What requests asked for, with the rule that allows it",
	"AccountUse.kept":           "What may be needed without a request that shows it; follows is why",
	"AccountUse.denied":         "What the account asked for and does not have",
	"AccountUse.elsewhere":      "What requests were allowed by rules that are not among the objects; source.object is the reason that the API server gives",
	"AccountUse.needed":         "What is used or kept of each rule: what narrowed rules would be",
	"AccountUse.notes":          "What the log does not show",
	"Log.events":                "Of all users",
	"Log.first":                 "The time of the first event",
	"Log.last":                  "The time of the last event",
	"Log.gaps":                  "Hours without an event of anybody, as FROM/TO",
	"Log.skipped":               "Lines without an event, or with one that is too large",
	"Operator.name":             "The name of the ClusterServiceVersion, or the path of a tree",
	"Fact.text":                 "The answer in words",
	"Item.namespaces":           "[\"*\"] is the cluster: all namespaces, and what is in none",
	"Item.apiGroups":            "The core group is empty text",
	"Item.change":               "In a report always has",
	"Item.source":               "The rule that grants it",
	"Covered.by":                "The rule that grants it, too",
	"Source.file":               "The path inside the bundle, or the file of a tree. Missing if OLM makes the rule",
	"Source.object":             "Kind namespace/name of the object that has the rule",
	"Source.field":              "The rule in that object",
	"Source.why":                "Why the rule is there",
	"Source.via":                "The group of accounts that it is granted to",
	"Subject.kind":              "ServiceAccount, User or Group; for users of a role ClusterRole",
	"Finding.rule":              "docs/reference/rights.md lists them",
	"Unknown.role":              "Kind namespace/name",
	"Operator.installMode":      "AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace",
	"Finding.file":              "The path inside the bundle, or the file of a tree",
	"Item.resourceNames":        "Missing if it is for all names",
	"Item.nonResourceURLs":      "In place of apiGroups and resources",
	"Fact.named":                "It holds only for objects of some names",
	"Fact.source":               "The first rule that grants it",
	"Operator.namespace":        "The operator's",
	"Subject.namespace":         "Of a ServiceAccount",
	"Fact.subjects":             "Who has it",
	"Finding.object":            "The subject",
	"Unknown.source":            "The binding",
	"Item.severity":             "Of a gain: the worst of what follows from it",
	"Item.risk":                 "The first of these that it is a part of",
	"Item.verbs":                "Every verb on every resource, or on every URL",
	"Report.apiVersion":         "Changes when a field changes its meaning or goes",
	"Finding.hint":              "What to do",
	"Finding.source":            "Not used",
	"Finding.field":             "Not used",
	"Operator.profile":          "That it is rendered with",
	"Operator.package":          "Of the bundle",
	"Operator.version":          "Of the bundle",
	"Fact.namespaces":           "[\"*\"] is the cluster",
	"Unknown.namespaces":        "[\"*\"] is the cluster",
	"Source.line":               "In that file",
	"Finding.line":              "In that file",
	"Finding.message":           "One line",
	"Operator.targetNamespaces": "Those that were given",
	"Operator.operators":        "The ClusterServiceVersions of what was given, where that is not one",
}

var schema = schematest.Schema{
	Type: reflect.TypeFor[permissions.Report](), ID: "https://olmgen.dev/schemas/permissionreport-v1alpha1.json",
	Title: "olmgen permissions --format json", Consts: map[string]string{"apiVersion": permissions.APIVersion, "kind": permissions.Kind},
	Enums: map[reflect.Type]any{
		reflect.TypeFor[permissions.Risk]():   danger.Risks,
		reflect.TypeFor[permissions.Why]():    permissions.Whys,
		reflect.TypeFor[permissions.Change](): []permissions.Change{permissions.Has, permissions.Gained, permissions.Lost},
		reflect.TypeFor[findings.Severity]():  []findings.Severity{findings.Error, findings.Warning, findings.Note},
	},
	Description: described,
}

// The schema is that of the types, and a report that is printed conforms to it.
func TestSchema(t *testing.T) {
	want, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want, *update)
	var out bytes.Buffer
	r := evaluate(t, account+role("a", "op", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`)+role("b", "", `[{nonResourceURLs: ["/x"], verbs: [get]}]`))
	if err := print.Report(&out, r, findings.JSON); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Check(permissions.Schema, out.Bytes()); err != nil {
		t.Error(err)
	}
	if bad := bytes.Replace(out.Bytes(), []byte(`"risk": "other"`), []byte(`"risk": "none"`), 1); schematest.Check(permissions.Schema, bad) == nil {
		t.Error("a risk that does not exist is no problem")
	}
}
