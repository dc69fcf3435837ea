// Package probing has the names that operator-controller needs to compile. See the package boxcutter.
package probing

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Prober is any probe.
type Prober any

type (
	// And is a name that operator-controller uses.
	And []Prober

	// ConditionProbe is a probe.
	ConditionProbe struct{ Type, Status string }
	// FieldsEqualProbe is a probe.
	FieldsEqualProbe struct{ FieldA, FieldB string }
	// FieldValueProbe is a probe.
	FieldValueProbe struct{ FieldPath, Value string }
	// ObservedGenerationProbe is a probe.
	ObservedGenerationProbe struct{ Prober Prober }

	// GroupKindSelector is a probe for a kind.
	GroupKindSelector struct {
		GroupKind schema.GroupKind
		Prober    Prober
	}
	// LabelSelector is a probe for labelled objects.
	LabelSelector struct {
		Selector labels.Selector
		Prober   Prober
	}
)
