// Package types has the names that operator-controller needs to compile. See the package boxcutter.
package types

import "sigs.k8s.io/controller-runtime/pkg/client"

// ProgressProbeType is the name of a probe.
const ProgressProbeType = "Progress"

// ProbeStatusTrue is the result of a probe.
const ProbeStatusTrue ProbeStatus = "True"

type (
	// ProbeStatus is a name that operator-controller uses.
	ProbeStatus string
	// RevisionReconcileOption is a name that operator-controller uses.
	RevisionReconcileOption any
	// RevisionTeardownOption is a name that operator-controller uses.
	RevisionTeardownOption any

	// ProbeResult is the answer of a probe.
	ProbeResult struct {
		Status   ProbeStatus
		Messages []string
	}
	// Phase has objects.
	Phase interface{ GetObjects() []client.Object }
	// Revision has phases.
	Revision interface{ GetPhases() []Phase }
)
