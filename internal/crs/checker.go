// Package crs says whether custom resources fit their CustomResourceDefinitions. [Check] judges objects by the CRDs
// that define them. A [Checker] judges them with the code of the API server.
package crs

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Checker knows versions of CRDs, as package apiserver does. The error says why the API server cannot use a schema.
type Checker interface {
	Judge(Version) (Judge, error)
}

// Creating is a Checker of objects that are created.
type Creating struct{ Checker }

// Judge returns what judges the objects of a version.
func (c Creating) Judge(v Version) (Judge, error) {
	v.Creates = true
	return c.Checker.Judge(v)
}

// Judge judges a custom resource, which is JSON.
type Judge func(object []byte) (Verdict, error)

// Version is a served version of a CRD.
type Version struct {
	apiextensionsv1.CustomResourceDefinitionVersion
	ClusterScoped         bool
	PreserveUnknownFields bool
	Creates               bool // of a Verdict, only Create and Unknown are asked for

	// Listed is the version as the cluster has it: before OLM sees an object, the API server drops fields and sets
	// defaults by that schema. Without it, OLM judges objects as they are.
	Listed *Version
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
