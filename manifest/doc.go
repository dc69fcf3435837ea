// Package manifest reads, prints and edits Kubernetes objects as YAML text.
//
// Reading follows the Kubernetes libraries (YAML 1.1: yes, no, on and off are booleans; of two equal keys the
// last one counts) but keeps every byte and every position, so that an error can name file, line and field, and an
// object that needs no change can be carried byte for byte. Printing has one form: apiVersion, kind, metadata, the rest
// sorted; two spaces; LF.
package manifest
