package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
)

const (
	ruleVisibility   = "api-owner"
	ruleOwnedVersion = "owned-version"
)

// visibility returns a note if users of owned APIs cannot tell from their schemas whose they are: "The top level
// description of the API resource should include: the name of the owning operator, a description of the owning
// operator, along with links, descriptors, and other metadata. UI groups apis based on the operator identity in their
// schema descriptions" (plan, Operator Visibility).
func visibility(b *bundle.Bundle) []Finding {
	name := cmp.Or(b.CSV.Spec.DisplayName, b.Package)
	unnamed, bare, owned := 0, 0, b.CSV.Spec.CustomResourceDefinitions.Owned
	for _, d := range owned {
		if len(d.SpecDescriptors)+len(d.StatusDescriptors)+len(d.ActionDescriptor) == 0 {
			bare++
		}
		if c := b.CRD(d.Name); c != nil && !named(c, name) && !named(c, b.Package) {
			unnamed++
		}
	}
	if unnamed == 0 {
		return nil
	}
	e := b.CSVObject.Errorf("spec.customresourcedefinitions.owned",
		"%d of %s do not name the operator %s in the description of their schema, by which a UI groups APIs "+
			"(descoping plan, Operator Visibility); %d have no descriptors, and the CSV has %s", unnamed,
		text.Count(len(owned), "owned API"), name, bare, text.Count(len(b.CSV.Spec.Links), "link"))
	return []Finding{finding(ruleVisibility, findings.Note, e)}
}

// named reports whether the schema of a version of a CRD names an operator in its description.
func named(c *bundle.CRD, name string) bool {
	for i := range c.Versions {
		v, _ := c.Get("spec", "versions", fmt.Sprint(i), "schema", "openAPIV3Schema", "description")
		description, _ := v.(string)
		if strings.Contains(strings.ToLower(description), strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// ownedVersions returns a note for each CRD whose storage version the CSV does not name. OpenShift's documentation:
// "Ensure the referencing version of the CRD in your CSV's owned section is updated if the CSV intends to use the new
// version".
func ownedVersions(b *bundle.Bundle) (list []Finding) {
	owned := b.CSV.Spec.CustomResourceDefinitions.Owned
	seen := map[string]bool{}
	for i, d := range owned {
		crd := b.CRD(d.Name)
		named := func(version string) func(v1alpha1.CRDDescription) bool {
			return func(o v1alpha1.CRDDescription) bool { return o.Name == d.Name && o.Version == version }
		}
		if crd == nil || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		for _, v := range crd.Versions {
			if v.Served && v.Storage && !slices.ContainsFunc(owned, named(v.Name)) {
				list = append(list, finding(ruleOwnedVersion, findings.Note, b.CSVObject.Errorf(
					fmt.Sprintf("spec.customresourcedefinitions.owned[%d].version", i),
					"is %s, and %s is stored as %s: name that too if the operator uses it", d.Version, d.Name, v.Name)))
			}
		}
	}
	return list
}
