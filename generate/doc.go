// Package generate turns a bundle and options into the Kubernetes objects that OLM would create from them.
//
// [Render] renders one bundle, [RenderAll] several operators that share OperatorGroups. [Options] say where an operator
// is installed and what it watches; their [Profile] chooses between objects for OLM, objects for a cluster without OLM,
// and a Subscription or ClusterExtension. A [Result] holds the objects in their order, and warnings.
//
// The package is pure: it reads no file and no cluster, and the same input gives the same bytes. Package
// [github.com/olmgen/olmgen/output] lays the objects out as files.
//
// A comment with "spec 4.1" cites a section of docs/spec/olm-v0.md, or from section 8 on of
// docs/spec/olm-v0-installs.md, one with "spec v1 14" a section of docs/spec/olm-v1.md.
package generate
