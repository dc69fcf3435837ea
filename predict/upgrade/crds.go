package upgrade

import (
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
)

// stored finds CRDs that drop a version in which objects are stored. OLM asks status.storedVersions before it writes
// the CRD (OLM: pkg/controller/operators/catalog/step.go; pkg/lib/crd/storage.go, SafeStorageVersionUpgrade). Without a
// CRD of the cluster, the storage version of the older release is known to be there.
func (j *judge) stored(p Pair) {
	for _, name := range owned(p.New) {
		now, before := j.after[name], j.inCluster(name)
		if now == nil || before == nil {
			continue
		}
		stored, inStatus := olm.StoredVersions(before)
		dropped := olm.DroppedVersions(stored, now)
		if len(dropped) == 0 {
			continue
		}
		why := "in which the older release stores objects"
		if inStatus {
			why = "which status.storedVersions has"
		}
		j.addAt(p.New, RuleStored, findings.Error, now, "spec.versions",
			"drops %s of CRD %s, %s: the InstallPlan fails (risk of data loss)", strings.Join(dropped, ", "), name, why)
	}
}
