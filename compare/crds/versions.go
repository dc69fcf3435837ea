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
		w := version(now, v.Name)
		switch {
		case w == nil && v.Storage:
			add(ruleStorageRemoved, v.Name, "removed, and objects are stored in it: "+
				"the API server refuses the CRD until they are migrated and status.storedVersions is changed")
		case w != nil && v.Storage && !w.Storage:
			add(ruleStorageChanged, v.Name, "no longer the storage version, which is "+storage(now)+
				" now: stored objects must be migrated before it can be removed")
		}
		switch {
		case w == nil && v.Served:
			add(ruleServedRemoved, v.Name, "removed while it is served: "+
				"a release with served: false must come before the one that removes it")
		case w == nil && !v.Storage:
			add(ruleVersionRemoved, v.Name, "removed; it was not served: the API server refuses the CRD "+
				"where status.storedVersions has it")
		case w != nil && v.Served && !w.Served:
			add(ruleUnserved, v.Name, "no longer served: requests for it fail")
		}
		if v.Served && (w == nil || !w.Served) && !v.Deprecated {
			add(ruleNotDeprecated, v.Name, "removed without notice: it was not marked as deprecated before")
		}
	}
	compareNewVersions(old, now, add)
}

func compareNewVersions(old, now *definition, add func(rule, version, message string)) {
	for _, w := range now.Spec.Versions {
		v := version(old, w.Name)
		switch {
		case v == nil:
			add(ruleVersionAdded, w.Name, fmt.Sprintf("new version (served: %t, storage: %t)", w.Served, w.Storage))
			continue
		case !v.Deprecated && w.Deprecated:
			add(ruleDeprecated, w.Name, "deprecated now: requests for it return a warning")
		case v.Deprecated && !w.Deprecated:
			add(ruleOther, w.Name, "no longer deprecated")
		}
		if !v.Served && w.Served {
			add(ruleServed, w.Name, "served now")
		}
		if was := version(now, storage(old)); !v.Storage && w.Storage &&
			(storage(old) == "none" || was != nil && was.Storage) {
			add(ruleStorageChanged, w.Name, "the storage version now; before: "+storage(old))
		}
	}
}

func storage(crd *definition) string {
	return cmp.Or(lists.Find(crd.Spec.Versions, func(v versionOf) bool { return v.Storage }).Name, "none")
}
