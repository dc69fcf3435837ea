// Package writes is the question what an API server says to objects that are created or updated, and its answer.
package writes

import (
	"context"
	"encoding/json"
)

// Version is that of Kubernetes whose code answers.
const Version = "1.36"

// Write is an object that is created, or that takes the place of an existing one. Both are JSON; Existing may be nil.
type Write struct {
	Object   json.RawMessage `json:"object"`
	Existing json.RawMessage `json:"existing,omitempty"`
}

// Answer is what the API server says to a Write.
type Answer struct {
	Known  bool    `json:"known"` // the kind is one that is judged
	Causes []Cause `json:"causes,omitempty"`
}

// Cause is a reason why a Write is refused.
type Cause struct {
	Field   string `json:"field,omitempty"` // a path; empty: the object
	Message string `json:"message"`
}

// Checker answers Writes, in their order.
type Checker interface {
	Check(ctx context.Context, asked []Write) ([]Answer, error)
}
