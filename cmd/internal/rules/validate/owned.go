package validate

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
)

const ruleOwnedVersion = "owned-version"

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
