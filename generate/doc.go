// Package generate turns a bundle and options into the Kubernetes objects that OLM would create from them. It is pure:
// it reads no file and no cluster, and the same input gives the same bytes.
//
// A comment with "spec 4.1" cites a section of docs/spec/olm-v0.md, one with "spec v1 14" a section of
// docs/spec/olm-v1.md.
package generate
