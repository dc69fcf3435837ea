package crds

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

// ownRules are the rules about the fields of a CRD that are not its schemas: the first pattern that matches.
var ownRules = []struct {
	pattern        func() *regexp.Regexp
	added, removed string // the rule where a field is new, and where it is gone or changed
}{
	{lazy.Regexp(`^spec\.versions\[[^]]*\]\.subresources\.scale$`), ruleScaleAdded, ruleSubresourceRemoved},
	{lazy.Regexp(`^spec\.versions\[[^]]*\]\.subresources\.status$`), ruleSubresourceAdded, ruleSubresourceRemoved},
	{lazy.Regexp(`^spec\.versions\[[^]]*\]\.selectableFields\b`), ruleOther, ruleSelectableRemoved},
	{lazy.Regexp(`^spec\.versions\[[^]]*\]\.subresources\b`), ruleSubresourceChanged, ruleSubresourceChanged},
	{lazy.Regexp(`^spec\.versions\[[^]]*\]\.additionalPrinterColumns\b`), rulePrinterColumns, rulePrinterColumns},
	{lazy.Regexp(`^spec\.names\.(shortNames|categories)\b`), ruleNamesAdded, ruleNamesRemoved},
	{lazy.Regexp(`^spec\.names\.(singular|listKind)\b`), ruleNamesRemoved, ruleNamesRemoved},
	{lazy.Regexp(`^spec\.(group|names)\b`), ruleNames, ruleNames},
	{lazy.Regexp(`^spec\.preserveUnknownFields$`), ruleUnhandled, ruleUnhandled},
	{lazy.Regexp(`^spec\.conversion\b`), ruleConversion, ruleConversion},
	{lazy.Regexp(`.`), ruleOther, ruleOther},
}

// compareOwn compares the fields of two CRDs that are neither schemas nor what compareVersions and crdify are about.
func compareOwn(o *crs.CRD, old, now *definition) ([]found, error) {
	var all []found
	var sides [2]fields.Values
	for i, crd := range []*definition{old, now} {
		v, err := ownFields(o.Object, crd)
		if err != nil {
			return nil, err
		}
		sides[i] = v
	}
	var gone []string // versions and parts that are new or gone as a whole
	for _, d := range fields.Differences(sides[0], sides[1]) {
		if slices.ContainsFunc(gone, func(p string) bool { return strings.HasPrefix(d.Path, p+".") }) {
			continue
		}
		if d.Had != d.Has && (strings.HasSuffix(d.Path, "]") || strings.HasSuffix(d.Path, scaleField)) {
			gone = append(gone, d.Path)
		}
		about, field := versionIn(d.Path)
		if d.Path == "spec.scope" || field == "" && (version(old, about) == nil) != (version(now, about) == nil) {
			continue
		}
		rule := ownRule(d)
		if rule == ruleConversion && len(now.Spec.Versions) > 1 && strategy(old) == apiextensionsv1.WebhookConverter &&
			strategy(now) == apiextensionsv1.NoneConverter {
			rule = ruleConversionRemoved
		}
		message := field + " " + changedField(d)
		if rule == ruleNames {
			message += refusesCRD
		}
		all = append(all, found{at: d.At(), Finding: Finding{CRD: o.Name, Version: about, Rule: rule,
			Message: message}})
	}
	return all, nil
}

// refusesCRD is what becomes of a field that does not change in a CRD of a cluster (olm.ImmutableFields).
const refusesCRD = ": the API server refuses the CRD"

func strategy(crd *definition) apiextensionsv1.ConversionStrategyType {
	return crd.Spec.Conversion.Strategy
}

func ownRule(d fields.Difference) string {
	for _, r := range ownRules {
		switch {
		case !r.pattern().MatchString(d.Path):
			continue
		case d.Had:
			return r.removed
		}
		return r.added
	}
	return ruleOther
}

func changedField(d fields.Difference) string {
	switch {
	case strings.HasSuffix(d.Path, "caBundle"):
		return "changed"
	case d.Old.Text+d.New.Text == "" || strings.Trim(d.Old.Text+d.New.Text, "{}") == "":
		if d.Has {
			return "added"
		}
		return "removed"
	}
	return changed(d.Old.Text, d.New.Text)
}

// versionIn splits a path into the version that it is in, and the field for a person.
func versionIn(path string) (version, field string) {
	rest, ok := strings.CutPrefix(path, "spec.versions[")
	if !ok {
		return "", strings.TrimPrefix(path, "spec.")
	}
	version, field, _ = strings.Cut(rest, "]")
	return version, strings.TrimPrefix(field, ".")
}

// scaleField is the subresource scale of a version, whatever paths it has.
const scaleField = ".subresources.scale"

// ownFields returns the fields of a CRD without its schemas, with the defaults of the API server.
func ownFields(o *manifest.Object, crd *definition) (fields.Values, error) {
	c := *crd
	c.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range c.Spec.Versions {
		c.Spec.Versions[i].Schema = nil
	}
	data, err := json.Marshal(&c)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	out := fields.WithoutNoise(o, value)
	for i, v := range c.Spec.Versions { // compareVersions is about these
		at := "spec.versions[" + v.Name + "]"
		if v.Subresources != nil && v.Subresources.Scale != nil {
			out[at+scaleField] = fields.Value{Number: true, At: fmt.Sprintf("spec.versions[%d]%s", i, scaleField)}
		}
		out.Without(at+".name", at+".served", at+".storage", at+".deprecated")
	}
	return out, nil
}
