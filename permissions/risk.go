package permissions

import "github.com/olmgen/olmgen/internal/rbac"

// Risk groups permissions by what a person asks.
type Risk = rbac.Risk

// The risks, the most dangerous first. NoEffect is what Kubernetes never asks for at that place: a cluster-scoped
// resource, or a URL, in a namespace.
const (
	Everything   = rbac.Everything
	ReadsSecrets = rbac.ReadsSecrets
	WritesRBAC   = rbac.WritesRBAC
	RunsInPods   = rbac.RunsInPods
	Impersonates = rbac.Impersonates
	ChangesAPIs  = rbac.ChangesAPIs
	Other        = rbac.Other
	NoEffect     = rbac.NoEffect
)

// Risks are all risks, the most dangerous first.
var Risks = rbac.Risks

// Dangerous are the risks without Other and NoEffect, the most dangerous first.
var Dangerous = rbac.Dangerous

// UserRoles are the roles for users that clusters have by default: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = rbac.UserRoles
