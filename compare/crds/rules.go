package crds

import (
	"slices"

	"github.com/olmgen/olmgen/findings"
)

// Rules of olmgen. Those of crdify have crdify's names.
const (
	ruleCRDRemoved          = "crdRemoved"
	ruleCRDAdded            = "crdAdded"
	ruleServedRemoved       = "servedVersionRemoved"
	ruleStorageRemoved      = "storageVersionRemoved"
	ruleUnserved            = "versionNotServed"
	ruleNotDeprecated       = "removedWithoutDeprecation"
	ruleStorageChanged      = "storageVersionChanged"
	ruleVersionAdded        = "versionAdded"
	ruleDeprecated          = "versionDeprecated"
	ruleRequiredWithDefault = "requiredWithDefault"
	ruleEnumAdded           = "enumAdded"
	ruleNested              = "nested"
	ruleServedVersions      = "servedVersions"
	ruleConvertedVersions   = "convertedVersions"
	ruleObjectInvalid       = "objectInvalid"
	ruleObjectRatcheted     = "objectRatcheted"
	ruleObjectPruned        = "objectPruned"
	ruleObjectVersion       = "objectVersion"
	ruleObjectUnconverted   = "objectUnconverted"
	ruleObjectOrphaned      = "objectOrphaned"
	ruleObjectUnknown       = "objectUnknown"
	ruleFieldRemoved        = "existingFieldRemoval"
	ruleStoredRemoved       = "storedVersionRemoval"
	ruleScope               = "scope"
	ruleType                = "type"
	ruleRequired            = "required"
	ruleEnum                = "enum"
	ruleDefault             = "default"
	rulePattern             = "pattern"
	rulePatternRemoved      = "patternRemoved"
	ruleNullable            = "nullable"
	ruleDescription         = "description"
	ruleUnhandled           = "unhandled"
	ruleDocumentation       = "documentation"
	ruleConstraint          = "constraintAdded"
	ruleWidening            = "widening"
	ruleUnproven            = "mayBreak"

	ruleVersionRemoved     = "versionRemoved"
	ruleServed             = "versionServed"
	ruleConversion         = "conversion"
	ruleConversionRemoved  = "conversionRemoved"
	ruleSubresourceAdded   = "subresourceAdded"
	ruleSubresourceRemoved = "subresourceRemoved"
	ruleSubresourceChanged = "subresourceChanged"
	ruleScaleAdded         = "scaleAdded"
	ruleSelectableRemoved  = "selectableFieldRemoved"
	rulePrinterColumns     = "printerColumns"
	ruleNames              = "names"
	ruleNamesAdded         = "namesAdded"
	ruleNamesRemoved       = "namesRemoved"
	ruleOther              = "otherField"
	ruleFieldAdded         = "fieldAdded"
	ruleRequiredRemoved    = "requiredRemoved"
	ruleCompatible         = "compatible"
	ruleValidation         = "validationRule"
	ruleValidationChanged  = "validationRuleChanged"
)

// Rule is one rule with its default severity.
type Rule struct {
	ID       string
	Severity findings.Severity
	Crdify   string // the check of crdify that finds it; empty for a rule of olmgen
	Text     string // what it finds
}

// BuiltinRules returns all rules.
func BuiltinRules() []Rule { return slices.Clone(builtin) }

var builtin = []Rule{
	{ruleCRDRemoved, Error, "", "a CRD is dropped"},
	{ruleServedRemoved, Error, "", "a served version is dropped"},
	{ruleStorageRemoved, Error, "", "the storage version is dropped"},
	{ruleUnserved, Error, "", "a version is kept but no longer served"},
	{ruleNotDeprecated, Warning, "", "a served version that was not deprecated is dropped or no longer served"},
	{ruleStorageChanged, Info, "", "another version is the storage version"},
	{ruleVersionRemoved, Warning, "", "a version that was not served is dropped"},
	{ruleServed, Info, "", "an existing version is served now"},
	{ruleDeprecated, Info, "", "a version is deprecated"},
	{ruleVersionAdded, Info, "", "a version is added"},
	{ruleCRDAdded, Info, "", "a CRD is added"},

	{ruleConversionRemoved, Error, "", "a webhook no longer converts between several versions"},
	{ruleConversion, Warning, "", "something else about the conversion changes: strategy, service, URL, versions"},
	{ruleSubresourceRemoved, Error, "", "the subresource status or scale is dropped: requests for it fail"},
	{ruleSubresourceAdded, Warning, "",
		"the subresource status is added: a write of the object no longer changes its status"},
	{ruleScaleAdded, Info, "", "the subresource scale is added"},
	{ruleSelectableRemoved, Warning, "", "a field is no longer selectable: requests that select by it fail"},
	{ruleSubresourceChanged, Warning, "", "a path of the subresource scale changes"},
	{ruleNames, Error, "", "the group, kind or plural changes: requests for the old one fail"},
	{ruleNamesRemoved, Warning, "", "a short name or category is dropped, or the singular or list kind changes"},
	{ruleNamesAdded, Info, "", "a short name or category is added"},
	{rulePrinterColumns, Info, "", "a column that kubectl get prints changes"},
	{ruleOther, Info, "", "another field of the CRD changes, such as a label"},

	{ruleScope, Error, ruleScope, "the scope changes"},
	{ruleStoredRemoved, Error, ruleStoredRemoved, "a version in status.storedVersions is dropped"},
	{ruleFieldRemoved, Error, ruleFieldRemoved, "a field is dropped; what is below it is counted, not listed"},
	{ruleType, Error, ruleType, "the type of a field changes"},
	{ruleRequired, Error, ruleRequired, "a field becomes required"},
	{ruleRequiredWithDefault, Info, ruleRequired, "a field with a default becomes required"},
	{ruleEnum, Error, ruleEnum, "values of an enum are dropped, or a field becomes an enum"},
	{ruleEnumAdded, Info, ruleEnum, "values of an enum are added"},
	{"maximum", Error, "maximum", "a maximum is added or lowered"},
	{"maxItems", Error, "maxItems", "likewise, of the items of a list"},
	{"maxLength", Error, "maxLength", "likewise, of the length of a text"},
	{"maxProperties", Error, "maxProperties", "likewise, of the keys of a map"},
	{"minimum", Error, "minimum", "a minimum is added or raised"},
	{"minItems", Error, "minItems", "likewise, of the items of a list"},
	{"minLength", Error, "minLength", "likewise, of the length of a text"},
	{"minProperties", Error, "minProperties", "likewise, of the keys of a map"},
	{rulePattern, Error, rulePattern, "a pattern is added or changed"},
	{rulePatternRemoved, Info, rulePattern, "a pattern is dropped"},
	{ruleValidation, Error, ruleUnhandled, "a rule of x-kubernetes-validations is added"},
	{ruleValidationChanged, Info, ruleUnhandled,
		"a rule of x-kubernetes-validations is dropped, or its message changes"},
	{ruleFieldAdded, Info, "", "a field is added; what is below it is counted, not listed"},
	{ruleRequiredRemoved, Info, "", "a field is no longer required"},
	{ruleCompatible, Info, "", "a bound is relaxed, such as a maximum that is raised or dropped"},
	{ruleNullable, Error, ruleNullable, "null is allowed, or no longer allowed"},
	{ruleDefault, Error, ruleDefault, "a default is added, dropped or changed"},
	{ruleUnhandled, Error, ruleUnhandled, "something else changes, such as format"},
	{ruleConstraint, Error, "", "an alternative or a condition is added, or a field where any was taken"},
	{ruleDocumentation, Info, ruleUnhandled, "the title, the example or external documentation changes"},
	{ruleNested, Info, ruleUnhandled, "only something below the field changes"},
	{ruleDescription, Info, ruleDescription, "a description changes"},

	{ruleUnproven, Warning, "",
		"the highest severity of a change of a schema for which no object is found that the older release takes, and " +
			"the newer one refuses or drops a field of, and no proof that there is none"},
	{ruleWidening, Info, "", "likewise, if it is proven that there is none, or the version was not served"},
	{ruleServedVersions, Warning, "", "the highest severity of a difference between two served versions"},
	{ruleConvertedVersions, Info, "", "likewise, if a webhook converts between the versions"},

	{ruleObjectInvalid, Error, "", "an existing object breaks the new schema, and each update of it is refused"},
	{ruleObjectRatcheted, Warning, "",
		"an existing object breaks the new schema; it can be updated as long as the field stays, but not created anew"},
	{ruleObjectPruned, Warning, "", "an existing object has a field that the new schema does not know"},
	{ruleObjectVersion, Error, "", "an existing object has a version that is not served"},
	{ruleObjectUnconverted, Warning, "",
		"an existing object breaks the schema of a version that is new, and no webhook converts it"},
	{ruleObjectOrphaned, Error, "", "an existing object is of a CRD that is dropped"},
	{ruleObjectUnknown, Warning, "", "an object is of the group of a CRD, but of a kind that none defines"},
}

// Rules holds severities that differ from the defaults.
type Rules struct {
	severities map[string]findings.Severity // by rule
}

// Severity returns the severity of a rule.
func (r Rules) Severity(rule string) findings.Severity {
	if s, ok := r.severities[rule]; ok {
		return s
	}
	for _, b := range builtin {
		if b.ID == rule {
			return b.Severity
		}
	}
	return Warning // a check that a later crdify adds
}
