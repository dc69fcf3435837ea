// Package writes is the question what an API server says to objects that are created or updated, and its answer.
package writes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/manifest"
)

// Minor is that of the Kubernetes whose code answers.
const Minor = 36

// Version is that of Kubernetes whose code answers.
var Version = fmt.Sprintf("1.%d", Minor)

// Who names the Kubernetes that answers for a cluster, whose release may be nil. Other releases are asked by its rules.
func Who(cluster *semver.Version) string {
	if cluster == nil || cluster.Major == 1 && cluster.Minor == Minor {
		return "Kubernetes " + Version
	}
	return fmt.Sprintf("Kubernetes %s, whose rules are asked for %d.%d,", Version, cluster.Major, cluster.Minor)
}

// Write is an object that is created, or that takes the place of an existing one. Both are JSON; Existing may be nil.
type Write struct {
	Object   json.RawMessage `json:"object"`
	Existing json.RawMessage `json:"existing,omitempty"`
	Strict   bool            `json:"strict,omitempty"` // fields that the kind does not have are refused, as of an apply
}

// Key is a digest of the Write: equal ones have equal answers.
func (w Write) Key() (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%t %d %d\n", w.Strict, len(w.Object), len(w.Existing))
	h.Write(w.Object)
	h.Write(w.Existing)
	h.Sum(key[:0])
	return key
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
	Missing bool   `json:"missing,omitempty"` // the object lacks the field
	Hint    string `json:"hint,omitempty"`
}

// Undeclared returns the cause about a field that a type does not have, as server-side apply says it
// (structured-merge-diff: typed/validate.go, doMap).
func Undeclared(t reflect.Type, field string) Cause {
	return Cause{Field: field, Message: "field not declared in schema", Hint: manifest.Meant(t, field)}
}

// String returns the cause as the API server says it.
func (c Cause) String() string {
	if c.Field == "" {
		return c.Message
	}
	return c.Field + ": " + c.Message
}

// Of returns the Write of an object, over an existing one, which may be nil. The error is about an object that cannot
// be read.
func Of(existing, made *manifest.Object) (w Write, err error) {
	if w.Object, err = text(made); err == nil && existing != nil {
		w.Existing, err = text(existing)
	}
	return w, err
}

func text(o *manifest.Object) ([]byte, error) {
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Checker answers Writes, in their order.
type Checker interface {
	Check(ctx context.Context, asked []Write) ([]Answer, error)
}
