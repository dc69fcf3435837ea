package fit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// configured returns what a release says to an inline configuration as YAML: the refusal, and the findings beside it.
func configured(t *testing.T, modes, inline string, r versions.Release) (says string) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(inline), &value); err != nil {
		t.Fatal(err)
	}
	o := operator(t, modes, "", nil)
	if err := o.Configure(value, "ferries", r); err != nil {
		says = strings.TrimPrefix(err.Error(), "invalid ClusterExtension configuration: invalid configuration: ")
	}
	for _, f := range o.Configured(r) {
		says = strings.TrimPrefix(says+"; "+f.Message, "; ")
	}
	return says
}

// The words are those of operator-controller v1.11: its config.go was run with the same inputs.
func TestConfigure(t *testing.T) {
	const anyName = `field "watchNamespace" must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"`
	long := strings.Repeat("a", 64)
	for _, c := range []struct{ modes, inline, want string }{
		{"AllNamespaces", "", ""},
		{"AllNamespaces", "{}", ""},
		{"AllNamespaces", "foo: 1", `unknown field "foo"`},
		{"AllNamespaces", "{b: 1, a: 1}", `unknown field "a"`},
		{"AllNamespaces", "watchNamespace: x", `unknown field "watchNamespace"`},
		{"AllNamespaces,MultiNamespace", "watchNamespace: x", `unknown field "watchNamespace"`},
		{"OwnNamespace", "", `required field "watchNamespace" is missing`},
		{"SingleNamespace", "{}", `required field "watchNamespace" is missing`},
		{"OwnNamespace,SingleNamespace", "watchNamespace: null", `required field "watchNamespace" is missing`},
		{"OwnNamespace", "watchNamespace: ferries", ""},
		{"OwnNamespace", "watchNamespace: x", `invalid format for field "watchNamespace": 'x' is not valid ownNamespaceInstallMode: invalid value "x": must ` +
			`be "ferries" (the namespace where the operator is installed) because this operator only supports OwnNamespace install mode`},
		{"SingleNamespace", "watchNamespace: x", ""},
		{"SingleNamespace", "watchNamespace: ferries", `invalid format for field "watchNamespace": 'ferries' is not valid singleNamespaceInstallMode: ` +
			`invalid value "ferries": must be different from "ferries" (the install namespace) because this operator uses SingleNamespace install mode to ` +
			`watch a different namespace`},
		{"OwnNamespace,SingleNamespace", "watchNamespace: ferries", ""},
		{"OwnNamespace,SingleNamespace", "watchNamespace: 5", `invalid type for field "watchNamespace": got number, want string`},
		{"OwnNamespace,SingleNamespace", "watchNamespace: ''", "multiple errors found:\n  - field \"watchNamespace\" must have minimum length of 1 (len=0)\n  - " + anyName},
		{"OwnNamespace,SingleNamespace", "watchNamespace: " + long, `field "watchNamespace" must have maximum length of 63 (len=64)`},
		{"OwnNamespace,SingleNamespace", "watchNamespace: A", anyName},
		{"AllNamespaces,SingleNamespace", "watchNamespace: null", ""},
		{"AllNamespaces,SingleNamespace", "watchNamespace: [x]", "multiple errors found:\n  - invalid type for field \"watchNamespace\": got array, want " +
			"null\n  - invalid type for field \"watchNamespace\": got array, want string\n  - invalid value for field \"watchNamespace\""},
		{"AllNamespaces", "deploymentConfig: null", `required field "deploymentConfig" is missing`},
		{"AllNamespaces", "deploymentConfig: {selector: {matchLabels: {a: b}}}", `unknown field "selector"`},
		{"AllNamespaces", "deploymentConfig: {nodeSelector: [a]}", `invalid type for field "deploymentConfig.nodeSelector": got array, want object`},
		{"AllNamespaces", "deploymentConfig: {nodeSelector: {gpu: true}}", `invalid type for field "deploymentConfig.nodeSelector.gpu": got boolean, want string`},
		{"AllNamespaces", "deploymentConfig: {env: [{value: x}]}", "validation failed"},
		{"AllNamespaces", "deploymentConfig: {resources: {limits: {cpu: 1, memory: 1Gi}}}", ""},
		{"AllNamespaces", "deploymentConfig: {resources: {limits: {memory: 1GB}}}", "invalid deploymentConfig: failed to unmarshal deploymentConfig: " +
			"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
	} {
		got := configured(t, c.modes, c.inline, versions.Newest(versions.OperatorController))
		got, _, _ = strings.Cut(got, "operator-controller v1.11 has spec.config only in its experimental CRDs")
		if got = strings.TrimSuffix(got, "; "); got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.modes, c.inline, got, c.want)
		}
	}
}

// The page has what each release says to a kind of configuration.
func TestPage(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, "| `spec.config.inline` | Supported | Releases | OLM v1 refuses it: ..., or a finding |\n| --- | --- | --- | --- |\n")
	for _, kind := range []struct{ modes, inline string }{
		{"AllNamespaces", "{foo: 1}"}, {"SingleNamespace", "{}"},
		{"AllNamespaces", "{deploymentConfig: {nodeSelector: {disk: ssd}}}"}, {"AllNamespaces", "{deploymentConfig: {nodeSelector: [ssd]}}"},
	} {
		for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
			list := versions.Releases(of)
			for first := 0; first < len(list); {
				says := func(i int) string {
					return strings.NewReplacer(list[i].String()+" ", "it ", "|", "\\|").Replace(configured(t, kind.modes, kind.inline, list[i]))
				}
				last := first
				for last+1 < len(list) && says(last+1) == says(first) {
					last++
				}
				span := list[first].String()
				if last > first {
					span += " to " + list[last].Number()
				}
				text := says(first)
				if text == "" {
					text = "-"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", kind.inline, kind.modes, span, text)
				first = last + 1
			}
		}
	}
	golden.CheckPart(t, filepath.Join("..", "..", "docs", "reference", "versions.md"), "<!-- what becomes of spec.config: written by make docs -->\n",
		"<!-- end of spec.config -->", b.String(), *update)
}

// A variable that comes from an annotation which a release does not write is empty, unless somebody else writes it.
func TestAnnotations(t *testing.T) {
	const spec = `  install:
    strategy: deployment
    spec:
      deployments:
      - name: ferry
        spec:
          selector: {matchLabels: {app: ferry}}
          template:
            metadata: {labels: {app: ferry}}
            spec:
              containers:
              - name: ferry
                image: registry.example.com/ferry:v1
                env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['%s']"}}}]
`
	for _, c := range []struct{ annotation, config, release, want string }{
		{"olm.operatorNamespace", "", "v1.10", "Deployment ferry reads the annotation olm.operatorNamespace of its pods, which operator-controller v1.10 does not write: it is empty"},
		{"olm.operatorNamespace", "", "5.1", "Deployment ferry reads the annotation olm.operatorNamespace of its pods, which OpenShift 5.1 does not write: it is empty"},
		{"olm.operatorNamespace", "", "v1.11", ""},
		{"olm.operatorGroup", "", "v1.11", "Deployment ferry reads the annotation olm.operatorGroup of its pods, which operator-controller v1.11 does not write: it is empty"},
		{"olm.targetNamespaces", "", "v1.0", ""},
		{"olm.targetNamespaces", "", "4.18", ""},
		{"team", "", "v1.0", ""},
		{"olm.operatorGroup", "deploymentConfig: {env: [{name: A, value: b}]}", "v1.8", ""},
		{"olm.operatorGroup", "deploymentConfig: {env: [{name: B, value: b}]}", "v1.8", "Deployment ferry reads the annotation olm.operatorGroup of its pods, " +
			"which operator-controller v1.8 does not write: it is empty"},
	} {
		o, in := operator(t, "AllNamespaces", fmt.Sprintf(spec, c.annotation), nil), cluster(t, c.release)
		var config any
		if err := yaml.Unmarshal([]byte(c.config), &config); err != nil {
			t.Fatal(err)
		}
		if err := o.Configure(config, "ferries", in.Controllers()[0]); err != nil {
			t.Fatal(err)
		}
		verdict, list := fit.Judge(o, fit.OLMv1, in)
		got := ""
		for _, f := range list {
			if f.Rule == fit.RuleAnnotations.ID && f.Level == findings.Warning {
				got += f.Message
			}
		}
		if got != c.want || (verdict.Answer == fit.Runs) != (c.want == "") {
			t.Errorf("%+v: %s, %s", c, got, verdict)
		}
	}
}

// The schema is made as operator-controller makes it (hack/tools/schema-generator/main.go): of the fields of a
// SubscriptionConfig without selector, and of what Kubernetes' OpenAPI document says of their types, which are Go types here.
func TestConfigSchema(t *testing.T) {
	d := definitions{}
	properties := d.object(reflect.TypeFor[v1alpha1.SubscriptionConfig](), true)
	delete(properties["properties"].(map[string]any), "selector")
	properties["additionalProperties"] = false
	schema := map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
		"$id":        "https://operator-framework.io/schemas/registry-v1-bundle-config.json",
		"properties": map[string]any{"deploymentConfig": properties, "watchNamespace": map[string]any{}},
		"components": map[string]any{"schemas": d}}
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	text = append(bytes.ReplaceAll(text, []byte(`"io.k8s.`), []byte("\n\"io.k8s.")), '\n') // a type, a line
	golden.CheckFile(t, "config.schema.json", text, *update)
}

// definitions are schemas of types by their names in Kubernetes' OpenAPI document.
type definitions map[string]any

func definitionName(t reflect.Type) string {
	return "io." + strings.NewReplacer("k8s.io/", "k8s.", "/pkg/", ".pkg.", "/", ".").Replace(t.PkgPath()) + "." + t.Name()
}

// otherwise has the fields whose comments in Kubernetes (+optional, +required) say otherwise than their tags, and whether they are required.
var otherwise = map[string]bool{"ProjectedVolumeSource.sources": false, "TypedLocalObjectReference.apiGroup": false,
	"TypedObjectReference.apiGroup": false, "PodCertificateProjection.keyType": true, "PodCertificateProjection.signerName": true}

// schema returns the schema of a type. Kubernetes describes fields beside a reference, so that is one of allOf there; top is what is
// not described.
func (d definitions) schema(t reflect.Type, top bool) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem(), top)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.schema(t.Elem(), top)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem(), true)}
	case reflect.Struct:
		name := definitionName(t)
		if _, there := d[name]; !there {
			d[name] = nil
			d[name] = d.object(t, false)
		}
		ref := map[string]any{"$ref": "#/components/schemas/" + name}
		if top {
			return ref
		}
		return map[string]any{"allOf": []any{ref}}
	}
	return map[string]any{"type": "string"}
}

func (d definitions) object(t reflect.Type, top bool) map[string]any {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}}}
	case reflect.TypeFor[metav1.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{"type": "object"}
	}
	properties, required := map[string]any{}, []string(nil)
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" { // inline
			inline := d.object(f.Type, top)
			maps.Copy(properties, inline["properties"].(map[string]any))
			more, _ := inline["required"].([]string)
			required = append(required, more...)
			continue
		}
		properties[name] = d.schema(f.Type, top)
		needed, known := otherwise[t.Name()+"."+name]
		if needed || !known && options == "" && !top {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
