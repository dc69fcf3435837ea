// Package crs says whether custom resources fit their CustomResourceDefinitions. [Check] sorts objects by the CRDs that
// define them. A [Checker] judges them with the code of the API server.
package crs

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Checker judges custom resources. Package apiserver has one, with the code of the API server. An error means that it
// could not.
type Checker interface {
	Check(ctx context.Context, batches []Batch) ([]Answer, error)
}

// Batch is a served version of a CRD, and objects of it.
type Batch struct {
	ClusterScoped         bool
	PreserveUnknownFields bool
	Version               apiextensionsv1.CustomResourceDefinitionVersion
	Objects               []json.RawMessage

	// Listed is the version as the cluster has it: before OLM sees an object, the API server drops fields and sets
	// defaults by that schema. It has no objects. Without it, OLM judges objects as they are.
	Listed *Batch
}

// Answer is what the API server says to one Batch.
type Answer struct {
	Error    string    // why the schema cannot be used; empty if it can
	Verdicts []Verdict // one for each object
}

// Verdict is what the API server and OLM say to an existing object.
type Verdict struct {
	Error   string   // why the metadata cannot be read; empty if it can
	Create  []Fault  // when it is created anew
	Update  []Fault  // when something is changed that has nothing to do with the fields in question
	Unknown []string // paths of fields that are dropped

	// OLM is why OLM v0 refuses to give the object this schema. It looks at the schema only: it does not ratchet, and
	// it neither sets defaults nor drops fields (OLM: pkg/controller/operators/catalog/operator.go,
	// validateExistingCRs).
	OLM     []Fault
	OLMSays string // the same in its words
}

// Fault is one reason why an object is refused.
type Fault struct {
	Path    string
	Message string
	Detail  string // the message without the value
}
