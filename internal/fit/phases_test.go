package fit

import (
	"testing"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// OLM v1 makes fewer phases than any release takes, so no rule is about their number (phase.go: phases of kinds, and deploy).
func TestFewerPhasesThanTheLimit(t *testing.T) {
	limits := 0
	for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
		for _, r := range versions.Releases(of) {
			for _, kind := range []string{"ClusterObjectSet", "ClusterExtensionRevision"} {
				_, fact := r.State(kind, "spec.phases", versions.Experimental)
				if fact.Limit == 0 {
					continue
				}
				if limits++; len(phaseKinds)+1 > fact.Limit {
					t.Errorf("%s takes %d phases of a %s, OLM v1 makes %d", r, fact.Limit, kind, len(phaseKinds)+1)
				}
			}
		}
	}
	if limits == 0 {
		t.Error("no release has a limit")
	}
}
