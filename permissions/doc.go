// Package permissions evaluates the RBAC objects of an operator as Kubernetes evaluates them: what each account may do,
// where, which line grants it, and what follows from it.
package permissions
