// Package boxcutter stands where operator-controller imports boxcutter, which is not available as a Go module. Only
// managedcache works. The rest has the names that operator-controller needs to compile: it serves the feature gate
// BoxcutterRuntime, which is off by default.
package boxcutter

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
)

// ProgressProbeType is the name of a probe.
const ProgressProbeType = types.ProgressProbeType

type (
	// Phase is a name that operator-controller uses.
	Phase = types.Phase
	// RevisionBuilder is a name that operator-controller uses.
	RevisionBuilder = types.Revision
	// RevisionReconcileOption is a name that operator-controller uses.
	RevisionReconcileOption = types.RevisionReconcileOption

	// WithSiblingOwners is a name that operator-controller uses.
	WithSiblingOwners []client.Object
	// WithPreviousOwners is a name that operator-controller uses.
	WithPreviousOwners []client.Object
	// WithCollisionProtection is a name that operator-controller uses.
	WithCollisionProtection string
)

// NewPhase has no effect.
func NewPhase(string, []client.Object) Phase { return nil }

// NewRevisionWithOwner has no effect.
func NewRevisionWithOwner(string, int64, []Phase, client.Object, any) RevisionBuilder { return nil }

// WithProbe has no effect.
func WithProbe(string, any) RevisionReconcileOption { return nil }

// WithAggregatePhaseReconcileErrors has no effect.
func WithAggregatePhaseReconcileErrors() RevisionReconcileOption { return nil }

// WithObjectReconcileOptions has no effect.
func WithObjectReconcileOptions(client.Object, ...any) RevisionReconcileOption { return nil }
