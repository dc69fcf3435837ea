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

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// The version and kind of a report in JSON.
const (
	apiVersion = "olmgen.dev/v1alpha1"
	kind       = "PermissionReport"
)

// Report is what the subjects of a set of objects may do.
type Report struct {
	APIVersion  string             `json:"apiVersion"`
	Kind        string             `json:"kind"`
	Operator    Operator           `json:"operator"`
	Summary     []Fact             `json:"summary"`           // the answers to what a person asks first
	Permissions []Item             `json:"permissions"`       // of accounts, and of other subjects that are bound
	Users       []Item             `json:"users"`             // what the roles for users gain by aggregation
	Covered     []Covered          `json:"covered"`           // grants that allow nothing more than Permissions
	Unknown     []Unknown          `json:"unknown"`           // roles that are bound and not among the objects
	Accounts    []Subject          `json:"accounts"`          // every ServiceAccount that is among the objects or bound
	Findings    []findings.Finding `json:"findings"`          // what follows
	Ways        []Way              `json:"ways"`              // to the worst that subjects reach
	Notes       []string           `json:"notes"`             // what a reader has to know about the evaluation
	Unread      []string           `json:"unread"`            // files that could not be read, and why
	Unresolved  []string           `json:"unresolved"`        // what hands over an operator that is not known, and why
	Unbuilt     []string           `json:"unbuilt,omitempty"` // kustomizations that could not be built, and why

	Usage Usage `json:"usage,omitempty,omitzero"` // of audit logs

	scopes  danger.Scopes
	objects *rbac.Objects
	missing map[Subject]bool // the accounts that are bound and not among the objects

	logNames map[rbac.Account][]rbac.Account // in audit logs, beside their own
}

// Of returns the report about some of the subjects alone.
func (r *Report) Of(is func(Subject) bool) *Report {
	of := *r
	of.Permissions = lists.Filter(r.Permissions, func(i Item) bool { return is(i.Subject) })
	of.Accounts = lists.Filter(r.Accounts, is)
	of.Unknown = lists.Filter(r.Unknown, func(u Unknown) bool { return is(u.Subject) })
	of.Users, of.Covered, of.Ways = nil, nil, nil
	of.Summary, of.Findings = of.facts(), of.follows()
	return &of
}

// ByNamespace returns the reports about the subjects of each namespace; Of adds what follows.
func (r *Report) ByNamespace() map[string]*Report {
	out := map[string]*Report{}
	of := func(s Subject) *Report {
		if out[s.Namespace] == nil {
			part := *r
			part.Permissions, part.Accounts, part.Unknown = nil, nil, nil
			out[s.Namespace] = &part
		}
		return out[s.Namespace]
	}
	for _, i := range r.Permissions {
		part := of(i.Subject)
		part.Permissions = append(part.Permissions, i)
	}
	for _, a := range r.Accounts {
		part := of(a)
		part.Accounts = append(part.Accounts, a)
	}
	for _, u := range r.Unknown {
		part := of(u.Subject)
		part.Unknown = append(part.Unknown, u)
	}
	return out
}

// Operator is what the report is about. All of it is empty for a tree.
type Operator struct {
	Name        string   `json:"name"` // of the ClusterServiceVersion, or what a person gave
	Package     string   `json:"package,omitempty"`
	Version     string   `json:"version,omitempty"`
	InstallMode string   `json:"installMode,omitempty"`
	Profile     string   `json:"profile,omitempty"` // that it is rendered with
	Namespace   string   `json:"namespace,omitempty"`
	Targets     []string `json:"targetNamespaces,omitempty"`
	Operators   []string `json:"operators,omitempty"` // ClusterServiceVersions of what a person gave
}

// Subject is who may do something. The kind is that of RBAC, or ClusterRole for the users who are bound to a role.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns "Kind namespace/name".
func (s Subject) String() string {
	return s.Kind + " " + strings.TrimPrefix(s.Namespace+"/"+s.Name, "/")
}

func (s Subject) compare(o Subject) int {
	return cmp.Or(cmp.Compare(subjectRank[s.Kind], subjectRank[o.Kind]), cmp.Compare(s.Kind, o.Kind),
		cmp.Compare(s.Namespace, o.Namespace), cmp.Compare(s.Name, o.Name))
}

var subjectRank = map[string]int{rbacv1.ServiceAccountKind: -3, rbacv1.GroupKind: -2, rbacv1.UserKind: -1}

// Change is what a comparison found out about an item.
type Change string

// The changes. A report of one version has all items with Has.
const (
	Has    Change = "has"
	Gained Change = "gained"
	Lost   Change = "lost"
	Moved  Change = "moved" // of a ChangedFact
)

// Everywhere is the namespace that stands for the cluster: all namespaces, and what is in none.
const Everywhere = "*"

// Item is what one line of a source lets a subject do: every verb on every resource, or on every URL.
type Item struct {
	Subject         Subject  `json:"subject"`
	Namespaces      []string `json:"namespaces"` // ["*"] is the cluster
	Verbs           []string `json:"verbs"`
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	Change          Change   `json:"change"`
	Risk            Risk     `json:"risk"`
	Source          Source   `json:"source"`

	// Severity of a gain is the worst of what follows from it. A loss has one if it is in vain.
	Severity findings.Severity `json:"severity,omitempty"`
	Follows  string            `json:"follows,omitempty"` // what that is, of a gain
	Kept     []string          `json:"kept,omitempty"`    // what of it the subject has in both releases
}

// Source is the rule that grants an item. It is comparable.
type Source struct {
	File   string `json:"file,omitempty"` // empty if OLM or olmgen makes the rule
	Line   int    `json:"line,omitempty"`
	Object string `json:"object"`          // kind namespace/name of the object that has the rule
	Field  string `json:"field,omitempty"` // of the rule in that object
	Why    Why    `json:"why,omitempty"`   // empty for what no rule of the objects grants
	Via    string `json:"via,omitempty"`   // the group of accounts that it is granted to
}

func (s Source) compare(o Source) int {
	return cmp.Or(cmp.Compare(s.File, o.File), cmp.Compare(s.Line, o.Line), cmp.Compare(s.Object, o.Object),
		cmp.Compare(s.Field, o.Field), cmp.Compare(s.Why, o.Why), cmp.Compare(s.Via, o.Via))
}

// Covered is what a source grants and another source grants, too.
type Covered struct {
	Item
	By Source `json:"by"` // the first of them
}

// Unknown is a role that a subject is bound to and that is not among the objects.
type Unknown struct {
	Subject    Subject  `json:"subject"`
	Namespaces []string `json:"namespaces"`
	Role       string   `json:"role"` // kind namespace/name
	Source     Source   `json:"source"`
}

// rule returns what the item allows as a rule of RBAC.
func (i Item) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: i.Verbs, APIGroups: i.APIGroups, Resources: i.Resources,
		ResourceNames: i.ResourceNames, NonResourceURLs: i.NonResourceURLs}
}

func subjectOfItem(i Item) Subject { return i.Subject }

// places returns the namespaces with "" for the cluster.
func (i Item) places() []string {
	return lists.Map(i.Namespaces, func(ns string) string { return strings.TrimPrefix(ns, Everywhere) })
}

func (i Item) compare(o Item) int {
	return cmp.Or(i.Subject.compare(o.Subject),
		cmp.Compare(slices.Index(danger.Risks, i.Risk), slices.Index(danger.Risks, o.Risk)),
		slices.Compare(i.Namespaces, o.Namespaces), // the star sorts first
		slices.Compare(i.APIGroups, o.APIGroups), slices.Compare(i.Resources, o.Resources),
		slices.Compare(i.NonResourceURLs, o.NonResourceURLs), slices.Compare(i.ResourceNames, o.ResourceNames),
		slices.CompareFunc(i.Verbs, o.Verbs, compareVerbs), i.Source.compare(o.Source), cmp.Compare(i.Change, o.Change))
}

// held is one atom that a subject has at a place, which is "" for the cluster.
type held struct {
	atom   rbac.Atom
	place  string
	source Source
}

// itemsOf puts together what a subject has: one item for each source, risk and set of places, with as few as can be.
func itemsOf(subject Subject, list []held, scope danger.Scopes) []Item {
	type key struct {
		source Source
		risk   Risk
	}
	groups := map[key]map[string][]rbac.Atom{}
	for _, h := range list {
		k := key{h.source, scope.RiskOf(h.atom, h.place)}
		if groups[k] == nil {
			groups[k] = map[string][]rbac.Atom{}
		}
		groups[k][h.place] = append(groups[k][h.place], h.atom)
	}
	out := make([]Item, 0, len(groups))
	for k, places := range groups {
		out = append(out, Item{Subject: subject, Risk: k.risk, Source: k.source}.rest(places, Has)...)
	}
	slices.SortFunc(out, Item.compare)
	return out
}

// placeText names places for a person.
func placeText(namespaces []string) string {
	switch {
	case slices.Contains(namespaces, Everywhere):
		return "the cluster"
	case len(namespaces) == 1:
		return "namespace " + text.Brief(namespaces[0])
	case len(namespaces) > 4:
		return text.Count(len(namespaces), "namespace")
	}
	return "namespaces " + strings.Join(lists.Map(namespaces, text.Brief), ", ")
}

// Schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var Schema []byte

// Risk groups permissions by what a person asks.
type Risk = danger.Risk

// The risks, the most dangerous first. NoEffect is what Kubernetes never asks for at that place.
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

// Dangerous are the risks without Other and NoEffect, the most dangerous first.
var Dangerous = danger.Dangerous

// UserRoles are the roles for users that clusters have by default: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = rbac.UserRoles
