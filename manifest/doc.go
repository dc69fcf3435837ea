// Package manifest reads Kubernetes objects as YAML text.
//
// [ReadFile] splits a file into documents, and [ReadOne] returns the one [Object] of a text. [Object.Get] reads a
// field, [Object.Into] decodes into a Go type, and [Object.Apply] changes an object and keeps comments and layout.
// [Encode] prints an object that has no text yet. An [Error] names file, line and field; [Object.Errorf] makes one.
//
// Reading follows the Kubernetes libraries (YAML 1.1: yes, no, on and off are booleans; the last of two equal keys
// counts), but keeps every byte and every position. So an object that needs no change is written byte for byte as it
// was. Printing has one form: apiVersion, kind, metadata, the rest sorted; two spaces; LF.
package manifest
