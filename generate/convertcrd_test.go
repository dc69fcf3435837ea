package generate

import (
	"strings"
	"testing"
)

func TestConvertCRD(t *testing.T) {
	const preserved = `{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`
	for _, c := range []struct{ name, spec, want string }{
		{"one version at the top, without a schema", `{group: g, version: v1, scope: Cluster, names: {plural: a}}`,
			`{group: g, scope: Cluster, names: {plural: a}, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
		{"without scope", `{version: v1}`, `{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
		{"what is said for all versions moves into the one", `
version: v1
scope: Namespaced
preserveUnknownFields: false
validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
subresources: {status: {}, scale: {specReplicasPath: .spec.replicas}}
additionalPrinterColumns:
- {name: Age, type: date, JSONPath: .metadata.creationTimestamp}
- {name: Ready, type: string, JSONPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1}
`, `
scope: Namespaced
versions:
- name: v1
  served: true
  storage: true
  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
  subresources: {status: {}, scale: {specReplicasPath: .spec.replicas}}
  additionalPrinterColumns:
  - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
  - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1}
`},
		{"and into each of two", `
version: v1
scope: Namespaced
preserveUnknownFields: false
versions: [{name: v1, served: true, storage: true}, {name: v1beta1, served: true, storage: false}]
validation: {openAPIV3Schema: {type: object}}
subresources: {status: {}}
additionalPrinterColumns: [{name: Age, type: date, JSONPath: .a}]
`, `
scope: Namespaced
versions:
- {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}, additionalPrinterColumns: [{name: Age, type: date, jsonPath: .a}]}
- {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}, additionalPrinterColumns: [{name: Age, type: date, jsonPath: .a}]}
`},
		{"each version's own stays", `
scope: Namespaced
preserveUnknownFields: false
versions:
- {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: one}}, additionalPrinterColumns: [{name: Age, type: date, JSONPath: .a}]}
- {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: two}}, subresources: {status: {}}}
`, `
scope: Namespaced
versions:
- {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: one}}, additionalPrinterColumns: [{name: Age, type: date, jsonPath: .a}]}
- {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: two}}, subresources: {status: {}}}
`},
		{"unknown fields by default kept", `{version: v1, scope: Namespaced, validation: {openAPIV3Schema: {properties: {}}}}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {}, x-kubernetes-preserve-unknown-fields: true}}}]}`},
		{"unknown fields kept", `{version: v1, scope: Namespaced, preserveUnknownFields: true, validation: {openAPIV3Schema: {properties: {}}}}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {}, x-kubernetes-preserve-unknown-fields: true}}}]}`},
		{"unknown fields not kept", `{version: v1, scope: Namespaced, preserveUnknownFields: false, validation: {openAPIV3Schema: {properties: {}}}}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {}}}}]}`},
		{"no schema, unknown fields not kept: v1 needs a schema that keeps them", `{version: v1, scope: Namespaced, preserveUnknownFields: false}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
		{"an empty validation", `{version: v1, scope: Namespaced, preserveUnknownFields: false, validation: {}}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
		{"a schema of another type stays", `{version: v1, scope: Namespaced, preserveUnknownFields: false, validation: {openAPIV3Schema: {type: string}}}`,
			`{scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: string}}}]}`},
		{"no conversion", `{version: v1, scope: Namespaced, conversion: {strategy: None}}`,
			`{scope: Namespaced, conversion: {strategy: None}, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
		{"a conversion webhook", `
version: v1
scope: Namespaced
conversion: {strategy: Webhook, webhookClientConfig: {service: {name: s, namespace: n}, caBundle: eA==}, conversionReviewVersions: [v1beta1, v1]}
`, `
scope: Namespaced
conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s, namespace: n}, caBundle: eA==}, conversionReviewVersions: [v1beta1, v1]}}
versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]
`},
		{"a conversion webhook in v1 form already", `{version: v1, scope: Namespaced, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}}`,
			`{scope: Namespaced, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}, versions: [{name: v1, served: true, storage: true, schema: ` + preserved + `}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			crd := map[string]any{"metadata": map[string]any{"name": "a.g"}, "spec": fromYAML[map[string]any](t, c.spec), "status": map[string]any{"conditions": nil}}
			convertCRD(crd)
			checkYAML(t, "spec", crd["spec"], c.want)
			if _, ok := crd["status"]; ok {
				t.Error("the status stayed")
			}
		})
	}
}

// v1 wants a type at every level; v1beta1 did not. What follows from other keywords is said, and nothing is checked where nothing follows.
func TestStructural(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"nothing", `{}`, `{x-kubernetes-preserve-unknown-fields: true}`},
		{"a type stays", `{type: string, format: date}`, `{type: string, format: date}`},
		{"properties make an object", `{properties: {a: {type: string}, b: {}}}`, `{type: object, properties: {a: {type: string}, b: {x-kubernetes-preserve-unknown-fields: true}}}`},
		{"a property called properties", `{type: object, properties: {properties: {type: string}}}`, `{type: object, properties: {properties: {type: string}}}`},
		{"additionalProperties make an object", `{additionalProperties: {format: int32}}`, `{type: object, additionalProperties: {format: int32, x-kubernetes-preserve-unknown-fields: true}}`},
		{"true as additionalProperties", `{additionalProperties: true}`, `{type: object, additionalProperties: true}`},
		{"items make an array", `{items: {properties: {a: {type: string}}}}`, `{type: array, items: {type: object, properties: {a: {type: string}}}}`},
		{"an array without items", `{type: array}`, `{type: array, items: {x-kubernetes-preserve-unknown-fields: true}}`},
		{"int-or-string", `{x-kubernetes-int-or-string: true}`, `{x-kubernetes-int-or-string: true}`},
		{"preserved already", `{x-kubernetes-preserve-unknown-fields: true}`, `{x-kubernetes-preserve-unknown-fields: true}`},
		{"deep inside", `{type: object, properties: {a: {type: array, items: {type: object, additionalProperties: {items: {}}}}}}`,
			`{type: object, properties: {a: {type: array, items: {type: object, additionalProperties: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := fromYAML[map[string]any](t, c.schema)
			structural(schema)
			checkYAML(t, "schema", schema, c.want)
		})
	}
}

// Versions must not share what was said once: a later change of one would change the other.
func TestConvertCRDCopies(t *testing.T) {
	crd := map[string]any{"spec": fromYAML[map[string]any](t, `
versions: [{name: v1}, {name: v2}]
validation: {openAPIV3Schema: {type: object, required: [a]}}
`)}
	convertCRD(crd)
	first := at(t, crd, "spec", "versions", 0, "schema", "openAPIV3Schema").(map[string]any)
	first["required"].([]any)[0] = "changed"
	first["type"] = "changed"
	checkYAML(t, "the other version's schema", at(t, crd, "spec", "versions", 1, "schema", "openAPIV3Schema"),
		`{type: object, required: [a], x-kubernetes-preserve-unknown-fields: true}`)
}

func TestConvertCRDOfRubbish(t *testing.T) {
	for _, text := range []string{`{}`, `{spec: 1}`, `{spec: {versions: 1}}`, `{spec: {versions: [1, null]}}`, `{spec: {versions: [{additionalPrinterColumns: 1, schema: 1}], conversion: 1}}`} {
		object := fromYAML[map[string]any](t, text)
		convertCRD(object) // must not panic; the API server says what is wrong
		if spec, ok := object["spec"].(map[string]any); ok && spec["scope"] != "Namespaced" {
			t.Errorf("%s: not converted: %v", text, object)
		}
	}
}

const v1beta1CRD = `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
  namespace: nonsense
spec:
  group: cache.example.com
  names: {kind: Memcached, plural: memcacheds}
  scope: Namespaced
  version: v1alpha1
  preserveUnknownFields: false
  additionalPrinterColumns:
  - {name: Age, type: date, JSONPath: .a}
`

// Only if it is asked for; the namespace of a CRD goes either way.
func TestRenderV1Beta1CRD(t *testing.T) {
	b := testBundle(t, globalOnly+ownsMemcached, v1beta1CRD)
	carried := rendered(t, b, Options{})["CustomResourceDefinition memcacheds.cache.example.com"]
	if got := carried["apiVersion"]; got != "apiextensions.k8s.io/v1beta1" {
		t.Errorf("carried as %v", got)
	}
	at(t, carried, "spec", "version")
	converted := rendered(t, b, Options{ConvertCRDs: true})["CustomResourceDefinition memcacheds.cache.example.com"]
	if got := converted["apiVersion"]; got != "apiextensions.k8s.io/v1" {
		t.Errorf("converted to %v", got)
	}
	at(t, converted, "spec", "versions", 0, "additionalPrinterColumns", 0, "jsonPath")
	for _, crd := range []map[string]any{carried, converted} {
		if ns, ok := at(t, crd, "metadata").(map[string]any)["namespace"]; ok {
			t.Errorf("a CRD in namespace %v", ns)
		}
	}
	// a v1 CRD is not touched
	v1 := strings.TrimPrefix(memcachedCRD, "\n")
	result, err := Render(testBundle(t, globalOnly+ownsMemcached, v1), Options{ConvertCRDs: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range result.Objects {
		if o.Kind == "CustomResourceDefinition" && string(o.Data) != v1 {
			t.Errorf("a v1 CRD was changed:\n%s", o.Data)
		}
	}
}
