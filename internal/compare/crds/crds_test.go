package crds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/manifest"
)

// crdText returns a CRD of Boats. A version is "name flags", with flags such as served, storage and deprecated; the
// schema of spec is the same in all.
func crdText(schema string, versions ...string) string {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.ferry.example.com}
spec:
  group: ferry.example.com
  scope: Namespaced
  names: {kind: Boat, plural: boats}
  versions:
`)
	for _, v := range versions {
		name, flags, _ := strings.Cut(v, " ")
		fmt.Fprintf(&b, "  - {name: %s, served: %t, storage: %t, deprecated: %t, schema: {openAPIV3Schema: "+
			"{type: object, properties: {spec: %s}}}}\n", name, strings.Contains(flags, "served"),
			strings.Contains(flags, "storage"), strings.Contains(flags, "deprecated"), schema)
	}
	return b.String()
}

func brief(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, strings.Join([]string{string(f.Severity), f.Rule, f.Version, f.Path, f.Message}, " | "))
	}
	return out
}

// TestVersions holds the rules about CRDs and versions.
func TestVersions(t *testing.T) {
	const any = "{type: object}"
	for name, tc := range map[string]struct {
		old, now []string // versions; nil for no CRD
		want     []string
	}{
		"nothing changes":  {[]string{"v1 served storage"}, []string{"v1 served storage"}, nil},
		"the CRD is gone":  {[]string{"v1 served storage"}, nil, []string{"error crdRemoved "}},
		"the CRD is new":   {nil, []string{"v1 served storage"}, []string{"info crdAdded "}},
		"a version is new": {[]string{"v1 served storage"}, []string{"v1 served storage", "v2 served"}, []string{"info versionAdded v2"}},
		"removed at once": {[]string{"v1 served", "v2 served storage"}, []string{"v2 served storage"},
			[]string{"error servedVersionRemoved v1", "warning removedWithoutDeprecation v1"}},
		"removed at once, though deprecated": {[]string{"v1 served deprecated", "v2 served storage"},
			[]string{"v2 served storage"}, []string{"error servedVersionRemoved v1"}},
		"removed after it was no longer served": {[]string{"v1 deprecated", "v2 served storage"},
			[]string{"v2 served storage"}, []string{"warning versionRemoved v1"}},
		"removed with what is stored in it": {[]string{"v1 storage", "v2 served"}, []string{"v2 served storage"},
			[]string{"error storageVersionRemoved v1"}},
		"no longer served": {[]string{"v1 served deprecated", "v2 served storage"},
			[]string{"v1 deprecated", "v2 served storage"}, []string{"error versionNotServed v1"}},
		"deprecated": {[]string{"v1 served", "v2 served storage"}, []string{"v1 served deprecated", "v2 served storage"},
			[]string{"info versionDeprecated v1"}},
		"another storage version": {[]string{"v1 served storage", "v2 served"}, []string{"v1 served", "v2 served storage"},
			[]string{"info storageVersionChanged v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var old, now []*manifest.Object
			if tc.old != nil {
				old = reviewtest.Objects(t, "old.yaml", crdText(any, tc.old...))
			}
			if tc.now != nil {
				now = reviewtest.Objects(t, "now.yaml", crdText(any, tc.now...))
			}
			findings, err := Compare(t.Context(), old, now, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, string(f.Severity)+" "+f.Rule+" "+f.Version)
				if f.CRD != "boats.ferry.example.com" {
					t.Errorf("wrong CRD: %+v", f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSchemas holds what is said about changed schemas, on one line each.
func TestSchemas(t *testing.T) {
	object := func(properties string) string { return "{type: object, properties: {" + properties + "}}" }
	for name, tc := range map[string]struct{ old, now, want string }{
		"required": {object("a: {type: string}"), "{type: object, required: [a], properties: {a: {type: string}}}",
			"error | required | v1 | spec | newly required: a"},
		"required with a default": {object("a: {type: string}"),
			"{type: object, required: [a], properties: {a: {type: string, default: x}}}",
			"info | requiredWithDefault | v1 | spec | newly required, with a default: a\n" +
				"info | defaultAdded | v1 | spec.a | default added: \"x\""},
		"alternatives in another order": {"{type: object, properties: {a: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}",
			"{type: object, properties: {a: {type: string}}, oneOf: [{required: [b]}, {required: [a]}]}", ""},
		"a wider pattern": {object("a: {type: string, pattern: '^a$'}"), object("a: {type: string, pattern: '^[ab]$'}"),
			"info | pattern | v1 | spec.a | pattern changed from ^a$ to ^[ab]$"},
		"a length that an enum implies": {object("a: {type: string, enum: [abc]}"), object("a: {type: string, enum: [abc], minLength: 1}"),
			"info | minLength | v1 | spec.a | minLength added: 1"},
		"a field goes with all below it": {object("a: {type: object, properties: {b: {type: string}, c: {type: array, items: {type: string}}}}"),
			object(""), "error | existingFieldRemoval | v1 | spec.a | removed, with 3 fields below it"},
		"type": {object("a: {type: string}"), object("a: {type: integer}"),
			"error | type | v1 | spec.a | type changed from string to integer"},
		"items": {object("a: {type: array, items: {type: string}}"), object("a: {type: array, items: {type: integer}}"),
			"error | type | v1 | spec.a[] | type changed from string to integer"},
		"values of a map": {object("a: {type: object, additionalProperties: {type: string}}"),
			object("a: {type: object, additionalProperties: {type: integer}}"),
			"error | type | v1 | spec.a[*] | type changed from string to integer\n" +
				"info | nested | v1 | spec.a | changed below: additionalProperties"},
		"enum": {object("a: {type: string, enum: [x, y]}"), object("a: {type: string, enum: [y, z]}"),
			`error | enum | v1 | spec.a | values removed: "x"`},
		"enum gets values": {object("a: {type: string, enum: [x]}"), object("a: {type: string, enum: [x, z]}"),
			`info | enumAdded | v1 | spec.a | values added: "z"`},
		"becomes an enum": {object("a: {type: string}"), object("a: {type: string, enum: [x]}"),
			`error | enum | v1 | spec.a | became an enum: "x"`},
		"maxLength": {object("a: {type: string, maxLength: 9}"), object("a: {type: string, maxLength: 5}"),
			"error | maxLength | v1 | spec.a | maxLength decreased: 9 -> 5"},
		"minItems": {object("a: {type: array, items: {type: string}}"), object("a: {type: array, minItems: 1, items: {type: string}}"),
			"error | minItems | v1 | spec.a | minItems added: 1"},
		"wider bounds": {object("a: {type: string, maxLength: 5}"), object("a: {type: string, maxLength: 9}"),
			"info | compatible | v1 | spec.a | maxLength changed from 5 to 9"},
		"no longer required": {"{type: object, required: [a], properties: {a: {type: string}}}", object("a: {type: string}"),
			"info | requiredRemoved | v1 | spec | no longer required: a"},
		"required in another order": {"{type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}",
			"{type: object, required: [b, a], properties: {a: {type: string}, b: {type: string}}}", ""},
		"pattern": {object("a: {type: string, pattern: '^a$'}"), object("a: {type: string, pattern: '^b$'}"),
			"error | pattern | v1 | spec.a | pattern changed from ^a$ to ^b$"},
		"no pattern": {object("a: {type: string, pattern: '^a$'}"), object("a: {type: string}"),
			"info | patternRemoved | v1 | spec.a | pattern removed: ^a$"},
		"null": {object("a: {type: string, nullable: true}"), object("a: {type: string}"),
			"error | nullable | v1 | spec.a | null is no longer allowed"},
		"a CEL rule": {object("a: {type: string}"),
			object("a: {type: string, x-kubernetes-validations: [{rule: self != 'x'}]}"),
			"error | validationRule | v1 | spec.a | x-kubernetes-validations: rule added: self != 'x'"},
		"no CEL rule": {object("a: {type: string, x-kubernetes-validations: [{rule: self != 'x'}]}"), object("a: {type: string}"),
			"info | validationRuleChanged | v1 | spec.a | x-kubernetes-validations: rule removed: self != 'x'"},
		"a message of CEL": {object("a: {type: string, x-kubernetes-validations: [{rule: self != 'x'}]}"),
			object("a: {type: string, x-kubernetes-validations: [{rule: self != 'x', message: never}]}"),
			"info | validationRuleChanged | v1 | spec.a | x-kubernetes-validations: messages or order changed"},
		"format": {object("a: {type: string}"), object("a: {type: string, format: date-time}"),
			"error | unhandled | v1 | spec.a | format added: date-time"},
		"description": {object("a: {type: string}"), object("a: {type: string, description: " + strings.Repeat("x", 5000) + "}"),
			"info | description | v1 | spec.a | description changed"},
		"a long default": {object("a: {type: string}"), object("a: {type: string, default: " + strings.Repeat("x", 5000) + "}"),
			`info | defaultAdded | v1 | spec.a | default added: "` + strings.Repeat("x", 58) + "…"},
		"a new field": {object(""), object("a: {type: string}"), "info | fieldAdded | v1 | spec.a | added"},
		"new fields below a field": {object(""), object("a: {type: object, properties: {b: {type: string}}}"),
			"info | fieldAdded | v1 | spec.a | added, with 1 field below it"},
		"unknown fields are kept": {object("a: {type: object}"), object("a: {type: object, x-kubernetes-preserve-unknown-fields: true}"),
			"info | unhandled | v1 | spec.a | x-kubernetes-preserve-unknown-fields added: true"},
		"a strange name": {object(`"a.[b]": {type: string}`), object(`"a.[b]": {type: integer}`),
			`error | type | v1 | spec."a.[b]" | type changed from string to integer`},
	} {
		t.Run(name, func(t *testing.T) {
			findings, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", crdText(tc.old, "v1 served storage")),
				reviewtest.Objects(t, "now.yaml", crdText(tc.now, "v1 served storage")), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Join(brief(findings), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestServedVersions holds what is said about two versions of the new CRD that differ: at most a warning, and with a
// webhook that converts at most a note.
func TestServedVersions(t *testing.T) {
	two := func(conversion string) string {
		return strings.Replace(crdText("{type: string}", "v1 served storage", "v2 served"), "spec:\n",
			"spec:\n  conversion: "+conversion+"\n", 1)
	}
	changed := func(text string) string {
		i := strings.LastIndex(text, "type: string")
		return text[:i] + "type: integer" + text[i+len("type: string"):]
	}
	for conversion, want := range map[string]string{
		"{strategy: None}":    "warning | type | v1 -> v2 | spec | type changed from string to integer",
		"{strategy: Webhook}": "info | type | v1 -> v2 | spec | type changed from string to integer",
	} {
		findings, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", two(conversion)), reviewtest.Objects(t, "now.yaml", changed(two(conversion))),
			Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := brief(findings)
		if !slices.Contains(got, want) || !slices.Contains(got, "error | type | v2 | spec | type changed from string to integer") {
			t.Errorf("%s: %s", conversion, strings.Join(got, "\n"))
		}
		known, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", changed(two(conversion))),
			reviewtest.Objects(t, "now.yaml", strings.Replace(changed(two(conversion)), "plural: boats", "plural: boats, shortNames: [b]", 1)),
			Options{})
		if err != nil || len(known) != 1 || known[0].Rule != ruleNamesAdded {
			t.Errorf("what differed before is reported: %v, %v", brief(known), err)
		}
	}
}

// TestOldCRDs holds that a v1beta1 CRD is compared with a v1 CRD.
func TestOldCRDs(t *testing.T) {
	old := `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: boats.ferry.example.com}
spec:
  group: ferry.example.com
  version: v1
  names: {kind: Boat, plural: boats}
  validation: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}
`
	findings, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", old),
		reviewtest.Objects(t, "now.yaml", crdText("{type: integer}", "v1 served storage")), Options{})
	want := []string{"error | unhandled |  |  | preserveUnknownFields removed: true",
		"error | type | v1 | spec | type changed from string to integer",
		"info | otherField |  |  | apiVersion changed from apiextensions.k8s.io/v1beta1 to apiextensions.k8s.io/v1"}
	if diff := cmp.Diff(want, brief(findings)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	findings, err = Compare(t.Context(), reviewtest.Objects(t, "old.yaml", strings.Replace(old, "  validation: {", "  x: {", 1)),
		reviewtest.Objects(t, "now.yaml", crdText("{type: integer}", "v1 served storage")), Options{})
	if err != nil {
		t.Errorf("a CRD without schema: %v, %v", brief(findings), err)
	}
}

func TestUnreadable(t *testing.T) {
	good := crdText("{type: string}", "v1 served storage")
	for name, tc := range map[string]struct{ text, want string }{
		"type":        {strings.Replace(good, "type: string", "type: [string]", 1), "now.yaml:9: spec.versions[0].schema.openAPIV3Schema.properties.spec.type: "},
		"no versions": {strings.Replace(crdText(""), "versions:\n", "versions: []\n", 1), "now.yaml:8: spec.versions: the CRD has no versions"},
		"no name":     {strings.Replace(good, "name: boats.ferry.example.com", "", 1), "now.yaml:3: metadata.name: missing"},
		"no kind":     {strings.Replace(good, "kind: Boat, ", "", 1), "now.yaml:7: spec.names.kind: missing"},
		"version":     {strings.Replace(good, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v7", 1), `now.yaml:1: apiVersion: "apiextensions.k8s.io/v7" is not a version`},
	} {
		_, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", good), reviewtest.Objects(t, "now.yaml", tc.text), Options{})
		var place *manifest.Error
		if err == nil || !errors.As(err, &place) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// TestOwnFields holds the rules about fields of a CRD that are neither versions nor schemas.
func TestOwnFields(t *testing.T) {
	spec := func(more string) string {
		return strings.Replace(crdText("{type: object}", "v1 served storage", "v2 served"), "  scope:", more+"  scope:", 1)
	}
	names := func(more string) string {
		return strings.ReplaceAll(spec(""), "kind: Boat,", "kind: Boat, "+more)
	}
	of := func(more string) string { return strings.Replace(spec(""), "name: v1,", "name: v1, "+more, 1) }
	hook := func(service string) string {
		return spec("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {" + service + "}}}\n")
	}
	for name, tc := range map[string]struct{ old, now, want string }{
		"a conversion webhook": {spec(""), hook("url: 'https://x'"),
			"warning | conversion |  |  | conversion.strategy changed from None to Webhook\n" +
				"warning | conversion |  |  | conversion.webhook.clientConfig.url added: https://x\n" +
				"warning | conversion |  |  | conversion.webhook.conversionReviewVersions[v1] added"},
		"no conversion webhook": {hook("url: 'https://x'"), spec("  conversion: {strategy: None}\n"),
			"error | conversionRemoved |  |  | conversion.strategy changed from Webhook to None\n" +
				"error | conversionRemoved |  |  | conversion.webhook.clientConfig.url removed: https://x\n" +
				"error | conversionRemoved |  |  | conversion.webhook.conversionReviewVersions[v1] removed"},
		"another service": {hook("service: {name: a, namespace: x}"), hook("service: {name: b, namespace: x, port: 443}"),
			"warning | conversion |  |  | conversion.webhook.clientConfig.service.name changed from a to b"},
		"None is written": {spec(""), spec("  conversion: {strategy: None}\n"), ""},
		"status goes":     {of("subresources: {status: {}},"), of(""), "error | subresourceRemoved | v1 |  | subresources.status removed"},
		"status comes":    {of(""), of("subresources: {status: {}},"), "warning | subresourceAdded | v1 |  | subresources.status added"},
		"scale": {of("subresources: {scale: {specReplicasPath: .a, statusReplicasPath: .b}},"),
			of("subresources: {scale: {specReplicasPath: .c, statusReplicasPath: .b}},"),
			"warning | subresourceChanged | v1 |  | subresources.scale.specReplicasPath changed from .a to .c"},
		"scale goes": {of("subresources: {scale: {specReplicasPath: .a, statusReplicasPath: .b}},"), of(""),
			"error | subresourceRemoved | v1 |  | subresources.scale removed"},
		"scale comes": {of("subresources: {status: {}},"), of("subresources: {status: {}, scale: {specReplicasPath: .a, statusReplicasPath: .b}},"),
			"info | scaleAdded | v1 |  | subresources.scale added"},
		"a column": {of(""), of("additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}],"),
			"info | printerColumns | v1 |  | additionalPrinterColumns[A] added"},
		"a short name":    {names("shortNames: [b], "), names(""), "warning | namesRemoved |  |  | names.shortNames[b] removed"},
		"a category":      {names(""), names("categories: [all], "), "info | namesAdded |  |  | names.categories[all] added"},
		"a list kind":     {names(""), names("listKind: Boats, "), "warning | namesRemoved |  |  | names.listKind changed from BoatList to Boats"},
		"a default name":  {names(""), names("listKind: BoatList, singular: boat, "), ""},
		"a label":         {spec(""), strings.Replace(spec(""), "metadata: {", "metadata: {labels: {a: b}, ", 1), "info | otherField |  |  | metadata.labels.a added: b"},
		"a field select":  {of(""), of("selectableFields: [{jsonPath: .spec.a}],"), "info | otherField | v1 |  | selectableFields[0] added"},
		"a warning":       {of("deprecated: true, deprecationWarning: a,"), of("deprecated: true, deprecationWarning: b,"), "info | otherField | v1 |  | deprecationWarning changed from a to b"},
		"unknown fields":  {spec(""), spec("  preserveUnknownFields: true\n"), "info | unhandled |  |  | preserveUnknownFields added: true"},
		"nothing happens": {spec(""), spec(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.old, tc.now = strings.ReplaceAll(tc.old, " deprecated: false,", ""), strings.ReplaceAll(tc.now, " deprecated: false,", "")
			findings, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", tc.old), reviewtest.Objects(t, "now.yaml", tc.now), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Join(brief(findings), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
