package permissions

import (
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Risk groups permissions by what a person asks.
type Risk = danger.Risk

// The risks, the most dangerous first. NoEffect is what Kubernetes never asks for at that place: a cluster-scoped
// resource, or a URL, in a namespace.
const (
	Everything   = danger.Everything
	ReadsSecrets = danger.ReadsSecrets
	WritesRBAC   = danger.WritesRBAC
	RunsInPods   = danger.RunsInPods
	Impersonates = danger.Impersonates
	ReachesNodes = danger.ReachesNodes
	Installs     = danger.Installs
	ChangesAPIs  = danger.ChangesAPIs
	Other        = danger.Other
	NoEffect     = danger.NoEffect
)

// Risks are all risks, the most dangerous first.
var Risks = danger.Risks

// Dangerous are the risks without Other and NoEffect, the most dangerous first.
var Dangerous = danger.Dangerous

// UserRoles are the roles for users that clusters have by default: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = rbac.UserRoles
