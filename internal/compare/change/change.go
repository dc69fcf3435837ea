// Package change describes one difference between two releases of an operator.
//
// A [Change] names the object, the [Part] of it that changed, its [Kind], both values and a severity. [Sort] puts the
// worst first. Package [github.com/olmgen/olmgen/compare] finds changes.
package change

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/findings"
)

// Severities are the severities of changes, the worst first.
var Severities = []findings.Severity{findings.Error, findings.Warning, findings.Info}

// Kind is what happened to a value.
type Kind string

// The kinds.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Kinds are all kinds.
var Kinds = []Kind{Added, Removed, Changed}

// Part is what a change is about.
type Part string

// The parts of workloads, the most dangerous first, then those of the identity of an operator.
const (
	Security      Part = "security"
	Account       Part = "account"
	Image         Part = "image"
	Webhook       Part = "webhook"
	Service       Part = "service"
	NetworkPolicy Part = "network-policy"
	Arguments     Part = "arguments"
	Env           Part = "env"
	Resources     Part = "resources"
	Volumes       Part = "volumes"
	Probes        Part = "probes"
	Workload      Part = "workload" // anything else of a workload
	Object        Part = "object"   // anything else

	Version      Part = "version"
	Upgrade      Part = "upgrade" // replaces, skips
	InstallModes Part = "install-modes"
	Provided     Part = "provided-apis"
	Required     Part = "required-apis"
	Dependencies Part = "dependencies"
	Kubernetes   Part = "kubernetes" // minKubeVersion
	Maturity     Part = "maturity"
	Metadata     Part = "metadata" // properties, channels and releases of OpenShift of the bundle
	Deprecation  Part = "deprecation"
	Operator     Part = "operator" // a whole operator of a tree
	Cleanup      Part = "cleanup"  // of custom resources when the operator goes
	About        Part = "about"    // what people read: name, description, provider
	Rest         Part = "rest"     // the fields of an object that no other part is about
)

// PodSecurity is the Field of a change of the strictest Pod Security Standard that pods fit.
const PodSecurity = "Pod Security"

// Parts are all parts in their order.
var Parts = []Part{Security, Account, Image, Webhook, Service, NetworkPolicy, Arguments, Env, Resources, Volumes,
	Probes, Workload, Object, Operator, Version, Upgrade, InstallModes, Provided, Required, Dependencies, Kubernetes,
	Maturity, Metadata, Deprecation, Cleanup, About, Rest}

// Change is one difference.
type Change struct {
	Object   string            `json:"object"` // kind namespace/name
	Part     Part              `json:"part"`
	Field    string            `json:"field,omitempty"` // such as containers[manager].image; empty: the whole object
	Change   Kind              `json:"change"`
	Old      string            `json:"old,omitempty"`
	New      string            `json:"new,omitempty"`
	Severity findings.Severity `json:"severity"`
	Message  string            `json:"message,omitempty"` // why it matters
	Fields   []string          `json:"fields,omitempty"`  // of the rest of an object
	File     string            `json:"file,omitempty"`    // of the newer object, else of the older one
	Line     int               `json:"line,omitempty"`

	// At is the path by which the line is found: the field with indexes, or the nearest parent of the newer object.
	At string `json:"-"`
}

// Sort puts the worst changes first.
func Sort(list []Change) {
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			cmp.Compare(slices.Index(Parts, a.Part), slices.Index(Parts, b.Part)),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Change, b.Change),
			cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})
}
