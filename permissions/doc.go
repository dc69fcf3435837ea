// Package permissions evaluates the RBAC objects of an operator as Kubernetes evaluates them.
//
// [Evaluate] takes an [Input], which is objects and ClusterServiceVersions, and returns a [Report]. Each [Item] of it
// is what an account may do, in which namespaces, and which line grants it. A [Fact] is what follows from that, such as
// "reads all Secrets of the cluster", with a severity. [Input.AddRendered] adds what package
// [github.com/olmgen/olmgen/generate] renders. [EvaluateWithRoles] evaluates the roles that nothing binds, too.
//
// [Compare] compares two reports. Package [github.com/olmgen/olmgen/compare] compares everything else of two releases
// too.
package permissions
