package crds

import (
	"cmp"
	"fmt"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// compareVersions applies the rules about versions. OLM's documentation ("Deprecating or removing a CRD version") asks
// that a version is first no longer served, and removed by a later upgrade. Kubernetes asks that it is marked as
// deprecated before ("Versions in CustomResourceDefinitions").
func compareVersions(old, now *definition, add func(rule, version, message string)) {
	for _, v := range old.Spec.Versions {
		say := func(when bool, rule, message string) {
			if when {
				add(rule, v.Name, message)
			}
		}
		w := cmp.Or(version(now, v.Name), &versionOf{})
		gone := w.Name == ""
		say(gone && v.Storage, ruleStorageRemoved, "removed, and objects are stored in it: "+
			"the API server refuses the CRD until they are migrated and status.storedVersions is changed")
		say(!gone && v.Storage && !w.Storage, ruleStorageChanged, "no longer the storage version, which is "+
			storage(now)+" now: stored objects must be migrated before it can be removed")
		say(gone && v.Served, ruleServedRemoved, "removed while it is served: "+
			"a release with served: false must come before the one that removes it")
		say(gone && !v.Served && !v.Storage, ruleVersionRemoved, "removed; it was not served: the API server refuses "+
			"the CRD where status.storedVersions has it")
		say(!gone && v.Served && !w.Served, ruleUnserved, "no longer served: requests for it fail")
		say(v.Served && !w.Served && !v.Deprecated, ruleNotDeprecated,
			"removed without notice: it was not marked as deprecated before")
		say(!gone && !v.Deprecated && w.Deprecated, ruleDeprecated, "deprecated now: requests for it return a warning")
		say(!gone && v.Deprecated && !w.Deprecated, ruleOther, "no longer deprecated")
		say(!v.Served && w.Served, ruleServed, "served now")
		was := version(now, storage(old))
		say(!v.Storage && w.Storage && (storage(old) == "none" || was != nil && was.Storage), ruleStorageChanged,
			"the storage version now; before: "+storage(old))
	}
	for _, w := range now.Spec.Versions {
		if version(old, w.Name) == nil {
			add(ruleVersionAdded, w.Name, fmt.Sprintf("new version (served: %t, storage: %t)", w.Served, w.Storage))
		}
	}
}

func storage(crd *definition) string {
	return cmp.Or(lists.Find(crd.Spec.Versions, func(v versionOf) bool { return v.Storage }).Name, "none")
}
