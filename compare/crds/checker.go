package crds

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/rules/helper"
)

// Checker returns the answers of the API server to objects. Package objects has one that links the API server's code,
// and Helper runs it in another process. An error means that it could not.
type Checker interface {
	Check(ctx context.Context, batches []Batch) ([]Answer, error)
}

// Batch is a served version of a CRD, and objects of it. It can be sent to another process as JSON.
type Batch struct {
	ClusterScoped         bool                                            `json:"clusterScoped"`
	PreserveUnknownFields bool                                            `json:"preserveUnknownFields"`
	Version               apiextensionsv1.CustomResourceDefinitionVersion `json:"version"`
	Objects               []json.RawMessage                               `json:"objects"`
}

// Answer is what the API server says to one Batch.
type Answer struct {
	Error    string    `json:"error"`    // why the schema cannot be used; empty if it can
	Verdicts []Verdict `json:"verdicts"` // one for each object
}

// Verdict is what the API server says to an existing object.
type Verdict struct {
	Error   string   `json:"error"`   // why the metadata cannot be read; empty if it can
	Create  []Fault  `json:"create"`  // when it is created anew
	Update  []Fault  `json:"update"`  // when something is changed that has nothing to do with the fields in question
	Unknown []string `json:"unknown"` // paths of fields that are dropped
}

// Fault is one reason why the API server refuses an object.
type Fault struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// HelperArg is the only argument of the program that a Helper runs. It changes with the types Batch and Answer, so that
// programs of different versions cannot misread each other.
const HelperArg = "objects-v1"

// Helper is a Checker that runs a program, with a list of Batches on stdin and a list of Answers on stdout, both as
// JSON.
type Helper helper.Program

// FindHelper looks for the program beside the running one, then in PATH. The error says how to install it.
func FindHelper() (Helper, error) {
	p, err := helper.Find("checks custom resources as the API server does")
	return Helper(p), err
}

// Check runs the program once.
func (h Helper) Check(ctx context.Context, batches []Batch) ([]Answer, error) {
	var answers []Answer
	err := helper.Program(h).Ask(ctx, HelperArg, batches, &answers)
	return answers, err
}
