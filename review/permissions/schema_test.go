package permissions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/review/findings"
	"github.com/olmgen/olmgen/review/permissions"
)

// described says what fields are, by type and name in JSON.
var described = map[string]string{
	"Report.operator":           "What the report is about. For a tree, name is the path",
	"Report.summary":            "The answers to what a person asks first, the most dangerous first. What is not the case is not in it",
	"Report.permissions":        "What subjects may do. Nothing in it is covered by another item of the same subject",
	"Report.users":              "What the roles admin, edit, view and cluster-reader gain by aggregation, wherever users are bound to them",
	"Report.covered":            "What is granted again, and allows nothing more",
	"Report.unknown":            "Roles that are bound and not among the objects, so that what they allow is not known",
	"Report.accounts":           "Every ServiceAccount that is among the objects or bound",
	"Report.findings":           "What follows from the permissions",
	"Report.notes":              "What a reader has to know about the evaluation",
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
	"Finding.rule":              "docs/review.md lists them",
	"Unknown.role":              "Kind namespace/name",
	"Operator.installMode":      "AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace",
	"Finding.file":              "The path inside the bundle, or the file of a tree",
	"Item.resourceNames":        "Missing if it is for all names",
	"Item.nonResourceURLs":      "In place of apiGroups and resources",
	"Fact.source":               "The first rule that grants it",
	"Operator.namespace":        "The operator's",
	"Subject.namespace":         "Of a ServiceAccount",
	"Fact.subjects":             "Who has it",
	"Finding.object":            "The subject",
	"Unknown.source":            "The binding",
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
}

// schemaOf makes the schema of a type, and of the types in it below $defs.
func schemaOf(t reflect.Type, defs map[string]any) map[string]any {
	switch t {
	case reflect.TypeFor[permissions.Risk]():
		return map[string]any{"type": "string", "enum": permissions.Risks}
	case reflect.TypeFor[permissions.Why]():
		return map[string]any{"type": "string", "enum": permissions.Whys}
	case reflect.TypeFor[permissions.Change]():
		return map[string]any{"type": "string", "enum": []permissions.Change{permissions.Has, permissions.Gained, permissions.Lost}}
	case reflect.TypeFor[findings.Level]():
		return map[string]any{"type": "string", "enum": []findings.Level{findings.Error, findings.Warning, findings.Note}}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 1}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), defs)}
	}
	if _, ok := defs[t.Name()]; !ok {
		defs[t.Name()] = nil // a type that holds itself ends here
		defs[t.Name()] = structOf(t, defs)
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func structOf(t reflect.Type, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		s := schemaOf(f.Type, defs)
		of := t.Name()
		if len(f.Index) > 1 {
			of = t.Field(f.Index[0]).Type.Name()
		}
		if d := described[of+"."+name]; d != "" {
			s["description"] = d
		}
		properties[name] = s
		if !strings.Contains(rest, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

// The schema is that of the types, and a report that is printed has no other fields.
func TestSchema(t *testing.T) {
	defs := map[string]any{}
	root := structOf(reflect.TypeFor[permissions.Report](), defs)
	properties := root["properties"].(map[string]any)
	properties["apiVersion"].(map[string]any)["const"] = permissions.APIVersion
	properties["kind"].(map[string]any)["const"] = permissions.Kind
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://olmgen.dev/schemas/permissionreport-v1alpha1.json"
	root["title"] = "olmgen permissions --format json"
	root["$defs"] = defs
	var want bytes.Buffer
	if err := findings.WriteJSON(&want, root); err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want.Bytes(), *update)
	for key := range described {
		of, name, _ := strings.Cut(key, ".")
		in := properties
		if of != "Report" {
			in = defs[of].(map[string]any)["properties"].(map[string]any)
		}
		if in[name] == nil {
			t.Errorf("%s is described, and there is no such field", key)
		}
	}

	var out bytes.Buffer
	r := evaluate(t, account+role("a", "op", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`)+role("b", "", `[{nonResourceURLs: ["/x"], verbs: [get]}]`))
	if err := r.Print(&out, permissions.JSON); err != nil {
		t.Fatal(err)
	}
	var printed any
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	if problem := conforms(printed, root, root); problem != "" {
		t.Error(problem)
	}
	printed.(map[string]any)["permissions"].([]any)[0].(map[string]any)["risk"] = "none"
	if conforms(printed, root, root) == "" {
		t.Error("a risk that does not exist is no problem")
	}
}

// conforms checks what the schema above uses of JSON Schema.
func conforms(v any, schema, root map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		schema = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if enum := schema["enum"]; enum != nil && !strings.Contains(" "+strings.Trim(fmt.Sprint(enum), "[]")+" ", " "+fmt.Sprint(v)+" ") {
		return fmt.Sprintf("%v is none of %v", v, enum)
	}
	switch v := v.(type) {
	case map[string]any:
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return "an object"
		}
		for _, name := range schema["required"].([]string) {
			if _, ok := v[name]; !ok {
				return name + " is missing"
			}
		}
		for name, x := range v {
			p, ok := properties[name].(map[string]any)
			if !ok {
				return name + " is unknown"
			}
			if problem := conforms(x, p, root); problem != "" {
				return name + ": " + problem
			}
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		if !ok {
			return "a list"
		}
		for _, x := range v {
			if problem := conforms(x, items, root); problem != "" {
				return problem
			}
		}
	case string:
		if schema["type"] != "string" {
			return "text"
		}
	case float64:
		if schema["type"] != "integer" {
			return "a number"
		}
	default:
		return fmt.Sprintf("%v", v)
	}
	return ""
}
