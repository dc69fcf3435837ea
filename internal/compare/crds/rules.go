package crds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// The rules in the order of the page. Those of crdify have crdify's names.
var (
	ruleCRDRemoved     = rule("crdRemoved", Error, "", "a CRD is dropped")
	ruleServedRemoved  = rule("servedVersionRemoved", Error, "", "a served version is dropped")
	ruleStorageRemoved = rule("storageVersionRemoved", Error, "", "the storage version is dropped")
	ruleUnserved       = rule("versionNotServed", Error, "", "a version is kept but no longer served")
	ruleNotDeprecated  = rule("removedWithoutDeprecation", Warning, "",
		"a served version that was not deprecated is dropped or no longer served")
	ruleStorageChanged = rule("storageVersionChanged", Info, "", "another version is the storage version")
	ruleVersionRemoved = rule("versionRemoved", Warning, "", "a version that was not served is dropped")
	ruleServed         = rule("versionServed", Info, "", "an existing version is served now")
	ruleDeprecated     = rule("versionDeprecated", Info, "", "a version is deprecated")
	ruleVersionAdded   = rule("versionAdded", Info, "", "a version is added")
	ruleCRDAdded       = rule("crdAdded", Info, "", "a CRD is added")

	ruleConversionRemoved = rule("conversionRemoved", Error, "",
		"a webhook no longer converts between several versions")
	ruleConversion = rule("conversion", Warning, "",
		"something else about the conversion changes: strategy, service, URL, versions")
	ruleSubresourceRemoved = rule("subresourceRemoved", Error, "",
		"the subresource status or scale is dropped: requests for it fail")
	ruleSubresourceAdded = rule("subresourceAdded", Warning, "",
		"the subresource status is added: a write of the object no longer changes its status")
	ruleScaleAdded        = rule("scaleAdded", Info, "", "the subresource scale is added")
	ruleSelectableRemoved = rule("selectableFieldRemoved", Warning, "",
		"a field is no longer selectable: requests that select by it fail")
	ruleSubresourceChanged = rule("subresourceChanged", Warning, "", "a path of the subresource scale changes")
	ruleNames              = rule("names", Error, "",
		"the group, kind or plural changes: the API server refuses the CRD")
	ruleNamesRemoved = rule("namesRemoved", Warning, "",
		"a short name or category is dropped, or the singular or list kind changes")
	ruleNamesAdded     = rule("namesAdded", Info, "", "a short name or category is added")
	rulePrinterColumns = rule("printerColumns", Info, "", "a column that kubectl get prints changes")
	ruleOther          = rule("otherField", Info, "", "another field of the CRD changes, such as a label")

	ruleScope = rule("scope", Error, "scope", "the scope changes")
	_         = rule("storedVersionRemoval", Error, "storedVersionRemoval",
		"a version in status.storedVersions is dropped")
	ruleFieldRemoved = rule("existingFieldRemoval", Error, "existingFieldRemoval",
		"a field is dropped; what is below it is counted, not listed")
	ruleType                = rule("type", Error, "type", "the type of a field changes")
	ruleRequired            = rule("required", Error, "required", "a field becomes required")
	ruleRequiredWithDefault = rule("requiredWithDefault", Info, "required",
		"a field with a default becomes required")
	ruleEnum              = rule("enum", Error, "enum", "values of an enum are dropped, or a field becomes an enum")
	ruleEnumAdded         = rule("enumAdded", Info, "enum", "values of an enum are added")
	_                     = rule("maximum", Error, "maximum", "a maximum is added or lowered")
	_                     = rule("maxItems", Error, "maxItems", "likewise, of the items of a list")
	_                     = rule("maxLength", Error, "maxLength", "likewise, of the length of a text")
	_                     = rule("maxProperties", Error, "maxProperties", "likewise, of the keys of a map")
	_                     = rule("minimum", Error, "minimum", "a minimum is added or raised")
	_                     = rule("minItems", Error, "minItems", "likewise, of the items of a list")
	_                     = rule("minLength", Error, "minLength", "likewise, of the length of a text")
	_                     = rule("minProperties", Error, "minProperties", "likewise, of the keys of a map")
	rulePattern           = rule("pattern", Error, "pattern", "a pattern is added or changed")
	rulePatternRemoved    = rule("patternRemoved", Info, "pattern", "a pattern is dropped")
	ruleValidation        = rule("validationRule", Error, "unhandled", "a rule of x-kubernetes-validations is added")
	ruleValidationChanged = rule("validationRuleChanged", Info, "unhandled",
		"a rule of x-kubernetes-validations is dropped, or its message changes")
	ruleFieldAdded      = rule("fieldAdded", Info, "", "a field is added; what is below it is counted, not listed")
	ruleRequiredRemoved = rule("requiredRemoved", Info, "", "a field is no longer required")
	ruleCompatible      = rule("compatible", Info, "",
		"a bound is relaxed, such as a maximum that is raised or dropped")
	ruleNullable     = rule("nullable", Error, "nullable", "null is allowed, or no longer allowed")
	ruleDefault      = rule("default", Error, "default", "a default is added, dropped or changed")
	ruleDefaultAdded = rule("defaultAdded", Info, "default", "a default is added, and nothing is found that it breaks")
	ruleUnhandled    = rule("unhandled", Error, "unhandled", "something else changes, such as format")
	ruleConstraint   = rule("constraintAdded", Error, "",
		"an alternative or a condition is added, or a field where any was taken")
	ruleDocumentation = rule("documentation", Info, "unhandled",
		"the title, the example or external documentation changes")
	ruleNested      = rule("nested", Info, "unhandled", "only something below the field changes")
	ruleDescription = rule("description", Info, "description", "a description changes")

	ruleUnproven = rule("mayBreak", Warning, "",
		"the highest severity of a change of a schema for which no object is found that the older release takes, and "+
			"the newer one refuses or drops a field of, and no proof that there is none")
	ruleWidening = rule("widening", Info, "",
		"likewise, if it is proven that there is none, or the version was not served")
	ruleServedVersions = rule("servedVersions", Warning, "",
		"the highest severity of a difference between two served versions")
	ruleConvertedVersions = rule("convertedVersions", Info, "",
		"likewise, if a webhook converts between the versions")

	ruleStoredWithout = rule("storedWithoutField", Error, "",
		"a field of a served version is not in the storage version, and no webhook converts: each write drops it; "+
			"servedVersions is the limit if the version is new")

	ruleObjectInvalid = rule("objectInvalid", Error, "",
		"an existing object breaks the new schema, and each update of it is refused")
	ruleObjectRatcheted = rule("objectRatcheted", Warning, "",
		"an existing object breaks the new schema; it can be updated as long as the field stays, but not created anew")
	// ObjectPruned is the rule about a field that the API server drops.
	ObjectPruned = rule("objectPruned", Warning, "",
		"an existing object has a field that the new schema does not know")
	ruleObjectStored = rule("objectStoredWithout", Error, "",
		"an existing object has a field that the storage version does not know, and no webhook converts: the next "+
			"write drops it")
	ruleObjectVersion     = rule("objectVersion", Error, "", "an existing object has a version that is not served")
	ruleObjectUnconverted = rule("objectUnconverted", Warning, "",
		"an existing object breaks the schema of a version that is new, and no webhook converts it")
	ruleObjectOrphaned = rule("objectOrphaned", Error, "", "an existing object is of a CRD that is dropped")
	ruleObjectUnknown  = rule("objectUnknown", Warning, "",
		"an object is of the group of a CRD, but of a kind that none defines")
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

var builtin []Rule

func rule(id string, severity findings.Severity, crdify, text string) string {
	builtin = append(builtin, Rule{id, severity, crdify, text})
	return id
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
	known := lists.Find(builtin, func(b Rule) bool { return b.ID == rule })
	return cmp.Or(known.Severity, Warning) // of a check that a later crdify adds
}

// apiVersion and Kind identify a file with severities.
const (
	apiVersion = "olmgen.dev/v1alpha1"
	kind       = "CRDRules"
)

// ParseRules reads a file with severities. name is the file name in errors. The error, a *manifest.Error, names line
// and field.
func ParseRules(name string, data []byte) (Rules, error) {
	var f struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Rules      []struct {
			ID       string            `json:"id"`
			Severity findings.Severity `json:"severity"`
		} `json:"rules"`
	}
	o, err := manifest.Form{APIVersion: apiVersion, Kind: kind, What: "a file of CRD rules"}.Read(name, data,
		manifest.Limits{}, &f)
	if err != nil {
		return Rules{}, err
	}
	ids := lists.Map(builtin, func(r Rule) string { return r.ID })
	severities := []findings.Severity{Error, Warning, Info, None}
	rules := Rules{severities: map[string]findings.Severity{}}
	for i, s := range f.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		switch _, twice := rules.severities[s.ID]; {
		case s.ID == "":
			return Rules{}, o.Errorf(at, "id is missing")
		case !slices.Contains(ids, s.ID):
			return Rules{}, o.Errorf(at+".id", "unknown rule %q", s.ID).With(text.DidYouMean(s.ID, ids))
		case twice:
			return Rules{}, o.Errorf(at+".id", "the rule %s occurs twice", s.ID).With("remove one")
		case !slices.Contains(severities, s.Severity):
			unknown := text.Unknown("value", s.Severity, severities)
			return Rules{}, o.Errorf(at+".severity", "%v", unknown).With(unknown.Hint())
		}
		rules.severities[s.ID] = s.Severity
	}
	return rules, nil
}
