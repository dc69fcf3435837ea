package crds

import (
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/reviewtest"
)

// TestShown holds, for each kind of change of a schema, whether it is shown to break something, proven not to, or
// neither. The severity is the worst of all findings. What is wanted of a witness is a part of it.
func TestShown(t *testing.T) {
	a := func(schema string) string { return "{type: object, properties: {a: " + schema + "}}" }
	for name, tc := range map[string]struct {
		old, now string
		want     findings.Severity
		witness  string
	}{
		// What breaks.
		"type":                  {a("{type: string}"), a("{type: integer}"), Error, `"x" was taken, is refused: must be of type integer`},
		"number to integer":     {a("{type: number}"), a("{type: integer}"), Error, ` was taken, is refused: `},
		"format":                {a("{type: string}"), a("{type: string, format: date-time}"), Error, `"x" was taken, is refused: `},
		"int64 to int32":        {a("{type: integer, format: int64}"), a("{type: integer, format: int32}"), Error, " was taken, is refused: "},
		"exclusive minimum":     {a("{type: integer, minimum: 1}"), a("{type: integer, minimum: 1, exclusiveMinimum: true}"), Error, "1 was taken, is refused: "},
		"exclusive maximum":     {a("{type: integer, maximum: 9}"), a("{type: integer, maximum: 9, exclusiveMaximum: true}"), Error, "9 was taken, is refused: "},
		"multipleOf":            {a("{type: integer, multipleOf: 2}"), a("{type: integer, multipleOf: 4}"), Error, "2 was taken, is refused: "},
		"new multipleOf":        {a("{type: integer, minimum: 10}"), a("{type: integer, minimum: 10, multipleOf: 10}"), Error, " was taken, is refused: "},
		"maxLength":             {a("{type: string, pattern: '^[a-f]+$', maxLength: 40}"), a("{type: string, pattern: '^[a-f]+$', maxLength: 39}"), Error, " was taken, is refused: may not be more than 39"},
		"pattern":               {a("{type: string, pattern: '^[a-z0-9]+$'}"), a("{type: string, pattern: '^[a-z]+$'}"), Error, " was taken, is refused: should match '^[a-z]+$'"},
		"a line":                {a("{type: string}"), a("{type: string, pattern: '^.*$'}"), Error, `"a\nb" was taken`},
		"enum":                  {a("{type: string, enum: [x, y]}"), a("{type: string, enum: [y]}"), Error, `"x" was taken, is refused: `},
		"required":              {a("{type: string}"), "{type: object, required: [a], properties: {a: {type: string}}}", Error, "{} was taken, is refused: a: required value"},
		"a default goes":        {"{type: object, required: [a], properties: {a: {type: string, default: x}}}", "{type: object, required: [a], properties: {a: {type: string}}}", Error, "an object without it was taken, is refused: "},
		"nullable":              {a("{type: string, nullable: true}"), a("{type: string}"), Error, "null was taken, is dropped"},
		"a field goes":          {a("{type: object, properties: {b: {type: string}}}"), a("{type: object, properties: {}}"), Error, `"x" was taken, is dropped`},
		"a field is no map":     {a("{type: object, additionalProperties: {type: string}}"), a("{type: object, properties: {b: {type: string}}}"), Error, " was taken, is dropped"},
		"minProperties":         {a("{type: object, additionalProperties: {type: string}}"), a("{type: object, minProperties: 1, additionalProperties: {type: string}}"), Error, "{} was taken, is refused: "},
		"maxProperties":         {a("{type: object, additionalProperties: {type: string}}"), a("{type: object, maxProperties: 2, additionalProperties: {type: string}}"), Error, " was taken, is refused: "},
		"values of a map":       {a("{type: object, additionalProperties: {type: string}}"), a("{type: object, additionalProperties: {type: string, maxLength: 3}}"), Error, " was taken, is refused: "},
		"a set":                 {a("{type: array, items: {type: string}}"), a("{type: array, x-kubernetes-list-type: set, items: {type: string}}"), Error, `["x","x"] was taken, is refused: `},
		"a map":                 {a("{type: array, items: {type: object, required: [k], properties: {k: {type: string}}}}"), a("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}"), Error, " was taken, is refused: "},
		"fewer keys":            {a("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object, required: [k, l], properties: {k: {type: string}, l: {type: string}}}}"), a("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k, l], properties: {k: {type: string}, l: {type: string}}}}"), Error, " was taken, is refused: "},
		"maxItems of a set":     {a("{type: array, x-kubernetes-list-type: set, items: {type: string}}"), a("{type: array, maxItems: 3, x-kubernetes-list-type: set, items: {type: string}}"), Error, " was taken, is refused: "},
		"unknown fields":        {a("{type: object, x-kubernetes-preserve-unknown-fields: true}"), a("{type: object}"), Error, `{"some-key":"x"} was taken, is dropped in some-key`},
		"typed unknown fields":  {a("{type: object, x-kubernetes-preserve-unknown-fields: true}"), a("{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: integer}}}"), Error, ` was taken, is refused: must be of type integer`},
		"an embedded resource":  {a("{type: object, x-kubernetes-preserve-unknown-fields: true}"), a("{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}"), Error, " was taken, is refused: "},
		"anyOf":                 {a("{type: string}"), a("{type: string, anyOf: [{pattern: '^a'}, {pattern: '^b'}]}"), Error, `"x" was taken, is refused: `},
		"fewer alternatives":    {a("{type: string, anyOf: [{pattern: '^a'}, {pattern: '^b'}]}"), a("{type: string, anyOf: [{pattern: '^a'}]}"), Error, " was taken, is refused: "},
		"allOf":                 {a("{type: string}"), a("{type: string, allOf: [{maxLength: 3}]}"), Error, " was taken, is refused: "},
		"not":                   {a("{type: string}"), a("{type: string, not: {enum: [foo]}}"), Error, `"foo" was taken, is refused: `},
		"more of not":           {a("{type: string, not: {enum: [foo]}}"), a("{type: string, not: {enum: [foo, bar]}}"), Error, `"bar" was taken, is refused: `},
		"oneOf":                 {"{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}", Error, "{} was taken, is refused: "},
		"CEL":                   {a("{type: string}"), a("{type: string, x-kubernetes-validations: [{rule: \"self != 'blue'\"}]}"), Error, `"blue" was taken, is refused: `},
		"CEL of two fields":     {"{type: object, properties: {low: {type: integer}, high: {type: integer}, c: {type: string}}}", "{type: object, x-kubernetes-validations: [{rule: \"!has(self.low) || !has(self.high) || self.low <= self.high\"}], properties: {low: {type: integer}, high: {type: integer}, c: {type: string}}}", Error, " was taken, is refused: "},
		"no change any more":    {a("{type: string}"), a("{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"), Error, "a change of "},
		"below what must be":    {"{type: object, required: [b], oneOf: [{required: [c]}, {required: [d]}], properties: {a: {type: string}, b: {type: string, format: uuid}, c: {type: integer, minimum: 7}, d: {type: string}}}", "{type: object, required: [b], oneOf: [{required: [c]}, {required: [d]}], properties: {a: {type: string, maxLength: 5}, b: {type: string, format: uuid}, c: {type: integer, minimum: 7}, d: {type: string}}}", Error, " was taken, is refused: "},
		"below a rule":          {"{type: object, x-kubernetes-validations: [{rule: has(self.b)}], properties: {a: {type: string}, b: {type: string}}}", "{type: object, x-kubernetes-validations: [{rule: has(self.b)}], properties: {a: {type: string, enum: [z]}, b: {type: string}}}", Error, ` was taken, is refused: supported values: "z"`},
		"beside another break":  {"{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, required: [b], properties: {a: {type: string, maxLength: 0}, b: {type: string}}}", Error, `"x" was taken, is refused: `},
		"items of a list":       {a("{type: array, minItems: 2, items: {type: string}}"), a("{type: array, minItems: 2, items: {type: string, pattern: b}}"), Error, " was taken, is refused: "},
		"an embedded name":      {a("{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object, properties: {name: {type: string}}}}}"), a("{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 3}}}}}"), Error, " was taken, is refused: "},
		"an int or string less": {a("{x-kubernetes-int-or-string: true}"), a("{type: integer}"), Error, " was taken, is refused: "},

		// What does not.
		"minLength 0":          {a("{type: string}"), a("{type: string, minLength: 0}"), Info, ""},
		"any text":             {a("{type: string}"), a("{type: string, pattern: '.*'}"), Info, ""},
		"integer to number":    {a("{type: integer}"), a("{type: number}"), Info, ""},
		"int or string":        {a("{type: integer}"), a("{x-kubernetes-int-or-string: true}"), Info, ""},
		"fields to a map":      {a("{type: object, properties: {b: {type: string, maxLength: 3}}}"), a("{type: object, additionalProperties: {type: string}}"), Info, ""},
		"no not":               {a("{type: string, not: {enum: [foo]}}"), a("{type: string}"), Info, ""},
		"less of not":          {a("{type: string, not: {enum: [foo, bar]}}"), a("{type: string, not: {enum: [foo]}}"), Info, ""},
		"no CEL":               {a("{type: string, x-kubernetes-validations: [{rule: \"self != 'a'\"}]}"), a("{type: string}"), Info, ""},
		"kept below":           {a("{type: object, properties: {b: {type: object, properties: {c: {type: string}}}}}"), a("{type: object, x-kubernetes-preserve-unknown-fields: true}"), Info, ""},
		"any value":            {a("{type: string}"), a("{x-kubernetes-preserve-unknown-fields: true}"), Info, ""},
		"documentation":        {a("{type: string}"), a("{type: string, title: t, example: e, externalDocs: {url: 'https://x'}}"), Info, ""},
		"atomic":               {a("{type: array, items: {type: string}}"), a("{type: array, x-kubernetes-list-type: atomic, items: {type: string}}"), Info, ""},
		"granular":             {a("{type: object, properties: {b: {type: string}}}"), a("{type: object, x-kubernetes-map-type: granular, properties: {b: {type: string}}}"), Info, ""},
		"another alternative":  {a("{type: string, anyOf: [{pattern: '^a'}]}"), a("{type: string, anyOf: [{pattern: '^a'}, {pattern: '^b'}]}"), Info, ""},
		"no alternatives":      {a("{type: string, anyOf: [{pattern: '^a'}]}"), a("{type: string}"), Info, ""},
		"a condition less":     {a("{type: string, allOf: [{maxLength: 3}, {minLength: 1}]}"), a("{type: string, allOf: [{maxLength: 3}]}"), Info, ""},
		"more keys":            {a("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k, l], properties: {k: {type: string}, l: {type: string}}}}"), a("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object, required: [k, l], properties: {k: {type: string}, l: {type: string}}}}"), Info, ""},
		"an unchecked format":  {a("{type: string}"), a("{type: string, format: something}"), Info, ""},
		"a field":              {a("{type: object, properties: {}}"), a("{type: object, properties: {b: {type: string, minLength: 3}}}"), Info, ""},
		"a multiple of a part": {a("{type: integer, multipleOf: 4}"), a("{type: integer, multipleOf: 2}"), Info, ""},

		// What may.
		"CEL that takes more": {a("{type: string, x-kubernetes-validations: [{rule: self.size() < 5}]}"), a("{type: string, x-kubernetes-validations: [{rule: self.size() < 50}]}"), Warning, ""},
		"a default":           {a("{type: string, default: a}"), a("{type: string, default: b}"), Warning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", crdText(tc.old, "v1 served storage")),
				reviewtest.Objects(t, "now.yaml", crdText(tc.now, "v1 served storage")), Options{})
			if err != nil || len(list) == 0 {
				t.Fatal(list, err)
			}
			worst, said := None, []string{}
			for _, f := range list {
				if worst == None || f.Severity.Rank() < worst.Rank() {
					worst = f.Severity
				}
				if f.Witness != "" {
					said = append(said, f.Path+": "+f.Witness)
				}
				if f.Witness == "" && f.Severity == Error {
					t.Errorf("an error without a witness: %+v", f)
				}
			}
			if worst != tc.want || !strings.Contains(strings.Join(said, "\n"), tc.witness) || (len(said) > 0) != (tc.want == Error) {
				t.Errorf("%s, want %s:\n%s\n%s", worst, tc.want, strings.Join(said, "\n"), strings.Join(brief(list), "\n"))
			}
		})
	}
}

// TestShownAlone holds that a change has the witness that it breaks by itself, beside others at the same field. What is
// shown of changes that only together refuse a value says so.
func TestShownAlone(t *testing.T) {
	a := func(schema string) string { return "{type: object, properties: {a: " + schema + "}}" }
	b := func(schema string) string {
		return "{type: object, properties: {b: " + schema + ", d: " + schema + "}}"
	}
	for name, tc := range map[string]struct {
		old, now string
		want     []string // the findings, with the witnesses from "is" on
	}{
		"each its own": {a("{type: string}"), a("{type: string, maxLength: 5, minLength: 1, pattern: '^[a-z]*$'}"), []string{
			"error maxLength a: refused: may not be more than 5 bytes", "error minLength a: refused: should be at least 1 chars long",
			"error pattern a: refused: should match '^[a-z]*$'"}},
		"alike": {b("{type: string}"), b("{type: string, maxLength: 5, pattern: '^[a-z]*$'}"), []string{
			"error maxLength b: refused: may not be more than 5 bytes", "error pattern b: refused: should match '^[a-z]*$'",
			"error maxLength d: refused: may not be more than 5 bytes", "error pattern d: refused: should match '^[a-z]*$'"}},
		"what the older one refuses": {a("{type: string, pattern: '^[a-z]+$'}"), a("{type: string, pattern: '^[a-z]+$', minLength: 1, maxLength: 5}"), []string{
			"error maxLength a: refused: may not be more than 5 bytes", "warning minLength a: "}},
		"required": {"{type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}", "{type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}", []string{
			"error required spec: refused: b: required value", "info requiredRemoved spec: "}},
		"a rule": {a("{type: string, x-kubernetes-validations: [{rule: self != 'q'}]}"), a("{type: string, x-kubernetes-validations: [{rule: self != 'z'}]}"), []string{
			"error validationRule a: refused: failed rule: self != 'z'", "info validationRuleChanged a: "}},
		"a rule about changes": {a("{type: string, x-kubernetes-validations: [{rule: oldSelf != 'q'}]}"), a("{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"), []string{
			"error validationRule a: refused: failed rule: self == oldSelf", "info validationRuleChanged a: "}},
		"a bound that all numbers are in": {a("{type: integer, format: int32}"), a("{type: integer, format: int32, minimum: -2147483648, maximum: 5}"), []string{
			"error maximum a: refused: should be less than or equal to 5", "warning minimum a: "}},
		"alternatives of all values": {a("{x-kubernetes-int-or-string: true}"), a("{x-kubernetes-int-or-string: true, pattern: '^[0-9]$', anyOf: [{type: integer}, {type: string}]}"), []string{
			"error pattern a: refused: should match '^[0-9]$'", "info fieldAdded a.anyOf[0]: ", "info fieldAdded a.anyOf[1]: ", "info nested a: "}},
		"alternatives": {a("{type: string, anyOf: [{maxLength: 3}, {pattern: bcde}]}"), a("{type: string, anyOf: [{maxLength: 2}, {pattern: cdef}]}"), []string{
			"error maxLength a.anyOf[0]: refused: \"spec.a\" must validate at least one schema (anyOf)",
			"error pattern a.anyOf[1]: refused: \"spec.a\" must validate at least one schema (anyOf)", "info nested a: "}},
		"a field and its values": {a("{type: object, properties: {b: {type: string}}}"), a("{type: object, minProperties: 1, properties: {}}"), []string{
			"error minProperties a: refused: should have at least 1 properties", "error existingFieldRemoval a.b: dropped"}},
		"a rule and its field": {a("{type: object, properties: {b: {type: string}}}"), a("{type: object, x-kubernetes-validations: [{rule: has(self.c)}], properties: {b: {type: string}, c: {type: string}}}"), []string{
			"error validationRule a: together refused: failed rule: has(self.c)", "info fieldAdded a.c: "}},
		"a default and who must have it": {"{type: object, properties: {a: {type: string, default: x}}}", "{type: object, required: [a], properties: {a: {type: string}}}", []string{
			"info required spec: ", "error default a: together refused: required value"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", crdText(tc.old, "v1 served storage")),
				reviewtest.Objects(t, "now.yaml", crdText(tc.now, "v1 served storage")), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range list {
				_, said, _ := strings.Cut(f.Witness, "was taken, is ")
				if strings.HasPrefix(f.Witness, "with other changes, ") {
					said = "together " + said
				}
				got = append(got, string(f.Severity)+" "+f.Rule+" "+strings.TrimPrefix(f.Path, "spec.")+": "+said)
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(tc.want, "\n"), list)
			}
		})
	}
}

// A version that is neither served nor stored has no users.
func TestShownOfVersions(t *testing.T) {
	for versions, want := range map[string]findings.Severity{"v1": Info, "v1 storage": Warning, "v1 served": Error} {
		now := strings.Replace(crdText("{type: string}", versions, "v2 served storage"), "type: string", "type: integer", 1)
		list, err := Compare(t.Context(), reviewtest.Objects(t, "old.yaml", crdText("{type: string}", versions, "v2 served storage")),
			reviewtest.Objects(t, "now.yaml", now), Options{})
		if err != nil || len(list) == 0 || list[0].Severity != want {
			t.Errorf("%s: %v %v, want %s", versions, brief(list), err, want)
		}
	}
}
