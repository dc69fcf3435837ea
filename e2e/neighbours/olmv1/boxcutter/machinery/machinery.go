// Package machinery has the names that operator-controller needs to compile. See the package boxcutter.
package machinery

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
)

// ActionCollision is what happened to an object.
const ActionCollision Action = "Collision"

// Action is what happened to an object.
type Action string

// ObjectResult is the result of an object.
type ObjectResult interface {
	Action() Action
	Object() client.Object
	ProbeResults() map[string]types.ProbeResult
	String() string
}

// PhaseResult is the result of a phase.
type PhaseResult interface {
	GetObjects() []ObjectResult
	GetValidationError() error
	IsComplete() bool
}

// RevisionResult is the result of a revision.
type RevisionResult interface {
	GetPhases() []PhaseResult
	GetValidationError() error
	InTransition() bool
	IsComplete() bool
	String() string
}

// RevisionTeardownResult is the result of a removal.
type RevisionTeardownResult interface{ IsComplete() bool }

var errStub = errors.New("this operator-controller was built without boxcutter")

// RevisionEngine refuses all revisions.
type RevisionEngine struct{}

// Reconcile is an error.
func (RevisionEngine) Reconcile(context.Context, types.Revision,
	...types.RevisionReconcileOption) (RevisionResult, error) {
	return nil, errStub
}

// Teardown is an error.
func (RevisionEngine) Teardown(context.Context, types.Revision,
	...types.RevisionTeardownOption) (RevisionTeardownResult, error) {
	return nil, errStub
}

// NewRevisionEngine returns an engine that refuses all revisions.
func NewRevisionEngine(...any) RevisionEngine { return RevisionEngine{} }

// NewPhaseEngine has no effect.
func NewPhaseEngine(...any) any { return nil }

// NewObjectEngine has no effect.
func NewObjectEngine(...any) any { return nil }

// NewComparator has no effect.
func NewComparator(...any) any { return nil }
