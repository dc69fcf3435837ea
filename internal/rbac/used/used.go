// Package used reads from audit logs of API servers which rights accounts used.
//
// A [Log] is read as a stream and holds what is asked for, once each, for the accounts that it is made for.
package used

import (
	"cmp"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
)

// The limits of a log. What is beyond them is counted, and nobody takes it for unused.
const (
	mostLine  = 16 << 20 // bytes of one event
	mostAsked = 10_000   // combinations of verb and resource, or URLs, of one account
	mostShown = 8        // names and namespaces of each, beside those that a right names
	mostGiven = 8 << 20  // bytes of the rules that an account gave on
	mostWord  = 1024     // bytes of a name
	mostHours = 100_000  // with an event
)

// Log is what audit logs say about accounts.
type Log struct {
	Files   []string `json:"files"`
	Events  int      `json:"events"`         // of all users
	First   string   `json:"first"`          // the time of the first event of all users
	Last    string   `json:"last"`           // and of the last
	Skipped int      `json:"skipped"`        // lines that have no event, or one that is too large
	Gaps    []string `json:"gaps,omitempty"` // hours without an event of anybody, as FROM/TO

	verbs, hours map[string]bool       // of all users
	accounts     map[string][]*Account // by the name of the user
	of           map[rbac.Account]*Account
	known        map[string]bool // names and namespaces that rights name
}

// Account is what one account asked for.
type Account struct {
	Events int // with a decision of the authorizer
	Early  int // of the stage RequestReceived, which is before the decision
	Levels map[string]bool
	Stages map[string]bool

	Asked    map[Asked]Use
	Owned    map[[2]string]bool // groups and resources of objects that it gave owners
	Given    []Given            // rules that it gave on
	GivesAny bool               // it gave on rules that the log does not show
	Params   map[string]bool    // groups of the parameters of admission policies that it wrote
	Reviews  bool               // it asked what it may do
	Full     bool               // it asked for more than a Log holds

	kinds map[Asked]int
	given map[string]bool
	size  int // of given
	known map[string]bool
}

// Use is what became of a request. By is the reason of the authorizer to allow it, which names the binding. Needed is
// why another request needs the right, which the authorizer is not asked about by a request of its own.
type Use struct {
	Allowed, Denied bool
	By, Needed      string
}

// Asked is what RBAC is asked for. The place is a namespace, or empty.
type Asked struct {
	rbac.Atom
	Place string
}

// Given are rules that an account gave on at a place by a role that it wrote. Without rules the role is another one,
// which it bound, or it wrote something else of it.
type Given struct {
	Rules []rbacv1.PolicyRule
	Role  rbac.Key
	Place string
}

// NewLog returns an empty log about accounts, each with its names in the log.
func NewLog(accounts map[rbac.Account][]rbac.Account) *Log {
	l := &Log{Files: []string{}, verbs: map[string]bool{}, hours: map[string]bool{}, known: map[string]bool{},
		accounts: map[string][]*Account{}, of: map[rbac.Account]*Account{}}
	for account, names := range accounts {
		a := &Account{Levels: map[string]bool{}, Stages: map[string]bool{}, Asked: map[Asked]Use{},
			Owned: map[[2]string]bool{}, Params: map[string]bool{}, kinds: map[Asked]int{}, given: map[string]bool{},
			known: l.known}
		l.of[account] = a
		for _, name := range names {
			l.accounts[name.User()] = append(l.accounts[name.User()], a)
		}
	}
	return l
}

// Know adds names and namespaces that rights depend on: a Log holds them, however many others there are.
func (l *Log) Know(names []string) {
	for _, name := range names {
		l.known[name] = true
	}
}

// Of returns what an account asked for, or nil if the log is not about it.
func (l *Log) Of(a rbac.Account) *Account { return l.of[a] }

// Shows reports whether the log has a verb of any user.
func (l *Log) Shows(verb string) bool { return l.verbs[verb] }

// Days returns on how many days the log has events of anybody.
func (l *Log) Days() int {
	days := map[string]bool{}
	for hour := range l.hours {
		days[hour[:len(time.DateOnly)]] = true
	}
	return len(days)
}

const hour = "2006-01-02T15"

// gaps returns the hours without any event, each row of them as FROM/TO.
func (l *Log) gaps() (out []string) {
	before := time.Time{}
	for _, text := range slices.Sorted(maps.Keys(l.hours)) {
		now, err := time.Parse(hour, text)
		if from := before.Add(time.Hour); err == nil && !before.IsZero() && from.Before(now) {
			out = append(out, from.Format(time.RFC3339)+"/"+now.Format(time.RFC3339))
		}
		before = now
	}
	return out
}

// Sorted returns what is asked for in a fixed order.
func (a *Account) Sorted() []Asked {
	return slices.SortedFunc(maps.Keys(a.Asked), func(a, b Asked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.URL, b.URL),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Name, b.Name))
	})
}

// note holds what is asked for, unless there is too much. A name or namespace that no right has is dropped then: no
// right depends on it.
func (a *Account) note(k Asked, u Use) {
	kind := Asked{Atom: rbac.Atom{Group: k.Group, Resource: k.Resource, Verb: k.Verb, IsURL: k.IsURL, URL: k.URL}}
	_, seen := a.Asked[k]
	switch {
	case len(k.Name)+len(k.Place)+len(k.URL)+len(k.Resource)+len(k.Group)+len(k.Verb) > mostWord,
		a.kinds[kind] == 0 && len(a.kinds) >= mostAsked:
		a.Full = true
		return
	case !seen && a.kinds[kind] >= mostShown:
		if !a.known[k.Name] {
			k.Named, k.Name = false, ""
		}
		if !a.known[k.Place] && k.Place != "" {
			k.Place = rbac.All
		}
	}
	old, seen := a.Asked[k]
	if !seen {
		a.kinds[kind]++
	}
	a.Asked[k] = Use{Allowed: old.Allowed || u.Allowed, Denied: old.Denied || u.Denied, By: cmp.Or(old.By, u.By),
		Needed: cmp.Or(old.Needed, u.Needed)}
}

// The reasons why a right is kept that no request shows.
const (
	// Kubernetes: apiserver/pkg/endpoints/handlers/patch.go
	KeptCreate = "a patch or an update creates what is missing"
	// client-go: tools/cache/reflector.go
	KeptList = "clients list what they watch"
	// Kubernetes: pkg/registry/core/pod/rest/authorize.go
	KeptStream = "who enters a pod by a websocket needs it"
	// OpenShift: openshift-apiserver asks for roles and bindings as the user who asks it
	KeptActs = "somebody acts as the account by impersonation"
	// Kubernetes: plugin/pkg/admission/gc/gc_admission.go
	KeptOwner  = "who changes owner references needs it"
	KeptOwners = "who changes owner references needs it, and the log has no bodies"
	// Kubernetes: pkg/registry/admissionregistration/validatingadmissionpolicybinding/authz.go
	KeptParams = "who writes admission policies has to read their parameters"
	// Kubernetes: pkg/registry/rbac/validation/rule.go, ConfirmNoEscalation
	KeptWrites = "Kubernetes asks for it when a role or binding is written"
	KeptGiven  = "who gives rights by a role or a binding has to have them"
	KeptAny    = "the account writes roles or bindings, and neither the log nor the objects have their rules"
)
