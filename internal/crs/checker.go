// Package crs says whether custom resources fit their CustomResourceDefinitions. [Check] sorts objects by the CRDs that
// define them. A [Checker] judges them with the code of the API server.
package crs

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/validateproc"
)

// Checker judges custom resources. Package apiserver has one that links the code of the API server, and Helper runs it
// in another process. An error means that it could not.
type Checker interface {
	Check(ctx context.Context, batches []Batch) ([]Answer, error)
}

// Batch is a served version of a CRD, and objects of it. It can be sent to another process as JSON.
type Batch struct {
	ClusterScoped         bool                                            `json:"clusterScoped"`
	PreserveUnknownFields bool                                            `json:"preserveUnknownFields"`
	Version               apiextensionsv1.CustomResourceDefinitionVersion `json:"version"`
	Objects               []json.RawMessage                               `json:"objects"`

	// Listed is the version as the cluster has it: before OLM sees an object, the API server drops fields and sets
	// defaults by that schema. It has no objects. Without it, OLM judges objects as they are.
	Listed *Batch `json:"listed,omitempty"`
}

// Answer is what the API server says to one Batch.
type Answer struct {
	Error    string    `json:"error"`    // why the schema cannot be used; empty if it can
	Verdicts []Verdict `json:"verdicts"` // one for each object
}

// Verdict is what the API server and OLM say to an existing object.
type Verdict struct {
	Error   string   `json:"error"`   // why the metadata cannot be read; empty if it can
	Create  []Fault  `json:"create"`  // when it is created anew
	Update  []Fault  `json:"update"`  // when something is changed that has nothing to do with the fields in question
	Unknown []string `json:"unknown"` // paths of fields that are dropped

	// OLM is why OLM v0 refuses to give the object this schema. It looks at the schema only: it does not ratchet, and
	// it neither sets defaults nor drops fields (OLM: pkg/controller/operators/catalog/operator.go,
	// validateExistingCRs).
	OLM     []Fault `json:"olm"`
	OLMSays string  `json:"olmSays"` // the same in its words
}

// Fault is one reason why an object is refused.
type Fault struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// HelperArg is the only argument of the program that a Helper runs. It changes with the types Batch and Answer, so that
// programs of different versions cannot misread each other.
const HelperArg = "objects-v3"

// Helper is a Checker that runs a program, with a list of Batches on stdin and a list of Answers on stdout, both as
// JSON.
type Helper validateproc.Program

// FindHelper looks for the program beside the running one, then in PATH. The error says how to install it.
func FindHelper() (Helper, error) {
	p, err := validateproc.Find("checks custom resources as the API server does")
	return Helper(p), err
}

// LazyHelper is a Helper that is looked for when there is something to check.
type LazyHelper struct{}

// Check looks for the program, and runs it once.
func (LazyHelper) Check(ctx context.Context, batches []Batch) ([]Answer, error) {
	h, err := FindHelper()
	if err != nil {
		return nil, err
	}
	return h.Check(ctx, batches)
}

// Check runs the program once.
func (h Helper) Check(ctx context.Context, batches []Batch) ([]Answer, error) {
	var answers []Answer
	err := validateproc.Program(h).Ask(ctx, HelperArg, batches, &answers)
	return answers, err
}
